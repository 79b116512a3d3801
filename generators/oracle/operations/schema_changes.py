"""Operations that change columns.

Covers "Column Mapping", "Type Widening" and "Default Columns".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, cast

from generators.oracle.delta_schema import Array, DataType, Field, Struct
from generators.oracle.model import Oracle
from generators.oracle.operations import arguments as args
from generators.oracle.operations.entry import NoRowChange, Operation, operation

DEFAULT_KEY: Final = "CURRENT_DEFAULT"

_Type = TypeVar("_Type", bound=DataType)


def widened_field(column: Field, data_type: DataType) -> Field:
    """Return a column of a wider type, the change recorded in its metadata."""
    before, after = (
        replace(column, type=each).to_json()["type"] for each in (column.type, data_type)
    )
    former = column.metadata.get("delta.typeChanges", [])
    if before == "void":
        return replace(column, type=data_type)  # no widening, and not recorded as one
    change = {"fromType": before, "toType": after}
    return replace(
        column, type=data_type, metadata={**column.metadata, "delta.typeChanges": [*former, change]}
    )


def _at(of: _Type, parent: Sequence[str], change: Callable[[Struct], Struct]) -> _Type:
    """Change the struct that a path leads to."""
    made: DataType
    match of, list(parent):
        case Struct(), []:
            made = change(of)
        case Struct(fields), [first, *rest]:
            made = Struct(
                tuple(
                    replace(each, type=_at(each.type, rest, change)) if each.name == first else each
                    for each in fields
                )
            )
        case Array(element), ["element", *rest]:
            made = replace(of, element=_at(element, rest, change))
        case _:
            raise ValueError(f"{parent} leads to no struct")
    return cast("_Type", made)


def _changing(name: str, change: Callable[[Field], Field]) -> Callable[[Struct], Struct]:
    return lambda of: Struct(tuple(change(f) if f.name == name else f for f in of))


def _with_default(column: Field, expression: str | None) -> Field:
    kept = {key: value for key, value in column.metadata.items() if key != DEFAULT_KEY}
    given = {} if expression is None else {DEFAULT_KEY: expression}
    return replace(column, metadata={**kept, **given})


@operation(
    "add_columns", {"schema": args.NEW_COLUMN(note="of the new columns"), "parent": args.PARENT}
)
@dataclass(frozen=True, slots=True)
class AddColumn(Operation):
    """Append a nullable column, or a field to the struct at ``parent``; rows have null in it."""

    column: Field
    parent: tuple[str, ...] = ()

    def change(self, schema: Struct) -> Struct:
        """Return the schema with the column."""
        return _at(schema, self.parent, lambda of: of.with_fields(self.column))


@operation(
    "rename_column",
    {"column": args.NAME("old"), "name": args.NAME("new"), "parent": args.PARENT},
    needs="columnMapping",
    judges="CM-014",
)
@dataclass(frozen=True, slots=True)
class RenameColumn(Operation):
    """Rename a column, or a field of the struct at ``parent``; needs column mapping."""

    old: str
    new: str
    parent: tuple[str, ...] = ()

    def change(self, schema: Struct) -> Struct:
        """Return the schema with the other name."""
        return _at(schema, self.parent, _changing(self.old, lambda of: replace(of, name=self.new)))

    def apply(self, oracle: Oracle) -> None:
        """Rename the column in schema and rows."""
        oracle.change_schema(self.change(oracle.schema), {self.old: self.new}, self.parent)


@operation(
    "drop_column", {"column": args.NAME("name"), "parent": args.PARENT}, needs="columnMapping"
)
@dataclass(frozen=True, slots=True)
class DropColumn(Operation):
    """Drop a column, or a field of the struct at ``parent``; needs column mapping."""

    name: str
    parent: tuple[str, ...] = ()

    def change(self, schema: Struct) -> Struct:
        """Return the schema without the column."""
        return _at(schema, self.parent, lambda of: of.without(self.name))


@operation("reorder_columns", {"columns": args.NAMES("names", note="every name once")})
@dataclass(frozen=True, slots=True)
class ReorderColumns(Operation):
    """Put the top-level columns into another order."""

    names: tuple[str, ...]

    def change(self, schema: Struct) -> Struct:
        """Return the schema in that order."""
        return schema.select(*self.names)


@operation(
    "change_type",
    {"column": args.NAME("name"), "type": args.TYPE, "parent": args.PARENT},
    needs="typeWidening",
    judges="TW-006",
)
@dataclass(frozen=True, slots=True)
class WidenColumn(Operation):
    """Give a column, or a field of the struct at ``parent``, a wider type; needs type widening."""

    name: str
    type: DataType
    parent: tuple[str, ...] = ()

    def change(self, schema: Struct) -> Struct:
        """Return the schema with the type, and the change in the column's metadata."""
        return _at(
            schema, self.parent, _changing(self.name, lambda of: widened_field(of, self.type))
        )


@operation(
    "set_nullable",
    {"column": args.NAME("name"), "nullable": args.FLAG("nullable")},
    capabilities={"required": lambda step: step["nullable"] is False},
)
@dataclass(frozen=True, slots=True)
class SetNullable(Operation):
    """Let a top-level column have nulls, or have none from now on."""

    name: str
    nullable: bool

    def change(self, schema: Struct) -> Struct:
        """Return the schema with the column's declaration."""
        return _changing(self.name, lambda of: replace(of, nullable=self.nullable))(schema)


@operation(
    "set_comment", {"column": args.NAME("name"), "comment": args.TEXT("comment")}, judges="SCH-037"
)
@dataclass(frozen=True, slots=True)
class SetComment(Operation):
    """Set the comment of a top-level column; its other metadata stay."""

    name: str
    comment: str

    def change(self, schema: Struct) -> Struct:
        """Return the schema with the comment in the column's metadata."""
        given = {"comment": self.comment}
        change = _changing(self.name, lambda of: replace(of, metadata={**of.metadata, **given}))
        return change(schema)


@operation(
    "set_default",
    {"column": args.NAME("name"), "expression": args.TEXT_OR_NULL("expression", "SQL, or null")},
    # What a default does to rows is in the rows that are stored.
    oracle=NoRowChange(),
    needs="allowColumnDefaults",
)
@dataclass(frozen=True, slots=True)
class SetDefault(Operation):
    """Set the default of a top-level column for rows to come, in SQL, or unset it."""

    name: str
    expression: str | None

    def change(self, schema: Struct) -> Struct:
        """Return the schema with the default in the column's metadata."""
        return _changing(self.name, lambda of: _with_default(of, self.expression))(schema)
