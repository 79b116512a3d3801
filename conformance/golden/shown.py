"""What an older version of a golden table can show: a clause is judged where it applies.

Serves every section of a table feature, and "Action Reconciliation". A read of a version without
any deletion vector says nothing of how vectors are read, whatever later versions hold; one before
the first tombstone says nothing of tombstones, and one that no checkpoint is newer than says
nothing of time travel.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from conformance.base.untrusted import DocumentError, read_bytes

_MARKS: Final = {
    "columnMapping": re.compile(rb'"delta\.columnMapping\.mode"'),
    "deletionVectors": re.compile(rb'"deletionVector": ?\{'),
    "rowTracking": re.compile(rb'"rowTracking"'),
    "typeWidening": re.compile(rb"delta\.typeChanges"),
}
"""What commits of a table say where a feature has an effect on its rows."""
_UNTIL: Final = {"CM-024": re.compile(rb'"delta\.columnMapping\.mode": ?"(name|id)"')}
"""Rows about tables that a feature has no effect on yet: what commits say from where on it has."""
_REMOVE: Final = re.compile(rb'"remove": ?\{')
_OF_REMOVES: Final = ("REC-007", "REC-008", "REM-")
"""Rows about tombstones, or what their ids begin with; a version before the first shows none."""

_OF_SUMMARIES: Final = {
    "checkpoint": ("CKC-", "CKM-", "SCA-", "SIDE-"),
    "compacted": ("COMP-",),
}
"""What the names of summaries of the log have, and rows about what is in them."""


def shows(table: Path, version: int | None, feature: str, row: str = "") -> bool:
    """Return whether a version of a table can show how a row is obeyed.

    Args:
        table: root of the golden table.
        version: the version asked for; the latest when ``None``, of which the case says so.
        feature: the table feature of the row; only those that change rows are looked for.
        row: the clause that is judged.

    Returns:
        ``True`` also where the commits that would say so are not there.

    """
    if row == "CKPT-004":
        # A read of the latest version is no time travel, and one behind all checkpoints no lure.
        return version is not None and version < max(_versions(table, "checkpoint"), default=-1)
    summary = next((kind for kind, rows in _OF_SUMMARIES.items() if row.startswith(rows)), None)
    if summary is not None:
        # A version before the first says nothing of how they are read.
        return version is None or version >= min(_versions(table, summary), default=0)
    if row in _UNTIL:
        since = _first(table, _UNTIL[row])
        return since is None or (version is not None and version < since)
    mark = _REMOVE if row.startswith(_OF_REMOVES) else _MARKS.get(feature)
    return mark is None or version is None or (_first(table, mark) or 0) <= version


@cache
def _versions(table: Path, summary: str) -> frozenset[int]:
    """Return the first version that each summary of a kind is of: checkpoints or compactions."""
    names = (path.name for path in (table / "_delta_log").glob(f"*.{summary}*"))
    return frozenset(int(name[:20]) for name in names if name[:20].isdecimal())


@cache
def _first(table: Path, mark: re.Pattern[bytes]) -> int | None:
    """Return the first version whose commit has a mark; ``None`` where none is seen to."""
    log = table / "_delta_log"
    for version in range(len(list(log.glob("*.json")))):
        commit = log / f"{version:020}.json"
        if not commit.is_file():
            return None
        try:
            found = mark.search(read_bytes(commit))
        except DocumentError:
            return None
        if found:
            return version
    return None
