"""Which log files a version is loaded from: hint, listing, compactions, gaps, cleanup."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.errors import (
    InvalidLogSegment,
    MalformedCommit,
    TableNotFound,
    VersionNotFound,
)
from reference_impl.log.names import LogFile, checkpoint_name, uuid_checkpoint_name
from reference_impl.snapshot.segment import Checkpoint, Listing, list_log, segments
from reference_impl.table import Table


def _drop(log: Any, *versions: int) -> None:
    for version in versions:
        (log.directory / f"{version:020d}.json").unlink()


def _five(log: Any) -> None:
    log.start(log.add("f0"))
    for version in range(1, 5):
        log.commit(log.add(f"f{version}"))


def test_a_location_without_log_is_no_table(tmp_path: Any) -> None:
    with pytest.raises(TableNotFound):
        Table(tmp_path / "nowhere").snapshot()
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "notes.txt").write_text("x")
    with pytest.raises(TableNotFound):
        Table(tmp_path).latest_version()


@pytest.mark.parametrize("version", [-1, 5, 2**63])
def test_a_version_that_does_not_exist_is_not_found(log: Any, version: int) -> None:
    _five(log)
    assert log.table.latest_version() == 4
    with pytest.raises(VersionNotFound):
        log.snapshot(version)


def test_a_missing_commit_is_refused_wherever_it_matters(log: Any) -> None:
    _five(log)
    _drop(log, 2)
    assert log.paths(1) == ["f0", "f1"]
    for version in (2, 3, None):
        with pytest.raises(InvalidLogSegment, match="version 2 is missing"):
            log.snapshot(version)


def test_a_checkpoint_after_the_gap_makes_the_table_readable(log: Any) -> None:
    _five(log)
    log.checkpoint(3, *(log.add(f"f{version}") for version in range(4)))
    _drop(log, 2)
    assert log.paths() == ["f0", "f1", "f2", "f3", "f4"]
    assert log.paths(1) == ["f0", "f1"]
    with pytest.raises(InvalidLogSegment):
        log.snapshot(2)


def test_a_log_that_begins_late_without_checkpoint_is_refused(log: Any) -> None:
    _five(log)
    _drop(log, 0, 1)
    with pytest.raises(InvalidLogSegment, match="version 0 is missing"):
        log.snapshot()


def test_a_version_before_what_cleanup_left_is_not_found(log: Any) -> None:
    _five(log)
    log.checkpoint(2, *(log.add(f"f{version}") for version in range(3)))
    _drop(log, 0, 1)
    assert log.paths(2) == ["f0", "f1", "f2"]
    assert log.paths() == ["f0", "f1", "f2", "f3", "f4"]
    for version in (0, 1):
        with pytest.raises(VersionNotFound, match="cleaned up"):
            log.snapshot(version)


def test_a_checkpoint_whose_commit_is_gone_stands_for_its_version(log: Any) -> None:
    _five(log)
    log.checkpoint(4, log.add("only"))
    _drop(log, 0, 1, 2, 3, 4)
    assert (log.table.latest_version(), log.paths()) == (4, ["only"])
    assert log.snapshot().timestamp is None


@pytest.mark.parametrize(
    "hint",
    [
        b"",
        b"garbage",
        b"[]",
        b'{"version":99,"size":1}',
        b'{"version":"2"}',
        b'{"version":2.0}',
        b'{"version":-1}',
        b'{"version":1,"size":1}',
        b'{"version":2,"version":2}',
        b'{"version":100000000000000000000000000}',
        b'{"version":2,"checksum":"00000000000000000000000000000000"}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_hint_that_does_not_hold_is_passed_over(log: Any, hint: bytes) -> None:
    _five(log)
    log.checkpoint(2, *(log.add(f"f{version}") for version in range(3)))
    log.raw("_last_checkpoint", hint)
    assert log.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_a_stale_hint_does_not_hide_newer_checkpoints_and_commits(log: Any) -> None:
    _five(log)
    log.checkpoint(1, log.add("f0"), log.add("f1"))
    log.checkpoint(3, *(log.add(f"f{version}") for version in range(4)))
    log.hint(version=1, size=4)
    snapshot = log.snapshot()
    assert snapshot.version == 4
    assert snapshot.segment.checkpoint.version == 3


def test_a_hint_newer_than_the_version_is_not_used(log: Any) -> None:
    _five(log)
    log.checkpoint(3, *(log.add(f"f{version}") for version in range(4)))
    log.hint(version=3, size=6)
    assert log.paths(1) == ["f0", "f1"]


def test_a_hint_of_an_incomplete_checkpoint_is_passed_over(log: Any) -> None:
    _five(log)
    log.parquet(f"{2:020d}.checkpoint.{1:010d}.{2:010d}.parquet", log.add("wrong"))
    log.hint(version=2, size=2, parts=2)
    assert log.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_checkpoints_of_one_uuid_are_one_in_each_encoding(log: Any) -> None:
    _five(log)
    name = "80a083e8-7026-4e79-81be-64bd76c43a11"
    for encoding in ("json", "parquet"):
        log.raw(uuid_checkpoint_name(2, name, encoding), b"")
    found = list_log(log.table.storage).checkpoints[2]
    assert [len(each.files) for each in found] == [1, 1]


def test_a_damaged_checkpoint_gives_way_to_an_older_one(log: Any) -> None:
    _five(log)
    log.checkpoint(1, log.add("f0"), log.add("f1"))
    log.raw(f"{3:020d}.checkpoint.parquet", b"damaged")
    log.hint(version=3, size=6)
    _drop(log, 0, 1)
    snapshot = log.snapshot()
    assert sorted(snapshot.adds()["path"].to_pylist()) == ["f0", "f1", "f2", "f3", "f4"]
    assert snapshot.segment.checkpoint.version == 1


def test_damage_found_only_among_file_actions_is_passed_over_too(log: Any) -> None:
    _five(log)
    log.checkpoint(3, log.add("f0", size=...))
    snapshot = log.snapshot()
    assert snapshot.segment.checkpoint.version == 3
    assert snapshot.adds().num_rows == 5
    assert snapshot.segment.checkpoint is None


def test_foreign_files_are_ignored(log: Any) -> None:
    _five(log)
    names = [
        "7.json",
        f"{5:020d}.json.tmp",
        f".{5:020d}.json.crc",
        f"{5:020d}.JSON",
        f"{5:019d}.json",
        f"{5:021d}.json",
        f"{10**19:020d}.json",
        f"{9:020d}.checkpoint.{0:010d}.{2:010d}.parquet",
        f"{9:020d}.checkpoint.{1:010d}.{1:010d}.parquet",
        f"{9:020d}.checkpoint.{3:010d}.{2:010d}.parquet",
        f"{9:020d}.checkpoint.json",
        f"{9:020d}.checkpoint.not-a-uuid.parquet",
        f"{3:020d}.{1:020d}.compacted.json",
        f"{3:020d}.{3:020d}.compacted.json",
        "_commits/x",
        "_staged_commits/x",
    ]
    for name in names:
        log.raw(name, b"garbage")
    (log.directory / f"{6:020d}.json").mkdir()
    assert log.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_a_thousand_stray_files_do_no_harm(log: Any) -> None:
    _five(log)
    for number in range(1_000):
        (log.directory / f"stray-{number}").touch()
    assert log.table.latest_version() == 4


def _compact(log: Any, first: int, last: int, *actions: Any) -> None:
    log.raw(f"{first:020d}.{last:020d}.compacted.json", log.lines(*actions))


def test_a_compaction_stands_for_its_commits(log: Any) -> None:
    log.start(log.add("f0"), log.add("f1"))
    log.commit(log.add("f2"), {"txn": {"appId": "x", "version": 1}})
    log.commit(log.remove("f0"), log.remove("f2"), log.metadata(name="new"))
    log.commit(log.add("f3"))
    _compact(
        log,
        1,
        2,
        log.remove("f0"),
        log.remove("f2"),
        log.metadata(name="new"),
        {"txn": {"appId": "x", "version": 1}},
    )
    expected = [["f0", "f1"], ["f0", "f1", "f2"], ["f1"], ["f1", "f3"]]
    assert [log.paths(version) for version in range(4)] == expected
    snapshot = log.snapshot()
    assert [item.kind for item in snapshot.segment.commits] == ["commit", "compaction", "commit"]
    assert (snapshot.metadata.name, snapshot.txns["x"].version) == ("new", 1)


def test_the_longest_fitting_compactions_are_chained(log: Any) -> None:
    _five(log)
    _compact(log, 1, 2, log.add("f1"), log.add("f2"))
    _compact(log, 1, 3, log.add("f1"), log.add("f2"), log.add("f3"))
    _compact(log, 2, 4, log.add("f2"), log.add("f3"), log.add("f4"))
    _compact(log, 3, 9, log.add("wrong"))
    for version, expected in ((2, [(0, 0), (1, 2)]), (4, [(0, 0), (1, 3), (4, 4)])):
        chosen = log.snapshot(version).segment.commits
        assert [(item.version, item.end) for item in chosen] == expected
    assert log.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_a_compaction_is_used_after_a_checkpoint(log: Any) -> None:
    _five(log)
    log.checkpoint(2, *(log.add(f"f{version}") for version in range(3)))
    log.hint(version=2, size=5)
    _compact(log, 3, 4, log.add("f3"), log.add("f4"))
    _compact(log, 2, 4, log.add("wrong"))
    snapshot = log.snapshot()
    assert [item.kind for item in snapshot.segment.commits] == ["compaction"]
    assert log.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_a_compaction_may_hold_one_path_under_several_vectors(log: Any) -> None:
    first, second = log.vector("v", 1), log.vector("v", 40)
    features = ["deletionVectors"]
    log.commit(log.protocol(3, 7, features, features), log.metadata(), log.add("f"))
    log.commit(log.remove("f"), log.add("f", deletionVector=first))
    log.commit(log.remove("f", deletionVector=first), log.add("f", deletionVector=second))
    _compact(
        log,
        1,
        2,
        log.remove("f"),
        log.remove("f", deletionVector=first),
        log.add("f", deletionVector=second),
    )
    snapshot = log.snapshot()
    assert snapshot.adds()["deletionVector"].to_pylist()[0]["offset"] == 40
    assert snapshot.tombstones().num_rows == 2


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda _: b"{",
        lambda log: log.lines(log.add("f1"), log.add("f1")),
        lambda log: log.lines(log.add("f1", size="x")),
        lambda log: log.lines(log.metadata(), log.metadata()),
        lambda _: b'{"add":{"path":"f1","size":}}',
    ],
    ids=range(6),
)
def test_the_commits_stand_in_for_a_damaged_compaction(
    log: Any, damage: Any, checkpointed: bool
) -> None:
    _five(log)
    if checkpointed:
        log.checkpoint(0, log.add("f0"))
    log.raw(f"{1:020d}.{4:020d}.compacted.json", damage(log))
    assert log.paths() == ["f0", "f1", "f2", "f3", "f4"]


def test_a_damaged_commit_is_refused_whatever_the_compactions_hold(log: Any) -> None:
    _five(log)
    log.raw(f"{4:020d}.json", b"{")
    _compact(log, 1, 2, log.add("f1"), log.add("f2"))
    with pytest.raises(MalformedCommit):
        log.paths()


class _Counted(dict[int, LogFile]):
    asked = 0

    def __contains__(self, key: object) -> bool:
        self.asked += 1
        return super().__contains__(key)


def test_a_gap_below_many_checkpoints_is_looked_for_once() -> None:
    count = 500
    commits = _Counted({n: LogFile(f"{n:020}.json", "commit", n, n) for n in range(count)})
    del commits[count - 2]
    checkpoints = {
        n: (Checkpoint(n, (LogFile(checkpoint_name(n), "classic_checkpoint", n, n),)),)
        for n in range(count - 3)
    }
    with pytest.raises(InvalidLogSegment, match=f"version {count - 2} is missing"):
        list(segments(Listing(0, commits, checkpoints, {}, {}), None))
    assert commits.asked <= 2 * count
