"""LIKE means what Spark means by it, over any text and in linear time."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from reference_impl.errors import InvalidFilter
from reference_impl.expressions.sql import parse_expression
from reference_impl.types.arrow import from_arrow

SCHEMA = from_arrow(pa.schema([("s", pa.string())]))
ALPHABET = [
    "a",
    "b",
    "A",
    ".",
    "*",
    "(",
    "[",
    "\n",
    "\r",
    "\0",
    "é",
    "e\u0301",
    "\U0001f600",
    "\u2028",
]


def _like(text: str, pattern: str, escape: str) -> bool:
    """Match by the definition, one row of the table of prefixes after another."""
    parts: list[str | None] = []  # None is any text, the empty string any one character
    at = 0
    while at < len(pattern):
        if pattern[at] == escape:
            at += 1
            parts.append(pattern[at])
        else:
            parts.append({"%": None, "_": ""}.get(pattern[at], pattern[at]))
        at += 1
    reached = {0}
    for part in parts:
        if part is None:
            reached = set(range(min(reached), len(text) + 1)) if reached else set()
        else:
            reached = {i + 1 for i in reached if i < len(text) and part in ("", text[i])}
    return len(text) in reached


def _quoted(text: str) -> str:
    named = {"\\": "\\\\", "'": "\\'", "\0": "\\0"}
    # A backslash before a wildcard keeps its meaning for LIKE; two are one.
    return "'" + "".join(named.get(c, c) for c in text) + "'"


@pytest.mark.parametrize("seed", range(12))
def test_like_matches_what_the_definition_matches(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  nothing secret
    texts = ["".join(draw.choices(ALPHABET, k=draw.randrange(7))) for _ in range(60)]
    rows = pa.table({"s": texts})
    for _ in range(40):
        escape = draw.choice(["\\", "\\", "/", "a"])
        pieces = [*ALPHABET, "%", "%", "%", "_", "_", escape + "%", escape + "_", escape * 2]
        usable = [p for p in pieces if p != escape]
        pattern = "".join(draw.choices(usable, k=draw.randrange(8)))
        clause = "" if escape == "\\" else f" ESCAPE '{escape}'"
        found = parse_expression(f"s LIKE {_quoted(pattern)}{clause}", SCHEMA).evaluate(rows)
        expected = [_like(text, pattern, escape) for text in texts]
        assert found.to_pylist() == expected, (pattern, escape)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("%", "", True),
        ("_", "", False),
        ("_", "\n", True),
        ("_", "\U0001f600", True),
        ("__", "e\u0301", True),
        ("a%", "a\nb", True),
        ("a.c", "abc", False),
        ("(a|b)", "a", False),
        ("x\\%", "x%", True),
        ("x\\%", "xy", False),
        ("x\\_y", "x_y", True),
        ("x\\\\y", "x\\y", True),
        ("%\\\\", "c:\\", True),
        ("A", "a", False),
    ],
)
def test_like_holds_for_special_texts(pattern: str, text: str, expected: bool) -> None:
    expression = parse_expression(f"s LIKE {_quoted(pattern)}", SCHEMA)
    assert expression.evaluate(pa.table({"s": [text, None]})).to_pylist() == [expected, None]


@pytest.mark.parametrize("pattern", ["a\\b", "a\\", "\\é", "%\\a%"])
def test_an_illegal_escape_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidFilter):
        parse_expression(f"s LIKE {_quoted(pattern)}", SCHEMA)
