"""A listing is no snapshot of its folder: what others commit and clean up meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit.read.log import list_log
from reference_impl.errors import InvalidLogSegment
from reference_impl.log.names import LOG_DIR, checkpoint_name, commit_name, part_name
from reference_impl.storage import Entry, LocalStorage
from reference_impl.table import Table

ALWAYS = 1 << 30


class Racing(LocalStorage):
    """A storage whose listings of the log miss names, as where those are made while it lists.

    Attributes:
        missed: names that listings leave out.
        times: how many more listings do so.
        between: called once after a listing of the log.
        asked: how often it was asked for a listing or for one file.
    """

    def __init__(self, root: Path, missed: Collection[str] = (), times: int = 1) -> None:
        super().__init__(root)
        self.missed, self.times, self.asked = missed, times, 0
        self.between: Callable[[], object] | None = None

    def list_from(self, directory: str, start_after: str | None = None) -> list[Entry]:
        self.asked += 1
        found = super().list_from(directory, start_after)
        if directory == LOG_DIR and self.times:
            self.times -= 1
            found = [entry for entry in found if entry.name not in self.missed]
        between, self.between = self.between, None
        if between is not None:
            between()
        return found

    def head(self, path: str) -> Entry:
        self.asked += 1
        return super().head(path)


def five(log: Any, checkpoint: int | None = None, *, hint: bool = False) -> list[str]:
    log.start(log.add("f0"))
    for version in range(1, 5):
        log.commit(log.add(f"f{version}"))
    if checkpoint is not None:
        log.checkpoint(checkpoint, *(log.add(f"f{v}") for v in range(checkpoint + 1)))
        if hint:
            log.hint(version=checkpoint, size=3 + checkpoint)
    return [f"f{version}" for version in range(5)]


def paths(storage: LocalStorage) -> list[str]:
    return sorted(Table(storage).snapshot().adds()["path"].to_pylist())


@pytest.mark.parametrize("times", [1, 2, ALWAYS])
@pytest.mark.parametrize("hint", [False, True])
@pytest.mark.parametrize("checkpoint", [None, 0, 1])
@pytest.mark.parametrize("missed", [[0], [1], [2], [3], [0, 1, 2], [1, 3], [2, 3]])
def test_a_commit_that_a_listing_misses_is_found(
    log: Any, missed: list[int], checkpoint: int | None, hint: bool, times: int
) -> None:
    every = five(log, checkpoint, hint=hint)
    names = [commit_name(version) for version in missed]
    assert paths(Racing(log.root, names, times)) == every
    assert Table(Racing(log.root, names, times)).latest_version() == 4
    if checkpoint is None:
        records = Table(Racing(log.root, names, times)).history()
        assert [record.version for record in records] == [4, 3, 2, 1, 0]


def test_a_checkpoint_that_a_listing_misses_after_a_cleanup_is_found(log: Any) -> None:
    every = five(log, 2)
    for version in range(2):
        (log.directory / commit_name(version)).unlink()
    assert paths(Racing(log.root, [checkpoint_name(2)])) == every
    # The first commit as well, as where all of the old log goes at once.
    assert paths(Racing(log.root, [checkpoint_name(2), commit_name(2)])) == every


def test_a_part_of_a_checkpoint_that_a_listing_misses_is_found(log: Any) -> None:
    every = five(log)
    for part, names in enumerate((["f0", "f1"], ["f2"]), 1):
        actions = [log.protocol(), log.metadata()] if part == 1 else []
        log.parquet(part_name(2, part, 2), *actions, *map(log.add, names))
    for version in range(3):
        (log.directory / commit_name(version)).unlink()
    assert paths(Racing(log.root, [part_name(2, 2, 2)])) == every


def test_a_newest_commit_that_a_listing_misses_leaves_the_version_before(log: Any) -> None:
    every = five(log)
    assert paths(Racing(log.root, [commit_name(4)])) == every[:4]


def test_a_reader_goes_on_where_the_log_is_cleaned_up_while_it_reads(log: Any) -> None:
    every = five(log)
    storage = Racing(log.root)

    def clean() -> None:
        log.checkpoint(4, *map(log.add, every))
        for version in range(4):
            (log.directory / commit_name(version)).unlink()

    storage.between = clean
    assert paths(storage) == every


@pytest.mark.parametrize("times", [0, 1, ALWAYS])
@pytest.mark.parametrize("gone", [0, 1, 3])
def test_a_commit_that_is_gone_is_refused_all_the_same(log: Any, gone: int, times: int) -> None:
    five(log)
    (log.directory / commit_name(gone)).unlink()
    storage = Racing(log.root, [commit_name(2)], times)
    with pytest.raises(InvalidLogSegment, match=f"version {gone} is missing"):
        Table(storage).snapshot()
    assert storage.asked < 10


def test_a_gap_of_any_length_is_not_walked(log: Any) -> None:
    five(log)
    log.commit(log.add("far"), version=2**63 - 1)
    storage = Racing(log.root)
    with pytest.raises(InvalidLogSegment, match="version 5 is missing"):
        Table(storage).snapshot()
    assert storage.asked < 50
    assert Table(storage).snapshot(4).version == 4


def test_a_writer_goes_on_where_a_listing_misses_a_commit(tmp_path: Path) -> None:
    rows = pa.table({"id": [1]})
    table = Table(tmp_path)
    table.create(rows.schema)
    for _ in range(3):
        table.append(rows)
    for missed in range(4):
        storage = Racing(tmp_path, [commit_name(missed)], ALWAYS)
        assert Table(storage).append(rows) == 4 + missed
        assert Table(tmp_path).changes(0).num_rows == 4 + missed


def test_what_a_listing_misses_is_in_the_changes(tmp_path: Path) -> None:
    rows = pa.table({"id": [1]})
    table = Table(tmp_path)
    table.create(rows.schema)
    for _ in range(3):
        table.append(rows)
    for missed in range(3):
        storage = Racing(tmp_path, [commit_name(missed)])
        assert Table(storage).changes(0).num_rows == 3


def test_a_commit_that_a_listing_of_the_audit_misses_is_found(log: Any) -> None:
    five(log)
    for missed in (1, 2, 3):
        listing = list_log(Racing(log.root, [commit_name(missed)]))
        assert [file.version for file, _ in listing.files] == [0, 1, 2, 3, 4]


def test_two_cleanups_at_once_delete_what_one_would(log: Any) -> None:
    every = five(log, 3)
    for path in log.directory.iterdir():
        os.utime(path, (0, 0))
    storage = Racing(log.root)

    class Late(Racing):
        def delete(self, path: str) -> None:
            if path.endswith(commit_name(0)):
                Table(storage).clean_log()
            super().delete(path)

    assert len(Table(Late(log.root)).clean_log()) == 3
    assert paths(storage) == every
