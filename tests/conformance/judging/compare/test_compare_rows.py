"""The comparator distinguishes rows exactly where the protocol does, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from conformance.judging.compare import compare_rows, rows

UTC_MICROS = pa.timestamp("us", tz="UTC")
NAIVE_MICROS = pa.timestamp("us")
MOMENT = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)


def column(values: Sequence[object], data_type: pa.DataType, name: str = "c") -> pa.Table:
    return pa.table({name: pa.array(values, data_type)})


def decimals(*values: str, scale: int = 2) -> pa.Table:
    return column([Decimal(value) for value in values], pa.decimal128(20, scale))


SAME = {
    "rows in another order": (column([1, 2, 2], pa.int64()), column([2, 1, 2], pa.int64())),
    "columns in another order": (
        pa.table({"a": [1], "b": ["x"]}),
        pa.table({"b": ["x"], "a": [1]}),
    ),
    "integers of another width": (column([1, None], pa.int8()), column([1, None], pa.int64())),
    "floats in doubles": (
        column([0.1], pa.float32()),
        column([0.1], pa.float32()).cast(pa.schema([("c", pa.float64())])),
    ),
    "NaN and NaN": (column([float("nan")], pa.float64()), column([float("nan")], pa.float64())),
    "NaN inside a list": (
        column([[float("nan")]], pa.list_(pa.float64())),
        column([[float("nan")]], pa.list_(pa.float32())),
    ),
    "-0.0 and 0.0": (column([-0.0], pa.float64()), column([0.0], pa.float64())),
    "decimals of another scale with the value": (decimals("1.50"), decimals("1.5", scale=1)),
    "decimals of another precision": (
        column([Decimal("1.50")], pa.decimal128(3, 2)),
        column([Decimal("1.50")], pa.decimal256(60, 2)),
    ),
    "strings in other encodings": (
        column(["a", "", None], pa.string()),
        pa.table({"c": pa.array(["a", "", None], pa.large_string()).dictionary_encode()}),
    ),
    "string views": (column(["a", None], pa.string()), column(["a", None], pa.string_view())),
    "binary in other encodings": (
        column([b"\x00\xff"], pa.binary()),
        column([b"\x00\xff"], pa.binary(2)),
    ),
    "instants in milliseconds": (
        column([datetime(2024, 1, 1, tzinfo=UTC)], UTC_MICROS),
        column([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("ms", tz="UTC")),
    ),
    "instants in nanoseconds of another zone": (
        column([MOMENT], UTC_MICROS),
        column([MOMENT], pa.timestamp("ns", tz="Asia/Tokyo")),
    ),
    "zone-less times in seconds": (
        column([datetime(1969, 12, 31)], NAIVE_MICROS),  # noqa: DTZ001  zone-less on purpose
        column([datetime(1969, 12, 31)], pa.timestamp("s")),  # noqa: DTZ001  as above
    ),
    "dates in milliseconds": (
        column([date(1, 1, 1)], pa.date32()),
        column([date(1, 1, 1)], pa.date64()),
    ),
    "struct fields in another order": (
        column([{"a": 1, "b": None}], pa.struct([("a", pa.int32()), ("b", pa.string())])),
        column([{"b": None, "a": 1}], pa.struct([("b", pa.string()), ("a", pa.int64())])),
    ),
    "map entries in another order": (
        column([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.int32())),
        column([[("b", None), ("a", 1)]], pa.map_(pa.string(), pa.int32())),
    ),
    "lists of another layout": (
        column([[1, None], [], None], pa.list_(pa.int32())),
        column([[1, None], [], None], pa.large_list(pa.int64())),
    ),
    "lists of a fixed size": (
        column([[1, 2], None], pa.list_(pa.int32())),
        column([[1, 2], None], pa.list_(pa.int32(), 2)),
    ),
    "an extension type over its storage": (
        column(['{"a":1}'], pa.string()),
        pa.table(
            {"c": pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"a":1}']))}
        ),
    ),
    "no rows": (column([], pa.int32()), column([], pa.int64())),
    "rows without columns": (
        pa.table({"a": [1, 2]}).select([]),
        pa.table({"a": [3, 4]}).select([]),
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_equal_rows_have_no_difference(case: str) -> None:
    expected, actual = SAME[case]
    assert compare_rows(expected, actual) is None
    assert compare_rows(actual, expected) is None


A_MAP = pa.map_(pa.string(), pa.string())
A_STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])
NESTED = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(UTC_MICROS)))]))

OTHER = {
    "off by one microsecond": (
        column([MOMENT], UTC_MICROS),
        column([MOMENT.replace(microsecond=123457)], UTC_MICROS),
        "rows",
    ),
    "off by one nanosecond": (
        column([1_000], pa.timestamp("us", tz="UTC")),
        column([1_000_001], pa.timestamp("ns", tz="UTC")),
        "rows",
    ),
    "cut to milliseconds": (
        column([MOMENT], UTC_MICROS),
        column([MOMENT.replace(microsecond=123000)], pa.timestamp("ms", tz="UTC")),
        "rows",
    ),
    "zone-less for an instant": (
        column([datetime(2024, 1, 1)], UTC_MICROS),  # noqa: DTZ001  read as UTC by Arrow
        column([datetime(2024, 1, 1)], NAIVE_MICROS),  # noqa: DTZ001  zone-less on purpose
        "types",
    ),
    "date for a zone-less time": (
        column([datetime(2024, 1, 1)], NAIVE_MICROS),  # noqa: DTZ001  zone-less on purpose
        column([date(2024, 1, 1)], pa.date32()),
        "types",
    ),
    "part of a day for a date": (
        column([0], pa.date32()),
        column([1], pa.int64()).cast(pa.schema([("c", pa.date64())])),
        "rows",
    ),
    "empty string for null": (column([None], pa.string()), column([""], pa.string()), "rows"),
    "null for empty string": (column([""], pa.string()), column([None], pa.string()), "rows"),
    "null for NaN": (column([float("nan")], pa.float64()), column([None], pa.float64()), "rows"),
    "zero for null": (column([None], pa.int32()), column([0], pa.int32()), "rows"),
    "text for an integer": (column([7], pa.int32()), column(["7"], pa.string()), "types"),
    "text for a date": (
        column([date(2024, 1, 1)], pa.date32()),
        column(["2024-01-01"], pa.string()),
        "types",
    ),
    "double for an integer": (column([7], pa.int32()), column([7.0], pa.float64()), "types"),
    "double for a decimal": (decimals("1.50"), column([1.5], pa.float64()), "types"),
    "integer for a boolean": (column([True], pa.bool_()), column([1], pa.uint8()), "types"),
    "text for bytes": (column([b"a"], pa.binary()), column(["a"], pa.string()), "types"),
    "void for a string": (column([None], pa.string()), column([None], pa.null()), "types"),
    "an unknown type": (column([1], pa.int64()), column([1], pa.duration("us")), "types"),
    "a type of another element": (
        column([[1]], pa.list_(pa.int32())),
        column([["1"]], pa.list_(pa.string())),
        "types",
    ),
    "decimal rounded": (decimals("1.55"), decimals("1.6", scale=1), "rows"),
    "decimal with another digit": (decimals("0.10"), decimals("0.101", scale=3), "rows"),
    "next float": (column([0.1], pa.float64()), column([0.1 + 2**-55], pa.float64()), "rows"),
    "float cut to single": (column([0.1], pa.float64()), column([0.1], pa.float32()), "rows"),
    "long beyond double": (
        column([2**53 + 1], pa.int64()),
        column([2**53], pa.int64()),
        "rows",
    ),
    "trailing space": (column(["a"], pa.string()), column(["a "], pa.string()), "rows"),
    "another composition of é": (
        column(["\u00e9"], pa.string()),
        column(["e\u0301"], pa.string()),
        "rows",
    ),
    "trailing zero byte": (column([b"a"], pa.binary()), column([b"a\0"], pa.binary()), "rows"),
    "doubled row": (column([1, 2], pa.int64()), column([1, 2, 2], pa.int64()), "rows"),
    "row lost": (column([1, 2, 2], pa.int64()), column([1, 2], pa.int64()), "rows"),
    "one row doubled for another": (
        column([1, 1, 2], pa.int64()),
        column([1, 2, 2], pa.int64()),
        "rows",
    ),
    "no rows at all": (column([1], pa.int64()), column([], pa.int64()), "rows"),
    "null struct for a struct of nulls": (
        column([{"a": None, "b": None}], A_STRUCT),
        column([None], A_STRUCT),
        "rows",
    ),
    "null list for an empty list": (
        column([[]], pa.list_(pa.int32())),
        column([None], pa.list_(pa.int32())),
        "rows",
    ),
    "list with a null for an empty list": (
        column([[]], pa.list_(pa.int32())),
        column([[None]], pa.list_(pa.int32())),
        "rows",
    ),
    "list in another order": (
        column([[1, 2]], pa.list_(pa.int32())),
        column([[2, 1]], pa.list_(pa.int32())),
        "rows",
    ),
    "empty map for a null map": (column([None], A_MAP), column([[]], A_MAP), "rows"),
    "null value for a missing entry": (
        column([[]], A_MAP),
        column([[("a", None)]], A_MAP),
        "rows",
    ),
    "map entry doubled": (
        column([[("a", "x")]], A_MAP),
        column([[("a", "x"), ("a", "x")]], A_MAP),
        "rows",
    ),
    "deep inside": (
        column([[{"m": [("k", [MOMENT])]}]], NESTED),
        column([[{"m": [("k", [MOMENT.replace(microsecond=0)])]}]], NESTED),
        "rows",
    ),
    "struct fields swapped": (
        column([{"a": 1, "b": 2}], pa.struct([("a", pa.int32()), ("b", pa.int32())])),
        column([{"a": 2, "b": 1}], pa.struct([("a", pa.int32()), ("b", pa.int32())])),
        "rows",
    ),
    "struct field renamed": (
        column([{"a": 1}], pa.struct([("a", pa.int32())])),
        column([{"A": 1}], pa.struct([("A", pa.int32())])),
        "types",
    ),
    "values paired otherwise": (
        pa.table({"a": [1, 2], "b": ["x", "y"]}),
        pa.table({"a": [1, 2], "b": ["y", "x"]}),
        "rows",
    ),
    "column in another case": (
        column([1], pa.int64()),
        column([1], pa.int64(), name="C"),
        "columns",
    ),
    "column lost": (pa.table({"a": [1], "b": [1]}), pa.table({"a": [1]}), "columns"),
    "column added": (pa.table({"a": [1]}), pa.table({"a": [1], "b": [1]}), "columns"),
    "column doubled": (
        pa.table({"a": [1]}),
        pa.Table.from_arrays([pa.array([1]), pa.array([1])], names=["a", "a"]),
        "columns",
    ),
    "rows without columns counted": (
        pa.table({"a": [1, 2]}).select([]),
        pa.table({"a": [3]}).select([]),
        "rows",
    ),
}


@pytest.mark.parametrize("case", OTHER)
def test_other_rows_have_a_difference(case: str) -> None:
    expected, actual, reason = OTHER[case]
    found = compare_rows(expected, actual)
    assert found is not None
    assert found.reason == reason


@pytest.mark.parametrize("case", [name for name in OTHER if OTHER[name][2] == "rows"])
def test_a_difference_of_rows_is_seen_from_both_sides(case: str) -> None:
    expected, actual, _ = OTHER[case]
    assert compare_rows(actual, expected) is not None


def test_the_summary_names_counts_column_and_values() -> None:
    expected = pa.table({"id": [1, 2], "at": pa.array([MOMENT, MOMENT], UTC_MICROS)})
    actual = pa.table(
        {"id": [2, 1], "at": pa.array([MOMENT, MOMENT.replace(microsecond=123457)], UTC_MICROS)}
    )
    found = compare_rows(expected, actual)
    assert found is not None
    assert found.summary == (
        "rows: 1 missing and 1 extra of 2; column 'at' expected 2024-02-29 12:30:15.123456Z, "
        "got 2024-02-29 12:30:15.123457Z"
    )
    assert found.details == (
        "missing: at=2024-02-29 12:30:15.123456Z, id=1",
        "extra: at=2024-02-29 12:30:15.123457Z, id=1",
    )


def test_the_summary_does_not_depend_on_the_order_of_the_answer() -> None:
    expected = column(list(range(100)), pa.int64())
    wrong = [value + 1000 for value in range(100)]
    summaries = {
        compare_rows(expected, column(order, pa.int64())) for order in (wrong, wrong[::-1])
    }
    assert len(summaries) == 1


def test_slices_and_chunks_are_read_where_they_point() -> None:
    whole = pa.array([[{"m": [("k", [MOMENT])]}], None, [], [None]], NESTED)
    chunked = pa.table({"c": pa.chunked_array([whole.slice(0, 2), whole.slice(2)])})
    assert compare_rows(pa.table({"c": whole}), chunked) is None
    tail = pa.table({"c": whole.slice(1)})
    assert compare_rows(column([None, [], [None]], NESTED), tail) is None


def test_instants_outside_the_calendar_are_compared_and_written() -> None:
    expected, actual = (column([value], UTC_MICROS) for value in (2**62, 2**62 + 1))
    found = compare_rows(expected, actual)
    assert found is not None
    assert f"expected {2**62} µs since 1970" in found.summary


def test_strings_that_are_not_unicode_are_compared_as_bytes() -> None:
    def broken(data: bytes) -> pa.Table:
        raw = pa.array([data], pa.binary())
        text = pa.StringArray.from_buffers(1, raw.buffers()[1], raw.buffers()[2])
        return pa.table({"c": text})

    assert compare_rows(broken(b"\xff"), broken(b"\xff")) is None
    assert compare_rows(broken(b"\xff"), broken(b"\xfe")) is not None


def test_equal_tables_are_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken_apart(_column: object) -> list[object]:
        raise AssertionError("values were made of an equal column")

    monkeypatch.setattr(rows, "canonical_values", taken_apart)
    table = pa.table({"a": [1, None], "b": [{"c": [0.0]}, {"c": []}]})
    assert compare_rows(table, table.select(["b", "a"])) is None
    with pytest.raises(AssertionError):
        compare_rows(table, table.slice(1))
