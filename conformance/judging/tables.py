"""Copies of golden tables to run on, and the proof that reading leaves them as they were."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from conformance.base.faults import CorpusError
from conformance.base.scratch import Scratch
from conformance.base.untrusted import name_fault, open_plain
from conformance.golden.cases import Case
from conformance.golden.tree import below, fingerprint
from generators.placeholders import BESIDE, expand_files

_DEFAULT_NAME: Final = "table"


def _copy_tree(source: Path, target: Path) -> None:
    """Copy folders and regular files, and refuse whatever else is there.

    The copy is of now: the files of an installed corpus may be years old, and an engine may clean
    up a log of such an age.
    """
    target.mkdir(parents=True, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False):
                _copy_tree(Path(entry.path), target / entry.name)
            else:
                _copy_file(Path(entry.path), target / entry.name)


def _copy_file(source: Path, target: Path) -> None:
    try:
        read = open_plain(source)
    except OSError as error:
        raise CorpusError(source, f"cannot be copied: {error.strerror}") from error
    with read, target.open("xb") as written:
        shutil.copyfileobj(read, written)


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
        for name in case.placeholders:
            below(target, name, case.table.parent)
        expand_files(target, case.placeholders)
    for name, milliseconds in case.file_times.items():
        nanoseconds = milliseconds * 1_000_000
        os.utime(below(target, name, case.table.parent), ns=(nanoseconds, nanoseconds))


@dataclass(slots=True)
class _Copy:
    path: Path
    before: dict[str, tuple[int, ...]]


@dataclass(slots=True)
class TableStore:
    """Hand out one copy per case, and a fresh one after it was altered."""

    _scratch: Scratch = field(default_factory=lambda: Scratch(in_memory=True))
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _made: int = 0
    _written: Path | None = None

    def table(self, case: Case) -> Path:
        """Return the copy that specs of a case read."""
        if case.id not in self._copies:
            path = self._new_table(case)
            self._copies[case.id] = _Copy(path, fingerprint(path))
        return self._copies[case.id].path

    def adopt(self, case: Case) -> None:
        """Take the table of a case, which was made for one item, for its copy."""
        self._copies[case.id] = _Copy(case.table, fingerprint(case.table))

    def written(self, case: Case | None) -> Path:
        """Return a copy of a case's table to write to, or the path of a new one.

        It stays until the next is given: a bundle keeps what a wrong writer left there.
        """
        former, self._written = self._written, self._new_table(case)
        if former is not None:
            self._scratch.remove(former.parent.name)
        return self._written

    @contextmanager
    def new_table(self) -> Iterator[Path]:
        """Lend the path of a table that is not there yet."""
        path = self._new_table(None)
        try:
            yield path
        finally:
            self._scratch.remove(path.parent.name)

    def _new_table(self, case: Case | None) -> Path:
        self._made += 1
        parent = self._scratch.path / str(self._made)
        name = (case.root if case is not None else None) or _DEFAULT_NAME
        fault = name_fault(name)
        if case is not None and fault:
            raise CorpusError(case.table.parent, fault)
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
        self.release(case)
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
            self._scratch.remove(copy.path.parent.name)

    def close(self) -> None:
        """Remove every copy."""
        self._scratch.close()


def _verb(before: tuple[int, ...] | None, after: tuple[int, ...] | None) -> str | None:
    if before == after:
        return None
    if before is None:
        return "created"
    return "removed" if after is None else "changed"
