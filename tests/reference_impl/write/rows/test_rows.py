"""Create, append, overwrite, delete and checkpoint: the table before and after."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import (
    AppendOnlyViolation,
    CommitConflict,
    ConstraintViolation,
    InvalidMetadata,
    SchemaMismatch,
    UnsupportedFeatures,
)

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
Actions = Callable[..., list[dict[str, Any]]]


def people(*rows: tuple[int | None, str | None]) -> pa.Table:
    return pa.table({"id": [r[0] for r in rows], "name": [r[1] for r in rows]}, schema=SCHEMA)


def seen(table: Table, version: int | None = None) -> list[tuple[Any, ...]]:
    rows = read_table(table.storage.location, version=version)
    return sorted((tuple(row.values()) for row in rows.to_pylist()), key=repr)


def test_each_operation_makes_one_version(table: Table, clean: Callable[[], None]) -> None:
    assert table.create(SCHEMA) == 0
    assert table.append(people((1, "a"), (2, "b"))) == 1
    assert table.append(people((3, None))) == 2
    assert table.delete("id = 2") == 3
    assert table.overwrite(people((9, "z"))) == 4
    assert table.delete() == 5
    assert [len(seen(table, v)) for v in range(6)] == [0, 2, 3, 2, 1, 0]
    assert seen(table, 3) == [(1, "a"), (3, None)]
    clean()


def test_an_overwrite_records_progress_with_its_rows_and_does_so_once(
    table: Table, actions: Actions
) -> None:
    table.create(SCHEMA, rows=people((1, "a")))
    assert table.overwrite(people((2, "b")), txn=("app", 4)) == 1
    assert [body["version"] for body in actions(1, "txn")] == [4]
    assert table.overwrite(people((3, "c")), txn=("app", 4)) == 1
    assert seen(table) == [(2, "b")]


_CHANGES: dict[str, Callable[[Table, tuple[str, int]], int]] = {
    "delete": lambda table, txn: table.delete("id = 1", txn=txn),
    "update": lambda table, txn: table.update({"name": "z"}, "id = 1", txn=txn),
    "merge": lambda table, txn: table.merge(people((1, "z")), ["id"], txn=txn),
}


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_a_change_records_progress_with_its_rows_and_does_so_once(
    change: Callable[[Table, tuple[str, int]], int], table: Table, actions: Actions
) -> None:
    table.create(SCHEMA, rows=people((1, "a"), (2, "b")))
    assert change(table, ("app", 4)) == 1
    assert [body["version"] for body in actions(1, "txn")] == [4]
    assert (1, "a") not in seen(table)
    table.overwrite(people((1, "again")))
    assert change(table, ("app", 4)) == 2
    assert seen(table) == [(1, "again")]


def test_a_change_of_no_row_records_its_progress(table: Table, actions: Actions) -> None:
    table.create(SCHEMA, rows=people((1, "a")))
    assert table.delete("id = 7", txn=("app", 4)) == 1
    assert [body["version"] for body in actions(1, "txn")] == [4]
    assert actions(1, "remove") == []


def test_creating_with_rows_takes_one_version(table: Table, clean: Callable[[], None]) -> None:
    assert table.create(SCHEMA, rows=people((1, "a"))) == 0
    assert seen(table) == [(1, "a")]
    clean()


def test_creating_twice_is_refused(table: Table) -> None:
    table.create(SCHEMA)
    with pytest.raises(CommitConflict):
        table.create(SCHEMA)


def test_a_plain_table_asks_for_nothing_special(table: Table, actions: Actions) -> None:
    table.create(SCHEMA)
    assert actions(0, "protocol") == [{"minReaderVersion": 1, "minWriterVersion": 2}]


def test_features_of_types_are_listed(table: Table, actions: Actions) -> None:
    table.create(pa.schema([("t", pa.timestamp("us"))]))
    assert actions(0, "protocol") == [
        {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timestampNtz"],
            "writerFeatures": ["appendOnly", "invariants", "timestampNtz"],
        }
    ]


def test_features_asked_by_property_are_not_stored(table: Table, actions: Actions) -> None:
    table.create(SCHEMA, properties={"delta.feature.domainMetadata": "supported", "a": "b"})
    assert actions(0, "metaData")[0]["configuration"] == {"a": "b"}
    assert "domainMetadata" in actions(0, "protocol")[0]["writerFeatures"]


def test_unknown_features_are_refused_by_name(table: Table) -> None:
    with pytest.raises(UnsupportedFeatures, match="teleport"):
        table.create(SCHEMA, features=["teleport"])
    assert table.storage.list_from("_delta_log") == []


@pytest.mark.parametrize("columns", [["nowhere"], ["id", "id"]])
def test_impossible_partitioning_is_refused(table: Table, columns: list[str]) -> None:
    with pytest.raises(InvalidMetadata):
        table.create(SCHEMA, partition_columns=columns)


def test_a_table_of_partition_columns_only_is_refused(table: Table) -> None:
    with pytest.raises(SchemaMismatch):
        table.create(SCHEMA, partition_columns=["id", "name"])


def test_columns_are_found_by_name_and_missing_ones_are_null(table: Table) -> None:
    table.create(SCHEMA)
    table.append(pa.table({"NAME": ["x"]}))
    assert seen(table) == [(None, "x")]


@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"id": ["1"]}),
        pa.table({"id": pa.array([1], pa.int64()), "other": [1]}),
        pa.table([pa.array([1]), pa.array([2])], names=["id", "ID"]),
        pa.table({"name": pa.array([b"x"], pa.binary())}),
    ],
)
def test_rows_that_do_not_fit_leave_no_version(table: Table, rows: pa.Table) -> None:
    table.create(SCHEMA)
    with pytest.raises(SchemaMismatch):
        table.append(rows)
    assert table.latest_version() == 0


def test_numbers_convert_only_where_nothing_is_lost(table: Table) -> None:
    table.create(pa.schema([("a", pa.int16()), ("d", pa.decimal128(5, 2))]))
    table.append(pa.table({"a": pa.array([7], pa.int64()), "d": [Decimal("1.5")]}))
    assert seen(table) == [(7, Decimal("1.50"))]
    with pytest.raises(SchemaMismatch):
        table.append(pa.table({"a": pa.array([70_000], pa.int64())}))
    with pytest.raises(SchemaMismatch):
        table.append(pa.table({"d": [Decimal("1.555")]}))


def test_nulls_are_refused_where_none_may_be(table: Table) -> None:
    inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    table.create(
        pa.schema(
            [
                pa.field("a", pa.int64(), nullable=False),
                pa.field("s", inner),
                pa.field("l", pa.list_(pa.field("element", pa.int64(), nullable=False))),
            ]
        )
    )
    loose = {
        "a": pa.int64(),
        "s": pa.struct([("x", pa.int64())]),
        "l": pa.list_(pa.int64()),
    }
    table.append(pa.table({"a": [1], "s": [None], "l": [None]}, schema=pa.schema(loose)))
    for broken in ({"a": None}, {"s": {"x": None}}, {"l": [None]}):
        row = {"a": 1, "s": {"x": 1}, "l": [1], **broken}
        with pytest.raises(ConstraintViolation):
            table.append(pa.Table.from_pylist([row], schema=pa.schema(loose)))
    assert table.latest_version() == 1


MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 123_456, tzinfo=dt.UTC)
PARTITIONS: dict[str, tuple[pa.DataType, Any, str | None]] = {
    "string": (pa.string(), "a/b=c %41 é", "a/b=c %41 é"),
    "empty": (pa.string(), "", None),
    "null": (pa.string(), None, None),
    "long": (pa.int64(), -(2**63), "-9223372036854775808"),
    "byte": (pa.int8(), -128, "-128"),
    "double": (pa.float64(), 1e-300, "1E-300"),
    "nan": (pa.float64(), float("nan"), "NaN"),
    "decimal": (pa.decimal128(10, 2), Decimal("-1.50"), "-1.50"),
    "boolean": (pa.bool_(), False, "false"),
    "date": (pa.date32(), dt.date(1, 1, 1), "0001-01-01"),
    "timestamp": (pa.timestamp("us", tz="UTC"), MOMENT, "2024-02-29T23:59:59.123456Z"),
    "timestamp_ntz": (
        pa.timestamp("us"),
        MOMENT.replace(tzinfo=None),
        "2024-02-29 23:59:59.123456",
    ),
    "binary": (pa.binary(), b"\x00\xff", "\x00\xff"),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_partition_values_are_spelt_by_the_text(
    table: Table, actions: Actions, clean: Callable[[], None], name: str
) -> None:
    of, value, text = PARTITIONS[name]
    table.create(pa.schema([("v", pa.int64()), ("p", of)]), partition_columns=["p"])
    table.append(pa.table({"v": [1, 2], "p": pa.array([value, None], of)}))
    values = [add["partitionValues"]["p"] for add in actions(1, "add")]
    assert sorted(values, key=repr) == sorted({text, None}, key=repr)
    found = dict(seen(table))
    assert found[2] is None
    got = pa.array([found[1]], of)
    assert got.to_string() == pa.array([None if value == "" else value], of).to_string()
    clean()


def test_an_empty_string_cannot_partition_where_null_may_not_be(table: Table) -> None:
    schema = pa.schema([("v", pa.int64()), pa.field("p", pa.string(), nullable=False)])
    table.create(schema, partition_columns=["p"])
    with pytest.raises(ConstraintViolation):
        table.append(pa.table({"v": [1], "p": [""]}))


def test_long_partition_values_need_no_long_folder(table: Table) -> None:
    table.create(SCHEMA, partition_columns=["name"])
    table.append(people((1, "x" * 3000)))
    assert seen(table) == [(1, "x" * 3000)]


def test_an_underscored_partition_column_makes_no_hidden_folder(
    table: Table, actions: Actions
) -> None:
    table.create(pa.schema([("id", pa.int64()), ("_p", pa.string())]), partition_columns=["_p"])
    table.append(pa.table({"id": [1], "_p": ["a"]}))
    folders = [each["path"].split("/")[:-1] for each in actions(1, "add")]
    assert not [folder for path in folders for folder in path if folder.startswith("_")]
    assert seen(table) == [(1, "a")]


def test_deleting_nothing_commits_nothing(table: Table) -> None:
    table.create(SCHEMA, rows=people((1, "a")))
    assert table.delete("id = 7") == 0


def test_whole_files_go_without_being_rewritten(table: Table, actions: Actions) -> None:
    table.create(SCHEMA, partition_columns=["name"])
    table.append(people((1, "a"), (2, "b")))
    table.delete("name = 'a'")
    assert [r["partitionValues"] for r in actions(2, "remove")] == [{"name": "a"}]
    assert actions(2, "add") == []


def test_overwriting_some_rows_takes_only_rows_like_them(table: Table) -> None:
    table.create(SCHEMA, rows=people((1, "a"), (2, "b")))
    with pytest.raises(ConstraintViolation):
        table.overwrite(people((3, "c")), "name = 'a'")
    table.overwrite(people((3, "a")), "name = 'a'")
    assert seen(table) == [(2, "b"), (3, "a")]


def test_an_append_only_table_only_grows(table: Table) -> None:
    table.create(SCHEMA, properties={"delta.appendOnly": "true"}, rows=people((1, "a")))
    table.append(people((2, "b")))
    for change in (table.delete, lambda: table.overwrite(people((3, "c")))):
        with pytest.raises(AppendOnlyViolation):
            change()
    assert table.latest_version() == 1


def test_an_empty_append_is_a_version(table: Table, clean: Callable[[], None]) -> None:
    table.create(SCHEMA)
    assert table.append(people()) == 1
    assert seen(table) == []
    clean()


def test_checkpoints_hold_the_state_and_the_hint_finds_them(table: Table) -> None:
    table.create(SCHEMA, partition_columns=["name"])
    table.append(people((1, "a"), (2, None)))
    table.delete("id = 1")
    assert table.checkpoint() == 2
    for version in range(3):
        table.storage.delete(f"_delta_log/{version:020d}.json")
    assert seen(table) == [(2, None)]
    assert json.loads(table.storage.get("_delta_log/_last_checkpoint"))["version"] == 2


def test_every_tenth_version_gets_a_checkpoint(table: Table, clean: Callable[[], None]) -> None:
    table.create(SCHEMA)
    for number in range(11):
        table.append(people((number, "x")))
    names = [entry.name for entry in table.storage.list_from("_delta_log")]
    assert "00000000000000000010.checkpoint.parquet" in names
    assert len(seen(table)) == 11
    clean()


def test_every_commit_has_a_checksum_that_is_never_replaced(table: Table) -> None:
    table.create(SCHEMA)
    table.storage.put("_delta_log/00000000000000000001.crc", b"planted")
    table.append(people((1, "a")))
    table.append(people((2, "b")))
    assert table.storage.get("_delta_log/00000000000000000001.crc") == b"planted"
    document = json.loads(table.storage.get("_delta_log/00000000000000000002.crc"))
    assert document["numFiles"] == 2


def test_commits_record_who_did_what(table: Table, actions: Actions) -> None:
    table.create(SCHEMA)
    table.append(people((1, "a")))
    (info,) = actions(1, "commitInfo")
    assert info["operation"] == "WRITE"
    assert info["isBlindAppend"] is True
    assert info["readVersion"] == 0
    assert "commitInfo" in actions(1)[0]


CODECS = {None: "ZSTD", "SNAPPY": "SNAPPY", "gzip": "GZIP", "uncompressed": "UNCOMPRESSED"}


@pytest.mark.parametrize("codec", CODECS)
def test_files_have_the_codec_that_the_table_asks_for(
    table: Table, actions: Actions, codec: str | None
) -> None:
    asked = {} if codec is None else {"delta.parquet.compression.codec": codec}
    table.create(SCHEMA, properties=asked, rows=people((1, "a")))
    path = Path(table.storage.location) / actions(0, "add")[0]["path"]
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == CODECS[codec]
    assert seen(table) == [(1, "a")]


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta.parquet.compression.codec", "lzma"), ("delta.parquet.format.version", "3.0.0")],
)
def test_unknown_codecs_and_versions_are_refused(table: Table, name: str, value: str) -> None:
    with pytest.raises(InvalidMetadata):
        table.create(SCHEMA, properties={name: value})


def test_pages_have_the_version_that_the_table_asks_for(table: Table) -> None:
    properties = {"delta.parquet.format.version": "2.4.0"}
    table.create(SCHEMA, properties=properties, rows=people((1, "a")))
    assert seen(table) == [(1, "a")]


def test_many_rows_make_files_that_bound_them(table: Table, clean: Callable[[], None]) -> None:
    many = pa.table({"id": list(range(10_000)), "name": [f"n{n % 7}" for n in range(10_000)]})
    table.create(SCHEMA, rows=many)
    assert read_table(table.storage.location, filter="id = 9999").to_pylist() == [
        {"id": 9999, "name": "n3"}
    ]
    clean()


def test_rules_and_filters_see_what_is_empty_in_a_partition_column_as_null(table: Table) -> None:
    table.create(SCHEMA, partition_columns=["name"])
    empty = pa.table({"id": [1], "name": [""]})
    table.append(empty)
    table.overwrite(empty, "name IS NULL")
    assert read_table(table.storage.location).to_pylist() == [{"id": 1, "name": None}]
    with pytest.raises(ConstraintViolation):
        table.overwrite(empty, "name = ''")
    table.update({"name": "a"})
    table.set_nullable("name", nullable=False)
    for change in (lambda: table.append(empty), lambda: table.update({"name": ""})):
        with pytest.raises(ConstraintViolation):
            change()
