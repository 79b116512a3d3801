"""Operations on a table as values, and what they do to its rows.

Serves "Delta Table Specification". A history is a sequence of operations that begins with
:class:`Create`. :func:`replay` gives the oracle of a history without touching a disk: it is the
other opinion on what the materialiser's file-by-file bookkeeping makes of the same history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from generators.delta_schema import DataType, Field, Struct
from generators.filters import evaluate, keep
from generators.model import Oracle, Row

__all__ = [
    "AddColumn",
    "Append",
    "Checkpoint",
    "CheckpointKind",
    "Compact",
    "Create",
    "Delete",
    "DropColumn",
    "History",
    "Operation",
    "Overwrite",
    "RenameColumn",
    "SetDomain",
    "SetProperties",
    "SetTransaction",
    "Tree",
    "Update",
    "WidenColumn",
    "commits",
    "filtered",
    "replay",
    "schema_after",
    "widened_field",
]

Tree: TypeAlias = Mapping[str, Any]
"""A filter tree of ``docs/formats.md``."""

CheckpointKind: TypeAlias = Literal["classic", "multi-part", "v2-json", "v2-parquet", "v2-classic"]


@dataclass(frozen=True, slots=True)
class Create:
    """Commit version 0.

    Attributes:
        schema: the table schema.
        partition_columns: logical names.
        properties: the table properties.
        features: table features to list beyond those that the rest needs.
        rows: first rows.

    """

    schema: Struct
    partition_columns: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Append:
    """Add rows, split into files of at most ``rows_per_file``."""

    rows: tuple[Row, ...]
    rows_per_file: int | None = None


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Replace the rows for which ``where`` is true, all when ``None``."""

    rows: tuple[Row, ...]
    where: Tree | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the rows for which ``where`` is true, all when ``None``.

    Attributes:
        where: the filter.
        vectors: by deletion vectors instead of rewritten files.

    """

    where: Tree | None = None
    vectors: Literal["inline", "file"] | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Set columns of the rows for which ``where`` is true."""

    values: Mapping[str, Any]
    where: Tree | None = None


@dataclass(frozen=True, slots=True)
class SetProperties:
    """Set table properties on top of those in force."""

    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SetTransaction:
    """Record an application's transaction version."""

    application: str
    version: int


@dataclass(frozen=True, slots=True)
class SetDomain:
    """Set a metadata domain, or remove it when the configuration is ``None``."""

    domain: str
    configuration: str | None


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Append a nullable column; rows of before have null."""

    column: Field


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Rename a top-level column; needs column mapping."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Drop a top-level column; needs column mapping."""

    name: str


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """Give a top-level column a wider type; needs type widening."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Compact:
    """Rewrite all files into few; no row changes."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Write a checkpoint of the latest version; commits nothing."""

    kind: CheckpointKind = "classic"
    sidecars: int = 0


Operation: TypeAlias = (
    Create
    | Append
    | Overwrite
    | Delete
    | Update
    | SetProperties
    | SetTransaction
    | SetDomain
    | AddColumn
    | RenameColumn
    | DropColumn
    | WidenColumn
    | Compact
    | Checkpoint
)

History: TypeAlias = Sequence[Operation]


def commits(operation: Operation) -> bool:
    """Tell whether an operation makes a version."""
    return not isinstance(operation, Checkpoint)


def widened_field(column: Field, data_type: DataType) -> Field:
    """Give a column of a wider type, the change recorded in its metadata."""
    before, after = (
        replace(column, type=each).to_json()["type"] for each in (column.type, data_type)
    )
    former = column.metadata.get("delta.typeChanges", [])
    change = {"fromType": before, "toType": after}
    return replace(
        column,
        type=data_type,
        metadata={**column.metadata, "delta.typeChanges": [*former, change]},
    )


def schema_after(schema: Struct, operation: Operation) -> Struct:
    """Give the schema that an operation leaves, the same where it changes none."""
    match operation:
        case AddColumn(column):
            return schema.with_fields(column)
        case DropColumn(name):
            return schema.without(name)
        case RenameColumn(old, new):
            return Struct(
                tuple(replace(each, name=new) if each.name == old else each for each in schema)
            )
        case WidenColumn(name, data_type):
            return Struct(
                tuple(
                    widened_field(each, data_type) if each.name == name else each for each in schema
                )
            )
        case _:
            return schema


def _matching(oracle: Oracle, where: Tree | None) -> list[int]:
    return oracle.matching(keep(where) if where is not None else lambda _row: True)


def _apply(  # noqa: C901, PLR0912  one branch per operation
    oracle: Oracle, operation: Operation
) -> None:
    match operation:
        case Create(rows=rows, properties=properties):
            oracle.properties |= properties
            oracle.insert(rows)
        case Append(rows):
            oracle.insert(rows)
        case Overwrite(rows, where):
            oracle.delete(_matching(oracle, where))
            oracle.insert(rows)
        case Delete(where):
            oracle.delete(_matching(oracle, where))
        case Update(values, where):
            for identity in _matching(oracle, where):
                oracle.update(identity, values)
        case SetProperties(properties):
            oracle.properties |= properties
        case SetTransaction(application, version):
            oracle.transactions[application] = version
        case SetDomain(domain, None):
            oracle.domains.pop(domain, None)
        case SetDomain(domain, str() as configuration):
            oracle.domains[domain] = configuration
        case RenameColumn(old, new):
            oracle.change_schema(schema_after(oracle.schema, operation), {old: new})
        case AddColumn() | DropColumn() | WidenColumn():
            oracle.change_schema(schema_after(oracle.schema, operation))
        case Compact() | Checkpoint():
            return


def replay(history: History) -> Oracle:
    """Give the oracle of a history.

    Raises:
        ValueError: the history does not begin with :class:`Create`, or an operation does not fit.

    """
    first, *_rest = history
    if not isinstance(first, Create):
        raise ValueError("a history begins with Create")  # noqa: TRY004  the order is wrong, not the type
    oracle = Oracle(first.schema, first.partition_columns)
    for operation in history:
        _apply(oracle, operation)
        if commits(operation):
            oracle.commit()
    return oracle


def filtered(rows: Sequence[Row], where: Tree) -> list[Row]:
    """Give the rows for which a filter is true."""
    return [row for row in rows if evaluate(where, row) is True]
