"""Z85: four bytes in five printable characters (section Deletion Vector Descriptor Schema)."""

from __future__ import annotations

import numpy as np

from reference_impl.errors import InvalidDeletionVector

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
    words = np.frombuffer(data + b"\0" * (-len(data) % 4), ">u4").astype(np.uint64)
    digits = (words[:, None] // _WEIGHTS) % np.uint64(85)
    return _LETTERS[digits.astype(np.intp)].tobytes().decode("ascii")


def decode_z85(text: str) -> bytes:
    """Decode text into bytes, padding included.

    Raises:
        InvalidDeletionVector: the length is no multiple of five, a character is outside of the
            alphabet, or five characters spell more than 32 bits.

    """
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) % 5:
        raise InvalidDeletionVector(
            f"Z85 text has {len(raw)} characters, not a multiple of five", requirement="DVDESC-011"
        )
    digits = _DIGITS[np.frombuffer(raw, np.uint8)]
    if (digits == _INVALID).any():
        raise InvalidDeletionVector(
            f"{text[:40]!r} has a character outside of the Z85 alphabet", requirement="DVDESC-011"
        )
    words = (digits.reshape(-1, 5) * _WEIGHTS).sum(axis=1, dtype=np.uint64)
    if (words >> np.uint64(32)).any():
        raise InvalidDeletionVector(
            f"{text[:40]!r} spells more than 32 bits in five characters", requirement="DVDESC-011"
        )
    return bytes(words.astype(">u4").tobytes())
