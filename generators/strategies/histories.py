"""Whole histories of tables.

Covers "Delta Table Specification": what a history may contain follows from the features that the
caller allows, and every drawn history is one that a conformant writer could have written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from hypothesis import strategies as st

from generators.oracle.delta_schema import Decimal, Field, Primitive, Struct
from generators.oracle.filters import column, node
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
    Restore,
    SetDomain,
    SetProperties,
    SetTransaction,
    Update,
    WidenColumn,
)
from generators.strategies.filters import filters
from generators.strategies.rows import rows
from generators.strategies.schemas import PRIMITIVES, data_types, names, partition_choices, schemas
from generators.strategies.values import values
from schemas.features import asking

FEATURES: Final = (
    "deletionVectors", "columnMapping", "rowTracking", "changeDataFeed", "inCommitTimestamp",
    "typeWidening", "domainMetadata",
)  # fmt: skip
"""Features that a history may use."""

WIDENINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "byte": ("short", "integer", "long", "double"),
    "short": ("integer", "long", "double"),
    "integer": ("long", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}
"""Wider types of each primitive type, as type widening allows them."""

_WITHOUT_FEATURE: Final = tuple(name for name in PRIMITIVES if name != "timestamp_ntz")
"""Primitive types that a column of any table may have."""

_KEYS: Final = frozenset({"byte", "short", "integer", "long", "string", "date", "boolean"})
"""Types of the column that a merge goes by: it is certain which of their values are equal."""

_UNMATCHED_ACTIONS: Final = st.sampled_from(((), ("delete",)))
"""What a merge does to rows that its source does not have."""

_Draw = Callable[[st.SearchStrategy[Any]], Any]


class _Drawing:
    """A history under way: what the next operation may refer to."""

    def __init__(self, draw: _Draw, create: Create, features: Collection[str], most: int) -> None:
        self.draw = draw
        self.schema = create.schema
        self.partitions = create.partition_columns
        self.features = features
        self.fewest_rows, self.most_rows = 0, most
        self.seen: list[Any] = list(create.rows)
        self.required_inside = True
        self.used = {each.name.lower() for each in create.schema}
        self.versions = [(self.schema, self.partitions)]
        self.appended = 0

    def new_rows(self) -> tuple[Any, ...]:
        drawn: tuple[Any, ...] = self.draw(
            rows(
                self.schema,
                partition_columns=self.partitions,
                min_size=self.fewest_rows,
                max_size=self.most_rows,
            )
        )
        self.seen.extend(drawn)
        return drawn

    def committed(self) -> None:
        """Keep what a restore goes back to."""
        self.versions.append((self.schema, self.partitions))

    def where(self) -> Any:
        known = [row for row in self.seen if set(row) == set(self.schema.names)]
        try:
            trees = filters(self.schema, rows=known)
        except ValueError:  # no column compares, so only everything can be chosen
            return None
        return self.draw(st.one_of(st.none(), trees))

    def append(self) -> Operation:
        self.appended = len(self.versions)
        return Append(self.new_rows(), self.draw(st.sampled_from((None, 1, 2))))

    def overwrite(self) -> Operation:
        return Overwrite(self.new_rows(), self.where())

    def delete(self) -> Operation:
        stored = "deletionVectors" in self.features
        ways = (None, "inline", "file") if stored else (None,)
        return Delete(self.where(), self.draw(st.sampled_from(ways)))

    def update(self) -> Operation | None:
        able = [each for each in self.schema if each.name not in self.partitions]
        chosen: Field = self.draw(st.sampled_from(able))
        value = self.draw(values(chosen.type, nullable=chosen.nullable))
        return Update({chosen.name: value}, self.where())

    def merge(self) -> Operation | None:
        able = [e for e in self.schema if isinstance(e.type, Primitive) and e.type.name in _KEYS]
        if not able:
            return None
        key = self.draw(st.sampled_from(able)).name
        known = [row[key] for row in self.seen if row.get(key) is not None]
        near = st.sampled_from((None, *known))
        # Of two source rows that change one row, none is the right one.
        source: dict[Any, Any] = {}
        for row in self.new_rows():
            met = self.draw(near)
            source[row[key] if met is None else met] = row if met is None else {**row, key: met}
        on = node("=", column("target", key), column("source", key))
        clauses = (
            *self._clauses("matched", self.draw(st.permutations(("update", "delete"))), "target"),
            *self._clauses("not_matched", ("insert",), "source"),
            *self._clauses("not_matched_by_source", self.draw(_UNMATCHED_ACTIONS), "target"),
        )
        return Merge(tuple(source.values()), on, clauses)

    def _clauses(self, match: Any, actions: Sequence[Any], side: str) -> Iterator[MergeClause]:
        for action in actions:
            where = self.where()
            yield MergeClause(match, action, None if where is None else _of_side(side, where))
            if where is None:
                break  # what comes after it would never hold

    def restore(self) -> Operation | None:
        if self.appended == 0:
            return None
        # Who deletes nothing may commit nothing: an append makes sure that a version is past.
        version = self.draw(st.integers(0, self.appended - 1))
        self.schema, self.partitions = self.versions[version]
        return Restore(version)

    def properties(self) -> Operation:
        return SetProperties({"custom.property": self.draw(st.sampled_from(("x", "", "\u00fc")))})

    def transaction(self) -> Operation:
        # Any long is valid in a log; that a writer has to take a negative one, no clause says.
        version = self.draw(st.integers(0, 2**63 - 1))
        return SetTransaction(self.draw(st.sampled_from(("app", "other"))), version)

    def domain(self) -> Operation:
        text = self.draw(st.one_of(st.none(), st.sampled_from(("{}", "text", ""))))
        return SetDomain(self.draw(st.sampled_from(("user.one", "user.two"))), text)

    def _new_name(self) -> str:
        name: str = self.draw(names().filter(lambda each: each.lower() not in self.used))
        self.used.add(name.lower())
        return name

    def add_column(self) -> Operation:
        data_type = self.draw(
            data_types(primitives=_WITHOUT_FEATURE, max_depth=1, required=self.required_inside)
        )
        return self._changed(AddColumn(Field(self._new_name(), data_type)))

    def rename(self) -> Operation:
        old: Field = self.draw(st.sampled_from(self.schema.fields))
        operation = RenameColumn(old.name, self._new_name())
        self.partitions = tuple(
            operation.new if name == old.name else name for name in self.partitions
        )
        return self._changed(operation)

    def drop(self) -> Operation | None:
        able = [each for each in self.schema if each.name not in self.partitions]
        if len(able) < 2:
            return None
        return self._changed(DropColumn(self.draw(st.sampled_from(able)).name))

    def widen(self) -> Operation | None:
        able: list[tuple[str, Any]] = []
        for each in self.schema:
            match each.type:
                case Primitive("float" | "date") if each.name in self.partitions:
                    continue  # the text in the log says less than the wider type can hold
                case Primitive(name):
                    able += [(each.name, Primitive(to)) for to in WIDENINGS.get(name, ())]
                case Decimal(precision, scale) if precision < 38:
                    able.append((each.name, Decimal(precision + 1, scale)))
                case _:
                    continue
        if not able:
            return None
        name, data_type = self.draw(st.sampled_from(able))
        return self._changed(WidenColumn(name, data_type))

    def _changed(self, operation: Operation) -> Operation:
        self.schema = operation.change(self.schema)
        return operation

    def compact(self) -> Operation:
        return Compact()

    def checkpoint(self) -> Operation:
        return Checkpoint()


_UNIVERSAL_KINDS: Final = (
    _Drawing.append, _Drawing.append, _Drawing.delete, _Drawing.overwrite, _Drawing.update,
    _Drawing.checkpoint,
)  # fmt: skip
_Kind: TypeAlias = Callable[[_Drawing], Operation | None]

_UPKEEP: Final[tuple[_Kind, ...]] = (
    _Drawing.append, _Drawing.append, _Drawing.delete, _Drawing.update, _Drawing.merge,
    _Drawing.merge, _Drawing.restore, _Drawing.compact, _Drawing.checkpoint,
)  # fmt: skip
_ALSO: Final = (_Drawing.properties, _Drawing.transaction, _Drawing.add_column, _Drawing.compact)
_KINDS_OF_FEATURE: Final[Mapping[str, tuple[_Kind, ...]]] = {
    "columnMapping": (_Drawing.rename, _Drawing.drop),
    "typeWidening": (_Drawing.widen,),
    "domainMetadata": (_Drawing.domain,),
}


def _of_side(side: str, tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tree over the columns of a row as one over those of a side of a merge."""
    if "column" in tree:
        return {"column": [side, *tree["column"]]}
    inner = [_of_side(side, each) for each in tree.get("args", ())]
    return {**tree, "args": inner} if inner else dict(tree)


