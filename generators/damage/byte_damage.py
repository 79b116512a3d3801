"""Damage to bytes, whatever they mean: what a bad disk or a broken copy does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final, TypeAlias

ByteDamage: TypeAlias = Callable[[bytes, Random], bytes]


def _place(data: bytes, random: Random) -> int:
    return random.randrange(len(data)) if data else 0


def _flip_bit(data: bytes, random: Random) -> bytes:
    place = _place(data, random)
    flipped = bytes([data[place] ^ (1 << random.randrange(8))]) if data else b""
    return data[:place] + flipped + data[place + 1 :]


def _flip_bits(data: bytes, random: Random) -> bytes:
    for _ in range(1 + random.randrange(16)):
        data = _flip_bit(data, random)
    return data


def _insert(data: bytes, random: Random) -> bytes:
    place = _place(data, random)
    return data[:place] + random.randbytes(1 + random.randrange(32)) + data[place:]


def _swap(data: bytes, random: Random) -> bytes:
    middle = _place(data, random)
    return data[middle:] + data[:middle]


def _in_span(edit: ByteDamage) -> ByteDamage:
    """Return the edit of a span, at a random place, of up to 64 bytes."""

    def damage(data: bytes, random: Random) -> bytes:
        start = _place(data, random)
        end = min(len(data), start + 1 + random.randrange(64))
        return data[:start] + edit(data[start:end], random) + data[end:]

    return damage


BYTE_DAMAGES: Final[Mapping[str, ByteDamage]] = {
    "flip-bit": _flip_bit,
    "flip-bits": _flip_bits,
    "cut": lambda data, random: data[: _place(data, random)],
    "behead": lambda data, random: data[_place(data, random) :],
    "drop": _in_span(lambda _span, _random: b""),
    "repeat": _in_span(lambda span, random: span * (2 + random.randrange(3))),
    "insert": _insert,
    "zero": _in_span(lambda span, _random: bytes(len(span))),
    "fill": _in_span(lambda span, _random: b"\xff" * len(span)),
    "swap": _swap,
    "noise": lambda data, random: random.randbytes(len(data)),
}
"""Every way to damage bytes, by name; each gives the same for the same random state."""
