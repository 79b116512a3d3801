"""What an engine says may be megabytes long: it is cleaned and compared in time of its length."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.judging.messages import MAX_MESSAGE_CHARACTERS, alike, stable

LONG = {
    "one word": "m" * 1_000_000,
    "blanks": "a" + " " * 1_000_000 + "b",
    "slashes": "/a" * 500_000,
    "traces that begin": " 0: <" * 200_000,
    "folders that begin": "-tck-" * 200_000,
    "packages that begin": "/site-packages" * 75_000,
    "runs that begin": "/delta-tck-run-" * 75_000,
    "dots": "..." * 350_000,
    "addresses that begin": "0x" * 500_000,
    "quotes": "Failed to parse value '" * 45_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.usefixtures("ends")
def test_a_long_message_takes_time_of_its_length(text: str) -> None:
    alike(text)
    assert len(stable(text, Path("/q/x"))) <= MAX_MESSAGE_CHARACTERS


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
