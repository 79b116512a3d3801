"""Checks of the files of a commit against the version before it.

Covers "Add File and Remove File" and "Append-only Tables".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np

from conformance.audit.columnar.keys import Codes, FileIndex
from conformance.audit.columnar.rows import ADD, REMOVE, Rows
from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.uris import is_absolute
from conformance.audit.read.raw import Line, mapping_in
from conformance.audit.read.state import Body, Key, dv_id, is_empty, row_count
from conformance.audit.screens import (
    differing_removes,
    moved_partitions,
    no_plain_row,
    readded_paths,
    removes_of_append_only,
    removes_of_unknown_files,
    shared_paths,
    without_data_change,
)
from conformance.audit.subjects import Step
from conformance.audit.summaries.parsed import respelled_partition_value, same_value

_MAX_LISTED: Final = 10
"""Vectors that a message names: in an invalid table a path may be live with very many."""

_Live: TypeAlias = Sequence[str | None]


def _live_vectors(step: Step) -> Callable[[str], tuple[_Live, _Live]]:
    """Return what gives the vectors that a path is live with, and those that are not removed."""
    vectors, removed = step.before.vectors, step.keys("remove")

    @cache
    def of(path: str) -> tuple[_Live, _Live]:
        live = sorted(vectors.get(path, ()), key=str)
        return live, [vector for vector in live if (path, vector) not in removed]

    return of


@check("commit", "REM-002 REM-014 REC-018 DVD-018", screen=removes_of_unknown_files)
def removes_name_live_files(step: Step) -> Findings:
    """Report removes of files that are not in the table, or not with that vector."""
    if not step.before.known:
        return
    again = {path for path, vector in step.keys("add") if vector is not None}
    vectors = _live_vectors(step)
    for line in step.of("remove"):
        key = line.key
        added = step.before.adds.get(key) if key else None
        if added is not None and added["path"] != line.body["path"]:
            message = f"{line.body['path']} is removed, which the add spells {added['path']}"
            hint = "both decode to one path; not every reader decodes before it compares"
            yield finding("REM-002", line.place, message, hint, severity="warning")
        if key is None or added is not None:
            continue
        live, left = vectors(key[0])
        apart = key not in step.before.removed
        if live and (apart or len(left) == len(live)) and not _is_repeated(step, line, key):
            listed = ", ".join(map(str, live[:_MAX_LISTED])) + ", …" * (len(live) > _MAX_LISTED)
            message = (
                f"{key[0]} is removed with deletion vector {key[1]}, "
                f"but the table has it with {listed}"
            )
            hint = "a remove repeats the descriptor of the logical file that it removes"
            yield finding("REM-014", line.place, message, hint)
            if key[0] in again:
                yield finding("DVD-018", line.place, message, hint)
        else:
            message = f"{key[0]} is removed but was not in the table"
            yield finding("REC-018", line.place, message, severity="warning")


def _is_repeated(step: Step, line: Line, key: Key) -> bool:
    """Return whether a remove is an earlier one again, of the same moment."""
    stamp = line.body.get("deletionTimestamp")
    return stamp is not None and step.before.removed.get(key, {}).get("deletionTimestamp") == stamp


@check("commit", "REM-009 REM-010 REM-014 STAT-001", screen=differing_removes)
def removes_repeat_their_file(step: Step) -> Findings:
    """Report a remove that says another thing of its file than the add that it cancels."""
    if not step.before.known:
        return
    types = {name: c.type for name, c in step.old.partition_columns.items() if c is not None}
    for line in step.of("remove"):
        key = line.key
        added = step.before.adds.get(key) if key else None
        if added is None:
            continue
        for requirement, what, stated, held in _differences(line.body, added, types):
            message = f"the remove of {line.body['path']} has {what} {stated}, its add has {held}"
            # That a field may be left out does not let it be another one.
            yield finding(requirement, line.place, message, severity="error")


def _differences(
    removed: Body, added: Body, types: Mapping[str, Any]
) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield requirement, field and both values where a remove differs from its add."""
    if type(removed.get("size")) is int and removed["size"] != added.get("size"):
        yield "REM-010", "size", removed["size"], added.get("size")
    counts = row_count(removed), row_count(added)
    if None not in counts and counts[0] != counts[1]:
        yield "STAT-001", "numRecords", *counts
    for name, a, b in _other_values(removed, added, types):
        yield "REM-009", f"partition value {name}", a, b
    stated, held = (mapping_in(body, "deletionVector") for body in (removed, added))
    for name in ("sizeInBytes", "cardinality"):
        if name in stated and name in held and stated[name] != held[name]:
            yield "REM-014", f"a vector of {name}", stated[name], held[name]


