"""Copies of golden tables to run on, and the proof that reading leaves them as they were."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from conformance.cases import Case
from generators.placeholders import BESIDE, expand_files

__all__ = ["TableStore", "fingerprint"]

_DEFAULT_NAME: Final = "table"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  a folder of our own is made below it
_ROOM: Final = 256 * 1024 * 1024
"""Bytes that have to be free in memory; a run holds a few tables at a time."""


def fingerprint(folder: Path) -> dict[str, tuple[int, ...]]:
    """Give what tells whether anything below a folder was touched: path to its inode's facts.

    The time of the last change to an inode moves with every write, rename and change of times,
    and nobody can set it; reading leaves it alone.
    """
    found: dict[str, tuple[int, ...]] = {}
    root = str(folder)
    cut = len(root) + 1
    pending = [root]
    while pending:
        place = pending.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                name = entry.path[cut:]
                if entry.is_dir(follow_symlinks=False):
                    found[f"{name}/"] = ()
                    pending.append(entry.path)
                else:
                    facts = entry.stat(follow_symlinks=False)
                    found[name] = (
                        facts.st_ino,
                        facts.st_size,
                        facts.st_mtime_ns,
                        facts.st_ctime_ns,
                    )
    return found


def _scratch() -> Path:
    """Make a folder for the copies, in memory where there is room and nobody chose otherwise."""
    chosen = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    roomy = False
    with contextlib.suppress(OSError):
        roomy = shutil.disk_usage(_MEMORY).free >= _ROOM
    folder = _MEMORY if roomy and not chosen and os.access(_MEMORY, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="delta-tck-", dir=folder))


def _copy_tree(source: Path, target: Path) -> None:
    # The copy is of now: the files of an installed corpus may be years old, and an engine may
    # clean up a log of such an age.
    shutil.copytree(source, target, copy_function=shutil.copyfile)


def _copy(case: Case, target: Path) -> None:
    source = case.table
    if source.is_dir():
        _copy_tree(source, target)
    else:
        # Version control keeps no empty folders: a table of no files is one.
        target.mkdir(parents=True)
    if case.placeholders:
        beside = source.parent / BESIDE
        if beside.is_dir():
            _copy_tree(beside, target.parent / BESIDE)
        expand_files(target, case.placeholders)
    for name, milliseconds in case.file_times.items():
        nanoseconds = milliseconds * 1_000_000
        os.utime(target / name, ns=(nanoseconds, nanoseconds))


@dataclass(slots=True)
class _Copy:
    path: Path
    before: dict[str, tuple[int, ...]]


@dataclass(slots=True)
class TableStore:
    """Hand out one copy per case, and a fresh one after somebody altered it."""

    _folder: Path = field(default_factory=_scratch)
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _made: int = 0

    def table(self, case: Case) -> Path:
        """Give the copy that specs of a case read."""
        if case.id not in self._copies:
            path = self.fresh(case)
            self._copies[case.id] = _Copy(path, fingerprint(path))
        return self._copies[case.id].path

    def adopt(self, case: Case) -> None:
        """Take the table of a case, which was made by :meth:`fresh`, for its copy."""
        self._copies[case.id] = _Copy(case.table, fingerprint(case.table))

    def fresh(self, case: Case | None) -> Path:
        """Give a folder of its own to write to: a copy of a case's table, or a new name."""
        self._made += 1
        parent = self._folder / str(self._made)
        name = (case.root if case is not None else None) or _DEFAULT_NAME
        path = parent / name
        parent.mkdir(parents=True)
        if case is not None:
            _copy(case, path)
        return path

    def alterations(self, case: Case) -> list[str]:
        """Name what changed in a case's copy since it was made.

        A copy that was altered is not handed out again.
        """
        copy = self._copies[case.id]
        after = fingerprint(copy.path)
        if after == copy.before:
            return []
        del self._copies[case.id]
        return [
            f"{verb} {name}"
            for name in sorted({*copy.before, *after})
            for verb in [_verb(copy.before.get(name), after.get(name))]
            if verb
        ]

    def release(self, case: Case) -> None:
        """Remove the copy of a case."""
        copy = self._copies.pop(case.id, None)
        if copy is not None:
            shutil.rmtree(copy.path.parent, ignore_errors=True)

    def close(self) -> None:
        """Remove every copy."""
        with contextlib.suppress(OSError):
            shutil.rmtree(self._folder)


def _verb(before: tuple[int, ...] | None, after: tuple[int, ...] | None) -> str | None:
    if before == after:
        return None
    if before is None:
        return "created"
    return "removed" if after is None else "changed"
