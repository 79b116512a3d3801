"""Filters of the golden builders: tree, text and truth say the same."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest

import schemas
from generators.golden.cases.filters import (
    Filter,
    all_of,
    any_of,
    compare,
    is_in,
    is_not_null,
    is_null,
    negate,
    starts_with,
)

_TRUE = compare("x", "=", 1, "integer")
_UNKNOWN = compare("y", "=", 1, "integer")
_FALSE = compare("x", "=", 2, "integer")
_ROW = {"x": 1, "y": None}


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        (_TRUE, True),
        (_FALSE, False),
        (_UNKNOWN, None),
        (negate(_TRUE), False),
        (negate(_UNKNOWN), None),
        (all_of(_TRUE, _UNKNOWN), None),
        (all_of(_FALSE, _UNKNOWN), False),
        (any_of(_TRUE, _UNKNOWN), True),
        (any_of(_FALSE, _UNKNOWN), None),
        (is_in("x", [1, None], "integer"), True),
        (is_in("x", [2, None], "integer"), None),
        (is_in("x", [2, 3], "integer"), False),
        (is_in("y", [2], "integer"), None),
        (compare("y", "<=>", None, "integer"), True),
        (compare("x", "<=>", None, "integer"), False),
        (compare("x", "<=>", 1, "integer"), True),
        (is_null("y"), True),
        (is_not_null("y"), False),
    ],
)
def test_truth_has_three_values(condition: Filter, truth: bool | None) -> None:
    assert condition.test(_ROW) is truth
    assert condition.keeps(_ROW) is (truth is True)


def test_nan_equals_itself_and_tops_every_number() -> None:
    row = {"d": math.nan}
    assert compare("d", "=", math.nan, "double").keeps(row)
    assert compare("d", ">", math.inf, "double").keeps(row)
    assert not compare("d", "<", math.inf, "double").keeps(row)


def test_negative_zero_equals_zero() -> None:
    assert compare("d", "=", 0.0, "double").keeps({"d": -0.0})


def test_strings_compare_by_their_utf8_bytes() -> None:
    assert compare("s", ">", "\uffff", "string").keeps({"s": "\U0001f33c"})
    assert starts_with("s", "ab").keeps({"s": "abc"})
    assert starts_with("s", "ab").test({"s": None}) is None


def test_a_leaf_of_a_null_struct_is_null() -> None:
    assert is_null("s.a").keeps({"s": None})
    assert not compare("s.a", "=", 1, "integer").keeps({"s": None})


@pytest.mark.parametrize(
    ("condition", "sql"),
    [
        (compare("id", ">", 5, "long"), "id > 5"),
        (compare("odd name", "=", "it's", "string"), "`odd name` = 'it\\'s'"),
        (compare("m", "=", Decimal("1.50"), "decimal(10,2)"), "m = 1.50"),
        (
            compare("t", "<", datetime(2024, 1, 2, tzinfo=UTC), "timestamp"),
            "t < TIMESTAMP'2024-01-02T00:00:00.000000Z'",
        ),
        (compare("b", "=", b"\x01\xff", "binary"), "b = X'01FF'"),
        (negate(is_in("s.a", [1, None], "integer")), "NOT (`s`.`a` IN (1, NULL))"),
    ],
)
def test_text_is_spark_sql(condition: Filter, sql: str) -> None:
    assert condition.sql == sql


@pytest.mark.parametrize(
    "condition",
    [
        compare("id", ">", 2**60, "long"),
        compare("d", "=", math.nan, "double"),
        compare("b", "=", b"\x00", "binary"),
        compare("y", "<=>", None, "date"),
        all_of(is_null("a.b"), negate(starts_with("s", "x"))),
    ],
)
def test_tree_is_a_filter_of_the_published_format(condition: Filter) -> None:
    assert schemas.errors("kit/filter", condition.tree) == []
