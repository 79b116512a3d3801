"""Expressions of rules, as the audit evaluates them: three values of logic, and no guess."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit.sql.errors import Malformed, NoColumn, Uncertain
from conformance.audit.sql.evaluate import Expression, same_as
from reference_impl.errors import LimitExceeded
from reference_impl.limits import Limits, within_limits

ROWS = pa.table(
    {
        "i": pa.array([1, -7, None], pa.int32()),
        "l": pa.array([2**40, 0, None], pa.int64()),
        "d": pa.array([Decimal("1.50"), Decimal("-0.25"), None], pa.decimal128(10, 2)),
        "f": pa.array([0.5, float("nan"), None], pa.float64()),
        "r": pa.array([0.5, 0.25, None], pa.float32()),
        "s": pa.array(["abc", "", None]),
        "u": pa.array(["é%", "a\nb", None]),
        "b": pa.array([True, False, None]),
        "day": pa.array([date(2024, 2, 29), date(1969, 12, 31), None]),
        "n": pa.array(["2024-02-29 23:00:00", "1969-12-31 01:00:00", None]).cast(
            pa.timestamp("us")
        ),
        "t": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
        "st": pa.array([{"x": 1, "Y": None}, {"x": 2, "Y": "y"}, None]),
    }
)

T, F, N = True, False, None
CERTAIN: dict[str, list[Any]] = {
    "i > 0": [T, F, N],
    "I >= 1 AND b": [T, F, N],
    "b AND NULL": [N, F, N],
    "b OR NULL": [T, N, N],
    "NOT b": [F, T, N],
    "b IS NULL OR b": [T, F, T],
    "b IS NOT TRUE": [F, T, T],
    "i <=> NULL": [F, F, T],
    "i IS DISTINCT FROM 1": [F, T, T],
    "i IN (1, 2)": [T, F, N],
    "i IN (1, NULL)": [T, N, N],
    "i NOT IN (1, NULL)": [F, N, N],
    "i BETWEEN -7 AND 0": [F, T, N],
    "i NOT BETWEEN 1 AND l": [F, T, N],
    "i == 1": [T, F, N],
    "i <> 1": [F, T, N],
    "i != 1": [F, T, N],
    "f > 1e300": [F, T, N],
    "f = f": [T, T, N],
    "f <= 0.5": [T, F, N],
    "r = 0.25": [F, T, N],
    "r > 0": [T, T, N],
    "d > 1": [T, F, N],
    "d = 1.5": [T, F, N],
    "i + 1": [2, -6, N],
    "i - l * 2": [1 - 2**41, -7, N],
    "-i": [-1, 7, N],
    "i % 4": [1, -3, N],
    "mod(i, -4)": [1, -3, N],
    "abs(i)": [1, 7, N],
    "d + 1": [Decimal("2.50"), Decimal("0.75"), N],
    "i + 2 * 3": [7, -1, N],
    "(i + 2) * 3": [9, -15, N],
    "s = ''": [F, T, N],
    "s LIKE 'a%c'": [T, F, N],
    "s NOT LIKE '_b_'": [F, T, N],
    "u LIKE 'a_b'": [F, T, N],
    "length(s)": [3, 0, N],
    "length(u)": [2, 3, N],
    "upper(s)": ["ABC", "", N],
    "lower(upper(s)) = s": [T, T, N],
    "concat(s, '-', s)": ["abc-abc", "-", N],
    "s || u": ["abcé%", "a\nb", N],
    "substring(s, 2)": ["bc", "", N],
    "substr(s, 1, 2)": ["ab", "", N],
    "startswith(s, 'ab')": [T, F, N],
    "coalesce(i, 5)": [1, -7, 5],
    "nvl(s, 'x')": ["abc", "", "x"],
    "nullif(i, 1)": [N, -7, N],
    "greatest(i, 0)": [1, 0, 0],
    "least(i, 0, NULL)": [0, -7, 0],
    "if(b, 'y', 'n')": ["y", "n", "n"],
    "CASE WHEN i > 0 THEN 1 WHEN i < 0 THEN 2 END": [1, 2, N],
    "CASE i WHEN 1 THEN 'one' ELSE s END": ["one", "", N],
    "CAST(f AS INT)": None,
    "CAST(r AS INT)": [0, 0, N],
    "CAST(d AS BIGINT)": [1, 0, N],
    "CAST(i AS STRING)": ["1", "-7", N],
    "i::decimal(5, 1)": [Decimal("1.0"), Decimal("-7.0"), N],
    "day = '2024-02-29'": [T, F, N],
    "day < DATE '1970-01-01'": [F, T, N],
    "year(day)": [2024, 1969, N],
    "month(day) * 100 + day(day)": [229, 1231, N],
    "CAST(n AS DATE)": [date(2024, 2, 29), date(1969, 12, 31), N],
    "year(n)": [2024, 1969, N],
    "n > '2000-01-01 00:00:00'": [T, F, N],
    "st.x": [1, 2, N],
    "ST.y IS NULL": [T, F, T],
    "st IS NULL": [F, F, T],
    "`i` = 1 -- a comment": [T, F, N],
    "1 = 1": [T, T, T],
    "NULL": [N, N, N],
    "t = t": [T, T, N],
}  # fmt: skip
"""Text to its values over :data:`ROWS`; ``None`` where a value does not fit."""


@pytest.mark.parametrize("text", CERTAIN)
def test_what_is_certain_is_evaluated(text: str) -> None:
    expression = Expression.of(text, ROWS.column_names)
    rows = ROWS.select(list(expression.columns)) if expression.columns else ROWS
    if CERTAIN[text] is None:
        with pytest.raises(Uncertain):
            expression.evaluate(rows)
    else:
        assert expression.evaluate(rows).to_pylist() == CERTAIN[text]


UNCERTAIN = (
    "from_another_world(i)",
    "current_date > day",
    "user = 's'",
    "spark_catalog.default.t.i > 0",
    "year(t) = 2024",
    "CAST(t AS DATE)",
    "t > '2024-01-01 00:00:00'",
    "s > 1",
    "upper(u)",
    "i = b",
    "r + 1",
    "d / 2",
    "f % 2.0",
    "i % 0",
    "i + 2147483647",
    "CAST(f AS STRING)",
    "CAST(s AS DATE)",
    "day = '2024-2-29'",
    "s LIKE s",
    "s LIKE 'a!%' ESCAPE '!'",
    "s = 'a\\nb'",
    "s = 'it''s'",
    "i = 1 = b",
    "i = l IS NULL",
    "i BETWEEN 1 AND l = b",
    "s || i + 1",
    "! b = b",
    "st = st",
    "i IN (SELECT 1)",
    "st.z > 1",
    "greatest(f, 1.0)",
    "i RLIKE 'x'",
    "i[0]",
    "INTERVAL 1 DAY > i",
    "count(*) > 1",
    "(i, l) = (1, 2)",
    "substring(s, 0)",
    "concat(s, i)",
    "i > 99999999999999999999999999999999999999999",
)  # fmt: skip


@pytest.mark.parametrize("text", UNCERTAIN)
def test_what_is_not_certain_is_left_open(text: str) -> None:
    with pytest.raises(Uncertain):
        Expression.of(text, ROWS.column_names).evaluate(ROWS)


@pytest.mark.parametrize("text", ["i < < 3", "i >", "(i", "i = 'x", "", ")", "i = 1; l = 2"])
def test_what_is_no_sql_is_reported(text: str) -> None:
    with pytest.raises(Malformed):
        Expression.of(text, ROWS.column_names)


def test_a_name_that_is_no_column_is_reported() -> None:
    with pytest.raises(NoColumn, match="ghost"):
        Expression.of("i > 0 AND ghost < 1", ROWS.column_names)


@pytest.mark.parametrize(
    "text",
    [
        "ghost.part > 0",
        "lake.ghost.part > 0",
        "ghost[0].part > 0",
        "abs(ghost.part) > 0",
        "any_of(ghost.x)",
    ],
)
def test_a_path_none_of_whose_parts_is_a_column_is_reported(text: str) -> None:
    with pytest.raises(NoColumn, match="ghost"):
        Expression.of(text, ROWS.column_names)


@pytest.mark.parametrize("text", ["people.i > 0", "lake.people.i > 0", "any_of(l, x -> x.y > 0)"])
def test_a_path_may_begin_with_the_name_of_its_table_or_a_variable(text: str) -> None:
    with pytest.raises(Uncertain):
        Expression.of(text, ROWS.column_names)


HOSTILE = {
    "brackets": "(" * 3000 + "i" + ")" * 3000,
    "nots": "NOT " * 3000 + "b",
    "signs": "- " * 3000 + "i",
    "cases": "CASE WHEN b THEN " * 3000 + "i" + " END" * 3000,
    "casts": "CAST(" * 3000 + "i" + " AS INT)" * 3000,
    "length": "i = 1 OR " * 20_000 + "b",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_left_open(name: str) -> None:
    with pytest.raises(Uncertain):
        Expression.of(HOSTILE[name], ROWS.column_names)


@pytest.mark.parametrize(
    "text", ["b" + " AND b" * 9000, "i" + " + i" * 9000, "i::int" + "::int" * 999]
)
def test_a_long_chain_needs_no_stack(text: str) -> None:
    assert Expression.of(text, ROWS.column_names).evaluate(ROWS)[2].as_py() is None


@pytest.mark.parametrize("text", ["concat(s, s, s)", "if(b, 'xxxxxxxxx', s)", "i + l * i - l"])
def test_what_needs_more_memory_is_stopped(text: str) -> None:
    expression = Expression.of(text, ROWS.column_names)
    with within_limits(Limits(sql_memory=1), "test"), pytest.raises(LimitExceeded):
        expression.evaluate(ROWS)


def test_what_takes_more_time_is_stopped() -> None:
    expression = Expression.of("i > 0", ROWS.column_names)
    with within_limits(Limits(sql_seconds=1e-9), "test"), pytest.raises(LimitExceeded):
        expression.evaluate(ROWS)


def test_a_generated_value_is_held_exactly() -> None:
    longs, wide = pa.array([1, None, 3]), pa.array([1, None, 4], pa.int32())
    assert same_as(longs, wide).to_pylist() == [True, True, False]
    nans = pa.array([float("nan"), None])
    assert same_as(nans, nans).to_pylist() == [True, True]
    with pytest.raises(Uncertain):
        same_as(pa.array([1], pa.int8()), pa.array([300], pa.int32()))
    with pytest.raises(Uncertain):
        same_as(pa.array([0.1], pa.float32()), pa.array([0.1]))
