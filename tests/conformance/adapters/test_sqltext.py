"""Filter trees as SQL text, judged by an engine that runs the text."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from conformance.adapters.sql.text import (
    CLICKHOUSE,
    DATAFUSION,
    DUCKDB,
    SPARK,
    Dialect,
    FilterError,
    query,
    render,
)
from generators.oracle.filters import node

DIALECTS = (CLICKHOUSE, DATAFUSION, DUCKDB, SPARK)
PRIMITIVES = {
    "string": 'it\'s a \\ "name"',
    "byte": -128,
    "short": 32767,
    "integer": -2147483648,
    "long": "9223372036854775807",
    "float": 1.5,
    "double": -0.1,
    "boolean": True,
    "binary": "AQL/",
    "date": "0001-01-01",
    "timestamp": "1969-12-31T23:59:59.999999Z",
    "timestamp_ntz": "9999-12-31T23:59:59.999999",
    "decimal(38,10)": "-1234567890123456789012345678.0123456789",
}


def column(*parts: str) -> dict[str, Any]:
    return {"column": list(parts)}


def literal(value: Any, delta_type: str) -> dict[str, Any]:
    return {"literal": value, "type": delta_type}


def op(name: str, *arguments: Any) -> dict[str, Any]:
    return {"op": name, "args": list(arguments)}


def ask(tree: dict[str, Any], rows: pa.Table, dialect: Dialect = DUCKDB) -> list[Any]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", rows)
        # A table of DuckDB's own: over Arrow it leaves part of the filter to PyArrow.
        connection.execute("CREATE TABLE rows AS FROM given")
        text = query("rows", dialect, ["id"], tree)
        return sorted(row[0] for row in connection.execute(text).fetchall())


@pytest.mark.parametrize(("delta_type", "value"), PRIMITIVES.items(), ids=PRIMITIVES)
def test_a_literal_of_every_type_is_equal_to_itself_when_run(delta_type: str, value: Any) -> None:
    itself = op("=", literal(value, delta_type), literal(value, delta_type))
    assert ask(itself, pa.table({"id": [1]})) == [1]


@pytest.mark.parametrize("delta_type", PRIMITIVES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_spells_null_of_every_type(dialect: Any, delta_type: str) -> None:
    text = render(op("is_null", literal(None, delta_type)), dialect)
    assert text == f"(CAST(NULL AS {dialect.type_name(delta_type)}) IS NULL)"


@pytest.mark.parametrize(
    ("tree", "kept"),
    [
        (op("=", column("n"), literal("2", "long")), [2]),
        (op("<>", column("n"), literal("2", "long")), [1]),
        (op("<=", column("n"), literal("2", "long")), [1, 2]),
        (op("<=>", column("n"), literal(None, "long")), [3]),
        (op("in", column("n"), literal("1", "long"), literal("9", "long")), [1]),
        (op("in", column("n")), []),
        (op("not", op("in", column("n"))), [1, 2, 3]),
        (op("is_not_null", column("n")), [1, 2]),
        (op("not", op("=", column("n"), literal("2", "long"))), [1]),
        (op("or", op("is_null", column("n")), op("=", column("n"), literal("1", "long"))), [1, 3]),
        (
            op("and", op("is_not_null", column("n")), op(">", column("n"), literal("1", "long"))),
            [2],
        ),
        (op("starts_with", column('it\'s "odd"'), literal("a%", "string")), [1]),
        (op("=", column("st", "x y"), literal(7, "integer")), [2]),
    ],
)
def test_operators_keep_the_rows_for_which_they_are_true(
    tree: dict[str, Any], kept: list[int]
) -> None:
    rows = pa.table(
        {
            "id": [1, 2, 3],
            "n": [1, 2, None],
            'it\'s "odd"': ["a%b", "ab", None],
            "st": [{"x y": 1}, {"x y": 7}, None],
        }
    )
    assert ask(tree, rows) == kept


NUMBERS = (-1.0, -0.0, 0.0, 1.0, math.inf, math.nan, None)
RANKS = (-1, 0, 0, 1, 2, 3)
SIGNS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<=>": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(("probe", "rank"), [("0.0", 0), ("-0.0", 0), (1.0, 1), ("NaN", 3)])
@pytest.mark.parametrize("dialect", [DUCKDB, DATAFUSION])
def test_zeros_are_equal_and_nan_is_greatest(
    dialect: Dialect, probe: Any, rank: int, sign: str
) -> None:
    # DuckDB runs both: the types that this tree needs are spelled alike in the two dialects.
    rows = pa.table({"id": range(len(NUMBERS)), "x": pa.array(NUMBERS, from_pandas=False)})
    kept = [identity for identity, other in enumerate(RANKS) if SIGNS[sign](other, rank)]
    assert ask(op(sign, column("x"), literal(probe, "double")), rows, dialect) == kept


@pytest.mark.parametrize(
    ("sign", "probe", "text"),
    [
        (">", 1.0, "`x` > {1.0} OR isNaN(`x`)"),
        (">=", 0.0, "`x` >= {0.0} OR isNaN(`x`)"),
        ("<", "NaN", "NOT isNaN(`x`)"),
        ("=", "NaN", "isNaN(`x`)"),
        ("<", 1.0, "`x` < {1.0}"),
    ],
)
def test_floats_count_nan_as_greatest_in_the_ieee_dialect(sign: str, probe: Any, text: str) -> None:
    tree = op(sign, column("x"), literal(probe, "double"))
    casts = {f"{{{n}}}": f"CAST('{n}' AS Nullable(Float64))" for n in (0.0, 1.0)}
    for name, cast in casts.items():
        text = text.replace(name, cast)
    assert render(tree, CLICKHOUSE) == f"({text})"


def test_membership_is_equality_with_any_where_a_list_with_null_means_something_else() -> None:
    tree = op("in", column("x"), literal(1, "integer"), literal(None, "integer"))
    assert render(tree, CLICKHOUSE) == (
        "(`x` = CAST('1' AS Nullable(Int32)) OR `x` = CAST(NULL AS Nullable(Int32)))"
    )
    assert ask(op("not", tree), pa.table({"id": [1, 2], "x": [1, 2]})) == []


def test_a_float_literal_on_the_left_flips_the_sign() -> None:
    tree = op("<", literal(1.0, "double"), column("x"))
    assert render(tree, CLICKHOUSE) == render(
        op(">", column("x"), literal(1.0, "double")), CLICKHOUSE
    )


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (SPARK, "`a``b`.`c`"),
        (DUCKDB, '"a`b"."c"'),
        (DATAFUSION, "\"a`b\"['c']"),
        (CLICKHOUSE, "tupleElement(`a``b`, 'c')"),
    ],
)
def test_a_field_of_a_struct_is_spelled_as_the_dialect_has_it(dialect: Any, text: str) -> None:
    assert render(column("a`b", "c"), dialect) == text


def test_a_backslash_is_doubled_where_it_escapes() -> None:
    assert SPARK.string("a\\'b") == "'a\\\\\\'b'"
    assert DUCKDB.string("a\\'b") == "'a\\''b'"


@pytest.mark.parametrize(
    "tree", [{}, {"column": []}, {"op": "like", "args": []}, {"literal": 1}, {"op": "="}]
)
def test_what_is_no_node_is_refused(tree: dict[str, Any]) -> None:
    with pytest.raises(FilterError, match=r"docs/formats\.md"):
        render(tree, SPARK)


def test_a_column_of_a_merge_begins_with_its_side() -> None:
    sides = frozenset({"target", "source"})
    added = node("+", column("source", "n"), column("s", "n"))
    tree = node("=", column("target", "a b", "x"), added)
    quoted = """("target"."a b"['x'] = ("source"."n" + "s"['n']))"""
    assert render(tree, DATAFUSION, sides) == quoted
    assert render(tree, SPARK, sides) == "(`target`.`a b`.`x` = (`source`.`n` + `s`.`n`))"
