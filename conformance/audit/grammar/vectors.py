"""From a descriptor to the rows that it deletes.

Covers "Deletion Vector Descriptor Schema" and "Deletion Vector File Storage Format".
"""

from __future__ import annotations

import re
import zlib
from base64 import a85decode, b85decode, urlsafe_b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from conformance.audit.grammar.roaring import MAGIC, Rows, VectorFault, decode_rows
from conformance.audit.grammar.uris import decode_path, is_absolute, unescaped
from conformance.audit.grammar.z85 import decode_z85
from reference_impl.errors import DeltaError, LimitExceeded
from reference_impl.limits import budget, exceeded
from reference_impl.storage import Storage

VECTOR_REQUIREMENTS: Final = (
    "DVD-003", "DVDESC-001", "DVDESC-002", "DVDESC-004", "DVDESC-005", "DVDESC-006", "DVDESC-007",
    "DVDESC-008", "DVDESC-009", "DVDESC-010", "DVDESC-011", "DVFMT-002", "DVFMT-003", "DVFMT-004",
    "DVFMT-005", "DVFMT-006", "DVFMT-008", "DVFMT-010", "DVFMT-011", "DVSTO-002", "DVSTO-003",
    "DVSTO-005", "DVSTO-006", "DVSTO-007",
)  # fmt: skip
"""Every requirement that a :class:`VectorFault` can name."""

_VERSION: Final = b"\x01"
_FIELD: Final = 4
"""Bytes of the size before a vector, and of the checksum after it."""

_MAGIC: Final = MAGIC.to_bytes(4, "little")
"""What a vector begins with."""

_MAGIC_SEARCH_END: Final = 17
"""Bytes behind the size of a vector below which its magic number is looked for."""

_UUID: Final = 20
"""Characters of a UUID in Z85."""


def vector_path(descriptor: Mapping[str, Any]) -> str | None:
    """Return the decoded path of the file of a vector; ``None`` for an inline one.

    Raises:
        VectorFault: the descriptor names no file.
    """
    kind, text = descriptor.get("storageType"), descriptor.get("pathOrInlineDv")
    if kind not in ("u", "i", "p"):
        raise VectorFault("DVDESC-001", f"storageType is {kind!r}, not u, i or p")
    if not isinstance(text, str) or not text:
        requirement = "DVDESC-004" if kind == "i" else "DVDESC-002"
        raise VectorFault(requirement, "pathOrInlineDv is missing")
    if kind == "i":
        return None
    if kind == "p":
        path = _decoded(text)
        if not is_absolute(path):
            raise VectorFault("DVDESC-006", f"{text!r} is no absolute path")
        if unescaped(text)[0]:
            raise VectorFault("DVDESC-006", f"{text!r} has characters that a URI escapes")
        return path
    if len(text) < _UUID:
        raise VectorFault("DVDESC-002", f"{text!r} is shorter than a UUID in Z85")
    return file_of(text[:-_UUID], UUID(bytes=_z85(text[-_UUID:])))


def file_of(prefix: str, name: UUID) -> str:
    """Return the path of the file of a vector."""
    return f"{prefix}/deletion_vector_{name}.bin" if prefix else f"deletion_vector_{name}.bin"


def _decoded(text: str) -> str:
    try:
        return decode_path(text)
    except ValueError as error:
        raise VectorFault("DVDESC-006", f"pathOrInlineDv: {error}") from None


def _z85(text: str) -> bytes:
    try:
        return decode_z85(text)
    except ValueError as error:
        raise VectorFault("DVDESC-011", f"pathOrInlineDv is no Z85: {error}") from None


def _numbers(descriptor: Mapping[str, Any]) -> tuple[int | None, int, int]:
    offset, size = descriptor.get("offset"), descriptor.get("sizeInBytes")
    cardinality = descriptor.get("cardinality")
    if descriptor.get("storageType") == "i" and offset is not None:
        raise VectorFault("DVDESC-008", f"an inline vector has offset {offset}")
    if offset is not None and (type(offset) is not int or offset < 0):
        raise VectorFault("DVDESC-007", f"offset is {offset!r}")
    if type(size) is not int or size <= 0:
        raise VectorFault("DVDESC-009", f"sizeInBytes is {size!r}")
    if type(cardinality) is not int or cardinality < 0:
        raise VectorFault("DVDESC-010", f"cardinality is {cardinality!r}")
    return offset, size, cardinality


