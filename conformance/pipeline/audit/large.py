"""Audit one table in buckets on Spark.

Covers "Action Reconciliation" and "Sidecar Files". Spark reads the files of the log, shuffles what
is said of files by the bucket of their paths, and broadcasts the rest.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from conformance.audit.findings import PLACES, Finding, gathered
from conformance.audit.read.log import Listing, list_log, sidecar_path
from conformance.audit.read.raw import Lines, read_parts
from conformance.audit.read.state import State
from conformance.pipeline.audit.buckets import (
    BucketResult,
    FileBatch,
    Job,
    Options,
    SmallLog,
    audit_bucket,
    audit_files,
    audit_whole,
    latest_of,
)
from conformance.pipeline.audit.split import Piece, buckets_for, pieces, size_of
from conformance.pipeline.store import columns
from reference_impl.errors import DeltaError
from reference_impl.limits import within_limits
from reference_impl.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Unit:
    """A file of a log to be read; its size is in bytes."""

    path: str
    size: int
    sidecar: bool = False


def units_of(listing: Listing) -> list[Unit]:
    """Return the files of a log that hold actions, sidecars left out."""
    return [
        Unit(entry.path, entry.size)
        for file, entry in listing.files
        if file.kind in ("commit", "compaction") or file.kind.endswith("checkpoint")
    ]


def sidecars_of(storage: Storage, small: Iterable[Lines]) -> list[Unit]:
    """Return the sidecars that checkpoints name; those that are at fault are reported elsewhere."""
    lines = (line for each in small for _, line in each.small if line.action == "sidecar")
    named = {path for line in lines if isinstance(path := line.body.get("path"), str) and path}
    found: dict[str, Unit] = {}
    for path in sorted(named):
        with suppress(DeltaError, OSError, ValueError):
            where = sidecar_path(storage, path)
            found[where] = Unit(where, storage.head(where).size, sidecar=True)
    return list(found.values())


def read_unit(job: Job, unit: Unit) -> Iterator[Lines | Piece]:
    """Read a file, and take it apart by the buckets of its file actions."""
    with within_limits(job.options.limits, "audit"):
        lines = read_parts(job.storage(), unit.path, sidecar=unit.sidecar)
        yield from pieces(unit.path, lines, job.buckets)


def ids_are_stored(latest: State) -> bool:
    """Return whether rows may have stored ids, which are compared across all files."""
    configuration = (latest.metadata or {}).get("configuration")
    name = "delta.rowTracking.materializedRowIdColumnName"
    return isinstance(configuration, dict) and configuration.get(name) is not None


_SPLIT: Final = columns("bucket:int32 path start:int64 numbers:binary data:binary")
_OUT: Final = columns(
    "requirement severity place message hint limit count:int64 kind size:int64 data:binary"
)
_KEY: Final = ("requirement", "severity", "message", "hint", "limit")
_SMALL_ACTIONS_BUCKET: Final = -1
_DDL: Final = {
    pa.string(): "string",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.binary(): "binary",
}


def _ddl(schema: pa.Schema) -> str:
    return ", ".join(f"`{field.name}` {_DDL[field.type]}" for field in schema)


def _batches(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    held: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += 200 + len(row.get("data") or b"")
        if size > _AT_ONCE:
            yield pa.RecordBatch.from_pylist(held, schema)
            held, size = [], 0
    if held:
        yield pa.RecordBatch.from_pylist(held, schema)


_AT_ONCE: Final = 4 << 20
"""Bytes of rows that go to Spark at a time."""


def _split(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    def rows() -> Iterator[dict[str, Any]]:
        for batch in batches:
            for given in batch.column(0).to_pylist():
                unit = pickle.loads(given)  # noqa: S301  of this job
                for each in read_unit(job, unit):
                    if isinstance(each, Lines):
                        yield {
                            "bucket": _SMALL_ACTIONS_BUCKET,
                            "path": unit.path,
                            "start": 0,
                            "numbers": b"",
                            "data": pickle.dumps(each),
                        }
                    else:
                        yield {name: getattr(each, name) for name in _SPLIT.names}

    return _batches(rows(), _SPLIT)


def _rows_of(findings: Iterable[Finding]) -> Iterator[dict[str, Any]]:
    for each in findings:
        yield {name: _text(getattr(each, name)) for name in (*_KEY, "place")} | {
            "count": each.count,
            "kind": "finding",
        }


def _text(text: str) -> str:
    """Spell out what has no encoding; messages may quote it."""
    return text.encode(errors="backslashreplace").decode()


def _bucket(job: Job, small: SmallLog, table: pa.Table) -> pa.Table:
    """Audit the pieces of one bucket."""
    bucket = table.column("bucket")[0].as_py()
    pieces = (
        Piece(bucket, row["path"], row["start"], row["numbers"], row["data"])
        for batch in table.to_batches()
        for row in batch.to_pylist()
        if row["path"]
    )

    def rows() -> Iterator[dict[str, Any]]:
        for each in audit_bucket(job, small, bucket, pieces):
            if isinstance(each, Finding):
                yield from _rows_of([each])
                continue
            for live in each.live:
                yield {"kind": "live", "size": live.size, "data": pickle.dumps(live)}
            each.tasks, each.live = len(each.live), []
            yield {"kind": "left", "data": pickle.dumps(each)}

    return pa.Table.from_batches(_batches(rows(), _OUT), _OUT)


def _files(
    job: Job, latest: State, together: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    lives: Iterator[FileBatch] = (
        pickle.loads(data)  # noqa: S301  of this job
        for batch in batches
        for data in batch.column(0).to_pylist()
    )
    tasks = [lives] if together else ([live] for live in lives)
    return _batches(
        (row for task in tasks for row in _rows_of(audit_files(job, latest, task))), _OUT
    )


def on_spark(
    session: SparkSession, location: str, options: Options, buckets: int | None = None
) -> list[Finding]:
    """Audit a table in buckets, spread over the executors.

    Raises:
        AuditError: there is no log at the location.
    """
    from pyspark import StorageLevel  # noqa: PLC0415  not without the extra

    storage, now = options.storage(location), int(time.time() * 1000)
    listing = list_log(storage)
    job = Job(location, options, buckets or buckets_for(size_of(storage, listing)), now)
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "16")
    slots = session.sparkContext.defaultParallelism
    session.conf.set("spark.sql.shuffle.partitions", str(min(2 * slots, 2 * job.buckets)))

    def read(units: Sequence[Unit]) -> DataFrame:
        # The largest ones first, and small ones in turns, so that tasks take about as long.
        ordered = sorted(units, key=lambda unit: -unit.size)
        parts = max(1, min(len(ordered), 8 * slots))
        rows = [(bytearray(pickle.dumps(u)),) for n in range(parts) for u in ordered[n::parts]]
        given = session.createDataFrame(
            session.sparkContext.parallelize(rows, parts), "unit binary"
        )
        frame = given.mapInArrow(partial(_split, job), _ddl(_SPLIT))
        return frame.persist(StorageLevel.DISK_ONLY)

    def collected(frame: DataFrame) -> dict[str, Lines]:
        chosen = frame.where(f"bucket = {_SMALL_ACTIONS_BUCKET}").select("path", "data")
        return {row[0]: pickle.loads(bytes(row[1])) for row in chosen.toLocalIterator()}  # noqa: S301  of this job

    held = read(units_of(listing))
    small = collected(held)
    more = sidecars_of(storage, small.values())
    frames = [held]
    if more:
        frames.append(read(more))
        small |= collected(frames[1])
    # Every bucket is audited, those that no file action is in as well.
    nothing = [(bucket, "", 0, bytearray(), bytearray()) for bucket in range(job.buckets)]
    all_ = session.createDataFrame(nothing, _ddl(_SPLIT))
    for frame in frames:
        all_ = all_.unionByName(frame.where("bucket >= 0"))
    log = SmallLog(listing, small)
    shared = session.sparkContext.broadcast(log)

    def of_bucket(table):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  Spark reads hints
        return _bucket(job, shared.value, table)

    out = (
        all_.repartition(min(job.buckets, 64 * slots), "bucket")
        .groupBy("bucket")
        .applyInArrow(of_bucket, _ddl(_OUT))
        .persist(StorageLevel.DISK_ONLY)
    )
    try:
        return _gathered(session, job, log, out)
    finally:
        out.unpersist()
        shared.unpersist()
        for frame in frames:
            frame.unpersist()


def _gathered(session: SparkSession, job: Job, log: SmallLog, out: DataFrame) -> list[Finding]:
    """Put together what buckets, data files and the whole say."""
    left: list[BucketResult] = [
        pickle.loads(bytes(row[0]))  # noqa: S301  of this job
        for row in out.where("kind = 'left'").select("data").toLocalIterator()
    ]
    found = out.where("kind = 'finding'")
    latest = latest_of(left)
    if latest is not None and job.options.data:
        together = ids_are_stored(latest)
        lives = out.where("kind = 'live'").select("data")
        tasks = sum(part.tasks for part in left)
        lives = lives.coalesce(1) if together else lives.repartition(max(1, tasks))
        files = lives.mapInArrow(partial(_files, job, latest, together), _ddl(_OUT))
        found = found.unionByName(files)
    whole = [
        tuple(row.get(name) for name in _OUT.names) for row in _rows_of(audit_whole(job, log, left))
    ]
    if whole:
        found = found.unionByName(session.createDataFrame(whole, _ddl(_OUT)))
    return gathered(dict.fromkeys(_counted(found)), job.options.revision)


def _counted(findings: DataFrame) -> Iterator[Finding]:
    """Put findings that differ by their place alone into one, on the executors."""
    from pyspark.sql import Window  # noqa: PLC0415  not without the extra
    from pyspark.sql import functions as f  # noqa: PLC0415  as above

    once = findings.dropDuplicates([*_KEY, "place"])
    number = f.row_number().over(Window.partitionBy(*_KEY).orderBy("place"))
    numbered = once.withColumn("number", number)
    first = f.when(f.col("number") <= PLACES, f.col("place"))
    merged = numbered.groupBy(*_KEY).agg(
        f.sum("count").alias("count"), f.sort_array(f.collect_list(first)).alias("places")
    )
    for row in merged.orderBy(*_KEY).toLocalIterator():
        yield Finding(
            row["requirement"],
            row["severity"],
            row["places"][0],
            row["message"],
            row["hint"],
            row["count"],
            tuple(row["places"]) if len(row["places"]) > 1 else (),
            row["limit"],
        )
