"""Roaring bitmaps of 64-bit row indexes, checked byte by byte (section Deletion Vector Format).

Containers are kept as they are stored: a run of four bytes stands for 65,536 rows, so that only
rows of the file which is judged are ever decompressed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from reference_impl.errors import LimitExceeded
from reference_impl.limits import budget, exceeded

MAGIC: Final = 1681511377
"""First four bytes, little endian, of the format that the protocol defines."""

_NATIVE: Final = 1681511376
"""Magic of an older layout, which is in the inline sample of the protocol."""

_WITH_RUNS: Final = 12347
_WITHOUT_RUNS: Final = 12346
_OFFSETS_FROM: Final = 4
_ARRAY_LIMIT: Final = 4096
_CONTAINER: Final = 1 << 16
_TOP_BIT: Final = 1 << 31
_MIN_BUCKET_BYTES: Final = 12
"""Bytes of an empty bucket."""

_Kind: TypeAlias = Literal["array", "bitmap", "run"]
_Bytes: TypeAlias = npt.NDArray[np.uint8]


class VectorFault(ValueError):  # noqa: N818  it names the fault, as findings do
    """A deletion vector that is not what the protocol says.

    Attributes:
        requirement: what it breaks.
        path: the file of the vector, where that is at fault.
    """

    def __init__(self, requirement: str, message: str, path: str | None = None) -> None:
        """Say what is broken and how."""
        super().__init__(message)
        self.requirement = requirement
        self.path = path


@dataclass(frozen=True, slots=True)
class Rows:
    """A set of row indexes.

    Attributes:
        containers: the upper 48 bits of indexes, ascending, to the lower 16 as they are stored.
        cardinality: how many indexes there are.
        native: whether they came in the older layout.
    """

    containers: Mapping[int, tuple[_Kind, _Bytes]]
    cardinality: int
    native: bool = False

    @property
    def maximum(self) -> int | None:
        """The highest index; ``None`` of the empty set."""
        if not self.containers:
            return None
        key = max(self.containers)
        return key * _CONTAINER + int(_decompressed(*self.containers[key]).max())

    def kept(self, count: int) -> pa.BooleanArray | None:
        """Return for each of the first rows whether it is not in the set; ``None`` if all are."""
        mask = None
        for key, (kind, stored) in self.containers.items():
            start = key * _CONTAINER
            if start >= count:
                break
            mask = np.ones(count, np.bool_) if mask is None else mask
            values = _decompressed(kind, stored) + start
            mask[values[values < count]] = False
        return None if mask is None else pa.array(mask)

    def covers(self, other: Rows) -> bool:
        """Return whether every row of another set is in this one."""
        return all(
            bool(self.holds(_decompressed(*held) + key * _CONTAINER).all())
            for key, held in other.containers.items()
        )

    def holds(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return for each of some row indexes whether it is in the set."""
        found = np.zeros(len(rows), np.bool_)
        keys = rows // _CONTAINER
        for key in np.unique(keys).tolist():
            if key in self.containers:
                at = keys == key
                found[at] = np.isin(rows[at] % _CONTAINER, _decompressed(*self.containers[key]))
        return found


def _decompressed(kind: _Kind, stored: _Bytes) -> npt.NDArray[np.int64]:
    if kind == "array":
        return stored.view("<u2").astype(np.int64)
    if kind == "bitmap":
        return np.flatnonzero(np.unpackbits(stored, bitorder="little"))
    pairs = stored.view("<u2").reshape(-1, 2).astype(np.int64)
    return np.concatenate([np.arange(first, first + more + 1) for first, more in pairs])


def decode_rows(payload: bytes) -> Rows:
    """Parse a serialized vector, the older layout included.

    Raises:
        VectorFault: the magic number is another, or the bitmap breaks its format.
        LimitExceeded: it has more containers than the audit takes.
    """
    if len(payload) < 4:
        raise VectorFault("DVFMT-008", f"{len(payload)} bytes are too few for a magic number")
    (magic,) = struct.unpack_from("<I", payload)
    (swapped,) = struct.unpack_from(">I", payload)
    if swapped == MAGIC:
        raise VectorFault("DVFMT-010", "the magic number is big endian")
    if magic != MAGIC and _NATIVE not in (magic, swapped):
        raise VectorFault("DVFMT-008", f"the magic number is {magic}, not {MAGIC}")
    try:
        native = None if magic == MAGIC else "<" if magic == _NATIVE else ">"
        return _parsed(payload, _Form(native=native))
    except VectorFault as fault:
        raise _cause(payload) or fault from None


_Part: TypeAlias = Literal["count", "key", "cookie", "size", "header", "offsets", "values"]

