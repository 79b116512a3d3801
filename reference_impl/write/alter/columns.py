"""Change the columns of a table.

Implements "Schema Serialization Format", "Column Mapping" (writer requirements), "Type Widening"
and "Default Columns". No data file is rewritten: names and places are the schema's alone, and what
a file lacks reads as null. Each function carries out the method of its name of
:class:`~reference_impl.table.Table`, which says what it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from reference_impl.errors import (
    ConstraintViolation,
    InvalidColumnMapping,
    SchemaMismatch,
    UnknownColumn,
    UnsupportedFeatures,
)
from reference_impl.model.file_actions import to_objects
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.types.keys import DEFAULT_KEY, GENERATION_KEY, START_KEY, TYPE_CHANGES_KEY
from reference_impl.types.model import VARIANT, VOID, Array, DataType, Field, Map, Struct
from reference_impl.types.schema import format_schema, parse_type, to_json
from reference_impl.types.widening import is_widening
from reference_impl.write.alter.create import Schema, read_schema
from reference_impl.write.alter.definition import define
from reference_impl.write.commit.transaction import Transaction, add_of
from reference_impl.write.features.mapping import MAX_ID_PROPERTY, Numbering, highest_id
from reference_impl.write.files.clustering import (
    CLUSTERING_DOMAIN,
    clustering_domain,
    clustering_leaves,
    named_leaves,
    without_statistics,
)
from reference_impl.write.rows.rules import rules_of

Path: TypeAlias = str | Sequence[str]
"""A column by name, or a field in it by the names that lead to it."""

_COMPUTING_KEYS: Final = (DEFAULT_KEY, START_KEY, GENERATION_KEY)
"""Column metadata by which the table computes the values of a column."""


def add_columns(snapshot: Snapshot, new_columns: Schema, parent: Path) -> int:
    """Add columns after those that are there, or fields to a struct column.

    Raises:
        ConstraintViolation: a column is not null, generated or has a default.
    """
    columns = read_schema(new_columns).fields
    # Obeys DFT-008.
    for column in columns:
        if not column.nullable or any(key in column.metadata for key in _COMPUTING_KEYS):
            raise ConstraintViolation(
                f"column {column.name} is new, so that existing rows have null in it: it can be "
                "neither not null nor generated nor have a default yet",
                requirement="SCH-025",
            )
    transaction = _begin(snapshot, "ADD COLUMNS", [f.name for f in columns])
    mode = transaction.target.table.mode
    configuration = dict(snapshot.metadata.configuration)
    if mode != "none":
        numbering = Numbering(highest_id(configuration, snapshot.schema))
        columns = tuple(numbering.annotate(column) for column in columns)
        configuration[MAX_ID_PROPERTY] = str(numbering.highest)

    def extend(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        return (*fields, *columns)

    schema = _inside(snapshot.schema, _parts(parent), extend)
    return _commit(transaction, schema, configuration=configuration)


def rename_column(snapshot: Snapshot, path: Path, name: str) -> int:
    """Rename a column or a nested field; column mapping must be on."""
    transaction = _begin(snapshot, "RENAME COLUMN", path)
    _require_mapping(transaction, "renamed")
    parts = _parts(path)
    _refuse_named(transaction, parts, "renamed")
    schema = _changed(snapshot.schema, parts, lambda column: replace(column, name=name))
    partition = tuple(name if parts == (n,) else n for n in snapshot.metadata.partition_columns)
    return _commit(transaction, schema, partition_columns=partition)


def drop_column(snapshot: Snapshot, path: Path) -> int:
    """Drop a column or a nested field; column mapping must be on.

    Raises:
        ConstraintViolation: the table is partitioned or clustered by the column.
    """
    transaction = _begin(snapshot, "DROP COLUMNS", path)
    _require_mapping(transaction, "dropped")
    parts = _parts(path)
    _refuse_named(transaction, parts, "dropped")
    for leaf in clustering_leaves(transaction.target, snapshot.domain_metadata):
        if leaf.path[: len(parts)] == parts:
            raise ConstraintViolation(f"column {'.'.join(parts)} clusters the table")
    if len(parts) == 1 and parts[0] in snapshot.metadata.partition_columns:
        raise ConstraintViolation(f"column {parts[0]} partitions the table")
    return _commit(transaction, _changed(snapshot.schema, parts, lambda _: None))


def reorder_columns(snapshot: Snapshot, names: Sequence[str]) -> int:
    """Put the columns into another order.

    Raises:
        SchemaMismatch: the names are not those of the columns, each once.
    """
    transaction = _begin(snapshot, "CHANGE COLUMN", names)
    fields = {f.name: f for f in snapshot.schema.fields}
    if sorted(names) != sorted(fields):
        raise SchemaMismatch("an order names every column once")
    return _commit(transaction, Struct(tuple(fields[name] for name in names)))


def change_type(snapshot: Snapshot, path: Path, wanted: str | DataType) -> int:
    """Widen the type of a column or a field; type widening must be enabled."""
    # Obeys TW-002 TW-003 TW-009 TW-006 TW-007 TW-008.
    transaction = _begin(snapshot, "CHANGE COLUMN", path)
    parts = _parts(path)
    of = parse_type(wanted) if isinstance(wanted, str) else wanted

    def widen(column: Field) -> Field:
        if column.type == VOID:
            return replace(column, type=of)
        if not transaction.target.active("typeWidening"):
            raise UnsupportedFeatures(
                ("typeWidening",),
                "the type of a column changes only where type widening is enabled",
                hint="set delta.enableTypeWidening to true first",
            )
        if not is_widening(column.type, of):
            raise SchemaMismatch(
                f"column {'.'.join(parts)} is {column.type}, which is not widened to {of}",
                requirement="TW-012",
            )
        change = {"fromType": to_json(column.type), "toType": to_json(of)}
        changes = [*column.metadata.get(TYPE_CHANGES_KEY, ()), change]
        return replace(column, type=of, metadata={**column.metadata, TYPE_CHANGES_KEY: changes})

    _refuse_named(transaction, parts, "widened")
    return _commit(transaction, _changed(snapshot.schema, parts, widen))


def set_nullable(snapshot: Snapshot, name: str, *, nullable: bool) -> int:
    """Make a column nullable, or not nullable.

    Raises:
        ConstraintViolation: a column that becomes not null has nulls.
    """
    transaction = _begin(snapshot, "CHANGE COLUMN", name)
    schema = _changed(snapshot.schema, (name,), lambda c: replace(c, nullable=nullable))
    if not nullable:
        for file in transaction.open_files():
            if file.take(file.live).column(name).null_count:
                raise ConstraintViolation(
                    f"column {name} has nulls", requirement="SCH-025", hint="delete or fill them"
                )
    return _commit(transaction, schema)


def set_comment(snapshot: Snapshot, name: str, comment: str) -> int:
    """Set the comment of a column; its other metadata stay."""
    # Obeys SCH-037.
    transaction = _begin(snapshot, "CHANGE COLUMN", name)
    given = {"comment": comment}
    schema = _changed(
        snapshot.schema, (name,), lambda c: replace(c, metadata={**c.metadata, **given})
    )
    return _commit(transaction, schema)


def set_default(snapshot: Snapshot, name: str, expression: str | None) -> int:
    """Set the default of a column for rows to come, or unset it."""
    transaction = _begin(snapshot, "CHANGE COLUMN", name)

    def change(column: Field) -> Field:
        if column.type == VARIANT and expression is not None:
            raise ConstraintViolation(
                f"column {name} is a variant, whose default is null", requirement="DFT-010"
            )
        kept = {k: v for k, v in column.metadata.items() if k != DEFAULT_KEY}
        default = {} if expression is None else {DEFAULT_KEY: expression}
        return replace(column, metadata={**kept, **default})

    return _commit(transaction, _changed(snapshot.schema, (name,), change))


def cluster_by(snapshot: Snapshot, paths: Sequence[Path]) -> int:
    """Cluster the table by columns from now on, by none where no column is given."""
    transaction = _begin(snapshot, "CLUSTER BY", [".".join(_parts(path)) for path in paths])
    define(transaction, snapshot.metadata, features=["clustering"])
    columns = named_leaves(transaction.target, [_parts(path) for path in paths])
    held = transaction.domains.get(CLUSTERING_DOMAIN)
    transaction.set_domain(clustering_domain(columns, held))
    # A file that is added concurrently may lack statistics.
    files = snapshot.adds()
    transaction.record_read(None, files)
    lacking = to_objects(without_statistics(files, columns))
    transaction.add(add_of(add, data_change=False) for add in lacking)
    return transaction.commit()


def _begin(snapshot: Snapshot, operation: str, about: Any) -> Transaction:
    parameters = {"columns": [about] if isinstance(about, str) else list(about)}
    return Transaction(snapshot, operation, parameters)


def _commit(transaction: Transaction, schema: Struct, **others: Any) -> int:
    """Commit metadata with another schema, and other fields as given."""
    base = transaction.base
    assert base is not None
    metadata = replace(base.metadata, schema_string=format_schema(schema), **others)
    define(transaction, metadata)
    return transaction.commit()


def _parts(path: Path) -> tuple[str, ...]:
    return (path,) if isinstance(path, str) else tuple(path)


def _inside(
    of: Struct, path: Sequence[str], change: Callable[[tuple[Field, ...]], tuple[Field, ...]]
) -> Struct:
    """Change the fields of the struct that a path leads to."""
    if not path:
        return Struct(change(of.fields))

    def deeper(column: Field) -> Field:
        inner = column.type
        match inner, list(path[1:]):
            case Struct(), rest:
                return replace(column, type=_inside(inner, rest, change))
            case Array(Struct() as element), ["element", *rest]:
                return replace(column, type=replace(inner, element=_inside(element, rest, change)))
            case Map(_, Struct() as value), ["value", *rest]:
                return replace(column, type=replace(inner, value=_inside(value, rest, change)))
            case _:
                raise UnknownColumn(f"{column.name!r} has no fields to change", stage="commit")

    return _changed(of, (path[0],), deeper)


def _changed(of: Struct, path: Sequence[str], change: Callable[[Field], Field | None]) -> Struct:
    """Change the column or field that a path leads to, or drop it where the change is ``None``."""
    # Obeys SCH-037.

    def one(fields: tuple[Field, ...]) -> tuple[Field, ...]:
        if all(f.name != path[-1] for f in fields):
            raise UnknownColumn(
                f"there is no column {'.'.join(path)!r}",
                stage="commit",
                hint="columns: " + ", ".join(f.name for f in fields),
            )
        changed = (change(f) if f.name == path[-1] else f for f in fields)
        left = tuple(f for f in changed if f is not None)
        if not left:
            raise ConstraintViolation(f"{'.'.join(path)} is the only column there")
        return left

    return _inside(of, path[:-1], one)


def _require_mapping(transaction: Transaction, verb: str) -> None:
    if transaction.target.table.mode == "none":
        raise InvalidColumnMapping(
            f"columns are {verb} only where column mapping is on",
            stage="commit",
            hint="set delta.columnMapping.mode to name first",
            requirement="CM-008",
        )


def _refuse_named(transaction: Transaction, path: Sequence[str], verb: str) -> None:
    """Refuse to change a column that an expression of the table uses."""
    rules = rules_of(transaction.target)
    for rule in (*rules.checks.values(), *rules.generated.values()):
        if path[0] in rule.columns:
            raise ConstraintViolation(
                f"column {path[0]} cannot be {verb}: the table has the rule {rule.text[:200]!r}"
            )