def _other_values(
    stated: Body, held: Body, types: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield name and both values of the partition columns that two actions give other values."""
    one, other = (mapping_in(body, "partitionValues") for body in (stated, held))
    for name in one.keys() & other.keys():
        a, b = one[name] or None, other[name] or None
        declared = str(types.get(name))
        same = a == b or (
            a and b and (same_value(a, b, declared) or respelled_partition_value(a, b, declared))
        )
        if not same:
            yield name, a, b


@check("commit", "FA-017", screen=moved_partitions)
def files_stay_in_their_partition(step: Step) -> Findings:
    """Report files that are added again, as if nothing changed, with other partition values."""
    if not step.before.known:
        return
    types = {name: c.type for name, c in step.new.partition_columns.items() if c is not None}
    for line in step.of("add"):
        key = line.key
        held = step.before.adds.get(key) if key else None
        if held is None or line.body.get("dataChange") is not False:
            continue
        for name, a, b in _other_values(line.body, held, types):
            message = f"{line.body['path']} had {b} for {name} and has {a}: its rows change"
            yield finding("FA-017", line.place, message, "dataChange is false")


@check("commit", "FA-019 DVD-018", screen=shared_paths)
def one_vector_per_path(step: Step) -> Findings:
    """Report an add that brings a path in again under another vector without a remove."""
    if not step.before.known:
        return
    paths = step.paths("remove")
    vectors = _live_vectors(step)
    for line in step.of("add"):
        key = line.key
        if key is None or key[0] in paths:
            continue  # a remove of another vector is reported as such
        stale = [vector for vector in vectors(key[0])[1][:2] if vector != key[1]]
        if stale:
            message = f"{key[0]} is added while the table has it with deletion vector {stale[0]}"
            hint = "remove the old logical file in the same commit"
            for requirement in ("FA-019",) if key[1] is None else ("FA-019", "DVD-018"):
                yield finding(requirement, line.place, message, hint)


@check("commit", "ADD-009 REM-005 FA-017 APP-002", screen=without_data_change)
def rearrangements_only_rearrange(step: Step) -> Findings:
    """Report ``dataChange`` false where rows can only appear or vanish."""
    if not step.before.known:
        return
    counts = step.commit.content.counts()
    if not counts["remove"]:
        for line in step.of("add"):
            key = line.key
            new = key is not None and key not in step.before.adds and not is_empty(line.body)
            if line.body.get("dataChange") is False and new:
                message = "a new file is added with dataChange false and nothing is removed"
                yield from _misdeclared("ADD-009", line.place, message, counted=line.body)
    if not counts["add"]:
        for line in step.of("remove"):
            key = line.key
            old = step.before.adds.get(key) if key else None
            if line.body.get("dataChange") is False and old and not is_empty(old):
                message = "a file is removed with dataChange false and nothing is added"
                yield from _misdeclared("REM-005", line.place, message, counted=old)
                if _is_locked(step):
                    message = f"data of an append-only table is removed: {line.body.get('path')}"
                    yield finding("APP-002", line.place, message, sure=row_count(old) is not None)


def _misdeclared(
    requirement: str, place: str, message: str, *, counted: Body | None = None
) -> Findings:
    """Report ``dataChange`` by the rule of its action, and by that of the commit as a whole.

    A file that does not say how many rows it has may have none.
    """
    uncounted = counted is not None and row_count(counted) is None
    for each in (requirement, "FA-017"):
        yield finding(each, place, message, sure=not uncounted)


@dataclass(frozen=True, slots=True)
class Balance:
    """Rows that file actions of one commit bring and take away: those of parts of it add up.

    Attributes:
        changes: one of the actions does not say that it changes no data.
        rows: added, and removed; ``None`` where a file does not say.
        first: line of the first add and of the first remove, from 0; ``None`` for none.
        locked: the table is append-only.
    """

    changes: bool
    rows: tuple[int | None, int | None]
    first: tuple[int | None, int | None]
    locked: bool = False

    def __add__(self, other: Balance) -> Balance:
        """Add another part of the same commit."""
        new, old = (
            None if a is None or b is None else a + b
            for a, b in zip(self.rows, other.rows, strict=True)
        )
        add, remove = (
            min((n for n in pair if n is not None), default=None)
            for pair in zip(self.first, other.first, strict=True)
        )
        changes, locked = self.changes or other.changes, self.locked or other.locked
        return Balance(changes, (new, old), (add, remove), locked)


def balance_of(step: Step) -> Balance | None:
    """Count the rows of a commit, or of a part of it; ``None`` where that cannot be done."""
    rows, index, live = step.rows, step.before.index, step.before.adds.rows
    if not step.before.known or not len(rows):
        return None
    irregular = step.commit.content.of("add", "remove", shown=rows.irregular)
    if rows.change.any() or any(line.body.get("dataChange") is not False for line in irregular):
        return Balance(changes=True, rows=(None, None), first=(None, None))
    codes, numbers = index.codes_of(rows), index.numbers_of(rows)
    added = rows.kind == ADD
    gone = np.unique(codes[~added])
    # An add of a file that stays restates what is there.
    fresh = numbers[added & (np.isin(codes, gone) | (live[codes] < 0))]
    left = live[gone]
    return Balance(
        changes=False,
        rows=(_rows(index, fresh), None if (left < 0).any() else _rows(index, left)),
        first=(_first(rows, ADD), _first(rows, REMOVE)),
        locked=_is_locked(step),
    )


def _is_locked(step: Step) -> bool:
    return step.old.active("appendOnly") and step.new.active("appendOnly")


def _first(rows: Rows, kind: int) -> int | None:
    order = rows.order[rows.kind == kind]
    return int(order.min()) if len(order) else None


def _rows(index: FileIndex, numbers: Codes) -> int | None:
    """Count the rows of files less those that vectors delete; ``None`` where one is unknown."""
    if not len(numbers):
        return 0
    irregular = index.flags("irregular")[numbers]
    texts = index.values("stats", numbers[~irregular])  # a plain row has no vector
    total = 0
    for body in chain(({"stats": text} for text in texts), index.bodies(numbers[irregular])):
        count, vector = row_count(body), body.get("deletionVector")
        deleted = vector.get("cardinality") if isinstance(vector, dict) else 0
        if count is None or type(deleted) is not int:
            return None
        total += count - deleted
    return total


def unbalanced(place: str, balance: Balance | None) -> Findings:
    """Report the rows that a commit adds or loses though it declares no change of data."""
    if balance is None or balance.changes:
        return
    (new, old), (add, remove) = balance.rows, balance.first
    if new is None or old is None or new == old or add is None or remove is None:
        return
    message = f"dataChange is false, and {old} rows become {new}"
    line = (add if new > old else remove) + 1
    yield from _misdeclared("ADD-009" if new > old else "REM-005", f"{place}:{line}", message)
    if balance.locked and new < old:
        message = f"data of an append-only table is removed: {old} rows become {new}"
        yield finding("APP-002", f"{place}:{line}", message)


@check("commit", "ADD-009 REM-005 FA-017 APP-002", screen=no_plain_row, whole=True)
def rearrangements_keep_rows(step: Step) -> Findings:
    """Report rows that a commit adds or loses though all its actions have ``dataChange`` false."""
    yield from unbalanced(step.place, balance_of(step))


@check("commit", "DATA-004 DATA-005", screen=readded_paths)
def names_are_new(step: Step) -> Findings:
    """Report a name that stands for another file than it once did, as sizes and counts show."""
    for line in step.of("add"):
        key = line.key
        if key is None or key[0] not in step.before.seen:
            continue
        # A remove need not say how large the file was, nor how many rows it had.
        held = step.before.added.get(key) or step.before.removed.get(key) or {}
        live = key in step.before.adds
        # What brings no data is the file itself again, and states a wrong size or count.
        reused = not live or line.body.get("dataChange") is True
        sizes = line.body.get("size"), held.get("size")
        counts = (row_count(line.body), row_count(held)) if reused else (None, None)
        if type(sizes[0]) is type(sizes[1]) is int and sizes[0] != sizes[1]:
            message = f"{key[0]} is added with {sizes[0]} bytes, and had {sizes[1]} before"
        elif None not in counts and counts[0] != counts[1]:
            message = f"{key[0]} is added with {counts[0]} rows, and had {counts[1]} before"
        else:
            continue
        for requirement, broken in (("DATA-004", reused), ("DATA-005", live)):
            if broken:
                yield finding(requirement, line.place, message, "older versions lose their file")


@check("commit", "APP-002", screen=removes_of_append_only)
def append_only(step: Step) -> Findings:
    """Report removed data while the table is append-only."""
    if not _is_locked(step):
        return
    for line in step.of("remove"):
        key = line.key
        held = step.before.adds.get(key) if key else None
        if held is None and key and step.before.known:
            continue  # what is not in the table takes no data away
        if line.body.get("dataChange") is True and not is_empty(held or line.body):
            message = f"data of an append-only table is removed: {line.body.get('path')}"
            yield finding("APP-002", line.place, message)


@check("commit", "DV-001 DV-002", screen=no_plain_row)
def vectors_need_their_feature(step: Step) -> Findings:
    """Report deletion vectors where the protocol or the property does not allow them."""
    enabled = step.new.is_true("delta.enableDeletionVectors")
    for line in step.of("add", "remove"):
        vector = dv_id(line.body)
        if vector is None:
            continue
        if "deletionVectors" not in step.new.features:
            # A commit may remove the last vectors together with their feature.
            ends = line.action == "remove" and "deletionVectors" in step.old.features
            message = "a deletion vector, but the protocol does not support deletionVectors"
            yield finding("DV-001", line.place, message, sure=not ends)
        elif line.action == "add" and not enabled and step.before.known:
            key = line.key
            if key not in step.before.adds and not _was_removed(step, key):
                message = "a new deletion vector, but delta.enableDeletionVectors is not true"
                # It is no new one where it comes back from before the log, or out of a clone.
                sure = step.before.whole and not (key and is_absolute(key[0]))
                yield finding("DV-002", line.place, message, sure=sure)


def _was_removed(step: Step, key: Key | None) -> bool:
    """Return whether a vector was in the table before, as after a restore."""
    return key is not None and key in step.before.removed
