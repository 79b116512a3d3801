"""Copies of golden tables to run on, and the proof that reading leaves them as they were."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from conformance.cases import Case

__all__ = ["TableStore", "fingerprint"]

_DEFAULT_NAME: Final = "table"


def fingerprint(folder: Path) -> dict[str, str]:
    """Digest every file below a folder: path to content and modification time."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            content = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
            found[path.relative_to(folder).as_posix()] = f"{content} {path.stat().st_mtime_ns}"
        elif not any(path.iterdir()):
            found[f"{path.relative_to(folder).as_posix()}/"] = ""
    return found


def _copy(source: Path, target: Path, file_times: Mapping[str, int]) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        # Version control keeps no empty folders: a table of no files is one.
        target.mkdir(parents=True)
    for name, milliseconds in file_times.items():
        nanoseconds = milliseconds * 1_000_000
        os.utime(target / name, ns=(nanoseconds, nanoseconds))


@dataclass(slots=True)
class _Copy:
    path: Path
    before: dict[str, str]


@dataclass(slots=True)
class TableStore:
    """Hand out one copy per case, and a fresh one after somebody altered it."""

    _folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="delta-tck-")))
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _made: int = 0

    def table(self, case: Case) -> Path:
        """Give the copy that specs of a case read."""
        if case.id not in self._copies:
            path = self.fresh(case)
            self._copies[case.id] = _Copy(path, fingerprint(path))
        return self._copies[case.id].path

    def fresh(self, case: Case | None, root: str | None = None) -> Path:
        """Give a folder of its own to write to: a copy of a case's table, or a new name."""
        self._made += 1
        parent = self._folder / str(self._made)
        name = root or (case.root if case is not None else None) or _DEFAULT_NAME
        path = parent / name
        parent.mkdir(parents=True)
        if case is not None:
            _copy(case.table, path, case.file_times)
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


def _verb(before: str | None, after: str | None) -> str | None:
    if before == after:
        return None
    if before is None:
        return "created"
    return "removed" if after is None else "changed"
