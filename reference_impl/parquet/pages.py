"""Uncompressed sizes of the pages of a Parquet file, from their headers.

Implements "Data Files" and "Checkpoints". The sizes that a footer states are claims that no decoder
keeps to, but nothing decompresses to more than its page header says. Headers are few and small, and
reading them costs next to nothing compared to reading the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import pyarrow as pa

from reference_impl.errors import DataFileTooLarge
from reference_impl.limits import budget, exceeded
from reference_impl.parquet.thrift import INTEGER, LIST, RECORD, Wanted, read_record

Read: TypeAlias = Callable[[int, int], bytes]
"""Reads a number of bytes from an offset of a file; fewer where it ends."""

_TAIL: Final = 1 << 13
_CACHED_FOOTERS: Final = 128
"""Footers that are cached."""

_MAX_CACHED_FOOTER_BYTES: Final = 1 << 15
"""Bytes of a footer above which it is not cached."""

_CACHED_HEADERS: Final = 4096
"""Page headers that are cached."""

_MAX_HEADER: Final = 1 << 24
_USUAL_HEADER_BYTES: Final = 128
"""Bytes that most page headers fit in: statistics can make them longer."""

_OLD_EXTRA: Final = 100
"""Bytes that old writers left out of a chunk's length, and that readers go on for."""

_NUMBER: Final = (INTEGER, None)
_FOOTER: Final[Wanted] = {
    4: (LIST, {1: (LIST, {3: (RECORD, dict.fromkeys((4, 5, 7, 9, 11), _NUMBER))})})
}
_PAGE: Final[Wanted] = {
    **dict.fromkeys((1, 2, 3), _NUMBER),
    5: (RECORD, dict.fromkeys((1, 2), _NUMBER)),
    7: (RECORD, dict.fromkeys((1, 2), _NUMBER)),
    8: (RECORD, dict.fromkeys((1, 4), _NUMBER)),
}
_DICTIONARY: Final = 2
_BODIES: Final = {0: (5, 2), _DICTIONARY: (7, 2), 3: (8, 4)}
"""Kind of page to the fields that describe its content, and the encoding in there."""

_INT: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Chunk:
    """Where the pages of one column in one row group lie.

    Attributes:
        codec: how pages are compressed, as the format numbers it.
        values: how many values the footer says that there are, nulls among them.
        start: the place of the first byte.
        end: the place after the last byte.
    """

    codec: int
    values: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """One page, by its header.

    Attributes:
        dictionary: it holds a dictionary and no values.
        start: where its content begins.
        compressed: bytes in the file.
        size: bytes of it uncompressed.
        values: how many values it holds, nulls among them.
        encoding: of the values, as the format numbers it.
    """

    dictionary: bool
    start: int
    compressed: int
    size: int
    values: int
    encoding: int


def read_footer(read: Read, size: int, leaves: int) -> Sequence[Sequence[Chunk]]:
    """Read where columns lie: one sequence per row group, in the order of the schema's leaves.

    Args:
        read: reads the file.
        size: bytes of the file.
        leaves: how many columns each row group has to have, of the schema.

    Raises:
        DataFileTooLarge: the footer is beyond the limit.
        ValueError: the footer is damaged, or a row group has other columns than the schema.
    """
    tail = read(max(size - _TAIL, 0), _TAIL)
    length = int.from_bytes(tail[-8:-4], "little")
    if tail[-4:] != b"PAR1" or not 0 < length <= size - 8:
        raise ValueError(f"a footer of {length} bytes, or none")
    refuse_large_footer(length)
    at = size - 8 - length
    data = tail[-8 - length : -8] if length + 8 <= len(tail) else read(at, length)
    groups = _recent(data) if length <= _MAX_CACHED_FOOTER_BYTES else _chunks(data)
    if any(len(chunks) != leaves for chunks in groups):
        raise ValueError(f"a row group has not {leaves} columns, as the schema has")
    return groups


def refuse_large_footer(length: int) -> None:
    """Refuse a footer of more bytes than the limit.

    Raises:
        DataFileTooLarge: it has more.
    """
    if length > budget().limits.footer:
        raise exceeded("footer", f"a footer has {length} bytes", error=DataFileTooLarge)


def _chunks(data: bytes) -> tuple[tuple[Chunk, ...], ...]:
    """Find the columns in a footer.

    Raises:
        ValueError: it is damaged.
    """
    try:
        footer, _ = read_record(data, 0, _FOOTER)
    except IndexError:
        raise ValueError("the footer ends early") from None
    return tuple(
        tuple(_chunk(column.get(3)) for column in group.get(1, ())) for group in footer.get(4, ())
    )


_recent = lru_cache(_CACHED_FOOTERS)(_chunks)
"""The chunks of a footer, cached by its bytes: a table that is read again has the same ones."""


def _chunk(stated: dict[int, int] | None) -> Chunk:
    if stated is None:
        raise ValueError("a row group says nothing of a column")
    start, dictionary = stated.get(9, 0), stated.get(11, 0)
    if 0 < dictionary < start:
        start = dictionary
    length = stated.get(7, 0)
    if start < 0 or length < 0:
        raise ValueError("a column begins or ends before the file")
    return Chunk(stated.get(4, 0), stated.get(5, 0), start, start + length)


def read_page_headers(read: Read, chunk: Chunk, size: int) -> list[Page]:
    """Read the headers of a chunk's pages, as far as a reader of the chunk would go.

    ``size`` is that of the file, in bytes.

    Raises:
        ValueError: a header is damaged.
    """
    pages = []
    at, values = chunk.start, 0
    end = min(chunk.end + _OLD_EXTRA, size)
    while values < chunk.values and at < end:
        page = _page(read, at, end)
        at = page.start + page.compressed
        values += 0 if page.dictionary else page.values
        pages.append(page)
    return pages


def _page(read: Read, at: int, end: int) -> Page:
    length = _USUAL_HEADER_BYTES
    while True:
        data = read(at, min(length, end - at))
        try:
            find = _recent_header if len(data) <= _USUAL_HEADER_BYTES else _header
            (kind, size, compressed, values, encoding), used = find(data)
            break
        except IndexError:
            if length >= min(end - at, _MAX_HEADER):
                raise ValueError("a page header ends early") from None
            length *= 16
    return Page(kind == _DICTIONARY, at + used, compressed, size, values, encoding)


def _header(data: bytes) -> tuple[tuple[int, int, int, int, int], int]:
    """Find kind, sizes, values and encoding in a page header, and how long it is.

    Raises:
        IndexError: the bytes end within it.
        ValueError: it is damaged.
    """
    header, used = read_record(data, 0, _PAGE)
    kind, size, compressed = (header.get(field, 0) for field in (1, 2, 3))
    body, at_encoding = _BODIES.get(kind, (0, 0))
    stated = header.get(body, {})
    values, encoding = stated.get(1, 0), stated.get(at_encoding, 0)
    if not all(0 <= number < _INT for number in (size, compressed, values)):
        raise ValueError("a page header holds sizes that cannot be")
    return (kind, size, compressed, values, encoding), used


_recent_header = lru_cache(_CACHED_HEADERS)(_header)
"""The header of a page, cached by its bytes."""


def reading(source: pa.NativeFile) -> Read:
    """Read from a file that pyarrow has opened."""
    return lambda start, length: bytes(source.read_at(length, start))
