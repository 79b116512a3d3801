"""Operations as the steps of write recipes, and back.

Serves ``docs/formats.md``, "Write recipes" and "Histories": each operation is one step, whose rows
and constants are spelled as typed literals. Recipes and stored histories have this codec in
common; what only the kit's own builder does (``layout``), and what no step of a recipe can ask for
(``parent``, ``values``), is in the steps of histories alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from generators.oracle.delta_schema import DataType, Decimal, Field, Primitive, Struct, from_json
from generators.oracle.literals import decode, encode, literal
from generators.oracle.model import Row
from generators.oracle.operations import (
    AddColumn,
    Append,
    Checkpoint,
    Compact,
    Create,
    Delete,
    DropColumn,
    Merge,
    MergeClause,
    Operation,
    Overwrite,
    RenameColumn,
    ReorderColumns,
    Replace,
    Restore,
    SetDefault,
    SetDomain,
    SetNullable,
    SetProperties,
    SetTransaction,
    Tree,
    UnsetProperties,
    Update,
    WidenColumn,
)

__all__ = ["HISTORY_ONLY", "Step", "input_rows", "operation_of", "recipe_step", "step_of"]

Step: TypeAlias = Mapping[str, Any]
"""One step as a JSON object."""

HISTORY_ONLY: Final = ("layout", "parent", "values")
"""Arguments that the steps of histories have, and those of recipes have not."""


def step_of(
    operation: Operation, schema: Struct, step_of_version: Callable[[int], int] | None = None
) -> dict[str, Any]:
    """Give the step of an operation, which :func:`operation_of` reads back.

    Args:
        operation: any but :class:`NoRowChange`, which has no step of its own.
        schema: the schema in force before it.
        step_of_version: gives the number of the step that made a version; only a restore asks.

    Raises:
        ValueError: the operation has no step.

    """
    if isinstance(operation, Restore) and step_of_version is not None:
        return {"operation": "restore", "to_step": step_of_version(operation.version)}
    codec = _CODECS.get(type(operation))
    if codec is None:
        raise ValueError(f"{operation} is no step of a recipe")
    return {"operation": codec.name, **codec.encode(operation, schema)}


def recipe_step(operation: Operation, schema: Struct) -> dict[str, Any]:
    """Give the step that asks an implementation for an operation; its layout is left out.

    Raises:
        ValueError: no step of a recipe asks for it, as for fields inside of structs.

    """
    step = step_of(operation, schema)
    step.pop("layout", None)
    if any(name in step for name in HISTORY_ONLY):
        raise ValueError(f"{operation} is no step of a recipe")
    return step


def operation_of(step: Step, schema: Struct, version_of: Callable[[int], int]) -> Operation:
    """Give the operation of a step.

    Args:
        step: the step, of the shape that its schema demands.
        schema: the schema in force before it.
        version_of: gives the version that a step made, by the step's number.

    Raises:
        ValueError: no operation has this step, or a value is none of its type.

    """
    name = step["operation"]
    if name == "restore":
        return Restore(version_of(step["to_step"]))
    made = _DECODERS.get(name)
    if made is None:
        raise ValueError(f"{name!r} is no operation of a history")
    return made(step, schema)


def input_rows(step: Step, schema: Struct) -> tuple[Struct, tuple[Row, ...]]:
    """Give the input rows of a step, and the columns that they have."""
    names = step.get("columns") if "rows" in step else None
    columns = schema if names is None else schema.select(*names)
    return columns, tuple(decode(columns, document) for document in step.get("rows") or ())


def _rows(rows: Sequence[Row], schema: Struct) -> dict[str, Any]:
    """Spell rows; those that all lack the same columns name the ones that they have."""
    kept = schema
    if rows and set(rows[0]) != set(schema.names):
        kept = schema.select(*(name for name in schema.names if name in rows[0]))
    if any(set(row) != set(kept.names) for row in rows):
        raise ValueError("rows of one step have the same columns, and all are the table's")
    spelled = {"rows": [encode(kept, row) for row in rows]}
    return spelled if kept is schema else {**spelled, "columns": list(kept.names)}


def _some_rows(rows: Sequence[Row], schema: Struct) -> dict[str, Any]:
    return _rows(rows, schema) if rows else {}


def _where(tree: Tree | None) -> dict[str, Any]:
    return {} if tree is None else {"filter": dict(tree)}


def _layout(**hints: Any) -> dict[str, Any]:
    """Give what only the kit's builder does, less what it does by itself."""
    kept = {name: value for name, value in hints.items() if value}
    return {"layout": kept} if kept else {}


