"""Decode a variant to a comparable value, so that two encodings of one value are equal.

Serves the "Variant Data Type" section. The encoding leaves freedom (dictionary order, integer
width, offset size, short or long strings), therefore bytes cannot be compared.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any, Final

NAN: Final = ("floating", "NaN")
_EXACT: Final = Context(prec=64)
_MAX_DEPTH: Final = 128


class VariantError(ValueError):
    """The bytes are not a well-formed variant."""


def _number(value: int | Decimal) -> tuple[str, Decimal]:
    # Integers and decimals are one class of exact numbers in the encoding's own terms.
    return "exact", Decimal(value)


def _floating(value: float) -> tuple[str, Any]:
    return NAN if value != value else ("floating", value + 0.0)  # noqa: PLR0124  the NaN test


def _fixed(code: str, wrap: Callable[[Any], Any]) -> tuple[int, Callable[[bytes], Any]]:
    return struct.calcsize(code), lambda raw: wrap(struct.unpack(code, raw)[0])


def _decimal(width: int) -> tuple[int, Callable[[bytes], Any]]:
    def decode(raw: bytes) -> tuple[str, Decimal]:
        unscaled = int.from_bytes(raw[1:], "little", signed=True)
        return _number(Decimal(unscaled).scaleb(-raw[0], _EXACT))

    return 1 + width, decode


_FIXED: Final[dict[int, tuple[int, Callable[[bytes], Any]]]] = {
    0: (0, lambda _: ("null", None)),
    1: (0, lambda _: ("boolean", True)),
    2: (0, lambda _: ("boolean", False)),
    3: _fixed("<b", _number),
    4: _fixed("<h", _number),
    5: _fixed("<i", _number),
    6: _fixed("<q", _number),
    7: _fixed("<d", _floating),
    8: _decimal(4),
    9: _decimal(8),
    10: _decimal(16),
    11: _fixed("<i", lambda v: ("date", v)),
    12: _fixed("<q", lambda v: ("timestamp", v * 1000)),
    13: _fixed("<q", lambda v: ("timestamp_ntz", v * 1000)),
    14: _fixed("<f", _floating),
    17: _fixed("<q", lambda v: ("time", v * 1000)),
    18: _fixed("<q", lambda v: ("timestamp", v)),
    19: _fixed("<q", lambda v: ("timestamp_ntz", v)),
    20: (16, lambda raw: ("uuid", raw)),
}
_SIZED: Final[dict[int, Callable[[bytes], Any]]] = {
    15: lambda raw: ("binary", raw),
    16: lambda raw: ("string", raw.decode("utf-8")),
}


@dataclass(slots=True)
class _Reader:
    """Read one value; the budget bounds how often overlapping offsets can be followed."""

    data: bytes
    names: list[str]
    budget: int

    def take(self, start: int, size: int) -> bytes:
        raw = self.data[start : start + size]
        if len(raw) != size:
            raise VariantError(f"value ends after {len(self.data)} bytes, needs {start + size}")
        return raw

    def unsigned(self, start: int, size: int) -> int:
        return int.from_bytes(self.take(start, size), "little")

    def read(self, at: int, depth: int) -> Any:
        self.budget -= 1
        if self.budget < 0 or depth > _MAX_DEPTH:
            raise VariantError("value nests deeper or wider than its bytes allow")
        head = self.take(at, 1)[0]
        kind, header = head & 3, head >> 2
        if kind == 1:
            return "string", self.take(at + 1, header).decode("utf-8")
        if kind == 2:
            return self._object(at + 1, header, depth)
        if kind == 3:
            return self._array(at + 1, header, depth)
        if header in _SIZED:
            return _SIZED[header](self.take(at + 5, self.unsigned(at + 1, 4)))
        if header not in _FIXED:
            raise VariantError(f"primitive type {header} is not defined")
        size, decode = _FIXED[header]
        return decode(self.take(at + 1, size))

    def _object(self, at: int, header: int, depth: int) -> Any:
        offset_size, id_size = (header & 3) + 1, (header >> 2 & 3) + 1
        count_size = 4 if header >> 4 & 1 else 1
        count = self.unsigned(at, count_size)
        ids = at + count_size
        offsets = ids + count * id_size
        values = offsets + (count + 1) * offset_size
        self.take(offsets, (count + 1) * offset_size)
        fields: dict[str, Any] = {}
        for index in range(count):
            name_id = self.unsigned(ids + index * id_size, id_size)
            if name_id >= len(self.names):
                raise VariantError(f"field id {name_id} is outside the dictionary")
            offset = self.unsigned(offsets + index * offset_size, offset_size)
            fields[self.names[name_id]] = self.read(values + offset, depth + 1)
        return "object", frozenset(fields.items())

    def _array(self, at: int, header: int, depth: int) -> Any:
        offset_size = (header & 3) + 1
        count_size = 4 if header >> 2 & 1 else 1
        count = self.unsigned(at, count_size)
        offsets = at + count_size
        values = offsets + (count + 1) * offset_size
        self.take(offsets, (count + 1) * offset_size)
        return "array", tuple(
            self.read(values + self.unsigned(offsets + index * offset_size, offset_size), depth + 1)
            for index in range(count)
        )


def _names(metadata: bytes) -> list[str]:
    reader = _Reader(metadata, [], 0)
    head = reader.take(0, 1)[0]
    if head & 15 != 1:
        raise VariantError(f"metadata version {head & 15} is not 1")
    size = (head >> 6) + 1
    count = reader.unsigned(1, size)
    base = 1 + size
    strings = base + (count + 1) * size
    reader.take(base, (count + 1) * size)
    ends = [reader.unsigned(base + index * size, size) for index in range(count + 1)]
    return [
        reader.take(strings + start, max(end - start, 0)).decode("utf-8")
        for start, end in pairwise(ends)
    ]


def variant_value(metadata: bytes, value: bytes) -> Any:
    """Decode one variant to a hashable value that is equal for equal variants.

    Returns:
        Nested tuples ``(class, payload)``; exact numbers of any width are one class, floats and
        doubles one, times are in nanoseconds.

    Raises:
        VariantError: the bytes are malformed.

    """
    try:
        return _Reader(value, _names(metadata), 1 + len(value)).read(0, 0)
    except UnicodeDecodeError as error:
        raise VariantError(f"a string of the variant is not UTF-8: {error}") from error
