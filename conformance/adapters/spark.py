"""Adapter of Spark with Delta: one local session for the adapter's life.

The JARs come from the folder that ``DELTA_TCK_SPARK_JARS`` names, or are resolved from Maven
Central by the ``delta-spark`` package. What Spark's public interface does not tell (the file
list, transaction versions, domain metadata) is asked of Delta's own snapshot in the JVM.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from delta import DeltaTable
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped,import-not-found,unused-ignore]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from conformance.adapter import (
    Changes,
    Claims,
    DomainMetadata,
    Files,
    History,
    Scan,
    Snapshot,
    Txn,
    Write,
)
from conformance.adapters.dispatch import EngineAdapter
from conformance.adapters.refusals import Refusals, Rule
from conformance.adapters.sqltext import SPARK, render
from generators.golden.spark.session import open_session

__all__ = ["create"]

_FEATURES: Final = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
    }
)
_CLAIMS: Final = Claims(
    reader_version=3,
    writer_version=7,
    reader_features=_FEATURES,
    writer_features=_FEATURES
    | {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "clustering",
        "domainMetadata",
        "generatedColumns",
        "icebergCompatV1",
        "icebergCompatV2",
        "identityColumns",
        "inCommitTimestamp",
        "invariants",
        "rowTracking",
    },
    capabilities=frozenset(
        {
            "scan.version",
            "scan.timestamp",
            "scan.columns",
            "scan.filter",
            "scan.row_ids",
            "snapshot.version",
            "files.version",
            "txn.version",
            "domain_metadata.version",
        }
    ),
)
_REFUSALS: Final = Refusals(
    errors=(PySparkException, Py4JJavaError, NotImplementedError),
    rules=(
        Rule(re.compile(r"^NotImplementedError"), "unsupported"),
        Rule(
            re.compile(r"UNSUPPORTED_FEATURES_FOR_READ"),
            "unsupported",
            "load",
        ),
        Rule(re.compile(r"UNSUPPORTED_FEATURES_FOR_WRITE"), "unsupported", "commit"),
        Rule(
            re.compile(
                r"VersionNotFoundException|DELTA_VERSION_NOT_FOUND|DELTA_TABLE_NOT_FOUND|"
                r"DELTA_PATH_DOES_NOT_EXIST|PATH_NOT_FOUND|DELTA_TIMESTAMP_(GREATER|EARLIER)"
            ),
            "not_found",
            "load",
        ),
        Rule(
            re.compile(
                r"DELTA_STATE_RECOVER_ERROR|DELTA_TRUNCATED_TRANSACTION_LOG|"
                r"DELTA_VERSIONS_NOT_CONTIGUOUS|"
                r"DELTA_MISSING_PART_FILES|DELTA_DUPLICATE_ACTIONS_FOUND"
            ),
            "invalid_table",
            "load",
        ),
        Rule(re.compile(r"DeltaInvariantViolationException|DELTA_VIOLATE"), "constraint"),
        Rule(re.compile(r"Concurrent\w+Exception|DELTA_CONCURRENT"), "conflict", "commit"),
    ),
    noise=re.compile(r"^\s*(at |\.\.\. \d+ more)"),
    # Spark's and the JVM's own words for a broken invariant of their own.
    crashes=re.compile(
        r"\[INTERNAL_ERROR|java\.lang\.(NullPointer|ClassCast|IndexOutOfBounds)|"
        r"java\.lang\.(Assertion|StackOverflow|OutOfMemory)Error|scala\.MatchError"
    ),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VIEW: Final = "delta_tck_rows"


class _Reader:
    """What Spark reads."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def frame(self, table: str, **options: Any) -> DataFrame:
        given = {key: str(value) for key, value in options.items() if value is not None}
        return self.spark.read.format("delta").options(**given).load(table)

    def scan(self, request: Scan) -> pa.Table:
        frame = self.frame(
            request.table,
            versionAsOf=request.version,
            timestampAsOf=_timestamp_text(request.timestamp),
        )
        names = list(frame.columns if request.columns is None else request.columns)
        if request.filter is not None:
            frame = frame.where(render(request.filter, SPARK))
        columns = [SPARK.identifier(name) for name in names]
        if request.row_ids:
            columns += [
                "_metadata.row_id AS _row_id",
                "_metadata.row_commit_version AS _row_commit_version",
            ]
        return _collected(frame.selectExpr(*columns))

    def changes(self, request: Changes) -> pa.Table:
        frame = self.frame(
            request.table,
            readChangeFeed="true",
            startingVersion=request.start,
            endingVersion=request.end,
        )
        return _collected(frame)

    def history(self, request: History) -> list[dict[str, Any]]:
        table = DeltaTable.forPath(self.spark, request.table)
        frame = table.history() if request.limit is None else table.history(request.limit)
        return [
            {
                "version": commit["version"],
                "timestamp": (commit["timestamp"] - _EPOCH) // timedelta(milliseconds=1),
                "operation": commit["operation"],
            }
            for commit in _collected(frame.select("version", "timestamp", "operation")).to_pylist()
        ]

    def log(self, table: str) -> Any:
        """Give Delta's log of a table, in the JVM."""
        deltas = self.spark._jvm.org.apache.spark.sql.delta  # noqa: SLF001  the only way in
        return deltas.DeltaLog.forTable(self.spark._jsparkSession, table)  # noqa: SLF001  as above

    def version(self, request: Snapshot | Files | Txn | DomainMetadata) -> Any:
        """Give Delta's snapshot of one version, in the JVM, once Spark has opened the table."""
        self.frame(request.table, versionAsOf=request.version)
        log = self.log(request.table)
        # Scala's default arguments have to be passed by whoever calls from outside.
        if request.version is None:
            return log.update(*(getattr(log, f"update$default${n}")() for n in (1, 2, 3)))
        arguments = [getattr(log, f"getSnapshotAt$default${n}")() for n in (2, 3, 4)]
        return log.getSnapshotAt(request.version, *arguments)

    def snapshot(self, request: Snapshot) -> dict[str, Any]:
        found = self.version(request)
        return {
            "version": found.version(),
            "protocol": json.loads(found.protocol().json())["protocol"],
            "metadata": json.loads(found.metadata().json())["metaData"],
        }

    def files(self, request: Files) -> list[dict[str, Any]]:
        lines = self.version(request).allFiles().toJSON().collectAsList()
        return [_file(json.loads(line)) for line in lines]

    def txn(self, request: Txn) -> int | None:
        found = self.version(request).transactions().get(request.app_id)
        return found.get() if found.isDefined() else None

    def domain_metadata(self, request: DomainMetadata) -> str | None:
        domains = self.version(request).domainMetadata()
        for index in range(domains.size()):
            if domains.apply(index).domain() == request.domain:
                configuration: str = domains.apply(index).configuration()
                return configuration
        return None


