"""Row-level changes: change files, inference, deletion vector pairs, schemas in a range."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table
from reference_impl.errors import (
    IncompatibleSchemas,
    InvalidDataFile,
    InvalidPartitionValue,
    VersionNotFound,
)

_ON = {"delta.enableChangeDataFeed": "true"}
_FIELDS = [("v", "long"), ("p", "string")]


def _create(table: Any, fields: list[Any] | None = None, **more: Any) -> None:
    options = {"configuration": _ON, "writer_features": ["changeDataFeed"], "partition": ["p"]}
    table.create(fields or _FIELDS, **{**options, **more})


def _add(table: Any, *values: int, **fields: Any) -> dict[str, Any]:
    return dict(table.add(pa.table({"v": values}), **{"partitionValues": {"p": "x"}, **fields}))


def _changes(table: Any, start: int = 0, end: int | None = None) -> list[tuple[Any, ...]]:
    found = Table(table.root).changes(start, end)
    names = ("_commit_version", "_change_type", "v", "p")
    return sorted(zip(*(found[name].to_pylist() for name in names), strict=True))


def test_added_rows_are_inserts_and_removed_rows_are_deletes(table: Any) -> None:
    _create(table)
    first = _add(table, 1, 2)
    table.commit(first)
    table.commit(table.remove(first), _add(table, 3))
    assert _changes(table) == [
        (1, "insert", 1, "x"),
        (1, "insert", 2, "x"),
        (2, "delete", 1, "x"),
        (2, "delete", 2, "x"),
        (2, "insert", 3, "x"),
    ]
    assert _changes(table, 1, 1) == [(1, "insert", 1, "x"), (1, "insert", 2, "x")]


def test_change_files_replace_everything_else_in_their_version(table: Any) -> None:
    _create(table)
    first = _add(table, 1)
    table.commit(first)
    rows = pa.table({"v": [1, 2], "_change_type": ["update_preimage", "update_postimage"]})
    change = table.add(rows, "_change_data/c%20d.parquet", on_disk="_change_data/c d.parquet")[
        "add"
    ]
    cdc = {
        "path": change["path"],
        "partitionValues": {"p": "y"},
        "size": change["size"],
        "dataChange": False,
    }
    table.commit({"cdc": cdc}, table.remove(first), _add(table, 2))
    assert _changes(table, 2) == [(2, "update_postimage", 2, "y"), (2, "update_preimage", 1, "y")]


def test_a_pair_of_vectors_changes_the_rows_in_which_they_differ(
    table: Any, vector: Callable[..., Any]
) -> None:
    _create(table, features=["deletionVectors"])
    plain = _add(table, 0, 1, 2, 3)
    table.commit(plain)
    past = plain
    for rows in ([1], [1, 2], [2], None):
        body = {key: value for key, value in past["add"].items() if key != "deletionVector"}
        if rows is not None:
            body["deletionVector"] = vector(rows)
        now = {"add": body}
        table.commit(table.remove(past), now)
        past = now
    assert _changes(table, 2) == [
        (2, "delete", 1, "x"),
        (3, "delete", 2, "x"),
        (4, "insert", 1, "x"),
        (5, "insert", 2, "x"),
    ]


def test_actions_that_do_not_change_data_are_passed_over(table: Any) -> None:
    _create(table)
    first = _add(table, 1)
    table.commit(first)
    table.commit(table.remove(first, dataChange=False), _add(table, 1, dataChange=False))
    assert _changes(table, 2) == []


def test_a_remove_without_partition_values_takes_those_of_its_add(table: Any) -> None:
    _create(table)
    first = _add(table, 1)
    table.commit(first)
    remove = {"path": first["add"]["path"], "deletionTimestamp": 1, "dataChange": True}
    table.commit({"remove": remove})
    assert _changes(table, 2) == [(2, "delete", 1, "x")]


def test_changes_carry_the_time_of_their_commit(table: Any) -> None:
    _create(table)
    table.commit(_add(table, 1))
    commit = table.root / "_delta_log" / f"{1:020}.json"
    os.utime(commit, (1_700_000_000, 1_700_000_000))
    found = Table(table.root).changes(1)
    assert found["_commit_timestamp"].to_pylist() == [datetime.fromtimestamp(1_700_000_000, UTC)]
    assert found.schema.field("_commit_timestamp").type == pa.timestamp("us", "UTC")
    assert found.column_names[:2] == ["v", "p"]


def test_in_commit_timestamps_are_the_times_where_they_are_active(table: Any) -> None:
    configuration = {**_ON, "delta.enableInCommitTimestamps": "true"}
    features = ["changeDataFeed", "inCommitTimestamp"]
    info = {"commitInfo": {"inCommitTimestamp": 1_600_000_000_123, "operation": "WRITE"}}
    # Protocol and metadata come after commitInfo, which is the first action of its commit.
    _create(table, configuration=configuration, writer_features=features)
    log = table.root / "_delta_log" / f"{0:020}.json"
    log.write_text('{"commitInfo":{"inCommitTimestamp":1600000000000}}\n' + log.read_text())
    table.commit(info, _add(table, 1))
    found = Table(table.root).changes(1)
    assert found["_commit_timestamp"].cast(pa.int64()).to_pylist() == [1_600_000_000_123_000]


def _metadata(table: Any, fields: list[Any], **more: Any) -> dict[str, Any]:
    scratch = type(table)(table.root.parent / f"scratch-{table.version}")
    _create(scratch, fields, **more)
    text = (scratch.root / "_delta_log" / f"{0:020}.json").read_text().splitlines()[1]

    return dict(json.loads(text))


def test_a_column_added_in_the_range_is_null_before(table: Any) -> None:
    _create(table)
    table.commit(_add(table, 1))
    table.commit(_metadata(table, [*_FIELDS, ("w", "string")]))
    rows = pa.table({"v": [2], "w": ["new"]})
    table.commit(table.add(rows, partitionValues={"p": "x"}))
    assert Table(table.root).changes(1)["w"].to_pylist() == [None, "new"]


@pytest.mark.parametrize(
    "fields",
    [[("p", "string")], [("v", "string"), ("p", "string")], [("renamed", "long"), ("p", "string")]],
)
def test_a_range_over_a_lost_column_is_refused(table: Any, fields: list[Any]) -> None:
    _create(table)
    table.commit(_add(table, 1))
    table.commit(_metadata(table, fields))
    with pytest.raises(IncompatibleSchemas, match="column v"):
        Table(table.root).changes(1)


@pytest.mark.parametrize("features", [[], ["changeDataFeed"]])
def test_changes_are_inferred_where_the_feed_is_off(table: Any, features: list[str]) -> None:
    _create(table, configuration={}, writer_features=features)
    first = _add(table, 1)
    table.commit(first)
    table.commit(table.remove(first), _add(table, 1, 2))
    assert _changes(table) == [
        (1, "insert", 1, "x"),
        (2, "delete", 1, "x"),
        (2, "insert", 1, "x"),
        (2, "insert", 2, "x"),
    ]


def test_the_feed_may_be_turned_off_and_on_in_the_range(table: Any) -> None:
    _create(table)
    table.commit(_add(table, 1))
    table.commit(_metadata(table, _FIELDS, configuration={}), _add(table, 2))
    table.commit(_metadata(table, _FIELDS), _add(table, 3))
    assert _changes(table) == [(n, "insert", n, "x") for n in (1, 2, 3)]


def test_earlier_rows_may_have_nulls_that_a_column_has_no_more(tmp_path: Path) -> None:
    table = Table(tmp_path)
    rows = pa.table({"id": [1, 2], "name": pa.array(["a", None], pa.string())})
    table.create(rows.schema, properties={"delta.enableChangeDataFeed": "true"}, rows=rows)
    table.delete("id = 2")
    table.set_nullable("name", nullable=False)
    found = [(row["_change_type"], row["name"]) for row in table.changes(0).to_pylist()]
    assert found == [("insert", "a"), ("insert", None), ("delete", None)]


@pytest.mark.parametrize(("start", "end"), [(2, None), (1, 0), (-1, 0), (0, 9)])
def test_a_range_outside_of_the_log_is_refused(table: Any, start: int, end: int | None) -> None:
    _create(table)
    table.commit(_add(table, 1))
    with pytest.raises(VersionNotFound):
        Table(table.root).changes(start, end)


@pytest.mark.parametrize("rows", [{"v": [1]}, {"v": [1], "_change_type": ["upsert"]}])
def test_a_change_file_without_types_of_change_is_refused(table: Any, rows: Any) -> None:
    _create(table)
    change = table.add(pa.table(rows), "_change_data/c.parquet")["add"]
    cdc = {
        "path": change["path"],
        "partitionValues": {"p": "x"},
        "size": change["size"],
        "dataChange": False,
    }
    table.commit({"cdc": cdc})
    with pytest.raises(InvalidDataFile, match="_change_type"):
        Table(table.root).changes(1)


def test_a_remove_may_leave_out_a_null_partition_value(table: Any) -> None:
    # Spark drops null entries of a remove, though it keeps those of an add.
    _create(table)
    first = _add(table, 1, partitionValues={"p": None})
    table.commit(first)
    table.commit(table.remove(first, partitionValues={}))
    assert _changes(table, 2) == [(2, "delete", 1, None)]
    table.commit(_add(table, 2, partitionValues={}))
    with pytest.raises(InvalidPartitionValue, match="has no 'p'"):
        Table(table.root).changes(3)
