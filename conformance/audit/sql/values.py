"""Types of SQL values, and the conversions between them that lose nothing.

A value is an Arrow array, one element a row, or a scalar that stands for every row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as at

from conformance.audit.grammar.types import decimal_of
from conformance.audit.sql.errors import Uncertain

Value: TypeAlias = Any
"""An array of Arrow, or a scalar."""

_ARROW_TYPES: Final[Mapping[str, pa.DataType]] = {
    "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(), "string": pa.string(),
    "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 19}
_WIDEST: Final = 38
_DATE: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$"
_INTEGER: Final = r"^-?[0-9]{1,18}$"


def arrow_of(declared: Any) -> pa.DataType:
    """Return the Arrow type of the values of a declared type.

    Raises:
        Uncertain: it is none of the primitive types, nor an array, map or struct of them.
    """
    match declared:
        case str():
            sized = decimal_of(declared)
            found = pa.decimal128(*sized) if sized and 0 < sized[0] <= _WIDEST else None
            found = found or _ARROW_TYPES.get(declared)
        case {"type": "struct", "fields": list(fields)}:
            found = pa.struct([(each["name"], arrow_of(each["type"])) for each in fields])
        case {"type": "array", "elementType": inner}:
            found = pa.list_(arrow_of(inner))
        case {"type": "map", "keyType": key, "valueType": value}:
            found = pa.map_(arrow_of(key), arrow_of(value))
        case _:
            found = None
    if found is None:
        raise Uncertain(f"values of type {str(declared)[:100]} are not evaluated")
    return found


def nothing(value: Value) -> bool:
    """Return whether a value is the literal NULL."""
    return bool(at.is_null(value.type))


def _matches(value: Value, pattern: str) -> bool:
    found = pc.match_substring_regex(value, pattern)
    return (found if isinstance(found, pa.Scalar) else pc.all(found)).as_py() is not False


def _text_as(value: Value, target: pa.DataType) -> Value:
    if at.is_date(target) and _matches(value, _DATE):
        return value.cast(target)
    if at.is_timestamp(target) and target.tz is None and _matches(value, _TIME):
        return value.cast(target)
    if at.is_integer(target) and _matches(value, _INTEGER):
        return value.cast(target)
    raise Uncertain(f"whether text is {target} depends on settings")


def _whole_as(value: Value, target: pa.DataType) -> Value:
    if at.is_decimal(target):
        value = value.cast(pa.decimal128(_DIGITS[value.type.bit_width], 0))
    elif not (at.is_integer(target) or at.is_floating(target) or at.is_string(target)):
        raise Uncertain(f"{value.type} as {target}")
    return value.cast(target)


def _decimal_as(value: Value, target: pa.DataType) -> Value:
    if at.is_float64(target) and isinstance(value, pa.Scalar) and value.is_valid:
        return pa.scalar(float(value.as_py()), target)
    if at.is_integer(target):
        # The fraction is cut off.
        whole = pc.cast(pc.trunc(value), pa.decimal128(_WIDEST, 0))
        return whole.cast(target)
    if at.is_decimal(target):
        return value.cast(target)
    raise Uncertain(f"{value.type} as {target}")


def _floating_as(value: Value, target: pa.DataType) -> Value:
    if at.is_float64(target):
        return value.cast(target)
    if at.is_integer(target):
        return pc.trunc(value).cast(target)
    raise Uncertain(f"{value.type} as {target}")


def _moment_as(value: Value, target: pa.DataType) -> Value:
    if at.is_date(target) and value.type.tz is None:
        return pc.floor_temporal(value, unit="day").cast(target)
    raise Uncertain(f"{value.type} as {target} depends on the zone of a session")


_CASTS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[..., Value]], ...]] = (
    (at.is_string, _text_as),
    (at.is_integer, _whole_as),
    (at.is_decimal, _decimal_as),
    (at.is_floating, _floating_as),
    (at.is_timestamp, _moment_as),
)


def as_type(value: Value, target: pa.DataType) -> Value:
    """Convert a value, as every dialect and mode of Spark does.

    Raises:
        Uncertain: modes differ for these types or values, or a digit is lost.
    """
    if value.type == target:
        return value
    if nothing(value):
        return pa.scalar(None, target) if isinstance(value, pa.Scalar) else value.cast(target)
    for test, convert in _CASTS:
        if test(value.type):
            return convert(value, target)
    raise Uncertain(f"{value.type} as {target}")


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that two values are compared as, and one of a choice has."""
    if one == other or at.is_null(other):
        return one
    if at.is_null(one):
        return other
    pair = (one, other)
    if all(map(at.is_integer, pair)):
        return max(pair, key=lambda each: each.bit_width)
    if all(at.is_integer(each) or at.is_decimal(each) for each in pair):
        sizes = [(e.precision - e.scale, e.scale) if at.is_decimal(e) else (_DIGITS[e.bit_width], 0)
                 for e in pair]  # fmt: skip
        whole, scale = map(max, zip(*sizes, strict=True))
        if whole + scale <= _WIDEST:
            return pa.decimal128(whole + scale, scale)
    if any(map(at.is_floating, pair)) and all(
        at.is_integer(each) or at.is_decimal(each) or at.is_floating(each) for each in pair
    ):
        return pa.float64()
    text, rest = (pair, other) if at.is_string(one) else (pair[::-1], one)
    if at.is_string(text[0]) and (at.is_date(rest) or at.is_timestamp(rest)):
        return rest
    raise Uncertain(f"{one} beside {other}")


def common(*values: Value) -> list[Value]:
    """Convert values to the one type that they are compared as.

    Raises:
        Uncertain: modes of Spark differ in what that is, or a value does not fit it.
    """
    target = reduce(_wider, (value.type for value in values))
    if at.is_float64(target) and any(at.is_float32(value.type) for value in values):
        # Modes differ in whether whole numbers become float or double.
        values = tuple(
            value.cast(pa.float32()) if at.is_integer(value.type) else value for value in values
        )
    return [as_type(value, target) for value in values]


def equal(one: Value, other: Value) -> Value:
    """Return where two values of one type are equal; a NaN equals a NaN.

    Raises:
        Uncertain: values of the type have no order that every version of Spark gives them.
    """
    if at.is_nested(one.type):
        raise Uncertain(f"values of type {one.type} are not compared")
    if nothing(one):
        return pa.scalar(None, pa.bool_())
    same = pc.equal(one, other)
    if at.is_floating(one.type):
        same = pc.or_(same, pc.and_(pc.is_nan(one), pc.is_nan(other)))
    return same


def number(written: str) -> pa.Scalar:
    """Return the value of a number as it is written.

    Raises:
        Uncertain: it has a form that Spark has not, or is too long.
    """
    if re.fullmatch(r"[0-9]+", written):
        value = int(written[: _WIDEST + 1])
        for of in (pa.int32(), pa.int64()):
            if value < 1 << (of.bit_width - 1):
                return pa.scalar(value, of)
    if re.fullmatch(r"[0-9]*\.?[0-9]*", written) and any(map(str.isdigit, written)):
        scale = len(written.partition(".")[2])
        whole = len(written.partition(".")[0].lstrip("0"))
        if whole + scale <= _WIDEST:
            return pa.scalar(Decimal(written), pa.decimal128(max(whole + scale, 1), scale))
    elif re.fullmatch(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]{1,3}", written):
        found = float(written)
        if math.isfinite(found):
            return pa.scalar(found, pa.float64())
    raise Uncertain(f"the number {written[:60]}")
