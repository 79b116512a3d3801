"""Operations on a table as values, and what they do to its rows.

Serves "Delta Table Specification". A history is a sequence of operations that begins with
:class:`Create`. :func:`replay` gives the oracle of a history without touching a disk: it is the
other opinion on what the materialiser's file-by-file bookkeeping makes of the same history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from generators.oracle.delta_schema import Array, DataType, Field, Struct
from generators.oracle.filters import evaluate, keep
from generators.oracle.model import Oracle, Row

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
    "Merge",
    "MergeClause",
    "NoRowChange",
    "Operation",
    "Overwrite",
    "RenameColumn",
    "ReorderColumns",
    "Replace",
    "Restore",
    "SetDefault",
    "SetDomain",
    "SetNullable",
    "SetProperties",
    "SetTransaction",
    "Tree",
    "UnsetProperties",
    "Update",
    "WidenColumn",
    "apply",
    "commits",
    "filtered",
    "merge_plan",
    "replay",
    "schema_after",
    "update_plan",
    "widened_field",
]

DEFAULT_KEY: Final = "CURRENT_DEFAULT"

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
class Replace:
    """Make it a table of other columns, partitions and rows; properties stay."""

    schema: Struct
    partition_columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Append:
    """Add rows, split into files of at most ``rows_per_file``."""

    rows: tuple[Row, ...]
    rows_per_file: int | None = None


@dataclass(frozen=True, slots=True)
class MergeClause:
    """What becomes of rows of one kind.

    Attributes:
        match: which rows: of both sides, of the source alone, of the table alone.
        action: what becomes of them.
        condition: over columns that begin with ``target`` and ``source``; always by default.
        values: column to a node of a tree; ``None`` for the source row as it is.

    """

    match: Literal["matched", "not_matched", "not_matched_by_source"]
    action: Literal["update", "delete", "insert"]
    condition: Tree | None = None
    values: Mapping[str, Tree] | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """Merge source rows where ``on`` is true of a pair; the first clause that holds decides."""

    source: tuple[Row, ...]
    on: Tree
    clauses: tuple[MergeClause, ...]


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
    """Set columns of the rows for which ``where`` is true.

    Attributes:
        values: column to its value.
        where: the filter.
        computed: column to the tree that gives its value from the row as it was.

    """

    values: Mapping[str, Any]
    where: Tree | None = None
    computed: Mapping[str, Tree] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetProperties:
    """Set table properties on top of those in force."""

    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class UnsetProperties:
    """Unset table properties, whether they are set or not."""

    names: tuple[str, ...]


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
    """Append a nullable column, or a field to the struct at ``parent``; rows have null in it."""

    column: Field
    parent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Rename a column, or a field of the struct at ``parent``; needs column mapping."""

    old: str
    new: str
    parent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Drop a column, or a field of the struct at ``parent``; needs column mapping."""

    name: str
    parent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """Give a column, or a field of the struct at ``parent``, a wider type; needs type widening."""

    name: str
    type: DataType
    parent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReorderColumns:
    """Put the top-level columns into another order."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetNullable:
    """Let a top-level column have nulls, or have none from now on."""

    name: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Set the default of a top-level column for rows to come, in SQL, or unset it."""

    name: str
    expression: str | None


@dataclass(frozen=True, slots=True)
class Restore:
    """Make rows, schema and properties those of an earlier version again."""

    version: int


@dataclass(frozen=True, slots=True)
class NoRowChange:
    """Change no row; ``version`` says whether a version is committed."""

    version: bool = True


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
    | Replace
    | Append
    | Overwrite
    | Delete
    | Update
    | Merge
    | SetProperties
    | UnsetProperties
    | SetTransaction
    | SetDomain
    | AddColumn
    | RenameColumn
    | DropColumn
    | WidenColumn
    | ReorderColumns
    | SetNullable
    | SetDefault
    | Restore
    | NoRowChange
    | Compact
    | Checkpoint
)

History: TypeAlias = Sequence[Operation]


def commits(operation: Operation) -> bool:
    """Tell whether an operation makes a version."""
    return not isinstance(operation, Checkpoint) and operation != NoRowChange(version=False)


def widened_field(column: Field, data_type: DataType) -> Field:
    """Give a column of a wider type, the change recorded in its metadata."""
    before, after = (
        replace(column, type=each).to_json()["type"] for each in (column.type, data_type)
    )
    former = column.metadata.get("delta.typeChanges", [])
    if before == "void":
        return replace(column, type=data_type)  # no widening, and not recorded as one
    change = {"fromType": before, "toType": after}
    return replace(
        column,
        type=data_type,
        metadata={**column.metadata, "delta.typeChanges": [*former, change]},
    )


def _at(of: DataType, parent: Sequence[str], change: Callable[[Struct], Struct]) -> DataType:
    """Change the struct that a path leads to."""
    match of, list(parent):
        case Struct(), []:
            return change(of)
        case Struct(fields), [first, *rest]:
            return Struct(
                tuple(
                    replace(each, type=_at(each.type, rest, change)) if each.name == first else each
                    for each in fields
                )
            )
        case Array(element), ["element", *rest]:
            return replace(of, element=_at(element, rest, change))
        case _:
            raise ValueError(f"{parent} leads to no struct")


def _with(name: str, change: Callable[[Field], Field]) -> Callable[[Struct], Struct]:
    return lambda of: Struct(tuple(change(f) if f.name == name else f for f in of))


def _defaulting(column: Field, expression: str | None) -> Field:
    kept = {key: value for key, value in column.metadata.items() if key != DEFAULT_KEY}
    told = {} if expression is None else {DEFAULT_KEY: expression}
    return replace(column, metadata={**kept, **told})


def schema_after(schema: Struct, operation: Operation) -> Struct:
    """Give the schema that an operation leaves, the same where it changes none."""
    parent: tuple[str, ...] = ()
    match operation:
        case AddColumn(column, parent):
            change: Callable[[Struct], Struct] = lambda of: of.with_fields(column)  # noqa: E731  one of several
        case DropColumn(name, parent):
            change = lambda of: of.without(name)  # noqa: E731  as above
        case RenameColumn(old, new, parent):
            change = _with(old, lambda each: replace(each, name=new))
        case ReorderColumns(names):
            change = lambda of: of.select(*names)  # noqa: E731  as above
        case SetNullable(name, nullable):
            change = _with(name, lambda each: replace(each, nullable=nullable))
        case SetDefault(name, expression):
            change = _with(name, lambda each: _defaulting(each, expression))
        case WidenColumn(name, data_type, parent):
            change = _with(name, lambda each: widened_field(each, data_type))
        case _:
            return schema
    changed = _at(schema, parent, change)
    assert isinstance(changed, Struct)
    return changed


def _matching(oracle: Oracle, where: Tree | None) -> list[int]:
    return oracle.matching(keep(where) if where is not None else lambda _row: True)


def apply(  # noqa: C901, PLR0912  one branch per operation
    oracle: Oracle, operation: Operation
) -> None:
    """Let an oracle do an operation as part of its open version.

    Raises:
        ValueError: rows do not fit the schema, or several source rows change one row.

    """
    match operation:
        case Create(rows=rows, properties=properties):
            oracle.properties |= properties
            oracle.insert(rows)
        case Append(rows):
            oracle.insert(rows)
        case Replace(schema, partition_columns, rows):
            oracle.delete(_matching(oracle, None))
            oracle.change_schema(schema)
            oracle.partition_columns = partition_columns
            oracle.insert(rows)
        case Overwrite(rows, where):
            oracle.delete(_matching(oracle, where))
            oracle.insert(rows)
        case Delete(where):
            oracle.delete(_matching(oracle, where))
        case Update():
            for identity, values in update_plan(oracle, operation).items():
                oracle.update(identity, values)
        case Merge():
            _merge(oracle, operation)
        case UnsetProperties(names):
            for name in names:
                oracle.properties.pop(name, None)
        case Restore(version):
            oracle.restore(version)
        case SetProperties(properties):
            oracle.properties |= properties
        case SetTransaction(application, version):
            oracle.transactions[application] = version
        case SetDomain(domain, None):
            oracle.domains.pop(domain, None)
        case SetDomain(domain, str() as configuration):
            oracle.domains[domain] = configuration
        case RenameColumn(old, new, parent):
            oracle.change_schema(schema_after(oracle.schema, operation), {old: new}, parent)
        case (
            AddColumn()
            | DropColumn()
            | WidenColumn()
            | ReorderColumns()
            | SetNullable()
            | SetDefault()
        ):
            oracle.change_schema(schema_after(oracle.schema, operation))
        case Compact() | Checkpoint() | NoRowChange():
            return


def update_plan(oracle: Oracle, update: Update) -> dict[int, Row]:
    """Give what an update sets of each row that it changes, computed from the row as it was."""
    return {
        identity: {
            **update.values,
            **{n: evaluate(tree, oracle.row(identity)) for n, tree in update.computed.items()},
        }
        for identity in _matching(oracle, update.where)
    }


def _merge(oracle: Oracle, merge: Merge) -> None:
    edits, inserts = merge_plan(oracle, merge)
    for identity, values in edits.items():
        if values is None:
            oracle.delete([identity])
        else:
            oracle.update(identity, values)
    oracle.insert(inserts)


def merge_plan(oracle: Oracle, merge: Merge) -> tuple[dict[int, Row | None], list[Row]]:
    """Decide what a merge does, by looking at every pair.

    Returns:
        What is set of each row that changes, ``None`` for a row that goes; and the rows to insert.

    Raises:
        ValueError: several source rows change one row of the table.

    """
    edits: dict[int, Row | None] = {}
    inserts: list[Row] = []
    pairs: dict[int, list[Row]] = {each.identity: [] for each in oracle.pending}
    unmatched_source = list(merge.source)
    for identity, partners in pairs.items():
        target = oracle.row(identity)
        for source in merge.source:
            if evaluate(merge.on, {"target": target, "source": source}) is True:
                partners.append(source)
                unmatched_source = [each for each in unmatched_source if each is not source]
    for identity, partners in pairs.items():
        target = oracle.row(identity)
        sides = [{"target": target, "source": source} for source in partners]
        kind = "matched" if partners else "not_matched_by_source"
        found = [_decided(merge.clauses, kind, side) for side in sides or [{"target": target}]]
        acts = [each for each in found if each is not None]
        if len(acts) > 1 and any(clause.action != "delete" for clause, _ in acts):
            raise ValueError("several source rows change one row")
        if acts:
            clause, values = acts[0]
            edits[identity] = None if clause.action == "delete" else values
    for source in unmatched_source:
        insert = _decided(merge.clauses, "not_matched", {"source": source})
        if insert is not None:
            inserts.append(insert[1])
    return edits, inserts


def _decided(
    clauses: Sequence[MergeClause], match: str, sides: Mapping[str, Row]
) -> tuple[MergeClause, Row] | None:
    """Give the first clause that holds for a pair, and the values that it sets."""
    for clause in clauses:
        if clause.match != match:
            continue
        if clause.condition is None or evaluate(clause.condition, sides) is True:
            if clause.values is None:
                return clause, dict(sides.get("source", {}))
            return clause, {name: evaluate(tree, sides) for name, tree in clause.values.items()}
    return None


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
        apply(oracle, operation)
        if commits(operation):
            oracle.commit()
    return oracle


def filtered(rows: Sequence[Row], where: Tree) -> list[Row]:
    """Give the rows for which a filter is true."""
    return [row for row in rows if evaluate(where, row) is True]
