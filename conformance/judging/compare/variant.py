"""Variants as comparable values, so that two encodings of one value are equal.

Covers the "Variant Data Type" section. The encoding leaves freedom (dictionary order, integer
width, offset size, short or long strings), therefore bytes cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from conformance.base.variants import Variant, VariantError, variant

NAN: Final = ("floating", "NaN")
_MAX_DEPTH: Final = 128


def _floating(value: float) -> tuple[str, Any]:
    return NAN if value != value else ("floating", value + 0.0)  # noqa: PLR0124  the NaN test


_CLASSES: Final[Mapping[str, Callable[[Any], tuple[str, Any]]]] = {
    "exact number": lambda value: ("exact", Decimal(value)),
    "double": _floating,
    "float": _floating,
    "string": lambda value: ("string", value.decode("utf-8")),
    "timestamp without time zone": lambda value: ("timestamp_ntz", value),
}
"""What becomes of a leaf, by its kind; any other is compared as it is."""


def variant_value(metadata: bytes, value: bytes) -> Any:
    """Decode one variant to a hashable value that is equal for equal variants.

    Returns:
        Nested tuples ``(class, payload)``; exact numbers of any width are one class, floats and
        doubles one, times are in nanoseconds.

    Raises:
        VariantError: the bytes are malformed.
    """
    try:
        return _value(variant(metadata, value), iter(range(1 + len(value))), 0)
    except UnicodeDecodeError as error:
        raise VariantError(f"a string of the variant is not UTF-8: {error}") from error


def _value(of: Variant, left: Iterator[int], depth: int) -> Any:
    """Return a value; what is left bounds how often overlapping offsets can be followed."""
    if next(left, None) is None or depth > _MAX_DEPTH:
        raise VariantError("value nests deeper or wider than its bytes allow")
    if of.nested == "object":
        fields = {name: _value(inner, left, depth + 1) for name, inner in of.fields()}
        return "object", frozenset(fields.items())
    if of.nested == "array":
        return "array", tuple(_value(inner, left, depth + 1) for inner in of.items())
    leaf = of.leaf()
    if leaf is None:
        return "null", None
    of_class = _CLASSES.get(leaf.kind)
    return (leaf.kind, leaf.value) if of_class is None else of_class(leaf.value)
