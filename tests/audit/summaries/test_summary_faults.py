"""Faults of checkpoints, checksums and row tracking fire exactly their findings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit import audit

Plant = Callable[[Any], Any]
Rows = list[dict[str, Any]]

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
NOW = int(time.time() * 1000)
ADDED = {"partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}


def _checkpoint(lake: Any, change: Callable[[Rows], Any]) -> None:
    lake.basic()
    rows = lake.rows()
    lake.checkpoint(change(rows) or rows)


def _without(action: str) -> Callable[[Rows], Rows]:
    return lambda rows: [row for row in rows if action not in row]


def _set(action: str, **changes: Any) -> Callable[[Rows], Any]:
    def change(rows: Rows) -> None:
        for row in rows:
            if action in row:
                row[action] |= changes

    return change


def _v2(
    lake: Any,
    change: Callable[[Rows], Any] = list,
    *,
    protocol: Any = None,
    sidecar: Callable[[Any], Any] | None = None,
) -> None:
    """Write a version 1 with a V2 checkpoint, its file actions in a sidecar when one is given."""
    actions = [protocol or lake.protocol("r:v2Checkpoint"), lake.metadata()]
    lake.commit(*actions)
    add = lake.file("a.parquet")
    lake.commit(add)
    mark: Rows = [{"checkpointMetadata": {"version": 1}}]
    rows = [*mark, *actions, *([sidecar(add)] if sidecar else [add])]
    lake.checkpoint(change(rows) or rows, f"{1:020d}.checkpoint.{UUID}.parquet")


def _json_tombstone(lake: Any, **more: Any) -> None:
    """Write a V2 checkpoint in JSON whose tombstone has fields that only commits have."""
    actions = [lake.protocol("r:v2Checkpoint"), lake.metadata()]
    kept, gone = lake.file("a.parquet"), lake.file("b.parquet")
    remove = lake.remove("b.parquet", deletionTimestamp=NOW)
    lake.commit(*actions, kept, gone)
    lake.commit(remove)
    rows = [{"checkpointMetadata": {"version": 1}}, *actions, kept]
    rows.append({"remove": remove["remove"] | more})
    lake.write(f"{1:020d}.checkpoint.{UUID}.json", lake.lines(rows))


def _sidecar(lake: Any, *extra: Any, **changes: Any) -> Callable[[Any], Any]:
    def write(add: Any) -> dict[str, Any]:
        path = lake.checkpoint([add, *extra], "_sidecars/s.parquet")
        body = {"path": "s.parquet", "sizeInBytes": path.stat().st_size, "modificationTime": 0}
        return {"sidecar": body | changes}

    return write


def _multipart(lake: Any, protocol: Any, *extra: Any) -> None:
    lake.commit(protocol, lake.metadata())
    rows = [protocol, lake.metadata(), *extra]
    for part, content in ((1, rows[:1]), (2, rows[1:])):
        lake.checkpoint(content, f"{0:020d}.checkpoint.{part:010d}.{2:010d}.parquet")


def _stats(lake: Any, struct: str, text: str, drop: str, *, partition: bool = False) -> None:
    properties = {"checkpoint__writeStatsAsStruct": struct, "checkpoint__writeStatsAsJson": text}
    fields = (lake.field("id"), lake.field("p", "string"))
    metadata = lake.metadata(*fields, partition=["p"] if partition else [], **properties)
    protocol = lake.protocol(reader=1, writer=3)
    values = {"p": "x"} if partition else {}
    rows = pa.table({"id": [1]})
    add = lake.file("a.parquet", rows, partitionValues=values)
    lake.commit(protocol, metadata, add)
    parsed = {"stats_parsed": {"numRecords": 1}, "partitionValues_parsed": values or None}
    body = {k: v for k, v in (add["add"] | parsed).items() if k != drop}
    lake.checkpoint([protocol, metadata, {"add": body}])


def _domains(lake: Any, change: Callable[[Rows], Any]) -> None:
    protocol = lake.protocol("domainMetadata")
    live = {"domainMetadata": {"domain": "a", "configuration": "", "removed": False}}
    dead = {"domainMetadata": {"domain": "b", "configuration": "", "removed": True}}
    lake.commit(protocol, lake.metadata(), live, dead)
    rows = [protocol, lake.metadata(), live]
    lake.checkpoint(change(rows) or rows)


def _fresh_tombstone(lake: Any) -> None:
    lake.basic().commit(lake.remove("a.parquet", deletionTimestamp=NOW))
    lake.checkpoint([row for row in lake.rows() if "add" not in row and "remove" not in row])


def _aged_tombstone(lake: Any, hours: int, retention: str) -> None:
    """Leave a tombstone of that age out of the checkpoint."""
    lake.commit(lake.protocol(), lake.metadata(deletedFileRetentionDuration=retention))
    lake.commit(lake.file("a.parquet"))
    lake.commit(lake.remove("a.parquet", deletionTimestamp=NOW - hours * 3_600_000))
    lake.checkpoint([lake.protocol(), lake.metadata(deletedFileRetentionDuration=retention)])


def _tracked_checkpoint(lake: Any) -> None:
    add = _tracked(lake, base=0)
    add["add"]["baseRowId"] = 9
    protocol, metadata = _tracking(lake)
    lake.checkpoint([protocol, metadata, add, _mark(1)])


def _checksum(lake: Any, text: str | None = None, **changes: Any) -> None:
    lake.basic()
    metadata, protocol = lake.metadata()["metaData"], lake.protocol()["protocol"]
    size = (lake.root / "a.parquet").stat().st_size
    counts = {"sortedBinBoundaries": [0, 10], "fileCounts": [0, 1], "totalBytes": [0, size]}
    right = {
        "tableSizeBytes": size,
        "numFiles": 1,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": metadata,
        "protocol": protocol,
        "setTransactions": [{"appId": "app", "version": 1}],
        "domainMetadata": [],
        "allFiles": [row["add"] for row in lake.rows() if "add" in row],
        "fileSizeHistogram": counts,
        "numDeletedRecordsOpt": 0,
        "numDeletionVectorsOpt": 0,
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, *[0] * 9]},
    }
    lake.write(f"{2:020d}.crc", json.dumps(right | changes) if text is None else text)


def _tracking(lake: Any, **properties: str) -> tuple[Any, Any]:
    names = {
        "rowTracking__materializedRowIdColumnName": "_id",
        "rowTracking__materializedRowCommitVersionColumnName": "_version",
    }
    wanted = {"enableRowTracking": "true", **names} | properties
    metadata = lake.metadata(**{key: value for key, value in wanted.items() if value})
    return lake.protocol("rowTracking", "domainMetadata"), metadata


def _mark(mark: Any, key: str = "rowIdHighWaterMark") -> dict[str, Any]:
    text = mark if isinstance(mark, str) else json.dumps({key: mark})
    body = {"domain": "delta.rowTracking", "configuration": text, "removed": False}
    return {"domainMetadata": body}


def _tracked(
    lake: Any, *, base: Any, version: Any = 1, mark: Any = 1, **properties: str
) -> dict[str, Any]:
    """Commit a file of two rows to a table with row tracking."""
    lake.commit(*_tracking(lake, **properties))
    add: dict[str, Any] = lake.file("a.parquet", baseRowId=base, defaultRowCommitVersion=version)
    lake.commit(add, *([_mark(mark)] if mark is not None else []))
    return add


def _overlap(lake: Any) -> None:
    _tracked(lake, base=0, mark=1)
    ids = {"baseRowId": 2, "defaultRowCommitVersion": 2}
    lake.commit(lake.file("b.parquet", **ids), _mark(3))
    path = lake.log / f"{2:020d}.json"
    path.write_text(path.read_text().replace('"baseRowId": 2', '"baseRowId": 1'))


def _untracked_live_file(lake: Any) -> None:
    lake.commit(lake.protocol("domainMetadata"), lake.metadata(), lake.file("a.parquet"))
    lake.commit(*_tracking(lake))


def _add(path: str) -> dict[str, Any]:
    return {"add": {"path": path, **ADDED}}


def _mapped_materialized(lake: Any) -> None:
    names = {
        "rowTracking__materializedRowIdColumnName": "c-1",
        "rowTracking__materializedRowCommitVersionColumnName": "_version",
    }
    mapping = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "1"}
    metadata = lake.metadata(lake.column("id", 1), enableRowTracking="true", **names, **mapping)
    lake.commit(lake.protocol("rowTracking", "domainMetadata", "r:columnMapping"), metadata)


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "a checkpoint is not Parquet": (
        {"CKPT-005"},
        lambda x: x.basic().write(f"{2:020d}.checkpoint.parquet", "PAR1"),
    ),
    "a checkpoint has no protocol": ({"CKC-002"}, lambda x: _checkpoint(x, _without("protocol"))),
    "a checkpoint has no metaData": ({"CKC-003"}, lambda x: _checkpoint(x, _without("metaData"))),
    "a checkpoint has another protocol": (
        {"CKC-002"},
        lambda x: _checkpoint(x, _set("protocol", minWriterVersion=1)),
    ),
    "a checkpoint has another metaData": (
        {"CKC-003"},
        lambda x: _checkpoint(x, _set("metaData", partitionColumns=["name"])),
    ),
    "a checkpoint lacks a live file": ({"CKC-004"}, lambda x: _checkpoint(x, _without("add"))),
    "a checkpoint has a dead file": (
        {"CKPT-005", "CKPT-006"},
        lambda x: _checkpoint(x, lambda rows: [*rows, _add("b.parquet")]),
    ),
    "a checkpoint invents a tombstone": (
        {"CKPT-006"},
        lambda x: _checkpoint(x, lambda rows: [*rows, x.remove("z.parquet")]),
    ),
    "a checkpoint lacks a fresh tombstone": ({"CKC-005", "CKPT-007"}, _fresh_tombstone),
    "a checkpoint lacks a tombstone of thirty hours": (
        {"CKC-005", "CKPT-007"},
        lambda x: _aged_tombstone(x, 30, "interval 1 day 12 hours"),
    ),
    "a checkpoint in JSON has tags of a tombstone": (
        {"CKC-025"},
        lambda x: _json_tombstone(x, tags={"a": "b"}),
    ),
    "a checkpoint in JSON has statistics of a tombstone": (
        {"CKC-024"},
        lambda x: _json_tombstone(x, stats='{"numRecords":2}'),
    ),
    "a checkpoint has another size of a file": (
        {"CKPT-005", "ADD-006"},
        lambda x: _checkpoint(x, _set("add", size=7)),
    ),
    "a checkpoint lacks a transaction": ({"CKC-006"}, lambda x: _checkpoint(x, _without("txn"))),
    "a checkpoint repeats a transaction": (
        {"CKPT-006"},
        lambda x: _checkpoint(x, lambda rows: [*rows, {"txn": {"appId": "app", "version": 1}}]),
    ),
    "a checkpoint lacks a domain": (
        {"CKC-007", "DOM-014"},
        lambda x: _domains(x, _without("domainMetadata")),
    ),
    "a checkpoint keeps a removed domain": (
        {"CKC-008"},
        lambda x: _domains(
            x,
            lambda rows: [
                *rows,
                {"domainMetadata": {"domain": "b", "configuration": "", "removed": True}},
            ],
        ),
    ),
    "a checkpoint keeps commitInfo": (
        {"CKC-012"},
        lambda x: _checkpoint(x, lambda rows: [*rows, {"commitInfo": {"operation": "x"}}]),
    ),
    "a row holds two actions": (
        {"CKC-001", "CKC-006"},
        lambda x: _checkpoint(
            x,
            lambda rows: [
                *(row for row in rows if "txn" not in row and "remove" not in row),
                {"txn": {"appId": "app", "version": 1}, **x.remove("b.parquet")},
            ],
        ),
    ),
    "a checkpoint lacks typed statistics": (
        {"CKC-021"},
        lambda x: _stats(x, "true", "true", "stats_parsed"),
    ),
    "a checkpoint lacks typed partition values": (
        {"CKC-015"},
        lambda x: _stats(x, "true", "true", "partitionValues_parsed", partition=True),
    ),
    "a checkpoint lacks text statistics": (
        {"CKC-018"},
        lambda x: _stats(x, "false", "true", "stats"),
    ),
    "a checkpoint has another row id": ({"RT-031"}, _tracked_checkpoint),
    "a V2 checkpoint has no feature": (
        {"CKPT-V2-001", "V2F-001"},
        lambda x: _v2(x, protocol=x.protocol("r:vacuumProtocolCheck")),
    ),
    "a V2 checkpoint has two marks": (
        {"CKPT-V2-002"},
        lambda x: _v2(x, lambda rows: [rows[0], *rows]),
    ),
    "a UUID-named checkpoint has no mark": (
        {"CKPT-015", "CKPT-N-013", "CKPT-V2-002"},
        lambda x: _v2(x, lambda rows: rows[1:]),
    ),
    "a V2 checkpoint names another version": (
        {"CKM-003"},
        lambda x: _v2(x, _set("checkpointMetadata", version=7)),
    ),
    "a V2 checkpoint is split over sidecar and itself": (
        {"CKPT-006", "CKPT-V2-004"},
        lambda x: _v2(x, lambda rows: [*rows, x.file("a.parquet")], sidecar=_sidecar(x)),
    ),
    "a multi-part checkpoint is under the V2 feature": (
        {"CKPT-N-009"},
        lambda x: _multipart(x, x.protocol("r:v2Checkpoint")),
    ),
    "a multi-part checkpoint is in V2 form": (
        {"CKPT-026", "CKPT-N-013", "CKPT-V1-002", "CKPT-V2-001", "CKM-001", "CKC-009", "V2F-001"},
        lambda x: _multipart(x, x.protocol(), {"checkpointMetadata": {"version": 0}}),
    ),
    "a sidecar has another size": (
        {"SCA-005"},
        lambda x: _v2(x, sidecar=_sidecar(x, sizeInBytes=1)),
    ),
    "a sidecar is given by a path": (
        {"SCA-003"},
        lambda x: _v2(x, sidecar=_sidecar(x, path="_delta_log/_sidecars/s.parquet")),
    ),
    "a sidecar lies elsewhere": (
        {"SIDE-004"},
        lambda x: _v2(x, sidecar=_sidecar(x, path="/_delta_log/_sidecars/s.parquet")),
    ),
    "a sidecar is missing": (
        {"SIDE-005"},
        lambda x: _v2(x, sidecar=_sidecar(x, path="t.parquet")),
    ),
    "a sidecar holds a transaction": (
        {"CKPT-V2-003", "CKC-006"},
        lambda x: _v2(x, sidecar=_sidecar(x, {"txn": {"appId": "a", "version": 1}})),
    ),
    "a checksum is not JSON": ({"CRC-005"}, lambda x: _checksum(x, text="{")),
    "a checksum holds two objects": ({"CRC-005"}, lambda x: _checksum(x, text="{} {}")),
    "a checksum lacks fields": ({"CRC-009"}, lambda x: _checksum(x, numMetadata=2)),
    "a checksum has a wrong size": ({"CRC-007"}, lambda x: _checksum(x, tableSizeBytes=1)),
    "a checksum has a wrong file count": ({"CRC-008"}, lambda x: _checksum(x, numFiles=9)),
    "a checksum has wrong deleted rows": (
        {"CRC-019"},
        lambda x: _checksum(x, numDeletedRecordsOpt=9),
    ),
    "a checksum has a wrong vector count": (
        {"CRC-020"},
        lambda x: _checksum(x, numDeletionVectorsOpt=9),
    ),
    "a checksum has wrong transactions": ({"CRC-012"}, lambda x: _checksum(x, setTransactions=[])),
    "a checksum has wrong domains": (
        {"CRC-013", "DOM-008", "DOM-009"},
        lambda x: _checksum(
            x, domainMetadata=[{"domain": "a", "configuration": "", "removed": False}]
        ),
    ),
    "a checksum has another metadata": (
        {"CRC-015"},
        lambda x: _checksum(x, metadata=x.metadata()["metaData"] | {"name": "other"}),
    ),
    "a checksum has another protocol": (
        {"CRC-016"},
        lambda x: _checksum(x, protocol={"minReaderVersion": 1, "minWriterVersion": 1}),
    ),
    "a checksum has other files": ({"CRC-018"}, lambda x: _checksum(x, allFiles=[])),
    "a checksum has a timestamp too many": (
        {"CRC-011"},
        lambda x: _checksum(x, inCommitTimestampOpt=5),
    ),
    "a checksum has a wrong histogram": (
        {"CRC-028"},
        lambda x: _checksum(
            x,
            histogramOpt={"sortedBinBoundaries": [0], "fileCounts": [2], "totalBytes": [0]},
        ),
    ),
    "a checksum has a wrong deletion histogram": (
        {"CRC-030"},
        lambda x: _checksum(
            x, deletedRecordCountsHistogramOpt={"deletedRecordCounts": [0, 1, *[0] * 8]}
        ),
    ),
    "a tracked file has no row id": (
        {"RT-028"},
        lambda x: _tracked(x, base=..., enableRowTracking=""),
    ),
    "a tracked file has another commit version": (
        {"RT-040"},
        lambda x: _tracked(x, base=0, version=0),
    ),
    "row ids overlap": ({"RT-029", "RT-039"}, _overlap),
    "the mark is missing": ({"RT-033", "RT-036"}, lambda x: _tracked(x, base=0, mark=None)),
    "the mark is too low": ({"RT-037"}, lambda x: _tracked(x, base=0, mark=0)),
    "the mark is not JSON": ({"RT-034", "RT-037"}, lambda x: _tracked(x, base=0, mark="{")),
    "the mark has another key": ({"RT-035", "RT-037"}, lambda x: _tracked(x, base=0, mark="{}")),
    "enabled tracking has no feature": (
        {"RT-041"},
        lambda x: x.commit(x.protocol("domainMetadata"), _tracking(x)[1]),
    ),
    "enabled tracking loses its feature": (
        {"RT-041", "TF-016"},
        lambda x: x.commit(*_tracking(x)) or x.commit(x.protocol("domainMetadata")),
    ),
    "enabled tracking has no column names": (
        {"RT-042"},
        lambda x: x.commit(*_tracking(x, rowTracking__materializedRowIdColumnName="")),
    ),
    "a materialized column is a column": (
        {"RT-043"},
        lambda x: x.commit(*_tracking(x, rowTracking__materializedRowIdColumnName="id")),
    ),
    "a materialized column is a physical column": ({"RT-044"}, _mapped_materialized),
    "tracking is enabled and suspended": (
        {"RT-009"},
        lambda x: x.commit(*_tracking(x, rowTrackingSuspended="true")),
    ),
    "enabled tracking has files without ids": ({"RT-045", "RT-046"}, _untracked_live_file),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_finding_alone(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


@pytest.mark.parametrize(
    "retention", ["interval 1 day 5 hours", "interval 90 minutes", "3600 seconds", "INTERVAL 1 DAY"]
)
def test_an_expired_tombstone_may_be_gone(retention: str, fires: Any) -> None:
    fires(lambda lake: _aged_tombstone(lake, 30, retention), set())


def _lengthened(lake: Any, *, before: bool) -> None:
    """Remove a file before, or after, no retention becomes that of a week."""
    short = {"deletedFileRetentionDuration": "interval 0 seconds"}
    lake.commit(lake.protocol(), lake.metadata(**short))
    lake.commit(lake.file("a.parquet"), lake.file("b.parquet"))
    lake.commit(lake.remove("a.parquet", deletionTimestamp=NOW - 9_000))
    if before:
        lake.commit(lake.remove("b.parquet", deletionTimestamp=NOW - 5_000))
    lake.commit(lake.metadata())
    if not before:
        lake.commit(lake.remove("b.parquet", deletionTimestamp=NOW - 5_000))
    lake.checkpoint([lake.protocol(), lake.metadata()])


@pytest.mark.parametrize(
    ("before", "expected"), [(True, set[str]()), (False, {"CKC-005", "CKPT-007"})]
)
def test_a_longer_retention_brings_no_tombstone_back(
    fires: Any, expected: set[str], *, before: bool
) -> None:
    fires(lambda lake: _lengthened(lake, before=before), expected)


def test_a_checksum_may_spell_a_place_of_this_machine_otherwise(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata())
    add = lake.file("a.parquet")
    for path, severity in (
        ("file:///%s", "warning"),
        ("file:/%s", "warning"),
        ("s3://%s", "error"),
    ):
        place = f"{lake.root}/a.parquet".lstrip("/")
        version = lake.commit(lake.remove(f"/{place}"), {"add": add["add"] | {"path": f"/{place}"}})
        listed = {"add": add["add"] | {"path": path % place}}["add"]
        lake.write(f"{version:020d}.crc", json.dumps({"allFiles": [listed]}))
        found = [each for each in lake.audit() if each.requirement == "CRC-018"]
        assert [each.severity for each in found] == [severity], path
        (lake.log / f"{version:020d}.crc").unlink()


def test_a_broken_part_names_its_whole(lake: Any) -> None:
    _checksum(lake, numFiles=9)
    found = {each.requirement for each in audit(str(lake.root), revision="2025")}
    assert found == {"CRC-008", "CRC-037"}


def _lost(lake: Any, *, before: bool) -> None:
    """Ask for typed statistics, where an earlier checkpoint may have left out all of a file."""
    none = {"checkpoint__writeStatsAsJson": "false"}
    protocol = lake.protocol(reader=1, writer=3)
    add = lake.file("a.parquet")
    lake.commit(protocol, lake.metadata(**none), add)
    left_out = {key: value for key, value in add["add"].items() if key != "stats"}
    if before:
        lake.checkpoint([protocol, lake.metadata(**none), {"add": left_out}])
    typed = lake.metadata(**none, checkpoint__writeStatsAsStruct="true")
    lake.commit(typed)
    lake.checkpoint([protocol, typed, {"add": left_out | {"stats_parsed": {"numRecords": None}}}])


@pytest.mark.parametrize(("before", "expected"), [(True, set[str]()), (False, {"CKC-021"})])
def test_statistics_that_a_checkpoint_left_out_are_lost_since(
    fires: Any, expected: set[str], *, before: bool
) -> None:
    fires(lambda lake: _lost(lake, before=before), expected)
