"""Fetch deletion vectors from where descriptors say, and check them.

Implements "Deletion Vector File Storage Format".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from reference_impl.deletion_vectors.bitmap import Bitmap
from reference_impl.deletion_vectors.descriptor import Descriptor, decode_z85
from reference_impl.deletion_vectors.payload import decode
from reference_impl.errors import DeletionVectorNotFound, DeltaError, InvalidDeletionVector
from reference_impl.limits import budget, exceeded, out_of_memory
from reference_impl.storage import Storage

_VERSION = b"\x01"
_FRAME = 4
"""Bytes of the size field before a vector, and of the checksum after it."""


def frame(payloads: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """Lay serialized vectors out as a file; give it with the offset of each."""
    parts, offsets, at = [_VERSION], [], len(_VERSION)
    for payload in payloads:
        offsets.append(at)
        parts += [struct.pack(">I", len(payload)), payload, struct.pack(">I", zlib.crc32(payload))]
        at += len(payload) + 2 * _FRAME
    return b"".join(parts), offsets


class VectorStore:
    """Reads the vectors of one table: at most one request per vector, one more per file.

    Safe to use from several threads.
    """

    def __init__(self, storage: Storage) -> None:
        """Bind to the table's storage."""
        self._storage = storage
        self._versioned: set[str] = set()

    def load(self, wire: Mapping[str, Any], path: str | None = None) -> Bitmap:
        """Fetch and check the vector of a descriptor in wire form.

        Args:
            wire: the descriptor.
            path: the data file that it belongs to, for messages.

        Raises:
            LimitExceeded: the vector has more bytes than the limits allow.
            InvalidDeletionVector: descriptor, frame, checksum, bitmap or cardinality is wrong.
            DeletionVectorNotFound: the file is missing.
        """
        try:
            descriptor = Descriptor.from_wire(wire)
            bitmap = decode(self._payload(descriptor))
        except MemoryError as error:
            raise out_of_memory(error, path) from error
        except DeltaError as error:
            error.path = error.path or path
            raise
        if bitmap.cardinality != descriptor.cardinality:
            raise InvalidDeletionVector(
                f"the vector deletes {bitmap.cardinality} rows, its descriptor says "
                f"{descriptor.cardinality}",
                path=path,
                requirement="DVDESC-010",
            )
        return bitmap

    def _payload(self, descriptor: Descriptor) -> bytes:
        if descriptor.storage_type != "i":
            return self._stored(descriptor)
        padded = decode_z85(descriptor.path_or_inline_dv)
        if not 0 <= len(padded) - descriptor.size_in_bytes < 4:
            raise InvalidDeletionVector(
                f"an inline vector has {len(padded)} bytes, sizeInBytes says "
                f"{descriptor.size_in_bytes}",
                requirement="DVDESC-009",
            )
        return padded[: descriptor.size_in_bytes]

    def _stored(self, descriptor: Descriptor) -> bytes:
        path, size = descriptor.path, descriptor.size_in_bytes
        try:
            if size > budget().limits.vector and size <= self._storage.head(path).size:
                raise exceeded("vector", f"the vector has {size} bytes", path=path)
            return self._framed(path, descriptor.offset, size)
        except FileNotFoundError as error:
            raise DeletionVectorNotFound(
                "a deletion vector file of this version does not exist", path=path
            ) from error

    def _framed(self, path: str, offset: int | None, size: int) -> bytes:
        # More than the limit is asked of shorter files only, which lack it.
        length = min(size, budget().limits.vector) + 2 * _FRAME
        if offset in (None, 0, 1):
            # One request for the version as well. Without an offset the first vector is meant;
            # a file that holds nothing but a frame has it at byte 0 instead.
            head = self._storage.get_range(path, 0, length + 1)
            begin = 1 if offset == 1 or (offset is None and _size_at(head, 1) == size) else 0
            if begin:
                self._check_version(path, head[:1])
            return _unframed(head[begin : begin + length], path, size)
        if path not in self._versioned:
            self._check_version(path, self._storage.get_range(path, 0, 1))
        assert offset is not None
        return _unframed(self._storage.get_range(path, offset, length), path, size)

    def _check_version(self, path: str, version: bytes) -> None:
        if version != _VERSION:
            raise InvalidDeletionVector(
                f"a deletion vector file has version {version.hex()}, not 01",
                path=path,
                requirement="DVSTO-003",
            )
        self._versioned.add(path)


def _size_at(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + _FRAME], "big")


def _unframed(data: bytes, path: str, size: int) -> bytes:
    stored = _size_at(data, 0)
    if stored != size:
        raise InvalidDeletionVector(
            f"the vector's file gives it {stored} bytes, sizeInBytes says {size}",
            path=path,
            hint="offset points at the size field in front of the vector",
            requirement="DVSTO-005",
        )
    if len(data) != size + 2 * _FRAME:
        raise InvalidDeletionVector(
            "the vector's file ends inside the vector", path=path, requirement="DVSTO-006"
        )
    payload = data[_FRAME : _FRAME + size]
    # Obeys DVSTO-008.
    if zlib.crc32(payload) != _size_at(data, _FRAME + size):
        raise InvalidDeletionVector(
            "the vector's checksum does not match its bytes",
            path=path,
            hint="the file is damaged: restore it from a copy",
            requirement="DVSTO-007",
        )
    return payload
