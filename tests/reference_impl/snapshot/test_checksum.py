"""Version checksum files: read and verified on request, never needed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reference_impl.errors import InvalidChecksum
from reference_impl.snapshot.checksum import read_checksum, verify_checksum


def _write(log: Any, version: int = 1, **over: Any) -> None:
    body = {
        "tableSizeBytes": 5000,
        "numFiles": 3,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": log.metadata()["metaData"],
        "protocol": log.protocol()["protocol"],
    } | over
    body = {key: value for key, value in body.items() if value is not ...}
    log.raw(f"{version:020d}.crc", json.dumps(body).encode())


def _table(log: Any) -> None:
    log.start(log.add("f0", size=1023), log.add("old"))
    domain = {"domain": "d", "configuration": "c", "removed": False}
    log.commit(
        log.remove("old"),
        log.add("f1", size=1024),
        log.add("f2", size=2953),
        {"txn": {"appId": "x", "version": 2}},
        {"domainMetadata": domain},
    )


HISTOGRAM = {
    "sortedBinBoundaries": [0, 1024, 4096],
    "fileCounts": [1, 2, 0],
    "totalBytes": [1023, 3977, 0],
}


def test_a_checksum_that_agrees_has_no_discrepancy(log: Any) -> None:
    _table(log)
    assert verify_checksum(log.snapshot()) is None
    _write(
        log,
        txnId="t",
        setTransactions=[{"appId": "x", "version": 2}],
        domainMetadata=[{"domain": "d", "configuration": "c", "removed": False}],
        fileSizeHistogram=HISTOGRAM,
        numDeletedRecordsOpt=0,
        numDeletionVectorsOpt=0,
        deletedRecordCountsHistogramOpt={"deletedRecordCounts": [3] + [0] * 9},
        allFiles=[log.add(name)["add"] for name in ("f2", "f1", "f0")],
        novelty=1,
    )
    assert verify_checksum(log.snapshot()) == []
    checksum = read_checksum(log.table.storage, 1)
    assert checksum is not None
    assert (checksum.num_files, checksum.txn_id) == (3, "t")


@pytest.mark.parametrize(
    ("over", "requirement"),
    [
        ({"tableSizeBytes": 4999}, "CRC-007"),
        ({"numFiles": 4}, "CRC-008"),
        ({"numMetadata": 2}, "CRC-009"),
        ({"numProtocol": 0}, "CRC-010"),
        ({"inCommitTimestampOpt": 5}, "CRC-011"),
        ({"setTransactions": []}, "CRC-012"),
        ({"domainMetadata": []}, "CRC-013"),
        ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}}, "CRC-016"),
        ({"fileSizeHistogram": HISTOGRAM | {"fileCounts": [2, 1, 0]}}, "CRC-028"),
        ({"histogramOpt": HISTOGRAM | {"totalBytes": [1, 2, 3]}}, "CRC-028"),
        ({"allFiles": []}, "CRC-018"),
        ({"numDeletedRecordsOpt": 1}, "CRC-019"),
        ({"numDeletionVectorsOpt": 1}, "CRC-020"),
        ({"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [0] * 10}}, "CRC-021"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_every_field_is_compared(log: Any, over: dict[str, Any], requirement: str) -> None:
    _table(log)
    _write(log, **over)
    found = verify_checksum(log.snapshot())
    assert found is not None
    assert [item.requirement for item in found] == [requirement]
    # A checksum never keeps a table from being read.
    assert log.paths() == ["f0", "f1", "f2"]


def test_metadata_is_compared_whole(log: Any) -> None:
    _table(log)
    _write(log, metadata=log.metadata({"a": "1"})["metaData"])
    found = verify_checksum(log.snapshot())
    assert found is not None
    assert [item.field for item in found] == ["metadata"]


def test_vectors_are_counted_by_deleted_rows(log: Any) -> None:
    features = ["deletionVectors"]
    protocol = log.protocol(3, 7, features, features)
    counts = [1, 9, 10, 99_999, 10_000_000, 2**31 - 2, 2**31 - 1]
    adds = [
        log.add(f"f{count}", deletionVector=log.vector("v", count % 2**31) | {"cardinality": count})
        for count in counts
    ]
    log.commit(protocol, log.metadata(), log.add("f"), *adds)
    expected = {
        "numDeletedRecordsOpt": sum(counts),
        "numDeletionVectorsOpt": 7,
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 2, 1, 0, 0, 1, 0, 0, 2, 1]},
        "protocol": protocol["protocol"],
    }
    _write(log, 0, tableSizeBytes=8, numFiles=8, **expected)
    assert verify_checksum(log.snapshot()) == []


def test_an_in_commit_timestamp_belongs_into_the_checksum(log: Any) -> None:
    protocol = log.protocol(1, 7, None, ["inCommitTimestamp"])
    metadata = log.metadata({"delta.enableInCommitTimestamps": "true"})
    log.commit({"commitInfo": {"inCommitTimestamp": 77}}, protocol, metadata)
    fields = {"tableSizeBytes": 0, "numFiles": 0}
    actions = {"protocol": protocol["protocol"], "metadata": metadata["metaData"]}
    _write(log, 0, inCommitTimestampOpt=77, **fields, **actions)
    assert verify_checksum(log.snapshot()) == []
    _write(log, 0, **fields, **actions)
    found = verify_checksum(log.snapshot())
    assert found is not None
    assert [(item.field, item.recorded, item.computed) for item in found] == [
        ("inCommitTimestampOpt", None, 77)
    ]


@pytest.mark.parametrize(
    ("over", "requirement"),
    [
        ({"tableSizeBytes": ...}, "CRC-007"),
        ({"numFiles": "3"}, "CRC-008"),
        ({"metadata": ...}, "CRC-015"),
        ({"metadata": {"id": "x"}}, "CRC-015"),
        ({"protocol": None}, "CRC-016"),
        ({"fileSizeHistogram": HISTOGRAM | {"fileCounts": [1]}}, None),
        ({"fileSizeHistogram": HISTOGRAM | {"sortedBinBoundaries": [1, 2, 3]}}, None),
        ({"fileSizeHistogram": HISTOGRAM | {"sortedBinBoundaries": [0, 9, 3]}}, None),
        ({"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [0] * 9}}, None),
        ({"setTransactions": [{"appId": "x"}]}, None),
    ],
    ids=range(10),
)
def test_a_malformed_checksum_is_refused(log: Any, over: Any, requirement: str | None) -> None:
    _table(log)
    _write(log, **over)
    with pytest.raises(InvalidChecksum) as caught:
        verify_checksum(log.snapshot())
    assert requirement in (None, caught.value.requirement)


@pytest.mark.parametrize("data", [b"", b"{", b"{}{}", b"[]", b"\xff"])
def test_a_checksum_is_one_json_object(log: Any, data: bytes) -> None:
    _table(log)
    log.raw(f"{1:020d}.crc", data)
    with pytest.raises(InvalidChecksum):
        read_checksum(log.table.storage, 1)
    assert log.paths() == ["f0", "f1", "f2"]
