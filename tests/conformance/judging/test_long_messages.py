"""What an engine says may be megabytes long: it is cleaned and compared in time of its length."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from conformance.judging.messages import LONGEST, alike, stable

LONG = {
    "one word": "m" * 200_000,
    "blanks": "a" + " " * 200_000 + "b",
    "slashes": "/a" * 100_000,
    "traces that begin": " 0: <" * 40_000,
    "folders that begin": "-tck-" * 40_000,
    "packages that begin": "/site-packages" * 15_000,
    "dots": "..." * 70_000,
    "addresses that begin": "0x" * 100_000,
    "quotes": "Failed to parse value '" * 9_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_message_costs_little(text: str) -> None:
    start = time.process_time()
    alike(text)
    assert len(stable(text, Path("/q/x"))) <= LONGEST
    assert time.process_time() - start < 4


def test_what_differs_by_chance_is_still_taken_out() -> None:
    text = (
        "cannot open /usr/lib/site-packages/a/dist-packages/b.py in x/y-tck-run-abcdefg1/12/t "
        "(/opt/site-packages/c)  \n  0: <unknown> at 1: main"
    )
    assert alike(text) == "cannot open <installed>/b.py in <path>/t (<installed>/c)"
    assert stable(text + " Stack Trace: x", Path("/q/x")) == (
        "cannot open <installed>/b.py in x/y-tck-run-abcdefg1/12/t (<installed>/c)"
    )
    assert stable("wrong  Stack Trace: x", Path("/q/x")) == "wrong"
