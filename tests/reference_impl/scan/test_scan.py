"""Rows of data files in the table's types: paths, order, evolution, physical layouts."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal as Number
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import read_table
from reference_impl.errors import (
    DataFileNotFound,
    InvalidDataFile,
    InvalidSchema,
    UnknownColumn,
)

_LONGS = {"type": "array", "elementType": "long", "containsNull": True}


def _struct(**fields: Any) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [
            {"name": name, "type": of, "nullable": True, "metadata": {}}
            for name, of in fields.items()
        ],
    }


def _not_null(name: str, of: Any) -> dict[str, Any]:
    return {"name": name, "type": of, "nullable": False, "metadata": {}}


@pytest.mark.parametrize(
    ("path", "on_disk"),
    [
        ("plain.parquet", "plain.parquet"),
        ("a%20b.parquet", "a b.parquet"),
        ("a%2520b.parquet", "a%20b.parquet"),
        ("p=a%253Ab/%C3%A9.parquet", "p=a%3Ab/é.parquet"),
        ("x+y%23%3F.parquet", "x+y#?.parquet"),
        ("100%.parquet", "100%.parquet"),
    ],
)
def test_a_path_is_decoded_once(table: Any, path: str, on_disk: str) -> None:
    table.create([("v", "long")])
    table.commit(table.add(pa.table({"v": [1]}), path, on_disk=on_disk))
    assert read_table(table.root)["v"].to_pylist() == [1]


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_an_absolute_path_leaves_the_root(table: Any, tmp_path: Path, scheme: str) -> None:
    elsewhere = tmp_path / "else where"
    table.create([("v", "long")])
    add = table.add(pa.table({"v": [1]}), on_disk=str(elsewhere / "f.parquet"))
    add["add"]["path"] = scheme + str(elsewhere).replace(" ", "%20") + "/f.parquet"
    table.commit(add)
    assert read_table(table.root)["v"].to_pylist() == [1]


def test_a_root_with_special_characters_is_taken_literally(table: Any, tmp_path: Path) -> None:
    table.root = tmp_path / "a b%20#c"
    table.create([("v", "long")])
    table.commit(table.add(pa.table({"v": [1]})))
    assert read_table(table.root).num_rows == 1
    assert read_table(f"{table.root}/").num_rows == 1


def test_rows_come_in_the_order_of_files_and_positions(table: Any) -> None:
    table.create([("v", "long")])
    parts = [pa.table({"v": range(start, start + 70_000)}) for start in (200_000, 0, 100_000)]
    table.commit(*(table.add(part, options={"row_group_size": 30_000}) for part in parts))
    expected = [v for part in parts for v in part["v"].to_pylist()]
    assert read_table(table.root)["v"].to_pylist() == expected


def test_columns_come_in_the_order_asked(table: Any) -> None:
    table.create([("a", "long"), ("b", "string"), ("c", "long")])
    table.commit(table.add(pa.table({"c": [3], "a": [1], "b": ["x"]})))
    assert read_table(table.root).column_names == ["a", "b", "c"]
    assert read_table(table.root, columns=["C", "a"]).column_names == ["c", "a"]
    assert read_table(table.root, columns=[]).num_rows == 1
    for columns in (["d"], ["a", "A"]):
        with pytest.raises(UnknownColumn):
            read_table(table.root, columns=columns)


def test_no_column_is_read_of_a_table_that_has_none(table: Any) -> None:
    table.create([])
    assert read_table(table.root, columns=[]).shape == (0, 0)


def test_an_empty_table_has_its_schema(table: Any) -> None:
    table.create([_not_null("a", "long"), ("p", "date")], partition=["p"])
    found = read_table(table.root)
    assert found.schema == pa.schema(
        [pa.field("a", pa.int64(), nullable=False), ("p", pa.date32())]
    )
    assert found.num_rows == 0


def test_missing_columns_are_null_and_extra_ones_ignored(table: Any) -> None:
    table.create([("a", "long"), ("b", _struct(x="long", y="string")), ("c", _LONGS)])
    table.commit(
        table.add(pa.table({"a": [1], "_change_type": ["insert"], "gone": [7]})),
        table.add(pa.table({"b": [{"z": 1, "y": "in"}, None], "c": [[1, None], None]})),
    )
    assert read_table(table.root).to_pylist() == [
        {"a": 1, "b": None, "c": None},
        {"a": None, "b": {"x": None, "y": "in"}, "c": [1, None]},
        {"a": None, "b": None, "c": None},
    ]


def test_nested_fields_are_found_by_name_at_every_level(table: Any) -> None:
    entry = _struct(k="long", added="string")
    fields = [
        ("list", {"type": "array", "elementType": entry, "containsNull": True}),
        ("map", {"type": "map", "keyType": "string", "valueType": entry}),
    ]
    table.create(fields)
    stored = pa.struct([("extra", pa.int8()), ("k", pa.int64())])
    rows = pa.table(
        {
            "list": pa.array([[{"extra": 1, "k": 5}, None], [], None], pa.list_(stored)),
            "map": pa.array(
                [[("a", {"extra": 1, "k": 6})], [], None], pa.map_(pa.string(), stored)
            ),
        }
    )
    table.commit(table.add(rows))
    found = read_table(table.root)
    assert found["list"].to_pylist() == [[{"k": 5, "added": None}, None], [], None]
    assert found["map"].to_pylist() == [[("a", {"k": 6, "added": None})], [], None]
    assert found.schema.field("list").type.value_field.name == "element"


WIDENINGS: list[tuple[str, pa.DataType, Any, Any]] = [
    ("short", pa.int8(), -128, -128),
    ("long", pa.int32(), 2**31 - 1, 2**31 - 1),
    ("double", pa.int32(), 2**31 - 1, float(2**31 - 1)),
    ("double", pa.float32(), 1.5, 1.5),
    ("decimal(10,0)", pa.int32(), -(2**31), Number(-(2**31))),
    ("decimal(22,2)", pa.int64(), -(2**63), Number(-(2**63))),
    ("decimal(12,4)", pa.decimal128(8, 2), Number("1.25"), Number("1.25")),
    ("timestamp_ntz", pa.date32(), date(1960, 2, 29), datetime(1960, 2, 29)),  # noqa: DTZ001  no zone
]


@pytest.mark.parametrize(("name", "stored", "value", "expected"), WIDENINGS)
def test_a_widened_column_reads_its_old_files(
    table: Any, name: str, stored: pa.DataType, value: Any, expected: Any
) -> None:
    features = ["typeWidening"] + (["timestampNtz"] if name == "timestamp_ntz" else [])
    nested = {"type": "array", "elementType": name, "containsNull": True}
    table.create([("v", name), ("n", nested)], features=features)
    rows = pa.table(
        {"v": pa.array([value, None], stored), "n": pa.array([[value], None], pa.list_(stored))}
    )
    table.commit(table.add(rows))
    found = read_table(table.root)
    assert found["v"].to_pylist() == [expected, None]
    assert found["n"].to_pylist() == [[expected], None]


@pytest.mark.parametrize(
    ("name", "stored", "value"),
    [
        ("integer", pa.int64(), 1),
        ("float", pa.float64(), 1.5),
        ("double", pa.int64(), 1),
        ("decimal(9,0)", pa.int32(), 1),
        ("decimal(10,2)", pa.decimal128(10, 3), Number("1.5")),
        ("date", pa.timestamp("us"), datetime(1970, 1, 1)),  # noqa: DTZ001  no zone
        ("string", pa.int64(), 1),
        ("long", pa.string(), "1"),
        ("boolean", pa.int8(), 1),
        ("timestamp", pa.int64(), 1),
    ],
)
def test_a_type_that_was_not_widened_is_refused(
    table: Any, name: str, stored: pa.DataType, value: Any
) -> None:
    table.create([("v", name)])
    table.commit(table.add(pa.table({"v": pa.array([value], stored)})))
    with pytest.raises(InvalidDataFile, match="column v"):
        read_table(table.root)


@pytest.mark.parametrize(
    "change",
    [
        {"fromType": "string", "toType": "long"},
        {"fromType": "long", "toType": "integer"},
        {"fromType": "integer", "toType": "quantum"},
        {"toType": "long"},
        "integer",
    ],
)
def test_a_recorded_change_that_is_no_widening_is_refused(table: Any, change: Any) -> None:
    def column(changes: list[Any]) -> dict[str, Any]:
        metadata = {"delta.typeChanges": changes}
        return {"name": "v", "type": "long", "nullable": True, "metadata": metadata}

    allowed = {"fromType": "short", "toType": "long", "fieldPath": "element"}
    table.create([column([allowed])], features=["typeWidening"])
    assert read_table(table.root).num_rows == 0
    table.root = table.root.with_name("refused")
    table.version = -1
    nested = {"type": "struct", "fields": [column([change])]}
    table.create([("s", nested)], features=["typeWidening"])
    with pytest.raises(InvalidSchema):
        read_table(table.root)


def test_small_integers_without_annotation_are_checked(table: Any) -> None:
    table.create([("v", "byte")])
    table.commit(table.add(pa.table({"v": pa.array([-128, 127], pa.int32())})))
    assert read_table(table.root)["v"].to_pylist() == [-128, 127]
    table.commit(table.add(pa.table({"v": pa.array([128], pa.int32())})))
    with pytest.raises(InvalidDataFile):
        read_table(table.root)


@pytest.mark.parametrize(
    "options",
    [
        {"use_deprecated_int96_timestamps": True},
        {"coerce_timestamps": "ms", "allow_truncated_timestamps": True},
        {"version": "2.6"},
    ],
)
def test_timestamps_of_every_encoding_are_microseconds_in_utc(
    table: Any, options: dict[str, Any]
) -> None:
    moments = [datetime(year, 3, 1, 12, 30, tzinfo=UTC) for year in (1, 1500, 1969, 2262, 9999)]
    table.create([("t", "timestamp"), ("n", "timestamp_ntz")], features=["timestampNtz"])
    naive = [moment.replace(tzinfo=None) for moment in moments]
    rows = pa.table(
        {
            "t": pa.array(moments, pa.timestamp("us", "UTC")),
            "n": pa.array(naive, pa.timestamp("us")),
        }
    )
    table.commit(table.add(rows, options=options))
    found = read_table(table.root)
    assert found["t"].to_pylist() == moments
    assert found["n"].to_pylist() == naive
    assert found.schema.field("t").type == pa.timestamp("us", "UTC")


def test_nanoseconds_are_rounded_down(table: Any) -> None:
    table.create([("t", "timestamp")])
    stored = pa.array([1_999, -1], pa.int64()).cast(pa.timestamp("ns", "UTC"))
    table.commit(table.add(pa.table({"t": stored})))
    assert read_table(table.root)["t"].cast(pa.int64()).to_pylist() == [1, -1]


@pytest.mark.parametrize(
    "options",
    [{"store_decimal_as_integer": True}, {"store_decimal_as_integer": False}],
)
@pytest.mark.parametrize("digits", [4, 9, 18, 38])
def test_decimals_of_every_encoding_are_read(
    table: Any, options: dict[str, Any], digits: int
) -> None:
    values = [Number("9" * (digits - 2) + ".99"), Number("-0.01"), None]
    table.create([("d", f"decimal({digits},2)")])
    rows = pa.table({"d": pa.array(values, pa.decimal128(digits, 2))})
    table.commit(table.add(rows, options=options))
    assert read_table(table.root)["d"].to_pylist() == values


def test_two_level_lists_and_other_names_of_items_are_read(table: Any) -> None:
    table.create([("c", _LONGS)])
    rows = pa.table({"c": pa.array([[1, None], [], None], pa.list_(pa.field("bag", pa.int64())))})
    table.commit(table.add(rows, options={"use_compliant_nested_type": False}))
    assert read_table(table.root)["c"].to_pylist() == [[1, None], [], None]


def test_layouts_that_only_arrow_knows_become_delta_types(table: Any) -> None:
    table.create([("s", "string"), ("d", "string"), ("b", "binary"), ("c", _LONGS)])
    rows = pa.table(
        {
            "s": pa.array(["x"], pa.large_string()),
            "d": pa.array(["x"]).dictionary_encode(),
            "b": pa.array([b"xy"], pa.binary(2)),
            "c": pa.array([[1]], pa.large_list(pa.int64())),
        }
    )
    table.commit(table.add(rows))
    found = read_table(table.root)
    assert [str(f.type) for f in found.schema][:3] == ["string", "string", "binary"]
    assert found.to_pylist() == [{"s": "x", "d": "x", "b": b"xy", "c": [1]}]


def test_void_columns_are_null(table: Any) -> None:
    table.create([("v", "void"), ("a", "long")])
    table.commit(table.add(pa.table({"a": [1]})))
    assert read_table(table.root).to_pylist() == [{"v": None, "a": 1}]


@pytest.mark.parametrize("order", [("metadata", "value"), ("value", "metadata")])
def test_an_unshredded_variant_is_its_two_parts(table: Any, order: tuple[str, str]) -> None:
    table.create([("v", "variant")], features=["variantType"])
    parts = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x01"}
    stored = pa.struct([(name, pa.binary()) for name in order])
    table.commit(table.add(pa.table({"v": pa.array([parts, None], stored)})))
    assert read_table(table.root)["v"].to_pylist() == [parts, None]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (_not_null("v", "long"), None),
        (("v", {**_LONGS, "containsNull": False}), [None]),
        (("v", {"type": "struct", "fields": [_not_null("x", "long")]}), {"x": None}),
    ],
)
def test_a_null_where_the_schema_allows_none_is_refused(table: Any, field: Any, value: Any) -> None:
    stored: dict[Any, Any] = {dict: pa.struct([("x", pa.int64())]), list: pa.list_(pa.int64())}
    table.create([field])
    table.commit(table.add(pa.table({"v": pa.array([value], stored.get(type(value), pa.int64()))})))
    with pytest.raises(InvalidDataFile, match="not null"):
        read_table(table.root)


def test_a_null_parent_may_have_children_declared_not_null(table: Any) -> None:
    table.create([("v", {"type": "struct", "fields": [_not_null("x", "long")]})])
    stored = pa.array([{"x": 1}, None], pa.struct([("x", pa.int64())]))
    table.commit(table.add(pa.table({"v": stored})))
    assert read_table(table.root)["v"].to_pylist() == [{"x": 1}, None]


def test_a_missing_data_file_is_named(table: Any) -> None:
    table.create([("v", "long")])
    add = table.add(pa.table({"v": [1]}))
    table.commit(add)
    (table.root / add["add"]["path"]).unlink()
    with pytest.raises(DataFileNotFound) as caught:
        read_table(table.root)
    assert caught.value.path == add["add"]["path"]


def test_an_earlier_version_is_read_by_number_and_by_time(table: Any) -> None:
    table.create([("v", "long")])
    first = table.add(pa.table({"v": [1]}))
    table.commit(first)
    table.commit(table.remove(first), table.add(pa.table({"v": [2]})))
    assert read_table(table.root, version=1)["v"].to_pylist() == [1]
    assert read_table(table.root, version=0).num_rows == 0
    assert read_table(table.root, timestamp="2100-01-01T00:00:00Z")["v"].to_pylist() == [2]
    with pytest.raises(ValueError, match="not both"):
        read_table(table.root, version=1, timestamp=0)
