"""SQL expressions mean what Spark means by them, or are refused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from reference_impl.errors import SchemaMismatch, UnsupportedExpression
from reference_impl.expressions.sql import parse_expression
from reference_impl.types.arrow import from_arrow

SCHEMA = pa.schema(
    [
        ("a", pa.int64()),
        ("B c", pa.string()),
        ("s", pa.struct([("x", pa.int32())])),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", tz="UTC")),
        ("f", pa.float64()),
    ]
)
DAY = dt.date(2020, 2, 29)
MOMENT = dt.datetime(2020, 2, 29, 23, 59, tzinfo=dt.UTC)
ROWS = pa.Table.from_pylist(
    [
        {"a": 1, "B c": "x", "s": {"x": 1}, "d": DAY, "t": MOMENT, "f": float("nan")},
        {"a": None, "B c": "yy", "s": None, "d": None, "t": None, "f": 1.5},
    ],
    schema=SCHEMA,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a > 0", [True, None]),
        ("NOT (A > 0)", [False, None]),
        ("a <=> NULL", [False, True]),
        ("`b C` = 'x' OR a IS NULL", [True, True]),
        ("s.x + a * 2 - 1", [2, None]),
        ("a % 2 = 1", [True, None]),
        ("CASE WHEN a > 0 THEN 'p' ELSE upper(`B c`) END", ["p", "YY"]),
        ("a IN (1, 2)", [True, None]),
        ("a BETWEEN 0 AND 1", [True, None]),
        ("coalesce(a, 0)", [1, 0]),
        ("concat(`B c`, 'z')", ["xz", "yyz"]),
        ("length(`B c`)", [1, 2]),
        ("substring(`B c`, 1, 1)", ["x", "y"]),
        ("`B c` LIKE 'y%'", [False, True]),
        ("year(d) = 2020 AND month(d) = 2", [True, None]),
        ("d >= '2020-01-01'", [True, None]),
        ("CAST(t AS DATE)", [DAY, None]),
        ("t > TIMESTAMP '2020-02-29 23:58:00'", [True, None]),
        ("f > 1000", [True, False]),
        ("CAST(S.X AS BIGINT)", [1, None]),
        ("CAST(NULL AS STRING)", [None, None]),
        ("CAST('x' AS STRING)", ["x", "x"]),
        ("CAST(NULL AS TIMESTAMP)", [None, None]),
    ],
)
def test_expressions_are_evaluated(text: str, values: list[Any]) -> None:
    expression = parse_expression(text, from_arrow(SCHEMA))
    assert expression.evaluate(ROWS).to_pylist() == values


@pytest.mark.parametrize(
    "text",
    [
        "rand()",
        "current_timestamp()",
        "a / 2",
        "CAST(a AS STRING)",
        "CAST(t AS TIMESTAMP)",
        "substring(`B c`, -1, 1)",
        "a IN (SELECT 1)",
        "my_function(a)",
        "sum(a) > 0",
        "`B c` RLIKE 'x'",
        "(SELECT 1)",
    ],
)
def test_what_may_differ_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedExpression):
        parse_expression(text, from_arrow(SCHEMA))


@pytest.mark.parametrize("text", ["CAST(`B c` AS INT) > 0", "a + 9223372036854775807"])
def test_values_that_do_not_fit_are_errors_and_not_null(text: str) -> None:
    expression = parse_expression(text, from_arrow(SCHEMA))
    with pytest.raises(SchemaMismatch):
        expression.evaluate(ROWS)
