"""An operation that fails before its commit leaves no file behind."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from faulty_storage import WRITES, Fault, FaultyStorage
from injecting import commit_step
from judging import content
from scenarios import ALL, WITHOUT_COMMIT, arrow, make, opened

from reference_impl import Table, read_table
from reference_impl.errors import CommitConflict, CommitOutcomeUnknown

PAIRS = [
    (name, base)
    for name, scenario in sorted(ALL.items())
    for base in scenario.bases
    # These delete, or write files over that others read.
    if name not in ("vacuum", "clean log", "generate a manifest")
]


def files(root: Path) -> dict[str, bytes]:
    """Return every file; a checkpoint of what is there is no leftover of any writer."""
    return {
        path: data
        for path, data in content(root).items()
        if ".checkpoint." not in path and not path.endswith("_last_checkpoint")
    }


def counted(kept: Path, name: str, place: Path) -> tuple[list[tuple[str, str]], int]:
    """Return the steps of an operation, and the number of the one that decides."""
    shutil.copytree(kept, place)
    counting = FaultyStorage(opened(place))
    ALL[name].run(Table(counting))
    shutil.rmtree(place)
    if name in WITHOUT_COMMIT:
        return counting.taken, len(counting.taken)
    return counting.taken, commit_step(counting)


@pytest.mark.parametrize(("name", "base"), PAIRS)
def test_a_full_disk_at_any_step_leaves_no_file(tmp_path: Path, name: str, base: str) -> None:
    kept = tmp_path / "kept"
    make(kept, name, base)
    steps, last = counted(kept, name, tmp_path / "counted")
    whole = name in WITHOUT_COMMIT
    before = content(kept) if whole else files(kept)
    writes = [n for n, (step, _) in enumerate(steps[:last], 1) if step in WRITES]
    if whole and steps[writes[-1] - 1][1].endswith("_last_checkpoint"):
        writes.pop()  # the checkpoint stands without its hint
    for step in writes:
        place = tmp_path / str(step)
        shutil.copytree(kept, place)
        full = OSError(errno.ENOSPC, "planted")
        with pytest.raises(OSError, match="planted"):
            ALL[name].run(Table(FaultyStorage(opened(place), step, Fault.FAIL, error=full)))
        assert (content(place) if whole else files(place)) == before, steps[step - 1]
        shutil.rmtree(place)


@pytest.mark.parametrize("name", sorted(ALL.keys() - WITHOUT_COMMIT))
def test_the_files_of_a_commit_stay_where_its_outcome_is_unknown(tmp_path: Path, name: str) -> None:
    kept, place = tmp_path / "kept", tmp_path / "place"
    make(kept, name, ALL[name].bases[-1])
    _, last = counted(kept, name, tmp_path / "counted")
    shutil.copytree(kept, place)
    faulty = FaultyStorage(opened(place), last, Fault.TIMEOUT)
    with pytest.raises(CommitOutcomeUnknown, match="is unknown"):
        ALL[name].run(Table(faulty))
    assert "delete" not in {step for step, _ in faulty.taken}
    written = {path for step, path in faulty.taken if step == "put"}
    assert written <= content(place).keys()
    shutil.rmtree(place)
    shutil.copytree(kept, place)
    late = FaultyStorage(opened(place), last, Fault.LATE)
    assert ALL[name].run(Table(late)) == Table(place).latest_version()


@pytest.mark.parametrize("change", [lambda t: t.append(arrow(9)), lambda t: t.overwrite(arrow(9))])
def test_a_writer_that_loses_removes_its_files(
    tmp_path: Path, change: Callable[[Table], object]
) -> None:
    root = tmp_path / "t"
    make(root, "append", "rich")

    class Racing(FaultyStorage):
        """Another writer changes the schema just before the commit."""

        def put_if_absent(self, path: str, data: bytes) -> None:
            if path.endswith(".json") and "raced" not in vars(self):
                self.raced = True
                Table(root).set_properties({"a": "b"})
                self.files = content(root)
            super().put_if_absent(path, data)

    racing = Racing(opened(root))
    with pytest.raises(CommitConflict):
        change(Table(racing))
    left = content(root).keys() - racing.files.keys()
    gone = {path for path in racing.files if path not in content(root)}
    assert not left
    assert gone
    assert all(path.endswith(".parquet") for path in gone)
    assert read_table(root).num_rows == 3


def test_a_file_that_cannot_be_removed_does_not_hide_the_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "t"
    make(root, "append", "plain")
    _, last = counted(root, "append", tmp_path / "counted")
    full = OSError(errno.ENOSPC, "planted")
    faulty = FaultyStorage(opened(root), last - 1, Fault.FAIL, lasting=True, error=full)
    with pytest.raises(OSError, match="planted"):
        ALL["append"].run(Table(faulty))
    assert "could not be removed" in caplog.text
