"""Changes of the bytes of deletion vectors, by the id of their mutation.

Covers "Deletion Vector Format" and "Deletion Vector File Storage Format".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from generators.materialise.data.deletion_vectors import (
    serialize_vector,
    serialize_vector_native,
    z85_encode,
)
from generators.mutations.edits import edit_action, edit_bytes, edit_of
from generators.mutations.mutation import Change


def _file(edit: Callable[[bytes], bytes]) -> Change:
    """Change the bytes of the vector file."""
    return edit_bytes({"file": "deletion_vector_*.bin"}, edit)


def _vector(edit: Callable[[bytes], bytes]) -> Change:
    """Change the bytes of the first vector in the file, with a CRC that fits; same length."""

    def framed(data: bytes) -> bytes:
        (size,) = struct.unpack(">I", data[1:5])
        changed = edit(data[5 : 5 + size])
        if len(changed) != size:
            raise ValueError("the vector changed its length")
        return data[:5] + changed + struct.pack(">I", zlib.crc32(changed)) + data[9 + size :]

    return _file(framed)


def _inline(data: bytes, cardinality: int = 2) -> Change:
    """Store another inline vector in place of the one of version 2."""
    descriptor = {
        "pathOrInlineDv": z85_encode(data),
        "sizeInBytes": len(data),
        "cardinality": cardinality,
    }
    fields = {f"deletionVector/{name}": value for name, value in descriptor.items()}
    return edit_of({"commit": 2, "action": "add", "set": fields})


def _descending_keys() -> bytes:
    low, high = serialize_vector([1])[12:], serialize_vector([(1 << 32) + 4])[12:]
    return struct.pack("<iQ", 1681511377, 2) + high + low


def _odd_length(body: dict[str, Any]) -> None:
    vector = body["deletionVector"]
    vector["pathOrInlineDv"] = vector["pathOrInlineDv"][:-2]


CHANGES: Final[Mapping[str, Change]] = {
    "vector-wrong-checksum": _file(lambda data: data[:-1] + bytes([data[-1] ^ 0xFF])),
    "vector-flipped-bit": _file(lambda data: data[:34] + bytes([data[34] ^ 1]) + data[35:]),
    "vector-unknown-file-version": _file(lambda data: b"\x02" + data[1:]),
    "vector-false-frame-size": _file(lambda data: data[:1] + struct.pack(">I", 7) + data[5:]),
    "vector-unknown-magic": _vector(lambda data: b"\x01\x02\x03\x04" + data[4:]),
    "vector-key-with-top-bit": _vector(
        lambda data: data[:12] + struct.pack("<I", 0x80000000) + data[16:]
    ),
    "vector-false-bucket-count": _vector(
        lambda data: data[:4] + struct.pack("<Q", 2**40) + data[12:]
    ),
    "vector-bitmap-garbage": _vector(lambda data: data[:16] + b"\xee" * (len(data) - 16)),
    "vector-inline-cut": _inline(serialize_vector([1, 4])[:-5]),
    "vector-inline-no-bytes": _inline(b"", 0),
    "vector-descending-keys": _inline(_descending_keys()),
    "vector-rows-beyond-the-file": _inline(serialize_vector([1, 4, 1000]), 3),
    "vector-native-layout": _inline(serialize_vector_native([1, 4])),
    "vector-z85-of-odd-length": edit_action(2, "add", _odd_length),
}
