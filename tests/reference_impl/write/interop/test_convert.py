"""A directory of Parquet files becomes a table, or the file that does not fit is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.materialise.data.legacy_parquet import chunks, edit_footer
from reference_impl import Table, read_table
from reference_impl.errors import (
    CommitConflict,
    ConstraintViolation,
    DeltaError,
    InvalidDataFile,
    InvalidPartitionValue,
    SchemaMismatch,
    UnsupportedFeatures,
)

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
PARTITIONED = SCHEMA.append(pa.field("day", pa.date32())).append(pa.field("k v", pa.string()))
Put = Callable[..., None]


@pytest.fixture
def put(table: Table) -> Put:
    """Write a Parquet file below the root of the table that is to be."""

    def write(path: str, rows: pa.Table | None = None, **options: Any) -> None:
        target = Path(table.storage.location) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        given = pa.table({"id": [1, 2], "name": ["a", None]}) if rows is None else rows
        pq.write_table(given, target, **options)

    return write


def found(table: Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_table(table.storage.location).sort_by("id").to_pylist()
    return rows


def test_folders_give_partition_values(table: Table, put: Put, clean: Callable[[], None]) -> None:
    put("day=2024-02-29/k%20v=a%2Fb%25/x.parquet", pa.table({"id": [1], "name": ["x"]}))
    put("day=1969-12-31/k%20v=__HIVE_DEFAULT_PARTITION__/y z.parquet", pa.table({"id": [2]}))
    put("day=__HIVE_DEFAULT_PARTITION__/k%20v=/z.parquet", pa.table({"id": [3]}))
    put("_hidden/h.parquet")
    put(".hidden.parquet")
    assert table.convert(PARTITIONED, partition_columns=["day", "k v"]) == 0
    assert found(table) == [
        {"id": 1, "name": "x", "day": date(2024, 2, 29), "k v": "a/b%"},
        {"id": 2, "name": None, "day": date(1969, 12, 31), "k v": None},
        {"id": 3, "name": None, "day": None, "k v": None},
    ]
    clean()
    table.delete("day = DATE'1969-12-31'")
    table.append(pa.table({"id": [4], "k v": ["new"]}))
    assert [row["id"] for row in found(table)] == [1, 3, 4]
    clean()


def test_a_schema_is_taken_from_the_first_file(
    table: Table, put: Put, clean: Callable[[], None]
) -> None:
    put("p=7/b.parquet")
    put("p=a/c.parquet", pa.table({"id": [3], "name": ["c"]}))
    table.convert()
    assert [row["p"] for row in found(table)] == ["7", "7", "a"]
    assert table.snapshot().metadata.partition_columns == ("p",)
    clean()


VALUES = pa.table(
    {
        "id": [3, 1, 2],
        "text": ["b" * 40, "a", None],
        "amount": pa.array([Decimal("1.50"), Decimal("-2.25"), None], pa.decimal128(9, 2)),
        "day": [date(2020, 1, 2), None, date(1969, 12, 31)],
        "at": pa.array(
            [datetime(2020, 1, 1, 0, 0, 0, 1, UTC), None, None], pa.timestamp("us", "UTC")
        ),
        "ratio": [1.5, float("nan"), -1.0],
        "flag": [True, None, False],
        "list": [[1], None, []],
        "s": [{"a": 1}, None, {"a": None}],
    }
)


@pytest.mark.parametrize("size", [1, 100])
def test_footers_give_statistics(
    table: Table,
    put: Put,
    clean: Callable[[], None],
    actions: Callable[..., list[dict[str, Any]]],
    size: int,
) -> None:
    put("x.parquet", VALUES, row_group_size=size)
    table.convert()
    [add] = actions(0, "add")
    statistics = json.loads(add["stats"])
    if size == 1:
        # A group of nothing but NaN has no bounds, and so the column has none.
        assert "ratio" not in statistics["minValues"]
        statistics["minValues"]["ratio"] = -1.0
    assert statistics == {
        "numRecords": 3,
        "minValues": {
            "id": 1,
            "text": "a",
            "amount": -2.25,
            "day": "1969-12-31",
            "at": "2020-01-01T00:00:00.000Z",
            "ratio": -1.0,
        },
        "maxValues": {
            "id": 3,
            "text": "b" * 31 + "c",
            "amount": 1.5,
            "day": "2020-01-02",
            "at": "2020-01-01T00:00:00.001Z",
        },
        "nullCount": {"id": 0, "text": 1, "amount": 1, "day": 1, "at": 2, "ratio": 0, "flag": 1},
    }
    clean()
    assert read_table(table.storage.location, filter="ratio > 100").num_rows == 1


def test_files_without_statistics_are_taken(
    table: Table, put: Put, clean: Callable[[], None]
) -> None:
    put("x.parquet", write_statistics=False)
    put("y.parquet", pa.table({"id": pa.array([], pa.int64())}))
    table.convert(SCHEMA, properties={"delta.enableRowTracking": "true"})
    assert len(found(table)) == 2
    ids = read_table(table.storage.location, row_ids=True).column("_row_id").to_pylist()
    assert sorted(ids) == [0, 1]
    clean()


def strict(name: str) -> pa.Schema:
    return pa.schema([f.with_nullable(f.name != name) for f in SCHEMA])


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], type[DeltaError]]] = {
    "no folder of the column": (
        {"x.parquet": None},
        {"schema": PARTITIONED, "partition_columns": ["day", "k v"]},
        SchemaMismatch,
    ),
    "folder of no column": ({"day=2020-01-01/x.parquet": None}, {"schema": SCHEMA}, SchemaMismatch),
    "folder without value": ({"day/x.parquet": None}, {"schema": SCHEMA}, SchemaMismatch),
    "no such day": (
        {"day=2020-02-30/x.parquet": None},
        {"schema": SCHEMA.append(pa.field("day", pa.date32())), "partition_columns": ["day"]},
        InvalidPartitionValue,
    ),
    "another type": ({"x.parquet": pa.table({"id": ["x"]})}, {"schema": SCHEMA}, InvalidDataFile),
    "another column": ({"x.parquet": pa.table({"zz": [1]})}, {"schema": SCHEMA}, SchemaMismatch),
    "other columns in the second": (
        {"a.parquet": None, "b.parquet": pa.table({"id": [1], "more": [2]})},
        {},
        SchemaMismatch,
    ),
    "nothing there": ({}, {}, SchemaMismatch),
    "nulls": ({"x.parquet": None}, {"schema": strict("name")}, InvalidDataFile),
    "missing and not null": (
        {"x.parquet": pa.table({"name": ["a"]})},
        {"schema": strict("id")},
        ConstraintViolation,
    ),
    "null partition": (
        {"name=__HIVE_DEFAULT_PARTITION__/x.parquet": pa.table({"id": [1]})},
        {"schema": strict("name"), "partition_columns": ["name"]},
        ConstraintViolation,
    ),
    "mapped": (
        {"x.parquet": None},
        {"schema": SCHEMA, "properties": {"delta.columnMapping.mode": "name"}},
        ConstraintViolation,
    ),
    "constrained": (
        {"x.parquet": None},
        {"schema": SCHEMA, "properties": {"delta.constraints.c": "id > 1"}},
        ConstraintViolation,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(table: Table, put: Put, name: str) -> None:
    files, arguments, error = REFUSED[name]
    for path, rows in files.items():
        put(path, rows)
    with pytest.raises(error):
        table.convert(**arguments)
    assert not (Path(table.storage.location) / "_delta_log").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda chunks: chunks.pop(),
        lambda chunks: chunks[0].drop(3),
        lambda chunks: chunks[1].get(3).set(9, 6, -5),
    ],
    ids=["lacks a column", "says nothing of a column", "puts a column before the file"],
)
def test_a_footer_that_misleads_is_refused(
    table: Table, put: Put, spoil: Callable[[list[Any]], None]
) -> None:
    put("f.parquet")
    path = Path(table.storage.location) / "f.parquet"
    edit_footer(path, lambda footer: [spoil(group) for group in chunks(footer)])
    with pytest.raises(InvalidDataFile) as caught:
        table.convert(SCHEMA)
    assert caught.value.path == "f.parquet"
    assert not (Path(table.storage.location) / "_delta_log").exists()


def test_other_files_and_tables_are_refused(table: Table, put: Put) -> None:
    put("x.parquet")
    other = Path(table.storage.location) / "notes.txt"
    other.write_text("x")
    with pytest.raises(SchemaMismatch, match=r"notes\.txt is no Parquet file"):
        table.convert(SCHEMA)
    other.write_bytes(b"PAR1")
    other.rename(other.with_name("y.parquet"))
    with pytest.raises(InvalidDataFile, match=r"y\.parquet"):
        table.convert(SCHEMA)
    (Path(table.storage.location) / "y.parquet").unlink()
    put("_p=1/z.parquet")
    with pytest.raises(SchemaMismatch, match=r"_p=1/z\.parquet is in a folder whose name begins"):
        table.convert(SCHEMA)
    (Path(table.storage.location) / "_p=1/z.parquet").unlink()
    table.convert(SCHEMA)
    with pytest.raises(CommitConflict):
        table.convert(SCHEMA)


def lines(table: Table, path: str) -> list[str]:
    return table.storage.get(path).decode().splitlines()


def test_manifests_list_the_live_files_of_each_partition(table: Table) -> None:
    table.create(SCHEMA, partition_columns=["name"])
    table.append(pa.table({"id": [1, 2, 3], "name": ["a b", None, "c"]}))
    table.append(pa.table({"id": [4], "name": ["c"]}))
    folder = "_symlink_format_manifest"
    names = [
        f"{folder}/name={each}/manifest" for each in ("__HIVE_DEFAULT_PARTITION__", "a b", "c")
    ]
    assert sorted(table.generate_manifest()) == sorted(names)
    assert [len(lines(table, name)) for name in names] == [1, 1, 2]
    rows = pa.concat_tables(
        pq.ParquetFile(location).read() for name in names for location in lines(table, name)
    )
    assert sorted(rows.column("id").to_pylist()) == [1, 2, 3, 4]
    table.delete("name = 'c'")
    assert sorted(table.generate_manifest()) == sorted(names[:2])
    assert not (Path(table.storage.location) / names[2]).exists()
    assert table.vacuum(retention=0, unsafe=True)
    assert len(lines(table, names[0])) == 1


def test_an_empty_table_has_an_empty_manifest(table: Table) -> None:
    table.create(SCHEMA)
    [name] = table.generate_manifest()
    assert lines(table, name) == []


def test_a_manifest_is_refused_where_it_would_be_read_wrong(table: Table) -> None:
    rows = pa.table({"id": [1, 2], "name": ["a", "b"]})
    table.create(SCHEMA, properties={"delta.enableDeletionVectors": "true"}, rows=rows)
    table.generate_manifest()
    table.delete("id = 1")
    with pytest.raises(UnsupportedFeatures, match="rows of a file are deleted"):
        table.generate_manifest()
    table.optimize(purge_only=True)
    [name] = table.generate_manifest()
    assert len(lines(table, name)) == 1
    table.set_properties({"delta.columnMapping.mode": "name"})
    with pytest.raises(UnsupportedFeatures, match="physical names of columns"):
        table.generate_manifest()
