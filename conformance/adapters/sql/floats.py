"""Comparisons of floating point numbers in engines that do not order them as filters do.

Serves the filter trees of ``docs/formats.md``: NaN is equal to NaN and above every other number,
and -0.0 is equal to 0.0. How an engine orders floats in SQL is its own affair and says nothing
about how it reads a table, so a filter asks in terms that give the same rows everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

Number: TypeAlias = Literal["zero", "nan", "other"]
FloatOrder: TypeAlias = Mapping[tuple[str, Number], str]
"""SQL templates by sign and by the number on the right, where a plain comparison will not do.

``{left}`` and ``{right}`` are the operands, ``{plus}`` and ``{minus}`` the two zeros."""

# By IEEE 754 no comparison with NaN holds, but for `<>`.
IEEE: Final[FloatOrder] = {
    (">", "zero"): "{left} > {right} OR isNaN({left})",
    (">", "other"): "{left} > {right} OR isNaN({left})",
    (">", "nan"): "{left} <> {left} AND NOT isNaN({left})",
    (">=", "zero"): "{left} >= {right} OR isNaN({left})",
    (">=", "other"): "{left} >= {right} OR isNaN({left})",
    (">=", "nan"): "isNaN({left})",
    ("<", "nan"): "NOT isNaN({left})",
    ("<=", "nan"): "{left} = {left} OR isNaN({left})",
    ("=", "nan"): "isNaN({left})",
    ("<>", "nan"): "NOT isNaN({left})",
    ("<=>", "nan"): "ifNull(isNaN({left}), 0)",
}
# By the total order of IEEE 754, -0.0 is below 0.0.
TOTAL_ORDER: Final[FloatOrder] = {
    ("<", "zero"): "{left} < {minus}",
    ("<=", "zero"): "{left} <= {plus}",
    (">", "zero"): "{left} > {plus}",
    (">=", "zero"): "{left} >= {minus}",
    ("=", "zero"): "{left} = {minus} OR {left} = {plus}",
    ("<>", "zero"): "{left} <> {minus} AND {left} <> {plus}",
    ("<=>", "zero"): "{left} IS NOT DISTINCT FROM {minus} OR {left} IS NOT DISTINCT FROM {plus}",
}
FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Signs that say the same with the operands exchanged; any other is the same itself."""


def number_of(node: Mapping[str, Any]) -> Number | None:
    """Return the kind of a floating point literal; ``None`` for any other node."""
    if node.get("type") not in ("float", "double") or node.get("literal") is None:
        return None
    value = float(node["literal"])
    if value != value:  # noqa: PLR0124  only NaN differs from itself
        return "nan"
    return "other" if value else "zero"
