"""Spark tables about rows and files rewritten: merges, overwrites, purges, replaced tables."""

from __future__ import annotations

from typing import Any

from generators.golden.cases.case import CaseWriter
from generators.golden.spark.definition import spark_case
from generators.golden.spark.table import SparkTable
from generators.oracle.delta_schema import Struct, field, struct

_SCHEMA = struct(id="long", name="string", part="integer")
_CREATE = "CREATE TABLE {table} (id BIGINT, name STRING, part INT) USING delta "
_BY_PART = _CREATE + "PARTITIONED BY (part) "
_VECTORS = "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
_DV = ("deletionVectors",)


def _rows(*rows: tuple[int, str | None, int | None]) -> list[dict[str, Any]]:
    return [{"id": number, "name": name, "part": part} for number, name, part in rows]


_FIRST = _rows((1, "a", 1), (2, "b", 1), (3, "c", 2), (4, None, 2), (5, "e", None))


@spark_case("deletion-vectors/spark-merge-every-clause", "DVDESC-020 REC-006", _DV)
def _merged(_case: CaseWriter, table: SparkTable) -> None:
    """A merge with every kind of clause leaves the rows that it says."""
    table.run(_CREATE + _VECTORS, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    after = _rows((1, "a!", 1), (3, "gone from the source", 2), (5, "e", None), (9, "new", 3))
    table.run(
        "MERGE INTO {table} t USING (SELECT * FROM VALUES (1L, 'u'), (2L, 'd'), (4L, 'd'), "
        "(5L, 'skip'), (9L, 'new') AS v(id, what)) s ON t.id = s.id "
        "WHEN MATCHED AND s.what = 'd' THEN DELETE "
        "WHEN MATCHED AND s.what = 'u' THEN UPDATE SET name = concat(t.name, '!') "
        "WHEN NOT MATCHED THEN INSERT (id, name, part) VALUES (s.id, s.what, 3) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET name = 'gone from the source'",
        _SCHEMA,
        after,
    )
    table.run("DELETE FROM {table} WHERE part = 2", _SCHEMA, [after[0], after[2], after[3]])
    table.publish()


@spark_case("data-files/spark-merge-evolves-schema", "WCON-004 META-002")
def _merge_evolves(_case: CaseWriter, table: SparkTable) -> None:
    """A merge that adds a column leaves null in the files before it."""
    wide = Struct((*_SCHEMA, field("extra", "double")))
    table.run(_CREATE, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST[:2], _FIRST[:2])
    after = [
        {**_FIRST[0], "name": "A", "extra": 1.5},
        {**_FIRST[1], "extra": None},
        {"id": 7, "name": "new", "part": None, "extra": 2.5},
    ]
    table.run(
        "MERGE WITH SCHEMA EVOLUTION INTO {table} t USING (SELECT * FROM VALUES "
        "(1L, 'A', 1, CAST(1.5 AS DOUBLE)), (7L, 'new', NULL, CAST(2.5 AS DOUBLE)) "
        "AS v(id, name, part, extra)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        wide,
        after,
    )
    table.publish()


@spark_case("action-reconciliation/spark-overwrites", "REC-006 REC-008")
def _overwritten(_case: CaseWriter, table: SparkTable) -> None:
    """Overwriting by predicate, by partition and whole replaces those files."""
    table.run(_BY_PART, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST, partition_by=["part"])
    new = _rows((11, "x", 1))
    by_predicate = new + _FIRST[2:]
    options = {"replaceWhere": "part = 1"}
    table.append(
        _SCHEMA, new, by_predicate, mode="overwrite", partition_by=["part"], options=options
    )
    dynamic = _rows((12, "y", None))
    after = by_predicate[:-1] + dynamic
    options = {"partitionOverwriteMode": "dynamic"}
    table.append(_SCHEMA, dynamic, after, mode="overwrite", partition_by=["part"], options=options)
    last = _rows((13, "z", 7))
    table.append(_SCHEMA, last, last, mode="overwrite", partition_by=["part"])
    table.publish()


@spark_case("change-metadata/spark-replaced-table", "META-002 REC-013")
def _replaced(_case: CaseWriter, table: SparkTable) -> None:
    """A replaced table has the new schema, and its past the old one."""
    other = struct(name="integer", when="date")
    table.run(_BY_PART, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST, partition_by=["part"])
    rows: list[dict[str, Any]] = [{"name": 1, "when": None}, {"name": None, "when": None}]
    options = {"overwriteSchema": "true"}
    table.append(other, rows, rows, mode="overwrite", partition_by=["name"], options=options)
    table.append(other, rows[:1], rows + rows[:1], partition_by=["name"])
    table.publish()


@spark_case("deletion-vectors/spark-purge-restore", "DVDESC-020 REC-010", _DV)
def _purged(_case: CaseWriter, table: SparkTable) -> None:
    """A purge drops the vectors and a restore brings them back."""
    table.run(_CREATE + _VECTORS, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    table.run("DELETE FROM {table} WHERE id IN (1, 5)", _SCHEMA, _FIRST[1:4])
    table.run("REORG TABLE {table} APPLY (PURGE)", _SCHEMA, _FIRST[1:4])
    table.run("DELETE FROM {table} WHERE id = 2", _SCHEMA, _FIRST[2:4])
    table.run("RESTORE TABLE {table} TO VERSION AS OF 2", _SCHEMA, _FIRST[1:4])
    table.publish()


@spark_case("deletion-vectors/spark-random-prefixes", "DVDESC-002 DVDESC-003 DVDESC-016", _DV)
def _prefixed(_case: CaseWriter, table: SparkTable) -> None:
    """Vectors and files under random prefixes are found."""
    properties = (
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', "
        "'delta.randomizeFilePrefixes' = 'true', 'delta.randomPrefixLength' = '3')"
    )
    table.run(_BY_PART + properties, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST, partition_by=["part"])
    table.run("DELETE FROM {table} WHERE id IN (2, 3)", _SCHEMA, [_FIRST[0], *_FIRST[3:]])
    table.publish()


@spark_case("deletion-vectors/spark-many-row-groups", "DVDESC-020 DVDESC-021", _DV)
def _many_row_groups(_case: CaseWriter, table: SparkTable) -> None:
    """A vector counts rows over all row groups of a file."""
    schema = struct(id="long", text="string")
    rows: list[dict[str, Any]] = [
        {"id": number, "text": f"{number:05d}" * 8} for number in range(3_000)
    ]
    table.run("CREATE TABLE {table} (id BIGINT, text STRING) USING delta " + _VECTORS, schema, [])
    # Row groups are cut at so many bytes, looked at every so many rows.
    hadoop = table.session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001  no public way
    limits = {
        "parquet.block.size": 16_384,
        "parquet.page.size.row.check.min": 100,
        "parquet.page.size.row.check.max": 100,
    }
    for key, value in limits.items():
        hadoop.setInt(key, value)
    try:
        table.append(schema, rows, rows)
    finally:
        for key in limits:
            hadoop.unset(key)
    left = [row for row in rows if row["id"] % 7 != 3 and not 900 <= row["id"] < 1_400]
    table.run("DELETE FROM {table} WHERE id % 7 = 3 OR id BETWEEN 900 AND 1399", schema, left)
    left = [row for row in left if row["id"] not in (0, 2_999)]
    table.run("DELETE FROM {table} WHERE id IN (0, 2999)", schema, left)
    table.publish()


@spark_case("partition-value-serialization/spark-converted", "DATA-003 PART-002")
def _converted(case: CaseWriter, table: SparkTable) -> None:
    """A converted Parquet directory has its partition values in the log."""
    frame: Any = table.session.createDataFrame(
        [(1, "a", 1), (2, "b", 1), (3, "c", 2), (4, None, 2), (5, "e", None)],
        "id BIGINT, name STRING, part INT",
    )
    frame.coalesce(1).write.mode("overwrite").partitionBy("part").parquet(str(case.delta))
    table.run(f"CONVERT TO DELTA parquet.`{case.delta}` PARTITIONED BY (part INT)", _SCHEMA, _FIRST)
    new = _rows((6, "f", 3))
    table.append(_SCHEMA, new, _FIRST + new, partition_by=["part"])
    table.run("DELETE FROM {table} WHERE id = 1", _SCHEMA, _FIRST[1:] + new)
    table.publish()


@spark_case("table-features/spark-dropped-feature", "TF-001 REC-012", _DV)
def _dropped_feature(_case: CaseWriter, table: SparkTable) -> None:
    """A table that dropped deletion vectors reads at every version."""
    table.run(_CREATE + _VECTORS, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    table.run("DELETE FROM {table} WHERE id = 4", _SCHEMA, _FIRST[:3] + _FIRST[4:])
    rows = _FIRST[:3] + _FIRST[4:]
    table.run_in_steps("ALTER TABLE {table} DROP FEATURE deletionVectors", _SCHEMA, rows)
    table.run("DELETE FROM {table} WHERE id = 5", _SCHEMA, rows[:3])
    table.publish()


@spark_case("action-reconciliation/spark-zorder", "REC-006 CKC-027")
def _z_ordered(_case: CaseWriter, table: SparkTable) -> None:
    """Files that are rearranged without data change hold the same rows."""
    table.run(_BY_PART, _SCHEMA, [])
    more = _rows((6, "f", 1), (7, "g", 2))
    table.append(_SCHEMA, _FIRST, _FIRST, partition_by=["part"])
    table.append(_SCHEMA, more, _FIRST + more, partition_by=["part"])
    table.run("OPTIMIZE {table} WHERE part = 1 ZORDER BY (id)", _SCHEMA, _FIRST + more)
    table.run(
        "UPDATE {table} SET part = 9 WHERE part IS NULL",
        _SCHEMA,
        [*_FIRST[:4], *more, {**_FIRST[4], "part": 9}],
    )
    table.publish()


TABLES = (
    _merged, _merge_evolves, _overwritten, _replaced, _purged, _prefixed, _many_row_groups,
    _converted, _dropped_feature, _z_ordered,
)  # fmt: skip
