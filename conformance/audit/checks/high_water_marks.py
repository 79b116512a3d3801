"""High-water marks, which only rise: of column ids and identity values.

Covers "Column Mapping" and "Identity Columns". A mark that falls lets the next operation give out
what rows or columns of an earlier version have, which nothing in the table as it stands would show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.audit.findings import Findings, check, finding
from conformance.audit.read.layout import Column, Layout
from conformance.audit.subjects import Step

_COLUMN: Final = ("CM-022", "column ids")
_VALUE: Final = "IDN-016"
"""Requirement of each kind of mark, and its name in messages; identity columns have their own."""

_IDENTITY: Final = "delta.identity."


def lowered_marks(old: Layout, new: Layout, *, replaced: bool = False) -> Iterator[tuple[str, str]]:
    """Return the requirement and a message for each mark that a later version lowers or loses.

    A mark whose feature was dropped or turned off, or whose column is gone, is promised no longer.
    A table that is replaced as a whole has a new column of the name, with a mark of its own.

    Args:
        old: layout of the earlier version.
        new: layout of the later version.
        replaced: whether the table was replaced as a whole in between.
    """
    after = dict(_marks(new))
    columns = {_identity(column) for column in new.columns}
    for mark, value in _marks(old):
        requirement, name = mark
        held = after.get(mark)
        # Column ids count while columns are mapped.
        unmapped = new.mode == "none" or "columnMapping" not in new.features
        gone = unmapped if mark == _COLUMN else replaced or name not in columns
        if gone or (held is not None and held >= value):
            continue
        state = "is gone" if held is None else f"fell from {abs(value)} to {abs(held)}"
        yield requirement, f"the high-water mark of {name} {state}"


def _identity(column: Column) -> str:
    return column.name if column.field_id is None else f"column {column.field_id}"


def _marks(layout: Layout) -> Iterator[tuple[tuple[str, str], int]]:
    if layout.max_column_id is not None and layout.mode != "none":
        yield _COLUMN, layout.max_column_id
    for column in layout.columns:
        held, step = (column.metadata.get(f"{_IDENTITY}{key}") for key in ("highWaterMark", "step"))
        if type(held) is int and type(step) is int:
            yield (_VALUE, _identity(column)), held if step > 0 else -held


@check("commit", "CM-020 CM-022 IDN-016")
def marks_only_rise(step: Step) -> Findings:
    """Report a commit that lowers or loses a high-water mark."""
    if not step.before.known or step.before.metadata is None or not step.sets_metadata:
        return
    hint = "what the next operation gives out may be taken already"
    highest = step.new.max_column_id
    for requirement, message in lowered_marks(step.old, step.new, replaced=step.replaces_files):
        yield finding(requirement, step.place, message, hint)
        given = max(set().union(*step.before.paths.values()), default=0)
        now = max((column.field_id or 0 for column in step.new.columns), default=0)
        if requirement == _COLUMN[0] and highest is not None and now <= highest < given:
            yield finding("CM-020", step.place, f"id {given} was assigned, and {message}")
    if highest is not None and step.new.mode != "none" != step.old.mode:
        former = {column.field_id for column in step.old.columns}
        for column in step.new.columns:
            if (column.field_id or 0) > highest and column.field_id not in former:
                message = f"the new column {column.name} has id {column.field_id}, above the mark"
                yield finding("CM-022", step.place, message, hint)


_SETTINGS: Final = ("start", "step", "allowExplicitInsert")


@check("commit", "IDN-007")
def settings_stay(step: Step) -> Findings:
    """Report an identity column whose settings change, unless the table is replaced as a whole."""
    if not step.sets_metadata or step.replaces_files:
        return
    former: dict[str, Mapping[str, Any]] = {_identity(c): c.metadata for c in step.old.columns}
    for column in step.new.columns:
        held = former.get(_identity(column), {})
        for name in _SETTINGS:
            key = f"{_IDENTITY}{name}"
            if held.get(key) is not None and key in column.metadata:
                was, now = held[key], column.metadata[key]
                if was != now:
                    message = f"{key} of column {column.name} changes from {was} to {now}"
                    yield finding("IDN-007", step.place, message)
