"""Values in the spelling of filter literals and write recipes, and back.

Covers no section of the protocol but this kit's own formats: longs and decimals travel as
strings, binary as base64, dates and timestamps as ISO 8601 text, so that no JSON parser loses a
digit. Maps are lists of ``[key, value]`` pairs, and numbers that JSON lacks are the words
``NaN``, ``Infinity`` and ``-Infinity``.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal as DecimalValue
from typing import Any, Final

from generators.oracle.delta_schema import Array, DataType, Decimal, Map, Primitive, Struct, type_of

_PLAIN_DECIMAL: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?", re.ASCII)
"""A decimal without an exponent, which a few letters could make a number of any length."""


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _instant(value: datetime) -> str:
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _same(value: Any) -> Any:
    return value


_ENCODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "string": str,
    "long": str,
    "integer": int,
    "short": int,
    "byte": int,
    "float": _number,
    "double": _number,
    "boolean": bool,
    "binary": _text,
    "date": date.isoformat,
    "timestamp": _instant,
    "timestamp_ntz": lambda value: value.isoformat(timespec="microseconds"),
    "variant": lambda value: {name: _text(part) for name, part in value.items()},
}

_DECODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "string": _same,
    "long": int,
    "integer": int,
    "short": int,
    "byte": int,
    "float": float,
    "double": float,
    "boolean": bool,
    "binary": base64.b64decode,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
    "variant": lambda value: {name: base64.b64decode(part) for name, part in value.items()},
}


def encode(data_type: DataType, value: Any) -> Any:
    """Return a value as JSON; raises :class:`ValueError` for a type that has no spelling."""
    if value is None:
        return None
    match data_type:
        case Primitive(name) if name in _ENCODERS:
            return _ENCODERS[name](value)
        case Decimal():
            return f"{value:f}"
        case Array(element):
            return [encode(element, each) for each in value]
        case Map(key_type, value_type):
            pairs = value.items() if isinstance(value, Mapping) else value
            return [[encode(key_type, key), encode(value_type, each)] for key, each in pairs]
        case Struct(fields):
            return {each.name: encode(each.type, value.get(each.name)) for each in fields}
        case _:
            raise ValueError(f"{data_type} has no literal")


def decode(data_type: DataType, document: Any) -> Any:
    """Read a value back out of its JSON spelling; maps become lists of pairs.

    Raises:
        ValueError: the text is no spelling of a value of this type, or the type has none.
    """
    if document is None:
        return None
    match data_type:
        case Primitive(name) if name in _DECODERS:
            return _DECODERS[name](document)
        case Decimal():
            if not _PLAIN_DECIMAL.fullmatch(document):
                raise ValueError(f"{document[:50]!r} is no decimal of plain digits")
            return DecimalValue(document)
        case Array(element):
            return [decode(element, each) for each in document]
        case Map(key_type, value_type):
            return [(decode(key_type, key), decode(value_type, each)) for key, each in document]
        case Struct(fields):
            return {each.name: decode(each.type, document.get(each.name)) for each in fields}
        case _:
            raise ValueError(f"{data_type} has no literal")


def literal(data_type: str | DataType, value: Any) -> dict[str, Any]:
    """Return a literal node of a filter tree.

    Raises:
        ValueError: the type has no literal.
    """
    typed = type_of(data_type)
    match typed:
        case Primitive(name):
            written = name
        case Decimal(precision, scale):
            written = f"decimal({precision},{scale})"
        case _:
            raise ValueError(f"{data_type} has no literal node")
    return {"literal": encode(typed, value), "type": written}
