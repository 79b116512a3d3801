"""Deletion vectors whose bytes, frames or descriptors lie.

Serves "Deletion Vectors", "Deletion Vector Format" and "Deletion Vector File Storage Format". A
reader that goes on in spite of one of these gives rows back that were deleted.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from generators.materialise.builder import TableBuilder
from generators.materialise.data.deletion_vectors import (
    serialize_vector,
    serialize_vector_native,
    z85_encode,
)
from generators.materialise.log.files import write_commit
from generators.mutations.bases import VECTORS, VECTORS_INLINE
from generators.mutations.edits import edit_action
from generators.mutations.mutation import Change, Chapter

_DESCRIPTORS: Final = Chapter("deletion-vectors")
_BYTES: Final = Chapter("deletion-vector-format")

_STORED: Final = 3
"""The version of the base whose adds have vectors in a file."""

_INLINE: Final = 2
"""The version of the base whose add has an inline vector."""


def _file(edit: Callable[[bytes], bytes]) -> Change:
    """Change the bytes of the vector file."""

    def change(root: Path, _builder: TableBuilder) -> None:
        path = next(root.glob("deletion_vector_*.bin"))
        path.write_bytes(edit(path.read_bytes()))

    return change


def _vector(edit: Callable[[bytes], bytes]) -> Change:
    """Change the bytes of the first vector in the file, with a CRC that fits; same length."""

    def framed(data: bytes) -> bytes:
        (size,) = struct.unpack(">I", data[1:5])
        changed = edit(data[5 : 5 + size])
        if len(changed) != size:
            raise ValueError("the vector changed its length")
        return data[:5] + changed + struct.pack(">I", zlib.crc32(changed)) + data[9 + size :]

    return _file(framed)


def _descriptor(version: int, **fields: Any) -> Change:
    return edit_action(version, "add", lambda body: body["deletionVector"].update(fields))


def _without_descriptor_field(name: str) -> Change:
    return edit_action(_STORED, "add", lambda body: body["deletionVector"].pop(name) and None)


def _inline(data: bytes, cardinality: int = 2) -> Change:
    return _descriptor(
        _INLINE, pathOrInlineDv=z85_encode(data), sizeInBytes=len(data), cardinality=cardinality
    )


def _gone(root: Path, _builder: TableBuilder) -> None:
    next(root.glob("deletion_vector_*.bin")).unlink()


def _property_off(root: Path, builder: TableBuilder) -> None:
    metadata = {**builder.metadata(), "configuration": {}}
    write_commit(root, builder.version + 1, [{"metaData": metadata}])


def _high_key(data: bytes) -> bytes:
    """Set the top bit of the first bucket's key."""
    return data[:12] + struct.pack("<I", 0x80000000) + data[16:]


def _false_bucket_count(data: bytes) -> bytes:
    return data[:4] + struct.pack("<Q", 2**40) + data[12:]


def _descending_keys() -> bytes:
    low, high = serialize_vector([1])[12:], serialize_vector([(1 << 32) + 4])[12:]
    return struct.pack("<iQ", 1681511377, 2) + high + low


