"""Numbers among options are those that everybody reads, and that a system takes."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any

import pytest

from conformance.base.limits import InProcessLimit
from conformance.base.options import OPTIONS, gibibytes, seconds
from conformance.workers.resolve import Limits

STRANGE = ("nan", "inf", "-1", "0", "", "\u0661", "\u00b2", "1_0", "1,5", "0x10", "1e308", "1e-400")


@pytest.mark.parametrize("read", [seconds, gibibytes])
@pytest.mark.parametrize("text", STRANGE, ids=ascii)
def test_a_limit_is_a_positive_number_in_plain_digits(
    read: Callable[[str], float], text: str
) -> None:
    with pytest.raises(ArgumentTypeError):
        read(text)


@pytest.mark.parametrize("option", ["--tck-seed", "--tck-shard"])
@pytest.mark.parametrize(
    "text", ["\u0661", "\u0661/\u0662", "1_0", "1_0/2_0", "9" * 5000, "9" * 5000 + "/" + "9" * 5000]
)
def test_a_whole_number_is_in_plain_digits(option: str, text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        OPTIONS[option]["type"](text)


def test_the_largest_limits_are_taken() -> None:
    most: dict[str, Any] = {
        name: OPTIONS[name]["type"]("1e9") for name in OPTIONS if "-limit" in name
    }
    limits = Limits.of(most.__getitem__)
    with InProcessLimit(limits.request):
        assert limits.memory == 10**9 * 2**30
