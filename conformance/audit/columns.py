"""Read columns of a data file that nobody vouches for (section Data Files)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["read_columns"]

_ROWS: Final = 65_536
"""Rows at a time: a footer may claim any number, and room for them is made before they come."""

_SUSPECT: Final = 256 << 20
"""Bytes that any file may unfold to."""

_EXPANSION: Final = 1_000
"""How many bytes a byte of a larger file may unfold to."""


def read_columns(file: pq.ParquetFile, size: int, names: list[str] | None) -> pa.Table:
    """Read columns, all for ``None``; ``size`` is that of the file in bytes.

    Raises:
        ValueError: the file has fewer rows than its footer promises, or unfolds beyond measure.
        pa.ArrowException: the file is damaged.

    """
    limit = max(_SUSPECT, _EXPANSION * size)
    promised = file.metadata.num_rows
    batches: list[pa.RecordBatch] = []
    rows = unfolded = 0
    for batch in file.iter_batches(_ROWS, columns=names):
        batches.append(batch)
        rows += batch.num_rows
        unfolded += batch.nbytes
        if unfolded > limit:
            raise ValueError(f"{size} bytes unfold to more than {limit}")
    if rows != promised:
        raise ValueError(f"the footer promises {promised} rows, not {rows}")
    if batches:
        return pa.Table.from_batches(batches)
    return file.schema_arrow.empty_table()
