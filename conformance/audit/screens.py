"""Which file actions a check has to look at one by one: its screen, over columns.

Covers "Add File and Remove File" and "Per-file Statistics". A screen takes the subject of a check
and gives one truth value for each row of file actions: false where the check has nothing to say
of the row, nor needs it to judge another one that is shown. Irregular rows are always shown, and a
check without a screen sees all of them, so that a screen saves time and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.columnar.keys import Codes, repeated
from conformance.audit.columnar.rows import ADD, REMOVE, Mask, Rows
from conformance.audit.findings import Findings
from conformance.audit.grammar.types import BITS, LONG_END, decimal_of
from conformance.audit.read.layout import Layout
from conformance.audit.subjects import Step
from reference_impl import untrusted
from reference_impl.limits import budget

_ACTIONS_AT_ONCE: Final = 1 << 16
"""File actions that are compared with earlier ones of their files at once."""


class HasRows(Protocol):
    """What has file actions as columns."""

    @property
    def rows(self) -> Rows:
        """The file actions."""
        ...


def no_plain_row(subject: HasRows) -> Mask:
    """Return a mask of no row: the check looks at what a plain row cannot have."""
    return np.zeros(len(subject.rows), np.bool_)


def unescaped_paths(step: Step) -> Mask:
    """Return a mask of paths with characters that have to be escaped."""
    return step.rows.unescaped


def doubled_paths(step: Step) -> Mask:
    """Return a mask of the actions of paths that the commit names more than once."""
    return step.memo("doubled", lambda: repeated(step.before.index.path_codes(step.codes)))


def shared_paths(step: Step) -> Mask:
    """Return a mask of paths that are known with several vectors, or with and without one."""
    return step.before.index.several(step.codes)


def removes_of_unknown_files(step: Step) -> Mask:
    """Return a mask of removes of files that are not live, or whose path has escapes."""
    rows, adds = step.rows, step.before.adds
    found = rows.kind == REMOVE
    live = adds.rows[step.codes]
    held = found & (live >= 0) & rows.bare
    if held.any():
        held[held] = step.before.index.flags("bare")[live[held]]
    return np.asarray(found & ~held, np.bool_)


def removes_of_live_files(step: Step) -> Mask:
    """Return a mask of removes of live files."""
    return np.asarray((step.rows.kind == REMOVE) & (step.before.adds.rows[step.codes] >= 0))


def without_data_change(step: Step) -> Mask:
    """Return a mask of actions whose ``dataChange`` is false."""
    return ~step.rows.change


def readded_paths(step: Step) -> Mask:
    """Return a mask of adds of an earlier file whose size or statistics differ from before."""
    added, removed = step.before.added.rows[step.codes], step.before.removed.rows[step.codes]
    return _differing(step, ADD, np.where(added >= 0, added, removed), ("size", "stats"))


def moved_partitions(step: Step) -> Mask:
    """Return a mask of adds of a file that is live with other partition values."""
    return _differing(step, ADD, step.before.adds.rows[step.codes], ("partitionValues",))


def differing_removes(step: Step) -> Mask:
    """Return a mask of removes whose size, partition values or statistics differ from the add."""
    live = step.before.adds.rows[step.codes]
    return _differing(step, REMOVE, live, ("size", "partitionValues", "stats"))


def _differing(step: Step, kind: int, held: Codes, names: Sequence[str]) -> Mask:
    """Return a mask of rows that state another value than the earlier row of their file."""
    rows, index = step.rows, step.before.index
    found = (rows.kind == kind) & (held >= 0)
    every = np.flatnonzero(found)
    # A commit may have any number of files; the texts of all of them are not held at once.
    for at in (
        every[start : start + _ACTIONS_AT_ONCE] for start in range(0, len(every), _ACTIONS_AT_ONCE)
    ):
        other = index.flags("irregular")[held[at]]
        for name in names:
            stated = rows.columns[name].take(pa.array(at)).to_pylist()
            was = index.values(name, held[at])
            other |= np.array([a is not None and a != b for a, b in zip(stated, was, strict=True)])
        found[at] = other
    return np.asarray(found, np.bool_)


def removes_of_append_only(step: Step) -> Mask:
    """Return a mask of removes of data where the table is append-only."""
    if not (step.old.active("appendOnly") and step.new.active("appendOnly")):
        return no_plain_row(step)
    return np.asarray((step.rows.kind == REMOVE) & step.rows.change, np.bool_)


def beside_change_files(step: Step) -> Mask:
    """Return a mask of all rows where the commit has change files, else of none."""
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
            if rows.irregular[row] or key not in held:
                alone = np.zeros(len(rows), np.bool_)
                alone[row] = True
                judged = any(True for _ in check(step.only(alone)))
                if rows.irregular[row]:
                    shown[at] = True
                    continue
                held[key] = judged
            shown[at] = held[key]
        return np.asarray(shown[of.reshape(-1)], np.bool_)

    return screen


_STATISTICS_KEYS: Final = frozenset(
    {"numRecords", "tightBounds", "minValues", "maxValues", "nullCount"}
)
_INTEGER_OR_NULL: Final[frozenset[type]] = frozenset({int, type(None)})
_NUMBER: Final[frozenset[type]] = frozenset({int, float, type(None)})
_TEXT: Final[frozenset[type]] = frozenset({str, type(None)})
_BOOL: Final[frozenset[type]] = frozenset({bool, type(None)})

_Types: TypeAlias = dict[str, Any]
"""Types of values by column, and in a tree of its own those of the fields of a struct."""


def _types(layout: Layout) -> _Types:
    """Return the types that bounds of each column may have, by its physical names."""
    found: _Types = {}
    for column in layout.columns:
        types = _types_of(column.type)
        if types is not None and column.reachable:
            at = found
            for name in column.physical[:-1]:
                # A broken schema may have other columns of that name.
                at[name] = at[name] if isinstance(at.get(name), dict) else {}
                at = at[name]
            at[column.physical[-1]] = types
    return found


def _types_of(declared: Any) -> frozenset[type] | None:
    if not isinstance(declared, str):
        # Arrays and maps have counts of nulls, and no bounds.
        nested = isinstance(declared, Mapping) and declared.get("type") in ("array", "map")
        return frozenset() if nested else None
    if declared in BITS:
        return _INTEGER_OR_NULL
    if declared in ("float", "double") or decimal_of(declared):
        return _NUMBER
    return _BOOL if declared == "boolean" else _TEXT


def broken_statistics(step: Step) -> Mask:
    """Return a mask of adds whose statistics are not plainly those of the schema's columns."""
    return step.memo("statistics", lambda: _statistics(step.rows, step.new))


