"""Spark tables about settings: features switched on in mid-life, kinds of checkpoints, upgrades."""

from __future__ import annotations

from contextlib import ExitStack
from decimal import Decimal
from typing import Any

from generators.golden.cases.case import CaseWriter
from generators.golden.spark.definition import SparkCase, Write, spark_case
from generators.golden.spark.table import SparkTable
from generators.oracle.delta_schema import Struct, field, struct

_SCHEMA = struct(id="long", name="string")
_CREATE = "CREATE TABLE {table} (id BIGINT, name STRING) USING delta "
_SET = "ALTER TABLE {table} SET TBLPROPERTIES "


def _rows(*pairs: tuple[int, str | None]) -> list[dict[str, Any]]:
    return [{"id": number, "name": name} for number, name in pairs]


_FIRST = _rows((1, "a"), (2, "b"), (3, None))
_MORE = _rows((4, "d"), (5, "e"))


def _enabled_late(*properties: str) -> Write:
    """Switch settings on between two writes, then change rows under them."""

    def write(_case: CaseWriter, table: SparkTable) -> None:
        table.run(_CREATE, _SCHEMA, [])
        table.append(_SCHEMA, _FIRST, _FIRST)
        for each in properties:
            table.run_in_steps(_SET + f"({each})", _SCHEMA, _FIRST)
        rows = _FIRST + _MORE
        table.append(_SCHEMA, _MORE, rows)
        changed = [{**row, "name": "B"} if row["id"] == 2 else row for row in rows]
        table.run("UPDATE {table} SET name = 'B' WHERE id = 2", _SCHEMA, changed)
        table.run("DELETE FROM {table} WHERE id > 4", _SCHEMA, changed[:4])
        table.publish()

    return write


