"""The oracle's own evaluation of filter trees."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import profile

from generators.oracle.delta_schema import DataType, type_of
from generators.oracle.filters import FilterError, column, columns_of, evaluate, node, predicate_of
from generators.oracle.literals import decode, encode, literal
from generators.strategies import data_types, filters, rows, schemas, values

NAN = float("nan")
NULL = literal("long", None)


def number(value: float | None) -> dict[str, Any]:
    return literal("double", value)


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        ("=", 1.0, 1.0, True),
        ("=", None, 1.0, None),
        ("=", None, None, None),
        ("<>", 1.0, 2.0, True),
        ("<>", None, 2.0, None),
        ("<", 1.0, 2.0, True),
        (">=", 1.0, 2.0, False),
        ("<=>", None, None, True),
        ("<=>", None, 1.0, False),
        ("<=>", 1.0, 1.0, True),
        ("=", NAN, NAN, True),
        ("<=>", NAN, NAN, True),
        (">", NAN, float("inf"), True),
        ("<", 1.0, NAN, True),
        (">", 1.0, NAN, False),
        ("=", 0.0, -0.0, True),
        ("<", -0.0, 0.0, False),
    ],
)
def test_comparisons_follow_sql_and_order_nan_last(
    op: str, left: float | None, right: float | None, expected: object
) -> None:
    assert evaluate(node(op, number(left), number(right)), {}) is expected


TRUE, FALSE = node("is_null", NULL), node("is_not_null", NULL)
UNKNOWN = node("=", NULL, NULL)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (node("and", TRUE, UNKNOWN), None),
        (node("and", FALSE, UNKNOWN), False),
        (node("or", TRUE, UNKNOWN), True),
        (node("or", FALSE, UNKNOWN), None),
        (node("not", UNKNOWN), None),
        (node("not", TRUE), False),
        (node("in", literal("long", 1), literal("long", 1), NULL), True),
        (node("in", literal("long", 2), literal("long", 1), NULL), None),
        (node("in", literal("long", 2), literal("long", 1)), False),
        (node("in", NULL, literal("long", 1)), None),
        (node("starts_with", literal("string", "abc"), literal("string", "ab")), True),
        (node("starts_with", literal("string", None), literal("string", "")), None),
    ],
)
def test_three_valued_logic(tree: dict[str, Any], expected: object) -> None:
    assert evaluate(tree, {}) is expected


def test_a_row_is_kept_when_the_tree_is_true_and_not_when_it_is_null() -> None:
    tree = node(">", column("a"), literal("long", 1))
    kept = [row for row in ({"a": 2}, {"a": 1}, {"a": None}) if predicate_of(tree)(row)]
    assert kept == [{"a": 2}]
    assert not predicate_of(node("not", tree))({"a": None})


def test_a_nested_column_of_a_null_struct_is_null() -> None:
    tree = node("is_null", column("s", "x"))
    assert evaluate(tree, {"s": None}) is True
    assert evaluate(tree, {"s": {"x": 1}}) is False


def test_columns_of_names_the_top_level_columns() -> None:
    tree = node("and", node("=", column("a", "b"), NULL), node("is_null", column("c")))
    assert columns_of(tree) == {"a", "c"}


@pytest.mark.parametrize(
    "tree", [{}, {"op": "xor", "args": []}, {"column": []}, {"op": "and"}, {"literal": 1}]
)
def test_what_is_no_node_is_refused(tree: dict[str, Any]) -> None:
    with pytest.raises(FilterError, match="no node"):
        evaluate(tree, {})


def test_values_that_do_not_compare_are_refused() -> None:
    with pytest.raises(FilterError, match="do not compare"):
        evaluate(node("<", literal("string", "a"), literal("long", 1)), {})


@pytest.mark.parametrize(
    ("spelled", "value", "expected"),
    [
        ("long", 2**63 - 1, "9223372036854775807"),
        ("integer", 7, 7),
        ("decimal(5,2)", Decimal("1.50"), "1.50"),
        ("binary", b"\x00\xff", "AP8="),
        ("date", date(1, 1, 1), "0001-01-01"),
        ("timestamp", datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01T00:00:00.000000Z"),
        ("timestamp_ntz", datetime(2024, 1, 1), "2024-01-01T00:00:00.000000"),  # noqa: DTZ001  ntz
        ("double", float("-inf"), "-Infinity"),
        ("boolean", True, True),
        ("string", None, None),
    ],
)
def test_literals_are_spelled_as_the_formats_say(
    spelled: str, value: object, expected: object
) -> None:
    assert literal(spelled, value) == {"literal": expected, "type": spelled}
    assert decode(type_of(spelled), expected) == value


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[DataType, Any]:
    data_type = draw(data_types(max_depth=2))
    return data_type, draw(values(data_type, nan=False))


@profile("gate", examples=40)
@given(typed_values())
def test_values_survive_their_spelling(drawn: tuple[DataType, Any]) -> None:
    data_type, value = drawn
    assert decode(data_type, encode(data_type, value)) == value


@st.composite
def filtered_rows(draw: st.DrawFn) -> tuple[Any, Any]:
    schema = draw(schemas(primitives=("long", "string", "double"), max_depth=0))
    drawn = draw(rows(schema))
    return draw(filters(schema, rows=drawn)), drawn


@profile("gate", examples=40)
@given(filtered_rows())
def test_a_filter_its_negation_and_null_part_the_rows(drawn: tuple[Any, Any]) -> None:
    tree, table = drawn
    for row in table:
        verdict = evaluate(tree, row)
        assert verdict in (True, False, None)
        negated = evaluate(node("not", tree), row)
        assert negated is (None if verdict is None else not verdict)
