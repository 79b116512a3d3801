"""Arguments of operations: the shape, spelling and reading of each, declared once.

See ``docs/formats.md``, "Write recipes" and "Histories". An argument that names a field of an
operation's class is written from it and read back into it; any other is for adapters, or for the
judge alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from generators.oracle.delta_schema import DataType, Decimal, Field, Primitive, Struct, from_json
from generators.oracle.literals import decode, encode, literal
from generators.oracle.model import Row

Step: TypeAlias = Mapping[str, Any]
"""One step as a JSON object."""

Tree: TypeAlias = Mapping[str, Any]
"""A filter tree of ``docs/formats.md``."""


def _no_version(number: int) -> int:
    raise ValueError(f"it is not known which version step {number} made")


@dataclass(frozen=True, slots=True)
class Context:
    """What a step is written or read in.

    Attributes:
        schema: the schema in force before it, or the one that the step itself defines.
        convert: gives the step that made a version, or the version that a step made.
        step: the step that is read.
    """

    schema: Struct
    convert: Callable[[int], int] = _no_version
    step: Step = field(default_factory=dict)


_SEVERAL: Final = "*"
"""In place of a field: the argument holds several of them."""


def _same(value: Any, _: Context) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an operation.

    Attributes:
        shape: its JSON Schema.
        encode: gives its JSON value, which is left out where it is empty and not required.
        decode: gives the value of the field; ``None`` where another argument brings it.
        field: of the operation's class; ``None`` for an argument that is in no class.
        required: every step has it.
        seen: by adapters, by the judge alone, or in histories alone.
        note: what it means, for the documentation.
    """

    shape: Mapping[str, Any]
    encode: Callable[[Any, Context], Any] = _same
    decode: Callable[[Any, Context], Any] | None = _same
    field: str | None = None
    required: bool = True
    seen: Literal["adapter", "judge", "history"] = "adapter"
    note: str = ""

    def __call__(self, field: str | None = None, note: str = "", **changes: Any) -> Argument:
        """Return the argument for a field, with a note or other attributes."""
        changes |= {"field": field or self.field, "note": note or self.note}
        return replace(self, **changes)

    def encoded(self, operation: Any, context: Context) -> Any:
        """Return the JSON value for an operation."""
        of = operation if self.field == _SEVERAL else getattr(operation, str(self.field))
        return self.encode(of, context)

    def read(self, value: Any, context: Context) -> Mapping[str, Any]:
        """Return fields of the operation's class."""
        if self.field is None or self.decode is None:
            return {}
        found = self.decode(value, context)
        return found if self.field == _SEVERAL else {self.field: found}


def input_rows(step: Step, schema: Struct) -> tuple[Struct, tuple[Row, ...]]:
    """Return the input rows of a step, and the columns that they have."""
    names = step.get("columns") if "rows" in step else None
    columns = schema if names is None else schema.select(*names)
    return columns, tuple(decode(columns, document) for document in step.get("rows") or ())


def _columns_of(rows: Sequence[Row], schema: Struct) -> Struct:
    """Return the columns that rows have, which are the same for all of them."""
    kept = schema
    if rows and set(rows[0]) != set(schema.names):
        kept = schema.select(*(name for name in schema.names if name in rows[0]))
    if any(set(row) != set(kept.names) for row in rows):
        raise ValueError("rows of one step have the same columns, and all are the table's")
    return kept


def _encoded_rows(rows: Sequence[Row], context: Context) -> list[Any]:
    kept = _columns_of(rows, context.schema)
    return [encode(kept, row) for row in rows]


def _lacking(rows: Sequence[Row], context: Context) -> list[str] | None:
    kept = _columns_of(rows, context.schema)
    return None if kept is context.schema else list(kept.names)


def _type_json(data_type: DataType, _: Context) -> Any:
    return Field("", data_type).to_json()["type"]


def _type_of(document: Any) -> DataType:
    return from_json({"type": "struct", "fields": [{"name": "", "type": document}]})[""].type


def _single(data_type: DataType) -> bool:
    """Return whether a filter tree has literals of a type."""
    return isinstance(data_type, Decimal) or (
        isinstance(data_type, Primitive) and data_type.name != "variant"
    )


def _nodes(update: Any, context: Context) -> dict[str, Any]:
    types = {name: context.schema[name].type for name in update.values}
    single = {n: literal(types[n], v) for n, v in update.values.items() if _single(types[n])}
    return {**single, **update.computed}


def _of_nodes(nodes: Mapping[str, Any], _: Context) -> dict[str, Any]:
    constants = {
        name: decode(_type_of(node["type"]), node["literal"])
        for name, node in nodes.items()
        if "literal" in node
    }
    computed = {name: node for name, node in nodes.items() if name not in constants}
    return {"values": constants, "computed": computed}


def _wide(update: Any, context: Context) -> dict[str, Any]:
    types = {name: context.schema[name].type for name in update.values}
    return {n: encode(types[n], v) for n, v in update.values.items() if not _single(types[n])}


def _of_wide(values: Mapping[str, Any], context: Context) -> dict[str, Any]:
    types = context.schema
    return {"values": {name: decode(types[name].type, each) for name, each in values.items()}}


