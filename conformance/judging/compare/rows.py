"""Compare two tables of rows as typed multisets; order of rows and columns never matters.

Covers every reading section of the protocol: the verdict about rows is taken here and nowhere
else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from conformance.judging.compare.canonical import canonical_values, render
from conformance.judging.compare.families import family_of

_MAX_SHOWN: Final = 5
_PAIRED: Final = 50

Reason: TypeAlias = Literal["columns", "types", "rows", "document"]
_Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How an answer departs from what is expected.

    Attributes:
        reason: what departs: the set of columns, a type family, the rows, or a document.
        summary: one line, the same for the same difference whatever the order of rows.
        details: further lines for a person.
    """

    reason: Reason
    summary: str
    details: tuple[str, ...] = ()


def compare_rows(
    expected: pa.Table, actual: pa.Table, *, zoneless: bool = False
) -> Difference | None:
    """Compare tables as typed multisets of rows.

    Args:
        expected: the rows that the protocol demands, in Delta's types.
        actual: the rows that an implementation gave.
        zoneless: timestamps with and without a zone are of one family.

    Returns:
        ``None`` when every column, type family and row agrees, else the difference.
    """
    return (
        _compare_columns(expected.schema, actual.schema)
        or _compare_families(expected.schema, actual.schema, zoneless=zoneless)
        or _compare_multisets(expected, actual)
    )


def moved_rows(before: pa.Table, after: pa.Table) -> tuple[int, int]:
    """Count the rows that are gone and those that are new; tables have the same columns."""
    order = sorted(before.column_names)
    old, new = Counter(_keys(before, order)), Counter(_keys(after, order))
    return (old - new).total(), (new - old).total()


def _names(names: list[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names))


def _compare_columns(expected: pa.Schema, actual: pa.Schema) -> Difference | None:
    doubled = [name for name, count in Counter(actual.names).items() if count > 1]
    wanted, given = {*expected.names}, {*actual.names}
    missing = [name for name in expected.names if name not in given]
    extra = [name for name in actual.names if name not in wanted]
    faults = [
        f"{what} {_names(names)}"
        for what, names in (
            ("missing column", missing),
            ("extra column", extra),
            ("doubled column", doubled),
        )
        if names
    ]
    if not faults:
        return None
    details = (f"expected columns: {_names(expected.names)}", f"got: {_names(actual.names)}")
    return Difference("columns", "; ".join(faults), details)


def _compare_families(
    expected: pa.Schema, actual: pa.Schema, *, zoneless: bool
) -> Difference | None:
    faults = []
    for name in sorted(expected.names):
        wanted, given = family_of(expected.field(name).type), family_of(actual.field(name).type)
        if wanted != given and not (zoneless and _zoned(wanted) == _zoned(given)):
            faults.append(f"column {name!r} is {given}, expected {wanted}")
    return Difference("types", "; ".join(faults)) if faults else None


def _zoned(family: str) -> str:
    return family.replace("timestamp_ntz", "timestamp")


def _keys(table: pa.Table, order: list[str]) -> list[_Row]:
    if not order:
        return [()] * table.num_rows
    return list(zip(*(canonical_values(table.column(name)) for name in order), strict=True))


def _compare_multisets(expected: pa.Table, actual: pa.Table) -> Difference | None:
    order = sorted(expected.column_names)
    # Most answers are the same arrays in the same order, and need not be taken apart; those that
    # are not may still have the same rows, as NaN is not equal to itself here.
    if order and expected.select(order).equals(actual.select(order)):
        return None
    wanted, given = Counter(_keys(expected, order)), Counter(_keys(actual, order))
    if wanted == given:
        return None
    missing, extra = wanted - given, given - wanted
    renderer = _Renderer(order, expected.schema)
    lost, surplus = renderer.first(missing), renderer.first(extra)
    parts = [
        f"{count} {what}"
        for count, what in ((missing.total(), "missing"), (extra.total(), "extra"))
        if count
    ]
    summary = f"rows: {' and '.join(parts)} of {expected.num_rows}"
    pair = renderer.nearest(lost, surplus)
    if pair:
        summary += f"; {pair}"
    details = tuple(
        f"{what}: {renderer.row(row)}" + (f" (x{counts[row]})" if counts[row] > 1 else "")
        for what, rows, counts in (("missing", lost, missing), ("extra", surplus, extra))
        for row in rows[:_MAX_SHOWN]
    )
    return Difference("rows", summary, details)


@dataclass(frozen=True, slots=True)
class _Renderer:
    """Write rows for people, in an order that does not depend on the order of the answer."""

    order: list[str]
    schema: pa.Schema

    def cell(self, name: str, value: Any) -> str:
        return render(value, self.schema.field(name).type)

    def row(self, row: _Row) -> str:
        return ", ".join(
            f"{name}={self.cell(name, value)}" for name, value in zip(self.order, row, strict=True)
        )

    def first(self, rows: Counter[_Row]) -> list[_Row]:
        # Writing every row of a large difference costs far more than finding it.
        return sorted(nsmallest(_PAIRED, rows, key=repr), key=self.row)

    def nearest(self, lost: list[_Row], surplus: list[_Row]) -> str:
        """Name the first column that differs between the two most alike rows."""
        pairs = [(left, right) for left in lost for right in surplus]
        if not pairs:
            return ""

        def unlike(pair: tuple[_Row, _Row]) -> int:
            return sum(a != b for a, b in zip(*pair, strict=True))

        left, right = min(pairs, key=unlike)
        for name, wanted, given in zip(self.order, left, right, strict=True):
            if wanted != given:
                return (
                    f"column {name!r} expected {self.cell(name, wanted)}, "
                    f"got {self.cell(name, given)}"
                )
        return ""
