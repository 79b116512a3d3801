"""Limits on what a checkpoint may decompress to: a small file must not fill the memory.

Implements "Checkpoints": a log is untrusted input. Genuine checkpoints compress well, but every
action takes more than a byte, and nothing in them repeats by the hundreds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.errors import DataFileTooLarge, LimitExceeded
from reference_impl.limits import budget, exceeded
from reference_impl.parquet.bounds import Bounded
from reference_impl.parquet.restored import as_stored

BATCH_ROWS: Final = 65_536
"""Rows that are decoded at a time."""


def bounded(
    source: pa.NativeFile, file: pq.ParquetFile, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Decode columns of an opened file in batches, in the types that the file has.

    Raises:
        DataFileTooLarge: they decompress to more than a file of its size may.
        ValueError: the file is damaged.
    """
    size = int(source.size())
    left = limit = _most(size)
    held = Bounded(source, file, limit, columns, name="checkpoint")
    for batch in held.batches(BATCH_ROWS, use_threads=True):
        budget().check_time()
        left -= batch.nbytes
        if left < 0:
            raise _too_large(f"{size} bytes decompress to more than {limit}")
        yield as_stored(batch)


def _most(size: int) -> int:
    limits = budget().limits
    return limits.checkpoint + limits.checkpoint_growth * size


def _too_large(found: str) -> LimitExceeded:
    return exceeded("checkpoint", found, error=DataFileTooLarge)


def refuse_bomb(metadata: pq.FileMetaData, size: int) -> None:
    """Refuse a file whose footer claims more bytes or rows than the limits allow.

    Args:
        metadata: the footer.
        size: bytes of the file.

    Raises:
        DataFileTooLarge: the footer claims more.
    """
    groups = range(metadata.num_row_groups)
    unpacked = sum(metadata.row_group(group).total_byte_size for group in groups)
    rows = metadata.num_rows
    if rows > size or unpacked > _most(size):
        raise _too_large(f"{size} bytes claim {rows} rows of {unpacked} bytes")


def refuse_duplicate_columns(fields: Iterable[pa.Field], place: str) -> None:
    """Refuse two columns of one name: it is ambiguous which of them holds the action.

    Raises:
        ValueError: a name is repeated.
    """
    names: set[str] = set()
    for field in fields:
        if field.name in names:
            raise ValueError(f"{place} has two columns {field.name!r}")
        names.add(field.name)
        if pa.types.is_struct(field.type):
            refuse_duplicate_columns(field.type, field.name)