def _only(document: Any, _: Context) -> Field:
    [column] = from_json(document)
    return column


def _ref(name: str, **others: Any) -> dict[str, Any]:
    return {**others, "$ref": f"urn:delta-tck:schema:{name}"}


def _value(name: str) -> dict[str, Any]:
    return _ref(f"common/values#/$defs/{name}")


_STRINGS: Final = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
_TEXT: Final = {"type": "string", "minLength": 1}
_SET: Final = {"type": "object", "minProperties": 1}
_ROWS: Final = "Column to value, spelled as in the literals of filter trees, under the "


def _of_rows(description: str) -> dict[str, Any]:
    return {"description": description, "type": "array", "items": {"type": "object"}}


SCHEMA: Final = Argument(
    _ref("table/schema"),
    lambda schema, _: schema.to_json(),
    lambda document, _: from_json(document),
    "schema",
)
NAMES: Final = Argument(_STRINGS, lambda names, _: list(names), lambda names, _: tuple(names or ()))
MAP: Final = Argument(_value("stringMap"), lambda of, _: dict(of), lambda of, _: of or {})
ROWS: Final = Argument(
    _of_rows(f"{_ROWS}schema in force."),
    _encoded_rows,
    lambda _, context: input_rows(context.step, context.schema)[1],
    "rows",
    seen="judge",
)
NEW_ROWS: Final = replace(ROWS, shape=_of_rows(f"{_ROWS}new schema."), required=False)
COLUMNS: Final = Argument(
    {"description": "The columns that the rows bring, where they do not bring all.", **_STRINGS},
    _lacking,
    None,
    "rows",
    required=False,
    seen="judge",
)
STORED_ROWS: Final = Argument(
    _of_rows("The rows that land, where the table completes the input rows."),
    required=False,
    seen="judge",
)
NODE: Final = _ref("kit/filter")
TREE: Final = Argument(NODE, lambda tree, _: dict(tree))
FILTER: Final = Argument(NODE, lambda tree, _: tree and dict(tree), _same, "where", required=False)
PREDICATE: Final = Argument(_TEXT, required=False, note="the same in SQL")
NAME: Final = Argument(_TEXT)
TEXT: Final = Argument({"type": "string"})
TEXT_OR_NULL: Final = Argument({"type": ["string", "null"]})
FLAG: Final = Argument({"type": "boolean"})
COUNT: Final = Argument(_value("count"))
LONG: Final = Argument(_value("long"))
IDENTITY: Final = Argument(
    {
        "description": "The column whose values the table gives, and any that the clauses allow.",
        **_TEXT,
    },
    required=False,
    seen="judge",
)
PARTITION: Final = Argument({"type": "object"}, required=False, note="column to value")
TXN: Final = Argument(
    {
        "type": "object",
        "properties": {"app_id": {"type": "string"}, "txn_version": _value("long")},
        "required": ["app_id", "txn_version"],
        "additionalProperties": False,
    },
    required=False,
    note='`{"app_id", "txn_version"}`: an application\'s progress, in the same commit',
)
PATHS: Final = Argument(
    {"description": "Files below the table root.", **_STRINGS, "items": _TEXT},
    required=False,
    seen="judge",
)
TYPE: Final = Argument(_TEXT, _type_json, lambda document, _: _type_of(document), "type")
PARENT: Final = replace(
    NAMES, shape={"$ref": "#/$defs/parent"}, field="parent", required=False, seen="history"
)
NODES: Final = Argument(
    {**_SET, "additionalProperties": NODE},
    _nodes,
    _of_nodes,
    _SEVERAL,
    required=False,
    note="column to node",
)
COMPUTED: Final = Argument(
    {
        "description": "Columns that the table computes, and that the step does not set.",
        **_SET,
        "additionalProperties": NODE,
    },
    required=False,
    seen="judge",
)
WIDE_VALUES: Final = Argument(
    {
        "description": "Of histories alone: column to a constant of no single value, "
        "spelled as in rows.",
        **_SET,
    },
    _wide,
    _of_wide,
    _SEVERAL,
    required=False,
    seen="history",
)
NEW_COLUMN: Final = Argument(
    _ref("table/schema"), lambda column, _: Struct((column,)).to_json(), _only, "column"
)
STEP: Final = Argument(
    _value("count"),
    lambda version, context: context.convert(version),
    lambda step, context: context.convert(step),
    "version",
    seen="judge",
)


def layout(shapes: Mapping[str, Any], **fields: Any) -> Argument:
    """Return the argument of what only the kit's builder does.

    Args:
        shapes: JSON Schema of each part.
        fields: of the class, and what each is by default.
    """

    def encode(operation: Any, _: Context) -> dict[str, Any]:
        held = {name: getattr(operation, name) for name in fields}
        return {name: value for name, value in held.items() if value != fields[name]}

    whole = {
        "description": "Of histories alone: how the kit's builder lays the step out.",
        "type": "object",
        "minProperties": 1,
        "properties": shapes,
        "additionalProperties": False,
    }
    return Argument(whole, encode, lambda hints, _: hints, _SEVERAL, required=False, seen="history")
