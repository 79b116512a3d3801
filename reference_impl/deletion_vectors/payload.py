"""Serialized deletion vectors: magic number and 64-bit roaring bitmap.

Implements "Deletion Vector Format".

The format is parsed here rather than by a roaring library: bytes out of a table are checked
before anything is allocated for them, and containers go into Arrow masks without a detour.
Parsing looks at containers as numpy columns, so that it costs about what copying them costs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyroaring

from reference_impl.deletion_vectors.bitmap import (
    ARRAY,
    BITMAP,
    BITMAP_BYTES,
    CONTAINER_ROWS,
    RUN,
    Bitmap,
)
from reference_impl.errors import InvalidDeletionVector
from reference_impl.limits import budget, exceeded

MAGIC = 1681511377
"""First four bytes, little endian, of the format that the protocol defines."""

NATIVE_MAGIC = 1681511376
"""Magic of an older layout, seen in the protocol's own inline example: read, never written."""

_WITH_RUNS, _WITHOUT_RUNS = 12347, 12346
_OFFSETS_FROM = 4
"""A bitmap with runs has an offset table from this number of containers on."""

_ARRAY_LIMIT = 4096
_MAX_BUCKET = 1 << 31

_RUNS = 1 << 20
"""Runs that are checked together, about."""

_MIN_BUCKET_BYTES = 12
"""Fewest bytes of a bucket: its key or size, and a bitmap without containers."""

_Column: TypeAlias = npt.NDArray[np.int64]


def encode(rows: Iterable[int]) -> bytes:
    """Serialize a set of rows in the format that the protocol defines."""
    # Obeys DVDESC-005 DVFMT-002 DVFMT-003 DVFMT-010.
    bitmap = pyroaring.BitMap64(rows)
    bitmap.run_optimize()
    return struct.pack("<I", MAGIC) + bytes(bitmap.serialize())


def decode(payload: bytes) -> Bitmap:
    """Parse a serialized vector, older layout included.

    Raises:
        LimitExceeded: it has more buckets or containers than the limits allow.
        InvalidDeletionVector: the magic number is another, or the bitmap breaks its format.
    """
    data = np.frombuffer(payload, np.uint8)
    if len(payload) < 4:
        raise _broken(f"{len(payload)} bytes are too few for a magic number", "DVFMT-008")
    little, big = struct.unpack_from("<I", payload)[0], struct.unpack_from(">I", payload)[0]
    if little == MAGIC:
        buckets = _portable(payload, data)
    elif NATIVE_MAGIC in (little, big):
        buckets = _native(payload, data, "<" if little == NATIVE_MAGIC else ">")
    else:
        raise _broken(f"the magic number is {little}, not {MAGIC}", "DVFMT-008")
    return Bitmap(
        data,
        np.frombuffer(b"".join(b.keys.data for b in buckets), np.uint64),
        np.frombuffer(b"".join(b.kinds.data for b in buckets), np.uint8),
        np.frombuffer(b"".join(b.counts.data for b in buckets), np.int64),
        np.frombuffer(b"".join(b.offsets.data for b in buckets), np.int64),
        sum(b.cardinality for b in buckets),
    )


def _portable(payload: bytes, data: npt.NDArray[np.uint8]) -> list[Bitmap]:
    (count,) = _unpack("<Q", payload, 4)
    _refuse_many(count, len(payload))
    at, last, before, buckets = 12, -1, 0, []
    for _ in range(count):
        (key,) = _unpack("<I", payload, at)
        if key <= last:
            raise _broken(f"bucket {key} follows bucket {last}", "DVFMT-004")
        if key >= _MAX_BUCKET:
            raise _broken(f"bucket {key} has its top bit set", "DVFMT-006")
        bucket, at = _bucket(payload, data, at + 4, key, before)
        buckets.append(bucket)
        last, before = key, before + len(bucket.keys)
    _refuse_rest(payload, at)
    return buckets


def _refuse_many(count: int, size: int) -> None:
    # A count that the bytes have no room for is found to be wrong on the way.
    if budget().limits.vector_buckets < count <= size // _MIN_BUCKET_BYTES:
        raise exceeded("vector_buckets", f"the vector has {count} buckets")


