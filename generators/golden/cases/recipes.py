"""Write recipes: one list of operations gives the steps, a table and the rows of its versions.

See ``docs/formats.md``, "Write recipes". The case's own table is the same history as the
kit's materialiser lays it out, so that every reader can be asked about it as well; where the
history has an operation that is not laid out, it is the table that the history ends with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, Final, Literal, ParamSpec

from generators.golden.cases.case import Accepted, CaseError, CaseWriter, Refusal
from generators.golden.cases.filters import Filter
from generators.golden.cases.judged_steps import JUDGED_STEPS
from generators.materialise.builder import START, TableBuilder
from generators.materialise.data.data_files import FileLayout
from generators.materialise.histories import can_write, write_history
from generators.materialise.log.files import drop_commits
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import Field, Struct, type_of
from generators.oracle.filters import column, node
from generators.oracle.literals import encode
from generators.oracle.model import Oracle, Row
from generators.oracle.operations import (
    OPERATIONS,
    AddColumn,
    Append,
    Checkpoint,
    CheckpointKind,
    Create,
    Delete,
    DropColumn,
    Merge,
    MergeClause,
    NoRowChange,
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
    replay,
)
from generators.steps import recipe_step
from schemas.features import asking

_P = ParamSpec("_P")

PAIR: Final = Struct((Field("id", type_of("long")), Field("name", type_of("string"))))
"""The columns of tables whose recipes are about something else."""

SAME_ID: Final = node("=", column("target", "id"), column("source", "id"))
"""Where a merge finds its rows."""

UPSERT: Final = (MergeClause("matched", "update"), MergeClause("not_matched", "insert"))


def unasked(requirement: str, *of: str) -> Sequence[tuple[str, str, Refusal | None]]:
    """Return what may become of what needs a feature that is neither listed nor asked for.

    Args:
        requirement: the row that wants the feature listed, which a refusal obeys.
        of: operations that need it; none for the last step alone.
    """
    return (
        ("carried-out", "a writer may add a feature where what is asked for needs it", None),
        (
            "refused",
            "no clause has a writer add a feature that nobody asked for",
            Refusal("invalid_table", "commit", requirement, of=of),
        ),
    )


FEATURE_DROPPED: Final[Sequence[tuple[str, str, Refusal | None]]] = (
    ("removed", "upstream, Spark: nothing of the feature is left", None),
    (
        "kept",
        "text of 2025: a feature is never removed",
        Refusal("unsupported", "commit", "TF-016", of=("drop_feature",)),
    ),
)
"""What becomes of a feature that is dropped, by the readings of the text."""


def pairs(*numbers: int) -> list[dict[str, Any]]:
    """Return a row of :data:`PAIR` for each number."""
    return [{"id": number, "name": f"n{number}"} for number in numbers]


def _doing(make: Callable[_P, Operation]) -> Callable[Concatenate[Recipe, _P], Recipe]:
    """Return the method that does an operation of the arguments that it takes."""

    def method(recipe: Recipe, /, *given: _P.args, **named: _P.kwargs) -> Recipe:
        return recipe.do(make(*given, **named))

    return method


@dataclass(slots=True)
class Recipe:
    """A recipe that grows step by step.

    Attributes:
        schema: the table schema.
        partition_columns: logical names.
        properties: table properties to create it with.
        features: table features to create it with.
        rows: rows to create it with; ``None`` to create it empty.
        clustering_columns: names of columns to cluster it by.
        protocol: the exact protocol of the case's own table, for tables that are given.
        start: time of its version 0 in ms since the epoch, where it matters.
        summed: the table that is given has a checksum of each version.
        layout: of the data files of the table that is given.
        now: the schema after the steps so far.
    """

    schema: Struct
    partition_columns: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    rows: Sequence[Row] | None = None
    clustering_columns: tuple[str, ...] = ()
    protocol: Protocol | None = None
    start: int = START
    summed: bool = False
    layout: FileLayout | None = None
    now: Struct = field(init=False)
    _steps: list[dict[str, Any]] = field(default_factory=list)
    _history: list[Operation] = field(default_factory=list)
    _start: int = 0
    _cut: bool = False
    _marks: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the first step."""
        step: dict[str, Any] = {"operation": "create", "schema": self.schema.to_json()}
        given = {
            "partition_columns": list(self.partition_columns),
            "properties": dict(self.properties),
            "features": list(self.features),
            "clustering_columns": list(self.clustering_columns),
        }
        step |= {name: value for name, value in given.items() if value}
        self.now = self.schema
        if self.rows is not None:
            step |= self._input_rows(self.rows)
        create = Create(
            self.schema,
            self.partition_columns,
            self.properties,
            self.features,
            self._kept(self.rows or ()),
        )
        self._add_step(step, create)

    @classmethod
    def active(
        cls,
        schema: Struct,
        *features: str,
        properties: Mapping[str, str] | None = None,
        **others: Any,
    ) -> Recipe:
        """Start with features and the properties that activate them; ``others`` are attributes."""
        properties = {**asking(features), **(properties or {})}
        return cls(schema, properties=properties, features=features, **others)

    def append(self, rows: Sequence[Row], stored: Sequence[Row] | None = None) -> Recipe:
        """Append rows; ``stored`` is what the table makes of them, where it completes them."""
        return self._add_step(
            {"operation": "append", **self._input_rows(rows, stored)},
            Append(self._kept(stored if stored is not None else rows)),
        )

    def append_once(self, rows: Sequence[Row], application: str, version: int) -> Recipe:
        """Append rows together with the progress of the application that brings them."""
        return self.append(rows).by_application(application, version)

    def by_application(self, application: str, version: int) -> Recipe:
        """Record the progress of an application together with the rows of the last step."""
        self._steps[-1]["txn"] = {"app_id": application, "txn_version": version}
        return self

    def append_numbered(self, name: str, *rows: Row) -> Recipe:
        """Append rows that lack an identity column, each with the next value of the column."""
        self.append(rows)
        return self._numbered(name, rows)

    def overwrite_numbered(
        self, name: str, rows: Sequence[Row], where: Filter | None = None
    ) -> Recipe:
        """Replace the rows of a filter by rows that lack an identity column."""
        self.overwrite(rows, where)
        return self._numbered(name, rows)

    def merge_numbered(
        self, name: str, rows: Sequence[Row], on: Tree, *clauses: MergeClause
    ) -> Recipe:
        """Merge rows that lack an identity column; none of them matches, so that all land."""
        self.merge(rows, on, *clauses)
        return self._numbered(name, rows, "source")

    def _numbered(self, name: str, rows: Sequence[Row], attribute: str = "rows") -> Recipe:
        """Give the rows of the last operation the next values of an identity column.

        They are for the oracle alone: which values they are to be, is for the table to say.
        """
        column = self.now[name]
        start, step = (int(column.metadata[f"delta.identity.{key}"]) for key in ("start", "step"))
        held = self._marks.get(name, column.metadata.get("delta.identity.highWaterMark"))
        stored = []
        for row in rows:
            held = start if held is None else int(held) + step
            stored.append({**row, name: held})
        self._marks[name] = held if held is not None else start
        self._steps[-1]["identity"] = name
        if not rows:  # which say no more which columns they lack
            self._steps[-1]["columns"] = [f.name for f in self.now.fields if f.name != name]
        self._history[-1] = replace(self._history[-1], **{attribute: self._kept(stored)})
        return self

    def append_refused(self, rows: Sequence[Row]) -> Recipe:
        """Append rows that lack columns; the last step, which is refused."""
        return self._add_step({"operation": "append", **self._input_rows(rows)}, NoRowChange())

    def overwrite(
        self, rows: Sequence[Row], where: Filter | None = None, stored: Sequence[Row] | None = None
    ) -> Recipe:
        """Replace the rows of a filter, all without one; ``stored`` is as in :meth:`append`."""
        step = {"operation": "overwrite", **self._input_rows(rows, stored), **_where(where)}
        kept = self._kept(rows if stored is None else stored)
        return self._add_step(step, Overwrite(kept, where.tree if where else None))

    def delete(self, where: Filter | None = None) -> Recipe:
        """Delete the rows of a filter, all without one."""
        return self._asked(Delete(where.tree if where else None), where)

    def delete_by_vectors(
        self, where: Filter, stored: Literal["inline", "file"] = "file"
    ) -> Recipe:
        """Delete rows; where the table is laid out for the case, by vectors that are so stored."""
        return self._asked(Delete(where.tree, stored), where)

    def update(
        self,
        values: Mapping[str, Any],
        where: Filter | None = None,
        stored: Mapping[str, Computed] | None = None,
    ) -> Recipe:
        """Set columns of the rows of a filter, of all without one.

        Args:
            values: column to a constant, or to a :class:`Computed` over the row as it was.
            where: the filter.
            stored: what the table makes of columns that are not set, over the row as it was.
        """
        self._asked(_update(values, where), where)
        if stored is not None:
            self._steps[-1]["stored"] = {name: dict(value.tree) for name, value in stored.items()}
            self._history[-1] = _update({**values, **stored}, where)
        return self

    def merge(
        self,
        rows: Sequence[Row],
        on: Tree,
        *clauses: MergeClause,
        stored: Sequence[Row] | None = None,
    ) -> Recipe:
        """Merge rows where a tree over ``target`` and ``source`` is true.

        Args:
            rows: of the source.
            on: true of a pair that matches.
            clauses: what is done to which rows.
            stored: what the table makes of the rows, where it completes them.
        """
        merge = Merge(self._kept(rows if stored is None else stored), on, clauses)
        step = recipe_step(merge, self.now)
        others = {name: step.pop(name) for name in ("on", "when")}
        return self._add_step(
            {"operation": "merge", **self._input_rows(rows, stored), **others}, merge
        )

    def checkpoint(
        self, kind: CheckpointKind | None = None, sidecars: int = 0, parts: int = 0
    ) -> Recipe:
        """Write a checkpoint, of a kind or of the table's own."""
        step: dict[str, Any] = {"operation": "checkpoint"}
        if kind is not None:
            step["kind"] = kind
        step |= {n: v for n, v in (("sidecars", sidecars), ("parts", parts)) if v}
        return self._add_step(step, Checkpoint(kind or "classic", sidecars))

    def replace(
        self,
        schema: Struct,
        partition_columns: Sequence[str],
        rows: Sequence[Row],
        stored: Sequence[Row] | None = None,
    ) -> Recipe:
        """Make it a table of other columns and rows; ``stored`` is as in :meth:`append`."""
        self.now, self.partition_columns = schema, tuple(partition_columns)
        step = {
            "operation": "replace",
            "schema": schema.to_json(),
            "partition_columns": list(partition_columns),
            **self._input_rows(rows, stored),
        }
        kept = self._kept(rows if stored is None else stored)
        return self._add_step(step, Replace(schema, self.partition_columns, kept))

    def run(self, operation: str, **arguments: Any) -> Recipe:
        """Do an operation that no reader of rows can see.

        An argument that is callable is called with the builder of the table that is given.
        """
        done = OPERATIONS[operation].oracle or NoRowChange()
        return self._add_step({"operation": operation, **arguments}, done)

    def restore(self, step: int) -> Recipe:
        """Make the table what it was after a step, the first being 0."""
        version = sum(each.commits for each in self._history[: step + 1]) - 1
        return self._add_step({"operation": "restore", "to_step": step}, Restore(version))

    add_column = _doing(AddColumn)
    drop_column = _doing(DropColumn)
    rename_column = _doing(RenameColumn)
    set_domain = _doing(SetDomain)
    set_nullable = _doing(SetNullable)
    set_properties = _doing(SetProperties)
    set_transaction = _doing(SetTransaction)

    def unset_properties(self, *names: str) -> Recipe:
        """Unset table properties."""
        return self.do(UnsetProperties(names))

    def add_existing_column_refused(self, column: Field) -> Recipe:
        """Ask for a column that cannot be added; the last step, which is refused."""
        step = {"operation": "add_columns", "schema": Struct((column,)).to_json()}
        return self._add_step(step, NoRowChange())

    def set_properties_refused(self, properties: Mapping[str, str]) -> Recipe:
        """Ask for properties that the table cannot have; the last step, which is refused."""
        step = {"operation": "set_properties", "properties": dict(properties)}
        return self._add_step(step, NoRowChange())

    def convert(self, properties: Mapping[str, str] | None = None) -> Recipe:
        """Make a table of the files of the table that is given."""
        step: dict[str, Any] = {"operation": "convert", "schema": self.now.to_json()}
        if self.partition_columns:
            step["partition_columns"] = list(self.partition_columns)
        if properties:
            step["properties"] = dict(properties)
        rows = tuple(replay(self._history).rows())
        return self._add_step(step, Create(self.now, self.partition_columns, rows=rows))

    def reorder_columns(self, *names: str) -> Recipe:
        """Put the columns into another order."""
        return self.do(ReorderColumns(names))

    def change_type(self, name: str, written: str) -> Recipe:
        """Change a column to a wider type, or a void one to any type."""
        return self.do(WidenColumn(name, type_of(written)))

    def given(self, *, cut: bool = False) -> Recipe:
        """End the table that an implementation is given; what follows is for it to do.

        ``cut`` says that the last step was a checkpoint, and a cleanup took what came before it.
        """
        self._start = len(self._steps)
        self._cut = cut
        return self

    def publish(
        self,
        case: CaseWriter,
        *,
        refusal: Refusal | None = None,
        contested: Sequence[tuple[str, str, Refusal | None]] = (),
        needs: Sequence[str] = (),
        managed: bool = False,
    ) -> None:
        """Write the case: the table, a read of its last version, and the recipe.

        Args:
            case: the case to write to.
            refusal: how the last step is refused, when it is; the table is that of the steps
                before it.
            contested: name and source of each accepted outcome, where the text leaves it open,
                and how a step is refused where that is the outcome.
            needs: capabilities that a writer claims for it.
            managed: only a catalog could say what the table holds, and none is asked.
        """
        done = self._history if refusal is None else self._history[:-1]
        laid_out = done[: self._start or None]
        if (self._marks and not self._start) or not all(map(can_write, laid_out)):
            laid_out = [self._at_once(laid_out)]
        builder = self._written(case, laid_out)
        for step in self._steps:
            # Files have their names once they are written.
            step |= {key: value(builder) for key, value in step.items() if callable(value)}
        rows = builder.rows()
        adds = builder.states[builder.version].adds
        schema = replay(laid_out).schema
        case.describe(
            schema=schema.to_json(),
            protocol=builder.protocol.body(),
            configuration=builder.properties,
            log_info={"numAddFiles": len(adds), "numCommits": builder.version + 1},
            data_layout={"numPartitionColumns": len(self.partition_columns)}
            if self.partition_columns
            else {},
        )
        if not managed:
            case.read("read-latest", schema, rows, title="A read gives the rows put in")
        title = case.info.title
        parameters: dict[str, Any] = {"operations": self._steps[self._start :]}
        if judged := JUDGED_STEPS.get(case.info.id):
            parameters["judged"] = {str(step): row for step, row in judged.items()}
        if self._start:
            parameters["given"] = case.info.id
            if not managed:
                parameters["before"] = self._steps[: self._start]
        if refusal is not None:
            case.refuse("write", "write", refusal, title=title, parameters=parameters, needs=needs)
            return
        oracle = _oracle_of(done)
        parameters["versions"] = len(oracle.versions)
        if contested:
            versions = {"versions": parameters.pop("versions")}
            accepted = [
                Accepted(name, source, oracle.rows(), versions, schema=oracle.schema)
                if refused is None
                else Accepted(
                    name,
                    source,
                    refusal=refused,
                    steps=_steps_of(refused, parameters["operations"]),
                )
                for name, source, refused in contested
            ]
            case.contest(
                "write", "write", accepted, title=title, parameters=parameters, needs=needs
            )
            return
        case.row_spec(
            "write",
            "write",
            oracle.schema,
            oracle.rows(),
            title=title,
            parameters=parameters,
            needs=needs,
        )

    def _written(self, case: CaseWriter, laid_out: Sequence[Operation]) -> TableBuilder:
        builder = write_history(
            case.delta,
            laid_out,
            seed=case.info.id,
            protocol=self.protocol,
            start=self.start,
            layout=self.layout,
        )
        for version in range(builder.version + 1) if self.summed else ():
            builder.checksum(version)
        if self._cut:
            drop_commits(case.delta, builder.version)
        return builder

    def do(self, operation: Operation) -> Recipe:
        """Do an operation, as the step that its entry spells."""
        return self._add_step(recipe_step(operation, self.now), operation)

    def _asked(self, operation: Operation, where: Filter | None) -> Recipe:
        """Do an operation on the rows of a filter, which a step has as SQL too."""
        sql = {} if where is None else {"predicate": where.sql}
        return self._add_step({**recipe_step(operation, self.now), **sql}, operation)

    def _add_step(self, step: dict[str, Any], operation: Operation) -> Recipe:
        self._steps.append(step)
        self._history.append(operation)
        if isinstance(operation, Restore):
            self.now = replay(self._history).schema
        else:
            self.now = operation.change(self.now)
        return self

    def _at_once(self, done: Sequence[Operation]) -> Create:
        """Return the table that a history ends with, as it would be created."""
        oracle = _oracle_of(done)
        return Create(
            self._marked(oracle.schema),
            oracle.partition_columns,
            dict(oracle.properties),
            self.features,
            tuple(oracle.rows()),
        )

    def _marked(self, schema: Struct) -> Struct:
        """Return a schema whose identity columns say how far their values have come."""

        def marked(column: Field) -> Field:
            if column.name not in self._marks:
                return column
            mark = {"delta.identity.highWaterMark": self._marks[column.name]}
            return replace(column, metadata={**column.metadata, **mark})

        return Struct(tuple(map(marked, schema)))

    def _kept(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """Return rows as the log can keep them: an empty partition value is null."""
        return tuple(
            {n: None if n in self.partition_columns and v == "" else v for n, v in row.items()}
            for row in rows
        )

    def _input_rows(
        self, rows: Sequence[Row], stored: Sequence[Row] | None = None
    ) -> dict[str, Any]:
        """Return the arguments that bring rows: those columns alone that the rows have."""
        given = {name for row in rows for name in row}
        names = [name for name in self.now.names if name in given or not rows]
        columns = self.now.select(*names)
        found: dict[str, Any] = {"rows": [encode(columns, row) for row in rows]}
        if names != list(self.now.names):
            found["columns"] = names
        if stored is not None:
            found["stored"] = [encode(self.now, row) for row in stored]
        return found


@dataclass(frozen=True, slots=True)
class Computed:
    """A value that is computed from the row: a node of a tree."""

    tree: Tree


def _oracle_of(done: Sequence[Operation]) -> Oracle:
    """Return what the oracle makes of operations, after a conversion of those from it on."""
    converted = (at for at, each in enumerate(done) if at and isinstance(each, Create))
    return replay(done[next(converted, 0) :])


def _update(values: Mapping[str, Any], where: Filter | None) -> Update:
    computed = {n: v.tree for n, v in values.items() if isinstance(v, Computed)}
    plain = {n: v for n, v in values.items() if n not in computed}
    return Update(plain, where.tree if where else None, computed)


def _where(where: Filter | None) -> dict[str, Any]:
    return {} if where is None else {"filter": dict(where.tree), "predicate": where.sql}


def _steps_of(refusal: Refusal, steps: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """Return the numbers of the steps that may be refused; none for the last one alone.

    Raises:
        CaseError: the recipe lacks an operation that is named.
    """
    lacking = set(refusal.of) - {step["operation"] for step in steps}
    if lacking:
        raise CaseError(f"no step is {', '.join(sorted(lacking))}, which may be refused")
    return tuple(at for at, step in enumerate(steps) if step["operation"] in refusal.of)
