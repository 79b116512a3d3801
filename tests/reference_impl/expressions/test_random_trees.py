"""Random expressions, written as SQL and evaluated, give what a plain evaluator gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reference_impl.expressions.sql import conjuncts, parse_expression
from reference_impl.types.arrow import from_arrow

ROWS: list[dict[str, Any]] = [
    {"a": 1, "b": True, "s": "x"},
    {"a": None, "b": None, "s": None},
    {"a": -3, "b": False, "s": "yx%"},
    {"a": 0, "b": True, "s": ""},
]
TABLE = pa.Table.from_pylist(
    ROWS, pa.schema([("a", pa.int64()), ("b", pa.bool_()), ("s", pa.string())])
)
SCHEMA = from_arrow(TABLE.schema)
Row = dict[str, Any]
Tree = tuple[str, Callable[[Row], Any]]
"""The text of an expression, and what gives its value on a row."""


def _strict(work: Callable[..., Any], *parts: Callable[[Row], Any]) -> Callable[[Row], Any]:
    """Return what is null where a part is."""

    def value(row: Row) -> Any:
        values = [part(row) for part in parts]
        return None if None in values else work(*values)

    return value


def _and(left: Any, right: Any) -> Any:
    if False in (left, right):
        return False
    return None if None in (left, right) else True


def _or(left: Any, right: Any) -> Any:
    negated = _and(_not(left), _not(right))
    return _not(negated)


def _not(value: Any) -> Any:
    return None if value is None else not value


def _column(name: str) -> Tree:
    return name, lambda row: row[name]


def _constant(text: str, value: Any) -> Tree:
    return text, lambda _: value


def _leaf(name: str, *constants: Tree) -> st.SearchStrategy[Tree]:
    return st.sampled_from([_column(name), *constants])


def _arithmetic(sign: str, left: Tree, right: Tree) -> Tree:
    work = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[sign]
    return f"({left[0]} {sign} {right[0]})", _strict(work, left[1], right[1])


def _compared(sign: str, left: Tree, right: Tree) -> Tree:
    work: Callable[[Any, Any], Any] = {
        "=": lambda x, y: x == y,
        "<>": lambda x, y: x != y,
        "<": lambda x, y: x < y,
        ">=": lambda x, y: x >= y,
    }[sign]
    return f"{left[0]} {sign} {right[0]}", _strict(work, left[1], right[1])


def _case(condition: Tree, then: Tree, otherwise: Tree) -> Tree:
    text = f"CASE WHEN {condition[0]} THEN {then[0]} ELSE {otherwise[0]} END"
    return text, lambda row: (then if condition[1](row) else otherwise)[1](row)


def _logic(word: str, left: Tree, right: Tree) -> Tree:
    work = _and if word == "AND" else _or
    return f"({left[0]} {word} {right[0]})", lambda row: work(left[1](row), right[1](row))


def _first(left: Tree, right: Tree) -> Tree:
    def value(row: Row) -> Any:
        found = left[1](row)
        return right[1](row) if found is None else found

    return f"coalesce({left[0]}, {right[0]})", value


def _numbers(deeper: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.builds(_arithmetic, st.sampled_from("+-*"), deeper, deeper),
        st.builds(_first, deeper, deeper),
        st.builds(lambda x: (f"- {x[0]}", _strict(int.__neg__, x[1])), deeper),
        st.builds(lambda x: (f"abs({x[0]})", _strict(abs, x[1])), deeper),
    )


NUMBERS = st.recursive(
    _leaf("a", _constant("2", 2), _constant("-1", -1), _constant("NULL::bigint", None)),
    _numbers,
    max_leaves=5,
)
TEXTS = st.recursive(
    _leaf("s", _constant("'x'", "x"), _constant("'%\\'\\n'", "%'\n")),
    lambda deeper: st.one_of(
        st.builds(
            lambda x, y: (f"concat({x[0]}, {y[0]})", _strict(str.__add__, x[1], y[1])),
            deeper,
            deeper,
        ),
        st.builds(lambda x: (f"upper({x[0]})", _strict(str.upper, x[1])), deeper),
        st.builds(_first, deeper, deeper),
    ),
    max_leaves=4,
)
SIGNS = st.sampled_from(["=", "<>", "<", ">="])
CONDITIONS = st.recursive(
    st.one_of(
        _leaf("b", _constant("TRUE", True), _constant("CAST(NULL AS BOOLEAN)", None)),  # noqa: FBT003  a value
        st.builds(_compared, SIGNS, NUMBERS, NUMBERS),
        st.builds(_compared, SIGNS, TEXTS, TEXTS),
        st.builds(lambda x: (f"{x[0]} IS NULL", lambda row: x[1](row) is None), NUMBERS),
        st.builds(
            lambda x: (f"{x[0]} LIKE 'x%'", _strict(lambda v: v.startswith("x"), x[1])), TEXTS
        ),
        st.builds(lambda x: (f"{x[0]} IN (1, -3)", _strict(lambda v: v in (1, -3), x[1])), NUMBERS),
        st.builds(
            lambda x: (f"{x[0]} BETWEEN -1 AND 1", _strict(lambda v: -1 <= v <= 1, x[1])), NUMBERS
        ),
    ),
    lambda deeper: st.one_of(
        st.builds(_logic, st.sampled_from(["AND", "OR"]), deeper, deeper),
        st.builds(lambda x: (f"(NOT {x[0]})", lambda row: _not(x[1](row))), deeper),
    ),
    max_leaves=6,
)
TREES = st.one_of(NUMBERS, TEXTS, CONDITIONS, st.builds(_case, CONDITIONS, NUMBERS, NUMBERS))
QUICK = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@QUICK
@given(TREES)
def test_an_expression_gives_what_its_parts_say(tree: Tree) -> None:
    text, value = tree
    found = parse_expression(text, SCHEMA).evaluate(TABLE).to_pylist()
    assert found == [value(row) for row in ROWS], text


@QUICK
@given(CONDITIONS)
def test_a_conjunction_is_true_where_its_parts_are(tree: Tree) -> None:
    text, value = tree
    parts = [parse_expression(part, SCHEMA).evaluate(TABLE).to_pylist() for part in conjuncts(text)]
    whole = [all(part[at] is True for part in parts) for at in range(len(ROWS))]
    assert whole == [value(row) is True for row in ROWS], text