MUTATIONS: Final = (
    _BYTES.contested(
        "vector-wrong-checksum",
        "the CRC of a stored vector does not match",
        "DVSTO-007 DVSTO-008 DVDESC-020",
        _file(lambda data: data[:-1] + bytes([data[-1] ^ 0xFF])),
        base=VECTORS,
        reason="no clause has a reader check the sum; the bitmap itself is whole",
    ),
    _BYTES.refused(
        "vector-flipped-bit",
        "a bit of a stored vector is flipped",
        "DVSTO-008 DVSTO-007",
        _file(lambda data: data[:34] + bytes([data[34] ^ 1]) + data[35:]),
        base=VECTORS,
    ),
    _BYTES.refused(
        "vector-unknown-magic",
        "a stored vector begins with an unknown magic number",
        "DVFMT-009 DVFMT-008",
        _vector(lambda data: b"\x01\x02\x03\x04" + data[4:]),
        base=VECTORS,
    ),
    _BYTES.contested(
        "vector-unknown-file-version",
        "the vector file has format version 2",
        "DVSTO-003 DVDESC-020",
        _file(lambda data: b"\x02" + data[1:]),
        base=VECTORS,
        reason="no clause has a reader look at the version; the descriptor finds the vector",
    ),
    _BYTES.refused(
        "vector-file-cut",
        "the vector file is cut off inside a vector",
        "DVDESC-020 DVSTO-001 DVSTO-005",
        _file(lambda data: data[:20]),
        base=VECTORS,
    ),
    _BYTES.refused(
        "vector-file-empty",
        "the vector file has zero bytes",
        "DVDESC-020 DVSTO-001 DVSTO-003",
        _file(lambda _data: b""),
        base=VECTORS,
    ),
    _BYTES.refused(
        "vector-file-missing",
        "the vector file is gone",
        "DV-004 DVDESC-016 DVFILE-001 DVD-003",
        _gone,
        base=VECTORS,
        kind="not_found",
    ),
    _BYTES.contested(
        "vector-false-frame-size",
        "the size before a stored vector is not that of the descriptor",
        "DVSTO-005 DVDESC-009 DVDESC-020",
        _file(lambda data: data[:1] + struct.pack(">I", 7) + data[5:]),
        base=VECTORS,
        reason="the size in the descriptor finds the vector without the one in the file",
    ),
    _BYTES.contested(
        "vector-key-with-top-bit",
        "a bucket key has its top bit set",
        "DVFMT-006",
        _vector(_high_key),
        base=VECTORS,
        reason="the marks are on no row of the file, or the key breaks its clause",
        open=True,
    ),
    _BYTES.contested(
        "vector-false-bucket-count",
        "a vector claims a million million buckets",
        "DVFMT-003 DVFMT-011",
        _vector(_false_bucket_count),
        base=VECTORS,
        reason="the buckets that are there are whole without the count",
    ),
    _BYTES.refused(
        "vector-bitmap-garbage",
        "the bitmap of a stored vector is garbage",
        "DVDESC-020 DVFMT-002 DVFMT-005",
        _vector(lambda data: data[:16] + b"\xee" * (len(data) - 16)),
        base=VECTORS,
    ),
    _BYTES.refused(
        "vector-inline-cut",
        "an inline vector ends in the middle",
        "DVDESC-020 DVDESC-004 DVFMT-011",
        _inline(serialize_vector([1, 4])[:-5]),
        base=VECTORS_INLINE,
    ),
    _BYTES.contested(
        "vector-inline-no-bytes",
        "an inline vector is empty",
        "DVDESC-004 DVFMT-008",
        _inline(b"", 0),
        base=VECTORS_INLINE,
        reason="no bytes are no vector, or mark no rows as the cardinality says",
        open=True,
    ),
    _BYTES.contested(
        "vector-descending-keys",
        "the bucket keys of a vector descend",
        "DVFMT-004",
        _inline(_descending_keys()),
        base=VECTORS_INLINE,
        reason="a reader that does not mind the order gets the same set",
        open=True,
    ),
    _BYTES.contested(
        "vector-rows-beyond-the-file",
        "a vector marks a row that the file does not have",
        "DVFMT-001 DVFILE-003",
        _inline(serialize_vector([1, 4, 1000]), 3),
        base=VECTORS_INLINE,
        reason="a mark on no row hides nothing",
    ),
    _BYTES.survived(
        "vector-native-layout",
        "an inline vector is in the older native layout",
        "DVFMT-008 DVFMT-009",
        _inline(serialize_vector_native([1, 4])),
        base=VECTORS_INLINE,
        noticed_by="audit",
        tolerated=("refused",),
        reason="the text's own inline example is in that layout, against the text",
    ),
    _DESCRIPTORS.refused(
        "vector-unknown-storage",
        "a descriptor has an unknown storage type",
        "DVDESC-020 DVDESC-001",
        _descriptor(_STORED, storageType="x"),
        base=VECTORS,
    ),
    _DESCRIPTORS.refused(
        "vector-not-z85",
        "an inline vector has letters that are not Z85",
        "DVDESC-020 DVDESC-011",
        _descriptor(_INLINE, pathOrInlineDv='"' * 50),
        base=VECTORS_INLINE,
    ),
    _DESCRIPTORS.refused(
        "vector-z85-of-odd-length",
        "the text of an inline vector is no multiple of five letters",
        "DVDESC-020 DVDESC-011",
        edit_action(
            _INLINE,
            "add",
            lambda body: body["deletionVector"].update(
                pathOrInlineDv=body["deletionVector"]["pathOrInlineDv"][:-2]
            ),
        ),
        base=VECTORS_INLINE,
    ),
    _DESCRIPTORS.refused(
        "vector-short-name",
        "the name of a stored vector is shorter than a UUID",
        "DVDESC-020 DVDESC-002 DVDESC-003",
        _descriptor(_STORED, pathOrInlineDv="abc"),
        base=VECTORS,
    ),
    _DESCRIPTORS.contested(
        "vector-size-beyond-the-text",
        "an inline vector claims more bytes than its text has",
        "DVDESC-009",
        _descriptor(_INLINE, sizeInBytes=10_000),
        base=VECTORS_INLINE,
        reason="the text of an inline vector is whole without the size beside it",
    ),
    _DESCRIPTORS.contested(
        "vector-negative-size",
        "the size of a vector is negative",
        "DVDESC-009",
        _descriptor(_INLINE, sizeInBytes=-4),
        base=VECTORS_INLINE,
        reason="the text of an inline vector is whole without the size beside it",
    ),
    _DESCRIPTORS.refused(
        "vector-offset-beyond-the-file",
        "the offset of a vector lies behind the end of its file",
        "DVDESC-020 DVDESC-007 DVSTO-005",
        _descriptor(_STORED, offset=1_000_000),
        base=VECTORS,
    ),
    _DESCRIPTORS.contested(
        "vector-no-size",
        "a descriptor has no sizeInBytes",
        "DVDESC-009",
        _without_descriptor_field("sizeInBytes"),
        base=VECTORS,
        reason="the vector's file tells its size as well",
    ),
    _DESCRIPTORS.refused(
        "vector-no-storage",
        "a descriptor has no storageType",
        "DVDESC-020 DVDESC-001",
        _without_descriptor_field("storageType"),
        base=VECTORS,
    ),
    _DESCRIPTORS.contested(
        "vector-wrong-cardinality",
        "the cardinality is not the number of rows in the vector",
        "DVDESC-010 DVDESC-020",
        _descriptor(_INLINE, cardinality=5),
        base=VECTORS_INLINE,
        reason="the vector itself says which rows go; the count may be checked or not",
    ),
    _DESCRIPTORS.contested(
        "vector-inline-with-offset",
        "an inline vector has an offset",
        "DVDESC-008 DVDESC-020",
        _descriptor(_INLINE, offset=1),
        base=VECTORS_INLINE,
        reason="the offset has no meaning for the text of an inline vector",
    ),
    _DESCRIPTORS.contested(
        "vector-without-record-count",
        "an add with a vector has no numRecords",
        "DVDESC-022 STAT-002",
        edit_action(_INLINE, "add", lambda body: body.update(stats="{}")),
        base=VECTORS_INLINE,
        reason="the count is required of writers; the rows can be read without it",
    ),
    _DESCRIPTORS.survived(
        "vector-property-off",
        "tables keep their vectors when the property is not set",
        "DV-004 DVDESC-020",
        _property_off,
        base=VECTORS,
    ),
    _DESCRIPTORS.survived(
        "vector-unknown-field",
        "a descriptor has a field that no revision knows",
        "PROTO-009",
        _descriptor(_STORED, maxRowIndex=5, future=[1]),
        base=VECTORS,
    ),
)
