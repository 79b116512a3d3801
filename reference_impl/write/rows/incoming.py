"""Prepare rows for writing: typed, completed and checked.

Implements the writer requirements about rows: types and nullability, "Default Columns", "Generated
Columns", "Identity Columns", "CHECK Constraints" and "Column Invariants". Every operation that
writes rows passes them through :func:`prepare`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import ConstraintViolation, SchemaMismatch, UnsupportedExpression
from reference_impl.expressions.sql import Expression
from reference_impl.filters.evaluate import compare
from reference_impl.model.ranges import INT64
from reference_impl.types.keys import HIGH_WATER_MARK_KEY
from reference_impl.types.model import BINARY, STRING, Struct
from reference_impl.types.schema import format_schema
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.features.target import Target
from reference_impl.write.rows.conform import check_nulls, conform, fill_missing
from reference_impl.write.rows.rules import Identity, Rules, rules_of


def prepare(transaction: Transaction, rows: pa.Table, *, stored: bool = False) -> pa.Table:
    """Return rows in the table's columns and types, ready to be written.

    Args:
        transaction: where they are written; gets the new high-water marks of identity columns.
        rows: columns by name; those that are missing get their default, generated or identity
            value, or null.
        stored: whether the rows are from the table, so that their identity values are not
            given by a user.

    Raises:
        SchemaMismatch: columns or values do not fit the schema.
        ConstraintViolation: a row breaks a rule of the table.
        UnsupportedExpression: a rule of the table cannot be evaluated.
    """
    target = transaction.target
    schema, rules = target.schema, rules_of(target)
    typed = conform(rows, schema)
    if typed.num_rows:
        typed = _with_identities(transaction, typed, rules, stored=stored)
    for name, default in rules.defaults.items():
        # Obeys DFT-005 DFT-006.
        if name not in typed.column_names:
            typed = typed.append_column(name, default.evaluate(typed, schema[name].type))
    typed = _empty_to_null(typed, target)
    typed = _generated(typed, target, rules)
    ready = check_nulls(fill_missing(typed, schema), schema)
    _check_generated(ready, rules, schema)
    check_rules(ready, rules.checks)
    return ready


def _generated(rows: pa.Table, target: Target, rules: Rules) -> pa.Table:
    """Add the generated columns that rows lack, each after those that its expression names.

    Raises:
        UnsupportedExpression: expressions name each other in a circle.
    """
    given = {*rows.column_names}
    pending = {n: e for n, e in rules.generated.items() if n not in given}
    while pending:
        # The protocol allows an expression to name another generated column.
        name = next((n for n, e in pending.items() if pending.keys().isdisjoint(e.columns)), None)
        if name is None:
            raise UnsupportedExpression(
                f"the generated columns {', '.join(sorted(pending))} are made of each other",
                stage="commit",
                requirement="GEN-004",
            )
        whole = fill_missing(rows, target.schema)
        made = pending.pop(name).evaluate(whole, target.schema[name].type)
        rows = _empty_to_null(rows.append_column(name, made), target)
    return rows


def _empty_to_null(rows: pa.Table, target: Target) -> pa.Table:
    """Return rows with empty strings of partition columns as null, as the log stores them."""
    for column in target.table.partition_columns:
        if column.name in rows.column_names and column.type in (STRING, BINARY):
            at, values = rows.column_names.index(column.name), rows.column(column.name)
            empty = pc.equal(pc.binary_length(values), 0)
            kept = pc.if_else(empty, None, values)
            rows = rows.set_column(at, rows.schema.field(at), kept)
    return rows


def check_rules(rows: pa.Table, checks: Mapping[str, Expression]) -> None:
    """Refuse rows for which a condition is false or null.

    Raises:
        ConstraintViolation: a row breaks a condition.
        SchemaMismatch: the value of a condition is not a boolean.
    """
    # Obeys INV-005 INV-006 CHK-011.
    for name, condition in checks.items():
        held = condition.evaluate(rows)
        if not pa.types.is_boolean(held.type):
            raise SchemaMismatch(
                f"{name} is {condition.text[:200]!r}, which is of type {held.type}, no condition",
                requirement="CHK-003",
            )
        broken = rows.num_rows - (pc.sum(held).as_py() or 0)
        if broken:
            raise ConstraintViolation(
                f"{broken} of {rows.num_rows} rows break {name}: {condition.text[:200]}"
            )


def _check_generated(rows: pa.Table, rules: Rules, schema: Struct) -> None:
    """Refuse rows that give a generated column another value than its expression.

    Raises:
        ConstraintViolation: a row gives another value.
    """
    # Obeys GEN-005.
    for name, expression in rules.generated.items():
        made = expression.evaluate(rows, schema[name].type)
        same = compare("<=>", rows.column(name).combine_chunks(), made.combine_chunks())
        broken = rows.num_rows - (pc.sum(same).as_py() or 0)
        if broken:
            raise ConstraintViolation(
                f"{broken} of {rows.num_rows} rows give column {name} another value than "
                f"{expression.text[:200]}",
                hint="leave the column out, so that it is generated",
                requirement="GEN-004",
            )


def _with_identities(
    transaction: Transaction, rows: pa.Table, rules: Rules, *, stored: bool
) -> pa.Table:
    """Return rows with values in their identity columns, and stage the new marks."""
    # Obeys IDN-010 IDN-016.
    marks: dict[str, int] = {}
    mark: int | None
    for name, identity in rules.identities.items():
        if name not in rows.column_names:
            fresh, mark = _next_identities(name, identity, rows.num_rows)
            rows = rows.append_column(name, fresh)
        elif stored:
            continue
        elif not identity.explicit:
            raise ConstraintViolation(
                f"column {name} is an identity column, whose values users do not give",
                hint="leave the column out",
                requirement="IDN-011",
            )
        else:
            furthest = pc.min_max(rows.column(name))["max" if identity.step > 0 else "min"].as_py()
            mark = identity.high_water_mark
            if furthest is not None:
                choose = max if identity.step > 0 else min
                mark = furthest if mark is None else choose(mark, furthest)
        if mark is not None and mark != identity.high_water_mark:
            marks[name] = mark
    if marks:
        target = transaction.target
        fields = tuple(
            replace(f, metadata={**f.metadata, HIGH_WATER_MARK_KEY: marks[f.name]})
            if f.name in marks
            else f
            for f in target.schema.fields
        )
        text = format_schema(Struct(fields))
        transaction.define(target.protocol, replace(target.metadata, schema_string=text))
    return rows


def _next_identities(name: str, identity: Identity, count: int) -> tuple[pa.Array, int]:
    """Return new values of an identity column, and the high-water mark after them."""
    # Obeys IDN-012 IDN-013 IDN-014.
    first = identity.following()
    last = first + (count - 1) * identity.step
    if first not in INT64 or last not in INT64:
        raise ConstraintViolation(
            f"the values of identity column {name} would leave the range of a long",
            requirement="IDN-015",
        )
    # Overflow in between cancels out: 64-bit sums wrap.
    values = np.arange(count) * identity.step + first
    return pa.array(values), last
