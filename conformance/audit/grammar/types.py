"""Names of primitive types, and which of them widen to which.

Covers "Primitive Types" and "Type Widening".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

BITS: Final[Mapping[str, int]] = {"byte": 8, "short": 16, "integer": 32, "long": 64}
"""Width of each type of whole numbers."""

LONG_END: Final = 1 << 63
"""The number after the greatest long; the least one is its negative."""

PRIMITIVES: Final = frozenset(BITS) | {
    "string", "float", "double", "boolean", "binary", "date", "timestamp", "timestamp_ntz",
    "void", "variant",
}  # fmt: skip
"""Every primitive type but the decimals."""

_DECIMAL: Final = re.compile(r"decimal(?:\( ?([0-9]{1,2}) ?, ?([0-9]{1,2}) ?\))?")
_WIDER: Final[Mapping[str, frozenset[str]]] = {
    "byte": frozenset({"short", "integer", "long", "double"}),
    "short": frozenset({"integer", "long", "double"}),
    "integer": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
    "date": frozenset({"timestamp_ntz"}),
}
_DIGITS: Final[Mapping[str, int]] = {"byte": 10, "short": 10, "integer": 10, "long": 20}
"""Digits before the point that a decimal has at least, to take in a whole number."""


def decimal_of(name: str) -> tuple[int, int] | None:
    """Return precision and scale of a decimal type; ``None`` for another type."""
    found = _DECIMAL.fullmatch(name)
    if found is None:
        return None
    return (int(found[1]), int(found[2])) if found[1] else (10, 0)


def same_type(one: Any, other: Any) -> bool:
    """Return whether two types are one: a decimal may have spaces in its name."""
    if one == other:
        return True
    sizes = [decimal_of(each) for each in (one, other) if isinstance(each, str)]
    return len(sizes) > 1 and sizes[0] is not None and sizes[0] == sizes[1]


def is_primitive(name: str) -> bool:
    """Return whether a name is that of a primitive type."""
    return name in PRIMITIVES or decimal_of(name) is not None


def widens(before: str, after: str) -> bool:
    """Return whether the protocol allows a type to be widened to another one."""
    wide = decimal_of(after)
    if wide is None:
        return after in _WIDER.get(before, ())
    narrow = decimal_of(before)
    whole = wide[0] - wide[1]
    if narrow is not None:
        return before != after and wide[1] >= narrow[1] and whole >= narrow[0] - narrow[1]
    return before in _DIGITS and whole >= _DIGITS[before]
