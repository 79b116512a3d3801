"""Partition values: every type, both ways, and through a table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import read_table
from reference_impl.errors import InvalidMetadata, InvalidPartitionValue
from reference_impl.model.partition_values import format_value, parse_value
from reference_impl.types.schema import parse_type

CASES: list[tuple[str, str, Any]] = [
    ("string", "a/b c%20é", "a/b c%20é"),
    ("byte", "-128", -128),
    ("short", "32767", 32767),
    ("integer", "-2147483648", -(2**31)),
    ("long", "9223372036854775807", 2**63 - 1),
    ("float", "1.5", 1.5),
    ("double", "1.0E22", 1e22),
    ("double", "Infinity", float("inf")),
    ("double", "-inf", float("-inf")),
    ("boolean", "true", True),
    ("boolean", "false", False),
    ("decimal(10,2)", "1.50", Number("1.50")),
    ("decimal(10,2)", "1.5", Number("1.50")),
    ("decimal(10,2)", "1E+2", Number("100.00")),
    ("decimal(38,0)", "-" + "9" * 38, Number("-" + "9" * 38)),
    ("date", "0001-01-01", date(1, 1, 1)),
    ("date", "9999-12-31", date(9999, 12, 31)),
    ("timestamp", "1970-01-01 00:00:00", datetime(1970, 1, 1, tzinfo=UTC)),
    ("timestamp", "1969-12-31 23:59:59.999999", datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
    ("timestamp", "1970-01-01T00:00:00.123456Z", datetime(1970, 1, 1, 0, 0, 0, 123456, UTC)),
    ("timestamp", "1970-01-01T01:00:00+01:00", datetime(1970, 1, 1, tzinfo=UTC)),
    ("timestamp_ntz", "0001-01-01 00:00:00", datetime(1, 1, 1)),  # noqa: DTZ001  no zone
    ("timestamp_ntz", "1969-12-31 23:20:57.657658", datetime(1969, 12, 31, 23, 20, 57, 657658)),  # noqa: DTZ001  no zone
    ("binary", "\x01\x02\x03", b"\x01\x02\x03"),
    ("binary", "\x00\xff", b"\x00\xff"),
    ("binary", "\\u0000\\u00FF", b"\x00\xff"),
    ("binary", "\\u005C\\u0075\\u0030\\u0030\\u0034\\u0031", b"\\u0041"),
    ("binary", "日", "日".encode()),
]


@pytest.mark.parametrize(("name", "text", "value"), CASES)
def test_a_value_is_parsed(name: str, text: str, value: Any) -> None:
    assert parse_value(text, parse_type(name), column="c") == value


@pytest.mark.parametrize(("name", "text", "value"), CASES)
def test_a_written_value_reads_back(name: str, text: str, value: Any) -> None:  # noqa: ARG001  one table
    written = format_value(value, parse_type(name))
    assert parse_value(written, parse_type(name), column="c") == value


@pytest.mark.parametrize(("name", "text", "value"), CASES)
def test_a_table_gives_the_value(table: Any, name: str, text: str, value: Any) -> None:
    table.create([("p", name), ("v", "long")], partition=["p"], features=_features(name))
    rows = pa.table({"v": [1, 2]})
    table.commit(
        table.add(rows, partitionValues={"p": text}),
        table.add(rows, partitionValues={"p": None}),
        table.add(rows, partitionValues={"p": ""}),
    )
    assert read_table(table.root)["p"].to_pylist() == [value, value, None, None, None, None]


def _features(name: str) -> tuple[str, ...]:
    return ("timestampNtz",) if name == "timestamp_ntz" else ()


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("timestamp", datetime(1970, 1, 1, tzinfo=UTC), "1970-01-01T00:00:00.000000Z"),
        ("timestamp_ntz", datetime(1970, 1, 1), "1970-01-01 00:00:00"),  # noqa: DTZ001  no zone
        ("double", float("nan"), "NaN"),
        ("double", float("-inf"), "-Infinity"),
        ("double", 1e22, "1E22"),
        ("float", 0.1, "0.1"),
        ("decimal(10,2)", Number("-0.05"), "-0.05"),
        ("decimal(10,2)", Number(100), "100.00"),
        ("boolean", True, "true"),
        ("string", "", None),
        ("binary", b"", None),
        ("long", None, None),
    ],
)
def test_a_value_is_spelt_by_the_text(name: str, value: Any, text: str | None) -> None:
    assert format_value(value, parse_type(name)) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("byte", "128"),
        ("integer", "1.0"),
        ("integer", "0x10"),
        ("long", "9223372036854775808"),
        ("long", "٣"),
        ("double", "1,5"),
        ("double", "1_0"),
        ("boolean", "1"),
        ("decimal(4,2)", "100.00"),
        ("decimal(4,2)", "1.234"),
        ("decimal(4,2)", "NaN"),
        ("decimal(4,2)", "٣"),
        ("decimal(4,2)", "1e999999999"),
        ("date", "1970-02-29"),
        ("date", "1970-13-01"),
        ("date", "70-01-01"),
        ("timestamp", "1970-01-01 25:00:00"),
        ("timestamp", "1970-01-01 00:00:00.1234567"),
        ("timestamp", "yesterday"),
        ("timestamp", "1970-01-01T00:00:00+99:99"),
        ("timestamp", "1970-01-01T00:00:00-24:00"),
        ("timestamp_ntz", "1970-01-01T00:00:00Z"),
    ],
)
def test_what_spells_no_value_is_refused(table: Any, name: str, text: str) -> None:
    table.create([("p", name), ("v", "long")], partition=["p"], features=_features(name))
    table.commit(table.add(pa.table({"v": [1]}), partitionValues={"p": text}))
    with pytest.raises(InvalidPartitionValue, match="'p'"):
        read_table(table.root)


def test_the_value_comes_from_the_log_and_not_from_directory_or_file(table: Any) -> None:
    table.create([("p", "integer"), ("v", "long")], partition=["p"])
    rows = pa.table({"p": pa.array([8], pa.int32()), "v": [1]})
    table.commit(table.add(rows, "p=9/f.parquet", partitionValues={"p": "7"}))
    assert read_table(table.root).to_pylist() == [{"p": 7, "v": 1}]


def test_a_partition_column_keeps_its_place(table: Any) -> None:
    table.create([("a", "long"), ("p", "string"), ("b", "long")], partition=["p"])
    table.commit(table.add(pa.table({"b": [2], "a": [1]}), partitionValues={"p": "x"}))
    assert read_table(table.root).to_pydict() == {"a": [1], "p": ["x"], "b": [2]}


def test_a_missing_value_is_refused(table: Any) -> None:
    table.create([("p", "string"), ("v", "long")], partition=["p"])
    table.commit(table.add(pa.table({"v": [1]}), partitionValues={}))
    with pytest.raises(InvalidPartitionValue, match="'p'"):
        read_table(table.root)


def test_a_null_in_a_column_declared_not_null_is_refused(table: Any) -> None:
    field = {"name": "p", "type": "string", "nullable": False, "metadata": {}}
    table.create([field, ("v", "long")], partition=["p"])
    table.commit(table.add(pa.table({"v": [1]}), partitionValues={"p": None}))
    with pytest.raises(InvalidPartitionValue, match="not null"):
        read_table(table.root)


def test_only_partition_columns_are_read_without_data_columns(table: Any) -> None:
    table.create([("p", "string"), ("v", "long")], partition=["p"])
    table.commit(table.add(pa.table({"v": [1, 2, 3]}), partitionValues={"p": "x"}))
    assert read_table(table.root, columns=["p"]).to_pydict() == {"p": ["x", "x", "x"]}


def test_a_nested_column_cannot_partition(table: Any) -> None:
    nested = {"type": "array", "elementType": "long", "containsNull": True}
    table.create([("p", nested)], partition=["p"])
    table.commit(table.add(pa.table({"v": [1]}), partitionValues={"p": "x"}))
    with pytest.raises((InvalidMetadata, InvalidPartitionValue)):
        read_table(table.root)


def test_nan_is_a_value(table: Any, vector: Callable[..., Any]) -> None:
    table.create([("p", "float"), ("v", "long")], partition=["p"], features=["deletionVectors"])
    rows = pa.table({"v": [1, 2]})
    table.commit(table.add(rows, partitionValues={"p": "NaN"}, deletionVector=vector([0])))
    (value,) = read_table(table.root)["p"].to_pylist()
    assert value != value  # noqa: PLR0124  only NaN is not itself
