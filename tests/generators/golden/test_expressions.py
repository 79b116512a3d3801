"""What the text names no functions for, is asked of the writers alone that claim it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from generators.golden.build import CORPUS

_NO_PART_OF_SQL = re.compile(r"'[^']*'|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL)
_BEYOND = re.compile(
    r"\b(LIKE|IN|BETWEEN|CASE|CAST|DISTINCT|DATE|IS\s+(NOT\s+)?(TRUE|FALSE))\b"
    r"|\b(?!(AND|OR|NOT)\b)[a-z_]\w*\s*\(",
    re.IGNORECASE,
)
"""What goes beyond comparisons, arithmetic and logic of columns and literals."""


def _is_plain(expression: str) -> bool:
    return not _BEYOND.search(_NO_PART_OF_SQL.sub(" ", expression))


def _expressions(value: Any) -> Iterator[str]:
    """Find the SQL of a step: generated columns, invariants, constraints."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, str) and (
                key in ("delta.generationExpression", "delta.invariants")
                or key.startswith("delta.constraints.")
                or (key == "expression" and "operation" in value)
            ):
                yield json.loads(inner)["expression"]["expression"] if inner[:1] == "{" else inner
            else:
                yield from _expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _expressions(inner)


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        ("a = 1 AND (b <> -2.5 OR NOT (t)) AND s IS NOT NULL", True),
        ("s <> 'x IN (y)' -- LIKE", True),
        ("`in` > 0", True),
        ("a IN (1)", False),
        ("upper (s) = 'A'", False),
        ("t IS NOT TRUE", False),
        ("CAST(a AS DATE) > d", False),
    ],
)
def test_plain_sql_is_known(expression: str, plain: bool) -> None:
    assert _is_plain(expression) is plain


def test_a_recipe_with_more_than_plain_sql_is_for_those_who_claim_it() -> None:
    """A refusal that a recipe expects is the answer to an unknown expression."""
    seen, wrong = 0, []
    for path in sorted(CORPUS.glob("*/*/specs/*.json")):
        spec = json.loads(path.read_bytes())
        for step in (*spec.get("operations", ()), *spec.get("before", ())):
            beyond = [each for each in _expressions(step) if not _is_plain(each)]
            seen += bool(beyond)
            needed = f"{step['operation']}.sql"
            if beyond and needed not in spec.get("needs", ()) and "error" not in spec:
                wrong.append((path.parents[1].name, beyond[0]))
    assert wrong == []
    assert seen >= 10
