"""Which file actions a check has to look at one by one: its screen, over columns.

Serves "Add File and Remove File" and "Per-file Statistics". A screen takes the subject of a check
and gives one truth value for each row of file actions: false where the check has nothing to say
of the row, nor needs it to judge another one that is shown. Rows that are odd are always shown,
and a check without a screen sees all of them, so that a screen saves time and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.columnar.keys import Codes
from conformance.audit.columnar.rows import ADD, REMOVE, Mask, Rows
from conformance.audit.findings import Findings
from conformance.audit.grammar.types import BITS, decimal_of
from conformance.audit.read.layout import Layout
from conformance.audit.subjects import Step
from reference_impl.limits import budget

__all__ = [
    "broken_statistics",
    "by_partition_values",
    "doubled_paths",
    "nothing",
    "of_append_only",
    "of_changes",
    "of_removes",
    "rearranged",
    "renamed",
    "shared_paths",
    "unescaped",
]


class HasRows(Protocol):
    """What has file actions as columns."""

    @property
    def rows(self) -> Rows:
        """The file actions."""
        ...


def nothing(subject: HasRows) -> Mask:
    """Show no plain row: the check looks at what a plain row cannot have."""
    return np.zeros(len(subject.rows), np.bool_)


def unescaped(step: Step) -> Mask:
    """Show paths with characters that have to be escaped."""
    return step.rows.unescaped


def doubled_paths(step: Step) -> Mask:
    """Show every action of a path that the commit names more than once."""
    return step.memo("doubled", lambda: _doubled(step.before.store.path_codes(step.codes)))


def _doubled(codes: Codes) -> Mask:
    _, of, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.asarray((counts > 1)[of.reshape(-1)], np.bool_)


def shared_paths(step: Step) -> Mask:
    """Show paths that are known with more than one vector, or with one and without."""
    return step.before.store.several(step.codes)


def of_removes(step: Step) -> Mask:
    """Show removes of what is not live, or is spelled with escapes."""
    rows, adds = step.rows, step.before.adds
    found = rows.kind == REMOVE
    live = adds.rows[step.codes]
    held = found & (live >= 0) & rows.bare
    if held.any():
        held[held] = step.before.store.flags("bare")[live[held]]
    return np.asarray(found & ~held, np.bool_)


def rearranged(step: Step) -> Mask:
    """Show what changes no data."""
    return ~step.rows.change


def renamed(step: Step) -> Mask:
    """Show adds of a file that was there before, where its size is another one or not told."""
    rows, before = step.rows, step.before
    held = before.adds.rows[step.codes]
    held = np.where(held >= 0, held, before.removed.rows[step.codes])
    found = (rows.kind == ADD) & (held >= 0)
    at = np.flatnonzero(found)
    if len(at):
        was = before.store.values("size", held[at])
        sizes = rows.numbers("size")[at].tolist()
        other = [a is not None and a != b for a, b in zip(was, sizes, strict=True)]
        found[at] = np.array(other, np.bool_) | before.store.flags("odd")[held[at]]
    return np.asarray(found, np.bool_)


def of_append_only(step: Step) -> Mask:
    """Show removes of data where the table is append-only."""
    name = "delta.appendOnly"
    if not (step.old.active("appendOnly", name) and step.new.active("appendOnly", name)):
        return nothing(step)
    return np.asarray((step.rows.kind == REMOVE) & step.rows.change, np.bool_)


def of_changes(step: Step) -> Mask:
    """Show all adds where there are change files."""
    return np.full(len(step.rows), any(line.action == "cdc" for line in step.small), np.bool_)


def by_partition_values(check: Callable[[Step], Findings]) -> Callable[[Step], Mask]:
    """Make the screen of a check that looks at the kind and the partition values of a row alone.

    The check itself judges the first row of each kind and values, and what it finds there is in
    all of them.
    """

    def screen(step: Step) -> Mask:
        rows = step.rows
        values = rows.columns["partitionValues"].combine_chunks().dictionary_encode()
        codes = np.asarray(pc.fill_null(values.indices, -1), np.int64) * 2 + rows.kind
        kinds, first, of = np.unique(codes, return_index=True, return_inverse=True)
        texts = values.take(pa.array(first)).to_pylist()
        held = step.verdicts
        shown = np.zeros(len(kinds), np.bool_)
        for at, (row, text) in enumerate(zip(first.tolist(), texts, strict=True)):
            key = text, int(rows.kind[row])
            if rows.odd[row] or key not in held:
                alone = np.zeros(len(rows), np.bool_)
                alone[row] = True
                judged = any(True for _ in check(step.only(alone)))
                if rows.odd[row]:
                    shown[at] = True
                    continue
                held[key] = judged
            shown[at] = held[key]
        return np.asarray(shown[of.reshape(-1)], np.bool_)

    return screen


_KNOWN: Final = frozenset({"numRecords", "tightBounds", "minValues", "maxValues", "nullCount"})
_LONG: Final = 1 << 63
_WHOLE: Final[frozenset[type]] = frozenset({int, type(None)})
_NUMBER: Final[frozenset[type]] = frozenset({int, float, type(None)})
_TEXT: Final[frozenset[type]] = frozenset({str, type(None)})
_BOOL: Final[frozenset[type]] = frozenset({bool, type(None)})


def _types(layout: Layout) -> Mapping[tuple[str, ...], frozenset[type]]:
    """Give the types that bounds of each primitive column may have, by its physical path."""
    found = {}
    for column in layout.columns:
        declared = column.type
        if not isinstance(declared, str) or not column.reachable:
            continue
        if declared in BITS:
            found[column.physical] = _WHOLE
        elif declared in ("float", "double") or decimal_of(declared):
            found[column.physical] = _NUMBER
        elif declared == "boolean":
            found[column.physical] = _BOOL
        else:
            found[column.physical] = _TEXT
    # Arrays and maps have counts of nulls, and no bounds.
    nested = {
        column.physical: frozenset[type]()
        for column in layout.columns
        if column.reachable
        and isinstance(column.type, Mapping)
        and column.type.get("type") in ("array", "map")
    }
    return nested | found


def broken_statistics(step: Step) -> Mask:
    """Show adds whose statistics are not plainly those of the schema's columns."""
    return step.memo("statistics", lambda: _statistics(step.rows, step.new))