def _parent(parent: Sequence[str]) -> dict[str, Any]:
    return {"parent": list(parent)} if parent else {}


def _parent_of(step: Step) -> tuple[str, ...]:
    return tuple(step.get("parent", ()))


def _type(data_type: DataType) -> Any:
    return Field("", data_type).to_json()["type"]


def _type_of(document: Any) -> DataType:
    return from_json({"type": "struct", "fields": [{"name": "", "type": document}]})[""].type


def _single(data_type: DataType) -> bool:
    """Tell whether a filter tree has literals of a type."""
    return isinstance(data_type, Decimal) or (
        isinstance(data_type, Primitive) and data_type.name != "variant"
    )


def _create(create: Create, _: Struct) -> dict[str, Any]:
    given = {
        "partition_columns": list(create.partition_columns),
        "properties": dict(create.properties),
        "features": list(create.features),
        **_some_rows(create.rows, create.schema),
    }
    kept = {name: value for name, value in given.items() if value}
    return {"schema": create.schema.to_json(), **kept}


def _created(step: Step, _: Struct) -> Create:
    schema = from_json(step["schema"])
    return Create(
        schema,
        tuple(step.get("partition_columns") or ()),
        step.get("properties") or {},
        tuple(step.get("features") or ()),
        input_rows(step, schema)[1],
    )


def _replace(of: Replace, _: Struct) -> dict[str, Any]:
    columns = {"partition_columns": list(of.partition_columns)} if of.partition_columns else {}
    return {"schema": of.schema.to_json(), **columns, **_some_rows(of.rows, of.schema)}


def _replaced(step: Step, _: Struct) -> Replace:
    schema = from_json(step["schema"])
    return Replace(schema, tuple(step.get("partition_columns") or ()), input_rows(step, schema)[1])


def _update(update: Update, schema: Struct) -> dict[str, Any]:
    types = {name: schema[name].type for name in update.values}
    nodes = {n: literal(types[n], v) for n, v in update.values.items() if _single(types[n])}
    wide = {n: encode(types[n], v) for n, v in update.values.items() if not _single(types[n])}
    given = {"set": {**nodes, **update.computed}, "values": wide}
    return {**{name: each for name, each in given.items() if each}, **_where(update.where)}


def _updated(step: Step, schema: Struct) -> Update:
    nodes = step.get("set", {})
    constants = {
        name: decode(_type_of(node["type"]), node["literal"])
        for name, node in nodes.items()
        if "literal" in node
    }
    computed = {name: node for name, node in nodes.items() if name not in constants}
    wide = {name: decode(schema[name].type, each) for name, each in step.get("values", {}).items()}
    return Update({**constants, **wide}, step.get("filter"), computed)


def _merge(merge: Merge, schema: Struct) -> dict[str, Any]:
    when = []
    for each in merge.clauses:
        given = {"condition": each.condition, "set": each.values}
        kept = {name: value for name, value in given.items() if value is not None}
        when.append({"match": each.match, "action": each.action, **kept})
    return {**_rows(merge.source, schema), "on": dict(merge.on), "when": when}


def _merged(step: Step, schema: Struct) -> Merge:
    clauses = tuple(
        MergeClause(each["match"], each["action"], each.get("condition"), each.get("set"))
        for each in step["when"]
    )
    return Merge(input_rows(step, schema)[1], step["on"], clauses)


def _added(step: Step, _: Struct) -> AddColumn:
    [column] = from_json(step["schema"])
    return AddColumn(column, _parent_of(step))


