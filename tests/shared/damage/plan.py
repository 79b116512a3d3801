"""Which file of which table is damaged how: a plan that a seed and a number fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from damage.json_damage import damage_json_lines
from damage.parquet_damage import damage_parquet
from generators.materialise.builder import TableBuilder
from generators.mutations.bases import BASES, Base

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


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged table.

    Attributes:
        seed: the seed of the plan.
        number: the place in the plan; seed and number fix everything.
        base: the valid table that is damaged.
    """

    seed: int
    number: int
    base: Base

    @property
    def id(self) -> str:
        """Name the damage, so that it can be made again by :func:`damage_at`."""
        return f"{self.base.name}-{self.seed}-{self.number}"

    def build(self, root: Path) -> tuple[TableBuilder, str]:
        """Build the base below ``root``, damage one or two files, and return what was done."""
        builder = self.base.build(root)
        return builder, self.apply(root)

    def apply(self, root: Path) -> str:
        """Damage one or two files of a table that is there, and return what was done."""
        random = Random(f"{self.seed}/{self.number}")  # noqa: S311  a plan, not a secret
        done = []
        for _ in range(1 if random.random() < 0.8 else 2):
            files = log_and_vector_files(root)
            path = random.choice(files)
            technique = random.choice(_techniques(path))
            data = path.read_bytes()
            path.write_bytes(technique[1](data, random))
            done.append(f"{technique[0]} {path.relative_to(root)}")
        return ", ".join(done)


def log_and_vector_files(root: Path) -> list[Path]:
    """Return the files that damage may strike: the log, the vectors and the data, log twice."""
    log = sorted(path for path in (root / "_delta_log").rglob("*") if path.is_file())
    others = sorted(
        path for path in root.rglob("*") if path.is_file() and "_delta_log" not in path.parts
    )
    return [*log, *log, *others]


_BY_SUFFIX: Final[Mapping[str, Sequence[tuple[str, ByteDamage]]]] = {
    ".json": (("json", damage_json_lines),),
    ".crc": (("json", damage_json_lines),),
    "": (("json", damage_json_lines),),
    ".parquet": (("parquet", damage_parquet),),
    ".bin": (),
}


def _techniques(path: Path) -> list[tuple[str, ByteDamage]]:
    """Return the techniques for a file, those that know its format as likely as all others."""
    plain = list(BYTE_DAMAGES.items())
    formatted = list(_BY_SUFFIX.get(path.suffix, ()))
    return plain + formatted * len(plain)


def damage_at(number: int, seed: int = 0) -> Damage:
    """Return the damage at a place of the plan."""
    return Damage(seed, number, BASES[number % len(BASES)])


def damages(count: int, seed: int = 0) -> Iterator[Damage]:
    """Return the first ``count`` damages of a plan, base tables in turn."""
    for number in range(count):
        yield damage_at(number, seed)
