"""Evaluate predicates over Arrow: True, False or null per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.filters.nodes import (
    And,
    Column,
    Compare,
    Constant,
    In,
    IsNull,
    Node,
    Not,
    Operand,
    Or,
    StartsWith,
)

_MAX_DECIMAL_DIGITS = 76
"""Digits of a 256-bit decimal."""

_INTEGER_DIGITS = 19
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def evaluate(node: Node, rows: pa.RecordBatch | pa.Table) -> pa.BooleanArray:
    """Evaluate a predicate.

    Args:
        node: bound to the schema that the rows have.
        rows: columns by logical name, at least those that the predicate looks at.

    Returns:
        One value per row; null is SQL's unknown, and such a row is not kept.
    """
    found = _evaluate(node, rows)
    if isinstance(found, pa.Scalar):
        return pa.repeat(found.cast(pa.bool_()), rows.num_rows)
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    return found.cast(pa.bool_())


def _evaluate(  # noqa: PLR0911  one return per kind of node
    node: Node, rows: pa.RecordBatch | pa.Table
) -> Any:
    match node:
        case Column() | Constant():
            return _value(node, rows)
        case Compare(operator, left, right):
            return compare(operator, _value(left, rows), _value(right, rows))
        case In(value, choices):
            tested = _value(value, rows)
            found = [compare("=", tested, choice.value) for choice in choices]
            return reduce(pc.or_kleene, found, pa.scalar(False))  # noqa: FBT003  a value
        case IsNull(value):
            return pc.is_null(_value(value, rows))
        case StartsWith(value, prefix):
            return pc.starts_with(_value(value, rows), prefix.value.as_py())
        case And(parts):
            return reduce(pc.and_kleene, [_boolean(_evaluate(p, rows)) for p in parts])
        case Or(parts):
            return reduce(pc.or_kleene, [_boolean(_evaluate(p, rows)) for p in parts])
        case Not(part):
            return pc.invert(_boolean(_evaluate(part, rows)))


def _boolean(found: Any) -> Any:
    return found.cast(pa.bool_())


def _value(operand: Operand, rows: pa.RecordBatch | pa.Table) -> Any:
    if isinstance(operand, Constant):
        return operand.value
    values = rows.column(operand.path[0])
    for name in operand.path[1:]:
        values = pc.struct_field(values, name)
    return values


def compare(operator: str, left: Any, right: Any) -> Any:
    """Compare arrays or scalars of comparable types, by the rules of Spark SQL."""
    if operator == "<=>":
        same = compare("=", left, right)
        both = pc.and_(pc.is_null(left), pc.is_null(right))
        return pc.or_(pc.fill_null(same, False), both)  # noqa: FBT003  a value
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return _unknown(left, right)
    left, right = _common(left, right)
    if pa.types.is_floating(left.type):
        return _compare_floats(operator, left, right)
    return _COMPARISONS[operator](left, right)


def _compare_floats(operator: str, left: Any, right: Any) -> Any:
    """Compare where NaN is equal to itself and greater than every other number."""
    left_nan, right_nan = pc.is_nan(left), pc.is_nan(right)
    match operator:
        case "=":
            return pc.or_(pc.equal(left, right), pc.and_(left_nan, right_nan))
        case "<":
            return pc.or_(pc.less(left, right), pc.and_not(right_nan, left_nan))
        case "<=":
            return pc.or_(pc.less_equal(left, right), right_nan)
        case _:
            opposite = {"<>": "=", ">": "<=", ">=": "<"}[operator]
            return pc.invert(_compare_floats(opposite, left, right))


def _common(left: Any, right: Any) -> tuple[Any, Any]:
    """Bring both sides to the type in which Spark compares them."""
    kinds = (left.type, right.type)
    if kinds[0] == kinds[1]:
        return left, right
    if any(map(pa.types.is_floating, kinds)):
        return _double(left), _double(right)
    if any(map(pa.types.is_decimal, kinds)):
        scale = max(k.scale if pa.types.is_decimal(k) else 0 for k in kinds)
        target = pa.decimal256(_MAX_DECIMAL_DIGITS, scale)
        return _decimal(left, target), _decimal(right, target)
    if any(map(pa.types.is_timestamp, kinds)):
        return left.cast(pa.timestamp("us")), right.cast(pa.timestamp("us"))
    return left.cast(pa.int64()), right.cast(pa.int64())


def _double(values: Any) -> Any:
    # Arrow scales decimals by a rounded power of ten; through text the nearest double comes out.
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.string())
    return values.cast(pa.float64(), safe=False)


def _decimal(values: Any, target: pa.DataType) -> Any:
    if pa.types.is_integer(values.type):
        values = values.cast(pa.int64()).cast(pa.decimal256(_INTEGER_DIGITS, 0))
    return values.cast(target)


def _unknown(left: Any, right: Any) -> Any:
    lengths = [len(side) for side in (left, right) if not isinstance(side, pa.Scalar)]
    return pa.nulls(lengths[0], pa.bool_()) if lengths else pa.scalar(None, pa.bool_())