def load_vector(storage: Storage, descriptor: Mapping[str, Any]) -> Rows:
    """Fetch, check and decode the vector of a descriptor in wire form.

    Raises:
        VectorFault: descriptor, file, checksum, bitmap or cardinality is wrong.
        LimitExceeded: the vector is larger than the audit takes.
        OSError: the storage failed.
    """
    path = vector_path(descriptor)
    offset, size, cardinality = _numbers(descriptor)
    if path is None:
        payload = _inline(descriptor["pathOrInlineDv"], size)
    else:
        try:
            payload = _stored(storage, path, offset, size)
        except FileNotFoundError:
            raise _gone(storage, path, descriptor) from None
    try:
        rows = decode_rows(payload)
    except VectorFault as fault:
        raise (fault if path is not None else _written_otherwise(descriptor) or fault) from None
    if rows.cardinality != cardinality:
        message = f"the vector deletes {rows.cardinality} rows, its descriptor says {cardinality}"
        raise VectorFault("DVDESC-010", message)
    return rows


def _sizes_differ(storage: Storage, path: str, begin: int, sizes: tuple[int, int]) -> VectorFault:
    """Return which of two sizes, that of the file and that of the descriptor, is wrong."""
    stored, size = sizes
    message = f"the file gives the vector {stored} bytes, sizeInBytes says {size}"
    if stored == int.from_bytes(size.to_bytes(_FIELD, "big"), "little"):
        return VectorFault("DVSTO-002", f"{message}: it is little endian", path)
    if _FIELD <= stored <= budget().limits.vector:
        framed = storage.get_range(path, begin + _FIELD, stored + _FIELD)
        payload, checksum = framed[:stored], framed[stored:]
        if zlib.crc32(payload).to_bytes(_FIELD, "big") == checksum:
            return VectorFault("DVDESC-009", message, path)
    return VectorFault("DVSTO-005", message, path)


def _inline(text: str, size: int) -> bytes:
    _refuse_large(len(text))
    padded = _z85(text)
    if not 0 <= len(padded) - size < _FIELD:
        message = f"an inline vector has {len(padded)} bytes, sizeInBytes says {size}"
        raise VectorFault("DVDESC-009", message)
    return padded[:size]


def _written_otherwise(descriptor: Mapping[str, Any]) -> VectorFault | None:
    """Return what is wrong with the text of an inline vector, where its bytes are right."""
    text, size = descriptor["pathOrInlineDv"], descriptor["sizeInBytes"]
    for way, decode in _OTHER_ENCODINGS:
        with suppress(ValueError, LimitExceeded):
            if decode_rows(decode(text)[:size]).cardinality:
                return VectorFault("DVDESC-011", f"pathOrInlineDv is a vector in {way}, not Z85")
    padded = _z85(text)
    for length in range(len(padded) - _FIELD + 1, len(padded) + 1):
        with suppress(VectorFault, LimitExceeded):
            if not any(padded[length:]) and decode_rows(padded[:length]).cardinality:
                message = f"the inline vector has {length} bytes, sizeInBytes says {size}"
                return VectorFault("DVDESC-009", message)
    return None


def _byte_swapped(text: str) -> bytes:
    data = decode_z85(text)
    return b"".join(data[at : at + _FIELD][::-1] for at in range(0, len(data), _FIELD))


_OTHER_ENCODINGS: Final[tuple[tuple[str, Callable[[str], bytes]], ...]] = (
    ("the alphabet of RFC 1924", b85decode),
    ("Ascii85", a85decode),
    ("words of the other byte order", _byte_swapped),
)
"""Ways to write bytes that are taken for Z85, and how each is read."""


