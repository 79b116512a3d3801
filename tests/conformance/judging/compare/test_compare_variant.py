"""Variants are compared by value: the encoding's freedom is not a difference."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from conformance.judging.compare import compare_rows
from conformance.judging.compare.variant import VariantError, variant_value

EMPTY = b"\x01\x00\x00"
VARIANT = pa.struct(
    [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary())]
)


def names(*words: bytes, width: int = 1) -> bytes:
    """Write a dictionary with offsets of ``width`` bytes."""
    ends = [sum(map(len, words[:count])) for count in range(len(words) + 1)]
    numbers = b"".join(number.to_bytes(width, "little") for number in (len(words), *ends))
    return bytes([1 | (width - 1) << 6]) + numbers + b"".join(words)


def integer(value: int, code: str) -> bytes:
    return bytes([{"b": 3, "h": 4, "i": 5, "q": 6}[code] << 2]) + struct.pack(f"<{code}", value)


def object_of(*fields: tuple[int, bytes]) -> bytes:
    ids = bytes(field for field, _ in fields)
    ends = [sum(len(v) for _, v in fields[:count]) for count in range(len(fields) + 1)]
    return bytes([2, len(fields)]) + ids + bytes(ends) + b"".join(v for _, v in fields)


def array_of(*values: bytes) -> bytes:
    ends = [sum(map(len, values[:count])) for count in range(len(values) + 1)]
    return bytes([3, len(values)]) + bytes(ends) + b"".join(values)


SHORT, LONG = b"\x09hi", b"\x40\x02\x00\x00\x00hi"
DECIMAL = bytes([8 << 2, 1]) + struct.pack("<i", 70)

EQUAL = {
    "integers of another width": ((EMPTY, integer(7, "b")), (EMPTY, integer(7, "q"))),
    "an integer and an equal decimal": ((EMPTY, integer(7, "b")), (EMPTY, DECIMAL)),
    "short and long strings": ((EMPTY, SHORT), (EMPTY, LONG)),
    "float and double": (
        (EMPTY, bytes([14 << 2]) + struct.pack("<f", 0.5)),
        (EMPTY, bytes([7 << 2]) + struct.pack("<d", 0.5)),
    ),
    "dictionaries in another order": (
        (names(b"a", b"b"), object_of((0, SHORT), (1, integer(1, "b")))),
        (names(b"b", b"a", width=2), object_of((0, integer(1, "h")), (1, LONG))),
    ),
    "NaN": ((EMPTY, b"\x1c" + struct.pack("<d", float("nan"))),) * 2,
}
OTHER = {
    "another number": ((EMPTY, integer(7, "b")), (EMPTY, integer(8, "b"))),
    "text for a number": ((EMPTY, integer(7, "b")), (EMPTY, b"\x057")),
    "variant null for true": ((EMPTY, b"\x00"), (EMPTY, b"\x04")),
    "another field name": (
        (names(b"a"), object_of((0, SHORT))),
        (names(b"b"), object_of((0, SHORT))),
    ),
    "array in another order": (
        (EMPTY, array_of(SHORT, integer(1, "b"))),
        (EMPTY, array_of(integer(1, "b"), SHORT)),
    ),
    "an instant and a zone-less time": (
        (EMPTY, bytes([12 << 2]) + bytes(8)),
        (EMPTY, bytes([13 << 2]) + bytes(8)),
    ),
    "malformed bytes": ((EMPTY, b"\x14\x01"), (EMPTY, b"\x14\x02")),
}


def table(pair: tuple[bytes, bytes] | None) -> pa.Table:
    row = None if pair is None else {"metadata": pair[0], "value": pair[1]}
    return pa.table({"v": pa.array([row], VARIANT)})


@pytest.mark.parametrize("case", EQUAL)
def test_equal_variants_have_no_difference(case: str) -> None:
    left, right = EQUAL[case]
    assert compare_rows(table(left), table(right)) is None


@pytest.mark.parametrize("case", OTHER)
def test_other_variants_have_a_difference(case: str) -> None:
    left, right = OTHER[case]
    assert compare_rows(table(left), table(right)) is not None


def test_a_null_variant_is_not_a_variant_null() -> None:
    assert compare_rows(table(None), table((EMPTY, b"\x00"))) is not None


BOMB = b"".join(bytes([3, 2, 0, 0, 0]) for _ in range(60)) + b"\x00"

BROKEN = {
    "no bytes": (EMPTY, b""),
    "a string that ends early": (EMPTY, b"\x40\xff\xff\xff\xff"),
    "a primitive that is not defined": (EMPTY, bytes([40 << 2])),
    "a field outside the dictionary": (EMPTY, object_of((0, SHORT))),
    "another metadata version": (b"\x02\x00\x00", SHORT),
    "a string that is not Unicode": (EMPTY, b"\x05\xff"),
    "elements that overlap themselves": (EMPTY, BOMB),
}


@pytest.mark.parametrize("case", BROKEN)
def test_malformed_variants_are_refused_at_once(case: str) -> None:
    with pytest.raises(VariantError):
        variant_value(*BROKEN[case])
