"""Partition values: text in the log, typed in rows (section Partition Value Serialization).

An empty string is null for every type. A timestamp without zone is read as UTC. Beyond the
letter of the section, spellings that writers in the field produce and that have one possible
meaning are read: ``inf`` for infinity, decimals with fewer digits than their scale, and
binary values whose escapes were kept as text.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Context, InvalidOperation
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa

from reference_impl.errors import InvalidPartitionValue
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import (
    BINARY,
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
    VOID,
    DataType,
    Decimal,
    Primitive,
)
from reference_impl.types.temporal import (
    format_days,
    format_micros,
    format_timestamp,
    parse_date,
    parse_timestamp,
)
from reference_impl.untrusted import refuse_length

_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_FRACTION = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_ESCAPES = re.compile(r"(?:\\u00[0-9A-Fa-f]{2})+", re.ASCII)
_BOOLEANS = {"true": True, "false": False}
_DECIMAL_CONTEXT = Context(prec=200)


def _integer(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise ValueError(f"{text[:80]!r} is not a whole number")
    return int(text)


def _float(text: str) -> float:
    if _FRACTION.fullmatch(text) is None:
        raise ValueError(f"{text[:80]!r} is not a number")
    return float(text)


def _single(text: str) -> float:
    value = _float(text)
    if math.isfinite(value):
        try:
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    return value


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError(f"{text[:80]!r} is neither true nor false") from None


def _binary(text: str) -> bytes:
    # The section shows one escape per byte, which JSON turns into one character per byte. Text
    # beyond those characters can only be the bytes of a UTF-8 string put there unescaped.
    if _ESCAPES.fullmatch(text):
        return bytes.fromhex(text.replace("\\u00", ""))
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


_PARSERS: Mapping[DataType, Callable[[str], Any]] = {
    BINARY: _binary,
    BOOLEAN: _boolean,
    BYTE: _integer,
    DATE: parse_date,
    DOUBLE: _float,
    FLOAT: _single,
    INTEGER: _integer,
    LONG: _integer,
    SHORT: _integer,
    STRING: str,
    TIMESTAMP: lambda text: parse_timestamp(text, zone=True),
    TIMESTAMP_NTZ: lambda text: parse_timestamp(text, zone=False),
    VOID: lambda _: None,
}


def _decimal(of: Decimal) -> Callable[[str], Number]:
    unit = Number(1).scaleb(-of.scale)

    def parse(text: str) -> Number:
        try:
            value = Number(text) if _DECIMAL.fullmatch(text) else None
            exact = None if value is None else value.quantize(unit, context=_DECIMAL_CONTEXT)
        except InvalidOperation:
            exact = None
        if exact is None:
            raise ValueError(f"{text[:80]!r} is not a decimal number")
        if exact != value:  # Arrow refuses digits beyond the precision
            raise ValueError(f"{text[:80]} has more digits than {of} holds")
        return exact

    return parse


def _parser(of: DataType) -> Callable[[str], Any]:
    if isinstance(of, Decimal):
        return _decimal(of)
    parser = _PARSERS.get(of)
    if parser is None:
        raise InvalidPartitionValue(
            f"a column of type {of} cannot partition a table", action="metaData"
        )
    return parser


def parse_values(texts: pa.Array | pa.ChunkedArray, of: DataType, *, column: str = "") -> pa.Array:
    """Parse the texts of one partition column, a value per file.

    Args:
        texts: strings; null and empty ones are null values.
        of: the column's type.
        column: the column's name, for messages.

    Returns:
        An array of ``arrow_type(of)`` as long as ``texts``.

    Raises:
        InvalidPartitionValue: a text is no value of the type.
    """
    parse = _parser(of)
    encoded = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    encoded = encoded.dictionary_encode()
    values = [
        None if t is None else _parsed(parse, t, of, column) for t in encoded.dictionary.to_pylist()
    ]
    try:
        return pa.array(values, arrow_type(of)).take(encoded.indices)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise _invalid(column, of, error) from None


def parse_value(text: str | None, of: DataType, *, column: str) -> Any:
    """Parse one partition value into the Python value that Arrow gives for its type.

    Raises:
        InvalidPartitionValue: the text is no value of the type.
    """
    # Obeys PART-002.
    [value] = parse_values(pa.array([text], pa.string()), of, column=column)
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        raise InvalidPartitionValue(
            f"partition column {column!r}: {value} is outside of Python's calendar"
        ) from None


def format_value(  # noqa: PLR0911  one return per type
    value: Any, of: DataType
) -> str | None:
    """Spell a partition value for an action.

    Args:
        value: what Arrow gives for the type: ``datetime``, ``date``, ``Decimal``, …; of a date
            or timestamp beyond Python's calendar the days or microseconds since the epoch.
        of: the column's type.

    Returns:
        The text; ``None`` for null, and for an empty string or binary, which the protocol
        cannot distinguish from null.

    Raises:
        InvalidPartitionValue: no column of the type can partition a table.
    """
    # Obeys PART-001 PART-003 PART-004 PART-005 PART-010 PART-011 PART-013 PART-014.
    _parser(of)
    if value is None or value in ("", b""):
        return None
    match of:
        case Primitive("boolean"):
            return "true" if value else "false"
        case Primitive("timestamp"):
            return _instant(value, zone=True)
        case Primitive("timestamp_ntz"):
            return _instant(value, zone=False)
        case Primitive("date") if isinstance(value, int):
            return format_days(value)
        case Primitive("binary"):
            return _format_binary(bytes(value))
        case Primitive("float"):
            return _format_float(pa.scalar(value, pa.float32()).cast(pa.string()).as_py())
        case Primitive("double"):
            return _format_float(repr(float(value)))
        case Decimal(_, scale):
            return f"{value:.{scale}f}"
        case _:
            return str(value)


def _instant(value: Any, *, zone: bool) -> str:
    if isinstance(value, int):
        return format_micros(value, zone=zone)
    return format_timestamp(value, zone=zone)


def _format_binary(value: bytes) -> str:
    text = value.decode("latin-1")
    if _ESCAPES.fullmatch(text):
        # Bytes that look like escapes would be read as what these stand for.
        return "".join(f"\\u00{byte:02X}" for byte in value)
    return text


def _format_float(text: str) -> str:
    number = text.replace("e+", "E").replace("e", "E")
    return number.replace("nan", "NaN").replace("inf", "Infinity")


def _parsed(parse: Callable[[str], Any], text: str, of: DataType, column: str) -> Any:
    if text == "":
        return None
    try:
        if of not in (STRING, BINARY):
            refuse_length(text)
        return parse(text)
    except ValueError as error:
        raise _invalid(column, of, error) from None


def _invalid(column: str, of: DataType, error: Exception) -> InvalidPartitionValue:
    return InvalidPartitionValue(
        f"partition column {column!r} of type {of}: {error}",
        hint="the value is read from partitionValues, never from the directory name",
    )
