"""Z85: four bytes in five printable characters (section Deletion Vector Descriptor Schema)."""

from __future__ import annotations

from typing import Final

import numpy as np

_ALPHABET: Final = (
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
)
_BASE: Final = len(_ALPHABET)
_GROUP: Final = 5
_NO_VALUE: Final = 255
_VALUES: Final = np.full(256, _NO_VALUE, np.uint8)
_VALUES[np.frombuffer(_ALPHABET, np.uint8)] = np.arange(_BASE, dtype=np.uint8)
_PLACES: Final = np.array([_BASE**4, _BASE**3, _BASE**2, _BASE, 1], np.uint64)


def decode_z85(text: str) -> bytes:
    """Decode text.

    Raises:
        ValueError: it is no Z85: its length, a character, or a group beyond four bytes.
    """
    if len(text) % _GROUP:
        raise ValueError(f"{len(text)} characters are no multiple of {_GROUP}")
    values = _VALUES[np.frombuffer(text.encode("latin-1", "replace"), np.uint8)]
    if (values == _NO_VALUE).any() or not text.isascii():
        raise ValueError("a character is not in the alphabet")
    numbers = values.reshape(-1, _GROUP).astype(np.uint64) @ _PLACES
    if (numbers >> np.uint64(32)).any():
        raise ValueError("five characters stand for more than four bytes")
    return numbers.astype(">u4").tobytes()
