"""Optimize and restore move rows between files and change none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit import audit
from reference_impl import Table, read_table
from reference_impl.errors import DataFileNotFound, InvalidLogSegment, VersionNotFound

SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string())])
PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.enableChangeDataFeed": "true",
}
Actions = Callable[..., list[dict[str, Any]]]


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": list(numbers), "part": ["ab"[n % 2] for n in numbers]}, schema=SCHEMA)


def tracked(table: Table) -> list[tuple[Any, ...]]:
    read = read_table(table.storage.location, row_ids=True).to_pylist()
    return sorted(tuple(row.values()) for row in read)


@pytest.fixture
def full(table: Table) -> Table:
    table.create(SCHEMA, partition_columns=["part"], properties=PROPERTIES)
    for start in range(0, 8, 2):
        table.append(rows(start, start + 1))
    table.delete("id = 2")
    return table


def test_optimize_leaves_few_files_and_every_row_as_it_was(
    full: Table, actions: Actions, clean: Callable[[], None]
) -> None:
    before = tracked(full)
    version = full.optimize()
    assert tracked(full) == before
    assert full.snapshot().adds().num_rows == 2
    assert {a["dataChange"] for a in actions(version, "add") + actions(version, "remove")} == {
        False
    }
    assert actions(version, "cdc") == []
    assert full.changes(version).num_rows == 0
    assert full.optimize() == version
    clean()


def test_purging_rewrites_files_with_vectors_only(
    table: Table, actions: Actions, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, properties=PROPERTIES, rows=rows(1, 2))
    table.append(rows(3))
    table.delete("id = 1")
    version = table.optimize(purge_only=True)
    assert len(actions(version, "remove")) == 1
    assert table.snapshot().adds().column("deletionVector").null_count == 2
    clean()


def test_an_append_only_table_can_be_optimized(table: Table) -> None:
    table.create(SCHEMA, properties={"delta.appendOnly": "true"}, rows=rows(1))
    table.append(rows(2))
    assert table.optimize() == 2


def test_restore_brings_rows_schema_and_ids_back(full: Table, clean: Callable[[], None]) -> None:
    full.restore(3)
    third = [row[:3] for row in tracked(full)]
    assert [row[0] for row in third] == list(range(6))
    full.set_properties({"a": "b"})
    full.delete()
    full.restore(3)
    assert [row[:3] for row in tracked(full)] == third
    assert "a" not in full.snapshot().metadata.configuration
    clean()


def test_rows_of_now_need_not_obey_the_rules_of_then(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, properties={"delta.constraints.c": "id < 5"}, rows=rows(1))
    table.drop_constraint("c")
    table.append(rows(7))
    table.restore(0)
    assert read_table(table.storage.location)["id"].to_pylist() == [1]
    clean()


def test_files_keep_ids_that_the_version_restored_lacks(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, rows=rows(1, 2))
    table.append(rows(3))
    table.set_properties({"delta.enableRowTracking": "true"})
    numbered = set(table.snapshot().adds().column("baseRowId").to_pylist())
    table.delete("id >= 1")
    table.checkpoint()
    table.restore(1)
    found = set(table.snapshot().adds().column("baseRowId").to_pylist())
    assert found == numbered
    clean()


def test_files_are_not_restored_where_the_commit_with_their_ids_is_gone(table: Table) -> None:
    table.create(SCHEMA, rows=rows(1, 2))
    table.set_properties({"delta.enableRowTracking": "true"})
    table.delete("id >= 1")
    table.checkpoint()
    (gone,) = Path(table.storage.location).glob("_delta_log/*1.json")
    gone.unlink()
    with pytest.raises(InvalidLogSegment, match="commit 1 is gone"):
        table.restore(0)


def test_restoring_dropped_row_ids_gives_none_out_twice(table: Table) -> None:
    tracking = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"}
    table.create(SCHEMA, properties=tracking, rows=rows(1, 2))
    table.append(rows(3))
    before = [row[:3] for row in tracked(table)]
    table.set_properties({"delta.enableDeletionVectors": "false"})
    table.delete("id = 2")
    table.append(rows(4))
    table.drop_feature("rowTracking")
    table.append(rows(5))
    table.restore(1)
    assert [row[:3] for row in tracked(table)] == before
    table.append(rows(6, 7))
    numbers = [
        row["_row_id"] for row in read_table(table.storage.location, row_ids=True).to_pylist()
    ]
    assert len(set(numbers)) == 5
    assert [f for f in audit(table.storage.location) if f.severity == "error"] == []


def test_restore_needs_the_files_of_the_version(table: Table, actions: Actions) -> None:
    table.create(SCHEMA, rows=rows(1))
    (add,) = actions(0, "add")
    table.delete()
    (Path(table.storage.location) / add["path"]).unlink()
    with pytest.raises(DataFileNotFound):
        table.restore(0)
    with pytest.raises(VersionNotFound):
        table.restore(9)
    assert table.latest_version() == 1


def test_row_ids_begin_at_zero_where_no_mark_is_left(table: Table) -> None:
    table.create(SCHEMA, properties={"delta.enableRowTracking": "true"})
    table.append(rows(1))
    table.drop_feature("rowTracking")
    table.restore(0)
    table.append(rows(2))
    assert read_table(table.storage.location, row_ids=True)["_row_id"].to_pylist() == [0]
    assert [f for f in audit(table.storage.location) if f.severity == "error"] == []


def test_restoring_takes_no_mark_back(table: Table, clean: Callable[[], None]) -> None:
    identity = {"delta.identity.start": 1, "delta.identity.step": 1}
    fields = [
        {"name": "k", "type": "long", "nullable": True, "metadata": identity},
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
    ]
    mapped = {"delta.columnMapping.mode": "name", "delta.enableInCommitTimestamps": "false"}
    table.create({"type": "struct", "fields": fields}, properties=mapped)
    table.append(pa.table({"id": [1, 2]}))
    table.add_columns(pa.schema([("x", pa.int64())]))
    table.set_properties({"delta.enableInCommitTimestamps": "true"})
    table.append(pa.table({"id": [3]}))
    table.restore(0)
    held = table.snapshot().metadata.configuration
    assert held["delta.columnMapping.maxColumnId"] == "3"
    table.append(pa.table({"id": [4]}))
    assert read_table(table.storage.location).to_pylist() == [{"k": 4, "id": 4}]
    table.restore(5)
    table.add_columns(pa.schema([("y", pa.int64())]))
    clean()


def test_restoring_the_name_of_a_column_keeps_its_mark(
    table: Table, clean: Callable[[], None]
) -> None:
    identity = {"delta.identity.start": 1, "delta.identity.step": 1}
    fields = [
        {"name": "k", "type": "long", "nullable": True, "metadata": identity},
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
    ]
    table.create({"type": "struct", "fields": fields})
    table.append(pa.table({"id": [1, 2]}))
    table.set_properties({"delta.columnMapping.mode": "name"})
    table.rename_column("k", "key")
    table.append(pa.table({"id": [3]}))
    table.restore(2)
    table.append(pa.table({"id": [4]}))
    assert sorted(read_table(table.storage.location)["k"].to_pylist()) == [1, 2, 4]
    clean()


def test_a_file_that_comes_again_with_its_vector_has_its_rows(
    table: Table, clean: Callable[[], None]
) -> None:
    properties = {
        "delta.enableDeletionVectors": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    table.create(SCHEMA, properties=properties, rows=rows(1, 2, 3))
    table.delete("id = 2")
    table.checkpoint()
    table.optimize()
    table.restore(1)
    (add,) = table.snapshot().adds().to_pylist()
    assert add["deletionVector"] is not None
    assert json.loads(add["stats"])["numRecords"] == 3
    clean()


def test_a_restore_keeps_since_when_commits_have_a_time(
    table: Table, clean: Callable[[], None]
) -> None:
    on, off = ({"delta.enableInCommitTimestamps": value} for value in ("true", "false"))
    table.create(SCHEMA, properties=on)
    table.set_properties(off)
    table.set_properties(on)
    table.restore(0)
    held = table.snapshot().metadata.configuration
    assert held["delta.inCommitTimestampEnablementVersion"] == "2"
    clean()
