"""Scans: from the live files of a snapshot to rows in the table's types.

Implements "Reader Requirements" of every feature that changes how rows are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reference_impl.deletion_vectors import VectorStore
from reference_impl.errors import UnknownColumn
from reference_impl.limits import budget, within_limits
from reference_impl.scan.reader import FileReader, file_tasks, kept_within, threads_for
from reference_impl.scan.row_tracking import RowTracking
from reference_impl.storage.threads import in_order
from reference_impl.types.model import Field, Struct

if TYPE_CHECKING:
    from reference_impl.snapshot.snapshot import Snapshot


def scan(
    snapshot: Snapshot,
    *,
    columns: Sequence[str] | None = None,
    filter: Mapping[str, Any] | str | None = None,
    row_ids: bool = False,
) -> pa.Table:
    """Read the rows of a version, as :func:`~reference_impl.read.read_table` says."""
    with within_limits(snapshot.limits, "scan"):
        return _scan(snapshot, columns, filter, row_ids=row_ids)


def _scan(
    snapshot: Snapshot,
    columns: Sequence[str] | None,
    filter: Mapping[str, Any] | str | None,
    *,
    row_ids: bool,
) -> pa.Table:
    table = snapshot.table
    if columns is not None and not columns and table.columns.fields:
        # Arrow counts rows by their columns: one is read, and dropped.
        first = list(table.columns.names[:1])
        return _scan(snapshot, first, filter, row_ids=row_ids).drop_columns(first)
    wanted = project(table.columns, columns)
    predicate = None
    tested: set[str] = set()
    files = snapshot.adds()
    if filter is not None:
        # Most reads have no filter, and load nothing of it.
        from reference_impl.filters import bind_filter, columns_of
        from reference_impl.scan.skipping import may_match

        predicate = bind_filter(filter, table.columns)
        tested = {path[0] for path in columns_of(predicate)} - {f.name for f in wanted}
        files = files.filter(may_match(files, predicate, table))
    reader = FileReader(
        snapshot.storage,
        table,
        wanted,
        VectorStore(snapshot.storage),
        predicate,
        [f for f in table.columns.fields if f.name in tested],
        RowTracking.of(snapshot.protocol, snapshot.metadata) if row_ids else None,
    )
    needed = [*wanted, *reader.predicate_columns]
    partition = [f for f in needed if f.name in table.partition_names]
    tasks = file_tasks(files, partition, table.mode)

    with budget().account.holding() as hold:
        reads = in_order(
            lambda task: list(kept_within(hold, reader.read(task), task.path)),
            tasks,
            threads_for(files),
        )
        batches = [batch for found in reads for batch in found]
    return pa.Table.from_batches(batches, schema=reader.schema)


def project(schema: Struct, columns: Sequence[str] | None) -> list[Field]:
    """Choose top-level columns by name, without regard to case.

    Raises:
        UnknownColumn: the schema has no such column, or one is asked for twice.
    """
    if columns is None:
        return list(schema.fields)
    folded = {f.name.lower(): f for f in schema.fields}
    chosen: dict[str, Field] = {}
    for name in columns:
        column = folded.get(name.lower())
        if column is None:
            raise UnknownColumn(
                f"the table has no column {name!r}", hint="columns: " + ", ".join(schema.names)
            )
        if column.name in chosen:
            raise UnknownColumn(f"column {name!r} is asked for twice")
        chosen[column.name] = column
    return list(chosen.values())
