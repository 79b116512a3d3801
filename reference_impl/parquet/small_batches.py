"""Concatenate small batches of rows, so that what is done for each batch is not done too often.

Serves "Data Files" and "Checkpoints".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa


def concatenated(
    batches: Iterator[pa.RecordBatch], *, rows: int, size: int
) -> Iterator[pa.RecordBatch]:
    """Yield large batches as they are, and small ones of a row as one.

    Args:
        batches: of one schema, without dictionaries, which may grow when they become one.
        rows: of a batch that is large.
        size: bytes of small batches that are held at once; a fourth of them makes a batch large.

    """
    held = many = 0
    small: list[pa.RecordBatch] = []
    for batch in batches:
        large = batch.num_rows >= rows or 4 * batch.nbytes > size
        if not large:
            small.append(batch)
            held += batch.nbytes
            many += batch.num_rows
        if small and (large or held > size or many >= rows):
            yield _concat(small)
            small, held, many = [], 0, 0
        if large:
            yield batch
    if small:
        yield _concat(small)


def _concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
