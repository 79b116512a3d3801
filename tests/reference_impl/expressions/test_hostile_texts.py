"""No text makes the reader of SQL hang, crash or exhaust memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from reference_impl.errors import LimitExceeded
from reference_impl.expressions.functions import FUNCTIONS
from reference_impl.expressions.sql import parse_expression
from reference_impl.types.arrow import from_arrow
from reference_impl.types.model import Struct

from .hostile import COPIED, ROWS, SINGLE, texts

HOSTILE = Path(__file__).with_name("hostile.py")
SECONDS = 600
MEMORY = 3 << 30
LIMITED = (
    "import resource, runpy, sys; "
    f"resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY})); "
    "runpy.run_path(sys.argv[1], run_name='__main__')"
)
REFUSALS = {
    "InvalidFilter",
    "LimitExceeded",
    "SchemaMismatch",
    "UnknownColumn",
    "UnsupportedExpression",
}
VALUES = {
    "like of many wildcards",
    "like of hundreds of wildcards",
    "concat of 800",
    "coalesce of 20000",
    "and of 5000",
    "or of 5000",
    "sum of 400",
    "list of 20000",
    "whens of 2000",
    "a NUL",
    "a division by zero",
    "a string of DuckDB",
    *(f"5 x {name}" for name in COPIED),
}
LIMITS = {
    "like beyond the wildcards": "sql_like_wildcards",
    "sum of 5000": "sql_operators",
    "too long": "sql_text",
    "too many tokens": "sql_tokens",
    **{f"30 x {name}": "sql_copies" for name in COPIED},
}


def test_every_hostile_text_gives_values_or_a_typed_error() -> None:
    """All of them in a process of its own, under a limit of time and of memory."""
    done = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", LIMITED, str(HOSTILE)],
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    outcomes: dict[str, str] = json.loads(done.stdout)
    assert outcomes.keys() == {name for name, _ in texts()}
    assert {n: o for n, o in outcomes.items() if o not in {"value", *REFUSALS}} == {}
    assert {name for name in VALUES if outcomes[name] != "value"} == set()


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_a_bound_is_named_and_the_table_is_not_at_fault(name: str) -> None:
    with pytest.raises(LimitExceeded, match="limit") as caught:
        parse_expression(SINGLE[name], from_arrow(ROWS.schema))
    assert (caught.value.limit, caught.value.kind) == (LIMITS[name], "unsupported")
    assert str(caught.value.allowed) in caught.value.message


def test_a_caller_deep_in_the_stack_gets_a_typed_error() -> None:
    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            parse_expression("(" * 60 + "1" + ")" * 60, Struct(()))

    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(400)
        with pytest.raises(LimitExceeded):
            deep(150)
    finally:
        sys.setrecursionlimit(limit)


def test_no_function_but_nullif_is_taken_apart_by_the_database() -> None:
    """A macro has its arguments as often as it names them, however deep they are."""
    macros = {
        name
        for (name,) in duckdb.sql(
            "select function_name from duckdb_functions() where function_type = 'macro'"
        ).fetchall()
    }
    called = set()
    for name, function in FUNCTIONS.items():
        args = ", ".join(["s", "1", "1"][: max(function.least, 1)])
        expression = parse_expression(f"{name}({args})", from_arrow(ROWS.schema))
        called |= set(re.findall(r"(\w+)\(", expression.sql))
    assert {"nullif", "coalesce", "substring"} <= called
    assert called & macros == {"nullif"}
