"""What a table makes of rows that leave columns out, and of values that are set.

Covers "Default Columns", "Generated Columns" and "Identity Columns": a column that is left out
has its default, else null; a generated column follows the columns that it is made of; the value
of an identity column is the writer's to choose, and open until it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from draws import default_of
from objections import generations

from generators.oracle.delta_schema import Decimal, Primitive, Struct
from generators.oracle.filters import evaluate
from generators.oracle.literals import literal
from generators.oracle.model import Row, normalized_row
from generators.oracle.operations import Tree


def identities(schema: Struct) -> list[str]:
    """Return the identity columns."""
    return [each.name for each in schema if "delta.identity.start" in each.metadata]


def stored(
    schema: Struct, rules: Mapping[str, Tree], given: Mapping[str, Any], partitions: Iterable[str]
) -> Row:
    """Return a row as the table completes it; an open identity value is null."""
    row = {each.name: given.get(each.name, default_of(each)) for each in schema}
    loose = Struct(tuple(each for each in schema if each.nullable))
    kept = {each.name: row[each.name] for each in loose}
    row |= normalized_row(loose, kept, tuple(partitions))
    for name, text in generations(schema).items():
        if name not in given:
            row[name] = evaluate(rules[text], row)
    return row


def completed(
    schema: Struct,
    rules: Mapping[str, Tree],
    given: Iterable[Mapping[str, Any]],
    partitions: Iterable[str],
) -> tuple[Row, ...]:
    """Return rows as the table completes them."""
    listed = tuple(partitions)
    return tuple(stored(schema, rules, row, listed) for row in given)


def _put(tree: Tree, values: Mapping[str, Tree]) -> Tree:
    """Put trees in the place of columns."""
    if "column" in tree:
        return values[tree["column"][0]]
    if "args" in tree:
        return {**tree, "args": [_put(each, values) for each in tree["args"]]}
    return tree


def updated(
    schema: Struct,
    rules: Mapping[str, Tree],
    chosen: Mapping[str, Tree],
    side: tuple[str, ...] = (),
) -> dict[str, Tree]:
    """Return what is set of a row that is there: generated columns follow.

    Args:
        schema: of the table.
        rules: SQL of generated columns to their trees.
        chosen: column to the tree that is asked for.
        side: what leads to the row as it was.
    """
    values = {name: {"column": [*side, name]} for name in schema.names} | dict(chosen)
    made = {
        name: _put(rules[text], values)
        for name, text in generations(schema).items()
        if name not in chosen
    }
    return {**chosen, **made}


def inserted(
    schema: Struct, rules: Mapping[str, Tree], chosen: Mapping[str, Tree]
) -> dict[str, Tree]:
    """Return what is set of a row that is new."""
    values = dict(chosen)
    for each in schema:
        simple = isinstance(each.type, Decimal) or (
            isinstance(each.type, Primitive) and each.type.name not in ("variant", "void")
        )
        if each.name not in chosen and simple:
            values[each.name] = literal(each.type, default_of(each))
    made = {
        name: _put(rules[text], values)
        for name, text in generations(schema).items()
        if name not in chosen
    }
    return {**values, **made}
