"""Damage to bytes, whatever they mean: what a bad disk or a broken copy does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final, TypeAlias

ByteDamage: TypeAlias = Callable[[bytes, Random], bytes]


def _place(data: bytes, random: Random) -> int:
    return random.randrange(len(data)) if data else 0


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = _place(data, random)
    return start, min(len(data), start + 1 + random.randrange(64))


def _flip_bit(data: bytes, random: Random) -> bytes:
    place = _place(data, random)
    flipped = bytes([data[place] ^ (1 << random.randrange(8))]) if data else b""
    return data[:place] + flipped + data[place + 1 :]


def _flip_bits(data: bytes, random: Random) -> bytes:
    for _ in range(1 + random.randrange(16)):
        data = _flip_bit(data, random)
    return data


def _cut(data: bytes, random: Random) -> bytes:
    return data[: _place(data, random)]


def _drop_start(data: bytes, random: Random) -> bytes:
    return data[_place(data, random) :]


def _drop(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _repeat(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:end] + data[start:end] * (1 + random.randrange(3)) + data[end:]


def _insert(data: bytes, random: Random) -> bytes:
    place = _place(data, random)
    return data[:place] + random.randbytes(1 + random.randrange(32)) + data[place:]


def _zero(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + bytes(end - start) + data[end:]


def _fill(data: bytes, random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + b"\xff" * (end - start) + data[end:]


def _swap(data: bytes, random: Random) -> bytes:
    middle = _place(data, random)
    return data[middle:] + data[:middle]


def _noise(data: bytes, random: Random) -> bytes:
    return random.randbytes(len(data))


BYTE_DAMAGES: Final[Mapping[str, ByteDamage]] = {
    "flip-bit": _flip_bit,
    "flip-bits": _flip_bits,
    "cut": _cut,
    "behead": _drop_start,
    "drop": _drop,
    "repeat": _repeat,
    "insert": _insert,
    "zero": _zero,
    "fill": _fill,
    "swap": _swap,
    "noise": _noise,
}
"""Every way to damage bytes, by name; each gives the same for the same random state."""
