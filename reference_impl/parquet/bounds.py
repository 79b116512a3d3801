"""Decode an untrusted Parquet file in batches that fit into memory.

Implements "Data Files" and "Checkpoints". Few bytes can decode to many in three ways: compression,
which page headers declare; dictionary and delta byte array encoding, by which a long string takes
a few bits in each row; and run-length encoded levels, by which a list has any length. Columns
beyond a limit are refused before they are decoded. Where strings may be long, the batch size
follows from the longest string that the pages can hold.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.errors import DataFileTooLarge, LimitExceeded
from reference_impl.limits import budget, exceeded
from reference_impl.parquet.columns import (
    PREFIX,
    SHARED,
    Group,
    Leaf,
    last_repeating_row,
    leaves_of,
    longest_repeated,
    values_in,
)
from reference_impl.parquet.dictionaries import (
    decode_indices,
    holds_indices,
    is_whole,
    kept_as_indices,
)
from reference_impl.parquet.opening import open_parquet
from reference_impl.parquet.pages import Chunk, Page, read_footer, read_page_headers, reading
from reference_impl.parquet.strings import longest_string, max_batch_bytes, repeats_string

_SMALL_BATCHES: Final = 1 << 26
"""Bytes at which small batches are yielded as one, however few rows they have."""

_DECODED: Final = 1 << 24
"""Bytes of strings that are decoded from their indices at once, however small the pages are."""

_PAGES_GROWTH: Final = 8
"""How many times their size in the file pages may take that are held at once."""

_MANY_ROWS: Final = 1 << 13
"""Rows up to which threads cost more than they save."""

_FAITHFUL: Final = (0, 1)
"""Codecs (none, Snappy) whose output is at most some twenty times their input."""

_LENGTH_ENCODINGS: Final = (6, SHARED)
"""Encodings whose lengths are all decoded at once."""

_LEVELS: Final = 4
"""Bytes of the levels of a value in a list."""


@dataclass(frozen=True, slots=True)
class _Risk:
    """A range of rows with possibly long strings, and how many of them to decode at a time."""

    start: int
    until: int
    rows: int


class Bounded:
    """Columns of one opened file, to be decoded within bounds."""

    def __init__(  # noqa: PLR0913  each argument is one fact about what is decoded
        self,
        source: pa.NativeFile,
        file: pq.ParquetFile,
        limit: int,
        columns: Sequence[str],
        *,
        name: str,
        added: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """Look at the headers of the pages that the columns have.

        Args:
            source: what the file was opened from.
            file: the opened file.
            limit: bytes that it may decompress to.
            columns: paths of leaves, or of what holds them.
            name: the limit that ``limit`` comes from, for messages.
            added: by the number of a leaf, bytes that the caller adds to each value.

        Raises:
            DataFileTooLarge: the columns decompress to more.
            ValueError: the footer or a page header is damaged.
        """
        self._source, self._file, self._limit, self._name = source, file, limit, name
        limits = budget().limits
        self._batch, self._at_once = limits.batch, limits.pages
        self._small_bytes = min(_SMALL_BATCHES, self._batch // 2)
        self._largest = self._longest = 0
        self._read = reading(source)
        self._size = int(source.size())
        self._columns = list(columns)
        self._leaves = leaves_of(file, columns, added)
        self._most = self._batch
        self._decompressed = self._listed = 0
        self._groups: list[Group] = []
        metadata = file.metadata
        if metadata.num_rows > limit:
            raise self._too_large(f"{metadata.num_rows} rows")
        start = 0
        for number, chunks in enumerate(read_footer(self._read, self._size, len(file.schema))):
            rows = metadata.row_group(number).num_rows
            if rows < 0:
                raise ValueError("a row group has less than no rows")
            if rows:
                held = self._pages(rows, chunks)
                self._check_page_sizes(held)
                self._groups.append(Group(number, start, rows, chunks, held))
            start += rows
        self._indexed = self._kept_as_indices()
        self._bound_batches()

    @property
    def _piece(self) -> int:
        """Bytes of a batch, about."""
        least = _DECODED if self._indexed else 0
        return min(self._batch, max(self._decompressed, self._listed, least))

    @property
    def most(self) -> int:
        """About the most bytes in memory at once while the columns are decoded."""
        rows = max(self._piece, self._longest)
        # Of a dictionary there is a copy that grows with it, and one in the batch.
        rows += sum(2 * max(g.held[leaf][0].size for g in self._groups) for leaf in self._indexed)
        # Small batches wait to be concatenated, which copies them.
        return self._largest + rows + (3 * self._small_bytes if self._risks else 0)

    def batches(
        self, most: int, *, width: int = 0, use_threads: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Decode the columns.

        Args:
            most: rows of a batch at most.
            width: bytes that the caller adds to each row.
            use_threads: decode columns in parallel, where there are many rows.
        """
        width += sum(leaf.width for leaf in self._leaves)
        if width > self._batch:
            raise self._too_large(f"{width} bytes in each row", "batch")
        most = min(most, self._most, self._batch // max(width, 1))
        with budget().account.reserve(self.most, "one file"):
            decoded = self._decoded(0, most, use_threads=use_threads)
            if self._plain:
                decoded = concatenated(decoded, rows=most // 8, size=self._small_bytes)
            yield from decoded

    def _decoded(self, at: int, most: int, *, use_threads: bool) -> Iterator[pa.RecordBatch]:
        """Decode the rows from one on."""
        start = end = 0
        use_threads = use_threads and self._file.metadata.num_rows > _MANY_ROWS
        names = [leaf.path for leaf in self._indexed]
        with self._opened(names) as file:
            risks = deque(self._risks)
            batches = file.iter_batches(
                _rows_at(0, most, risks), columns=self._columns, use_threads=use_threads
            )
            for batch in batches:
                start, end = end, end + batch.num_rows
                # The reader asks for each batch how many rows it is to have.
                file.reader.set_batch_size(_rows_at(end, most, risks))
                if not is_whole(batch, self._counts(start)):
                    break
                if end > at:
                    yield from decode_indices(batch.slice(max(at - start, 0)), names, self._piece)
            else:
                return
        before, self._indexed = self.most, []
        self._bound_batches()
        with budget().account.reserve(max(self.most - before, 0), "one file"):
            yield from self._decoded(start, most, use_threads=use_threads)

    def _opened(self, indexed: Sequence[str]) -> AbstractContextManager[pq.ParquetFile]:
        """Open the file again where columns are to be indices; they are strings in the other."""
        if not indexed:
            return nullcontext(self._file)
        again: AbstractContextManager[pq.ParquetFile] = open_parquet(
            self._source, metadata=self._file.metadata, read_dictionary=indexed
        )
        return again

    def _counts(self, row: int) -> dict[str, int]:
        """Return how many values dictionaries have at a row, by the columns that are indices."""
        if not self._indexed:
            return {}
        group = self._groups[bisect_right(self._groups, row, key=lambda each: each.start) - 1]
        return {leaf.path: group.held[leaf][0].values for leaf in self._indexed}

    @cached_property
    def _plain(self) -> bool:
        return not any(_has_dictionary(field.type) for field in self._file.schema_arrow)

    def _kept_as_indices(self) -> list[Leaf]:
        """Return the columns to read as indices: their strings may take more than the file.

        A column is read in one way in all of the file.
        """
        if not any(map(self._may_be_long, self._groups)):
            return []
        able = kept_as_indices(self._file)
        return [
            leaf
            for leaf in self._leaves
            if leaf.path in able and all(holds_indices(group.held[leaf]) for group in self._groups)
        ]

    def _may_be_long(self, group: Group) -> bool:
        strings = (longest_repeated(pages) for leaf, pages in group.held.items() if leaf.strings)
        return group.rows * sum(strings) > min(self._batch, _DECODED)

    def _bound_batches(self) -> None:
        """Bound the batches by the strings that columns of no indices may have."""
        self._longest = 0
        self._risks: list[_Risk] = []
        for group in self._groups:
            self._bound_group(group)

    def _bound_group(self, group: Group) -> None:
        rows, held = group.rows, group.held
        lengths = {
            leaf: longest_repeated(pages)
            for leaf, pages in held.items()
            if leaf.strings and leaf not in self._indexed
        }
        if rows * sum(lengths.values()) > self._batch:
            # To look costs less than the dictionary takes to be read, and lets batches be large.
            for leaf, pages in held.items():
                if lengths.get(leaf):
                    lengths[leaf] = self._longest_string(group.chunks[leaf.index], pages)
            one = sum(lengths.values())
            self._longest = max(self._longest, one * min(max(self._batch // (one or 1), 1), rows))
        ends = {
            leaf: rows if leaf.repeated else last_repeating_row(held[leaf])
            for leaf, length in lengths.items()
            if length
        }
        at = 0
        for until in sorted(set(ends.values())):
            longest = sum(lengths[leaf] for leaf, end in ends.items() if end >= until)
            many = max(self._batch // longest, 1)
            self._risks.append(_Risk(group.start + at, group.start + until, many))
            at = until
        for leaf, length in lengths.items():
            if leaf.repeated and length * sum(map(values_in, held[leaf])) > self._batch:
                self._limit_list_rows(group, leaf, length)

    def _pages(self, rows: int, chunks: Sequence[Chunk]) -> dict[Leaf, list[Page]]:
        """Read the headers of pages, but for numbers that no codec lets grow much."""
        held: dict[Leaf, list[Page]] = {}
        for leaf in self._leaves:
            chunk = chunks[leaf.index]
            if not leaf.repeated and chunk.values != rows:
                raise ValueError(f"a column of {rows} rows has {chunk.values} values")
            if leaf.strings or leaf.repeated or chunk.codec not in _FAITHFUL:
                held[leaf] = pages = read_page_headers(self._read, chunk, self._size)
                if any(p.dictionary and p.values * leaf.least > p.size for p in pages):
                    raise ValueError("a dictionary has no room for the values that it counts")
                if not leaf.repeated and sum(values_in(page) for page in held[leaf]) != rows:
                    raise ValueError(f"the pages of {rows} rows hold more values, or fewer")
        return held

    def _check_page_sizes(self, held: Mapping[Leaf, Sequence[Page]]) -> None:
        """Refuse pages that decompress to more than the limits, in all or at once."""
        at_once = copied = stored = 0
        for leaf, pages in held.items():
            self._decompressed += sum(page.size for page in pages)
            if leaf.repeated:
                self._listed += (leaf.width + _LEVELS) * sum(map(values_in, pages))
            largest = max(pages, key=lambda page: page.size, default=None)
            for page in pages:
                if page is largest or page.dictionary:
                    if page.dictionary:  # it is copied out of its page, and kept as one
                        copied += page.size if self._plain else 2 * page.size
                    at_once += page.size
                    stored += page.compressed
                if page.encoding in _LENGTH_ENCODINGS and not page.dictionary:
                    self._listed += 2 * PREFIX * page.values
        if max(self._decompressed, self._listed) > self._limit:
            raise self._too_large(f"{max(self._decompressed, self._listed)} bytes")
        self._largest = max(self._largest, at_once + copied)
        if at_once > max(self._at_once, _PAGES_GROWTH * stored):
            raise self._too_large(f"{at_once} bytes of pages at once", "pages")

    def _longest_string(self, chunk: Chunk, pages: Sequence[Page]) -> int:
        """Return the length of the longest string that may be repeated at little cost."""
        found = [longest_string(self._read, chunk, page) for page in pages if page.dictionary]
        return max(longest_repeated([page for page in pages if not page.dictionary]), *found, 0)

    def _limit_list_rows(self, group: Group, leaf: Leaf, length: int) -> None:
        """Find out how many rows of lists of strings, of a length at most, fit into a batch.

        Raises:
            DataFileTooLarge: one row does not.
        """
        rows, chunk = max(self._batch // length, 1), group.chunks[leaf.index]
        pages = [page for page in group.held[leaf] if page.dictionary]
        longest = length if any(repeats_string(self._read, chunk, page) for page in pages) else 0
        measured = partial(
            max_batch_bytes,
            self._source,
            self._file,
            leaf.path,
            group=group.number,
            longest=longest,
        )
        while measured(rows=rows) > self._batch:
            if rows == 1:
                raise self._too_large("more in one row than a batch may have", "batch")
            rows = max(rows // 16, 1)
        self._most = min(self._most, rows)

    def _too_large(self, what: str, name: str = "") -> LimitExceeded:
        found = f"{self._size} bytes decompress to {what}"
        return exceeded(name or self._name, found, error=DataFileTooLarge)


def _rows_at(at: int, most: int, risks: deque[_Risk]) -> int:
    """Return how many rows to decode from a row on, and drop the risks that lie behind it."""
    while risks and risks[0].until <= at:
        risks.popleft()
    rows = most
    for risk in risks:  # a batch goes on over the ends of risks, and of row groups
        if risk.start >= at + rows:
            break
        rows = min(rows, max(risk.rows, risk.start - at))
    return rows


def _has_dictionary(kind: pa.DataType) -> bool:
    inner = [kind.field(index).type for index in range(kind.num_fields)]
    return pa.types.is_dictionary(kind) or any(map(_has_dictionary, inner))


def concatenated(
    batches: Iterator[pa.RecordBatch], *, rows: int, size: int
) -> Iterator[pa.RecordBatch]:
    """Yield large batches as they are, and small ones of a row as one, which costs less per batch.

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
