"""Snapshots, live files, commits and progress of applications are compared by what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench import Bench
from tiny import METADATA, SNAPSHOT, SNAPSHOT_SPEC

from conformance.base.outcomes import Hazard, Outcome
from conformance.judging.tables import TableStore


@pytest.fixture
def bench(tmp_path: Path, store: TableStore) -> Bench:
    return Bench(tmp_path, store)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (SNAPSHOT, ""),
        ({**SNAPSHOT, "version": 3}, ""),
        ({"protocol": {**SNAPSHOT["protocol"], "readerFeatures": None}, **SNAPSHOT}, ""),
        ({}, "protocol is no object"),
        ({**SNAPSHOT, "protocol": {"minReaderVersion": 1}}, "minWriterVersion is not answered"),
        (
            {**SNAPSHOT, "protocol": {**SNAPSHOT["protocol"], "reader_features": ["x"]}},
            'protocol.reader_features is ["x"], expected null',
        ),
        (
            {**SNAPSHOT, "protocol": {"minReaderVersion": 3, "minWriterVersion": 2}},
            "protocol.minReaderVersion is 3, expected 1",
        ),
        (
            {**SNAPSHOT, "protocol": {"minReaderVersion": True, "minWriterVersion": 2}},
            "protocol.minReaderVersion is true",
        ),
        (
            {**SNAPSHOT, "metadata": {**SNAPSHOT["metadata"], "partitionColumns": ["p"]}},
            'metadata.partitionColumns is ["p"], expected []',
        ),
    ],
)
def test_a_snapshot_is_compared_by_meaning(bench: Bench, payload: Any, words: str) -> None:
    verdict = bench(SNAPSHOT_SPEC, {"snapshot": {"ok": payload}})
    assert verdict.outcome is (Outcome.FAIL if words else Outcome.PASS)
    assert words in verdict.message


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("protocol", "readerFeatures"),
        ("protocol", "writerFeatures"),
        ("metadata", "configuration"),
    ],
)
@pytest.mark.parametrize("filled", [True, False])
def test_what_a_snapshot_leaves_out_holds_nothing(
    bench: Bench, part: str, key: str, filled: bool
) -> None:
    lists = dict.fromkeys(("readerFeatures", "writerFeatures"), ["v2Checkpoint"] * filled)
    properties = {"delta.appendOnly": "true"} if filled else {}
    whole = {
        "protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **lists},
        "metadata": {**METADATA, "configuration": properties},
    }
    left = {**whole, part: {name: each for name, each in whole[part].items() if name != key}}
    verdict = bench({**SNAPSHOT_SPEC, "expected": whole}, {"snapshot": {"ok": left}})
    assert verdict.outcome is (Outcome.FAIL if filled else Outcome.PASS)
    assert (f"{part}.{key} is not answered" in verdict.message) is filled


@pytest.mark.parametrize(("given", "right"), [(1, True), (None, True), (2, False), (True, False)])
def test_a_snapshot_is_of_the_version_asked_for(bench: Bench, given: Any, right: bool) -> None:
    payload = {"ok": {**SNAPSHOT, "version": given}}
    verdict = bench({**SNAPSHOT_SPEC, "version": 1}, {"snapshot": payload})
    assert verdict.outcome is (Outcome.PASS if right else Outcome.FAIL)


FILES = [
    {"path": "a.parquet", "size": 1, "partitionValues": {"p": "1"}},
    {"path": "b.parquet", "dvId": "uabc@1"},
]
VECTOR = {"storageType": "u", "pathOrInlineDv": "abc", "offset": 1}


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ([{"path": "b.parquet"}, {"path": "a.parquet"}], ""),
        ([{"path": "b.parquet", "deletionVector": VECTOR}, {"path": "a.parquet", "tags": {}}], ""),
        ([{"path": "b.parquet"}], "missing file 'a.parquet'"),
        ([{"path": "a.parquet"}, {"path": "a.parquet"}, {"path": "b.parquet"}], "extra file"),
        (
            [{"path": "b.parquet", "deletionVector": None}, {"path": "a.parquet"}],
            "missing file 'b.parquet' with deletion vector uabc@1",
        ),
        (
            [{"path": "b.parquet"}, {"path": "a.parquet", "partitionValues": {"p": None}}],
            "file 'a.parquet'.partitionValues",
        ),
        ([{"path": "b.parquet", "baseRowId": 0}, {"path": "a.parquet"}], "baseRowId is 0"),
        # An encoder that leaves out nulls, and a reader that lost a value of one of the files.
        ([{"path": "b.parquet", "size": 2}, {"path": "a.parquet"}], "size is null, expected 1"),
        (
            [{"path": "b.parquet", "partitionValues": {"p": "1"}}, {"path": "a.parquet"}],
            "file 'a.parquet'.partitionValues is null",
        ),
        ({"path": "a.parquet"}, "no list of objects"),
    ],
)
def test_live_files_are_a_multiset(bench: Bench, payload: Any, words: str) -> None:
    spec = {"type": "files", "expected": {"files": FILES}}
    verdict = bench(spec, {"files": {"ok": payload}})
    assert verdict.outcome is (Outcome.FAIL if words else Outcome.PASS)
    assert words in verdict.message


@pytest.mark.parametrize("key", ["partition_values", "Size", "dvid", "deletion_vector"])
def test_a_key_of_a_file_is_spelled_as_in_the_contract(bench: Bench, key: str) -> None:
    """Else it is compared with nothing, and every answer is right."""
    spec = {"type": "files", "expected": {"files": FILES}}
    payload = [{"path": "a.parquet", key: None}, {"path": "b.parquet", "unknown": 1}]
    verdict = bench(spec, {"files": {"ok": payload}})
    assert (verdict.outcome, verdict.fault) == (Outcome.ERROR, "garbage")
    assert repr(key) in verdict.message


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("/t/a.parquet", Outcome.PASS),
        ("file:/t/a.parquet", Outcome.PASS),
        ("file:///t/a.parquet", Outcome.PASS),
        ("t/a.parquet", Outcome.FAIL),
        ("s3:///t/a.parquet", Outcome.FAIL),
    ],
)
def test_an_absolute_path_may_have_its_scheme(bench: Bench, path: str, outcome: Outcome) -> None:
    spec = {"type": "files", "expected": {"files": [{"path": "/t/a.parquet"}]}}
    assert bench(spec, {"files": {"ok": [{"path": path}]}}).outcome is outcome


@pytest.mark.parametrize(
    ("payload", "outcome"),
    [(7, Outcome.PASS), (8, Outcome.FAIL), (None, Outcome.FAIL), (True, Outcome.ERROR)],
)
def test_a_transaction_version_is_a_number(bench: Bench, payload: Any, outcome: Outcome) -> None:
    spec = {"type": "txn", "appId": "app", "expected": {"txnVersion": 7}}
    assert bench(spec, {"txn": {"ok": payload}}).outcome is outcome


def test_a_missing_transaction_is_null(bench: Bench) -> None:
    spec = {"type": "txn", "appId": "app", "expected": {"txnVersion": None}}
    assert bench(spec, {"txn": {"ok": None}}).outcome is Outcome.PASS


def test_a_history_is_compared_in_order(bench: Bench) -> None:
    commits = [{"version": 1, "timestamp": 5, "operation": "WRITE"}, {"version": 0, "timestamp": 4}]
    spec = {"type": "history", "expected": {"commits": commits}}
    assert bench(spec, {"history": {"ok": commits}}).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "payload",
    [
        [{"version": 0}, {"version": 1}],
        [{"version": 1, "timestamp": 6}, {"version": 0}],
        [{"version": 1}],
        [{"version": 1}, {"version": 0}],
        [{"version": 1, "timestamp": 5}, {"version": 0}],
    ],
)
def test_another_history_is_a_cosmetic_failure(bench: Bench, payload: Any) -> None:
    commits = [{"version": 1, "timestamp": 5}, {"version": 0, "timestamp": 4}]
    spec = {"type": "history", "expected": {"commits": commits}}
    assert bench(spec, {"history": {"ok": payload}}).hazard is Hazard.COSMETIC
