"""How much text an expression builds at once, found before it is evaluated.

``concat(x, x, ...)`` gives text that is longer than any value of the table; the database does not
count it against its own memory limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.expressions.render import Find
from reference_impl.expressions.tree import Node
from reference_impl.limits import budget, exceeded

_VECTOR: Final = 2048
"""Rows that the database evaluates at once."""

_NUMBER: Final = 64
"""Bytes that a value of another type takes as text."""


@dataclass(frozen=True, slots=True)
class Texts:
    """The strings that an expression concatenates.

    Attributes:
        columns: relation, column and fields in it, with how often each is concatenated.
        constant: bytes of string literals that are concatenated.

    """

    columns: tuple[tuple[tuple[str, ...], int], ...] = ()
    constant: int = 0


def texts_of(root: Node, find: Find) -> Texts:
    """Find the strings that an expression concatenates, nested calls included."""
    columns: Counter[tuple[str, ...]] = Counter()
    constant = 0
    open_ = [(root, False)]
    while open_:
        at, inside = open_.pop()
        inside = inside or (at.kind == "call" and at.value == "CONCAT")
        if inside and at.kind == "column":
            place = find(at.value)
            columns[(place.relation, place.column, *place.fields)] += 1
        elif inside and at.kind == "string":
            constant += len(at.value.encode())
        open_ += [(arg, inside) for arg in at.args]
    return Texts(tuple(columns.items()), constant)


def check_texts(texts: Texts, relations: Mapping[str, pa.Table]) -> None:
    """Refuse to build more text at once than the limits allow.

    Raises:
        LimitExceeded: it would.

    """
    count = min(_VECTOR, max((rows.num_rows for rows in relations.values()), default=0))
    size = count * texts.constant
    for (relation, *path), times in texts.columns:
        size += times * count * _longest(relations[relation], path)
    if size > budget().limits.sql_memory:
        raise exceeded("sql_memory", f"an SQL expression builds {size} bytes of text at once")


def _longest(rows: pa.Table, path: list[str]) -> int:
    """Return the bytes of the longest value of a column, or of a field in it."""
    values = rows.column(path[0])
    for name in path[1:]:
        fields = list(values.type) if pa.types.is_struct(values.type) else []
        at = next((i for i, f in enumerate(fields) if f.name.lower() == name.lower()), None)
        if at is None:
            return _NUMBER
        values = pc.struct_field(values, at)
    of = values.type
    if pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_binary(of):
        return pc.max(pc.binary_length(values)).as_py() or 0
    return _NUMBER
