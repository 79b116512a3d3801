"""Rows of files that a commit only rearranges (section Add File and Remove File).

A file that is added with ``dataChange`` false has rows of files that the same commit removes, and
one that is removed so has rows of files that it adds. Numbers of rows are compared by the log
alone, see :mod:`conformance.audit.checks.transitions`; here the rows themselves are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.audit.findings import Findings, finding
from conformance.audit.read.raw import Line
from conformance.audit.read.state import row_count
from conformance.audit.stored.change_rows import FILES, UNREADABLE, rows_of
from conformance.audit.subjects import Step
from reference_impl.errors import LimitExceeded
from reference_impl.storage import Storage

_ROWS: Final = 10_000
"""Rows of a commit up to which they are compared."""

_Tracked = tuple[str, tuple[int, int] | None]
"""A row with its row id and commit version, None where rows are not tracked."""


@dataclass(slots=True)
class Moved:
    """Rows of the files of a commit, or of some of them: those of parts add up.

    Attributes:
        known: whether all files could be read.
        added: rows of the files that are added.
        removed: rows of the files that are removed.
        moved_in: rows of those of the added files that are not to change data, each with its row
            id and commit version where it has them.
        moved_out: the same of the removed files.
        places: of the first action that brings rows, and of the first that takes some; empty for
            none.
    """

    known: bool = True
    added: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    moved_in: Counter[_Tracked] = field(default_factory=Counter)
    moved_out: Counter[_Tracked] = field(default_factory=Counter)
    places: tuple[str, str] = ("", "")

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.added.total() + self.removed.total()

    def __add__(self, other: Moved) -> Moved:
        """Add the rows of other files."""
        (a, b), (c, d) = self.places, other.places
        return Moved(
            self.known and other.known,
            self.added + other.added,
            self.removed + other.removed,
            self.moved_in + other.moved_in,
            self.moved_out + other.moved_out,
            (_first(a, c), _first(b, d)),
        )


def _first(one: str, other: str) -> str:
    """Return which of two places, as ``file:line``, comes first; an empty one does not count."""
    return min(filter(None, (one, other)), key=lambda place: (len(place), place), default="")


def read_moved(step: Step, storage: Storage) -> Moved | None:
    """Read the rows of a commit that rearranges files, or of that part of it which the step has.

    Returns:
        The rows; ``None`` for a commit that does not say of any file that it changes no data, or
        has not both files that come and files that go.
    """
    content, before = step.commit.content, step.before
    counts = content.counts()
    if not before.known or not content.rearranges or not (counts["add"] and counts["remove"]):
        return None
    if step.new.schema is None or counts["add"] + counts["remove"] > FILES:
        return Moved(known=False)
    found = Moved()
    gone = step.keys("remove")
    try:
        for line in step.of("add", "remove"):
            key = line.key
            restated = line.action == "add" and key in before.adds and key not in gone
            _count(found, line, step, storage, restated=restated)
            if found.size > _ROWS:
                return Moved(known=False)
    except LimitExceeded as error:
        if error.limit == "seconds":
            raise
        return Moved(known=False)
    except UNREADABLE:
        return Moved(known=False)
    return found


def _count(moved: Moved, line: Line, step: Step, storage: Storage, *, restated: bool) -> None:
    """Add the rows of a file; those of one that stays may only hold what others take away.

    What is removed, and was not in the table any more, takes no rows away.
    """
    key = line.key
    if line.action == "remove" and key not in step.before.adds and key in step.before.removed:
        return
    if (row_count(line.body) or 0) > _ROWS:
        raise ValueError("the rows are too many to compare")
    quiet = line.body.get("dataChange") is False and not restated
    tracked = Counter(rows_of(line, step, storage, tracked=quiet))
    rows = _parts_of(tracked)
    first, last = moved.places
    if line.action == "add":
        moved.added += rows
        if quiet:
            moved.moved_in += tracked
            moved.places = first or line.place, last
    else:
        moved.removed += rows
        if quiet:
            moved.moved_out += tracked
            moved.places = first, last or line.place


def _parts_of(tracked: Counter[_Tracked], part: int | None = None) -> Counter[Any]:
    """Return rows alone, or each with its row id, part 0, or its commit version, part 1."""
    found: Counter[Any] = Counter()
    for (row, ids), count in tracked.items():
        found[row if part is None or ids is None else (row, ids[part])] += count
    return found


def changed_rows(moved: Moved | None) -> Findings:
    """Report rows that come or go with files that are not to change data."""
    if moved is None or not moved.known or moved.size > _ROWS:
        return
    moved_in, moved_out = _parts_of(moved.moved_in), _parts_of(moved.moved_out)
    come, go = moved_in - moved.removed, moved_out - moved.added
    for rows, place, requirement, words in (
        (come, moved.places[0], "ADD-009", "rows of added files are in none that is removed"),
        (go, moved.places[1], "REM-005", "rows of removed files are in none that is added"),
    ):
        if rows:
            message = f"dataChange is false, and {rows.total()} {words}"
            for each in (requirement, "FA-017"):
                yield finding(each, place, message)
    # Rows that had no ids before, as where tracking comes with the commit, lose none.
    if moved_in == moved_out and all(ids for _, ids in moved.moved_out):
        yield from _lost_ids(moved)


def _lost_ids(moved: Moved) -> Findings:
    """Report rows that are only moved and have another row id or commit version afterwards."""
    for part, requirement, what in ((0, "RT-049", "row id"), (1, "RT-051", "commit version")):
        lost = _parts_of(moved.moved_in, part) - _parts_of(moved.moved_out, part)
        if lost:
            message = f"dataChange is false, and {lost.total()} rows get another {what}"
            yield finding(requirement, moved.places[0], message, "materialise what they had")
