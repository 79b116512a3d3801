"""Catalog-managed tables: the commits that a catalog ratified, handed in by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from reference_impl import InlineCommit, RatifiedCommits, Snapshot, StagedCommit, Table
from reference_impl.errors import (
    InvalidLogSegment,
    InvalidRatifiedCommits,
    UnsupportedFeatures,
    VersionNotFound,
)

MANAGED = ["catalogManaged"]
UUIDS = ("016ae953-37a9-438e-8683-9a9a4a79a395", "7d17ac10-5cc3-401b-bd1a-9c82dd2ea032")


def _start(log: Any, versions: int = 1) -> None:
    """Commit a catalog-managed table and publish the first versions, each with one file."""
    log.commit(
        {"commitInfo": {"inCommitTimestamp": 0}},
        log.protocol(3, 7, MANAGED, [*MANAGED, "inCommitTimestamp"]),
        log.metadata({"delta.enableInCommitTimestamps": "true"}),
        log.add("published-0"),
    )
    for version in range(1, versions):
        log.commit(*_actions(log, version, "published"))


def _actions(log: Any, version: int, word: str) -> list[Any]:
    info = {"commitInfo": {"inCommitTimestamp": 1000 * version, "operation": word}}
    return [info, log.add(f"{word}-{version}")]


def _stage(log: Any, version: int, uuid: str = UUIDS[0], word: str = "staged") -> StagedCommit:
    name = f"{version:020d}.{uuid}.json"
    log.raw(f"_staged_commits/{name}", log.lines(*_actions(log, version, word)))
    return StagedCommit(name)


def _inline(log: Any, version: int) -> InlineCommit:
    return InlineCommit(version, log.lines(*_actions(log, version, "inline")))


def _table(log: Any, latest: int, *commits: StagedCommit | InlineCommit) -> Table:
    return Table(log.root, ratified=RatifiedCommits(latest, commits))


def _paths(snapshot: Snapshot) -> list[str]:
    return sorted(snapshot.adds()["path"].to_pylist())


def test_what_the_catalog_says_makes_the_table_readable(log: Any) -> None:
    _start(log, 2)
    with pytest.raises(UnsupportedFeatures, match="hand in the commits that it ratified"):
        log.snapshot()
    assert _paths(_table(log, 1).snapshot()) == ["published-0", "published-1"]


def test_staged_and_inline_commits_follow_the_published_ones(log: Any) -> None:
    _start(log, 2)
    _stage(log, 2, UUIDS[1], "rejected")
    table = _table(log, 3, _stage(log, 2), _inline(log, 3))
    assert table.latest_version() == 3
    assert _paths(table.snapshot()) == ["inline-3", "published-0", "published-1", "staged-2"]
    assert _paths(table.snapshot(2)) == ["published-0", "published-1", "staged-2"]


@pytest.mark.parametrize("folder", ["", "_staged_commits/", "_delta_log/_staged_commits/"])
def test_a_staged_commit_may_be_named_with_its_directory(log: Any, folder: str) -> None:
    _start(log)
    staged = StagedCommit(folder + _stage(log, 1).path)
    assert _paths(_table(log, 1, staged).snapshot()) == ["published-0", "staged-1"]


def test_a_commit_of_the_catalog_goes_before_the_published_one(log: Any) -> None:
    _start(log, 3)
    table = _table(log, 2, _stage(log, 1))
    assert _paths(table.snapshot()) == ["published-0", "published-2", "staged-1"]


def test_versions_beyond_the_latest_ratified_one_are_not_there(log: Any) -> None:
    _start(log, 4)
    protocol = log.protocol(3, 7, MANAGED, [*MANAGED, "inCommitTimestamp"])
    metadata = log.metadata({"delta.enableInCommitTimestamps": "true"})
    log.parquet(f"{3:020d}.checkpoint.parquet", protocol, metadata, log.add("checkpointed"))
    log.raw(f"{1:020d}.{3:020d}.compacted.json", log.lines(log.add("compacted")))
    log.hint(version=3, size=3)
    table = _table(log, 2)
    assert _paths(table.snapshot()) == ["published-0", "published-1", "published-2"]
    with pytest.raises(VersionNotFound):
        table.snapshot(3)


def test_a_checkpoint_of_a_published_version_serves(log: Any) -> None:
    _start(log, 3)
    protocol = log.protocol(3, 7, MANAGED, [*MANAGED, "inCommitTimestamp"])
    metadata = log.metadata({"delta.enableInCommitTimestamps": "true"})
    log.parquet(f"{1:020d}.checkpoint.parquet", protocol, metadata, log.add("checkpointed"))
    log.hint(version=1, size=3)
    snapshot = _table(log, 3, _stage(log, 3)).snapshot()
    assert _paths(snapshot) == ["checkpointed", "published-2", "staged-3"]
    assert snapshot.segment.checkpoint is not None


def test_history_and_travel_by_time_know_the_commits_of_the_catalog(log: Any) -> None:
    _start(log, 2)
    table = _table(log, 3, _stage(log, 2), _inline(log, 3))
    found = [(each.version, each.timestamp, each.operation) for each in table.history()]
    assert found[:2] == [(3, 3000, "inline"), (2, 2000, "staged")]
    assert [table.snapshot(timestamp=moment).version for moment in (1999, 2000, 3000)] == [1, 2, 3]
    assert table.snapshot().timestamp == 3000


def test_every_version_may_be_the_catalogs(log: Any) -> None:
    _start(log)
    whole = (log.directory / f"{0:020d}.json").read_bytes()
    (log.directory / f"{0:020d}.json").unlink()
    table = _table(log, 1, InlineCommit(0, whole), _stage(log, 1))
    assert _paths(table.snapshot()) == ["published-0", "staged-1"]


@pytest.mark.parametrize(
    ("latest", "commits", "message"),
    [
        (2, [], "version 2, the latest ratified one, is neither published nor handed in"),
        (-1, [], "the latest ratified version is -1"),
        (2**63, [], "the latest ratified version is"),
        (1, [InlineCommit(2, b"")], "a commit of version 2 is handed in"),
        (1, [InlineCommit(-1, b"")], "a commit of version -1 is handed in"),
        (1, [InlineCommit(1, b"\n"), InlineCommit(1, b"")], "two commits of version 1"),
        (1, [StagedCommit("00000000000000000001.json")], "not that of a staged commit"),
        (1, [StagedCommit(f"1.{UUIDS[0]}.json")], "not that of a staged commit"),
        (1, [StagedCommit(f"../{1:020d}.{UUIDS[0]}.json")], "not that of a staged commit"),
        (1, [StagedCommit(f"{1:020d}.{UUIDS[0]}.json\n")], "not that of a staged commit"),
    ],
)
def test_an_answer_that_contradicts_itself_is_refused(
    log: Any, latest: int, commits: Sequence[StagedCommit | InlineCommit], message: str
) -> None:
    _start(log, 2)
    with pytest.raises(InvalidRatifiedCommits, match=message):
        _table(log, latest, *commits).snapshot()


def test_a_gap_between_published_and_ratified_commits_is_refused(log: Any) -> None:
    _start(log, 2)
    with pytest.raises(InvalidLogSegment, match="version 2 is missing"):
        _table(log, 3, _stage(log, 3)).snapshot()


def test_a_staged_commit_that_is_gone_is_refused(log: Any) -> None:
    _start(log)
    table = _table(log, 1, StagedCommit(f"{1:020d}.{UUIDS[0]}.json"))
    with pytest.raises(InvalidLogSegment, match="a commit is gone") as caught:
        table.snapshot()
    assert caught.value.path == f"_delta_log/_staged_commits/{1:020d}.{UUIDS[0]}.json"


def test_commits_for_a_table_that_no_catalog_manages_are_refused(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(log.add("g"))
    with pytest.raises(InvalidRatifiedCommits, match="no catalog manages"):
        _table(log, 2, _stage(log, 2)).snapshot()
    assert _paths(_table(log, 1).snapshot()) == ["f", "g"]


def test_a_version_from_before_the_catalog_is_read(log: Any) -> None:
    log.start(log.add("f"))
    log.commit(
        {"commitInfo": {"inCommitTimestamp": 0}},
        log.protocol(3, 7, MANAGED, [*MANAGED, "inCommitTimestamp"]),
        log.metadata({"delta.enableInCommitTimestamps": "true"}),
    )
    table = _table(log, 2, _stage(log, 2))
    assert _paths(table.snapshot(0)) == ["f"]
    assert _paths(table.snapshot()) == ["f", "staged-2"]


def test_a_commit_of_the_catalog_has_no_time_but_its_own(log: Any) -> None:
    log.commit(log.protocol(3, 7, MANAGED, MANAGED), log.metadata())
    table = _table(log, 1, _inline(log, 1))
    assert table.snapshot().version == 1
    with pytest.raises(InvalidRatifiedCommits, match="no time of its own"):
        table.history()
    with pytest.raises(InvalidRatifiedCommits, match="no time of its own"):
        _ = table.snapshot().timestamp


def test_nothing_is_written_to_a_catalog_managed_table(log: Any) -> None:
    _start(log, 2)
    table = _table(log, 1)
    works = (table.delete, table.optimize, table.vacuum, table.clean_log, table.checkpoint)
    for work in (*works, lambda: table.compact_log(0, 1), lambda: table.set_domain("d", "")):
        with pytest.raises(UnsupportedFeatures, match="its catalog's to make"):
            work()
