"""The values of variants, read without trust (section Variant Data Type, upstream).

The encoding is Parquet's: ``metadata`` names the fields, ``value`` refers to them by number. What
is read here may say anything of itself; each length is checked against the bytes that there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import islice, pairwise
from typing import Any, Final, Literal, TypeAlias

import numpy as np

Step: TypeAlias = "str | int"
"""A step of a path: the name of a field, or the position of an item."""

_SHORT_STRING, _OBJECT, _ARRAY = 1, 2, 3
_NESTED: Final[Mapping[int, Literal["object", "array"]]] = {_OBJECT: "object", _ARRAY: "array"}
_EXACT_NUMBER: Final = "exact number"
_NUMBERS: Final = {3: 1, 4: 2, 5: 4, 6: 8}
"""Bytes of integers by their type numbers."""

_DECIMALS: Final = {8: 4, 9: 8, 10: 16}
_DECIMAL_CONTEXT: Final = Context(prec=40)
_FLOATS: Final = {7: ("double", "float64", 8), 14: ("float", "float32", 4)}
_INSTANTS: Final = {
    11: ("date", 4, 1),
    12: ("timestamp", 8, 1000),
    13: ("timestamp without time zone", 8, 1000),
    17: ("time", 8, 1000),
    18: ("timestamp", 8, 1),
    19: ("timestamp without time zone", 8, 1),
}
"""Kind, bytes, and what turns the number to days or nanoseconds."""

_TEXTS: Final = {15: "binary", 16: "string"}
_UUID: Final = 20


class VariantError(ValueError):
    """Bytes or a text that are no variant, no bounds of one, or no path."""


class UnknownTypeError(VariantError):
    """A primitive type that the encoding does not have, or not yet."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of a variant that is neither an object nor an array.

    Attributes:
        kind: its type; all integers and decimals are one, whatever their width.
        value: comparable to others of the kind: instants as numbers, strings as bytes.
    """

    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class Variant:
    """A value, or a part of one.

    Attributes:
        names: of the fields, by their numbers.
        data: the bytes that it is in.
        start: where it begins in there.
    """

    names: Sequence[str]
    data: bytes
    start: int = 0

    @property
    def nested(self) -> Literal["object", "array"] | None:
        """What it is that holds other values; ``None`` for a leaf."""
        return _NESTED.get(_unsigned(self.data, self.start, 1) & 3)

    def leaf(self) -> Leaf | None:
        """Return the primitive value with its type; ``None`` for the variant null.

        Raises:
            VariantError: it is an object or an array, or malformed.
        """
        head = _unsigned(self.data, self.start, 1)
        basic, number = head & 3, head >> 2
        if basic == _SHORT_STRING:
            return Leaf("string", _part(self.data, self.start + 1, number))
        if basic:
            raise VariantError("an object or an array, and no leaf")
        return _primitive(self.data, self.start, number) if number else None

    def at(self, steps: Sequence[Step]) -> Variant | None:
        """Return what a path leads to; ``None`` for nothing."""
        found: Variant | None = self
        for step in steps:
            if found is None:
                return None
            if isinstance(step, str):
                found = next((inner for name, inner in found.fields() if name == step), None)
            else:
                found = next(islice(found.items(), step, None), None)
        return found

    def fields(self) -> Iterator[tuple[str, Variant]]:
        """Yield the fields of an object, of anything else none.

        Raises:
            VariantError: a field has a name that the metadata lacks.
        """
        for number, inner in self._parts(_OBJECT):
            if number >= len(self.names):
                raise VariantError("a field whose name is not in the metadata")
            yield self.names[number], inner

    def items(self) -> Iterator[Variant]:
        """Yield the items of an array, of anything else none."""
        for _, inner in self._parts(_ARRAY):
            yield inner

    def end_of_object(self) -> int:
        """Return where the bytes of an object end."""
        body, offsets, width, count = self._body()[:4]
        return body + _unsigned(self.data, offsets + count * width, width)

    def _body(self) -> tuple[int, int, int, int, int]:
        """Return where values and offsets begin, bytes of an offset, count, and bytes of an id."""
        head = _unsigned(self.data, self.start, 1)
        flags, named = head >> 2, head & 3 == _OBJECT
        width, id_width = (flags & 3) + 1, (flags >> 2 & 3) + 1 if named else 0
        count_width = 4 if flags >> (4 if named else 2) & 1 else 1
        count = _unsigned(self.data, self.start + 1, count_width)
        offsets = self.start + 1 + count_width + count * id_width
        body = offsets + (count + 1) * width
        if body > len(self.data):
            raise VariantError("an object or an array ends before its values")
        return body, offsets, width, count, id_width

    def _parts(self, basic: int) -> Iterator[tuple[int, Variant]]:
        """Yield each value, and the number of its name, of what is of a basic type."""
        if _unsigned(self.data, self.start, 1) & 3 != basic:
            return
        body, offsets, width, count, id_width = self._body()
        ids = offsets - count * id_width
        for at in range(count):
            start = body + _unsigned(self.data, offsets + at * width, width)
            number = _unsigned(self.data, ids + at * id_width, id_width)
            yield number, Variant(self.names, self.data, start)


def variant(metadata: bytes, value: bytes) -> Variant:
    """Take a variant by its two parts.

    Raises:
        VariantError: the metadata is malformed.
    """
    return Variant(names_of(metadata)[0], value)


def names_of(metadata: bytes) -> tuple[list[str], int]:
    """Return the names of fields, and where the metadata ends.

    Raises:
        VariantError: the metadata is malformed.
    """
    head = _unsigned(metadata, 0, 1)
    width = (head >> 6) + 1
    count = _unsigned(metadata, 1, width)
    body = 1 + width * (count + 2)
    if head & 15 != 1 or body > len(metadata):
        raise VariantError("the metadata of a variant is malformed")
    offsets = [_unsigned(metadata, 1 + width * (at + 1), width) for at in range(count + 1)]
    try:
        names = [_part(metadata, body + a, b - a).decode() for a, b in pairwise(offsets)]
    except UnicodeDecodeError:
        raise VariantError("a name of a variant's metadata is no UTF-8") from None
    return names, body + offsets[-1]


def _primitive(  # noqa: PLR0911  one return per kind
    data: bytes, start: int, number: int
) -> Leaf:
    if number in (1, 2):
        return Leaf("boolean", number == 1)
    if number in _NUMBERS:
        return Leaf(_EXACT_NUMBER, _signed(data, start + 1, _NUMBERS[number]))
    if number in _DECIMALS:
        unscaled, scale = _signed(data, start + 2, _DECIMALS[number]), _unsigned(data, start + 1, 1)
        return Leaf(_EXACT_NUMBER, Decimal(unscaled).scaleb(-scale, _DECIMAL_CONTEXT))
    if number in _INSTANTS:
        kind, width, scale = _INSTANTS[number]
        return Leaf(kind, _signed(data, start + 1, width) * scale)
    if number in _FLOATS:
        kind, form, width = _FLOATS[number]
        return Leaf(kind, float(np.frombuffer(_part(data, start + 1, width), form)[0]))
    if number in _TEXTS:
        return Leaf(_TEXTS[number], _part(data, start + 5, _unsigned(data, start + 1, 4)))
    if number == _UUID:
        return Leaf("uuid", _part(data, start + 1, 16))
    raise UnknownTypeError(f"{number} is no primitive type of variants")


def _part(data: bytes, start: int, length: int) -> bytes:
    if length < 0 or start + length > len(data):
        raise VariantError("a variant ends too early")
    return data[start : start + length]


def _unsigned(data: bytes, start: int, width: int) -> int:
    return int.from_bytes(_part(data, start, width), "little")


def _signed(data: bytes, start: int, width: int) -> int:
    return int.from_bytes(_part(data, start, width), "little", signed=True)