def _collected(frame: DataFrame) -> pa.Table:
    # DataFrame.toArrow casts to a schema whose required fields below a null struct PyArrow
    # rejects; these are the batches that it casts.
    batches = frame._collect_as_arrow(empty_list_if_zero_records=False)  # noqa: SLF001  as said
    return pa.Table.from_batches(batches)


def _timestamp_text(timestamp: int | None) -> str | None:
    if timestamp is None:
        return None
    moment = _EPOCH + timedelta(milliseconds=timestamp)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")


_FILE_KEYS: Final = (
    "path",
    "partitionValues",
    "size",
    "modificationTime",
    "baseRowId",
    "defaultRowCommitVersion",
    "clusteringProvider",
    "tags",
)


def _file(add: dict[str, Any]) -> dict[str, Any]:
    # Spark leaves null members out of its JSON; what it keeps are the action's own values.
    kept: dict[str, Any] = {key: add[key] for key in _FILE_KEYS if key in add}
    return {**kept, "deletionVector": add.get("deletionVector")}


class _Writer:
    """What Spark writes."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.spark = reader.spark

    def operations(self) -> dict[str, Callable[[Write], Any]]:
        """Give the writing operations by name."""
        calls: dict[str, Callable[[Write], Any]] = {
            "create": self.create,
            "append": lambda request: self.save(request, "append"),
            "overwrite": lambda request: self.save(request, "overwrite"),
            "delete": lambda request: self.table(request).delete(_predicate(request)),
            "update": self.update,
            "optimize": self.optimize,
            "checkpoint": lambda request: self.reader.log(request.table).checkpoint(),
            "set_properties": self.set_properties,
            "set_txn": self.set_txn,
        }
        return {name: self._telling_version(call) for name, call in calls.items()}

    def _telling_version(self, call: Callable[[Write], Any]) -> Callable[[Write], Any]:
        def write(request: Write) -> dict[str, Any]:
            call(request)
            commits = self.table(request).history(1).select("version").collect()
            return {"version": commits[0]["version"]}

        return write

    def table(self, request: Write) -> DeltaTable:
        return DeltaTable.forPath(self.spark, request.table)

    def rows(self, request: Write) -> DataFrame:
        assert request.rows is not None
        # Left to itself, Spark takes a time without a zone for one in the session's.
        schema = from_arrow_schema(request.rows.schema, prefer_timestamp_ntz=True)
        # PySpark cannot convert columns of no chunks.
        given: Any = request.rows if request.rows.num_rows else []
        return self.spark.createDataFrame(given, schema)

    def create(self, request: Write) -> None:
        arguments = request.arguments
        builder = (
            DeltaTable.create(self.spark)
            .location(request.table)
            .addColumns(StructType.fromJson(dict(arguments["schema"])))
            .partitionedBy(*(arguments.get("partition_columns") or ()))
        )
        properties = dict(arguments.get("properties") or {})
        for feature in arguments.get("features") or ():
            properties[f"delta.feature.{feature}"] = "supported"
        for key, value in properties.items():
            builder = builder.property(key, value)
        builder.execute()
        # The builder leaves the metadata of columns out; defaults are set beside it.
        table = SPARK.identifier(request.table)
        for field in arguments["schema"]["fields"]:
            default = field["metadata"].get("CURRENT_DEFAULT")
            if default is not None:
                column = SPARK.identifier(field["name"])
                self.spark.sql(
                    f"ALTER TABLE delta.{table} ALTER COLUMN {column} SET DEFAULT {default}"
                )
        if request.rows is not None:
            self.save(request, "append")

    def save(self, request: Write, mode: str) -> None:
        if request.arguments.get("partition"):
            raise NotImplementedError("spark overwrites by predicate, not by partition")
        rows, predicate = self.rows(request), _predicate(request)
        if mode == "append" and set(rows.columns) != set(self.reader.frame(request.table).columns):
            self._insert(request, rows)
            return
        writer = rows.write.format("delta").mode(mode)
        if predicate is not None:
            writer = writer.option("replaceWhere", predicate)
        writer.save(request.table)

    def _insert(self, request: Write, rows: DataFrame) -> None:
        """Append rows that lack columns: of Spark's ways to write, INSERT gives them defaults."""
        rows.createOrReplaceTempView(_VIEW)
        names = ", ".join(SPARK.identifier(name) for name in rows.columns)
        table = SPARK.identifier(request.table)
        statement = f"INSERT INTO delta.{table} ({names}) SELECT {names} FROM {_VIEW}"  # noqa: S608  quoted
        self.spark.sql(statement)

    def optimize(self, request: Write) -> None:
        if request.arguments.get("purge"):
            table = SPARK.identifier(request.table)
            self.spark.sql(f"REORG TABLE delta.{table} APPLY (PURGE)")
        else:
            self.table(request).optimize().executeCompaction()

    def update(self, request: Write) -> None:
        changes = {
            SPARK.identifier(name): expr(render(node, SPARK))
            for name, node in request.arguments["set"].items()
        }
        predicate = _predicate(request)
        self.table(request).update(None if predicate is None else expr(predicate), changes)

    def set_properties(self, request: Write) -> None:
        properties = ", ".join(
            f"{SPARK.string(key)} = {SPARK.string(value)}"
            for key, value in request.arguments["properties"].items()
        )
        table = SPARK.identifier(request.table)
        self.spark.sql(f"ALTER TABLE delta.{table} SET TBLPROPERTIES ({properties})")

    def set_txn(self, request: Write) -> None:
        (
            self.reader.frame(request.table)
            .limit(0)
            .write.format("delta")
            .mode("append")
            .option("txnAppId", request.arguments["app_id"])
            .option("txnVersion", request.arguments["txn_version"])
            .save(request.table)
        )


def _predicate(request: Write) -> str | None:
    tree = request.arguments.get("filter")
    return None if tree is None else render(tree, SPARK)


def create() -> EngineAdapter:
    """Start Spark and give its adapter.

    Raises:
        FileNotFoundError: the folder of JARs holds none.

    """
    warehouse = tempfile.TemporaryDirectory(prefix="delta-tck-spark-")
    spark = open_session(Path(warehouse.name))
    spark.sparkContext.setLogLevel("ERROR")
    # The first query loads half of Spark; it belongs to starting, not to the first case.
    spark.range(1).toArrow()

    def release() -> None:
        spark.stop()
        warehouse.cleanup()

    reader = _Reader(spark)
    reads: dict[str, Callable[[Any], Any]] = {
        "snapshot": reader.snapshot,
        "files": reader.files,
        "scan": reader.scan,
        "changes": reader.changes,
        "history": reader.history,
        "txn": reader.txn,
        "domain_metadata": reader.domain_metadata,
    }
    return EngineAdapter(
        name="spark",
        engine_version=f"{metadata.version('delta-spark')} (Spark {spark.version})",
        claims=_CLAIMS,
        refusals=_REFUSALS,
        reads=reads,
        writes=_Writer(reader).operations(),
        release=release,
    )
