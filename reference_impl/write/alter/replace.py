"""Replace a table by one of other columns and rows.

Implements "Change Metadata" and what "Writer Requirements for IcebergCompatV1" and V2 say of
replacing. The table keeps its id, its protocol and its properties; columns are new ones, even
those of names that were there before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow as pa

from reference_impl.errors import InvalidMetadata
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.types.model import Struct
from reference_impl.types.schema import format_schema
from reference_impl.write.alter.create import TableDefinition, check_definition
from reference_impl.write.alter.definition import define
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.features.mapping import MAX_ID_PROPERTY, Numbering, highest_id
from reference_impl.write.features.target import Target
from reference_impl.write.files.clustering import clustering_domain
from reference_impl.write.rows.changes import Changes
from reference_impl.write.rows.incoming import prepare

_BLOCKS: Final = (("icebergCompatV1", "ICE1-011"), ("icebergCompatV2", "ICE2-019"))
"""Features under which partition columns keep their names, and the requirement that says so."""


def replace_table(snapshot: Snapshot, wanted: TableDefinition, rows: pa.Table | None) -> int:
    """Carry out :meth:`~reference_impl.table.Table.replace`."""
    check_definition(wanted)
    names = tuple(wanted.partition_columns)
    transaction = Transaction(snapshot, "REPLACE TABLE", {"partitionBy": list(names)})
    schema, configuration = _numbered(wanted.schema, transaction.read_target)
    metadata = replace(
        snapshot.metadata,
        schema_string=format_schema(schema),
        partition_columns=names,
        configuration=configuration,
    )
    transaction.remove_all()
    # The existing rows are removed, so that they are not checked against new rules.
    define(transaction, metadata, wanted.properties, wanted.features, rows_stay=False)
    _check_partitioning(transaction.read_target, transaction.target)
    if transaction.target.supports("clustering"):
        transaction.set_domain(clustering_domain((), None))
    if rows is not None:
        changes = Changes(transaction)
        changes.insert(prepare(transaction, rows))
        changes.finish()
    return transaction.commit()


def _numbered(schema: Struct, before: Target) -> tuple[Struct, dict[str, str]]:
    """Assign unused ids to the columns of a mapped table, and return the properties too."""
    configuration = dict(before.configuration)
    if before.table.mode == "none":
        return schema, configuration
    numbering = Numbering(highest_id(configuration, before.schema))
    columns = tuple(numbering.annotate(column) for column in schema.fields)
    return Struct(columns), {**configuration, MAX_ID_PROPERTY: str(numbering.highest)}


def _check_partitioning(before: Target, after: Target) -> None:
    """Refuse partition columns of other names where Iceberg compatibility blocks them."""
    held = before.metadata.partition_columns
    if not held or held == after.metadata.partition_columns:
        return
    for feature, requirement in _BLOCKS:
        if before.active(feature) or after.active(feature):
            raise InvalidMetadata(
                f"{feature} is active: a table that {', '.join(held)} partition is not replaced "
                f"by one with other partition columns",
                stage="commit",
                requirement=requirement,
            )
