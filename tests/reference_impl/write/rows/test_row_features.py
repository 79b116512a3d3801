"""Deletion vectors, change feed, in-commit timestamps, row tracking and column mapping."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import ConstraintViolation, InvalidColumnMapping, InvalidMetadata

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKING = {"delta.enableRowTracking": "true"}
CLOCK = {"delta.enableInCommitTimestamps": "true"}
Actions = Callable[..., list[dict[str, Any]]]


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": list(numbers), "name": [f"n{n}" for n in numbers]}, schema=SCHEMA)


def ids(table: Table, version: int | None = None) -> list[int]:
    return sorted(read_table(table.storage.location, version=version)["id"].to_pylist())


def test_rows_are_deleted_by_a_vector_and_again_by_a_merged_one(
    table: Table, actions: Actions, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, properties=VECTORS, rows=rows(*range(10)))
    table.delete("id = 3")
    table.delete("id IN (4, 5)")
    (add,), (remove,) = actions(2, "add"), actions(2, "remove")
    assert add["path"] == remove["path"]
    assert add["deletionVector"]["cardinality"] == 3
    assert remove["deletionVector"]["cardinality"] == 1
    assert json.loads(add["stats"])["tightBounds"] is False
    assert json.loads(add["stats"])["numRecords"] == 10
    assert ids(table) == [0, 1, 2, 6, 7, 8, 9]
    assert [len(ids(table, v)) for v in range(3)] == [10, 9, 7]
    clean()


def test_files_get_row_ids_where_a_checkpoint_lost_their_statistics(
    table: Table, clean: Callable[[], None]
) -> None:
    lost = {"delta.checkpoint.writeStatsAsJson": "false", **VECTORS}
    table.create(SCHEMA, properties=lost, rows=rows(1, 2, 3))
    table.delete("id = 2")
    table.checkpoint()
    assert table.snapshot().adds().column("stats").to_pylist() == [None]
    table.set_properties({"delta.enableRowTracking": "true"})
    [stats] = table.snapshot().adds().column("stats").to_pylist()
    assert json.loads(stats) == {"tightBounds": False, "numRecords": 3}
    held = read_table(table.storage.location, row_ids=True).to_pylist()
    assert sorted((row["id"], row["_row_id"]) for row in held) == [(1, 0), (3, 2)]
    clean()


def test_one_vector_file_serves_a_commit(table: Table, actions: Actions) -> None:
    table.create(SCHEMA, properties=VECTORS, rows=rows(1, 2))
    table.append(rows(3, 4))
    table.delete("id IN (1, 3)")
    vectors = [add["deletionVector"] for add in actions(2, "add")]
    assert len({vector["pathOrInlineDv"] for vector in vectors}) == 1
    assert min(vector["offset"] for vector in vectors) == 1
    assert ids(table) == [2, 4]


def test_a_file_without_rows_left_is_removed(table: Table, actions: Actions) -> None:
    table.create(SCHEMA, properties=VECTORS, rows=rows(1, 2))
    table.delete("id = 1")
    table.delete("id = 2")
    assert actions(2, "add") == []
    assert len(actions(2, "remove")) == 1


def test_vectors_are_purged_once_they_are_switched_off(table: Table, actions: Actions) -> None:
    table.create(SCHEMA, properties=VECTORS, rows=rows(1, 2, 3))
    table.delete("id = 1")
    table.set_properties({"delta.enableDeletionVectors": "false"})
    table.delete("id = 2")
    assert "deletionVector" not in actions(3, "add")[0]
    assert ids(table) == [3]


def changes(table: Table, start: int) -> list[tuple[Any, ...]]:
    found = table.changes(start).to_pylist()
    return sorted((r["_commit_version"], r["_change_type"], r["id"], r["name"]) for r in found)


@pytest.mark.parametrize("vectors", [{}, VECTORS])
def test_change_files_are_there_exactly_when_they_are_needed(
    table: Table, actions: Actions, clean: Callable[[], None], vectors: dict[str, str]
) -> None:
    table.create(SCHEMA, properties={**FEED, **vectors})
    table.append(rows(1, 2, 3))
    table.delete("id = 1")
    table.update({"name": "x"}, "id = 2")
    table.overwrite(rows(9), "id = 9")
    table.delete()
    assert [bool(actions(version, "cdc")) for version in range(1, 6)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert all(cdc["dataChange"] is False for cdc in actions(2, "cdc"))
    assert changes(table, 1) == [
        (1, "insert", 1, "n1"),
        (1, "insert", 2, "n2"),
        (1, "insert", 3, "n3"),
        (2, "delete", 1, "n1"),
        (3, "update_postimage", 2, "x"),
        (3, "update_preimage", 2, "n2"),
        (4, "insert", 9, "n9"),
        (5, "delete", 2, "x"),
        (5, "delete", 3, "n3"),
        (5, "delete", 9, "n9"),
    ]
    clean()


def times(table: Table, actions: Actions) -> list[int]:
    found = [actions(v, "commitInfo")[0] for v in range(table.latest_version() + 1)]
    return [info.get("inCommitTimestamp", -1) for info in found]


def test_commit_times_rise_under_a_clock_that_stands_still(
    table: Table, actions: Actions, clean: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    table.create(SCHEMA, properties=CLOCK)
    for number in range(3):
        table.append(rows(number))
    start = 1_700_000_000_000
    assert times(table, actions) == [start, start + 1, start + 2, start + 3]
    assert all(next(iter(actions(v)[0]["commitInfo"])) == "inCommitTimestamp" for v in range(4))
    monkeypatch.undo()
    clean()


def test_commit_times_that_begin_later_say_when(
    table: Table, actions: Actions, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA)
    table.append(rows(1))
    table.set_properties(CLOCK)
    table.append(rows(2))
    stamps = times(table, actions)
    configuration = actions(2, "metaData")[0]["configuration"]
    assert stamps[:2] == [-1, -1]
    assert configuration["delta.inCommitTimestampEnablementVersion"] == "2"
    assert configuration["delta.inCommitTimestampEnablementTimestamp"] == str(stamps[2])
    assert stamps[3] > stamps[2]
    clean()


def tracked(table: Table) -> dict[int, tuple[int, int]]:
    found = read_table(table.storage.location, row_ids=True).to_pylist()
    return {r["id"]: (r["_row_id"], r["_row_commit_version"]) for r in found}


@pytest.mark.parametrize("vectors", [{}, VECTORS])
def test_rows_keep_their_ids_through_every_change(
    table: Table, clean: Callable[[], None], vectors: dict[str, str]
) -> None:
    table.create(SCHEMA, properties={**TRACKING, **vectors})
    table.append(rows(1, 2, 3))
    table.append(rows(4))
    before = tracked(table)
    assert sorted(before.values()) == [(0, 1), (1, 1), (2, 1), (3, 2)]
    table.delete("id = 1")
    assert tracked(table) == {number: before[number] for number in (2, 3, 4)}
    table.update({"name": "x"}, "id = 3")
    after = tracked(table)
    assert after[2] == before[2]
    assert after[3] == (before[3][0], 4)
    table.append(rows(5))
    fresh = tracked(table)[5][0]
    assert fresh > max(number for number, _ in after.values())
    clean()


def test_row_tracking_that_begins_later_gives_ids_to_what_is_there(
    table: Table, actions: Actions, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, rows=rows(1, 2))
    table.append(rows(3))
    table.set_properties(TRACKING)
    assert [add["dataChange"] for add in actions(2, "add")] == [False, False]
    assert sorted(row_id for row_id, _ in tracked(table).values()) == [0, 1, 2]
    table.update({"name": "x"}, "id = 1")
    assert sorted(row_id for row_id, _ in tracked(table).values()) == [0, 1, 2]
    clean()


def test_suspended_row_tracking_gives_no_ids(table: Table, actions: Actions) -> None:
    properties = {"delta.rowTrackingSuspended": "true"}
    table.create(SCHEMA, features=["rowTracking"], properties=properties)
    table.append(rows(1))
    assert "baseRowId" not in actions(1, "add")[0]
    with pytest.raises(InvalidMetadata):
        table.set_properties(TRACKING)


NESTED = pa.schema(
    [
        ("id", pa.int64()),
        ("s", pa.struct([("a", pa.string()), ("l", pa.list_(pa.struct([("b", pa.int64())])))])),
        ("m", pa.map_(pa.string(), pa.struct([("c", pa.int64())]))),
    ]
)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_have_ids_and_names_of_their_own(
    table: Table, actions: Actions, clean: Callable[[], None], mode: str
) -> None:
    table.create(NESTED, partition_columns=["id"], properties={"delta.columnMapping.mode": mode})
    data = [{"id": 1, "s": {"a": "x", "l": [{"b": 2}, None]}, "m": [("k", {"c": 3})]}]
    table.append(pa.Table.from_pylist(data, schema=NESTED))
    metadata = actions(0, "metaData")[0]
    assert metadata["configuration"]["delta.columnMapping.maxColumnId"] == "7"
    (add,) = actions(1, "add")
    schema = json.loads(metadata["schemaString"])
    physical = schema["fields"][0]["metadata"]["delta.columnMapping.physicalName"]
    assert physical.startswith("col-")
    assert add["partitionValues"] == {physical: "1"}
    stored = pq.ParquetFile(Path(table.storage.location) / add["path"]).schema_arrow
    assert stored.names == [
        f["metadata"]["delta.columnMapping.physicalName"] for f in schema["fields"][1:]
    ]
    assert [f.metadata[b"PARQUET:field_id"] for f in stored] == [b"2", b"6"]
    table.delete("id = 7")
    assert read_table(table.storage.location).to_pylist() == data
    clean()


def test_a_table_is_mapped_by_name_later_on(table: Table, clean: Callable[[], None]) -> None:
    table.create(SCHEMA, rows=rows(1))
    table.set_properties({"delta.columnMapping.mode": "name"})
    table.append(rows(2))
    assert ids(table) == [1, 2]
    clean()


@pytest.mark.parametrize(("start", "then"), [("none", "id"), ("name", "id"), ("name", "none")])
def test_other_changes_of_the_mode_are_refused(table: Table, start: str, then: str) -> None:
    table.create(SCHEMA, properties={"delta.columnMapping.mode": start})
    with pytest.raises(InvalidColumnMapping):
        table.set_properties({"delta.columnMapping.mode": then})


def test_properties_that_files_rely_on_are_not_unset(table: Table) -> None:
    table.create(SCHEMA, properties={"delta.columnMapping.mode": "name"})
    with pytest.raises(InvalidMetadata):
        table.unset_properties(["delta.columnMapping.mode"])


def test_user_domains_are_kept_and_system_domains_are_closed(
    table: Table, actions: Actions
) -> None:
    table.create(SCHEMA, features=["domainMetadata"])
    table.set_domain("mine", "{}")
    assert table.snapshot().domain_metadata["mine"].configuration == "{}"
    table.set_domain("mine", None)
    assert actions(2, "domainMetadata") == [
        {"domain": "mine", "configuration": "{}", "removed": True}
    ]
    with pytest.raises(ConstraintViolation):
        table.set_domain("delta.mine", "{}")
