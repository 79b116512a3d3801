"""What each step of a write recipe is to the oracle, and what of it an adapter is asked.

Serves the section "Write recipes" of ``docs/formats.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from conformance.faults import KitError
from conformance.partition_filter import in_partition
from generators.delta_schema import Struct, from_json, type_of
from generators.literals import decode
from generators.model import Row
from generators.operations import (
    AddColumn,
    Append,
    Checkpoint,
    Create,
    Delete,
    DropColumn,
    Keep,
    Merge,
    MergeClause,
    Operation,
    Overwrite,
    RenameColumn,
    ReorderColumns,
    Replace,
    Restore,
    SetDomain,
    SetNullable,
    SetProperties,
    SetTransaction,
    Tree,
    UnsetProperties,
    Update,
    WidenColumn,
)

__all__ = ["KEPT_BACK", "brought", "operation_of"]

KEPT_BACK: Final = frozenset(
    {"operation", "rows", "columns", "stored", "gone", "kept", "to_step", "cluster", "identity"}
)
"""What a step says to the judge, and not to an adapter; columns are those that rows bring."""


def operation_of(
    step: Mapping[str, Any], schema: Struct, version_of: Callable[[int], int]
) -> Operation:
    """Give what a step is to the oracle.

    Args:
        step: the step.
        schema: the schema in force before it; of ``create`` the one that it asks for.
        version_of: gives the oracle's version after a step, by the step's number.

    Raises:
        KitError: the step is none.

    """
    name = step["operation"]
    if name == "restore":
        return Restore(version_of(step["to_step"]))
    if name in _INVISIBLE:
        return Keep(version=_INVISIBLE[name])
    make = _OPERATIONS.get(name)
    if make is None:
        raise KitError(f"a recipe has a step {name!r}, which is none")
    return make(step, schema)


def brought(step: Mapping[str, Any], schema: Struct) -> tuple[Struct, tuple[Row, ...]]:
    """Give the rows that a step brings, and the columns that it brings of them."""
    names = step.get("columns") if "rows" in step else None
    columns = schema if names is None else schema.select(*names)
    return columns, tuple(decode(columns, document) for document in step.get("rows") or ())


_INVISIBLE: Final[Mapping[str, bool]] = {
    "optimize": True,
    "vacuum": False,
    "cleanup": False,
    "compact_log": False,
    "generate_manifest": False,
    "set_default": True,
    "add_constraint": True,
    "drop_constraint": True,
    "enable_feature": True,
    "drop_feature": True,
    "cluster_by": True,
}
"""Steps that no reader of rows can see; whether each makes a version."""


def _create(step: Mapping[str, Any], schema: Struct) -> Create:
    return Create(
        schema,
        tuple(step.get("partition_columns") or ()),
        step.get("properties") or {},
        tuple(step.get("features") or ()),
        _stored(step, schema),
    )


def _stored(step: Mapping[str, Any], schema: Struct) -> tuple[Row, ...]:
    """Give the rows that land: as the table completes them where the step says how."""
    if "stored" in step:
        return tuple(decode(schema, document) for document in step["stored"])
    return brought(step, schema)[1]


def _update(step: Mapping[str, Any], _: Struct) -> Update:
    nodes = step["set"]
    values = {
        name: decode(type_of(node["type"]), node["literal"])
        for name, node in nodes.items()
        if "literal" in node
    }
    computed = {name: node for name, node in nodes.items() if name not in values}
    return Update(values, step.get("filter"), computed)


def _merge(step: Mapping[str, Any], schema: Struct) -> Merge:
    clauses = tuple(
        MergeClause(each["match"], each["action"], each.get("condition"), each.get("set"))
        for each in step["when"]
    )
    return Merge(brought(step, schema)[1], step["on"], clauses)


def _add_column(step: Mapping[str, Any], _: Struct) -> AddColumn:
    columns = from_json(dict(step["schema"]))
    assert isinstance(columns, Struct)
    [column] = columns
    return AddColumn(column)


_OPERATIONS: Final[Mapping[str, Callable[[Mapping[str, Any], Struct], Operation]]] = {
    "create": _create,
    "convert": _create,
    "replace": lambda step, schema: Replace(
        schema, tuple(step.get("partition_columns") or ()), _stored(step, schema)
    ),
    "append": lambda step, schema: Append(_stored(step, schema)),
    "overwrite": lambda step, schema: Overwrite(
        _stored(step, schema), step.get("filter") or _partition(schema, step.get("partition"))
    ),
    "delete": lambda step, _: Delete(step.get("filter")),
    "update": _update,
    "merge": _merge,
    "checkpoint": lambda _step, _schema: Checkpoint(),
    "set_properties": lambda step, _: SetProperties(step["properties"]),
    "unset_properties": lambda step, _: UnsetProperties(tuple(step["names"])),
    "set_txn": lambda step, _: SetTransaction(step["app_id"], step["txn_version"]),
    "set_domain_metadata": lambda step, _: SetDomain(step["domain"], step["configuration"]),
    "add_columns": _add_column,
    "rename_column": lambda step, _: RenameColumn(step["column"], step["name"]),
    "drop_column": lambda step, _: DropColumn(step["column"]),
    "reorder_columns": lambda step, _: ReorderColumns(tuple(step["columns"])),
    "set_nullable": lambda step, _: SetNullable(step["column"], step["nullable"]),
    "change_type": lambda step, _: WidenColumn(step["column"], type_of(step["type"])),
}
"""What each step of a recipe is to the oracle."""


def _partition(schema: Struct, values: Mapping[str, Any] | None) -> Tree | None:
    if not values:
        return None
    return in_partition(values, {name: schema[name].to_json()["type"] for name in values})
