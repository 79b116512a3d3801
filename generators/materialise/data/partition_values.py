"""Partition values as the log writes them, and the directory names of the old convention.

Covers "Partition Value Serialization" and "Data Files".
"""

from __future__ import annotations

import decimal
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, TypeAlias

from generators.oracle.delta_schema import DataType, Decimal, Field, Primitive

TimestampStyle: TypeAlias = Literal["iso", "plain"]
"""How a timestamp partition value is written: adjusted to UTC, or without a zone."""

NULL_DIRECTORY: Final = "__HIVE_DEFAULT_PARTITION__"
"""The directory name that the convention uses for a null partition value."""

_HIVE_ESCAPED: Final = frozenset("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(32)}


def single_precision(value: float) -> float:
    """Return the nearest single-precision number, infinity when it is out of range."""
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def number_text(value: float, *, single: bool) -> str:
    """Return the shortest text that reads back as the same number.

    Args:
        value: the number; for a float column it must be a single-precision one.
        single: read back at single precision.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if single:
        for digits in range(1, 10):
            text = f"{value:.{digits}g}"
            if single_precision(float(text)) == value:
                break
        value = float(text)
    return repr(value).replace("e+", "E").replace("e", "E")


def _plain_timestamp(value: datetime) -> str:
    text = f"{value:%H:%M:%S}"
    day = date(value.year, value.month, value.day).isoformat()
    return f"{day} {text}.{value.microsecond:06d}" if value.microsecond else f"{day} {text}"


def _iso_timestamp(value: datetime) -> str:
    instant = value.astimezone(UTC).replace(tzinfo=None)
    return instant.isoformat(timespec="microseconds") + "Z"


_FORMATS: Final[Mapping[str, Callable[[Any], str]]] = {
    "string": str,
    "byte": str,
    "short": str,
    "integer": str,
    "long": str,
    "float": lambda value: number_text(float(value), single=True),
    "double": lambda value: number_text(float(value), single=False),
    "boolean": lambda value: "true" if value else "false",
    "date": date.isoformat,
    "timestamp": _iso_timestamp,
    "timestamp_ntz": _plain_timestamp,
    "binary": lambda value: bytes(value).decode("latin-1"),  # one character per byte
}


def serialize(
    data_type: DataType, value: Any, *, timestamp_style: TimestampStyle = "iso"
) -> str | None:
    """Return the text of a partition value, ``None`` for null.

    Args:
        data_type: the partition column's type, a primitive one.
        value: the Python value.
        timestamp_style: spelling of ``timestamp`` values.

    Raises:
        ValueError: the type cannot partition a table.
    """
    if value is None:
        return None
    match data_type:
        case Primitive("timestamp") if timestamp_style == "plain":
            return _plain_timestamp(value.astimezone(UTC))
        case Primitive(name) if name in _FORMATS:
            return _FORMATS[name](value)
        case Decimal(precision, scale):
            with decimal.localcontext(decimal.Context(prec=precision)):
                return f"{value.quantize(decimal.Decimal(1).scaleb(-scale)):f}"
        case _:
            raise ValueError(f"{data_type} cannot be a partition column's type")


def stored_value(data_type: DataType, value: Any) -> Any:
    """Return what a reader gets back for a partition value: an empty one is null."""
    return None if serialize(data_type, value) in (None, "") else value


def hive_directory(columns: Sequence[Field], values: Mapping[str, Any]) -> str:
    """Return ``a=1/b=x``: the directory that the old convention derives from partition values.

    The name is raw, as on disk; encode it before it goes into the log. A column that begins with
    an underscore is left out: no data file is in such a directory (section Data Files).
    """
    parts = []
    for column in columns:
        text = serialize(column.type, values.get(column.name), timestamp_style="plain")
        if not column.physical_name.startswith("_"):
            parts.append(f"{_hive_escaped(column.physical_name)}={_hive_escaped(text)}")
    return "/".join(parts)


def _hive_escaped(text: str | None) -> str:
    if text is None or text == "":
        return NULL_DIRECTORY
    return "".join(f"%{ord(letter):02X}" if letter in _HIVE_ESCAPED else letter for letter in text)
