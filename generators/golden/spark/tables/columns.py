"""Spark tables about columns: mapping, widening, evolution, and features for writers only."""

from __future__ import annotations

from typing import Any

from generators.golden.cases.case import CaseWriter
from generators.golden.spark.definition import SparkCase, Write, spark_case
from generators.golden.spark.table import SparkTable
from generators.oracle.delta_schema import Struct, field, struct

_CREATE = (
    "CREATE TABLE {table} (id BIGINT, name STRING, part INT) USING delta PARTITIONED BY (part) "
)
_START = struct(id="long", name="string", part="integer")
_RENAMED = struct(id="long", label="string", part="integer")
_DROPPED = _RENAMED.without("label")
_READDED = Struct((*_DROPPED, field("name", "string")))


def _mapped(mode: str) -> Write:
    def write(_case: CaseWriter, table: SparkTable) -> None:
        table.run(_CREATE + f"TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}')", _START, [])
        first: list[dict[str, Any]] = [
            {"id": 1, "name": "a", "part": 1},
            {"id": 2, "name": None, "part": None},
        ]
        table.append(_START, first, first, partition_by=["part"])
        rows = [{"id": row["id"], "label": row["name"], "part": row["part"]} for row in first]
        table.run("ALTER TABLE {table} RENAME COLUMN name TO label", _RENAMED, rows)
        third = {"id": 3, "label": "c", "part": 1}
        table.append(_RENAMED, [third], [*rows, third], partition_by=["part"])
        rows = [{"id": row["id"], "part": row["part"]} for row in (*rows, third)]
        table.run("ALTER TABLE {table} DROP COLUMN label", _DROPPED, rows)
        table.run("ALTER TABLE {table} ADD COLUMN (name STRING)", _READDED, rows)
        fourth = {"id": 4, "part": 2, "name": "d"}
        table.append(_READDED, [fourth], [*rows, fourth], partition_by=["part"])
        table.publish()

    return write


@spark_case("type-widening/spark-integers", "TW-012", ("typeWidening",), ("upstream",))
def _widened(_case: CaseWriter, table: SparkTable) -> None:
    """Files that Spark wrote before a widening read in the wide type."""
    narrow = struct(id="integer", small="byte")
    middle = struct(id="long", small="byte")
    wide = struct(id="long", small="integer")
    table.run(
        "CREATE TABLE {table} (id INT, small TINYINT) USING delta "
        "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        narrow,
        [],
    )
    first: list[dict[str, Any]] = [{"id": -(2**31), "small": -128}, {"id": 2**31 - 1, "small": 127}]
    table.append(narrow, first, first)
    table.run("ALTER TABLE {table} ALTER COLUMN id TYPE BIGINT", middle, first)
    table.run("ALTER TABLE {table} ALTER COLUMN small TYPE INT", wide, first)
    second: list[dict[str, Any]] = [{"id": 2**62, "small": 2**30}, {"id": None, "small": None}]
    table.append(wide, second, first + second)
    table.publish()


@spark_case("data-files/spark-evolved-schema", "WCON-004")
def _evolved(_case: CaseWriter, table: SparkTable) -> None:
    """Columns and nested fields that old Spark files lack read as null."""
    old = struct(id="long", s=struct(a="integer"))
    new = struct(id="long", s=struct(a="integer", b="string"), extra="double")
    first: list[dict[str, Any]] = [{"id": 1, "s": {"a": 1}}, {"id": 2, "s": None}]
    table.append(old, first, first)
    second: list[dict[str, Any]] = [{"id": 3, "s": {"a": None, "b": "b"}, "extra": 1.5}]
    table.append(new, second, first + second, options={"mergeSchema": "true"})
    table.publish()


@spark_case("table-features/spark-writer-features", "DFT-004")
def _writer_features(_case: CaseWriter, table: SparkTable) -> None:
    """Generated, default, identity and checked columns read plainly."""
    schema = struct(id="long", twice="long", label="string", number="long")
    table.run(
        "CREATE TABLE {table} (id BIGINT, twice BIGINT GENERATED ALWAYS AS (id * 2), "
        "label STRING DEFAULT 'none', "
        "number BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY -5)) USING delta "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
        schema,
        [],
    )
    table.run("ALTER TABLE {table} ADD CONSTRAINT positive CHECK (id > 0)", schema, [])
    row = {"id": 7, "twice": 14, "label": "none", "number": 10}
    table.run("INSERT INTO {table} (id) VALUES (7)", schema, [row])
    table.publish()


TABLES = (
    SparkCase(
        "column-mapping/spark-name-rename-drop-readd",
        "In mode name a column added again does not show the old data",
        "CM-029 CM-030 CM-031",
        _mapped("name"),
        ("columnMapping",),
    ),
    SparkCase(
        "column-mapping/spark-id-rename-drop-readd",
        "In mode id a column added again does not show the old data",
        "CM-025 CM-026 CM-028",
        _mapped("id"),
        ("columnMapping",),
    ),
    _widened,
    _evolved,
    _writer_features,
)
