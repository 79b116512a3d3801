"""JSON for which there is not enough memory ends in an error, and not in the end of the process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

LINE = 48 << 20
"""Bytes of a line, which its parser takes many times."""

TEXT = 8 << 20
"""Bytes of JSON of many small values."""

SPARE = 384 << 20
"""Bytes of address space that are left when it is parsed."""

PROGRAM = f"""
from reference_impl.log.lines import parse_line
from reference_impl.model.wire import LogPlace

line = b'{{"txn":{{"appId":"' + b"x" * {LINE} + b'","version":1}}}}'
leave({SPARE})
try:
    parse_line(line, 1, LogPlace("c", 0))
except MemoryError:
    print("refused")
"""

PARTS = {"objects": b'{"a":1},', "lists": b"[],", "short texts": '"\u00e9é",'.encode()}
"""What makes the most values of the fewest bytes."""

OF_PARTS = f"""
from reference_impl.untrusted import load_json

part = bytes.fromhex(sys.argv[1])
text = b"[" + part * ({TEXT} // len(part)) + b"1]"
leave(int(len(text) * float(sys.argv[2])))
try:
    load_json(text)
    print("parsed")
except MemoryError:
    print("refused")
"""


@pytest.mark.parametrize("times", ["12.5", "24"])
@pytest.mark.parametrize("part", PARTS)
def test_values_that_do_not_fit_in_memory_do_not_end_the_process(
    part: str, times: str, printed_in_short_memory: Callable[..., str]
) -> None:
    assert printed_in_short_memory(OF_PARTS, PARTS[part].hex(), times) == "refused"


def test_a_line_that_does_not_fit_in_memory_does_not_end_the_process(
    printed_in_short_memory: Callable[..., str],
) -> None:
    assert printed_in_short_memory(PROGRAM) == "refused"