def _native(payload: bytes, data: npt.NDArray[np.uint8], order: str) -> list[Bitmap]:
    (count,) = _unpack(f"{order}I", payload, 4)
    _refuse_many(count, len(payload))
    at, before, buckets = 8, 0, []
    for key in range(count):
        (size,) = _unpack(f"{order}I", payload, at)
        start = at + 4
        bucket, at = _bucket(payload, data, start, key, before)
        if at != start + size:
            raise _broken(f"bucket {key} has {at - start} bytes, not {size}", "DVFMT-011")
        buckets.append(bucket)
        before += len(bucket.keys)
    _refuse_rest(payload, at)
    return buckets


def _bucket(
    payload: bytes, data: npt.NDArray[np.uint8], at: int, high: int, before: int
) -> tuple[Bitmap, int]:
    """Parse one standard 32-bit bitmap that starts at byte ``at``, and return where it ends.

    ``before`` counts the containers of the bitmaps before it.
    """
    begin = at
    (cookie,) = _unpack("<I", payload, at)
    runs = cookie & 0xFFFF == _WITH_RUNS
    if runs:
        size, at = (cookie >> 16) + 1, at + 4
        flags = _slice(data, at, (size + 7) // 8)
        at += len(flags)
        is_run = np.unpackbits(flags, count=size, bitorder="little").astype(np.bool_)
    elif cookie == _WITHOUT_RUNS:
        (size,) = _unpack("<I", payload, at + 4)
        at += 8
        if size > CONTAINER_ROWS:
            raise _broken(f"a bitmap has {size} containers", "DVFMT-005")
        is_run = np.zeros(size, np.bool_)
    else:
        raise _broken(f"a bitmap starts with {cookie}", "DVFMT-005")
    if before + size > budget().limits.vector_containers:
        raise exceeded("vector_containers", f"the vector has {before + size} containers and more")
    header = _slice(data, at, 4 * size).view("<u2").reshape(-1, 2).astype(np.int64)
    at += 4 * size
    keys, counts = header[:, 0], header[:, 1] + 1
    if (np.diff(keys) <= 0).any():
        raise _broken("the containers of a bitmap do not ascend", "DVFMT-004")
    kinds = np.where(counts > _ARRAY_LIMIT, BITMAP, ARRAY).astype(np.uint8)
    kinds[is_run] = RUN
    table = None
    if not runs or size >= _OFFSETS_FROM:
        table = _slice(data, at, 4 * size).view("<u4").astype(np.int64) + begin
        at += 4 * size
    starts, lengths, end = _layout(data, at, kinds, counts, table)
    if table is not None and (table != starts).any():
        raise _broken("the offset table does not point at the containers", "DVFMT-005")
    offsets = starts + np.where(kinds == RUN, 2, 0)
    cardinality = int(counts.sum())
    _check_values(data, kinds, counts, offsets, lengths)
    stored = np.where(kinds == RUN, (lengths - 2) // 4, counts)
    global_keys = keys.astype(np.uint64) + (high << 16)
    return Bitmap(data, global_keys, kinds, stored, offsets, cardinality), end


def _layout(
    data: npt.NDArray[np.uint8],
    at: int,
    kinds: npt.NDArray[np.uint8],
    counts: _Column,
    table: _Column | None,
) -> tuple[_Column, _Column, int]:
    """Return where each container starts, the bytes that it takes, and the end.

    Args:
        data: the whole vector.
        at: where the first container starts.
        kinds: of the containers.
        counts: their values.
        table: where they start by the table of offsets, if there is one.
    """
    lengths = np.where(kinds == BITMAP, BITMAP_BYTES, 2 * counts)
    # The length of a run container is only known from its runs: the offset table locates them
    # at once, and without it there are few to visit.
    runs = np.flatnonzero(kinds == RUN)
    if table is not None:
        if (table[runs] + 2 > len(data)).any():
            raise _broken("the offset table does not point at the containers", "DVFMT-005")
        lengths[runs] = 2 + 4 * _shorts(data, table[runs])
    else:
        for index in runs.tolist():
            starts = at + np.cumsum(lengths) - lengths
            _slice(data, int(starts[index]), 2)
            lengths[index] = 2 + 4 * int(_shorts(data, starts[index]))
    starts = at + np.cumsum(lengths) - lengths
    end = at + int(lengths.sum())
    if end > len(data):
        raise _broken("a bitmap ends before its last container", "DVFMT-011")
    return starts, lengths, end


def _check_values(
    data: npt.NDArray[np.uint8],
    kinds: npt.NDArray[np.uint8],
    counts: _Column,
    offsets: _Column,
    lengths: _Column,
) -> None:
    """Check that containers hold as many different values as their header says."""
    changes = np.flatnonzero(np.diff(kinds)) + 1
    edges = [0, *changes.tolist(), len(kinds)]
    for first, last in pairwise(edges):
        if first == last:
            continue
        kind = kinds[first]
        begin, end = int(offsets[first]), int(offsets[last - 1])
        if kind == ARRAY:
            good = _arrays_ascend(data[begin : end + int(lengths[last - 1])], counts[first:last])
        elif kind == BITMAP:
            words = data[begin : end + BITMAP_BYTES].view("<u8").reshape(last - first, -1)
            good = bool((np.bitwise_count(words).sum(axis=1) == counts[first:last]).all())
        else:
            runs = (lengths[first:last] - 2) // 4
            good = _runs_fit(data, offsets[first:last], runs, counts[first:last])
        if not good:
            raise _broken("a container does not hold the values that it counts", "DVFMT-007")


def _arrays_ascend(segment: npt.NDArray[np.uint8], counts: _Column) -> bool:
    values = segment.view("<u2")
    ascends = values[1:] > values[:-1]
    ascends[np.cumsum(counts)[:-1] - 1] = True
    return bool(ascends.all())


def _runs_fit(
    data: npt.NDArray[np.uint8], offsets: _Column, runs: _Column, counts: _Column
) -> bool:
    """Return whether the runs of containers ascend, stay apart and hold so many values."""
    if not runs.all():
        return False
    through = np.cumsum(runs)
    edges = np.searchsorted(through, np.arange(_RUNS, through[-1], _RUNS))
    for part in np.split(np.arange(len(runs)), edges):  # none is empty: containers are small
        many = runs[part]
        first = np.cumsum(many) - many
        at = np.repeat(offsets[part] - 4 * first, many) + 4 * np.arange(int(many.sum()))
        starts, more = _shorts(data, at), _shorts(data, at + 2)
        ends = starts + more
        apart = starts[1:] > ends[:-1]
        apart[first[1:] - 1] = True
        if not apart.all() or (ends >= CONTAINER_ROWS).any():
            return False
        if (np.add.reduceat(more + 1, first) != counts[part]).any():
            return False
    return True


def _shorts(data: npt.NDArray[np.uint8], at: Any) -> Any:
    """Return the 16-bit numbers at byte offsets."""
    return data[at].astype(np.int64) + 256 * data[at + 1].astype(np.int64)


def _unpack(code: str, payload: bytes, at: int) -> tuple[int, ...]:
    try:
        return struct.unpack_from(code, payload, at)
    except struct.error:
        raise _broken(
            f"the vector ends before byte {at + struct.calcsize(code)}", "DVFMT-011"
        ) from None


def _slice(data: npt.NDArray[np.uint8], at: int, length: int) -> npt.NDArray[np.uint8]:
    if at + length > len(data):
        raise _broken(f"the vector ends before byte {at + length}", "DVFMT-011")
    return data[at : at + length]


def _refuse_rest(payload: bytes, end: int) -> None:
    if end != len(payload):
        raise _broken(f"{len(payload) - end} bytes follow the bitmap", "DVFMT-011")


def _broken(problem: str, requirement: str) -> InvalidDeletionVector:
    return InvalidDeletionVector(
        f"the serialized vector is malformed: {problem}", requirement=requirement
    )
