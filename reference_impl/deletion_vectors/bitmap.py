"""A deletion vector in memory: containers of 65,536 rows each, expanded only where rows are read.

Implements "Deletion Vector Format". A roaring bitmap container has the layout of an Arrow boolean
array, so that most of a dense vector is copied as it is; nothing is ever turned into a Python
object per row, and memory grows with the vector's bytes, not with the rows that it spans.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["ARRAY", "BITMAP", "BITMAP_BYTES", "CONTAINER_ROWS", "RUN", "Bitmap"]

CONTAINER_ROWS = 1 << 16
BITMAP_BYTES = CONTAINER_ROWS // 8
ARRAY, BITMAP, RUN = 0, 1, 2
"""Kinds of containers: sorted 16-bit values, one bit per value, runs of values."""

_Bytes: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Bitmap:
    """A set of row positions, as checked containers over the serialized bytes.

    Attributes:
        data: the serialized bytes.
        keys: which 65,536 rows each container covers (position divided by 65,536), ascending.
        kinds: the kind of each container.
        counts: values of each container; runs of a run container.
        offsets: where the values of each container start in ``data``, in bytes.
        cardinality: how many rows are in the set.
    """

    data: _Bytes = field(repr=False)
    keys: npt.NDArray[np.uint64] = field(repr=False)
    kinds: npt.NDArray[np.uint8] = field(repr=False)
    counts: npt.NDArray[np.int64] = field(repr=False)
    offsets: npt.NDArray[np.int64] = field(repr=False)
    cardinality: int

    def kept(self, start: int, length: int) -> pa.BooleanArray | None:
        """Return the mask of rows from ``start`` on that are not in the set.

        Returns:
            True for each row that stays; ``None`` when all of them do.
        """
        first, last = start // CONTAINER_ROWS, (start + length - 1) // CONTAINER_ROWS
        low, high = np.searchsorted(self.keys, [np.uint64(first), np.uint64(last + 1)])
        if low == high:
            return None
        bits = np.full((last - first + 1, BITMAP_BYTES), 255, np.uint8)
        for at in range(int(low), int(high)):
            bits[int(self.keys[at]) - first] = ~self._bits(at)
        return pa.BooleanArray.from_buffers(
            pa.bool_(), length, [None, pa.py_buffer(bits)], offset=start - first * CONTAINER_ROWS
        )

    def rows(self) -> npt.NDArray[np.uint64]:
        """Return every row of the set, ascending: eight bytes of memory for each."""
        parts = [
            self.keys[at] * np.uint64(CONTAINER_ROWS)
            + np.flatnonzero(np.unpackbits(self._bits(at), bitorder="little")).astype(np.uint64)
            for at in range(len(self.keys))
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.uint64)

    def _bits(self, at: int) -> _Bytes:
        if self.kinds[at] == BITMAP:
            offset = int(self.offsets[at])
            return self.data[offset : offset + BITMAP_BYTES]
        flags = np.zeros(CONTAINER_ROWS, np.bool_)
        flags[self._values(at)] = True
        return np.packbits(flags, bitorder="little")

    def _values(self, at: int) -> npt.NDArray[Any]:
        offset, count = int(self.offsets[at]), int(self.counts[at])
        if self.kinds[at] == ARRAY:
            return self.data[offset : offset + 2 * count].view("<u2")
        runs = self.data[offset : offset + 4 * count].view("<u2").reshape(-1, 2)
        lengths = runs[:, 1].astype(np.int64) + 1
        ends = np.cumsum(lengths)
        shifts = np.repeat(runs[:, 0].astype(np.int64) - (ends - lengths), lengths)
        positions: npt.NDArray[Any] = np.arange(int(ends[-1])) + shifts
        return positions
