"""Write row changes: as new files, rewritten files or deletion vectors.

Implements the writer requirements of "Deletion Vectors", "Change Data Files" and "Row Tracking".
Operations say which rows of which file are deleted, updated and inserted; this module turns
that into actions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.limits import budget
from reference_impl.scan.cdf import refuse_names
from reference_impl.scan.row_tracking import ROW_TRACKING_SCHEMA
from reference_impl.types.arrow import arrow_schema, with_fields
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.features.row_ids import materialized_columns
from reference_impl.write.features.target import Target
from reference_impl.write.files.clustering import (
    CLUSTERING_DOMAIN,
    PROVIDER,
    clustering_leaves,
    sorted_by,
)
from reference_impl.write.files.data_files import FileWriter
from reference_impl.write.files.live_files import LiveFile, Mask
from reference_impl.write.files.vectors import write_vectors

_CHANGE_TYPE: Final = "_change_type"
_CHANGE_FOLDER: Final = "_change_data/"
_CDC_FIELDS: Final = ("path", "partitionValues", "size", "dataChange")


@dataclass(slots=True)
class Changes:
    """The row changes of one transaction.

    Masks are over the physical rows of a file, deleted ones included.

    Attributes:
        transaction: where the actions are staged.
        data_change: whether rows change, and are not only moved.
        clusters: whether the files that are written are sorted by the clustering columns.
    """

    transaction: Transaction
    data_change: bool = True
    clusters: bool = False
    _fresh: list[pa.Table] = field(default_factory=list)
    _feed: list[pa.Table] = field(default_factory=list)
    _vectors: list[tuple[LiveFile, Mask]] = field(default_factory=list)
    _needs_feed: bool = False

    def insert(self, rows: pa.Table) -> None:
        """Add rows in the table's columns and types."""
        self._fresh.append(self._with_row_tracking(rows))
        self._record("insert", rows)

    def delete(self, file: LiveFile, chosen: Mask) -> None:
        """Delete the rows of a mask from a file."""
        self._record("delete", file.take(chosen))
        self._delete_rows(file, chosen)

    def move(self, file: LiveFile) -> None:
        """Move the live rows of a file into a new file, and remove it."""
        # Obeys FA-017.
        self._keep(file.take(file.live))
        self.transaction.remove(file.add, data_change=self.data_change)

    def update(self, file: LiveFile, chosen: Mask, rows: pa.Table) -> None:
        """Replace the ``chosen`` rows of a file by others, given in the same order."""
        self.change(file, chosen, rows, np.zeros_like(chosen))

    def change(self, file: LiveFile, chosen: Mask, rows: pa.Table, gone: Mask) -> None:
        """Replace the ``chosen`` rows of a file as :meth:`update`, and delete the ``gone`` ones."""
        before = file.take(chosen)
        budget().account.take(rows.nbytes, "what is kept to be written")
        self._record("update_preimage", before)
        self._record("update_postimage", rows)
        self._record("delete", file.take(gone))
        self._fresh.append(self._with_row_tracking(rows, before))
        # A reader would take a replaced row for a deleted and an inserted one.
        self._needs_feed = True
        self._delete_rows(file, chosen | gone)

    def commit(self) -> int:
        """Finish and commit; returns the version, the latest where there is nothing to commit."""
        if self.transaction.is_empty and not self._fresh:
            assert self.transaction.base is not None
            return int(self.transaction.base.version)
        self.finish()
        return self.transaction.commit()

    def finish(self) -> None:
        """Write the files and stage the actions; where that fails no file is left."""
        with self.transaction.cleanup_on_failure():
            self._finish()

    def _finish(self) -> None:
        transaction = self.transaction
        target = transaction.target
        if self._feed and self._needs_feed:
            refuse_names(target.schema.names, (_CHANGE_TYPE,))
        columns = clustering_leaves(target, transaction.domains)
        if columns:
            # A change of the clustering columns needs statistics of these files as well.
            transaction.read_write_set.domains.add(CLUSTERING_DOMAIN)
        writer = partial(FileWriter, transaction.storage, target, created=transaction.created)
        if self._fresh:
            rows = _stack(self._fresh, target)
            rows = sorted_by(rows, columns) if self.clusters else rows
            extra = self._extra if target.active("rowTracking") else ()
            provider = PROVIDER if self.clusters else None
            files = writer(self.data_change, extra, clustered=columns, provider=provider)
            transaction.add(files.write(rows))
        if self._vectors:
            vectors = write_vectors(transaction.storage, self._vectors, transaction.created)
            transaction.add(vectors)
        if self._feed and self._needs_feed:
            # Obeys CDFF-002.
            extra = [pa.field(_CHANGE_TYPE, pa.string())]
            feed = writer(data_change=False, extra=extra, folder=_CHANGE_FOLDER)
            written = feed.write(pa.concat_tables(self._feed))
            transaction.add_changes({name: add[name] for name in _CDC_FIELDS} for add in written)

    @property
    def _extra(self) -> list[pa.Field]:
        target = self.transaction.target
        names = materialized_columns(target.configuration, target.schema, target.table.mode)
        return [pa.field(name, pa.int64()) for name in names]

    def _delete_rows(self, file: LiveFile, chosen: Mask) -> None:
        """Delete rows of a file: rewrite it, or mark them in a vector."""
        kept = file.live & ~chosen
        self.transaction.remove(file.add)
        if not kept.any():
            return
        self._needs_feed = True
        if self.transaction.target.active("deletionVectors"):
            self._vectors.append((file, ~kept))
            return
        self._keep(file.take(kept))

    def _keep(self, rows: pa.Table) -> None:
        budget().account.take(rows.nbytes, "what is kept to be written")
        self._fresh.append(self._with_row_tracking(rows, rows, rows))

    def _with_row_tracking(
        self, rows: pa.Table, ids: pa.Table | None = None, versions: pa.Table | None = None
    ) -> pa.Table:
        """Return rows with the ids and commit versions of others; null for new rows."""
        # Obeys RT-004 RT-020 RT-047 RT-048 RT-049 RT-050 RT-051 RT-052.
        target = self.transaction.target
        rows = rows.select(list(target.schema.names))
        if not target.active("rowTracking"):
            return rows
        given = zip(self._extra, (ids, versions), ROW_TRACKING_SCHEMA.names, strict=True)
        for column, held, name in given:
            # Rows of a version before the feature have neither.
            if held is not None and name in held.column_names:
                rows = rows.append_column(column, held.column(name))
            else:
                rows = rows.append_column(column, [pa.nulls(rows.num_rows, pa.int64())])
        return rows

    def _record(self, change: str, rows: pa.Table) -> None:
        # Obeys CDC-012 CDC-001 CDFF-001 CDFF-007.
        target = self.transaction.target
        if not target.active("changeDataFeed"):
            return
        rows = _typed(rows.select(list(target.schema.names)), arrow_schema(target.schema))
        column = pa.repeat(pa.scalar(change), rows.num_rows)
        if change != "insert":  # inserted rows are the caller's own
            budget().account.take(rows.nbytes, "what is kept to be written")
        self._feed.append(rows.append_column(_CHANGE_TYPE, column))