def _refuse_large(size: int) -> None:
    if size > budget().limits.vector:
        raise exceeded("vector", f"a deletion vector has {size} bytes")


_HEX_UUID: Final = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}(?:\.bin)?$", re.IGNORECASE
)
"""A UUID in hexadecimal digits, as names of files have it."""


def _gone(storage: Storage, path: str, descriptor: Mapping[str, Any]) -> VectorFault:
    text = descriptor["pathOrInlineDv"]
    if descriptor["storageType"] == "u":
        if _HEX_UUID.search(text):
            return VectorFault("DVDESC-002", f"{text!r} ends with no UUID in Z85")
        for requirement, way, name in _named_otherwise(text):
            if is_there(storage, name):
                return VectorFault(requirement, f"{text!r} ends with a UUID in {way}")
    elif text != path and is_there(storage, text):
        return VectorFault("DVDESC-006", f"{text!r} is a path that is not escaped as a URI is")
    return VectorFault("DVD-003", "the file of the vector does not exist", path)


def _named_otherwise(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield requirement, way and path for each other way to read a name."""
    for way, decode in _OTHER_ENCODINGS:
        with suppress(ValueError):
            found = UUID(bytes=decode(text[-_UUID:]))
            yield "DVDESC-011", way, file_of(text[:-_UUID], found)
    with suppress(ValueError):
        found = UUID(bytes_le=decode_z85(text[-_UUID:]))
        yield "DVDESC-002", "the byte order of GUIDs", file_of(text[:-_UUID], found)
    with suppress(ValueError):
        digits = text.rstrip("=")[-_BASE64:]
        found = UUID(bytes=urlsafe_b64decode(digits.translate(_URL_SAFE) + "=="))
        yield "DVDESC-002", "base 64", file_of(text.rstrip("=")[:-_BASE64], found)


_BASE64: Final = 22
_URL_SAFE: Final = str.maketrans("+/", "-_")
"""Characters of a UUID in base 64, and what turns one alphabet of it into the other."""


def is_there(storage: Storage, path: str) -> bool:
    """Return whether a decoded path leads to a file that may be looked at."""
    try:
        storage.head(path)
    except (DeltaError, OSError, ValueError):
        return False
    return True


def takes_first(storage: Storage, path: str, size: int) -> bool:
    """Return whether a vector of ``size`` bytes comes first in a file, after its version."""
    return _is_first(storage.get_range(path, 0, 1 + _FIELD), size)


def _is_first(head: bytes, size: int) -> bool:
    return int.from_bytes(head[1:], "big") == size


def _stored(storage: Storage, path: str, offset: int | None, size: int) -> bytes:
    head = storage.get_range(path, 0, 1 + _FIELD)
    begin = offset or 0
    if offset is None and _is_first(head, size):
        begin = 1  # without an offset, the first vector of the file
    if begin and head[:1] != _VERSION:
        raise VectorFault("DVSTO-003", f"the file has version {head[:1].hex()}, not 01", path)
    left = storage.head(path).size - begin - size - _FIELD
    if left >= _FIELD:
        _refuse_large(size)
    stored = int.from_bytes(storage.get_range(path, begin, _FIELD), "big")
    if stored != size:
        raise _sizes_differ(storage, path, begin, (stored, size))
    if left < 0:
        raise VectorFault("DVSTO-006", "the file ends inside of the vector", path)
    if left < _FIELD:
        raise VectorFault("DVSTO-007", "the file ends inside of the checksum", path)
    framed = storage.get_range(path, begin + _FIELD, size + _FIELD)
    payload, checksum = framed[:size], int.from_bytes(framed[size:], "big")
    if zlib.crc32(payload) == int.from_bytes(framed[size:], "little") != checksum:
        raise VectorFault("DVSTO-002", "the checksum of the vector is little endian", path)
    if zlib.crc32(payload) != checksum:
        if framed.find(_MAGIC) in range(1, _MAGIC_SEARCH_END):
            raise VectorFault("DVSTO-006", "the vector does not follow its size at once", path)
        raise VectorFault("DVSTO-007", "the checksum of the vector is another", path)
    return payload