_GOING_ON: Final = 5
"""The odds to one that a history goes on after an operation."""

_FIRST_ROWS: Final = 2
"""Rows of a table that is kept up; of an empty one there is nothing to restore."""


def _going_on(draw: _Draw, kinds: Sequence[_Kind]) -> Iterator[_Kind]:
    """Draw kinds of operations, as many as it comes."""
    # One choice to go on ahead of each operation, so that shrinking drops it as a whole.
    while draw(st.integers(0, _GOING_ON)):
        yield draw(st.sampled_from(kinds))


@st.composite
def histories(  # noqa: PLR0913  what is valid has this many sides
    draw: _Draw,
    *,
    features: Collection[str] = (),
    max_operations: int = 5,
    max_rows: int = 4,
    max_columns: int = 4,
    max_depth: int = 2,
    primitives: Collection[str] = (*PRIMITIVES, "decimal"),
    only_rows: bool = False,
    upkeep: bool = False,
    required_inside: bool = True,
) -> tuple[Operation, ...]:
    """Histories that begin with a table's creation.

    Args:
        draw: given by Hypothesis.
        features: features of :data:`FEATURES` that the table has.
        max_operations: the most operations after the creation.
        max_rows: the most rows that one operation brings.
        max_columns: the most columns of the first schema.
        max_depth: how deep types may nest.
        primitives: names of the primitive types that are valid.
        only_rows: nothing but create, append, overwrite, delete, update and checkpoint.
        upkeep: rows are changed, merged, restored and rewritten into fewer files, and have a
            column ``id`` that merges may go by.
        required_inside: whether what is inside of columns may be such that it cannot be null.

    Raises:
        ValueError: a feature is not one of them.
    """
    unknown = set(features) - set(FEATURES)
    if unknown:
        raise ValueError(f"no such features: {sorted(unknown)}")
    mapped = "columnMapping" in features
    schema: Struct = draw(
        schemas(
            primitives=primitives,
            max_columns=max_columns,
            max_depth=max_depth,
            awkward_names=mapped,
            required_inside=required_inside,
        )
    )
    if upkeep:
        others = [each for each in schema if each.name.lower() != "id"]
        schema = Struct((Field("id", Primitive("integer")), *others))
    partitions: tuple[str, ...] = draw(partition_choices(schema))
    properties = asking(features)
    if mapped:
        properties["delta.columnMapping.mode"] = draw(st.sampled_from(("name", "id")))
    create = Create(schema, partitions, properties, tuple(sorted(features)))
    least = _FIRST_ROWS if upkeep else 0
    first = rows(schema, partition_columns=partitions, min_size=least, max_size=max_rows)
    create = replace(create, rows=draw(first))
    drawing = _Drawing(draw, create, features, max_rows)
    drawing.required_inside = required_inside
    drawing.fewest_rows = int(upkeep)
    kinds: list[_Kind] = [*_UNIVERSAL_KINDS]
    if not only_rows:
        kinds += [
            *_ALSO,
            *(kind for name in sorted(features) for kind in _KINDS_OF_FEATURE.get(name, ())),
        ]
    # A step of upkeep shows something among the others alone: a history has each of them.
    steps: Iterator[_Kind] = _going_on(draw, kinds)
    if upkeep:
        steps = iter(draw(st.permutations(_UPKEEP)))
    operations: list[Operation] = [create]
    while len(operations) <= max_operations and (step := next(steps, None)) is not None:
        operation = step(drawing)
        if operation is not None:
            operations.append(operation)
            if operation.commits:
                drawing.committed()
    return tuple(operations)
