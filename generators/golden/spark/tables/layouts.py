"""Spark tables about the layout of the log: checkpoints of both specs, clustering, timestamps."""

from __future__ import annotations

from typing import Any

from generators.golden.cases.case import CaseWriter
from generators.golden.spark.definition import SparkCase, Write, spark_case
from generators.golden.spark.table import SparkTable
from generators.oracle.delta_schema import struct

_SCHEMA = struct(id="long", part="string")
_CREATE = "CREATE TABLE {table} (id BIGINT, part STRING) USING delta "


def _checkpointed(properties: str) -> Write:
    def write(_case: CaseWriter, table: SparkTable) -> None:
        table.run(_CREATE + f"PARTITIONED BY (part) TBLPROPERTIES ({properties})", _SCHEMA, [])
        rows: list[dict[str, Any]] = []
        for number, part in enumerate(("a", "b", None, "a")):
            new = {"id": number, "part": part}
            rows = [*rows, new]
            table.append(_SCHEMA, [new], rows, partition_by=["part"])
        table.run("DELETE FROM {table} WHERE part = 'b'", _SCHEMA, [rows[0], *rows[2:]])
        table.publish()

    return write


@spark_case("clustered-table/spark-clustered", "CLUS-001")
def _clustered(_case: CaseWriter, table: SparkTable) -> None:
    """A table that Spark clusters reads as if it were not."""
    table.run(_CREATE + "CLUSTER BY (id)", _SCHEMA, [])
    rows = [{"id": number, "part": f"p{number % 3}"} for number in range(20)]
    table.append(_SCHEMA, rows[:10], rows[:10])
    table.append(_SCHEMA, rows[10:], rows)
    table.run("OPTIMIZE {table}", _SCHEMA, rows)
    table.publish()


@spark_case("in-commit-timestamps/spark-enabled-at-creation", "ICT-014")
def _stamped(_case: CaseWriter, table: SparkTable) -> None:
    """A table with in-commit timestamps reads at every version."""
    table.run(_CREATE + "TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')", _SCHEMA, [])
    rows = [{"id": 1, "part": "a"}, {"id": 2, "part": "b"}]
    table.append(_SCHEMA, rows[:1], rows[:1])
    table.append(_SCHEMA, rows[1:], rows)
    table.publish()


_EVERY_TWO = "'delta.checkpointInterval' = '2'"

TABLES = (
    SparkCase(
        "checkpoints/spark-classic",
        "Spark's classic checkpoints give the versions they stand for",
        "CKPT-003 CKPT-004",
        _checkpointed(_EVERY_TWO),
    ),
    SparkCase(
        "checkpoints/spark-struct-statistics",
        "Checkpoints with statistics as a struct only give every file",
        "CKPT-003 CKC-011",
        _checkpointed(
            f"{_EVERY_TWO}, 'delta.checkpoint.writeStatsAsJson' = 'false', "
            "'delta.checkpoint.writeStatsAsStruct' = 'true'"
        ),
    ),
    SparkCase(
        "checkpoints/spark-v2",
        "Spark's V2 checkpoints give the versions they stand for",
        "CKPT-003 V2F-001",
        _checkpointed(f"{_EVERY_TWO}, 'delta.checkpointPolicy' = 'v2'"),
        ("v2Checkpoint",),
    ),
    _clustered,
    _stamped,
)
