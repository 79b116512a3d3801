"""Statistics that the writer leaves: bounds hold, and are there where they can be."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import profile

from reference_impl import Table
from reference_impl.write.statistics import PREFIX, upper_prefix

Actions = Callable[..., list[dict[str, Any]]]
LAST = chr(0x10FFFF)


@profile("gate")
@given(st.text(max_size=40))
def test_an_upper_prefix_is_no_less_than_the_text_and_short(text: str) -> None:
    bound = upper_prefix(text)
    if bound is None:
        assert text[:PREFIX] == LAST * PREFIX
        return
    assert len(bound) <= PREFIX
    assert bound.encode() >= text.encode()


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("a" * 33, "a" * 31 + "b"),
        ("a" * 31 + LAST + "b", "a" * 30 + "b"),
        ("a" * 31 + "\ud7ff" + "b", "a" * 31 + "\ue000"),
        ("a" * 31 + "😀😀", "a" * 31 + "😁"),
        (LAST * 33, None),
        ("a" * 32, "a" * 32),
    ],
)
def test_long_strings_are_raised_at_the_last_character_that_can_be(
    text: str, bound: str | None
) -> None:
    assert upper_prefix(text) == bound


def statistics(table: Table, actions: Actions, of: pa.DataType, values: list[Any]) -> Any:
    table.create(pa.schema([("a", of)]))
    table.append(pa.table({"a": pa.array(values, of)}))
    (add,) = actions(1, "add")
    document = json.loads(add["stats"], parse_float=Decimal)
    assert document["numRecords"] == len(values)
    assert document["nullCount"]["a"] == sum(value is None for value in values)
    return document["minValues"].get("a"), document["maxValues"].get("a")


UTC = pa.timestamp("us", tz="UTC")
LATE = dt.datetime(1969, 12, 31, 23, 59, 59, 999_001, tzinfo=dt.UTC)
CASES: dict[str, tuple[pa.DataType, list[Any], tuple[Any, Any]]] = {
    "integers": (pa.int64(), [3, None, -(2**63)], (-(2**63), 3)),
    "decimals keep every digit": (
        pa.decimal128(38, 10),
        [Decimal("1234567890123456789012345678.0123456789"), Decimal(0)],
        (Decimal("0.0000000000"), Decimal("1234567890123456789012345678.0123456789")),
    ),
    "NaN has no upper bound": (pa.float64(), [1.0, math.nan], (Decimal("1.0"), None)),
    "infinities have no JSON": (pa.float64(), [-math.inf, 1.0], (None, Decimal("1.0"))),
    "zeros have two signs": (pa.float32(), [0.0], (Decimal("-0.0"), Decimal("0.0"))),
    "instants are rounded outward": (
        UTC,
        [LATE],
        ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"),
    ),
    "local times have no zone": (
        pa.timestamp("us"),
        [LATE.replace(tzinfo=None, microsecond=0)],
        ("1969-12-31T23:59:59.000", "1969-12-31T23:59:59.000"),
    ),
    "dates": (pa.date32(), [dt.date(2024, 2, 29)], ("2024-02-29", "2024-02-29")),
    "binary has none": (pa.binary(), [b"x"], (None, None)),
    "nulls have none": (pa.int32(), [None, None], (None, None)),
    "strings are cut": (pa.string(), ["é" * 40], ("é" * 32, "é" * 31 + "ê")),
}


@pytest.mark.parametrize("name", CASES)
def test_bounds_of_a_file(
    table: Table, actions: Actions, clean: Callable[[], None], name: str
) -> None:
    of, values, expected = CASES[name]
    assert statistics(table, actions, of, values) == expected
    clean()


def test_columns_with_statistics_are_counted_from_the_left(table: Table, actions: Actions) -> None:
    schema = pa.schema(
        [("a", pa.int64()), ("s", pa.struct([("x", pa.int64()), ("y", pa.int64())]))]
    )
    table.create(schema, properties={"delta.dataSkippingNumIndexedCols": "2"})
    table.append(pa.table({"a": [1], "s": [{"x": 1, "y": 2}]}, schema=schema))
    document = json.loads(actions(1, "add")[0]["stats"])
    assert document["minValues"] == {"a": 1, "s": {"x": 1}}
    assert document["nullCount"] == {"a": 0, "s": {"x": 0}}


def test_columns_with_statistics_can_be_named(table: Table, actions: Actions) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    table.create(schema, properties={"delta.dataSkippingStatsColumns": "`b`"})
    table.append(pa.table({"a": [1], "b": [2]}))
    assert json.loads(actions(1, "add")[0]["stats"])["minValues"] == {"b": 2}
