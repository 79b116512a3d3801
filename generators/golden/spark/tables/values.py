"""Spark tables about values: every type at its extremes, and partitioning by many of them."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal as DecimalValue
from typing import Any

from generators.golden.cases.case import REVISIONS, CaseWriter
from generators.golden.spark.definition import spark_case
from generators.golden.spark.table import SparkTable
from generators.oracle.delta_schema import array, decimal, map_of, struct

_TYPES = struct(
    id="long",
    flag="boolean",
    tiny="byte",
    small="short",
    whole="integer",
    single="float",
    twice="double",
    money=decimal(9, 2),
    wide=decimal(38, 10),
    text="string",
    bytes="binary",
    day="date",
    at="timestamp",
)
_ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "flag": True,
        "tiny": -128,
        "small": -32768,
        "whole": -2147483648,
        "single": float("-inf"),
        "twice": math.nan,
        "money": DecimalValue("-9999999.99"),
        "wide": DecimalValue("-9999999999999999999999999999.9999999999"),
        "text": "",
        "bytes": b"",
        "day": date(1583, 1, 1),
        "at": datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    },
    {
        "id": 2,
        "flag": False,
        "tiny": 127,
        "small": 32767,
        "whole": 2147483647,
        "single": 0.5,
        "twice": 1.7976931348623157e308,
        "money": DecimalValue("9999999.99"),
        "wide": DecimalValue("0.0000000001"),
        "text": "Zürich 🦢 \u0000\n\"'\\",
        "bytes": b"\x00\xff",
        "day": date(9999, 12, 31),
        "at": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    },
    {"id": 3},
]


@spark_case("parquet-type-mappings/spark-primitives", "PQ-001", revisions=REVISIONS)
def _types(_case: CaseWriter, table: SparkTable) -> None:
    """Spark's files of every primitive read as the values put in."""
    table.append(_TYPES, _ROWS[:2], _ROWS[:2])
    table.append(_TYPES, _ROWS[2:], _ROWS)
    table.publish()


_NESTED = struct(
    id="long",
    list=array("integer"),
    lists=array(array("string")),
    map=map_of("string", "double"),
    point=struct(x="integer", deep=struct(y="string")),
    points=array(struct(x="integer")),
)
_NESTED_ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "list": [1, None, 3],
        "lists": [["a"], [], None],
        "map": {"a": 1.0, "b": None},
        "point": {"x": 1, "deep": {"y": "deep"}},
        "points": [{"x": 1}, None, {"x": None}],
    },
    {"id": 2, "list": [], "lists": [], "map": {}, "point": {"x": None, "deep": None}, "points": []},
    {"id": 3},
]


@spark_case("parquet-type-mappings/spark-nested", "PQ-001", revisions=REVISIONS)
def _nested(_case: CaseWriter, table: SparkTable) -> None:
    """Spark's nested columns keep nulls apart from empty values."""
    table.append(_NESTED, _NESTED_ROWS, _NESTED_ROWS)
    table.publish()


_NTZ = struct(id="long", local="timestamp_ntz")
_NTZ_ROWS: list[dict[str, Any]] = [
    {"id": 1, "local": datetime.fromisoformat("1969-12-31T23:20:57.657658")},
    {"id": 2, "local": datetime.fromisoformat("2024-03-31T02:30:00")},
    {"id": 3, "local": None},
]


@spark_case("timestamp-ntz/spark-partitioned", "NTZ-001 SCH-018", ("timestampNtz",))
def _ntz(_case: CaseWriter, table: SparkTable) -> None:
    """Spark's zone-less partition values show the same in every zone."""
    table.append(_NTZ, _NTZ_ROWS, _NTZ_ROWS, partition_by=["local"])
    table.publish()


_PARTS = struct(
    id="long", text="string", day="date", at="timestamp", money=decimal(10, 2), flag="boolean"
)
_PART_ROWS: list[dict[str, Any]] = [
    {
        "id": number,
        "text": text,
        "day": date(1969, 12, 31),
        "at": datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        "money": DecimalValue("-0.50"),
        "flag": True,
    }
    for number, text in enumerate(
        ["plain", "a b", "a/b", "a%20b", "a=b", "é", "a:b", "a?b#c", "100%", "a+b", "[x]", "'q'"]
    )
] + [{"id": 99}]


@spark_case("partition-value-serialization/spark-many-columns", "PART-001 ADD-003")
def _partitions(_case: CaseWriter, table: SparkTable) -> None:
    """Spark's partition values and encoded paths read as put in."""
    by = ["text", "day", "at", "money", "flag"]
    table.append(_PARTS, _PART_ROWS, _PART_ROWS, partition_by=by)
    table.publish()


TABLES = (_types, _nested, _ntz, _partitions)
