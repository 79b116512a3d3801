"""The live files of a version as a writer sees them: whole, with physical positions.

Serves the writer requirements of "Deletion Vectors" and "Row Tracking". A reader gets rows; a
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
from reference_impl.filters import Node
from reference_impl.limits import budget
from reference_impl.scan.data_file import Kept, read_batches
from reference_impl.scan.reader import kept_within
from reference_impl.scan.row_tracking import ROW_TRACKING_SCHEMA, RowTracking
from reference_impl.scan.skipping import may_match
from reference_impl.scan.tasks import FileTask, file_tasks
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.types.arrow import arrow_field
from reference_impl.write.files.conditions import Condition
from reference_impl.write.files.target import Target

__all__ = ["LiveFile", "LiveFiles", "Mask"]

Mask = npt.NDArray[np.bool_]
"""One truth per physical row of a file."""


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
        """The descriptor of its deletion vector, in wire spelling."""
        found: dict[str, Any] | None = self.add.column("deletionVector")[0].as_py()
        return found

    def matching(self, condition: Condition | None) -> Mask:
        """Tell which live rows a condition is true for; all of them for ``None``."""
        if condition is None or not self.live.any():
            return self.live
        chosen = self.live.copy()
        chosen[chosen] = condition.holds(self.take(self.live))
        return chosen

    def take(self, mask: Mask) -> pa.Table:
        """Give the rows of a mask."""
        return self.rows if mask.all() else self.rows.filter(pa.array(mask))


class LiveFiles:
    """Opens the files of a version."""

    def __init__(self, snapshot: Snapshot, target: Target) -> None:
        """Bind to a version and the schema to read it under."""
        self._snapshot = snapshot
        self._target = target
        self._vectors = VectorStore(snapshot.storage)
        tracked = target.supports("rowTracking")
        self._tracking = RowTracking.of(target.protocol, target.metadata) if tracked else None

    def candidates(self, condition: Node | None) -> pa.Table:
        """Give the add actions of the files that may hold rows for which a condition is true."""
        adds = self._snapshot.adds()
        return adds if condition is None else adds.filter(may_match(adds, condition, self.table))

    @property
    def table(self) -> Any:
        """The schema, the partition columns and how files know columns."""
        return self._target.table

    def open(self, adds: pa.Table) -> Iterator[LiveFile]:
        """Read files one after the other, given as add actions in wire columns.

        Raises:
            NotFoundError: a data file or deletion vector is gone.
            InvalidTableError: a file is damaged or does not hold the table's columns.

        """
        table, tracking = self._target.table, self._tracking
        fields = [arrow_field(f) for f in table.columns.fields]
        schema = pa.schema(fields + (list(ROW_TRACKING_SCHEMA) if tracking is not None else []))
        for number, task in enumerate(file_tasks(adds, table.partition_columns, table.mode)):
            with budget().account.holding() as hold:
                kept = self._kept(task)
                rows = pa.Table.from_batches(
                    list(kept_within(hold, self._batches(task, kept, schema), task.path)), schema
                )
                live = np.ones(rows.num_rows, np.bool_)
                mask = kept(0, rows.num_rows)
                if mask is not None:
                    live = np.asarray(mask.to_numpy(zero_copy_only=False), np.bool_)
                yield LiveFile(adds.slice(number, 1), rows, live)

    def _batches(self, task: FileTask, kept: Kept, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        table, tracking = self._target.table, self._tracking
        stored = [f for f in table.columns.fields if f.name not in table.partition_names]
        hidden = tracking.hidden if tracking is not None else []
        for start, length, arrays in read_batches(
            self._snapshot.storage, task.path, stored, table.mode, hidden, kept=kept
        ):
            found = iter(arrays)
            columns = [
                pa.repeat(task.partition[f.name], length)
                if f.name in table.partition_names
                else next(found)
                for f in table.columns.fields
            ]
            if tracking is not None:
                columns += tracking.columns(
                    list(found), start, length, task.base_row_id, task.default_row_commit_version
                )
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def _kept(self, task: FileTask) -> Kept:
        if task.deletion_vector is None:
            return lambda _start, _length: None
        return self._vectors.load(task.deletion_vector, task.path).kept
