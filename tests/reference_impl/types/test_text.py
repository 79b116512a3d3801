"""Bytes that are no UTF-8 are refused wherever they are, and nothing else is."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.types.text import refuse_bad_text

WORDS = st.sampled_from([b"", b"a", b"abcdefgh", "é".encode(), "é".encode()[:1], "é".encode()[1:]])
BYTES = WORDS | st.binary(max_size=4)


def _strings(values: list[bytes | None]) -> pa.Array:
    return pa.array(values, pa.binary()).view(pa.string())


def _is_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.lists(st.none() | BYTES, max_size=8), st.integers(0, 3), st.integers(0, 3))
def test_an_array_is_text_when_each_of_its_strings_is(
    values: list[bytes | None], before: int, after: int
) -> None:
    array = _strings([b"\xff"] * before + values + [b"\xff"] * after).slice(before, len(values))
    if all(map(_is_text, values)):
        refuse_bad_text(array)
    else:
        with pytest.raises(pa.ArrowInvalid):
            refuse_bad_text(array)


@pytest.mark.parametrize("bad", [b"\xff", b"ok\xc3"])
def test_strings_inside_other_values_are_looked_at(bad: bytes) -> None:
    strings = _strings([b"good", bad])
    for array in (
        pa.ListArray.from_arrays([0, 2], strings),
        pa.StructArray.from_arrays([strings], ["s"]),
        pa.MapArray.from_arrays([0, 2], ["k", "l"], strings),
    ):
        with pytest.raises(pa.ArrowInvalid):
            refuse_bad_text(array)
