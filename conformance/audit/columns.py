"""Read columns of a data file that nobody vouches for (section Data Files)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.parquet_bounds import Bounded

__all__ = ["read_columns"]

_ROWS: Final = 65_536
"""Rows at a time: a footer may claim any number, and room for them is made before they come."""

_SUSPECT: Final = 256 << 20
"""Bytes that any file may unfold to."""

_EXPANSION: Final = 100
"""How many bytes a byte of a larger file may unfold to."""


def read_columns(file: pq.ParquetFile, source: pa.NativeFile, names: list[str] | None) -> pa.Table:
    """Read columns, all for ``None``; ``source`` is what the file was opened from.

    Raises:
        ValueError: the file has fewer rows than its footer promises, or unfolds beyond measure.
        pa.ArrowException: the file is damaged.

    """
    size = source.size()
    limit = max(_SUSPECT, _EXPANSION * size)
    promised = file.metadata.num_rows
    batches: list[pa.RecordBatch] = []
    rows = unfolded = 0
    wanted = file.schema_arrow.names if names is None else names
    for batch in Bounded(source, file, limit, wanted).batches(_ROWS, use_threads=True):
        batches.append(batch)
        rows += batch.num_rows
        unfolded += batch.nbytes + batch.num_rows
        if unfolded > limit:
            raise ValueError(f"{size} bytes unfold to more than {limit}")
    if rows != promised:
        raise ValueError(f"the footer promises {promised} rows, not {rows}")
    if batches:
        return pa.Table.from_batches(batches)
    return file.schema_arrow.empty_table()
