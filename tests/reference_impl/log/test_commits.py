"""Commit files: JSON with one action per line, known fields typed, the rest ignored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from conformance.audit import audit
from reference_impl.errors import (
    InvalidAction,
    InvalidLogSegment,
    LimitExceeded,
    MalformedCommit,
    MissingMetadata,
    MissingProtocol,
)


@pytest.mark.parametrize(
    "line",
    [
        b'{"add":{"path":"f"',
        b"nonsense",
        b'["add"]',
        b"17",
        b'{"txn":{"appId":"\xff","version":1}}',
        b'{"txn":{"appId":"x","version":NaN}}',
        b'{"txn":{"appId":"x","version":1}} trailing',
        b'{"txn":{"appId":"x","version":1},"protocol":{"minReaderVersion":1,"minWriterVersion":2}}',
        b'{"add":\n{"path":"f"}}',
        b"\x00\x00\x00",
    ],
    ids=range(10),
)
def test_a_line_that_is_no_action_is_refused(log: Any, line: bytes) -> None:
    log.start()
    log.raw(f"{1:020d}.json", line)
    with pytest.raises(MalformedCommit) as caught:
        log.paths()
    assert caught.value.version == 1
    assert caught.value.path == "_delta_log/00000000000000000001.json"


def test_a_line_nested_too_deep_is_beyond_a_limit(log: Any) -> None:
    log.start()
    log.raw(f"{1:020d}.json", b'{"txn":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    with pytest.raises(LimitExceeded, match="limit 'nesting'") as caught:
        log.paths()
    assert caught.value.path == "_delta_log/00000000000000000001.json"


@pytest.mark.parametrize("what", ["a pipe", "/dev/zero", "nowhere", "itself"])
def test_a_commit_that_is_no_file_does_not_make_an_older_version_the_newest(
    log: Any, what: str
) -> None:
    log.start()
    path = Path(log.root) / "_delta_log" / f"{1:020d}.json"
    if what == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path if what == "itself" else what)
    with pytest.raises(InvalidLogSegment, match=f"{1:020d}"):
        log.paths()
    assert "LOG-004" in {finding.requirement for finding in audit(log.root)}


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
def test_line_ends_and_blank_lines_do_not_matter(log: Any, end: bytes) -> None:
    log.start()
    line = log.lines(log.add("f")).strip()
    log.raw(f"{1:020d}.json", line + end)
    assert log.paths() == ["f"]


def test_unknown_actions_and_fields_are_ignored(log: Any) -> None:
    log.start({"novelty": {"path": "x"}}, {"add": None, "novelty": 1}, {})
    log.commit(log.add("f", novelty={"deep": [1]}), log.metadata(novelty=1))
    assert log.paths() == ["f"]


def test_an_add_among_oddities_is_read(log: Any) -> None:
    log.start()
    nested = b"[" * 500 + b"]" * 500
    body = log.lines(log.add("f"))[len(b'{"add": {') : -3]
    log.raw(
        f"{1:020d}.json",
        b' {"novelty":' + nested + b', "add" : {"x":' + nested + b"," + body + b"} } ",
    )
    assert log.paths() == ["f"]


def test_null_means_absent(log: Any) -> None:
    log.start(log.add("f", stats=None, tags=None, deletionVector=None, baseRowId=None))
    assert log.paths() == ["f"]


def test_every_field_of_an_add_arrives(log: Any) -> None:
    given = {
        "partitionValues": {"p": None, "q": "1"},
        "size": 2**62,
        "modificationTime": -5,
        "dataChange": False,
        "stats": '{"numRecords":3}',
        "tags": {"k": "v"},
        "deletionVector": log.vector("v"),
        "baseRowId": 11,
        "defaultRowCommitVersion": 12,
        "clusteringProvider": "liquid",
    }
    log.start(log.add("f", **given))
    row = log.snapshot().adds().to_pylist(maps_as_pydicts="strict")[0]
    assert row == {"path": "f", **given}


_ADD_FIELDS = ["path", "partitionValues", "size", "modificationTime", "dataChange"]


@pytest.mark.parametrize("field", _ADD_FIELDS)
@pytest.mark.parametrize("gone", [..., None], ids=["absent", "null"])
def test_an_add_without_a_required_field_is_refused(log: Any, field: str, gone: Any) -> None:
    log.start()
    log.commit(log.add("good"), log.add("bad", **{field: gone}))
    with pytest.raises(InvalidAction, match=f"add.{field} is missing") as caught:
        log.paths()
    assert (caught.value.action, caught.value.version) == ("add", 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("path", 1),
        ("partitionValues", []),
        ("partitionValues", {"p": 1}),
        ("size", "1"),
        ("size", 1.5),
        ("size", True),
        ("size", 2**63),
        ("size", 10**30),
        ("modificationTime", "now"),
        ("dataChange", 1),
        ("dataChange", "true"),
        ("stats", {"numRecords": 1}),
        ("tags", {"k": 1}),
        ("deletionVector", "v"),
        ("deletionVector", {"storageType": "u"}),
        ("baseRowId", 0.5),
    ],
)
def test_an_add_with_a_field_of_a_wrong_type_is_refused(log: Any, field: str, value: Any) -> None:
    log.start()
    log.commit(log.add("good"))
    log.commit(log.add("bad", **{field: value}))
    with pytest.raises(InvalidAction, match=f"add.{field}"):
        log.paths()
    assert log.paths(1) == ["good"]


@pytest.mark.parametrize("body", [None, 1, "x", []])
def test_a_file_action_that_is_no_object_is_refused(log: Any, body: Any) -> None:
    log.start({"add": body} if body is not None else {"remove": 1})
    with pytest.raises(InvalidAction):
        log.paths()


@pytest.mark.parametrize("field", ["path", "dataChange"])
def test_a_remove_without_a_required_field_is_refused(log: Any, field: str) -> None:
    log.start()
    body = {key: value for key, value in log.remove("f")["remove"].items() if key != field}
    log.commit({"remove": body})
    with pytest.raises(InvalidAction, match=f"remove.{field} is missing"):
        log.paths()


def test_a_remove_needs_no_timestamp(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.remove("f", deletionTimestamp=...))
    assert log.paths() == []


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("txn", {"appId": "x"}),
        ("txn", {"appId": 1, "version": 1}),
        ("txn", {"appId": "x", "version": 2**63}),
        ("txn", {"appId": "x", "version": "1"}),
        ("domainMetadata", {"domain": "d", "configuration": {}, "removed": False}),
        ("domainMetadata", {"configuration": "", "removed": False}),
        ("domainMetadata", {"domain": "d", "configuration": ""}),
        ("protocol", {"readerVersion": 1, "writerVersion": 2}),
        ("protocol", {"minReaderVersion": 1}),
        ("protocol", {"minReaderVersion": "1", "minWriterVersion": 2}),
        ("protocol", {"minReaderVersion": 2**63, "minWriterVersion": 2}),
        ("protocol", "1"),
        ("protocol", {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": "x"}),
    ],
)
def test_a_small_action_that_is_malformed_is_refused(log: Any, action: str, body: Any) -> None:
    log.start()
    log.commit({action: body})
    with pytest.raises(InvalidAction) as caught:
        log.snapshot()
    assert caught.value.action == action


@pytest.mark.parametrize("action", ["checkpointMetadata", "sidecar"])
def test_actions_of_v2_checkpoints_are_refused_in_commits(log: Any, action: str) -> None:
    log.start()
    log.commit({action: {"version": 1, "path": "x", "sizeInBytes": 1, "modificationTime": 1}})
    with pytest.raises(InvalidAction, match="V2 checkpoints"):
        log.snapshot()


@pytest.mark.parametrize("info", [{}, {"timestamp": "yesterday", "deep": [{}]}, [], "x", 4])
def test_commit_info_may_hold_anything(log: Any, info: Any) -> None:
    log.start({"commitInfo": info})
    assert log.paths() == []


def test_version_0_needs_a_protocol_even_if_a_later_version_has_one(log: Any) -> None:
    log.commit(log.metadata())
    log.commit(log.protocol())
    with pytest.raises(MissingProtocol):
        log.snapshot()


def test_version_0_needs_metadata_even_if_a_later_version_has_it(log: Any) -> None:
    log.commit(log.protocol())
    log.commit(log.metadata())
    with pytest.raises(MissingMetadata):
        log.snapshot()


def test_an_empty_commit_0_has_no_protocol(log: Any) -> None:
    log.raw(f"{0:020d}.json", b"")
    with pytest.raises(MissingProtocol):
        log.snapshot()
