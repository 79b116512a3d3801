"""Filters: trees and SQL text, three-valued logic, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import read_table
from reference_impl.errors import (
    InvalidFilter,
    LimitExceeded,
    UnknownColumn,
    UnsupportedExpression,
)
from reference_impl.filters import parse_predicate

_FIELDS = [
    ("k", "long"),
    ("i", "integer"),
    ("l", "long"),
    ("f", "float"),
    ("d", "double"),
    ("n", "decimal(10,2)"),
    ("s", "string"),
    ("b", "boolean"),
    ("x", "binary"),
    ("t", "date"),
    ("ts", "timestamp"),
    (
        "st",
        {
            "type": "struct",
            "fields": [{"name": "y", "type": "long", "nullable": True, "metadata": {}}],
        },
    ),
]
_ROWS = pa.table(
    {
        "k": [0, 1, 2],
        "i": pa.array([1, 2, None], pa.int32()),
        "l": [2**53 + 1, -5, None],
        "f": pa.array([float("nan"), 1.5, None], pa.float32()),
        "d": [float("nan"), -0.0, None],
        "n": pa.array([Number("1.50"), Number("-2.25"), None], pa.decimal128(10, 2)),
        "s": ["abc", "", None],
        "b": [True, False, None],
        "x": [b"\x00\xff", b"a", None],
        "t": [date(2020, 1, 1), date(1960, 1, 1), None],
        "ts": pa.array(
            [datetime(2020, 1, 1, 1, tzinfo=UTC), datetime(1960, 1, 1, tzinfo=UTC), None],
            pa.timestamp("us", "UTC"),
        ),
        "st": pa.array([{"y": 1}, {"y": None}, None], pa.struct([("y", pa.int64())])),
    }
)


@pytest.fixture
def root(table: Any) -> Any:
    table.create(_FIELDS)
    table.commit(table.add(_ROWS))
    return table.root


def _column(*path: str) -> dict[str, Any]:
    return {"column": list(path)}


def _op(name: str, *arguments: Any) -> dict[str, Any]:
    return {"op": name, "args": list(arguments)}


def _literal(value: Any, of: Any) -> dict[str, Any]:
    return {"literal": value, "type": of}


TREES: list[tuple[dict[str, Any], list[int]]] = [
    (_op("=", _column("i"), _literal(1, "integer")), [0]),
    (_op("<>", _column("i"), _literal(1, "integer")), [1]),
    (_op("<=>", _column("i"), _literal(None, "integer")), [2]),
    (_op("=", _column("i"), _literal(None, "integer")), []),
    (_op("not", _op("=", _column("i"), _literal(None, "integer"))), []),
    (_op("in", _column("i"), _literal(2, "integer"), _literal(None, "integer")), [1]),
    (_op("not", _op("in", _column("i"), _literal(2, "integer"))), [0]),
    (_op("not", _op("in", _column("i"), _literal(2, "integer"), _literal(None, "integer"))), []),
    (_op("is_null", _column("st", "y")), [1, 2]),
    (_op("is_not_null", _column("st")), [0, 1]),
    (_op("=", _column("l"), _literal("9007199254740993", "long")), [0]),
    (_op(">", _column("f"), _literal(1e30, "float")), [0]),
    (_op("=", _column("d"), _literal("NaN", "double")), [0]),
    (_op("<", _column("d"), _literal("NaN", "double")), [1]),
    (_op("=", _column("d"), _literal(0.0, "double")), [1]),
    (_op(">=", _column("n"), _literal("1.5", "decimal(10,2)")), [0]),
    (_op("=", _column("x"), _literal("AP8=", "binary")), [0]),
    (_op("<", _column("t"), _literal("1970-01-01", "date")), [1]),
    (_op("=", _column("ts"), _literal("2020-01-01T01:00:00Z", "timestamp")), [0]),
    (_op("starts_with", _column("s"), _literal("ab", "string")), [0]),
    (_op("starts_with", _column("s"), _literal("", "string")), [0, 1]),
    (_op("=", _column("s"), _literal("", "string")), [1]),
    (_op("and", _column("b"), _op("is_not_null", _column("i"))), [0]),
    (_op("or", _column("b"), _op("is_null", _column("i"))), [0, 2]),
    (_op(">", _literal(2, "integer"), _column("i")), [0]),
    (_op("<", _column("i"), _column("k")), []),
    ({"literal": True, "type": "boolean"}, [0, 1, 2]),
    (_literal(None, "boolean"), []),
]


@pytest.mark.parametrize(("tree", "expected"), TREES)
def test_a_tree_keeps_the_rows_for_which_it_is_true(
    root: Any, tree: dict[str, Any], expected: list[int]
) -> None:
    assert read_table(root, filter=tree, columns=["k"])["k"].to_pylist() == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("i = 1 OR i = 2", [0, 1]),
        ("NOT (i = 1)", [1]),
        ("i != 1", [1]),
        ("i <=> NULL", [2]),
        ("i IS NULL", [2]),
        ("i IS NOT NULL AND b", [0]),
        ("i IN (2, NULL)", [1]),
        ("i NOT IN (2)", [0]),
        ("i BETWEEN 2 AND 3", [1]),
        ("i > -1", [0, 1]),
        ("i < 3000000000", [0, 1]),
        ("l = 9007199254740993", [0]),
        ("d = CAST('NaN' AS DOUBLE)", [0]),
        ("n = 1.5", [0]),
        ("n < 1e0", [1]),
        ("s LIKE 'ab%'", [0]),
        ("startswith(s, 'ab')", [0]),
        ("`s` = 'abc'", [0]),
        ("b IS TRUE", [0]),
        ("b IS NOT TRUE", [1, 2]),
        ("t >= '2020-01-01'", [0]),
        ("t = DATE '1960-01-01'", [1]),
        ("ts > TIMESTAMP '2020-01-01 00:59:59.999999'", [0]),
        ("st.y = 1", [0]),
        ("TRUE", [0, 1, 2]),
        ("NULL", []),
    ],
)
def test_sql_text_keeps_the_rows_for_which_it_is_true(
    root: Any, sql: str, expected: list[int]
) -> None:
    assert read_table(root, filter=sql)["k"].to_pylist() == expected


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("i =", InvalidFilter),
        ("", InvalidFilter),
        ("i", InvalidFilter),
        ("s > 1", InvalidFilter),
        ("i = 'x'", InvalidFilter),
        ("st = 1", InvalidFilter),
        ("nope = 1", UnknownColumn),
        ("st.nope = 1", UnknownColumn),
        ("i + 1 = 2", UnsupportedExpression),
        ("s LIKE '%a'", UnsupportedExpression),
        ("i IN (SELECT 1)", UnsupportedExpression),
        ("SELECT 1", UnsupportedExpression),
        ("n = 1" + "0" * 40 + ".5", UnsupportedExpression),
        (_column(), InvalidFilter),
        (_op("xor", _column("b"), _column("b")), InvalidFilter),
        (_op("and"), InvalidFilter),
        (_op("and", _column("i")), InvalidFilter),
        (_op("=", _op("not", _column("b")), _column("b")), InvalidFilter),
        (_op("in", _column("i"), _column("i")), InvalidFilter),
        (_op("starts_with", _column("i"), _literal("a", "string")), InvalidFilter),
        (_op("=", _column("t"), _literal("1970-02-30", "date")), InvalidFilter),
        (_op("=", _column("i"), _literal(1, "quantum")), InvalidFilter),
        (_op("=", _column("i"), _literal(1, ["long"])), InvalidFilter),
        ({"op": "=", "args": 3}, InvalidFilter),
    ],
)
def test_what_is_no_filter_is_refused(root: Any, given: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_table(root, filter=given)


@pytest.mark.parametrize(
    ("text", "value", "name"),
    [
        ("'back\\\\slash'", "back\\slash", "string"),
        ("'it\\'s'", "it's", "string"),
        ("X'6162'", "YWI=", "binary"),
        ("X'6'", "Bg==", "binary"),
        ("CAST('ab' AS BINARY)", "YWI=", "binary"),
        ("9223372036854775807", "9223372036854775807", "long"),
        ("9223372036854775808", "9223372036854775808", "decimal(19,0)"),
    ],
)
def test_a_literal_has_the_value_that_spark_sql_gives_it(text: str, value: str, name: str) -> None:
    assert parse_predicate(f"c = {text}")["args"][1] == {"literal": value, "type": name}


def test_nesting_is_bounded(root: Any) -> None:
    tree = _column("b")
    for _ in range(5_000):
        tree = _op("not", tree)
    with pytest.raises(InvalidFilter):
        read_table(root, filter=tree)
    with pytest.raises(LimitExceeded):
        parse_predicate("NOT " * 20_000 + "b")


def test_a_filter_may_look_at_columns_that_are_not_given(root: Any) -> None:
    found = read_table(root, filter="i = 2", columns=["s"])
    assert found.to_pydict() == {"s": [""]}


@pytest.mark.parametrize("value", [0.1 + 2**-56, 0.10000000149011612, 1 / 3, 1.0e-7, 123456.789])
def test_a_decimal_literal_is_compared_as_the_nearest_double(table: Any, value: float) -> None:
    table.create([("d", "double")])
    table.commit(table.add(pa.table({"d": [value, 0.0]})))
    assert read_table(table.root, filter=f"d = {Number(repr(value)):f}").num_rows == 1
