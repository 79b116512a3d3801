"""Whatever the rows are, order never matters and one changed cell always does."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.judging.compare import compare_rows

_LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats()),
    (pa.decimal128(20, 3), st.decimals(-(10**9), 10**9, places=3, allow_nan=False)),
    (pa.string(), st.text(st.characters(codec="utf-8"))),
    (pa.binary(), st.binary()),
    (pa.bool_(), st.booleans()),
    (pa.date32(), st.dates(date(1, 1, 1))),
    (pa.timestamp("us", tz="UTC"), st.datetimes(timezones=st.just(UTC))),
    (pa.timestamp("us"), st.datetimes()),
]


def _typed(
    leaves: list[tuple[pa.DataType, st.SearchStrategy[Any]]],
) -> st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]]:
    def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.none() | values

    def nest(
        inner: st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]],
    ) -> st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]]:
        lists = inner.map(lambda t: (pa.list_(t[0]), st.lists(nullable(t[1]), max_size=3)))
        structs = st.tuples(inner, inner).map(
            lambda pair: (
                pa.struct([("x", pair[0][0]), ("y", pair[1][0])]),
                st.fixed_dictionaries({"x": nullable(pair[0][1]), "y": nullable(pair[1][1])}),
            )
        )
        maps = inner.map(
            lambda t: (
                pa.map_(pa.string(), t[0]),
                st.dictionaries(st.text("ab", max_size=2), nullable(t[1]), max_size=3).map(
                    lambda entries: list(entries.items())
                ),
            )
        )
        return lists | structs | maps

    return st.recursive(st.sampled_from(leaves), nest, max_leaves=3)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Schema, list[dict[str, Any]]]:
    columns = draw(st.lists(_typed(_LEAVES), min_size=1, max_size=4))
    schema = pa.schema([(f"c{index}", kind) for index, (kind, _) in enumerate(columns)])
    cells = st.fixed_dictionaries(
        {f"c{index}": st.none() | values for index, (_, values) in enumerate(columns)}
    )
    return schema, draw(st.lists(cells, max_size=8))


def _changed(value: Any) -> Any:
    """Return a value that differs as little as its type allows."""
    if value is None:
        raise AssertionError("the caller gives null its own change")
    steps: dict[type, Callable[[Any], Any]] = {
        bool: lambda v: not v,
        int: lambda v: v - 1 if v > 0 else v + 1,
        float: lambda v: 1.0 if math.isnan(v) else None,
        Decimal: lambda v: v + Decimal("0.001"),
        str: lambda v: v + " ",
        bytes: lambda v: v + b"\0",
        datetime: lambda v: v.replace(microsecond=v.microsecond ^ 1),
        date: lambda v: v.replace(year=v.year % 9999 + 1, day=1),
        dict: lambda _: None,
        list: lambda v: v[1:] if v else None,
    }
    return steps[type(value)](value)


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(tables(), st.randoms(use_true_random=False))
def test_a_permutation_is_equal(table: tuple[pa.Schema, list[dict[str, Any]]], random: Any) -> None:
    schema, rows = table
    shuffled, fields = list(rows), list(schema)
    random.shuffle(shuffled)
    random.shuffle(fields)
    expected = pa.Table.from_pylist(rows, schema)
    actual = pa.Table.from_pylist(shuffled, pa.schema(fields))
    assert compare_rows(expected, actual) is None


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(tables().filter(lambda table: bool(table[1])), st.data())
def test_one_changed_cell_is_a_difference(
    table: tuple[pa.Schema, list[dict[str, Any]]], data: st.DataObject
) -> None:
    schema, rows = table
    index = data.draw(st.integers(0, len(rows) - 1))
    filled = [name for name, value in rows[index].items() if value is not None]
    expected = pa.Table.from_pylist(rows, schema)
    if not filled:
        assert compare_rows(expected, expected.slice(1)) is not None
        return
    name = data.draw(st.sampled_from(filled))
    changed = [dict(row) for row in rows]
    changed[index][name] = _changed(changed[index][name])
    found = compare_rows(expected, pa.Table.from_pylist(changed, schema))
    assert found is not None
    assert found.reason == "rows"


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(tables().filter(lambda table: bool(table[1])), st.data())
def test_one_doubled_row_is_a_difference(
    table: tuple[pa.Schema, list[dict[str, Any]]], data: st.DataObject
) -> None:
    schema, rows = table
    expected = pa.Table.from_pylist(rows, schema)
    doubled = pa.Table.from_pylist([*rows, data.draw(st.sampled_from(rows))], schema)
    assert compare_rows(expected, doubled) is not None
