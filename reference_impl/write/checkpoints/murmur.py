"""Murmur3 as Spark computes it, which spreads file actions over the parts of a checkpoint.

Serves "Multi-part checkpoint". Whole four-byte words first, then every byte that is left as a
word of its own, sign-extended: that is where Spark departs from the published hash.
"""

from __future__ import annotations

from typing import Final

_BITS: Final = 0xFFFFFFFF


def hash_text(text: str, seed: int) -> int:
    """Return the hash of a text's UTF-8 as a signed 32-bit integer.

    The hash of one text is the seed for the next where a key has several.
    """
    data = text.encode()
    state = seed & _BITS
    end = len(data) - len(data) % 4
    for at in range(0, end, 4):
        state = _mix(state, int.from_bytes(data[at : at + 4], "little"))
    for byte in data[end:]:
        state = _mix(state, byte | 0xFFFFFF00 if byte & 0x80 else byte)
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ (state >> shift)) * factor) & _BITS
    state ^= state >> 16
    return state - (1 << 32) if state & 0x80000000 else state


def _mix(state: int, word: int) -> int:
    word = (word * 0xCC9E2D51) & _BITS
    word = ((word << 15) | (word >> 17)) & _BITS
    state ^= (word * 0x1B873593) & _BITS
    state = ((state << 13) | (state >> 19)) & _BITS
    return (state * 5 + 0xE6546B64) & _BITS
