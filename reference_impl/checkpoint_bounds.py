"""Bounds on what a checkpoint may unpack to: a small file must not fill the memory.

Serves "Checkpoints": a log is input that nobody vouches for. Honest checkpoints compress well,
but every action takes more than a byte, and nothing in them repeats by the hundreds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.parquet_bounds import Bounded

__all__ = ["BATCH_ROWS", "OPTIONS", "bounded", "refuse_bomb", "refuse_repeated"]

OPTIONS: Final = {"thrift_string_size_limit": 1 << 24, "thrift_container_size_limit": 1 << 22}
"""Bounds on what the footer of a checkpoint may hold, in bytes and elements."""

BATCH_ROWS: Final = 65_536
"""Rows that are decoded at a time: enough for speed, little enough for memory."""

_ALWAYS_FINE: Final = 1 << 26
_MAX_GROWTH: Final = 200


def bounded(
    source: pa.NativeFile, file: pq.ParquetFile, columns: Sequence[str], *, use_threads: bool
) -> Iterator[pa.RecordBatch]:
    """Decode columns of an opened file in batches.

    Raises:
        ValueError: they unfold to more than a file of its size may, or the file is damaged.

    """
    size = source.size()
    left = limit = _ALWAYS_FINE + _MAX_GROWTH * size
    for batch in Bounded(source, file, limit, columns).batches(BATCH_ROWS, use_threads=use_threads):
        left -= batch.nbytes
        if left < 0:
            raise ValueError(f"{size} bytes unpack to more than {_MAX_GROWTH} times as many")
        yield batch


def refuse_bomb(metadata: pq.FileMetaData, size: int) -> None:
    """Refuse a file whose own footer claims that it grows out of all proportion.

    Raises:
        ValueError: it does.

    """
    groups = range(metadata.num_row_groups)
    unpacked = sum(metadata.row_group(group).total_byte_size for group in groups)
    rows = metadata.num_rows
    if rows > size or unpacked > _ALWAYS_FINE + _MAX_GROWTH * size:
        raise ValueError(f"{size} bytes claim {rows} rows of {unpacked} bytes")


def refuse_repeated(fields: Iterable[pa.Field], place: str) -> None:
    """Refuse two columns of one name: which of them holds the action cannot be told.

    Raises:
        ValueError: a name is repeated.

    """
    names: set[str] = set()
    for field in fields:
        if field.name in names:
            raise ValueError(f"{place} has two columns {field.name!r}")
        names.add(field.name)
        if pa.types.is_struct(field.type):
            refuse_repeated(field.type, field.name)