_PARTS: Final[tuple[_Part, ...]] = (
    "count", "key", "cookie", "size", "header", "offsets", "values",
)  # fmt: skip
"""Numbers of the portable layout: the count of buckets; of a bucket its key, the cookie of its
bitmap, the count of containers, their keys and cardinalities, their offsets, what is in them."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How a payload is read; by default as the protocol says.

    Attributes:
        native: the byte order of the older layout; the portable one for ``None``.
        turned: which numbers are big endian.
        keys: whether buckets have keys.
        offsets: whether bitmaps have the offsets of their containers.
        more: how many containers a bitmap has beyond those that it counts.
    """

    native: str | None = None
    turned: frozenset[_Part] = frozenset()
    keys: bool = True
    offsets: bool = True
    more: int = 0

    def order(self, part: _Part) -> str:
        return ">" if part in self.turned else "<"


def _parsed(payload: bytes, form: _Form) -> Rows:
    """Parse what follows the magic number."""
    reader = _Reader(payload, form)
    found = list(reader.portable() if form.native is None else reader.native(form.native))
    if reader.at != len(payload):
        rest = len(payload) - reader.at
        raise VectorFault("DVFMT-011", f"{rest} bytes follow the bitmap")
    containers = {key: (kind, stored) for key, kind, stored, _ in found}
    return Rows(containers, sum(count for *_, count in found), form.native is not None)


def _cause(payload: bytes) -> VectorFault | None:
    """Return the one thing by which a payload is wrong, where without it the rest is right."""
    body = payload[4:]
    magic = struct.pack("<I", MAGIC)
    if payload.startswith(magic):
        with suppress(VectorFault, LimitExceeded):
            if _parsed(payload, _Form(native="<")).cardinality:
                return VectorFault("DVFMT-002", "the bitmap has the older layout")
    for requirement, message, right in (
        ("DVFMT-008", "the magic number is that of the older layout", body),
        ("DVFMT-003", "the count of buckets has 4 bytes", body[:4] + bytes(4) + body[4:]),
        ("DVFMT-003", "there is no count of buckets", struct.pack("<Q", 1) + body),
        *(("DVFMT-011", "bytes stand before the bitmap", body[n:]) for n in _PREFIX_BYTES),
    ):
        if right != body or not payload.startswith(magic):
            with suppress(VectorFault, LimitExceeded):
                _parsed(magic + right, _Form())
                return VectorFault(requirement, message)
    for requirement, message, form in _FORMS:
        with suppress(VectorFault, LimitExceeded):
            if _parsed(magic + body, form).cardinality:
                return VectorFault(requirement, message)
    return None


_PREFIX_BYTES: Final = (1, 2, 4, 8)
"""Bytes that a length or a version before the bitmap may take."""


def _turns() -> Iterator[tuple[str, str, _Form]]:
    """Yield the ways to turn numbers around; any key may be right, so that it turns with others."""
    for count in range(1, len(_PARTS) + 1):
        for some in combinations(_PARTS, count):
            if "key" not in some or {"count", "cookie"} & {*some}:
                message = f"numbers of the vector are big endian: {', '.join(some)}"
                yield "DVFMT-010", message, _Form(turned=frozenset(some))


_FORMS: Final[tuple[tuple[str, str, _Form], ...]] = (
    *_turns(),
    ("DVFMT-005", "a bitmap lacks the offsets of its containers", _Form(offsets=False)),
    ("DVFMT-005", "the buckets have no keys", _Form(keys=False)),
    ("DVFMT-005", "a bitmap counts a container that it does not have", _Form(more=-1)),
    ("DVFMT-005", "a bitmap has a container that it does not count", _Form(more=1)),
)
"""Other ways to write a vector, the likeliest first, and what each of them breaks."""


