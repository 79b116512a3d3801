"""The files that a version was read from, to know whether reading it again could tell more.

Serves the section "Write recipes" of ``docs/formats.md``. What a version holds depends on the
content of files alone. Where each of them is as it was, and none came by which a reader could
reach the version in another way, a second reading is the first one over again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from reference_impl.log.names import LOG_DIR, parse

__all__ = ["Seen", "row_of_file"]

_VECTOR: Final = ".bin"
"""Ending of the files that hold deletion vectors."""

_HARMLESS: Final = "checksum"
"""Kind of a log file from which no state is read."""


def row_of_file(path: str, *, lost: bool, vectors: bool) -> str | None:
    """Name what a step breaks that deletes a file that it must keep, or keeps one that has to go.

    Args:
        path: the file, below the table root.
        lost: it is gone and has to be there; otherwise it is the other way about.
        vectors: files of the table have deletion vectors.

    """
    if path.endswith(_VECTOR):
        return "DVD-003" if lost else "DVD-002"
    return "DVD-004" if lost and vectors and not path.startswith(LOG_DIR) else None


@dataclass(frozen=True, slots=True)
class Seen:
    """A version that was the latest once.

    Attributes:
        version: its number.
        rows: what it has to hold; ``None`` where that is not known.
        files: digest of every file of the table, when the version was read; ``None`` where it
            was not read yet.

    """

    version: int
    rows: pa.Table | None
    files: Mapping[str, bytes] | None = None

    def stands(self, now: Mapping[str, bytes]) -> bool:
        """Say whether all that the version could be read from is as it was."""
        then = self.files
        if then is None or any(now.get(path) != digest for path, digest in then.items()):
            return False
        return not any(self._leads_here(path) for path in now.keys() - then.keys())

    def _leads_here(self, path: str) -> bool:
        """Say whether a file that came since may be read on the way to the version."""
        folder, _, name = path.rpartition("/")
        if folder != LOG_DIR:
            return False  # only what the log names is read, and that stands as it was
        file = parse(name)
        if file is None:
            return True  # the hint, or what nobody knows
        return file.kind != _HARMLESS and file.version <= self.version