def _stack(parts: list[pa.Table], target: Target) -> pa.Table:
    """Put rows one below the other, in the table's types, with the columns that follow its own."""
    schema = pa.schema(
        [*arrow_schema(target.schema), *list(parts[0].schema)[len(target.schema.fields) :]]
    )
    return pa.concat_tables([_typed(part, schema) for part in parts])


def _typed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the types of a schema."""
    columns = [
        pa.chunked_array(list(map(_fill_below_nulls, column.chunks)), column.type).cast(each.type)
        for column, each in zip(rows.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _has_required(of: pa.DataType) -> bool:
    """Return whether a struct, or one in it, has a field without nulls."""
    return pa.types.is_struct(of) and any(not f.nullable or _has_required(f.type) for f in of)


def _fill_below_nulls(values: pa.Array) -> pa.Array:
    """Fill the non-nullable fields of a struct below its nulls.

    The values are invisible; Arrow refuses a null of such a field even below a null.
    """
    if not _has_required(values.type):
        return values
    absent, parts = values.is_null(), []
    for at, each in enumerate(values.type):
        part = values.field(at)
        if not each.nullable and part.null_count:
            filler = pa.array([None], pa.struct([each])).field(0)[0]
            part = pc.if_else(absent, filler, part)
        parts.append(_fill_below_nulls(part))
    return with_fields(values, parts, list(values.type))
