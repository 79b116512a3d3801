"""Reading SQL takes steps in proportion to its length.

Steps are counted, not timed: calls, and calls of what is written in C.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from reference_impl.errors import DeltaError
from reference_impl.expressions.limits import MAX_TEXT
from reference_impl.expressions.render import like_regex
from reference_impl.expressions.sql import conjuncts, parse_expression
from reference_impl.filters import parse_predicate
from reference_impl.types.model import LONG, STRING, Field, Struct

from .hostile import NESTED, REPEATED

SCHEMA = Struct((Field("a", LONG), Field("s", STRING)))
CHAINS = {
    "and": lambda n: " AND ".join(["a = 1"] * n),
    "or": lambda n: " OR ".join(["a = 1"] * n),
    "concat": lambda n: "concat(" + ",".join(["s"] * n) + ")",
    "list": lambda n: "a IN (" + ",".join(["1"] * n) + ")",
    "case": lambda n: "CASE" + " WHEN a = 1 THEN 1" * n + " END",
    "strings": lambda n: "s = " + "'x' " * n,
    "escapes": lambda n: "s = '" + "\\n" * n + "'",
    "comments": lambda n: "/* * / */" * n + "a",
    "digits": lambda n: "9" * n + "x",
    "an open string": lambda n: "'" + "\\'" * n,
    "an open comment": lambda n: "a /*" + "* /" * n,
}


def _steps(work: Callable[[], object]) -> int:
    count = 0

    def step(*_: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(step)
    try:
        work()
    except DeltaError:
        pass
    finally:
        sys.setprofile(None)
    return count


def _read(text: str) -> None:
    for read in (parse_predicate, conjuncts, lambda each: parse_expression(each, SCHEMA)):
        try:
            read(text)
        except DeltaError:
            continue


def _is_linear(make: Callable[[int], str], count: int) -> None:
    assert len(make(4 * count)) <= MAX_TEXT
    _read(make(1))
    small, large = (_steps(lambda n=n: _read(make(n))) for n in (count, 4 * count))
    assert large <= 4.5 * small + 1_000


@pytest.mark.parametrize("name", CHAINS)
def test_steps_grow_with_the_length_of_a_chain(name: str) -> None:
    _is_linear(CHAINS[name], 100)


@pytest.mark.parametrize("part", [*NESTED, *REPEATED])
def test_steps_grow_with_the_length_of_a_hostile_text(part: str) -> None:
    _is_linear(lambda n: part * n, 100)


@pytest.mark.parametrize("part", NESTED)
def test_steps_grow_with_the_depth_of_brackets(part: str) -> None:
    _is_linear(lambda n: part * n + "a" + ")" * n, 14)


def test_steps_grow_with_the_length_of_a_pattern() -> None:
    small, large = (_steps(lambda n=n: like_regex("a_%" * n, "\\")) for n in (100, 400))
    assert large <= 4.5 * small
