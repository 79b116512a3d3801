"""Operations as the steps of write recipes.

Serves ``docs/formats.md``, "Write recipes": each operation on rows, columns or properties is one
step, whose rows and constants are spelled as typed literals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from generators.delta_schema import Field, Struct
from generators.literals import encode, literal
from generators.operations import (
    AddColumn,
    Append,
    Checkpoint,
    Compact,
    Create,
    Delete,
    DropColumn,
    Operation,
    Overwrite,
    RenameColumn,
    ReorderColumns,
    SetDomain,
    SetNullable,
    SetProperties,
    SetTransaction,
    Tree,
    UnsetProperties,
    Update,
    WidenColumn,
)

__all__ = ["step_of"]


def step_of(operation: Operation, schema: Struct) -> dict[str, Any]:
    """Give the step that asks for an operation.

    Args:
        operation: on the table itself; fields inside of structs have no step.
        schema: the schema in force before it.

    Raises:
        ValueError: the operation has no step of its own.

    """
    told = _STEPS.get(type(operation))
    inside: tuple[str, ...] = getattr(operation, "parent", ())
    if told is None or inside:
        raise ValueError(f"{operation} is no step of a recipe")
    name, arguments = told
    return {"operation": name, **arguments(operation, schema)}


def _create(create: Create, _: Struct) -> dict[str, Any]:
    given = {
        "partition_columns": list(create.partition_columns),
        "properties": dict(create.properties),
        "features": list(create.features),
        "rows": _rows(create.rows, create.schema),
    }
    kept = {name: value for name, value in given.items() if value}
    return {"schema": create.schema.to_json(), **kept}


def _rows(rows: Any, schema: Struct) -> list[Any]:
    return [encode(schema, row) for row in rows]


def _where(tree: Tree | None) -> dict[str, Any]:
    return {} if tree is None else {"filter": dict(tree)}


def _update(update: Update, schema: Struct) -> dict[str, Any]:
    nodes = {name: literal(schema[name].type, value) for name, value in update.values.items()}
    return {"set": {**nodes, **update.computed}, **_where(update.where)}


_STEPS: Final[Mapping[type, tuple[str, Callable[[Any, Struct], dict[str, Any]]]]] = {
    Create: ("create", _create),
    Append: ("append", lambda of, schema: {"rows": _rows(of.rows, schema)}),
    Overwrite: (
        "overwrite",
        lambda of, schema: {"rows": _rows(of.rows, schema), **_where(of.where)},
    ),
    Delete: ("delete", lambda of, _: _where(of.where)),
    Update: ("update", _update),
    Checkpoint: ("checkpoint", lambda _of, _schema: {}),
    Compact: ("optimize", lambda _of, _schema: {}),
    SetProperties: ("set_properties", lambda of, _: {"properties": dict(of.properties)}),
    UnsetProperties: ("unset_properties", lambda of, _: {"names": list(of.names)}),
    SetTransaction: (
        "set_txn",
        lambda of, _: {"app_id": of.application, "txn_version": of.version},
    ),
    SetDomain: (
        "set_domain_metadata",
        lambda of, _: {"domain": of.domain, "configuration": of.configuration},
    ),
    AddColumn: ("add_columns", lambda of, _: {"schema": Struct((of.column,)).to_json()}),
    RenameColumn: ("rename_column", lambda of, _: {"column": of.old, "name": of.new}),
    DropColumn: ("drop_column", lambda of, _: {"column": of.name}),
    ReorderColumns: ("reorder_columns", lambda of, _: {"columns": list(of.names)}),
    SetNullable: ("set_nullable", lambda of, _: {"column": of.name, "nullable": of.nullable}),
    WidenColumn: (
        "change_type",
        lambda of, _: {"column": of.name, "type": Field(of.name, of.type).to_json()["type"]},
    ),
}
"""Kind of operation to the name of its step, and what gives the step's arguments."""
