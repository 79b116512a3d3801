"""The pipeline's audit of a large table, bucket by bucket in this process and without Spark."""

from __future__ import annotations

import time
from collections.abc import Iterable

from conformance.audit.findings import Finding, gathered
from conformance.audit.read.log import list_log
from conformance.audit.read.raw import Lines
from conformance.pipeline.audit.buckets import (
    BucketResult,
    Job,
    Options,
    SmallLog,
    audit_bucket,
    audit_files,
    audit_whole,
    latest_of,
)
from conformance.pipeline.audit.large import (
    Unit,
    ids_are_stored,
    read_unit,
    sidecars_of,
    units_of,
)
from conformance.pipeline.audit.split import Piece


def in_parts(location: str, options: Options, buckets: int) -> list[Finding]:
    """Audit a table in buckets, one after the other."""
    job = Job(location, options, buckets, now=int(time.time() * 1000))
    listing = list_log(job.storage())
    held: list[Piece] = []
    small: dict[str, Lines] = {}

    def read(units: Iterable[Unit]) -> None:
        for unit in units:
            for each in read_unit(job, unit):
                if isinstance(each, Lines):
                    small[unit.path] = each
                else:
                    held.append(each)

    read(units_of(listing))
    read(sidecars_of(job.storage(), list(small.values())))
    log = SmallLog(listing, small)
    found: list[Finding] = []
    left: list[BucketResult] = []
    for bucket in range(buckets):
        mine = [piece for piece in held if piece.bucket == bucket]
        for each in audit_bucket(job, log, bucket, mine):
            (left if isinstance(each, BucketResult) else found).append(each)  # type: ignore[arg-type]
    found += audit_whole(job, log, left)
    latest = latest_of(left)
    if latest is not None:
        lives = [live for each in left for live in each.live]
        # All files are one task where rows of all of them are compared.
        for task in [lives] if ids_are_stored(latest) else [[live] for live in lives]:
            found += audit_files(job, latest, task)
    return gathered(dict.fromkeys(found), options.revision)
