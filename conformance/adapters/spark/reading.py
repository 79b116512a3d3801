"""What Spark with Delta reads, for its adapter.

What Spark's public interface does not give (the file list, transaction versions, domain
metadata) is asked of Delta's own snapshot in the JVM.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from conformance.adapter import (
    Aggregate,
    Changes,
    DomainMetadata,
    Files,
    History,
    Scan,
    Snapshot,
    Txn,
)
from conformance.adapters.sql.text import SPARK, aggregates, render
from generators.materialise.log.bodies import FILE_FIELDS

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SparkReader:
    """Answers the requests that read, in one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._table: str | None = None
        self._state: Any = None
        self._frames: dict[Any, DataFrame] = {}

    def renew(self) -> None:
        """Forget every table, and go on in a new session."""
        self._forget()
        self.spark.sparkContext.cancelAllJobs()
        self.spark.catalog.clearCache()
        self.spark = self.spark.newSession()

    def _forget(self) -> None:
        self._state, self._frames = None, {}
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # noqa: SLF001  the only way in

    def _share(self, table: str) -> None:
        """Share what was loaded for a table between requests, until its log changes."""
        state = _state_of(Path(table, "_delta_log"))
        if state != self._state:
            self._state, self._frames = state, {}

    def operations(self) -> dict[str, Callable[[Any], Any]]:
        """Return the reading operations by name."""
        calls: dict[str, Callable[[Any], Any]] = {
            "snapshot": self._snapshot,
            "files": self._files,
            "scan": self._scan,
            "aggregate": self._aggregate,
            "changes": self._changes,
            "history": self._history,
            "txn": self._txn,
            "domain_metadata": self._domain_metadata,
        }
        return {name: self.releasing_others(call) for name, call in calls.items()}

    def releasing_others(self, call: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Have an operation first release the table asked about before, where it is another one.

        Delta keeps the snapshots of ten thousand tables, and a run asks about as many.
        """

        def turned(request: Any) -> Any:
            if request.table != self._table:
                self._forget()
                self._table = request.table
            return call(request)

        return turned

    def frame(self, table: str, **options: Any) -> DataFrame:
        """Open a table; options that are ``None`` are not given."""
        given = {key: str(value) for key, value in options.items() if value is not None}
        self._share(table)
        asked = tuple(given.items())
        if asked not in self._frames:
            self._frames[asked] = self.spark.read.format("delta").options(**given).load(table)
        return self._frames[asked]

    def _scan(self, request: Scan) -> pa.Table:
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

    def _aggregate(self, request: Aggregate) -> pa.Table:
        self._share(request.table)
        # Delta answers from the log what is SQL over a table, and no aggregate of a frame.
        source = f"delta.{SPARK.identifier(request.table)}"
        if request.version is not None:
            source += f" VERSION AS OF {request.version:d}"
        return _collected(self.spark.sql(aggregates(source, SPARK, request)))

    def _changes(self, request: Changes) -> pa.Table:
        frame = self.frame(
            request.table,
            readChangeFeed="true",
            startingVersion=request.start,
            endingVersion=request.end,
        )
        return _collected(frame)

    def _history(self, request: History) -> list[dict[str, Any]]:
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
        """Return Delta's log of a table, in the JVM."""
        deltas = self.spark._jvm.org.apache.spark.sql.delta  # noqa: SLF001  the only way in
        return deltas.DeltaLog.forTable(self.spark._jsparkSession, table)  # noqa: SLF001  as above

    def latest(self, table: str) -> Any:
        """Return Delta's snapshot of the newest version, in the JVM."""
        log = self.log(table)
        # Scala's default arguments have to be passed by callers from other languages.
        return log.update(*(getattr(log, f"update$default${n}")() for n in (1, 2, 3)))

    def _version(self, request: Snapshot | Files | Txn | DomainMetadata) -> Any:
        """Return Delta's snapshot of one version, in the JVM: the one that Spark opened to read."""
        frame = self.frame(request.table, versionAsOf=request.version)
        relation = frame._jdf.queryExecution().analyzed().collectLeaves().head()  # noqa: SLF001  the only way in
        return relation.relation().location().getSnapshot()

    def _snapshot(self, request: Snapshot) -> dict[str, Any]:
        found = self._version(request)
        return {
            "version": found.version(),
            "protocol": json.loads(found.protocol().json())["protocol"],
            "metadata": json.loads(found.metadata().json())["metaData"],
        }

    def _files(self, request: Files) -> list[dict[str, Any]]:
        lines = self._version(request).allFiles().toJSON().collectAsList()
        return [_file(json.loads(line)) for line in lines]

    def _txn(self, request: Txn) -> int | None:
        found = self._version(request).transactions().get(request.app_id)
        return found.get() if found.isDefined() else None

    def _domain_metadata(self, request: DomainMetadata) -> str | None:
        domains = self._version(request).domainMetadata()
        for index in range(domains.size()):
            if domains.apply(index).domain() == request.domain:
                configuration: str = domains.apply(index).configuration()
                return configuration
        return None


def _state_of(log: Path) -> tuple[tuple[str, int, int, int], ...]:
    """Return what shows whether a log is unchanged: name, inode, size and time of each file."""
    try:
        found = [(each, each.stat()) for each in log.rglob("*")]
    except OSError:
        return ()
    return tuple(sorted((str(path), at.st_ino, at.st_size, at.st_mtime_ns) for path, at in found))


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


def _file(add: dict[str, Any]) -> dict[str, Any]:
    # Spark leaves null members out of its JSON; what it keeps are the action's own values.
    kept: dict[str, Any] = {key: add[key] for key in FILE_FIELDS if key in add}
    return {**kept, "deletionVector": add.get("deletionVector")}
