"""Read logical files into batches of rows, and several of them at a time.

A row's position in its data file is computed before any row is dropped: deletion vectors and
row ids refer to physical rows, before projection and filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.deletion_vectors import Bitmap, VectorStore
from reference_impl.model.column_mapping import Mode
from reference_impl.places import decode_path
from reference_impl.scan.data_file import at_file, read_batches
from reference_impl.scan.row_tracking import ROW_TRACKING_SCHEMA, RowTracking
from reference_impl.snapshot.table_schema import TableSchema, partition_column
from reference_impl.storage import Storage
from reference_impl.storage.threads import MAX_THREADS
from reference_impl.types.arrow import arrow_field
from reference_impl.types.model import Field

if TYPE_CHECKING:
    from reference_impl.filters import Node

_MIN_THREADED_BYTES: Final = 4 << 20
"""Bytes of data files below which threads cost more than they save."""


@dataclass(frozen=True, slots=True)
class FileTask:
    """One logical file to read.

    Attributes:
        path: decoded; relative to the table root, absolute, or a URL.
        partition: logical column name to a typed Arrow scalar.
        deletion_vector: the descriptor, in wire form: rows that are left out.
        base_row_id: ``baseRowId``.
        default_row_commit_version: ``defaultRowCommitVersion``.
        only: another descriptor: rows that alone are read; ``None`` for all rows.
    """

    path: str
    partition: Mapping[str, pa.Scalar]
    deletion_vector: Mapping[str, Any] | None
    base_row_id: int | None
    default_row_commit_version: int | None
    only: Mapping[str, Any] | None = None


def file_tasks(files: pa.Table, partition: Sequence[Field], mode: Mode) -> Iterator[FileTask]:
    """Return the task of each file action, in order.

    Args:
        files: add actions in wire columns.
        partition: the partition columns whose values are wanted.
        mode: the column mapping mode, by which partition values have logical or physical names.

    Raises:
        InvalidPartitionValue: see :func:`partition_column`.
        InvalidAction: a path cannot be decoded.
    """
    # Obeys SNAP-003 SNAP-007 DATA-003.
    typed = {f.name: partition_column(files, f, mode) for f in partition}
    wanted = ("path", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    rows = files.select([c for c in wanted if c in files.column_names]).to_pylist()
    for at, row in enumerate(rows):
        yield FileTask(
            decode_path(row["path"]),
            {name: values[at] for name, values in typed.items()},
            row.get("deletionVector"),
            row.get("baseRowId"),
            row.get("defaultRowCommitVersion"),
        )


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads logical files of one table version; safe to use from several threads.

    Attributes:
        storage: the table's storage.
        table: its schema, which says what comes from the log, and how columns are found in files.
        columns: the columns to give, partition columns among them.
        vectors: loads deletion vectors.
        predicate: keeps the rows for which it is true.
        predicate_columns: columns that only the predicate reads.
        tracking: adds row ids and row commit versions.
        extra: further columns to give, which no schema lists: found by name in data files.
    """

    storage: Storage
    table: TableSchema
    columns: Sequence[Field]
    vectors: VectorStore
    predicate: Node | None = None
    predicate_columns: Sequence[Field] = ()
    tracking: RowTracking | None = None
    extra: Sequence[Field] = ()

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        fields = [arrow_field(f) for f in (*self.columns, *self.extra)]
        return pa.schema(fields + (list(ROW_TRACKING_SCHEMA) if self.tracking else []))

    def read(self, task: FileTask) -> Iterator[pa.RecordBatch]:
        """Return the rows of a logical file, in physical order.

        Raises:
            DeltaError: as :meth:`read_physical`.
        """
        for batch, kept in self.read_physical(task):
            yield batch if kept is None else batch.filter(kept)

    def read_physical(
        self, task: FileTask
    ) -> Iterator[tuple[pa.RecordBatch, pa.BooleanArray | None]]:
        """Return every physical row of a logical file, and the mask of those that are kept.

        A deletion vector may contain rows beyond the end of the file, which are ignored. The
        mask is ``None`` where all rows are kept.

        Raises:
            LimitExceeded: the file takes more than the limits allow.
            DataFileNotFound: the data file is missing.
            InvalidDataFile: the data file is damaged, or does not hold the columns' types.
            DeletionVectorNotFound: the file of the deletion vector is missing.
            InvalidDeletionVector: the deletion vector is malformed.
        """
        # Obeys DVDESC-020 DVDESC-021.
        deleted = self._vector(task.deletion_vector, task)
        only = self._vector(task.only, task)
        read = [*self.columns, *self.predicate_columns]
        logged = self.table.partition_names
        stored = [f for f in read if f.name not in logged]
        hidden = [*self.extra, *(self.tracking.hidden if self.tracking else ())]
        given = pa.schema([arrow_field(f) for f in read])
        schema = self.schema
        for start, length, arrays in read_batches(
            self.storage,
            task.path,
            stored,
            self.table.mode,
            hidden,
            width=sum(pa.repeat(value, 1).nbytes for value in task.partition.values()),
            kept=partial(_selection, deleted, only),
        ):
            found = iter(arrays)
            columns = [
                pa.repeat(task.partition[f.name], length) if f.name in logged else next(found)
                for f in read
            ]
            kept = _selection(deleted, only, start, length)
            if self.predicate is not None:
                from reference_impl.filters import evaluate

                with at_file(task.path):
                    rows = pa.RecordBatch.from_arrays(columns, schema=given)
                    chosen = evaluate(self.predicate, rows)
                kept = chosen if kept is None else pc.and_(kept, chosen)
                columns = columns[: len(self.columns)]
            columns += [next(found) for _ in self.extra]
            if self.tracking is not None:
                columns += self.tracking.columns(
                    list(found), start, length, task.base_row_id, task.default_row_commit_version
                )
            yield pa.RecordBatch.from_arrays(columns, schema=schema), kept

    def _vector(self, wire: Mapping[str, Any] | None, task: FileTask) -> Bitmap | None:
        # Obeys DV-004.
        return None if wire is None else self.vectors.load(wire, task.path)


def kept_within(
    hold: Callable[[int, str], None], batches: Iterable[pa.RecordBatch], path: str
) -> Iterator[pa.RecordBatch]:
    """Yield batches that the caller keeps, and count their memory.

    Raises:
        LimitExceeded: they are more than the limit on memory allows.
    """
    with at_file(path):
        for batch in batches:
            hold(batch.nbytes, "what is read")
            yield batch


def _selection(
    deleted: Bitmap | None, only: Bitmap | None, start: int, length: int
) -> pa.BooleanArray | None:
    kept = None if deleted is None else deleted.kept(start, length)
    if only is None:
        return kept
    others = only.kept(start, length)
    if others is None:
        return pa.repeat(pa.scalar(False), length)  # noqa: FBT003  a value
    chosen = pc.invert(others)
    return chosen if kept is None else pc.and_(kept, chosen)


def threads_for(files: pa.Table) -> int:
    """Return how many threads are worth starting to read files; 1 for none besides the caller."""
    if files.num_rows < 2 or (pc.sum(files["size"]).as_py() or 0) < _MIN_THREADED_BYTES:
        return 1
    return min(int(files.num_rows), MAX_THREADS)
