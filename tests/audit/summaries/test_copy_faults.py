"""Faults of what checkpoints, compactions and checksums repeat of the log, field by field."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

Plant = Callable[[Any], Any]
UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
FEATURES = ("r:v2Checkpoint", "r:deletionVectors", "rowTracking", "domainMetadata")

STATS = {
    "numRecords": 2,
    "minValues": {"id": 1, "day": "2020-01-01", "at": "2020-01-01T00:00:00.000Z", "f": 0.1},
    "maxValues": {"id": 2, "day": "2020-01-02", "at": "2020-01-02T00:00:00.000Z", "f": 0.2},
    "nullCount": {"id": 0, "day": 0, "at": 0, "f": 0},
}
PARSED = copy.deepcopy(STATS)
"""What a checkpoint has of it; JSON checkpoints spell it alike."""


def _rows() -> pa.Table:
    day = pa.array([18262, 18263], pa.date32())
    at = pa.array([1577836800000000, 1577923200000000], pa.timestamp("us", "UTC"))
    columns = {"id": pa.array([1, 2]), "day": day, "at": at}
    return pa.table(columns | {"f": pa.array([0.1, 0.2], pa.float32())})


def _actions(lake: Any) -> list[dict[str, Any]]:
    """Commit a table with a file, a tombstone, a transaction and a domain; give its actions."""
    protocol = lake.protocol(*FEATURES)
    fields = [
        lake.field("id"),
        lake.field("day", "date"),
        lake.field("at", "timestamp"),
        lake.field("f", "float"),
        lake.field("p", "integer"),
    ]
    properties = {"enableDeletionVectors": "true", "checkpoint__writeStatsAsStruct": "true"}
    metadata = lake.metadata(*fields, partition=["p"], **properties)
    mark = {"domain": "delta.rowTracking", "removed": False}
    mark["configuration"] = json.dumps({"rowIdHighWaterMark": 9})
    own = {"domainMetadata": {"domain": "own", "configuration": "{}", "removed": False}}
    lake.commit(protocol, metadata, {"domainMetadata": mark}, own)
    ids = {"baseRowId": 10, "defaultRowCommitVersion": 1}
    more = {
        "partitionValues": {"p": "7"},
        "stats": json.dumps(STATS),
        "tags": {"INSERTION_TIME": "5"},
        "clusteringProvider": "kit",
        "deletionVector": lake.vector([0]),
    }
    # Bounds of rows that a vector took are loose.
    wide = STATS | {"tightBounds": False}
    add = lake.file("a.parquet", _rows(), **ids, **more | {"stats": json.dumps(wide)})
    gone = lake.file("gone.parquet", _rows(), **more | ids | {"baseRowId": 12})
    del gone["add"]["deletionVector"]
    txn = {"txn": {"appId": "app", "version": 3, "lastUpdated": 8}}
    high = {"domainMetadata": mark | {"configuration": json.dumps({"rowIdHighWaterMark": 13})}}
    lake.commit(add, gone, txn, high)
    held = {"baseRowId": 12, "defaultRowCommitVersion": 1, "deletionTimestamp": 4_000_000_000_000}
    remove = lake.remove("gone.parquet", **held)
    lake.commit(remove)
    return [protocol, metadata, add, remove, txn, own, high]


def _edited(actions: list[dict[str, Any]], edit: Any) -> list[dict[str, Any]]:
    found = copy.deepcopy(actions)
    edit({next(iter(each)): each[next(iter(each))] for each in found if "domain" not in str(each)})
    return found


def _checkpoint(lake: Any, edit: Any = dict) -> None:
    actions = _actions(lake)
    parsed = copy.deepcopy(PARSED) | {"tightBounds": False}
    full = copy.deepcopy(actions)
    for each in full:
        if "add" in each:
            each["add"] |= {"stats_parsed": parsed, "partitionValues_parsed": {"p": 7}}
    mark = {"checkpointMetadata": {"version": 2}}
    lines = [mark, *_edited(full, edit)]
    lake.write(f"{2:020d}.checkpoint.{UUID}.json", lake.lines(lines))


def _compaction(lake: Any, edit: Any = dict) -> None:
    _, _, add, remove, txn, _, high = _actions(lake)
    lines = _edited([add, remove, txn, high], edit)
    lake.write(f"{1:020d}.{2:020d}.compacted.json", lake.lines(lines))


def _checksum(lake: Any, edit: Any = dict) -> None:
    protocol, metadata, add, *_ = _actions(lake)
    document = {
        "tableSizeBytes": add["add"]["size"],
        "numFiles": 1,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": metadata["metaData"],
        "protocol": protocol["protocol"],
        "allFiles": [add["add"]],
    }
    document = copy.deepcopy(document)
    edit(document)
    lake.write(f"{2:020d}.crc", json.dumps(document))


def _set(action: str, **changes: Any) -> Any:
    return lambda held: held[action].update(changes)


def _stats(**changes: Any) -> Any:
    return _set("add", stats=json.dumps(STATS | {"tightBounds": False} | changes))


def _parsed(kind: str, **changes: Any) -> Any:
    return lambda held: held["add"]["stats_parsed"][kind].update(changes)


def _vector(**changes: Any) -> Any:
    return lambda held: held["add"]["deletionVector"].update(changes)


ADDS: dict[str, tuple[str, Any]] = {
    "a bound": ("CKPT-005", _stats(minValues=STATS["minValues"] | {"id": 2})),
    "a count of rows": ("CKPT-005", _stats(numRecords=3)),
    "a count of nulls": ("CKPT-005", _stats(nullCount={"id": 1})),
    "the tightness of bounds": ("CKPT-005", _stats(tightBounds=True)),
    "a size": ("CKPT-005", _set("add", size=1)),
    "a modification time": ("CKPT-005", _set("add", modificationTime=1)),
    "a tag": ("CKPT-005", _set("add", tags={"INSERTION_TIME": "6"})),
    "all tags": ("CKPT-005", _set("add", tags=None)),
    "a clustering provider": ("CKPT-005", _set("add", clusteringProvider="other")),
    "a partition value": ("CKPT-005", _set("add", partitionValues={"p": "8"})),
    "the cardinality of a vector": ("CKPT-005", _vector(cardinality=2)),
    "the size of a vector": ("CKPT-005", _vector(sizeInBytes=99)),
    "a first row id": ("RT-031", _set("add", baseRowId=0)),
    "a commit version": ("RT-031", _set("add", defaultRowCommitVersion=2)),
}
"""What a summary has otherwise, to the requirement in a checkpoint and the change."""

OF_FILES: dict[str, set[str]] = {
    "a count of rows": {"STAT-002", "DVDESC-022"},
    "the tightness of bounds": {"STAT-012"},
    "no typed tightness of bounds": {"STAT-012"},
    "a size": {"ADD-006"},
    "the cardinality of a vector": {"DVDESC-010"},
    "the size of a vector": {"DVDESC-009"},
}
"""What a summary has otherwise, to what the file breaks that it describes so."""

CHECKPOINTS: dict[str, tuple[str, Any]] = {
    **ADDS,
    "no typed count of rows": (
        "CKPT-005",
        lambda held: held["add"]["stats_parsed"].pop("numRecords"),
    ),
    "no typed tightness of bounds": (
        "CKPT-005",
        lambda held: held["add"]["stats_parsed"].pop("tightBounds"),
    ),
    "a partition value and its type": (
        "CKC-016",
        _set("add", partitionValues_parsed={"p": 8}),
    ),
    "a typed bound of a number": ("CKPT-005", _parsed("minValues", id=2)),
    "a typed bound of a date": ("CKPT-005", _parsed("maxValues", day="2020-01-03")),
    "a typed bound of a timestamp": (
        "CKPT-005",
        _parsed("maxValues", at="2020-01-03T00:00:00.000Z"),
    ),
    "a typed bound of a float": ("CKPT-005", _parsed("minValues", f=0.15)),
    "a typed count of nulls": ("CKPT-005", _parsed("nullCount", id=1)),
    "a typed bound of nothing": ("CKPT-005", _parsed("minValues", p=1)),
    "the time of a tombstone": ("CKPT-005", _set("remove", deletionTimestamp=4_000_000_000_001)),
    "the row id of a tombstone": ("RT-031", _set("remove", baseRowId=0)),
    "the version of a transaction": ("CKC-006", _set("txn", version=4)),
    "the time of a transaction": ("CKC-006", _set("txn", lastUpdated=9)),
    "a name of the table": ("CKC-003", _set("metaData", name="other")),
}

COMPACTIONS: dict[str, tuple[str, Any]] = {
    **{name: ("COMP-004", edit) for name, (_, edit) in ADDS.items()},
    "the time of a tombstone": ("COMP-007", _set("remove", deletionTimestamp=1)),
    "the row id of a tombstone": ("COMP-007", _set("remove", baseRowId=0)),
    "the version of a transaction": ("COMP-008", _set("txn", version=4)),
}


def _files(edit: Any) -> Any:
    return lambda held: edit({"add": held["allFiles"][0]})


CHECKSUMS: dict[str, tuple[str, Any]] = {
    **{name: ("CRC-018", _files(edit)) for name, (_, edit) in ADDS.items()},
    "a file twice": ("CRC-018", lambda held: held["allFiles"].append(held["allFiles"][0])),
    "a name of the table": ("CRC-015", lambda held: held["metadata"].update(name="other")),
}

FAULTS: dict[str, tuple[set[str], Plant]] = {
    f"{what} has {name} otherwise": (
        {requirement, *OF_FILES.get(name, ())},
        lambda x, p=plant, e=edit: p(x, e),
    )
    for what, plant, table in (
        ("a checkpoint", _checkpoint, CHECKPOINTS),
        ("a compaction", _compaction, COMPACTIONS),
        ("a checksum", _checksum, CHECKSUMS),
    )
    for name, (requirement, edit) in table.items()
}


def _mapped(lake: Any, **parsed: Any) -> None:
    """Write a checkpoint of a mapped table whose typed copies are keyed as given."""
    mapping = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "2"}
    fields = (lake.column("id", 1), lake.column("p", 2, "integer"))
    properties = {**mapping, "checkpoint__writeStatsAsStruct": "true"}
    protocol = lake.protocol("r:v2Checkpoint", "r:columnMapping")
    metadata = lake.metadata(*fields, partition=["p"], **properties)
    lake.commit(protocol, metadata)
    stored = pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
    rows = pa.table([pa.array([1])], schema=pa.schema([stored]))
    stats = {"numRecords": 1, "minValues": {"c-1": 1}}
    more = {"partitionValues": {"c-2": "7"}, "stats": json.dumps(stats)}
    add = lake.file("a.parquet", rows, **more)
    lake.commit(add)
    typed = {"stats_parsed": stats, "partitionValues_parsed": {"c-2": 7}} | parsed
    lines = [
        {"checkpointMetadata": {"version": 1}},
        protocol,
        metadata,
        {"add": add["add"] | typed},
    ]
    lake.write(f"{1:020d}.checkpoint.{UUID}.json", lake.lines(lines))


FAULTS |= {
    "typed statistics have logical names": (
        {"CKSCH-013"},
        lambda x: _mapped(x, stats_parsed={"numRecords": 1, "minValues": {"id": 1}}),
    ),
    "typed partition values have logical names": (
        {"CKSCH-012"},
        lambda x: _mapped(x, partitionValues_parsed={"p": 7}),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_findings(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


@pytest.mark.parametrize("plant", [_checkpoint, _compaction, _checksum, _mapped])
def test_what_repeats_the_log_is_clean(plant: Plant, lake: Any) -> None:
    plant(lake)
    assert lake.audit() == []


@pytest.mark.parametrize(
    ("plant", "requirement", "severity"),
    [
        (_checkpoint, "CKPT-005", "warning"),
        (_compaction, "COMP-004", "error"),
        (lambda x, edit: _checksum(x, _files(edit)), "CRC-018", "warning"),
    ],
)
def test_statistics_may_be_repeated_in_part(
    plant: Callable[..., None], requirement: str, severity: str, lake: Any
) -> None:
    plant(lake, _stats(minValues={}, maxValues={}))
    found = [(each.requirement, each.severity) for each in lake.audit()]
    assert found == [(requirement, severity)]
