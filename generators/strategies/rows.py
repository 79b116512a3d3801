"""Rows of a schema.

Covers "Data Files" and "Consistency Between Table Metadata and Data Files".
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from generators.oracle.delta_schema import Primitive, Struct
from generators.oracle.model import Row
from generators.strategies.values import partition_values, values


def _never_empty(value: object) -> bool:
    return value not in ("", b"")


def rows(  # noqa: PLR0913  what is valid has this many sides
    schema: Struct,
    *,
    partition_columns: Sequence[str] = (),
    min_size: int = 0,
    max_size: int = 5,
    nan: bool = True,
    first_year: int = 1583,
) -> st.SearchStrategy[tuple[Row, ...]]:
    """Rows of a schema, as many as ``max_size`` or as few as ``min_size``.

    Args:
        schema: the table schema.
        partition_columns: columns whose values go into the log; an empty string there is null,
            and no value at all where null is not valid.
        min_size: the fewest rows.
        max_size: the most rows.
        nan: whether NaN is valid.
        first_year: the earliest valid year.
    """
    columns = {}
    for each in schema:
        if each.name in partition_columns:
            drawn = partition_values(each.type, nullable=each.nullable, first_year=first_year)
            if not each.nullable and each.type in (Primitive("string"), Primitive("binary")):
                drawn = drawn.filter(_never_empty)
            columns[each.name] = drawn
        else:
            columns[each.name] = values(
                each.type, nullable=each.nullable, nan=nan, first_year=first_year
            )
    rows_of = st.lists(st.fixed_dictionaries(columns), min_size=min_size, max_size=max_size)
    return rows_of.map(tuple)