def _statistics(rows: Rows, layout: Layout) -> Mask:
    found = rows.kind == ADD
    judge = _judge(layout)
    at = np.flatnonzero(found & ~rows.odd)
    texts = rows.columns["stats"].take(pa.array(at)).to_pylist()
    plain = [text is None or judge(text) for text in texts]
    found[at] = ~np.array(plain, np.bool_)
    return np.asarray(found, np.bool_)


def _fit(
    node: Any,
    path: tuple[str, ...],
    takes: Callable[[frozenset[type], str, Any], bool],
    types: Mapping[tuple[str, ...], frozenset[type]],
) -> bool:
    """Tell whether a tree of values by column has known columns alone, and values that fit."""
    if node is None:
        return True
    if type(node) is not dict:
        return False
    for name, value in node.items():
        place = (*path, name)
        held = types.get(place)
        if held is None:
            if type(value) is not dict or not _fit(value, place, takes, types):
                return False
        elif not takes(held, name, value):
            return False
    return True


def _judge(layout: Layout) -> Callable[[str], bool]:
    types = _types(layout)
    longest = budget().limits.number
    long = re.compile(f"[-+.0-9eE]{{{longest},}}")  # what is beyond the limit on numbers
    partitions = set(layout.partition_columns)

    def bound(held: frozenset[type], _: str, value: Any) -> bool:
        return type(value) in held

    def count(_: frozenset[type], name: str, value: Any) -> bool:
        return type(value) is int and 0 <= value < _LONG and name not in partitions

    def judge(text: str) -> bool:
        if len(text) > longest and long.search(text):
            return False
        try:
            stats = orjson.loads(text)
        except orjson.JSONDecodeError:
            return False
        if type(stats) is not dict or not stats.keys() <= _KNOWN:
            return False
        rows = stats.get("numRecords")
        if type(rows) is not int or not 0 <= rows < _LONG:
            return False
        return (
            type(stats.get("tightBounds")) in _BOOL
            and _fit(stats.get("minValues"), (), bound, types)
            and _fit(stats.get("maxValues"), (), bound, types)
            and _fit(stats.get("nullCount"), (), count, types)
        )

    return judge