class _Reader:
    """Walks over the bytes of a vector."""

    def __init__(self, payload: bytes, form: _Form) -> None:
        self._payload, self._form = payload, form
        self._data = np.frombuffer(payload, np.uint8)
        self.at = 4
        self._containers = 0

    def _take(self, code: str) -> int:
        try:
            (value,) = struct.unpack_from(code, self._payload, self.at)
        except struct.error:
            raise VectorFault("DVFMT-011", "the vector ends inside of a number") from None
        self.at += struct.calcsize(code)
        return int(value)

    def _number(self, part: _Part, code: str) -> int:
        return self._take(f"{self._form.order(part)}{code}")

    def _slice(self, length: int) -> _Bytes:
        if self.at + length > len(self._data):
            raise VectorFault("DVFMT-011", "the vector ends inside of a bitmap")
        found = self._data[self.at : self.at + length]
        self.at += length
        return found

    def _view(self, length: int, part: _Part, code: str) -> npt.NDArray[Any]:
        return self._slice(length).view(f"{self._form.order(part)}{code}")

    def portable(self) -> Iterator[tuple[int, _Kind, _Bytes, int]]:
        last, count = -1, self._number("count", "Q")
        _refuse_many(count, len(self._payload))
        if count & 0xFFFF in (_WITH_RUNS, _WITHOUT_RUNS) and count > len(self._payload):
            raise VectorFault("DVFMT-002", "a bitmap of 32 bits stands where buckets are counted")
        for index in range(count):
            if self.at == len(self._payload):
                raise VectorFault("DVFMT-003", f"{count} buckets are counted, there are {index}")
            key = self._number("key", "I") if self._form.keys else index
            if key <= last:
                raise VectorFault("DVFMT-004", f"bucket {key} follows bucket {last}")
            if key >= _TOP_BIT:
                raise VectorFault("DVFMT-006", f"bucket {key} has its top bit set")
            yield from self._bucket(key)
            last = key
        self._refuse_more(last)

    def _refuse_more(self, last: int) -> None:
        """Refuse a bucket behind those that are counted."""
        end, rest = self.at, len(self._payload) - self.at
        if rest < _MIN_BUCKET_BYTES or not last < self._number("key", "I") < _TOP_BIT:
            self.at = end
            return
        try:
            for _ in self._bucket(0):
                pass
        except VectorFault:
            self.at = end
        else:
            raise VectorFault("DVFMT-003", "there are more buckets than are counted")

    def native(self, order: str) -> Iterator[tuple[int, _Kind, _Bytes, int]]:
        count = self._take(f"{order}I")
        _refuse_many(count, len(self._payload))
        for key in range(count):
            size = self._take(f"{order}I")
            begin = self.at
            yield from self._bucket(key)
            if self.at != begin + size:
                raise VectorFault("DVFMT-011", f"bucket {key} does not take {size} bytes")

    def _bucket(self, high: int) -> Iterator[tuple[int, _Kind, _Bytes, int]]:
        """Parse one standard bitmap of 32-bit values."""
        begin, cookie = self.at, self._number("cookie", "I")
        with_runs = cookie & 0xFFFF == _WITH_RUNS
        if with_runs:
            size = (cookie >> 16) + 1 + self._form.more
            flags = self._slice((size + 7) // 8)
            runs = np.unpackbits(flags, count=size, bitorder="little").tolist()
        elif cookie == _WITHOUT_RUNS:
            size = max(self._number("size", "I") + self._form.more, 0)
            if size > _CONTAINER:
                raise VectorFault("DVFMT-005", f"a bitmap has {size} containers")
            runs = [0] * size
        else:
            raise VectorFault("DVFMT-005", f"a bitmap begins with {cookie}")
        self._containers += size
        if self._containers > budget().limits.vector_containers:
            found = f"a deletion vector has {self._containers} containers and more"
            raise exceeded("vector_containers", found)
        header = self._view(4 * size, "header", "u2").reshape(-1, 2).tolist()
        offsets = None
        if self._form.offsets and (not with_runs or size >= _OFFSETS_FROM):
            offsets = self._view(4 * size, "offsets", "u4").tolist()
        last = -1
        for index, (key, less) in enumerate(header):
            if key <= last:
                raise VectorFault("DVFMT-004", f"container {key} follows container {last}")
            if offsets is not None and begin + offsets[index] != self.at:
                raise VectorFault("DVFMT-005", "the offsets do not lead to the containers")
            kind, stored = self._container(bool(runs[index]), less + 1)
            yield (high << 16) + key, kind, stored, less + 1
            last = key

    def _container(self, run: bool, count: int) -> tuple[_Kind, _Bytes]:
        kind: _Kind
        order = self._form.order("values")
        if run:
            kind, stored = "run", self._slice(4 * self._number("values", "H"))
            right = _runs_hold(stored, count, order)
        elif count <= _ARRAY_LIMIT:
            kind, stored = "array", self._slice(2 * count)
            right = bool((np.diff(stored.view(f"{order}u2").astype(np.int64)) > 0).all())
        else:
            kind, stored = "bitmap", self._slice(_CONTAINER // 8)
            right = int(np.bitwise_count(stored).sum()) == count
        if not right:
            raise VectorFault("DVFMT-005", "a container does not hold the values that it counts")
        return kind, stored


def _refuse_many(buckets: int, size: int) -> None:
    # A count that the bytes have no room for is found to be wrong on the way.
    if budget().limits.vector_buckets < buckets <= size // _MIN_BUCKET_BYTES:
        raise exceeded("vector_buckets", f"a deletion vector has {buckets} buckets")


def _runs_hold(stored: _Bytes, count: int, order: str) -> bool:
    pairs = stored.view(f"{order}u2").reshape(-1, 2).astype(np.int64)
    ends = pairs[:, 0] + pairs[:, 1]
    apart = bool((pairs[1:, 0] > ends[:-1]).all()) and int(ends.max(initial=0)) < _CONTAINER
    return apart and int((pairs[:, 1] + 1).sum()) == count
