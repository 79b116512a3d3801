"""Data skipping: the files that a predicate can skip (section Per-file Statistics).

A file is skipped only when its statistics prove that the predicate is true for none of its
rows. The proof never relies on more than the protocol promises: strings may be cut short and
timestamps to milliseconds, bounds may be wide, writers may leave NaN out of bounds, and a null
count other than none or all says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.filters.evaluate import compare
from reference_impl.filters.nodes import (
    And,
    Column,
    Compare,
    Constant,
    In,
    IsNull,
    Node,
    Not,
    Or,
    StartsWith,
    columns_of,
)
from reference_impl.snapshot.stats import leaves, parse_statistics
from reference_impl.snapshot.table_schema import TableSchema, partition_column
from reference_impl.types.model import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Field,
)

_NEGATED: Mapping[str, str] = {
    "=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
_CUT = 999
"""Microseconds that truncating a timestamp to milliseconds can take, in either direction."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What is known about one column, an item per file.

    Attributes:
        lower: no value is below; null where unknown.
        upper: no value is above, except for ``open_end``; null where unknown.
        may_null: a row may be null.
        may_value: a row may be other than null.
        exact: the bounds are values of the column, and all values lie between them.
        extended: ``upper`` may be truncated.
        nan: NaN may occur, outside of the bounds.
    """

    lower: pa.Array
    upper: pa.Array
    may_null: pa.Array
    may_value: pa.Array
    exact: bool
    extended: bool = False
    nan: bool = False


def may_match(files: pa.Table, predicate: Node, table: TableSchema) -> pa.BooleanArray:
    """Return which files, as add actions in wire columns, may hold rows of a predicate.

    Raises:
        InvalidPartitionValue: a partition value that the predicate looks at does not parse.
    """
    wanted = set(columns_of(predicate))
    partition: dict[tuple[str, ...], Field] = {
        (f.name,): f for f in table.partition_columns if (f.name,) in wanted
    }
    known: dict[tuple[str, ...], _Bounds] = {}
    for path, field in partition.items():
        values = partition_column(files, field, table.mode)
        known[path] = _Bounds(values, values, values.is_null(), values.is_valid(), exact=True)
    stored = [
        leaf
        for leaf in leaves(table.columns, table.mode)
        if leaf.path in wanted and leaf.path not in known
    ]
    if stored:
        found = parse_statistics(files.column("stats"), stored)
        for leaf in stored:
            column = found.columns[leaf.path]
            known[leaf.path] = _of_statistics(
                column.minimum, column.maximum, column.null_count, found.records, leaf.type
            )
    return _Skipping(known, files.num_rows).possible(predicate, want=True)


def _of_statistics(
    low: pa.Array, high: pa.Array, nulls: pa.Array, records: pa.Array, of: Any
) -> _Bounds:
    # Obeys DVD-022 STAT-011.
    may_null = _or_true(pc.not_equal(nulls, 0))
    may_value = _or_true(pc.not_equal(nulls, records))
    if of in (TIMESTAMP, TIMESTAMP_NTZ):
        low, high = _shifted(pc.subtract, low), _shifted(pc.add, high)
    if of == DOUBLE:
        low, high = (
            _with_single_precision(pc.min_element_wise, low),
            _with_single_precision(pc.max_element_wise, high),
        )
    discrete = of in (BOOLEAN, BYTE, SHORT, INTEGER, LONG, DATE) or isinstance(of, Decimal)
    return _Bounds(low, high, may_null, may_value, discrete, of == STRING, of in (FLOAT, DOUBLE))


def _shifted(shift: Callable[[Any, Any], Any], bounds: pa.Array) -> pa.Array:
    moved = shift(bounds, pa.scalar(_CUT, pa.duration("us")))
    # Beyond the ends of 64 bits the sum wraps: such a bound is unknown.
    sound = compare("<", bounds, moved) if shift is pc.add else compare(">", bounds, moved)
    return pc.if_else(sound, moved, None)


def _with_single_precision(wider: Callable[[Any, Any], Any], bounds: pa.Array) -> pa.Array:
    """Widen bounds to single precision: files from before a float was widened have its digits."""
    single = bounds.cast(pa.float32(), safe=False).cast(pa.float64())
    return pc.if_else(pc.is_finite(single), wider(bounds, single), bounds)


def _or_true(known: pa.Array) -> pa.Array:
    return pc.fill_null(known, True)  # noqa: FBT003  a value


@dataclass(frozen=True, slots=True)
class _Skipping:
    """Decides per file whether a predicate can be true, or false, for a row."""

    known: Mapping[tuple[str, ...], _Bounds]
    files: int

    def possible(  # noqa: C901, PLR0911  one case per kind of node
        self, node: Node, *, want: bool
    ) -> pa.Array:
        """Return the files in which a row may make the predicate ``want``."""
        match node:
            case And(parts):
                return self._join(parts, want=want, every=want)
            case Or(parts):
                return self._join(parts, want=want, every=not want)
            case Not(part):
                return self.possible(part, want=not want)
            case Constant(value):
                return self._all(value.as_py() is want)
            case Column():
                true = pa.scalar(True)  # noqa: FBT003  a value
                return self._compared("=" if want else "<>", node, true)
            case IsNull(Column(path)) if path in self.known:
                bounds = self.known[path]
                return bounds.may_null if want else bounds.may_value
            case IsNull(Constant(value)):
                return self._all(value.is_valid is not want)
            case Compare("<=>", Column() as column, Constant() as constant):
                return self._null_safe(column, constant, want=want)
            case Compare(operator, Column() as column, Constant() as constant):
                asked = operator if want else _NEGATED[operator]
                return self._compared(asked, column, constant.value)
            case In(Column() as column, choices) if want:
                return reduce(
                    pc.or_,
                    [self._compared("=", column, choice.value) for choice in choices],
                    self._all(False),  # noqa: FBT003  a value
                )
            case StartsWith(Column(path), prefix) if want:
                return self._prefixed(self.known[path], prefix)
            case _:
                return self._all(True)  # noqa: FBT003  a value

    def _all(self, answer: bool) -> pa.Array:
        return pa.repeat(answer, self.files)

    def _join(self, parts: tuple[Node, ...], *, want: bool, every: bool) -> pa.Array:
        return reduce(
            pc.and_ if every else pc.or_, [self.possible(part, want=want) for part in parts]
        )

    def _null_safe(self, column: Column, constant: Constant, *, want: bool) -> pa.Array:
        bounds = self.known[column.path]
        if not constant.value.is_valid:
            return bounds.may_null if want else bounds.may_value
        if want:
            return self._compared("=", column, constant.value)
        return pc.or_(bounds.may_null, self._compared("<>", column, constant.value))

    def _compared(self, operator: str, column: Column, value: pa.Scalar) -> pa.Array:
        """Return the files in which a comparison may be true."""
        if not value.is_valid:
            return self._all(False)  # noqa: FBT003  unknown for every row
        bounds = self.known[column.path]
        try:
            return pc.and_(bounds.may_value, _within(operator, bounds, value))
        except pa.ArrowInvalid:
            # A value that fits no common type proves nothing.
            return self._all(True)  # noqa: FBT003  a value

    def _prefixed(self, bounds: _Bounds, prefix: Constant) -> pa.Array:
        text = prefix.value.as_py()
        above = pc.and_not(pc.greater(bounds.lower, text), pc.starts_with(bounds.lower, text))
        room = pc.and_(_reaches(bounds.upper, text), _or_true(pc.invert(above)))
        return pc.and_(bounds.may_value, room)


def _within(operator: str, bounds: _Bounds, value: pa.Scalar) -> pa.Array:
    """Return where the bounds admit a value for which the comparison is true."""
    match operator:
        case "=":
            below = _or_true(compare("<=", bounds.lower, value))
            return pc.and_(below, _above(bounds, ">=", value, nan=_is_nan(value)))
        case "<" | "<=":
            return _or_true(compare(operator, bounds.lower, value))
        case ">" | ">=":
            return _above(bounds, operator, value, nan=True)
        case "<>":
            if not bounds.exact:
                return pa.repeat(True, len(bounds.lower))  # noqa: FBT003  a value
            only = pc.and_(compare("=", bounds.lower, value), compare("=", bounds.upper, value))
            return _or_true(pc.invert(only))
    raise ValueError(f"there is no comparison {operator!r}")


def _above(bounds: _Bounds, operator: str, value: pa.Scalar, *, nan: bool) -> pa.Array:
    """Return where values may be above another; with ``nan`` a NaN counts as above."""
    if bounds.nan and nan:
        return pa.repeat(True, len(bounds.upper))  # noqa: FBT003  a value
    if bounds.extended:
        return _reaches(bounds.upper, value.as_py())
    return _or_true(compare(operator, bounds.upper, value))


def _reaches(upper: pa.Array, text: str) -> pa.Array:
    """Return where strings with a truncated ``upper`` may be as great as a text."""
    # Of the lengths that there are: together they are no longer than the bounds.
    lengths = pc.unique(pc.utf8_length(upper)).drop_null().to_pylist()
    prefixes = pa.array([text[:end] for end in lengths if end <= len(text)], pa.string())
    return pc.or_(_or_true(pc.greater_equal(upper, text)), pc.is_in(upper, value_set=prefixes))


def _is_nan(value: pa.Scalar) -> bool:
    return bool(pa.types.is_floating(value.type) and math.isnan(value.as_py()))
