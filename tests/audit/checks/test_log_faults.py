"""Faults of commits and of the log as a set of files fire exactly their findings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

Plant = Callable[[Any], Any]

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
PART = "checkpoint.{:010d}.{:010d}.parquet"


def _drop(lake: Any, version: int) -> None:
    (lake.basic().log / f"{version:020d}.json").unlink()


def _rename(lake: Any, name: str) -> None:
    lake.basic().write(name, "{}")


def _lost(lake: Any, name: str) -> None:
    """Call the last commit by another name, or put it in another folder."""
    target = lake.basic().log / name
    target.parent.mkdir(exist_ok=True)
    (lake.log / f"{2:020d}.json").rename(target)


def _catalogued(lake: Any, name: str) -> None:
    """Write a catalog-managed table with a staged commit of the next version."""
    protocol = lake.protocol("r:catalogManaged", "inCommitTimestamp")
    info = {"commitInfo": {"inCommitTimestamp": 5, "txnId": "t"}}
    lake.commit(info, protocol, lake.metadata(enableInCommitTimestamps="true"))
    target = lake.log / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(lake.lines([info]))


def _more(lake: Any, *actions: Any) -> None:
    lake.basic().commit(*actions)


def _domain(name: str, **changes: Any) -> dict[str, Any]:
    return {"domainMetadata": {"domain": name, "configuration": "{}", "removed": False} | changes}


def _unescaped(lake: Any) -> None:
    add = lake.file("c d.parquet")
    _more(lake, add)


def _with_domains(lake: Any, *actions: Any) -> None:
    lake.commit(lake.protocol("domainMetadata"), lake.metadata())
    lake.commit(*actions)


def _vectors(lake: Any, add: dict[str, Any], *, enabled: str = "true") -> None:
    protocol = lake.protocol("r:deletionVectors")
    lake.commit(protocol, lake.metadata(enableDeletionVectors=enabled))
    lake.commit(add)


def _drop_rows(lake: Any, at: int) -> None:
    for version in range(at):
        (lake.log / f"{version:020d}.json").unlink()


def _cut_log_without_checkpoint(lake: Any) -> None:
    lake.basic()
    _drop_rows(lake, 1)


def _gap_below_checkpoint(lake: Any) -> None:
    lake.basic()
    lake.checkpoint(lake.rows())
    (lake.log / f"{1:020d}.json").unlink()


def _compaction(lake: Any, *, lines: Callable[[list[Any]], list[Any]]) -> None:
    lake.basic()
    actions = [
        json.loads(line)
        for version in (1, 2)
        for line in (lake.log / f"{version:020d}.json").read_text().splitlines()
    ]
    kept = [a for a in actions if a.get("add", {}).get("path") != "b.parquet"]
    lake.write(f"{1:020d}.{2:020d}.compacted.json", lake.lines(lines(kept)))


def _lost_tombstone(lake: Any) -> None:
    """Leave the tombstone of an hour ago out of a compaction."""
    kept, gone = lake.file("a.parquet"), lake.file("b.parquet")
    lake.commit({"commitInfo": {}}, lake.protocol(), lake.metadata())
    lake.commit(kept, gone)
    lake.commit(lake.remove("b.parquet", deletionTimestamp=int((time.time() - 3600) * 1000)))
    lake.write(f"{1:020d}.{2:020d}.compacted.json", lake.lines([kept]))


def _stretch(lake: Any) -> None:
    path = lake.log / f"{1:020d}.{2:020d}.compacted.json"
    path.rename(lake.log / f"{1:020d}.{7:020d}.compacted.json")


def _hint(lake: Any, text: str | None = None, **changes: Any) -> None:
    lake.basic()
    rows = lake.rows()
    path = lake.checkpoint(rows)
    right = {
        "version": 2,
        "size": len(rows),
        "sizeInBytes": path.stat().st_size,
        "numOfAddFiles": 1,
    }
    lake.write("_last_checkpoint", json.dumps(right | changes) if text is None else text)


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "a commit has too few digits": ({"LOG-002"}, lambda x: _rename(x, "3.json")),
    "a classic checkpoint has too few digits": (
        {"CKPT-019"},
        lambda x: _rename(x, "2.checkpoint.parquet"),
    ),
    "a UUID-named checkpoint has too few digits": (
        {"CKPT-014"},
        lambda x: _rename(x, "2.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"),
    ),
    "a UUID-named checkpoint has no UUID": (
        {"CKPT-013"},
        lambda x: _rename(x, f"{2:020d}.checkpoint.abc.json"),
    ),
    "a multi-part checkpoint has one part": (
        {"CKPT-024"},
        lambda x: _rename(x, f"{2:020d}." + PART.format(1, 1)),
    ),
    "a part has number 0": ({"CKPT-025"}, lambda x: _rename(x, f"{2:020d}." + PART.format(0, 2))),
    "a part number has too few digits": (
        {"CKPT-023"},
        lambda x: _rename(x, f"{2:020d}.checkpoint.1.2.parquet"),
    ),
    "a part has a short version": ({"CKPT-022"}, lambda x: _rename(x, "2." + PART.format(1, 2))),
    "a checksum has too few digits": ({"CRC-003"}, lambda x: _rename(x, "2.crc")),
    "a compaction has too few digits": ({"COMP-003"}, lambda x: _rename(x, "1.2.compacted.json")),
    "a compaction ends where it starts": (
        {"COMP-013"},
        lambda x: _rename(x, f"{1:020d}.{1:020d}.compacted.json"),
    ),
    "a commit is in Parquet": ({"LOG-001"}, lambda x: _lost(x, f"{2:020d}.parquet")),
    "a commit is packed by zstd": ({"LOG-001"}, lambda x: _lost(x, f"{2:020d}.zst")),
    "a commit is packed by xz": ({"LOG-001"}, lambda x: _lost(x, f"{2:020d}.json.xz")),
    "a part is padded with spaces": (
        {"CKPT-022"},
        lambda x: _rename(x, f"{2:20d}." + PART.format(1, 2)),
    ),
    "a number of a part is padded with spaces": (
        {"CKPT-023"},
        lambda x: _rename(x, f"{2:020d}.checkpoint.{1:10d}.{2:10d}.parquet"),
    ),
    "a compaction is packed": (
        {"COMP-002"},
        lambda x: _rename(x, f"{1:020d}.{2:020d}.compacted.json.gz"),
    ),
    "a compaction has a UUID": (
        {"COMP-002"},
        lambda x: _rename(x, f"{1:020d}.{2:020d}.compacted.{UUID}.json"),
    ),
    "a compaction begins with its word": (
        {"COMP-002"},
        lambda x: _rename(x, f"compaction.{1:020d}.{2:020d}.json"),
    ),
    "a staged commit is in a folder of another name": (
        {"CAT-002"},
        lambda x: _catalogued(x, f"_commits/{1:020d}.{UUID}.json"),
    ),
    "a staged commit is in a folder below": (
        {"CAT-002"},
        lambda x: _catalogued(x, f"_staged_commits/a/{1:020d}.{UUID}.json"),
    ),
    "a staged commit is packed": (
        {"CAT-002"},
        lambda x: _catalogued(x, f"_staged_commits/{1:020d}.{UUID}.json.gz"),
    ),
    "a staged commit is beside the log": (
        {"CAT-002"},
        lambda x: _catalogued(x, f"../_staged_commits/{1:020d}.{UUID}.json"),
    ),
    "a version is missing": ({"LOG-003", "SNAP-001"}, lambda x: _drop(x, 1)),
    "a version is missing below a checkpoint": ({"SNAP-001"}, _gap_below_checkpoint),
    "the beginning is gone": ({"CKPT-011"}, _cut_log_without_checkpoint),
    "a checkpoint is ahead of its commit": (
        {"CKPT-031"},
        lambda x: x.basic() and x.checkpoint(x.rows(), f"{7:020d}.checkpoint.parquet"),
    ),
    "a part of a checkpoint is missing": (
        {"CKPT-030"},
        lambda x: _rename(x, f"{2:020d}." + PART.format(1, 2)),
    ),
    "a checksum is ahead of its commit": ({"CRC-038"}, lambda x: _rename(x, f"{9:020d}.crc")),
    "a line is not JSON": ({"LOG-004"}, lambda x: _more(x, '{"txn":')),
    "a line is not UTF-8": (
        {"LOG-004"},
        lambda x: x.basic().write(f"{3:020d}.json", b'{"a":"\xff"}\n'),
    ),
    "a line has no bottom": ({"LOG-004"}, lambda x: _more(x, "[" * 100_000)),
    "a line holds a number that JSON lacks": (
        {"LOG-004"},
        lambda x: _more(x, '{"commitInfo":NaN}'),
    ),
    "a line is blank": (
        {"LOG-004"},
        lambda x: _more(x, {"commitInfo": {}}, "", {"commitInfo": {}}),
    ),
    "a compaction has a blank line": (
        {"COMP-005"},
        lambda x: _compaction(x, lines=lambda kept: ["", *kept]),
    ),
    "a compaction reaches beyond the log": (
        {"COMP-012"},
        lambda x: _compaction(x, lines=list) or _stretch(x),
    ),
    "a commit adds and removes one file": (
        {"FA-016", "WLOG-001"},
        lambda x: _more(x, x.file("a.parquet"), x.remove("a.parquet")),
    ),
    "a tag is a number": ({"ADD-011"}, lambda x: _more(x, x.file("c.parquet", tags={"a": 1}))),
    "a line holds two actions": (
        {"LOG-004"},
        lambda x: _more(x, {"commitInfo": {}, "txn": {"appId": "a", "version": 1}}),
    ),
    "a commit is empty": ({"LOG-007"}, _more),
    "an action lacks a field": ({"TXN-002"}, lambda x: _more(x, {"txn": {"appId": "a"}})),
    "an action is not an object": ({"LOG-004"}, lambda x: _more(x, {"protocol": 3})),
    "a checkpoint action is in a commit": (
        {"CKM-001", "REC-019"},
        lambda x: _more(x, {"checkpointMetadata": {"version": 3}}),
    ),
    "a path is added twice": (
        {"WLOG-001", "FA-011", "FA-012", "FA-016"},
        lambda x: _more(x, x.file("c.parquet"), x.file("c.parquet")),
    ),
    "a commit has two metaData": ({"WLOG-002"}, lambda x: _more(x, x.metadata(), x.metadata())),
    "a commit has two protocols": ({"WLOG-003"}, lambda x: _more(x, x.protocol(), x.protocol())),
    "a commit has two txns of an application": (
        {"WLOG-004"},
        lambda x: _more(x, *({"txn": {"appId": "a", "version": v}} for v in (1, 2))),
    ),
    "a commit has two actions of a domain": (
        {"REC-005"},
        lambda x: _with_domains(x, _domain("a"), _domain("a", removed=True)),
    ),
    "a change file is elsewhere": (
        {"CDFF-001"},
        lambda x: _more(
            x, {"cdc": {"path": "c.parquet", "partitionValues": {}, "size": 1, "dataChange": False}}
        ),
    ),
    "a path is not escaped": ({"ADD-004"}, _unescaped),
    "a path has a broken escape": (
        {"ADD-004"},
        lambda x: _more(x, x.file("c%.parquet")),
    ),
    "a vector comes without statistics": (
        {"DVDESC-022", "STAT-002"},
        lambda x: _vectors(x, x.file("a.parquet", stats=..., deletionVector=x.vector([0]))),
    ),
    "a compaction has a broken line": (
        {"COMP-005"},
        lambda x: _compaction(x, lines=lambda kept: [*kept, "{"]),
    ),
    "a compaction lacks an added file": (
        {"COMP-004"},
        lambda x: _compaction(x, lines=lambda kept: [a for a in kept if "add" not in a]),
    ),
    "a compaction lacks a tombstone that has not expired": ({"COMP-006"}, _lost_tombstone),
    "a compaction lacks a transaction": (
        {"COMP-004", "COMP-008"},
        lambda x: _compaction(x, lines=lambda kept: [a for a in kept if "txn" not in a]),
    ),
    "a compaction invents metadata": (
        {"COMP-004"},
        lambda x: _compaction(x, lines=lambda kept: [*kept, x.metadata()]),
    ),
    "a compaction keeps commitInfo": (
        {"COMP-009"},
        lambda x: _compaction(x, lines=lambda kept: [*kept, {"commitInfo": {}}]),
    ),
    "the hint is not JSON": ({"LASTS-001"}, lambda x: _hint(x, text="{")),
    "the hint is empty": ({"LASTS-001"}, lambda x: _hint(x, text="")),
    "the hint repeats a key": (
        {"SUM-013"},
        lambda x: _hint(x, text='{"version":2,"size":5,"version":2}'),
    ),
    "the hint has a wrong checksum": ({"SUM-001"}, lambda x: _hint(x, checksum="0" * 32)),
    "the hint names a missing checkpoint": ({"LASTS-002"}, lambda x: _hint(x, version=1)),
    "the hint has a wrong size": ({"LASTS-003"}, lambda x: _hint(x, size=99)),
    "the hint has a wrong number of parts": ({"LASTS-004"}, lambda x: _hint(x, parts=3)),
    "the hint has wrong bytes": ({"LASTS-005"}, lambda x: _hint(x, sizeInBytes=1)),
    "the hint has a wrong number of files": ({"LASTS-006"}, lambda x: _hint(x, numOfAddFiles=7)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_finding_alone(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


FOREIGN = (
    "3.txt", f"{2:020d}.txt", f"{2:020d}.json.gz", "1.json", f"{9:020d}.json.zst",
    f"{2:020d}.parquet", f"{2:020d}.checkpoint.json", "2.checkpoint.parquet",
    "vendor.compacted.json", f"{1:020d}.{2:020d}.json", "2.crc", f"archive/{9:020d}.json",
    f"archive/{1:020d}.crc", f"../export/{9:020d}.json", f"_staged_commits/{2:020d}.json",
)  # fmt: skip
"""Files that a complete log has no use for."""


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_beside_a_complete_log_is_no_error(name: str, lake: Any) -> None:
    _rename(lake, name)
    assert {finding.severity for finding in lake.audit()} <= {"warning"}


def test_the_log_of_another_table_is_left_alone(lake: Any) -> None:
    _catalogued(lake, f"../inner/_delta_log/_staged_commits/{1:020d}.{UUID}.json")
    assert lake.audit() == []


MISPLACED = ("3.json", f"{3:020d}.json.gz", f"archive/{3:020d}.json", f"../export/{3:020d}.json")
"""Files that would be the next version."""


@pytest.mark.parametrize("name", MISPLACED)
def test_a_file_that_would_be_the_next_version_is_an_error(name: str, lake: Any) -> None:
    _rename(lake, name)
    assert [finding.severity for finding in lake.audit()] == ["error"]


def test_a_version_of_hexadecimal_digits_is_an_error_where_it_is_the_next_one(lake: Any) -> None:
    _rename(lake, f"{10:020x}.json")
    assert [each.severity for each in lake.audit()] == ["warning"]
    for _ in range(7):
        lake.commit({"commitInfo": {}})
    assert [each.severity for each in lake.audit()] == ["error"]


def test_a_file_that_would_fill_a_gap_is_an_error(lake: Any) -> None:
    _drop(lake, 1)
    lake.write("1.json", "{}")
    assert "LOG-002" in {each.requirement for each in lake.audit() if each.severity == "error"}


def test_a_checkpoint_of_another_name_is_an_error_where_it_is_the_only_one(lake: Any) -> None:
    lake.basic()
    lake.checkpoint(lake.rows(), "2.checkpoint.parquet")
    assert [each.severity for each in lake.audit()] == ["error"]
    lake.checkpoint(lake.rows())
    assert [each.severity for each in lake.audit()] == ["warning"]


def test_a_gap_that_a_checkpoint_covers_is_a_warning(lake: Any) -> None:
    _gap_below_checkpoint(lake)
    assert {finding.severity for finding in lake.audit()} == {"warning"}


def test_an_empty_first_commit_is_an_error(lake: Any) -> None:
    lake.commit()
    severities = {f.requirement: f.severity for f in lake.audit()}
    assert severities["LOG-007"] == "error"


def test_a_malformed_optional_field_is_an_error(lake: Any) -> None:
    _more(lake, lake.file("c.parquet", tags={"a": 1}))
    assert [finding.severity for finding in lake.audit()] == ["error"]


def test_findings_name_file_and_line(lake: Any) -> None:
    _more(lake, {"commitInfo": {}}, '{"txn":')
    (found,) = lake.audit()
    assert found.place == "_delta_log/00000000000000000003.json:2"


_RETENTION = {"deletedFileRetentionDuration": "interval 7 days"}


@pytest.mark.parametrize(
    ("severity", "tombstone", "more"),
    [
        ("warning", ({}, 30, True), -1),  # the other writer left the tombstone out
        ("warning", ({}, 30, False), 1),  # the other writer kept it
        ("warning", ({}, 1, True), -1),  # no retention is stated: a user may have a shorter one
        ("warning", (_RETENTION, 30, True), -1),
        ("warning", (_RETENTION, 30, False), 1),
        ("error", ({}, 0, True), -1),  # it has just been written
        ("error", (_RETENTION, 1, True), -1),  # no writer may leave it out
        ("error", (_RETENTION, 30, True), 1),  # there is no other tombstone
        ("error", (_RETENTION, 30, True), -2),
        ("error", (_RETENTION, 30, False), -1),
        ("error", (_RETENTION, 30, False), 2),
    ],
)
def test_a_size_that_a_racing_writer_explains_is_a_warning(
    severity: str, tombstone: tuple[dict[str, str], int, bool], more: int, lake: Any
) -> None:
    changes, age, in_checkpoint = tombstone
    stamp = int((time.time() - age * 86_400) * 1000)
    gone = lake.remove("b.parquet", deletionTimestamp=stamp)
    rows = [lake.protocol(), lake.metadata(**changes), lake.file("a.parquet")]
    lake.commit({"commitInfo": {}}, *rows, lake.file("b.parquet"))
    lake.commit(gone)
    rows += [gone] if in_checkpoint else []
    lake.checkpoint(rows)
    lake.write("_last_checkpoint", json.dumps({"version": 1, "size": len(rows) + more}))
    assert [(x.requirement, x.severity) for x in lake.audit()] == [("LASTS-003", severity)]


def test_a_size_is_not_sure_to_be_wrong_behind_a_cut_log(lake: Any) -> None:
    _hint(lake, size=6)
    _drop_rows(lake, 2)
    assert ("LASTS-003", "warning") in {(x.requirement, x.severity) for x in lake.audit()}


@pytest.mark.parametrize(("severity", "version"), [("warning", 1), ("error", 3), ("error", -1)])
def test_a_checkpoint_that_is_gone_is_a_warning_where_there_may_have_been_one(
    severity: str, version: int, lake: Any
) -> None:
    _hint(lake, version=version)
    found = {(x.requirement, x.severity) for x in lake.audit() if x.requirement == "LASTS-002"}
    assert found == {("LASTS-002", severity)}


@pytest.mark.parametrize(
    ("severity", "feature", "v2", "size"),
    [
        ("warning", "v2Checkpoint", True, 3),  # V1, and the file is V2 by now
        ("warning", "v2Checkpoint", False, 4),  # V2, and the file is V1 by now
        ("warning", "v2Checkpoint", False, 7),  # V2 with sidecars
        ("error", "v2Checkpoint", True, 2),
        ("error", "deletionVectors", False, 4),
    ],
)
def test_a_size_that_the_other_spec_has_is_a_warning(
    severity: str, feature: str, v2: bool, size: int, lake: Any
) -> None:
    """Two writers may race for the name of a classic checkpoint, one by V1 and one by V2."""
    rows = [lake.protocol(f"r:{feature}"), lake.metadata(), lake.file("a.parquet")]
    lake.commit(*rows)
    lake.checkpoint([*rows, *([{"checkpointMetadata": {"version": 0}}] if v2 else [])])
    lake.write("_last_checkpoint", json.dumps({"version": 0, "size": size}))
    found = {(x.requirement, x.severity) for x in lake.audit() if x.requirement == "LASTS-003"}
    assert found == {("LASTS-003", severity)}
