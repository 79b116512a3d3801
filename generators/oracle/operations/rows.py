"""Operations that make tables and change rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from generators.oracle.delta_schema import Struct
from generators.oracle.filters import evaluate, predicate_of
from generators.oracle.model import Oracle, Row
from generators.oracle.operations import arguments as args
from generators.oracle.operations.arguments import Tree
from generators.oracle.operations.entry import (
    OPERATIONS,
    Entry,
    Operation,
    operation,
    said_by_recipe,
)
from generators.oracle.operations.merging import CLAUSES, MergeClause, merge_plan

_INPUT: Final = {"rows": args.ROWS, "columns": args.COLUMNS}
_SELECTED: Final = {"filter": args.FILTER, "predicate": args.PREDICATE}
_PROGRESS: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "txn": lambda step: "txn" in step
}
"""That the progress of an application is committed together with the change."""


@operation(
    "create",
    {
        "schema": args.SCHEMA(note="table schema object"),
        "partition_columns": args.NAMES("partition_columns", required=False),
        "properties": args.MAP("properties", required=False),
        "features": args.NAMES("features", required=False),
        "clustering_columns": args.NAMES(required=False),
        "rows": args.ROWS(required=False),
        "columns": args.COLUMNS,
        "stored": args.STORED_ROWS,
    },
    defines=True,
    replaces=True,
    capabilities={"sql": said_by_recipe},
)
@dataclass(frozen=True, slots=True)
class Create(Operation):
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

    def change(self, _: Struct) -> Struct:
        """Return the operation's own schema."""
        return self.schema

    def apply(self, oracle: Oracle) -> None:
        """Set properties and insert rows; the oracle is made of the schema."""
        oracle.properties |= self.properties
        oracle.insert(self.rows)


_CREATE: Final = OPERATIONS["create"].arguments
OPERATIONS["convert"] = Entry(
    "convert",
    {name: _CREATE[name] for name in ("schema", "partition_columns", "properties")},
    Create,
    defines=True,
    replaces=True,
    says="make a table of the Parquet files that are there",
)


@operation(
    "append",
    {
        **_INPUT,
        "stored": args.STORED_ROWS,
        "identity": args.IDENTITY,
        "txn": args.TXN,
        "layout": args.layout(
            {"rows_per_file": {"type": "integer", "minimum": 1}}, rows_per_file=None
        ),
    },
    capabilities=_PROGRESS,
)
@dataclass(frozen=True, slots=True)
class Append(Operation):
    """Add rows, split into files of at most ``rows_per_file``."""

    rows: tuple[Row, ...]
    rows_per_file: int | None = None

    def apply(self, oracle: Oracle) -> None:
        """Insert the rows."""
        oracle.insert(self.rows)


@operation(
    "overwrite",
    {
        **_INPUT,
        "stored": args.STORED_ROWS,
        "identity": args.IDENTITY,
        **_SELECTED,
        "partition": args.PARTITION,
        "txn": args.TXN,
    },
    replaces=True,
    capabilities={
        **_PROGRESS,
        "filter": lambda step: "filter" in step,
        "partition": lambda step: "partition" in step,
    },
)
@dataclass(frozen=True, slots=True)
class Overwrite(Operation):
    """Replace the rows for which ``where`` is true, all when ``None``."""

    rows: tuple[Row, ...]
    where: Tree | None = None

    def apply(self, oracle: Oracle) -> None:
        """Delete the rows of the filter, and insert the others."""
        oracle.delete(oracle.matching(predicate_of(self.where)))
        oracle.insert(self.rows)


@operation(
    "delete",
    {
        **_SELECTED,
        "txn": args.TXN,
        "layout": args.layout({"vectors": {"enum": ["inline", "file"]}}, vectors=None),
    },
    capabilities=_PROGRESS,
)
@dataclass(frozen=True, slots=True)
class Delete(Operation):
    """Delete the rows for which ``where`` is true, all when ``None``.

    Attributes:
        where: the filter.
        vectors: by deletion vectors instead of rewritten files.
    """

    where: Tree | None = None
    vectors: Literal["inline", "file"] | None = None

    def apply(self, oracle: Oracle) -> None:
        """Delete the rows of the filter."""
        oracle.delete(oracle.matching(predicate_of(self.where)))


@operation(
    "update",
    {
        "set": args.NODES,
        "stored": args.COMPUTED,
        **_SELECTED,
        "txn": args.TXN,
        "values": args.WIDE_VALUES,
    },
    either=("set", "values"),
    capabilities=_PROGRESS,
)
@dataclass(frozen=True, slots=True)
class Update(Operation):
    """Set columns of the rows for which ``where`` is true.

    Attributes:
        values: column to its value.
        where: the filter.
        computed: column to the tree that gives its value from the row as it was.
    """

    values: Mapping[str, Any]
    where: Tree | None = None
    computed: Mapping[str, Tree] = field(default_factory=dict)

    def plan(self, oracle: Oracle) -> dict[int, Row]:
        """Return what is set of each row that changes, computed from the row as it was."""
        return {
            identity: {
                **self.values,
                **{n: evaluate(tree, oracle.row(identity)) for n, tree in self.computed.items()},
            }
            for identity in oracle.matching(predicate_of(self.where))
        }

    def apply(self, oracle: Oracle) -> None:
        """Set the columns of each row that the filter chooses."""
        for identity, values in self.plan(oracle).items():
            oracle.update(identity, values)


@operation(
    "merge",
    {
        "rows": args.ROWS("source", note="the source"),
        "columns": args.COLUMNS("source"),
        "stored": args.STORED_ROWS,
        "identity": args.IDENTITY,
        "on": args.TREE("on", note="tree"),
        "when": CLAUSES,
        "txn": args.TXN,
    },
    capabilities=_PROGRESS,
)
@dataclass(frozen=True, slots=True)
class Merge(Operation):
    """Merge source rows where ``on`` is true of a pair; the first clause that holds decides."""

    source: tuple[Row, ...]
    on: Tree
    clauses: tuple[MergeClause, ...]

    def plan(self, oracle: Oracle) -> tuple[dict[int, Row | None], list[Row]]:
        """Return what is set of each row that changes, ``None`` where it goes, and new rows."""
        return merge_plan(oracle, self.source, self.on, self.clauses)

    def apply(self, oracle: Oracle) -> None:
        """Let each pair have the clause that holds for it."""
        edits, inserts = self.plan(oracle)
        for identity, values in edits.items():
            if values is None:
                oracle.delete([identity])
            else:
                oracle.update(identity, values)
        oracle.insert(inserts)


@operation(
    "replace",
    {
        "schema": args.SCHEMA,
        "partition_columns": args.NAMES("partition_columns", required=False),
        "rows": args.NEW_ROWS,
        "stored": args.STORED_ROWS,
    },
    defines=True,
    replaces=True,
    judges="META-003",
    says="make it a table of other columns and rows, properties stay",
)
@dataclass(frozen=True, slots=True)
class Replace(Operation):
    """Make it a table of other columns, partitions and rows; properties stay."""

    schema: Struct
    partition_columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()

    def change(self, _: Struct) -> Struct:
        """Return the operation's own schema."""
        return self.schema

    def apply(self, oracle: Oracle) -> None:
        """Let the rows go, and insert others of another schema."""
        oracle.delete(oracle.matching(predicate_of(None)))
        oracle.change_schema(self.schema)
        oracle.partition_columns = self.partition_columns
        oracle.insert(self.rows)
