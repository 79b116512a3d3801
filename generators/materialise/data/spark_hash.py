"""The hash that spreads file actions over the parts of a checkpoint.

Covers "Multi-part checkpoint": "spark-style hash partitioning", which is 32-bit Murmur3 over the
UTF-8 bytes, whole words first and then each left-over byte, sign-extended, as a word of its own.
"""

from __future__ import annotations

from typing import Final

_MASK: Final = 0xFFFFFFFF


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK


def _mixed(state: int, word: int) -> int:
    word = _rotated(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    return (_rotated(state ^ word, 13) * 5 + 0xE6546B64) & _MASK


def murmur3_text(text: str, seed: int) -> int:
    """Return the hash as a signed 32-bit integer; a former hash may serve as the next seed."""
    data = text.encode("utf-8")
    state = seed & _MASK
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        state = _mixed(state, int.from_bytes(data[start : start + 4], "little"))
    for byte in data[whole:]:
        state = _mixed(state, (byte - 256 if byte > 127 else byte) & _MASK)
    state ^= len(data)
    state = (state ^ (state >> 16)) * 0x85EBCA6B & _MASK
    state = (state ^ (state >> 13)) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state
