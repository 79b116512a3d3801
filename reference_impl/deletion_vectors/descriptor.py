"""Where a deletion vector is, its size, and its Z85 text.

Implements "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from reference_impl.errors import InvalidDeletionVector
from reference_impl.places import decode_path, is_absolute

_ALPHABET = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_LETTERS = np.frombuffer(_ALPHABET, np.uint8)
_INVALID = 255
_DIGITS = np.full(256, _INVALID, np.uint8)
_DIGITS[_LETTERS] = range(85)
_WEIGHTS = np.array([85**4, 85**3, 85**2, 85, 1], np.uint64)


def encode_z85(data: bytes) -> str:
    """Encode bytes, padded with zero bytes to a multiple of four.

    The protocol's vectors have any length; their descriptor keeps the length without padding.
    """
    # Obeys DVDESC-004.
    words = np.frombuffer(data + b"\0" * (-len(data) % 4), ">u4")
    digits = words[:, None] // _WEIGHTS % 85
    return bytes(_LETTERS[digits].tobytes()).decode()


def decode_z85(text: str) -> bytes:
    """Decode text into bytes, padding included.

    Raises:
        InvalidDeletionVector: the length is no multiple of five, a character is outside of the
            alphabet, or five characters spell more than 32 bits.
    """
    raw = text.encode(errors="surrogatepass")
    if len(raw) % 5:
        raise InvalidDeletionVector(
            f"Z85 text has {len(raw)} characters, not a multiple of five", requirement="DVDESC-011"
        )
    digits = _DIGITS[np.frombuffer(raw, np.uint8)]
    if (digits == _INVALID).any():
        raise InvalidDeletionVector(
            f"{text[:40]!r} has a character outside of the Z85 alphabet", requirement="DVDESC-011"
        )
    words = (digits.reshape(-1, 5) * _WEIGHTS).sum(axis=1)
    if (words >> 32).any():
        raise InvalidDeletionVector(
            f"{text[:40]!r} spells more than 32 bits in five characters", requirement="DVDESC-011"
        )
    return bytes(words.astype(">u4").tobytes())


_UUID_LETTERS = 20


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A descriptor out of an action.

    Attributes:
        storage_type: ``u`` (file named by a UUID), ``p`` (file at a path) or ``i`` (inline).
        path_or_inline_dv: what the storage type makes of it.
        offset: bytes before the vector's size field in its file; ``None`` inline.
        size_in_bytes: bytes of the serialized vector, without frame and padding.
        cardinality: rows that the vector deletes.
    """

    storage_type: str
    path_or_inline_dv: str
    offset: int | None
    size_in_bytes: int
    cardinality: int

    @classmethod
    def from_wire(cls, struct: Mapping[str, Any]) -> Descriptor:
        """Check a descriptor in wire form, whose fields have their types.

        Raises:
            InvalidDeletionVector: a field is outside of its range, or an inline vector has an
                offset.
        """
        # Obeys DVDESC-012.
        found = cls(
            struct["storageType"],
            struct["pathOrInlineDv"],
            struct.get("offset"),
            struct["sizeInBytes"],
            struct["cardinality"],
        )
        kind, offset, size = found.storage_type, found.offset, found.size_in_bytes
        if kind not in ("u", "p", "i"):
            raise InvalidDeletionVector(f"storageType is {kind!r}, not u, p or i")
        if kind == "i" and offset is not None:
            raise InvalidDeletionVector(
                f"an inline vector has offset {offset}", requirement="DVDESC-008"
            )
        if offset is not None and offset < 0:
            raise InvalidDeletionVector(f"offset is {offset}", requirement="DVDESC-007")
        if size <= 0:
            raise InvalidDeletionVector(f"sizeInBytes is {size}", requirement="DVDESC-009")
        if found.cardinality < 0:
            raise InvalidDeletionVector(
                f"cardinality is {found.cardinality}", requirement="DVDESC-010"
            )
        return found

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object of the action."""
        wire: dict[str, Any] = {
            "storageType": self.storage_type,
            "pathOrInlineDv": self.path_or_inline_dv,
            "offset": self.offset,
            "sizeInBytes": self.size_in_bytes,
            "cardinality": self.cardinality,
        }
        return {key: value for key, value in wire.items() if value is not None}

    @property
    def unique_id(self) -> str:
        """The id that distinguishes logical files of one data file (section Derived Fields)."""
        # Obeys DVDESC-013 DVDESC-014.
        name = self.storage_type + self.path_or_inline_dv
        return name if self.offset is None else f"{name}@{self.offset}"

    @property
    def path(self) -> str:
        """The decoded path of the vector's file: relative to the table root, or absolute.

        Raises:
            InvalidDeletionVector: the vector is inline, its UUID does not decode, or its prefix
                leads elsewhere than below the table root.
        """
        # Obeys DV-005 DVDESC-006 DVDESC-015 DVDESC-016.
        match self.storage_type:
            case "p":
                return decode_path(self.path_or_inline_dv, action="add")
            case "u":
                prefix = self.path_or_inline_dv[:-_UUID_LETTERS]
                if "\0" in prefix:
                    raise InvalidDeletionVector(
                        f"the prefix {prefix[:80]!r} holds a NUL", requirement="DVDESC-003"
                    )
                name = f"deletion_vector_{UUID(bytes=self._uuid_bytes())}.bin"
                path = f"{prefix}/{name}" if prefix else name
                if is_absolute(path):
                    raise InvalidDeletionVector(
                        f"the prefix {prefix[:80]!r} makes of a relative path another",
                        requirement="DVDESC-003",
                    )
                return path
            case _:
                raise InvalidDeletionVector(
                    "an inline vector has no path", requirement="DVDESC-017"
                )

    def _uuid_bytes(self) -> bytes:
        if len(self.path_or_inline_dv) < _UUID_LETTERS:
            raise InvalidDeletionVector(
                f"{self.path_or_inline_dv!r} is shorter than a UUID in Z85",
                requirement="DVDESC-003",
            )
        return decode_z85(self.path_or_inline_dv[-_UUID_LETTERS:])
