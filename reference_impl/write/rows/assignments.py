"""Values that an operation gives to columns: constants, or SQL over the row that it changes.

Implements the writer requirements about rows; see ``incoming.py`` for the rules
that rows obey afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from reference_impl.errors import ConstraintViolation, SchemaMismatch
from reference_impl.expressions.sql import Expression, Sql
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import Struct
from reference_impl.write.rows.rules import Rules

Assigned: TypeAlias = Mapping[str, "pa.Scalar | Expression"]
"""Column, written as in the schema, to the constant or the expression that gives its value."""


def parse_assignments(
    values: Mapping[str, Any], schema: Struct, parse: Callable[[str], Expression]
) -> Assigned:
    """Bind values to the columns that take them.

    Args:
        values: column to its value: :class:`Sql`, or a constant as Arrow
            takes it for the column's type.
        schema: of the table.
        parse: parses the text of an expression.

    Raises:
        SchemaMismatch: there is no such column, it is named twice, or a constant does not fit.
        UnsupportedExpression: an expression uses something that is not evaluated.
    """
    folded = {f.name.lower(): f for f in schema.fields}
    found: dict[str, pa.Scalar | Expression] = {}
    for name, value in values.items():
        column = folded.get(name.lower())
        if column is None:
            raise SchemaMismatch(f"the table has no column {name!r} to set")
        if column.name in found:
            raise SchemaMismatch(f"column {column.name} is set twice")
        if isinstance(value, Sql):
            found[column.name] = parse(value.text)
            continue
        try:
            found[column.name] = pa.scalar(value, arrow_type(column.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise SchemaMismatch(
                f"the value for column {column.name} is no {column.type}: {str(error)[:200]}"
            ) from None
    if not found:
        raise SchemaMismatch("no column is set")
    return found


def refuse_identities(
    rules: Rules,
    names: Iterable[str],
    new_rows: pa.Table | None = None,
    old_rows: pa.Table | None = None,
) -> None:
    """Refuse to set identity columns of rows that are there; to what they are they may be.

    Raises:
        ConstraintViolation: an identity column gets another value.
    """
    for name in names:
        same = (
            new_rows is not None
            and old_rows is not None
            and new_rows.column(name) == old_rows.column(name)
        )
        if name in rules.identities and not same:
            raise ConstraintViolation(
                f"column {name} is an identity column, which is not updated", requirement="IDN-011"
            )


def assign(
    rows: pa.Table, assignments: Assigned, schema: Struct, over: pa.Table | Mapping[str, pa.Table]
) -> pa.Table:
    """Return rows with columns set, missing ones added.

    Args:
        rows: what is kept of the rows.
        assignments: what is set.
        schema: of the table.
        over: the rows as they were, or pairs of them, which expressions are evaluated over.
    """
    for name, value in assignments.items():
        values = (
            pa.chunked_array([pa.repeat(value, rows.num_rows)])
            if isinstance(value, pa.Scalar)
            else value.evaluate(over, schema[name].type)
        )
        if name in rows.column_names:
            rows = rows.set_column(rows.column_names.index(name), name, values)
        else:
            rows = rows.append_column(name, values)
    return rows