@spark_case("deletion-vectors/spark-disabled-again", "DV-004 DVDESC-020", ("deletionVectors",))
def _disabled_again(_case: CaseWriter, table: SparkTable) -> None:
    """Vectors count although the property is off again."""
    table.run(_CREATE + "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    table.run("DELETE FROM {table} WHERE id = 2", _SCHEMA, [_FIRST[0], _FIRST[2]])
    table.run(_SET + "('delta.enableDeletionVectors' = 'false')", _SCHEMA, [_FIRST[0], _FIRST[2]])
    table.append(_SCHEMA, _MORE, [_FIRST[0], _FIRST[2], *_MORE])
    table.run("DELETE FROM {table} WHERE id = 5", _SCHEMA, [_FIRST[0], _FIRST[2], _MORE[0]])
    table.publish()


_TRACKED = Struct((*_SCHEMA, field("_row_id", "long"), field("_row_commit_version", "long")))


@spark_case("row-tracking/spark-enabled-late", "RT-005 RT-024")
def _tracked_late(case: CaseWriter, table: SparkTable) -> None:
    """Rows of before the switch to row tracking have ids after the backfill."""
    table.run(_CREATE, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    enabled = table.run_in_steps(_SET + "('delta.enableRowTracking' = 'true')", _SCHEMA, _FIRST)
    version = table.append(_SCHEMA, _MORE, _FIRST + _MORE)
    left = _FIRST[1:] + _MORE
    table.run("DELETE FROM {table} WHERE id = 1", _SCHEMA, left)
    table.publish(requirements=["RT-017"])
    # The rows that were there are numbered first, by the commit before the one that enables the
    # feature, which adds their files again; the later ones go on from them.
    for at, rows in ((version, _FIRST + _MORE), (version + 1, left)):
        tracked = [
            {
                **row,
                "_row_id": row["id"] - 1,
                "_row_commit_version": enabled - 1 if row in _FIRST else version,
            }
            for row in rows
        ]
        case.row_spec(
            "row_ids",
            f"row-ids-v{at}",
            _TRACKED,
            tracked,
            title=f"Rows of before and after the backfill have ids at version {at}",
            parameters={},
            version=at,
        )


@spark_case(
    "protocol-evolution/spark-upgraded-stepwise",
    "REC-012 PROTO-003 PROTO-004",
    ("columnMapping", "deletionVectors"),
)
def _upgraded(_case: CaseWriter, table: SparkTable) -> None:
    """A table upgraded step by step reads at every version."""
    legacy = "TBLPROPERTIES ('delta.minReaderVersion' = '1', 'delta.minWriterVersion' = '2')"
    table.run(_CREATE + legacy, _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    upgrade = "('delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
    table.run(_SET + upgrade, _SCHEMA, _FIRST)
    table.run(_SET + "('delta.columnMapping.mode' = 'name')", _SCHEMA, _FIRST)
    renamed = struct(id="long", label="string")
    rows = [{"id": row["id"], "label": row["name"]} for row in _FIRST]
    table.run("ALTER TABLE {table} RENAME COLUMN name TO label", renamed, rows)
    table.run(_SET + "('delta.feature.deletionVectors' = 'supported')", renamed, rows)
    more: list[dict[str, Any]] = [{"id": 4, "label": "d"}]
    table.append(renamed, more, rows + more)
    table.publish()


def _checkpointed(properties: str, **settings: str) -> Write:
    def write(_case: CaseWriter, table: SparkTable) -> None:
        table.run(_CREATE + f"TBLPROPERTIES ({properties})", _SCHEMA, [])
        rows: list[dict[str, Any]] = []
        conf = {f"spark.databricks.delta.{key}": value for key, value in settings.items()}
        with ExitStack() as held:
            for key, value in conf.items():
                held.enter_context(table.setting(key, value))
            for number in range(7):
                new = _rows((number, f"n{number}"))
                rows = rows + new
                table.append(_SCHEMA, new, rows)
            table.run(
                "DELETE FROM {table} WHERE id = 3", _SCHEMA, [row for row in rows if row["id"] != 3]
            )
        table.publish()

    return write


@spark_case("column-mapping/spark-nested-rearranged", "CM-008 CM-029 CM-031", ("columnMapping",))
def _columns_rearranged(_case: CaseWriter, table: SparkTable) -> None:
    """Nested columns renamed, moved, dropped and added stay apart."""
    inner = struct(a="integer", b="string")
    start = struct(id="long", s=inner)
    table.run(
        "CREATE TABLE {table} (id BIGINT, s STRUCT<a: INT, b: STRING>) USING delta "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        start,
        [],
    )
    rows: list[dict[str, Any]] = [{"id": 1, "s": {"a": 1, "b": "x"}}, {"id": 2, "s": None}]
    table.append(start, rows, rows)
    inner = struct(a="integer", c="string")
    renamed = struct(id="long", s=inner)
    rows = [{"id": 1, "s": {"a": 1, "c": "x"}}, {"id": 2, "s": None}]
    table.run("ALTER TABLE {table} RENAME COLUMN s.b TO c", renamed, rows)
    table.run("ALTER TABLE {table} ALTER COLUMN s FIRST", struct(s=inner, id="long"), rows)
    inner = struct(c="string")
    dropped = struct(s=inner, id="long")
    rows = [{"id": 1, "s": {"c": "x"}}, {"id": 2, "s": None}]
    table.run("ALTER TABLE {table} DROP COLUMN s.a", dropped, rows)
    inner = struct(a="integer", c="string")
    readded = struct(s=inner, id="long")
    rows = [{"id": 1, "s": {"a": None, "c": "x"}}, {"id": 2, "s": None}]
    table.run("ALTER TABLE {table} ADD COLUMN (s.a INT FIRST)", readded, rows)
    more: list[dict[str, Any]] = [{"id": 3, "s": {"a": 3, "c": "z"}}]
    table.append(readded, more, rows + more)
    table.publish()


@spark_case("type-widening/spark-many-types", "TW-004 TW-005 TW-012", ("typeWidening",))
def _widened(_case: CaseWriter, table: SparkTable) -> None:
    """Values, partition values and statistics of narrower types are widened."""

    def schema(number: str, real: str, amount: str, part: str) -> Struct:
        return struct(n=number, r=real, d=amount, p=part)

    old = schema("short", "float", "decimal(5,2)", "byte")
    table.run(
        "CREATE TABLE {table} (n SMALLINT, r FLOAT, d DECIMAL(5,2), p TINYINT) USING delta "
        "PARTITIONED BY (p) TBLPROPERTIES ('delta.enableTypeWidening' = 'true', "
        "'delta.checkpointInterval' = '3')",
        old,
        [],
    )
    first: list[dict[str, Any]] = [
        {"n": -(2**15), "r": 1.5, "d": Decimal("999.99"), "p": -128},
        {"n": None, "r": None, "d": None, "p": None},
    ]
    table.append(old, first, first, partition_by=["p"])
    steps = (
        ("n TYPE INT", schema("integer", "float", "decimal(5,2)", "byte")),
        ("r TYPE DOUBLE", schema("integer", "double", "decimal(5,2)", "byte")),
        ("d TYPE DECIMAL(12,4)", schema("integer", "double", "decimal(12,4)", "byte")),
        ("p TYPE INT", schema("integer", "double", "decimal(12,4)", "integer")),
    )
    for change, after in steps:
        table.run("ALTER TABLE {table} ALTER COLUMN " + change, after, first)
    wide = steps[-1][1]
    second: list[dict[str, Any]] = [
        {"n": 2**31 - 1, "r": 1e300, "d": Decimal("99999999.9999"), "p": 1_000_000}
    ]
    table.append(wide, second, first + second, partition_by=["p"])
    table.publish()


@spark_case("schema-serialization-format/spark-char-varchar", "SCH-002 SCH-026")
def _padded(_case: CaseWriter, table: SparkTable) -> None:
    """Strings of bounded length are strings."""
    schema = struct(c="string", v="string", n="long")
    table.run("CREATE TABLE {table} (c CHAR(5), v VARCHAR(5), n BIGINT) USING delta", schema, [])
    rows: list[dict[str, Any]] = [
        {"c": "abcde", "v": "ab", "n": 1},
        {"c": "äöüßé", "v": "", "n": 2},
        {"c": None, "v": None, "n": 3},
    ]
    table.run(
        "INSERT INTO {table} VALUES ('abcde', 'ab', 1), ('äöüßé', '', 2), (NULL, NULL, 3)",
        schema,
        rows,
    )
    table.publish()


@spark_case("transaction-identifiers/spark-idempotent", "TXN-001 TXN-002 TXN-005")
def _appended_once(case: CaseWriter, table: SparkTable) -> None:
    """The transaction versions of a writer are those it gave."""
    table.run(_CREATE, _SCHEMA, [])
    options = {"txnAppId": "writer", "txnVersion": "7"}
    table.append(_SCHEMA, _FIRST, _FIRST, options=options)
    options = {"txnAppId": "writer", "txnVersion": "9"}
    table.append(_SCHEMA, _MORE, _FIRST + _MORE, options=options)
    table.publish()
    for version, number in ((1, 7), (2, 9)):
        case.spec(
            "txn",
            f"txn-v{version}",
            title=f"The writer's last transaction at version {version} is known",
            expected={"txnVersion": number},
            version=version,
            parameters={"appId": "writer"},
        )


@spark_case("clustered-table/spark-reclustered", "CLUS-001")
def _reclustered(_case: CaseWriter, table: SparkTable) -> None:
    """Changing and dropping the clustering columns changes no row."""
    table.run(_CREATE + "CLUSTER BY (id)", _SCHEMA, [])
    table.append(_SCHEMA, _FIRST, _FIRST)
    table.run("ALTER TABLE {table} CLUSTER BY (name, id)", _SCHEMA, _FIRST)
    table.append(_SCHEMA, _MORE, _FIRST + _MORE)
    table.run("ALTER TABLE {table} CLUSTER BY NONE", _SCHEMA, _FIRST + _MORE)
    table.publish()


_EVERY_TWO = "'delta.checkpointInterval' = '2'"
_V2 = f"{_EVERY_TWO}, 'delta.checkpointPolicy' = 'v2'"
_PART_SIZE = "checkpoint.partSize"
_FILE_FORMAT = "checkpointV2.topLevelFileFormat"

TABLES = (
    SparkCase(
        "in-commit-timestamps/spark-enabled-late",
        "In-commit timestamps may begin in mid-life",
        "ICT-010 ICT-011",
        _enabled_late("'delta.enableInCommitTimestamps' = 'true'"),
    ),
    SparkCase(
        "deletion-vectors/spark-enabled-late",
        "Files of before and after the switch to deletion vectors read alike",
        "DV-003 DVDESC-020",
        _enabled_late("'delta.enableDeletionVectors' = 'true'"),
        ("deletionVectors",),
    ),
    _disabled_again,
    SparkCase(
        "column-mapping/spark-enabled-late",
        "Files of before the column mapping read by their physical names",
        "CM-029 CM-023",
        _enabled_late(
            "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', "
            "'delta.minWriterVersion' = '5'"
        ),
        ("columnMapping",),
    ),
    _columns_rearranged,
    _tracked_late,
    SparkCase(
        "iceberg-compatibility-v2/spark-enabled",
        "A table for Iceberg readers reads as any other",
        "ICE2-001 ICE2-004",
        _enabled_late(
            "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', "
            "'delta.minWriterVersion' = '7'",
            "'delta.enableIcebergCompatV2' = 'true'",
        ),
        ("columnMapping",),
    ),
    _upgraded,
    _widened,
    _padded,
    _appended_once,
    _reclustered,
    SparkCase(
        "checkpoints/spark-multi-part",
        "Spark's multi-part checkpoints give the versions they stand for",
        "CKPT-003 CKPT-021 CKPT-025",
        _checkpointed(_EVERY_TWO, **{_PART_SIZE: "2"}),
    ),
    SparkCase(
        "sidecar-files/spark-v2-json",
        "Spark's JSON V2 checkpoints with sidecars give their versions",
        "SIDE-005 CKPT-016",
        _checkpointed(_V2, **{_FILE_FORMAT: "json", _PART_SIZE: "2"}),
        ("v2Checkpoint",),
    ),
    SparkCase(
        "sidecar-files/spark-v2-parquet",
        "Spark's Parquet V2 checkpoints with sidecars give their versions",
        "SIDE-005 CKPT-016",
        _checkpointed(_V2, **{_FILE_FORMAT: "parquet", _PART_SIZE: "2"}),
        ("v2Checkpoint",),
    ),
)
