"""Which file actions a check has to look at one by one: its screen, over columns.

Serves "Add File and Remove File" and "Per-file Statistics". A screen takes the subject of a check
and gives one truth value for each row of file actions: false where the check has nothing to say
of the row, nor needs it to judge another one that is shown. Irregular rows are always shown, and a
check without a screen sees all of them, so that a screen saves time and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.columnar.keys import repeated
from conformance.audit.columnar.rows import ADD, REMOVE, Mask, Rows
from conformance.audit.findings import Findings
from conformance.audit.grammar.types import BITS, LONG_END, decimal_of
from conformance.audit.read.layout import Layout
from conformance.audit.subjects import Step
from reference_impl import untrusted
from reference_impl.limits import budget

_SOME: Final = 1 << 16
"""Removes that are compared with their adds at once."""


class HasRows(Protocol):
    """What has file actions as columns."""

    @property
    def rows(self) -> Rows:
        """The file actions."""
        ...


def no_plain_row(subject: HasRows) -> Mask:
    """Show no plain row: the check looks at what a plain row cannot have."""
    return np.zeros(len(subject.rows), np.bool_)


def unescaped_paths(step: Step) -> Mask:
    """Show paths with characters that have to be escaped."""
    return step.rows.unescaped


def doubled_paths(step: Step) -> Mask:
    """Show every action of a path that the commit names more than once."""
    return step.memo("doubled", lambda: repeated(step.before.index.path_codes(step.codes)))


def shared_paths(step: Step) -> Mask:
    """Show paths that are known with more than one vector, or with one and without."""
    return step.before.index.several(step.codes)


def removes_of_unknown_files(step: Step) -> Mask:
    """Show removes of what is not live, or is written with escapes."""
    rows, adds = step.rows, step.before.adds
    found = rows.kind == REMOVE
    live = adds.rows[step.codes]
    held = found & (live >= 0) & rows.bare
    if held.any():
        held[held] = step.before.index.flags("bare")[live[held]]
    return np.asarray(found & ~held, np.bool_)


def removes_of_live_files(step: Step) -> Mask:
    """Show removes of what is live."""
    return np.asarray((step.rows.kind == REMOVE) & (step.before.adds.rows[step.codes] >= 0))


def without_data_change(step: Step) -> Mask:
    """Show what changes no data."""
    return ~step.rows.change


def readded_paths(step: Step) -> Mask:
    """Show adds of a file that was there before, where its size is another one or unknown."""
    rows, before = step.rows, step.before
    held = before.adds.rows[step.codes]
    held = np.where(held >= 0, held, before.removed.rows[step.codes])
    found = (rows.kind == ADD) & (held >= 0)
    at = np.flatnonzero(found)
    if len(at):
        was = before.index.values("size", held[at])
        sizes = rows.numbers("size")[at].tolist()
        other = [a is not None and a != b for a, b in zip(was, sizes, strict=True)]
        found[at] = np.array(other, np.bool_) | before.index.flags("irregular")[held[at]]
    return np.asarray(found, np.bool_)


def differing_removes(step: Step) -> Mask:
    """Show removes that have other sizes, partition values or statistics than their adds."""
    rows, before = step.rows, step.before
    live = before.adds.rows[step.codes]
    found = (rows.kind == REMOVE) & (live >= 0)
    every = np.flatnonzero(found)
    # A commit may remove any number of files; the texts of all of them are not held at once.
    for at in (every[start : start + _SOME] for start in range(0, len(every), _SOME)):
        other = before.index.flags("irregular")[live[at]]
        for name in ("size", "partitionValues", "stats"):
            stated = rows.columns[name].take(pa.array(at)).to_pylist()
            held = before.index.values(name, live[at])
            other |= np.array([a is not None and a != b for a, b in zip(stated, held, strict=True)])
        found[at] = other
    return np.asarray(found, np.bool_)


def removes_of_append_only(step: Step) -> Mask:
    """Show removes of data where the table is append-only."""
    if not (step.old.active("appendOnly") and step.new.active("appendOnly")):
        return no_plain_row(step)
    return np.asarray((step.rows.kind == REMOVE) & step.rows.change, np.bool_)


def beside_change_files(step: Step) -> Mask:
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


_KNOWN: Final = frozenset({"numRecords", "tightBounds", "minValues", "maxValues", "nullCount"})
_WHOLE: Final[frozenset[type]] = frozenset({int, type(None)})
_NUMBER: Final[frozenset[type]] = frozenset({int, float, type(None)})
_TEXT: Final[frozenset[type]] = frozenset({str, type(None)})
_BOOL: Final[frozenset[type]] = frozenset({bool, type(None)})


def _types(layout: Layout) -> _Types:
    """Return the types that bounds of each primitive column may have, by its physical path."""
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
    at = np.flatnonzero(found & ~rows.irregular)
    texts = rows.columns["stats"].take(pa.array(at))
    types = _types(layout)
    partitions = frozenset(layout.partition_columns)
    longest = budget().limits.number
    long = re.compile(f"[-+.0-9eE]{{{longest},}}")  # what is beyond the limit on numbers
    plain = np.zeros(len(at), np.bool_)
    for start in range(0, len(at), _AT_ONCE):
        some: list[tuple[int, dict[str, Any]]] = []
        for place, text in enumerate(texts.slice(start, _AT_ONCE).to_pylist(), start):
            if text is None:
                plain[place] = True
            elif len(text) <= longest or not long.search(text):
                try:
                    stats = untrusted.load_json(text)
                except (orjson.JSONDecodeError, MemoryError):  # parsed with care
                    continue
                if type(stats) is dict and stats.keys() <= _KNOWN:
                    some.append((place, stats))
        unfit = _unfit([stats for _, stats in some], types, partitions)
        plain[[place for n, (place, _) in enumerate(some) if n not in unfit]] = True
    found[at] = ~plain
    return np.asarray(found, np.bool_)


_AT_ONCE: Final = 100
"""Statistics that are parsed at once: so few that Python's collector has no work with them."""

