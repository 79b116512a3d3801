"""Decode strings of a Parquet file by their dictionaries, and count them before they are made.

Implements "Data Files" and "Checkpoints". A dictionary lets a long string take a few bits in each
row. Read as indices, a column takes what its pages take; how long its strings are is known then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.parquet.pages import Page

_MAX_DICTIONARY_BYTES: Final = 1 << 22
"""Bytes of a dictionary at most: it is copied for each batch."""

INDICES: Final = (2, 8)
"""Encodings of pages that hold indices into a dictionary."""

_KINDS: Final = (pa.string(), pa.binary())


def kept_as_indices(file: pq.ParquetFile) -> set[str]:
    """Return the paths of top-level columns of strings, each the only one of its path."""
    schema, leaves = file.schema_arrow, file.schema
    paths = Counter(leaves.column(index).path for index in range(len(leaves)))
    return {field.name for field in schema if field.type in _KINDS and paths[field.name] == 1}


def holds_indices(pages: Sequence[Page]) -> bool:
    """Return whether all values of a column are indices into one small dictionary."""
    return (
        bool(pages)
        and pages[0].dictionary
        and pages[0].size <= _MAX_DICTIONARY_BYTES
        and all(not page.dictionary and page.encoding in INDICES for page in pages[1:])
    )


def is_whole(batch: pa.RecordBatch, counts: Mapping[str, int]) -> bool:
    """Return whether dictionaries hold as many values as their pages count.

    Arrow keeps a value that a page repeats once: the indices would point at other values then.

    Args:
        batch: columns of dictionaries among others.
        counts: how many values the pages count, by column.

    Raises:
        ValueError: an index points beyond its dictionary.
    """
    for name, count in counts.items():
        column = batch.column(name)
        if len(column.dictionary) != count:
            return False
        bounds = pc.min_max(column.indices)
        least, most = bounds["min"].as_py(), bounds["max"].as_py()
        if least is not None and not 0 <= least <= most < count:
            raise ValueError(f"an index points beyond the {count} values of a dictionary")
    return True


def decode_indices(
    batch: pa.RecordBatch, columns: Sequence[str], most: int
) -> Iterator[pa.RecordBatch]:
    """Decode columns of dictionaries to strings.

    Args:
        batch: the columns, checked by :func:`is_whole`, among others.
        columns: their names.
        most: bytes that their strings may have in one of the batches; one row may have more.

    Yields:
        The rows in order.
    """
    if not columns:
        yield batch
        return
    lengths = [pc.binary_length(batch.column(name).dictionary) for name in columns]
    if batch.num_rows * sum(pc.max(each).as_py() or 0 for each in lengths) <= most:
        yield _strings(batch, columns)
        return
    sizes = np.zeros(batch.num_rows, np.int64)
    for name, each in zip(columns, lengths, strict=True):
        taken = each.take(batch.column(name).indices)
        sizes += taken.fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(sizes)
    at = before = 0
    while at < len(ends):
        until = max(int(np.searchsorted(ends, before + most, "right")), at + 1)
        yield _strings(batch.slice(at, until - at), columns)
        at, before = until, int(ends[until - 1])


def _strings(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    arrays, fields = list(batch.columns), list(batch.schema)
    for name in columns:
        at = batch.schema.get_field_index(name)
        kind = fields[at].type.value_type
        arrays[at], fields[at] = arrays[at].cast(kind), fields[at].with_type(kind)
    schema = pa.schema(fields, batch.schema.metadata)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
