"""Read columns of an untrusted data file (section Data Files)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.errors import DataFileTooLarge
from reference_impl.limits import budget, exceeded
from reference_impl.parquet.bounds import Bounded

_ROWS: Final = 65_536
"""Rows at a time: a footer may claim any number, and room for them is made before they come."""


def read_columns(file: pq.ParquetFile, source: pa.NativeFile, names: list[str] | None) -> pa.Table:
    """Read columns, all for ``None``; ``source`` is what the file was opened from.

    Raises:
        DataFileTooLarge: the file decompresses to more than a limit.
        ValueError: the file has fewer rows than its footer promises.
        pa.ArrowException: the file is damaged.

    """
    size, limits = int(source.size()), budget().limits
    limit = min(max(limits.data_file, limits.data_file_growth * size), limits.memory)
    promised = file.metadata.num_rows
    batches: list[pa.RecordBatch] = []
    rows = decompressed = 0
    wanted = file.schema_arrow.names if names is None else names
    held = Bounded(source, file, limit, wanted, name="data_file")
    for batch in held.batches(_ROWS, use_threads=True):
        budget().check_time()
        batches.append(batch)
        rows += batch.num_rows
        decompressed += batch.nbytes + batch.num_rows
        if decompressed > limit:
            found = f"{size} bytes decompress to {decompressed} and more"
            raise exceeded("data_file", found, error=DataFileTooLarge)
    if rows != promised:
        raise ValueError(f"the footer promises {promised} rows, not {rows}")
    if batches:
        return pa.Table.from_batches(batches)
    return file.schema_arrow.empty_table()
