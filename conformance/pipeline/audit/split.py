"""Split files of a log by the paths of their file actions (section Action Reconciliation).

Everything that is said of a path is in one bucket, whichever file says it. What is no file action
goes to all buckets, but for change files, which have a path as well.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from conformance.audit.columnar.rows import Rows, text_key
from conformance.audit.grammar.log_files import SIDECAR_DIR
from conformance.audit.grammar.uris import lenient_path
from conformance.audit.read.log import Listing
from conformance.audit.read.raw import Fault, Line, Lines, batch_lines, json_lines
from conformance.audit.read.state import highest_row_id
from reference_impl.errors import DeltaError
from reference_impl.storage import Storage

_ROWS: Final = 500_000
"""File actions of one bucket, about: they take a gigabyte for each million."""

_JSON: Final = 350
_PARQUET: Final = 30
"""Bytes of a file action, about."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a log: ``bytes`` of its files, and the file ``actions`` in them, about."""

    bytes: int = 0
    actions: int = 0


def size_of(storage: Storage, listing: Listing) -> Size:
    """Return the size of a log, sidecars included."""
    files = [entry for _, entry in listing.files]
    # What is wrong with the folder of sidecars is for the audit to say.
    with suppress(DeltaError, OSError):
        files += storage.list_from(SIDECAR_DIR)
    json = sum(file.size for file in files if file.path.endswith(".json"))
    bytes_ = sum(file.size for file in files)
    return Size(bytes_, json // _JSON + (bytes_ - json) // _PARQUET)


def buckets_for(size: Size) -> int:
    """Return how many buckets a log is worth."""
    return max(1, round(size.actions / _ROWS))


_STREAM: Final = b"\xff\xff\xff\xff"
"""How a stream of Arrow begins, and no line that was read as JSON does."""


@dataclass(frozen=True, slots=True)
class Piece:
    """File actions of one file that are in one bucket.

    Attributes:
        bucket: its number.
        path: of the file.
        start: number of the first of them in the file, which orders the pieces.
        numbers: of all of them, as 64-bit integers.
        data: lines of JSON, or a batch in Arrow's format for streams.
    """

    bucket: int
    path: str
    start: int
    numbers: bytes
    data: bytes


def _bucket_of(path: str, buckets: int) -> int:
    """Return the number of the bucket of a decoded path."""
    return zlib.crc32(path.encode(errors="backslashreplace")) % buckets


@dataclass(frozen=True, slots=True)
class Bucket:
    """One of several buckets of paths.

    Attributes:
        number: which one, from 0.
        buckets: how many there are.
    """

    number: int
    buckets: int

    def has(self, path: str) -> bool:
        """Return whether a decoded path is in it."""
        return _bucket_of(path, self.buckets) == self.number


def _buckets(rows: Rows, buckets: int) -> npt.NDArray[np.int64]:
    found = [
        _bucket_of(text_key(text)[0], buckets)
        for chunk in rows.keys.chunks
        for text in chunk.to_pylist()
    ]
    return np.array(found, np.int64)


def pieces(path: str, parts: Iterable[Lines], buckets: int) -> Iterator[Lines | Piece]:
    """Take a file apart: its file actions by bucket, and at last the lines of all others."""
    counts: Counter[str | None] = Counter()
    small: list[tuple[int, Line]] = []
    faults: list[Fault] = []
    highest = -1
    added: str | None = None
    rearranges = False
    for lines in parts:
        counts += lines.counts()
        small += lines.small
        faults += lines.faults
        if lines.rows.based.any() or any(line.action == "add" for _, line in lines.small):
            highest = max(highest, highest_row_id(line.body for line in lines.of("add")))
            lines.rows.forget()
        added = added or lines.first_add
        rearranges = rearranges or lines.rearranges
        yield from _pieces(path, lines.rows, buckets)
    facts = {"counts": dict(counts), "highest": highest, "added": added, "rearranges": rearranges}
    yield Lines(small, tuple(faults), facts=facts)


def _pieces(path: str, rows: Rows, buckets: int) -> Iterator[Piece]:
    where = _buckets(rows, buckets)
    ends = [*(part.start for part in rows.parts), len(rows)][1:]
    for part, end in zip(rows.parts, ends, strict=True):
        inside = where[part.start : end]
        order = rows.order[part.start : end]
        by = np.argsort(inside, kind="stable")
        cuts = np.flatnonzero(np.diff(inside[by])) + 1
        for chosen in np.split(by, cuts):
            if len(chosen):
                numbers = order[chosen]
                yield Piece(
                    int(inside[chosen[0]]),
                    path,
                    int(numbers[0]),
                    numbers.tobytes(),
                    part.source.packed(chosen.tolist()),
                )


def lines_of_bucket(small: Lines, pieces: Iterable[Piece], bucket: Bucket) -> Lines:
    """Make the lines of a file of a bucket's pieces of it.

    Args:
        small: of the file, without its file actions.
        pieces: the pieces.
        bucket: says which change files are its own.
    """
    kept = [(at, line) for at, line in small.small if _is_in(line, bucket)]
    rows: list[Rows] = []
    texts: list[tuple[int, bytes]] = []
    for piece in sorted(pieces, key=lambda each: each.start):
        numbers = np.frombuffer(piece.numbers, np.int64)
        if piece.data[:4] != _STREAM:
            texts += zip(numbers.tolist(), piece.data.split(b"\n"), strict=True)
            continue
        with pa.ipc.open_stream(piece.data) as stream:
            rows += [batch_lines(piece.path, numbers, batch)[1] for batch in stream]
    if texts:
        rows.append(json_lines(piece.path, texts).rows)
    return Lines(kept, small.faults, Rows.joined(rows), small.facts)


def _is_in(line: Line, bucket: Bucket) -> bool:
    if line.action != "cdc":
        return True
    path = line.body.get("path")
    return bucket.has(lenient_path(path) if isinstance(path, str) else "")
