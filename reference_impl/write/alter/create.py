"""Create tables (sections Delta Log Entries, Change Metadata, Protocol Evolution)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson
import pyarrow as pa

from reference_impl.errors import CommitConflict, InvalidMetadata, InvalidSchema, SchemaMismatch
from reference_impl.log.names import LOG_DIR, parse_name
from reference_impl.model.actions import Format, Metadata
from reference_impl.storage import Storage
from reference_impl.types.arrow import from_arrow
from reference_impl.types.model import VARIANT, VOID, Array, Map, Struct
from reference_impl.types.schema import format_schema, parse_schema
from reference_impl.write.alter.definition import define
from reference_impl.write.clock import now
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.files.clustering import clustering_domain, named_leaves
from reference_impl.write.rows.changes import Changes
from reference_impl.write.rows.incoming import prepare

Schema: TypeAlias = Struct | pa.Schema | Mapping[str, Any] | str
"""A table schema as callers give it: our own, Arrow's, or the table's JSON."""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """The definition of a table.

    Attributes:
        schema: the table schema.
        partition_columns: names of columns, in order.
        properties: table properties; ``delta.feature.<name>`` and the two minimal versions ask
            for features and are not stored.
        features: further features to support.
        clustering_columns: columns that cluster the table; paths of logical names.
    """

    schema: Struct
    partition_columns: Sequence[str]
    properties: Mapping[str, str]
    features: Iterable[str]
    clustering_columns: Sequence[Sequence[str]]

    def metadata(self) -> Metadata:
        """Return the metaData action of a new table, its properties not yet set."""
        # Obeys META-013.
        return Metadata(
            id=str(uuid.uuid4()),
            format=Format("parquet"),
            schema_string=format_schema(self.schema),
            partition_columns=tuple(self.partition_columns),
            configuration={},
            created_time=now(),
        )


def read_schema(schema: Schema) -> Struct:
    """Read a schema in any of its forms.

    Raises:
        InvalidSchema: it breaks a rule of the serialization format.
        UnsupportedType: it has a type that no Delta type can hold.
    """
    match schema:
        case Struct():
            return parse_schema(format_schema(schema))
        case pa.Schema():
            return from_arrow(schema)
        case str():
            return parse_schema(schema)
        case _:
            try:
                text = orjson.dumps(schema).decode()
            except orjson.JSONEncodeError as error:
                raise InvalidSchema(f"the schema cannot be written as JSON: {error}") from error
            return parse_schema(text)


def definition_of(
    schema: Schema,
    partition_columns: Iterable[str],
    properties: Mapping[str, str] | None,
    features: Iterable[str] = (),
    clustering_columns: Iterable[str | Sequence[str]] = (),
) -> TableDefinition:
    """Return the definition of a table as :class:`~reference_impl.table.Table` is given it."""
    return TableDefinition(
        read_schema(schema),
        tuple(partition_columns),
        dict(properties or {}),
        tuple(features),
        [[each] if isinstance(each, str) else list(each) for each in clustering_columns],
    )


def create_table(storage: Storage, wanted: TableDefinition, rows: pa.Table | None) -> int:
    """Create a table, with its first rows if there are any, and return the version: 0.

    Raises:
        CommitConflict: there is a table already.
        DeltaError: another subclass that says what is wrong with the definition or the rows.
    """
    refuse_existing(storage)
    check_definition(wanted)
    transaction = Transaction(
        storage,
        "CREATE TABLE" if rows is None else "CREATE TABLE AS SELECT",
        {"partitionBy": list(wanted.partition_columns), "properties": dict(wanted.properties)},
    )
    clustered = ("clustering",) if wanted.clustering_columns else ()
    features = (*wanted.features, *clustered)
    define(transaction, wanted.metadata(), wanted.properties, features)
    if clustered:
        columns = named_leaves(transaction.target, wanted.clustering_columns)
        transaction.set_domain(clustering_domain(columns, None))
    if rows is not None:
        changes = Changes(transaction)
        changes.insert(prepare(transaction, rows))
        changes.finish()
    return transaction.commit()


def refuse_existing(storage: Storage) -> None:
    """Refuse a storage whose log has a file.

    Raises:
        CommitConflict: there is a table already.
    """
    if any(parse_name(entry.name) for entry in storage.list_from(LOG_DIR)):
        raise CommitConflict("there is a table at this place already", version=0)


def check_definition(wanted: TableDefinition) -> None:
    """Refuse a definition whose columns cannot be stored.

    Raises:
        InvalidMetadata: a partition column is not in the schema, or is repeated.
        SchemaMismatch: no column would be left for files.
    """
    # Obeys VAR-006.
    schema, names = wanted.schema, wanted.partition_columns
    for name in names:
        column = schema.get(name)
        nested = column is None or isinstance(column.type, Struct | Array | Map)
        if column is None or nested or column.type in (VOID, VARIANT):
            raise InvalidMetadata(
                f"{name!r} cannot partition the table: it is no column of the schema, nested, "
                "void or a variant",
                stage="commit",
                requirement="META-009",
            )
    if len(set(names)) != len(names):
        raise InvalidMetadata(
            "a partition column is listed twice", stage="commit", requirement="META-009"
        )
    if schema.fields and len(names) == len(schema.fields):
        raise SchemaMismatch(
            "every column partitions the table, so that its files would have none",
            hint="leave at least one column out of the partitioning",
        )
