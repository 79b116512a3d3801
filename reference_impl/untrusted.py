"""Numbers and nesting out of untrusted text: parsed in time that their length bounds.

Implements "Per-file Statistics", "Partition Value Serialization" and table properties. JSON bounds
neither the digits nor the exponent of a number, and few characters can spell one that takes
hours to write out; nor does it bound nesting, which ends at the stack. Every number of the
protocol ends long before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import orjson

from reference_impl.errors import LimitExceeded
from reference_impl.limits import budget, exceeded

FARTHEST: Final = 400
"""Powers of ten: beyond them, up or down, is no value of any type, doubles included."""


def refuse_length(text: str) -> None:
    """Refuse a number of more characters than the limit.

    Raises:
        LimitExceeded: it has more.
    """
    if len(text) > budget().limits.number:
        raise exceeded("number", f"a number has {len(text)} characters")


def decimal_of(text: str) -> Decimal:
    """Parse a finite decimal number; beyond :data:`FARTHEST` it is that power of ten.

    Raises:
        LimitExceeded: it is too long.
        ValueError: it is no such number.
    """
    refuse_length(text)
    mantissa, _, exponent = text.lower().partition("e")
    try:
        head = Decimal(mantissa)
        power = int(exponent or "0")
    except ArithmeticError:
        raise ValueError(f"{text[:80]!r} is not a number") from None
    if not head.is_finite():
        raise ValueError(f"{text[:80]!r} is not a finite number")
    if head == 0:
        # An exponent of its own may be as large as any other's.
        return head if abs(power) <= FARTHEST and "e" not in text.lower() else Decimal(0)
    reach = head.adjusted() + power
    if abs(reach) > FARTHEST:
        return Decimal((head.is_signed(), (1,), FARTHEST if reach > 0 else -FARTHEST))
    return head.scaleb(power) if power else head


def integer_of(text: str) -> int:
    """Parse a whole number in digits.

    Raises:
        LimitExceeded: it is too long.
        ValueError: it is no such number.
    """
    refuse_length(text)
    return int(text)


def parse_json(
    text: str | bytes,
    *,
    exact: bool = True,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
    constant: Callable[[str], Any] | None = None,
) -> Any:
    """Parse JSON with its numbers.

    Args:
        text: UTF-8 where it is bytes.
        exact: give fractions as :class:`~decimal.Decimal`.
        pairs: makes objects of their pairs.
        constant: makes values of NaN and infinities, which are no JSON.

    Raises:
        LimitExceeded: a number is too long, or values are nested too deep.
        ValueError: the text is no JSON.
    """
    if nul := _has_nul(text):
        raise ValueError(nul)
    try:
        return json.loads(
            text.decode() if isinstance(text, bytes) else text,
            object_pairs_hook=pairs,
            parse_int=integer_of,
            parse_float=decimal_of if exact else _float,
            parse_constant=constant,
        )
    except RecursionError:
        raise exceeded("nesting", "JSON is nested deeper than can be followed") from None


_MIN_LONG_BYTES: Final = 1 << 20
"""Bytes of JSON from which on its parser may ask for more memory than there is."""

_PARSED: Final = 40
"""Times the bytes of JSON that its parser takes: 12 at once, and the rest for the values.

Of text, numbers, objects and lists as short as they come, none took more, as measured.
"""


def load_json(text: str | bytes) -> Any:
    """Parse JSON that may be long, whose numbers are small or not used.

    Raises:
        MemoryError: there is not enough memory; the parser itself would end the process.
        orjson.JSONDecodeError: the text is no JSON, or is nested too deep.
    """
    if len(text) > _MIN_LONG_BYTES:
        if nul := _has_nul(text):
            raise orjson.JSONDecodeError(nul, "", 0)
        bytes(_PARSED * len(text))  # freed at once: its pages are zero and not touched
    return orjson.loads(text)


def _has_nul(text: str | bytes) -> str | None:
    """Say that long JSON holds a NUL, which a file of holes is made of: its parser copies it."""
    if len(text) > _MIN_LONG_BYTES and ("\0" in text if isinstance(text, str) else b"\0" in text):
        return "it holds a NUL"
    return None


def too_deep(error: orjson.JSONDecodeError, path: str | None = None) -> LimitExceeded | None:
    """Return the error to raise in place of one of orjson's for JSON that is nested too deep."""
    if "depth limit" not in str(error) and "ecursion" not in str(error):
        return None
    return exceeded("nesting", "JSON is nested deeper than can be followed", path=path)


def _float(text: str) -> float:
    refuse_length(text)
    return float(text)
