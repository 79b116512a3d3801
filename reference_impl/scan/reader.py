"""Read the tasks of a scan into one Arrow table, in order, on a few threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from reference_impl.column_mapping import Mode
from reference_impl.scan.data_file import read_batches
from reference_impl.scan.tasks import FileTask
from reference_impl.storage import Storage
from reference_impl.types.arrow import arrow_field
from reference_impl.types.model import Field

__all__ = ["FileReader", "in_order"]

_T = TypeVar("_T")
_R = TypeVar("_R")
_AHEAD = 4
"""Files that are read ahead per thread: results wait in memory for their turn."""


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads logical files of one table version.

    Attributes:
        storage: the table's storage.
        columns: the columns to give, partition columns among them.
        partition_names: which of them come from the log.
        mode: how columns are found in data files.

    """

    storage: Storage
    columns: Sequence[Field]
    partition_names: frozenset[str]
    mode: Mode

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return pa.schema([arrow_field(f) for f in self.columns])

    def read(self, task: FileTask) -> Iterator[pa.RecordBatch]:
        """Give the rows of a file.

        Raises:
            DataFileNotFound: the file is missing.
            InvalidDataFile: the file is damaged, or does not hold the columns' types.

        """
        schema = self.schema
        stored = [f for f in self.columns if f.name not in self.partition_names]
        for _, length, arrays in read_batches(self.storage, task.path, stored, self.mode):
            found = iter(arrays)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.repeat(task.partition[f.name], length)
                    if f.name in self.partition_names
                    else next(found)
                    for f in self.columns
                ],
                schema=schema,
            )


def in_order(work: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[_R]:
    """Do work on threads and give the results in the order of the items.

    The first error ends it: what has not begun is dropped.
    """
    threads = min(os.cpu_count() or 1, 8)
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > threads * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
