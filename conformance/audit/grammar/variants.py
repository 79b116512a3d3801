"""Values and bounds of variants (sections Variant Data Type and Per-file Statistics, upstream).

The encoding is Parquet's: ``metadata`` names the fields, ``value`` refers to them by number. What
is read here may say anything of itself; each length is held against the bytes that there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from itertools import islice, pairwise
from typing import Any, Final, TypeAlias

import numpy as np

from conformance.audit.grammar.z85 import decode_z85

Step: TypeAlias = "str | int"
"""A step of a path: the name of a field, or the position of an item."""

_PRIMITIVE, _SHORT_STRING, _OBJECT, _ARRAY = range(4)
_EXACT: Final = "exact number"
_NUMBERS: Final = {3: 1, 4: 2, 5: 4, 6: 8}
"""Bytes of integers by their type numbers."""

_DECIMALS: Final = {8: 4, 9: 8, 10: 16}
_WIDE: Final = Context(prec=40)
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
_LAST_GROUP: Final = 5

_NAME: Final = r"\['((?:[^'\\\x00-\x1f]|\\[btnfr'\\]|\\u00(?:0[0-7bef]|1[0-9a-f]))*)'\]"
_STEP: Final = re.compile(rf"{_NAME}|\[(0|[1-9][0-9]*)\]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|(.))")
_ESCAPED: Final = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "'": "'", "\\": "\\"}
_MOST_DIGITS: Final = 9


class VariantError(ValueError):
    """Bytes or a text that are no variant, no bounds of one, or no path."""


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
    def nested(self) -> bool:
        """Whether it is an object or an array."""
        return _unsigned(self.data, self.start, 1) & 3 in (_OBJECT, _ARRAY)

    def leaf(self) -> Leaf | None:
        """Return what it is; ``None`` for the null of variants.

        Raises:
            VariantError: it is an object or an array, or malformed.

        """
        head = _unsigned(self.data, self.start, 1)
        basic, number = head & 3, head >> 2
        if basic == _SHORT_STRING:
            return Leaf("string", _part(self.data, self.start + 1, number))
        if basic != _PRIMITIVE:
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
        """Yield the fields of an object, of anything else none."""
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
    return Variant(_names(metadata)[0], value)


def bounds_of(text: str) -> dict[tuple[Step, ...], Leaf]:
    """Read the bounds that statistics have of a variant, as paths to leaves.

    The text joins metadata and value, its example value and metadata: the first byte says which.
    The example also ends with less than five characters of Z85, for less than four bytes.

    Raises:
        VariantError: the text is no Z85, no object, or has something else than leaves by paths.

    """
    data = _bytes(text)
    if _unsigned(data, 0, 1) & 3 == _OBJECT:
        found = Variant(_names(data[Variant((), data).end_of_object() :])[0], data)
    else:
        names, start = _names(data)
        found = Variant(names, data, start)
        if _unsigned(data, found.start, 1) & 3 != _OBJECT:
            raise VariantError("the bounds of a variant are no object")
    bounds = {}
    for path, inner in found.fields():
        leaf = inner.leaf()
        if leaf is not None:
            bounds[steps_of(path)] = leaf
    return bounds


def steps_of(path: str) -> tuple[Step, ...]:
    """Take a normalized JSON path apart.

    Raises:
        VariantError: it is something else.

    """
    at, steps = 1, list[Step]()
    while path[:1] == "$" and at < len(path):
        step = _STEP.match(path, at)
        if step is None or len(step[2] or "") > _MOST_DIGITS:
            break
        steps.append(int(step[2]) if step[1] is None else _ESCAPE.sub(_unescaped, step[1]))
        at = step.end()
    if at != len(path) or path[:1] != "$":
        raise VariantError(f"{path!r} is no normalized JSON path")
    return tuple(steps)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ESCAPED[match[2]]


def _bytes(text: str) -> bytes:
    short = -len(text) % _LAST_GROUP
    if short == _LAST_GROUP - 1:
        raise VariantError("one character of Z85 stands for nothing")
    try:
        data = decode_z85(text + "#" * short)
    except ValueError as error:
        raise VariantError(f"the bounds of a variant are no Z85: {error}") from None
    return data[: len(data) - short]


def _names(metadata: bytes) -> tuple[list[str], int]:
    """Return the names of fields, and where the metadata ends."""
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
        return Leaf(_EXACT, _signed(data, start + 1, _NUMBERS[number]))
    if number in _DECIMALS:
        unscaled, scale = _signed(data, start + 2, _DECIMALS[number]), _unsigned(data, start + 1, 1)
        return Leaf(_EXACT, Decimal(unscaled).scaleb(-scale, _WIDE))
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
    raise VariantError(f"{number} is no primitive type of variants")


def _part(data: bytes, start: int, length: int) -> bytes:
    if length < 0 or start + length > len(data):
        raise VariantError("a variant ends too early")
    return data[start : start + length]


def _unsigned(data: bytes, start: int, width: int) -> int:
    return int.from_bytes(_part(data, start, width), "little")


def _signed(data: bytes, start: int, width: int) -> int:
    return int.from_bytes(_part(data, start, width), "little", signed=True)