_Types: TypeAlias = Mapping[tuple[str, ...], frozenset[type]]
_Fits: TypeAlias = Callable[[frozenset[type], str, Sequence[Any]], Iterable[int]]
"""Gives the places of values that do not fit a column of some types and a name."""


def _unfit(
    some: Sequence[Mapping[str, Any]], types: _Types, partitions: AbstractSet[str]
) -> set[int]:
    """Return the places of statistics that are not plainly those of columns of these types."""

    def bounds(held: frozenset[type], _: str, values: Sequence[Any]) -> Iterable[int]:
        if held.issuperset(map(type, values)):
            return ()
        return (n for n, value in enumerate(values) if type(value) not in held)

    def counts(_: frozenset[type], name: str, values: Sequence[Any]) -> Iterable[int]:
        return range(len(values)) if name in partitions else _no_counts(values)

    return {
        *_no_counts([stats.get("numRecords") for stats in some]),
        *bounds(_BOOL, "tightBounds", [stats.get("tightBounds") for stats in some]),
        *_unfit_trees([stats.get("minValues") for stats in some], (), bounds, types),
        *_unfit_trees([stats.get("maxValues") for stats in some], (), bounds, types),
        *_unfit_trees([stats.get("nullCount") for stats in some], (), counts, types),
    }


def _no_counts(values: Sequence[Any]) -> Iterable[int]:
    if set(map(type, values)) == {int} and min(values) >= 0 and max(values) < LONG_END:
        return ()
    return (n for n, x in enumerate(values) if type(x) is not int or not 0 <= x < LONG_END)


def _unfit_trees(
    trees: Sequence[Any], path: tuple[str, ...], fits: _Fits, types: _Types
) -> Iterator[int]:
    """Return the places of trees of values by column that have unknown columns or unfit values."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for n, tree in enumerate(trees):
        if type(tree) is dict:
            alike.setdefault((*tree,), []).append(n)
        elif tree is not None or path:
            yield n
    for names, at in alike.items():
        # Trees of the same columns are judged column by column.
        columns = zip(*(trees[n].values() for n in at), strict=True)
        for name, values in zip(names, columns, strict=True):
            place = (*path, name)
            held = types.get(place)
            unfit = (
                _unfit_trees(values, place, fits, types)
                if held is None
                else fits(held, name, values)
            )
            yield from (at[n] for n in unfit)
