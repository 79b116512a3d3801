"""Bounds on what a checkpoint may unpack to: a small file must not fill the memory.

Serves "Checkpoints": a log is input that nobody vouches for. Honest checkpoints compress well,
but every action takes more than a byte, and nothing in them repeats by the hundreds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

__all__ = ["BATCH_ROWS", "OPTIONS", "Allowance", "batch_rows", "refuse_bomb", "refuse_repeated"]

OPTIONS: Final = {"thrift_string_size_limit": 1 << 24, "thrift_container_size_limit": 1 << 22}
"""Bounds on what the footer of a checkpoint may hold, in bytes and elements."""

BATCH_ROWS: Final = 65_536
"""Rows that are decoded at a time: enough for speed, little enough for memory."""

_ALWAYS_FINE: Final = 1 << 26
_MAX_GROWTH: Final = 200
_BATCH_BYTES: Final = 1 << 26


class Allowance:
    """How many bytes a file of a size may still unpack to."""

    def __init__(self, size: int) -> None:
        """Start with what is allowed for a file of ``size`` bytes."""
        self._size = size
        self._left = _ALWAYS_FINE + _MAX_GROWTH * size

    def take(self, count: int) -> None:
        """Take bytes.

        Raises:
            ValueError: nothing is left.

        """
        self._left -= count
        if self._left < 0:
            raise ValueError(f"{self._size} bytes unpack to more than {_MAX_GROWTH} times as many")


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


def batch_rows(
    reopen: Callable[[list[str]], pq.ParquetFile], file: pq.ParquetFile, columns: Sequence[str]
) -> int:
    """Give the number of rows to decode at a time, so that a batch stays small.

    A dictionary holds a string once that a million rows may refer to. Where that could matter,
    the dictionaries are looked at first. The metadata of columns would tell where, but reading
    them from a damaged footer ends the process.

    Args:
        reopen: opens the file with columns, by their paths, left as dictionaries.
        file: the file.
        columns: columns that will be read, leaves or structs.

    """
    # A batch may span row groups.
    most = max(min(file.metadata.num_rows, BATCH_ROWS), 1)
    groups = [
        group
        for group in range(file.metadata.num_row_groups)
        if most * file.metadata.row_group(group).total_byte_size > _BATCH_BYTES
    ]
    if not groups:
        return BATCH_ROWS
    leaves = [file.schema.column(index) for index in range(len(file.schema.names))]
    strings = [
        leaf.path
        for leaf in leaves
        if leaf.physical_type == "BYTE_ARRAY"
        and any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in columns)
    ]
    if not strings:
        return BATCH_ROWS
    with reopen(strings) as dictionaries:
        found = [_longest(dictionaries, group, strings) for group in groups]
    return min(BATCH_ROWS, max(_BATCH_BYTES // max(1, *found), 1))


def _longest(file: pq.ParquetFile, group: int, paths: list[str]) -> int:
    """Give the length of the longest string in the dictionaries of columns, in bytes."""
    batches = file.iter_batches(1, row_groups=[group], columns=paths, use_threads=False)
    first = next(batches, None)
    columns = first.columns if first is not None else []
    found = [dictionary for column in columns for dictionary in _dictionaries(column)]
    lengths = [pc.max(pc.binary_length(dictionary)).as_py() for dictionary in found]
    return max((length for length in lengths if length is not None), default=0)


def _dictionaries(array: pa.Array) -> Iterator[pa.Array]:
    kind = array.type
    if pa.types.is_dictionary(kind):
        yield array.dictionary
    elif pa.types.is_struct(kind):
        for index in range(kind.num_fields):
            yield from _dictionaries(array.field(index))
    elif pa.types.is_list(kind):
        yield from _dictionaries(array.values)
    elif pa.types.is_map(kind):
        yield from _dictionaries(array.keys)
        yield from _dictionaries(array.items)
