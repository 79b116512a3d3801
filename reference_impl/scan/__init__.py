"""Scans: from the live files of a snapshot to rows in the table's types.

Serves "Reader Requirements" of every feature that changes how rows are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from reference_impl.errors import UnknownColumn
from reference_impl.scan.reader import FileReader, in_order
from reference_impl.scan.tasks import TableSchema, file_tasks, table_schema
from reference_impl.types.model import Field

if TYPE_CHECKING:
    from reference_impl.snapshot import Snapshot

__all__ = ["scan"]


def scan(snapshot: Snapshot, *, columns: Sequence[str] | None = None) -> pa.Table:
    """Read the rows of a version.

    Rows come in the order of the live files, and inside a file in physical order.

    Args:
        snapshot: the version.
        columns: top-level columns to give, in this order; all when ``None``.

    Raises:
        DeltaError: a subclass that says what is wrong with the table, or with the request.

    """
    table = table_schema(snapshot.protocol, snapshot.metadata)
    wanted = _projection(table, columns)
    reader = FileReader(snapshot.storage, wanted, table.partition_names, table.mode)
    partition = [f for f in wanted if f.name in table.partition_names]
    tasks = file_tasks(snapshot.adds(), partition, table.mode)
    batches = [
        batch for read in in_order(lambda task: list(reader.read(task)), tasks) for batch in read
    ]
    return pa.Table.from_batches(batches, schema=reader.schema)


def _projection(table: TableSchema, columns: Sequence[str] | None) -> list[Field]:
    if columns is None:
        return list(table.columns.fields)
    known = {f.name.lower(): f for f in table.columns.fields}
    chosen: dict[str, Field] = {}
    for name in columns:
        column = table.columns.get(name) or known.get(name.lower())
        if column is None or column.name in chosen:
            raise UnknownColumn(
                f"the table has no column {name!r}"
                if column is None
                else f"{name!r} is asked twice",
                hint="columns: " + ", ".join(table.columns.names),
            )
        chosen[column.name] = column
    return list(chosen.values())