@dataclass(frozen=True, slots=True)
class _Codec:
    """How operations of one kind are spelled.

    Attributes:
        name: of the step.
        encode: gives the step's arguments under the schema in force.
        decode: gives the operation of a step.

    """

    name: str
    encode: Callable[[Any, Struct], dict[str, Any]]
    decode: Callable[[Step, Struct], Operation]


_CODECS: Final[Mapping[type, _Codec]] = {
    Create: _Codec("create", _create, _created),
    Replace: _Codec("replace", _replace, _replaced),
    Append: _Codec(
        "append",
        lambda of, schema: {
            **_rows(of.rows, schema),
            **_layout(rows_per_file=of.rows_per_file),
        },
        lambda step, schema: Append(input_rows(step, schema)[1], **step.get("layout", {})),
    ),
    Overwrite: _Codec(
        "overwrite",
        lambda of, schema: {**_rows(of.rows, schema), **_where(of.where)},
        lambda step, schema: Overwrite(input_rows(step, schema)[1], step.get("filter")),
    ),
    Delete: _Codec(
        "delete",
        lambda of, _: {**_where(of.where), **_layout(vectors=of.vectors)},
        lambda step, _: Delete(step.get("filter"), **step.get("layout", {})),
    ),
    Update: _Codec("update", _update, _updated),
    Merge: _Codec("merge", _merge, _merged),
    Checkpoint: _Codec(
        "checkpoint",
        lambda of, _: _layout(kind=of.kind if of.kind != "classic" else None, sidecars=of.sidecars),
        lambda step, _: Checkpoint(**step.get("layout", {})),
    ),
    Compact: _Codec("optimize", lambda _of, _schema: {}, lambda _step, _schema: Compact()),
    SetProperties: _Codec(
        "set_properties",
        lambda of, _: {"properties": dict(of.properties)},
        lambda step, _: SetProperties(step["properties"]),
    ),
    UnsetProperties: _Codec(
        "unset_properties",
        lambda of, _: {"names": list(of.names)},
        lambda step, _: UnsetProperties(tuple(step["names"])),
    ),
    SetTransaction: _Codec(
        "set_txn",
        lambda of, _: {"app_id": of.application, "txn_version": of.version},
        lambda step, _: SetTransaction(step["app_id"], step["txn_version"]),
    ),
    SetDomain: _Codec(
        "set_domain_metadata",
        lambda of, _: {"domain": of.domain, "configuration": of.configuration},
        lambda step, _: SetDomain(step["domain"], step["configuration"]),
    ),
    AddColumn: _Codec(
        "add_columns",
        lambda of, _: {"schema": Struct((of.column,)).to_json(), **_parent(of.parent)},
        _added,
    ),
    RenameColumn: _Codec(
        "rename_column",
        lambda of, _: {"column": of.old, "name": of.new, **_parent(of.parent)},
        lambda step, _: RenameColumn(step["column"], step["name"], _parent_of(step)),
    ),
    DropColumn: _Codec(
        "drop_column",
        lambda of, _: {"column": of.name, **_parent(of.parent)},
        lambda step, _: DropColumn(step["column"], _parent_of(step)),
    ),
    ReorderColumns: _Codec(
        "reorder_columns",
        lambda of, _: {"columns": list(of.names)},
        lambda step, _: ReorderColumns(tuple(step["columns"])),
    ),
    SetNullable: _Codec(
        "set_nullable",
        lambda of, _: {"column": of.name, "nullable": of.nullable},
        lambda step, _: SetNullable(step["column"], step["nullable"]),
    ),
    SetDefault: _Codec(
        "set_default",
        lambda of, _: {"column": of.name, "expression": of.expression},
        lambda step, _: SetDefault(step["column"], step["expression"]),
    ),
    WidenColumn: _Codec(
        "change_type",
        lambda of, _: {"column": of.name, "type": _type(of.type), **_parent(of.parent)},
        lambda step, _: WidenColumn(step["column"], _type_of(step["type"]), _parent_of(step)),
    ),
}
"""Kind of operation to its spelling."""

_DECODERS: Final = {codec.name: codec.decode for codec in _CODECS.values()}
"""Name of a step to what gives its operation."""
