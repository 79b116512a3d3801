"""Columns of the row groups of a Parquet file, and what the headers of their pages say.

Implements "Data Files" and "Checkpoints". No page is decoded here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow.parquet as pq

from reference_impl.parquet.dictionaries import INDICES
from reference_impl.parquet.pages import Chunk, Page

SHARED: Final = 7
"""DELTA_BYTE_ARRAY: strings that share prefixes."""

_REPEATING_ENCODINGS: Final = (*INDICES, SHARED)
"""Encodings that repeat a string in few bits: dictionaries and delta byte array."""

_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8}

PREFIX: Final = 4
"""Bytes of the length before a string."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf column of a Parquet file.

    Attributes:
        index: its number in the file, from 0.
        path: its dotted path in the file.
        width: bytes of a value in memory, with what is added to it and without the characters of
            a string.
        least: fewest bytes that a value takes in the file in PLAIN encoding.
        strings: whether the values are strings.
        repeated: whether it is in a list.
    """

    index: int
    path: str
    width: int
    least: int
    strings: bool
    repeated: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A row group: its rows, and the headers of the pages that were read.

    Attributes:
        number: which it is in the file.
        start: its first row, of the file.
        rows: how many it has.
        chunks: where its columns lie.
        held: pages by column.
    """

    number: int
    start: int
    rows: int
    chunks: Sequence[Chunk]
    held: Mapping[Leaf, Sequence[Page]]


def leaves_of(file: pq.ParquetFile, columns: Sequence[str], added: Mapping[int, int]) -> list[Leaf]:
    """Find columns in the schema of a file.

    Args:
        file: the opened file.
        columns: paths of leaves, or of what holds them.
        added: by the number of a leaf, bytes that the caller adds to each value.
    """
    wanted = set(columns)
    found = []
    for index in range(len(file.schema)):
        column = file.schema.column(index)
        path = column.path
        if path in wanted or any(path[:at] in wanted for at, c in enumerate(path) if c == "."):
            kind = column.physical_type
            width = _WIDTHS.get(kind, column.length if kind == "FIXED_LEN_BYTE_ARRAY" else 8)
            strings = kind == "BYTE_ARRAY"
            least = PREFIX if strings else 0 if kind == "BOOLEAN" else width
            repeated = column.max_repetition_level > 0
            width += added.get(index, 0)
            found.append(Leaf(index, path, width, least, strings, repeated))
    return found


def values_in(page: Page) -> int:
    """Return how many values of rows a page holds: a dictionary has none."""
    return 0 if page.dictionary else page.values


def longest_repeated(pages: Sequence[Page]) -> int:
    """Bound the length of a string that takes few bits in a page, in bytes."""
    return max(
        (
            max(page.size - PREFIX * page.values, 0) if page.dictionary else page.size
            for page in pages
            if page.dictionary or page.encoding == SHARED
        ),
        default=0,
    )


def last_repeating_row(pages: Sequence[Page]) -> int:
    """Return the number of values until the last page that may repeat long strings."""
    at = until = 0
    for page in pages:
        at += values_in(page)
        if not page.dictionary and page.encoding in _REPEATING_ENCODINGS:
            until = at
    return until
