"""The live files of a version with all physical rows, for writers.

Implements the writer requirements of "Deletion Vectors" and "Row Tracking". A reader gets rows; a
writer that deletes or updates needs to know where in which file each of them is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from reference_impl.deletion_vectors import VectorStore
from reference_impl.limits import budget
from reference_impl.scan.reader import FileReader, FileTask, file_tasks, kept_within
from reference_impl.scan.row_tracking import RowTracking
from reference_impl.storage import Storage
from reference_impl.write.features.target import Target
from reference_impl.write.predicates import Predicate

Mask = npt.NDArray[np.bool_]
"""A mask of the physical rows of a file."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """One logical file with its rows.

    Attributes:
        add: its add action, a table of one row in wire columns.
        rows: every physical row, deleted ones too: the table's columns, and row ids and commit
            versions where the table has them.
        live: which of the rows are not deleted.
    """

    add: pa.Table
    rows: pa.Table
    live: Mask

    @property
    def vector(self) -> dict[str, Any] | None:
        """The descriptor of its deletion vector, in wire form."""
        found: dict[str, Any] | None = self.add.column("deletionVector")[0].as_py()
        return found

    def matching(self, predicate: Predicate | None) -> Mask:
        """Return the mask of live rows for which a predicate is true; all for ``None``."""
        if predicate is None:
            return self.live
        chosen = self.live.copy()
        chosen[chosen] = predicate.holds(self.take(self.live))
        return chosen

    def take(self, mask: Mask) -> pa.Table:
        """Return the rows of a mask."""
        return self.rows if mask.all() else self.rows.filter(pa.array(mask))


def live_files(storage: Storage, target: Target, adds: pa.Table) -> Iterator[LiveFile]:
    """Read files one after the other, given as add actions in wire columns.

    Raises:
        NotFoundError: a data file or deletion vector is gone.
        InvalidTableError: a file is damaged or does not hold the table's columns.
    """
    table, tracked = target.table, target.supports("rowTracking")
    reader = FileReader(
        storage,
        table,
        table.columns.fields,
        VectorStore(storage),
        tracking=RowTracking.of(target.protocol, target.metadata) if tracked else None,
    )
    for number, task in enumerate(file_tasks(adds, table.partition_columns, table.mode)):
        masks: list[Mask] = []
        with budget().account.holding() as hold:
            batches = kept_within(hold, _batches(reader, task, masks), task.path)
            rows = pa.Table.from_batches(batches, reader.schema)
            live = np.concatenate([np.ones(0, np.bool_), *masks])
            yield LiveFile(adds.slice(number, 1), rows, live)


def _batches(reader: FileReader, task: FileTask, masks: list[Mask]) -> Iterator[pa.RecordBatch]:
    for batch, kept in reader.read_physical(task):
        masks.append(np.ones(batch.num_rows, np.bool_) if kept is None else np.asarray(kept))
        yield batch
