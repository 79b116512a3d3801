"""Deletion vectors: sets of row indexes in, bytes and descriptors out.

Covers "Deletion Vectors", "Deletion Vector Format" and "Deletion Vector File Storage Format".
The 64-bit container, the Z85 text and the file framing are written here; the 32-bit bitmaps
inside them come from the Roaring library.
"""

from __future__ import annotations

import base64
import struct
import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyroaring import BitMap

from generators.materialise.data.paths import place

MAGIC: Final = 1681511377
"""Little-endian magic of the portable format."""

NATIVE_MAGIC: Final = 1681511376
"""Big-endian magic of the older native layout, seen in the protocol's inline example."""

_FORMAT_VERSION: Final = b"\x01"

_Z85: Final = (
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
)
_B85: Final = (
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)
"""The alphabet of Python's own base 85, whose digits have the same places."""

_TO_Z85: Final = bytes.maketrans(_B85, _Z85)
_FROM_Z85: Final = bytes.maketrans(_Z85, _B85)


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector to store in a file.

    Attributes:
        rows: physical row indexes that the vector deletes.
        data: the bytes to store instead of the serialized rows, to plant damage.
        checksum: the CRC-32 to store instead of the right one.
    """

    rows: Sequence[int]
    data: bytes | None = None
    checksum: int | None = None


def z85_encode(data: bytes) -> str:
    """Return the Z85 text of bytes, padded with zero bytes to a multiple of four."""
    padded = data + b"\0" * (-len(data) % 4)
    return base64.b85encode(padded).translate(_TO_Z85).decode()


def _buckets(rows: Iterable[int]) -> list[tuple[int, bytes]]:
    grouped: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        grouped[row >> 32].append(row & 0xFFFFFFFF)
    result = []
    for key in sorted(grouped):
        bitmap = BitMap(grouped[key])
        bitmap.run_optimize()
        result.append((key, bytes(bitmap.serialize())))
    return result


def serialize_vector(rows: Iterable[int]) -> bytes:
    """Return the portable serialization of row indexes, magic number first."""
    buckets = _buckets(rows)
    parts = [struct.pack("<iQ", MAGIC, len(buckets))]
    parts += [struct.pack("<I", key) + bitmap for key, bitmap in buckets]
    return b"".join(parts)


def serialize_vector_native(rows: Iterable[int]) -> bytes:
    """Return the older native serialization: big-endian head, one sized bitmap per high word."""
    by_key = dict(_buckets(rows))
    count = max(by_key, default=-1) + 1
    parts = [struct.pack(">ii", NATIVE_MAGIC, count)]
    for key in range(count):
        bitmap = by_key.get(key, bytes(BitMap().serialize()))
        parts.append(struct.pack(">i", len(bitmap)) + bitmap)
    return b"".join(parts)


def inline_descriptor(rows: Sequence[int], *, data: bytes | None = None) -> dict[str, Any]:
    """Return a descriptor that carries its vector inside the log."""
    content = serialize_vector(rows) if data is None else data
    return {
        "storageType": "i",
        "pathOrInlineDv": z85_encode(content),
        "sizeInBytes": len(content),
        "cardinality": len(set(rows)),
    }


def vector_file_name(identity: uuid.UUID, prefix: str = "") -> str:
    """Return the raw path of a vector file below the table root."""
    name = f"deletion_vector_{identity}.bin"
    return f"{prefix}/{name}" if prefix else name


def decode_uuid_name(text: str) -> tuple[str, uuid.UUID]:
    """Split ``pathOrInlineDv`` of storage type ``u`` into prefix and UUID."""
    encoded = text[-20:].encode().translate(_FROM_Z85)
    return text[:-20], uuid.UUID(bytes=base64.b85decode(encoded))


def write_vector_file(
    root: Path,
    identity: uuid.UUID,
    vectors: Sequence[StoredVector],
    *,
    prefix: str = "",
    absolute: str | None = None,
) -> list[dict[str, Any]]:
    """Write a file of one or more vectors and return one descriptor for each.

    Args:
        root: the table root.
        identity: the UUID in the file's name.
        vectors: what to store, in order.
        prefix: the random directory prefix, if any.
        absolute: give descriptors of storage type ``p`` with this URI instead of type ``u``.
    """
    content = bytearray(_FORMAT_VERSION)
    descriptors = []
    name = prefix + z85_encode(identity.bytes)
    for vector in vectors:
        data = serialize_vector(vector.rows) if vector.data is None else vector.data
        checksum = zlib.crc32(data) if vector.checksum is None else vector.checksum
        descriptors.append(
            {
                "storageType": "u" if absolute is None else "p",
                "pathOrInlineDv": name if absolute is None else absolute,
                "offset": len(content),
                "sizeInBytes": len(data),
                "cardinality": len(set(vector.rows)),
            }
        )
        content += struct.pack(">I", len(data)) + data + struct.pack(">I", checksum)
    place(root, vector_file_name(identity, prefix)).write_bytes(bytes(content))
    return descriptors
