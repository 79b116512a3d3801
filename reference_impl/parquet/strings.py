"""Lengths of the strings in dictionaries of a Parquet file.

Implements "Data Files" and "Checkpoints". What is looked at takes little more memory than the pages
do, and is counted against the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.limits import budget
from reference_impl.parquet.pages import Chunk, Page, Read

_MAGIC: Final = b"PAR1"
_PREFIX: Final = 4
_QUICK: Final = 1 << 24
"""Bytes of a page at most for the quick look at it, which takes several times as much."""

_BLOCK: Final = 1 << 16
"""Bytes that are looked at together: what is made of them stays in the processor's cache."""

_CODECS: Final = {0: None, 1: "snappy", 6: "zstd"}
"""Codecs by their numbers in the format, as pyarrow calls them."""

_HASHED: Final = 32
"""Bytes of a string in a table of hashes, without its characters."""


def longest_string(read: Read, chunk: Chunk, page: Page) -> int:
    """Return the length of the longest string in a dictionary page, in bytes.

    Raises:
        LimitExceeded: the page takes more memory than there is.
        pa.ArrowException: the page is damaged.
        OSError: the same.
    """
    if page.values == 0:
        return 0
    # The page itself, and its strings as Arrow has them.
    with budget().account.reserve(2 * page.size + 2 * page.compressed, "one dictionary"):
        short = _longest_of_short(read, chunk, page) if page.size <= _QUICK else None
        if short is not None:
            return short
        return int(pc.max(pc.binary_length(_strings_of(read, chunk, page))).as_py() or 0)


def _longest_of_short(read: Read, chunk: Chunk, page: Page) -> int | None:
    """Return the same where every string is short and has no NUL, as most have; else ``None``.

    A string has its length ahead, in four bytes of which three are zero where it is short. Those
    places are found all at once, and lead from one to the next only if they are the lengths.
    """
    if chunk.codec not in _CODECS:
        return None
    codec, body = _CODECS[chunk.codec], read(page.start, page.compressed)
    if codec is not None:
        body = pa.decompress(body, page.size, codec)
    data = np.frombuffer(body, np.uint8)
    if len(data) != page.size or len(data) < _PREFIX:
        return None
    places = np.concatenate([_short_lengths(data, at) for at in range(0, len(data), _BLOCK)])
    if len(places) > page.values:
        # The last byte before an empty string looks like a length.
        places = places[np.append(np.diff(places) > 1, True)]
    if len(places) != page.values or places[0] != 0:
        return None
    lengths = data[places]
    ends = places + lengths + _PREFIX
    if ends[-1] != len(data) or not np.array_equal(ends[:-1], places[1:]):
        return None
    return int(lengths.max())


def _short_lengths(data: np.ndarray, at: int) -> np.ndarray:
    """Return the places in a block behind which there are three bytes of zero."""
    zero = data[at + 1 : at + _BLOCK + _PREFIX - 1] == 0
    ahead = zero[:-2] & zero[1:-1]
    ahead &= zero[2:]
    return (np.flatnonzero(ahead) + at).astype(np.int32)


def repeats_string(read: Read, chunk: Chunk, page: Page) -> bool:
    """Return whether a dictionary page holds a string twice; raises as ``longest_string`` does.

    Arrow keeps one of them where it reads a column as indices, which point at others then.
    """
    if page.values == 0:
        return False
    # Of each string there is a hash and a place.
    taken = 2 * page.size + 2 * page.compressed + _HASHED * page.values
    with budget().account.reserve(taken, "one dictionary"):
        return bool(pc.count_distinct(_strings_of(read, chunk, page)).as_py() != page.values)


def _strings_of(read: Read, chunk: Chunk, page: Page) -> pa.ChunkedArray:
    """Read a dictionary page: it becomes the one data page of a file with one column."""
    values = _number(page.values)
    head = (
        b"\x15\x00\x15" + _number(page.size) + b"\x15" + _number(page.compressed)
        + b"\x2c\x15" + values + b"\x15\x00\x15\x06\x15\x06\x00\x00"
    )  # fmt: skip
    body = head + read(page.start, page.compressed)
    length = _number(len(body))
    column = (
        b"\x15\x0c\x19\x15\x00\x19\x18\x01c\x15" + _number(chunk.codec) + b"\x16" + values
        + b"\x16" + length + b"\x16" + length + b"\x26\x08\x00"
    )  # fmt: skip
    footer = (
        b"\x15\x02\x19\x2c\x48\x01r\x15\x02\x00\x15\x0c\x25\x00\x18\x01c\x00\x16" + values
        + b"\x19\x1c\x19\x1c\x26\x08\x1c" + column + b"\x00\x16" + length + b"\x16" + values
        + b"\x00\x00"
    )  # fmt: skip
    data = _MAGIC + body + footer + len(footer).to_bytes(4, "little") + _MAGIC
    return pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False).column(0)


def _number(value: int) -> bytes:
    """Encode a number that is not negative as Thrift does."""
    value <<= 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def max_batch_bytes(  # noqa: PLR0913  each argument is one fact about what is read
    source: pa.NativeFile, file: pq.ParquetFile, path: str, *, group: int, rows: int, longest: int
) -> int:
    """Return the most bytes that the strings of a column take in a batch of rows.

    The column is read with its dictionaries left as they are.

    Args:
        source: what the file was opened from.
        file: the opened file.
        path: the column.
        group: the row group; Arrow does not read lists of dictionaries over several.
        rows: rows of a batch.
        longest: bytes that each string counts for; 0 for as many as it has.
    """
    with pq.ParquetFile(source, metadata=file.metadata, read_dictionary=[path]) as kept:
        batches = kept.iter_batches(rows, row_groups=[group], columns=[path], use_threads=False)
        return max(
            (
                sum(
                    longest * len(array) if longest else _bytes(array)
                    for column in batch.columns
                    for array in _strings(column)
                )
                for batch in batches
            ),
            default=0,
        )


def _bytes(array: pa.Array) -> int:
    if not pa.types.is_dictionary(array.type):
        return int(array.nbytes)
    lengths = pc.binary_length(array.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)


def _strings(array: pa.Array) -> Iterator[pa.Array]:
    """Return the arrays at the ends of lists, maps and structs."""
    kind = array.type
    if pa.types.is_struct(kind):
        for index in range(kind.num_fields):
            yield from _strings(array.field(index))
    elif pa.types.is_map(kind):
        yield from _strings(array.keys)
        yield from _strings(array.items)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _strings(array.values)
    else:
        yield array