def _statistics(rows: Rows, layout: Layout) -> Mask:
    found = rows.kind == ADD
    at = np.flatnonzero(found & ~rows.irregular)
    texts = rows.columns["stats"].take(pa.array(at))
    is_plain = _judge(layout)
    some = (texts.slice(start, _AT_ONCE).to_pylist() for start in range(0, len(at), _AT_ONCE))
    plain = [text is None or is_plain(text) for text in chain.from_iterable(some)]
    found[at] = ~np.array(plain, np.bool_)
    return np.asarray(found, np.bool_)


_AT_ONCE: Final = 1000
"""Statistics that are held as texts at once."""


def _judge(layout: Layout) -> Callable[[str], bool]:
    """Return what says whether statistics are plainly those of a schema's columns."""
    types = _types(layout)
    trees = ("minValues", None), ("maxValues", None), ("nullCount", layout.partition_columns.keys())
    longest = budget().limits.number
    long = re.compile(f"[-+.0-9eE]{{{longest},}}")  # what is beyond the limit on numbers

    def is_plain(text: str) -> bool:
        if len(text) > longest and long.search(text):
            return False
        try:
            stats = untrusted.load_json(text)
        except (orjson.JSONDecodeError, MemoryError):  # parsed with care
            return False
        return (
            type(stats) is dict
            and stats.keys() <= _STATISTICS_KEYS
            and _is_count(stats.get("numRecords"))
            and type(stats.get("tightBounds")) in _BOOL
            and all(
                (tree := stats.get(name)) is None or _has_types(tree, types, uncounted)
                for name, uncounted in trees
            )
        )

    return is_plain


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < LONG_END


def _has_types(tree: Any, types: _Types, uncounted: AbstractSet[str] | None) -> bool:
    """Return whether a tree of values by column has columns of these types alone.

    The values are bounds, or counts of nulls where there are columns that have none.
    """
    if type(tree) is not dict:
        return False
    for name, value in tree.items():
        held = types.get(name)
        if type(held) is dict:
            fits = _has_types(value, held, uncounted)
        elif uncounted is None:
            fits = held is not None and type(value) in held
        else:
            fits = held is not None and _is_count(value) and name not in uncounted
        if not fits:
            return False
    return True
