"""Data files and their add actions, looked at with the Parquet library and as bytes."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.materialise.data.arrow_rows import arrow_table
from generators.materialise.data.data_files import ExtraColumn, FileLayout, write_data_file
from generators.materialise.data.partition_values import (
    hive_directory,
    number_text,
    serialize,
    stored_value,
)
from generators.materialise.data.paths import encode_path
from generators.materialise.data.statistics import dump_statistics, file_statistics
from generators.oracle.delta_schema import (
    DataType,
    Struct,
    array,
    assign_column_mapping,
    field,
    map_of,
    struct,
    type_of,
)

SCHEMA = struct(
    field("id", "long", nullable=False),
    field("t", "timestamp"),
    field("d", "decimal(9,2)"),
    field("l", array("integer")),
    field("m", map_of("string", "long")),
)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "t": datetime(2024, 1, 1, 12, 0, 0, 1, tzinfo=UTC), "d": Decimal("1.50")},
    {"id": 2, "l": [1, None], "m": {"k": 1}},
]


def write(root: Path, schema: Struct = SCHEMA, **options: Any) -> dict[str, Any]:
    rows = options.pop("rows", ROWS)
    return write_data_file(
        root, schema, rows, path=options.pop("path", "f.parquet"), modification_time=7, **options
    )


def leaf_types(path: Path) -> dict[str, tuple[str, str]]:
    schema = pq.ParquetFile(path).schema
    leaves = [schema.column(place) for place in range(len(schema))]
    return {each.path: (each.physical_type, str(each.logical_type)) for each in leaves}


def test_a_data_file_holds_the_rows_in_plain_parquet_types(tmp_path: Path) -> None:
    write(tmp_path)
    types = leaf_types(tmp_path / "f.parquet")
    assert types["id"][0] == "INT64"
    assert "isAdjustedToUTC=true" in types["t"][1]
    assert "microseconds" in types["t"][1]
    assert set(types) == {"id", "t", "d", "l.list.element", "m.key_value.key", "m.key_value.value"}
    assert b"ARROW:schema" not in (pq.read_metadata(tmp_path / "f.parquet").metadata or {})
    back = pq.read_table(tmp_path / "f.parquet")
    assert back.column("id").to_pylist() == [1, 2]
    assert back.column("l").to_pylist() == [None, [1, None]]


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert write(first) == write(second)
    assert (first / "f.parquet").read_bytes() == (second / "f.parquet").read_bytes()


def test_the_add_action_has_size_path_and_statistics(tmp_path: Path) -> None:
    add = write(tmp_path, path="dir with space/f%1.parquet")
    file = tmp_path / "dir with space" / "f%1.parquet"
    assert add["path"] == "dir%20with%20space/f%251.parquet"
    assert add["size"] == file.stat().st_size
    assert (add["modificationTime"], add["dataChange"]) == (7, True)
    assert json.loads(add["stats"])["numRecords"] == 2
    assert "stats" not in write(tmp_path, with_statistics=False)


@pytest.mark.parametrize(
    ("layout", "column", "physical"),
    [
        (FileLayout(), "d", "FIXED_LEN_BYTE_ARRAY"),
        (FileLayout(short_decimals=True), "d", "INT32"),
        (FileLayout(int96=True), "t", "INT96"),
        (FileLayout(), "t", "INT64"),
    ],
)
def test_physical_variants_change_the_stored_type(
    tmp_path: Path, layout: FileLayout, column: str, physical: str
) -> None:
    write(tmp_path, layout=layout)
    assert leaf_types(tmp_path / "f.parquet")[column][0] == physical


def test_row_groups_dictionary_and_codec_are_as_asked(tmp_path: Path) -> None:
    write(tmp_path, layout=FileLayout(row_group_rows=1, dictionary=False, compression="gzip"))
    metadata = pq.read_metadata(tmp_path / "f.parquet")
    assert metadata.num_row_groups == 2
    chunk = metadata.row_group(0).column(0)
    assert chunk.compression == "GZIP"
    assert "RLE_DICTIONARY" not in chunk.encodings


def test_columns_can_be_missing_extra_and_in_another_order(tmp_path: Path) -> None:
    extra = ExtraColumn("more", pa.array(["x", "y"]), field_id=99)
    layout = FileLayout(omit=frozenset({"t"}), order=("d", "t", "id"), extra=(extra,))
    add = write(tmp_path, layout=layout)
    assert pq.read_schema(tmp_path / "f.parquet").names == ["d", "id", "more"]
    assert set(json.loads(add["stats"])["nullCount"]) == {"d", "id"}


def test_mapped_columns_go_by_physical_name_and_id(tmp_path: Path) -> None:
    mapped, _ = assign_column_mapping(struct(field("a", "long"), field("p", "date")), "seed")
    add = write(
        tmp_path,
        mapped,
        rows=[{"a": 1}],
        partition_columns=["p"],
        partition_values={"p": date(2024, 1, 2)},
    )
    (stored,) = pq.read_schema(tmp_path / "f.parquet")
    assert stored.name == mapped["a"].physical_name
    assert stored.metadata[b"PARQUET:field_id"] == b"1"
    assert add["partitionValues"] == {mapped["p"].physical_name: "2024-01-02"}
    assert json.loads(add["stats"])["minValues"] == {mapped["a"].physical_name: 1}


def test_partition_columns_can_be_stored_inside_too(tmp_path: Path) -> None:
    write(
        tmp_path,
        struct(field("a", "long"), field("p", "string")),
        rows=[{"a": 1}],
        partition_columns=["p"],
        partition_values={"p": "x"},
        layout=FileLayout(partitions_inside=True),
    )
    assert pq.read_table(tmp_path / "f.parquet").to_pylist() == [{"a": 1, "p": "x"}]


def test_a_null_in_a_column_that_is_not_nullable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not nullable"):
        write(tmp_path, rows=[{"id": None}])


def test_a_void_field_is_in_no_file(tmp_path: Path) -> None:
    schema = struct(
        field("id", "long"),
        field(
            "s",
            struct(
                field("v", "void"), field("t", struct(field("n", "string"), field("v", "void")))
            ),
        ),
    )
    rows = [{"id": 1, "s": {"v": None, "t": {"n": "x", "v": None}}}, {"id": 2, "s": None}]
    add = write_data_file(tmp_path, schema, rows, path="f.parquet", modification_time=0)
    held = pq.read_table(tmp_path / "f.parquet")
    assert held.column("s").to_pylist() == [{"t": {"n": "x"}}, None]
    assert json.loads(add["stats"])["nullCount"] == {"id": 0, "s": {"t": {"n": 1}}}


@pytest.mark.parametrize(
    "of",
    [
        array("void"),
        map_of("string", "void"),
        struct(field("v", "void")),
        array(struct(field("n", "long"), field("v", "void"))),
    ],
    ids=["array", "map", "struct", "array-of-structs"],
)
def test_what_no_file_holds_is_refused(tmp_path: Path, of: DataType) -> None:
    with pytest.raises(ValueError, match="void in it"):
        write_data_file(tmp_path, struct(field("c", of)), [], path="f.parquet", modification_time=0)


def test_a_value_beyond_its_type_is_refused() -> None:
    with pytest.raises(ValueError, match="column 'b'"):
        arrow_table(struct(field("b", "byte")), [{"b": 1000}])


@pytest.mark.parametrize(
    ("spelled", "value", "expected"),
    [
        ("string", "a b", "a b"),
        ("integer", -5, "-5"),
        ("long", 2**63 - 1, "9223372036854775807"),
        ("boolean", True, "true"),
        ("date", date(1, 2, 3), "0001-02-03"),
        ("timestamp", datetime(1970, 1, 1, 0, 0, 0, 123456, UTC), "1970-01-01T00:00:00.123456Z"),
        ("timestamp_ntz", datetime(1970, 1, 1), "1970-01-01 00:00:00"),  # noqa: DTZ001  ntz
        ("timestamp_ntz", datetime(970, 1, 1, 0, 0, 0, 5), "0970-01-01 00:00:00.000005"),  # noqa: DTZ001  ntz
        ("decimal(10,2)", Decimal("1E+2"), "100.00"),
        ("decimal(38,0)", Decimal(10**38 - 1), "9" * 38),
        ("binary", b"\x01\x02\x03", "\x01\x02\x03"),
        ("float", 0.10000000149011612, "0.1"),
        ("double", 1e20, "1E20"),
        ("double", float("nan"), "NaN"),
        ("double", float("-inf"), "-Infinity"),
        ("double", -0.0, "-0.0"),
        ("long", None, None),
    ],
)
def test_partition_values_are_spelled_as_the_text_says(
    spelled: str, value: object, expected: object
) -> None:
    assert serialize(type_of(spelled), value) == expected


def test_timestamps_can_be_spelled_without_a_zone() -> None:
    value = datetime(2024, 1, 1, tzinfo=UTC)
    spelled = serialize(type_of("timestamp"), value, timestamp_style="plain")
    assert spelled == "2024-01-01 00:00:00"


def test_an_empty_partition_value_is_stored_as_null() -> None:
    assert stored_value(type_of("string"), "") is None
    assert stored_value(type_of("binary"), b"") is None
    assert stored_value(type_of("string"), "x") == "x"


def test_nested_types_cannot_partition() -> None:
    nested: DataType = array("long")
    with pytest.raises(ValueError, match="partition column"):
        serialize(nested, [1])


@pytest.mark.parametrize("value", [0.1, 1e-45, 3.4028234663852886e38, 16777216.0, -2.5])
def test_single_precision_text_reads_back_as_the_same_number(value: float) -> None:
    single = pa.scalar(value, pa.float32()).as_py()
    assert pa.scalar(float(number_text(single, single=True)), pa.float32()).as_py() == single


def test_hive_directories_escape_what_file_systems_mind() -> None:
    columns = [field("p", "string"), field("n", "integer")]
    assert hive_directory(columns, {"p": "a/b:c=d", "n": None}) == (
        "p=a%2Fb%3Ac%3Dd/n=__HIVE_DEFAULT_PARTITION__"
    )


def test_paths_are_encoded_once_and_never_read_as_a_scheme() -> None:
    assert encode_path("p=a%3Ab/x y.parquet") == "p=a%253Ab/x%20y.parquet"
    assert encode_path("a:b") == "a%3Ab"
    assert encode_path("\u00fc#?") == "%C3%BC%23%3F"


def statistics(spelled: str, values: list[Any]) -> dict[str, Any]:
    rows = [{"c": value} for value in values]
    return file_statistics([field("c", spelled)], rows)


@pytest.mark.parametrize(
    ("spelled", "values", "low", "high"),
    [
        ("long", [3, None, -1], -1, 3),
        ("string", ["b", "a"], "a", "b"),
        ("string", ["\U0001f600", "\uffff"], "\uffff", "\U0001f600"),
        ("string", ["x" * 40], "x" * 32, "x" * 32 + "\x7f"),
        ("string", ["\u00e9" * 40], "\u00e9" * 32, "\u00e9" * 32 + "\U0010ffff"),
        ("string", ["\U0010ffff" * 40], "\U0010ffff" * 32, None),
        ("double", [float("nan"), 1.0], None, None),
        ("double", [float("inf"), 1.0], 1.0, None),
        ("date", [date(2024, 1, 1)], "2024-01-01", "2024-01-01"),
        (
            "timestamp",
            [datetime(2024, 1, 1, 0, 0, 0, 123999, UTC)],
            "2024-01-01T00:00:00.123Z",
            "2024-01-01T00:00:00.123Z",
        ),
        (
            "timestamp_ntz",
            [datetime(9, 1, 1)],  # noqa: DTZ001  ntz
            "0009-01-01T00:00:00.000",
            "0009-01-01T00:00:00.000",
        ),
        ("boolean", [True], None, None),
        ("binary", [b"a"], None, None),
        ("long", [None], None, None),
    ],
)
def test_bounds_follow_the_text(spelled: str, values: list[Any], low: object, high: object) -> None:
    found = statistics(spelled, values)
    assert found["minValues"].get("c") == low
    assert found["maxValues"].get("c") == high
    assert found["nullCount"]["c"] == values.count(None)
    assert found["numRecords"] == len(values)


def test_statistics_mirror_structs_and_count_nulls_of_null_structs() -> None:
    column = field("s", struct(field("x", "long"), field("l", array("long"))))
    found = file_statistics([column], [{"s": {"x": 1, "l": []}}, {"s": None}])
    assert found["minValues"] == {"s": {"x": 1}}
    assert found["nullCount"] == {"s": {"x": 1, "l": 1}}


def test_statistics_keep_every_digit_of_a_decimal() -> None:
    text = dump_statistics(statistics("decimal(38,10)", [Decimal("1234567890123456.0123456789")]))
    assert '"minValues":{"c":1234567890123456.0123456789}' in text
    assert json.loads(text, parse_float=Decimal)["minValues"]["c"] == Decimal(
        "1234567890123456.0123456789"
    )
