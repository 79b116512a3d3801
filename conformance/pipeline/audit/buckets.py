"""Audit one bucket of a large table, some of its data files, and what only the whole shows.

Covers "Action Reconciliation". Functions in here run where Spark puts them, and take and give
plain values, so that they are tried without Spark as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from conformance.audit.checker import Checker, checks_of
from conformance.audit.checks.row_tracking import id_ranges, overlaps
from conformance.audit.checks.transitions import Balance, unbalanced
from conformance.audit.engine import Run, Sum
from conformance.audit.findings import Finding
from conformance.audit.read.log import Listing, Log, read_log
from conformance.audit.read.raw import Document, Lines, json_lines
from conformance.audit.read.state import IdRange, State, file_key
from conformance.audit.revisions import in_revision
from conformance.audit.stored.change_rows import RowChanges, differing_changes
from conformance.audit.stored.rearranged import Moved, changed_rows
from conformance.audit.stored.vectors import shared_vectors, stored_vectors
from conformance.audit.subjects import Layouts, LogView, VersionView
from conformance.audit.summaries.checksums import ChecksumView, Measure
from conformance.pipeline.audit.split import Bucket, Piece, lines_of_bucket
from reference_impl.limits import DEFAULT_LIMITS, Limits, within_limits
from reference_impl.places import SAME_STORE, Outside
from reference_impl.storage import Storage, open_storage

_ADD: Final = (
    "path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "tags",
    "deletionVector", "baseRowId", "defaultRowCommitVersion", "clusteringProvider",
)  # fmt: skip
"""Fields of an add that say something of its data file."""

_BYTES: Final = 256 << 20
_FILES: Final = 500
"""Data files that are opened by one task: so many bytes, or so many files."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an audit; see :func:`conformance.audit.audit`."""

    data: bool = True
    limits: Limits = DEFAULT_LIMITS
    outside: Outside = SAME_STORE
    revision: str | None = None

    def storage(self, location: str) -> Storage:
        """Open the store of a table."""
        return open_storage(location, outside=self.outside)

    def findings(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Return the findings of the revision that is asked for."""
        return iter(findings) if self.revision is None else in_revision(findings, self.revision)


@dataclass(frozen=True, slots=True)
class Job:
    """What the tasks of the audit of one table share.

    Attributes:
        location: of the table.
        options: of the audit.
        buckets: how many the paths are spread over.
        now: current time in ms since the epoch.
    """

    location: str
    options: Options
    buckets: int
    now: int

    def storage(self) -> Storage:
        """Open the store of the table."""
        return self.options.storage(self.location)


@dataclass(frozen=True, slots=True)
class SmallLog:
    """A log less its file actions.

    Attributes:
        listing: of the log.
        lines: what each of its files holds, by path.
    """

    listing: Listing
    lines: Mapping[str, Lines]

    def of_bucket(self, storage: Storage, bucket: Bucket, pieces: Iterable[Piece]) -> Log:
        """Make the log of a bucket; what a checkpoint holds is put together when it is read."""
        by_path: dict[str, list[Piece]] = {}
        for piece in pieces:
            by_path.setdefault(piece.path, []).append(piece)

        def read(path: str, *, sidecar: bool = False) -> Lines:
            del sidecar  # it was read as one
            return lines_of_bucket(self.lines[path], by_path.get(path, ()), bucket)

        log = read_log(storage, self.listing, read)
        checksums = {version: _listed(each, bucket) for version, each in log.checksums.items()}
        return replace(log, checksums=checksums)


@dataclass(frozen=True, slots=True)
class FileBatch:
    """Live files whose data one task looks at: their bytes, adds, and first versions."""

    size: int
    adds: tuple[str, ...]
    born: Mapping[str, int]


@dataclass(slots=True)
class BucketResult:
    """What the audit of a bucket leaves to others.

    Attributes:
        sums: see :class:`~conformance.audit.engine.Run`.
        ranges: of row ids.
        vectors: that are stored in files, each with its data file.
        latest: the latest version, less its files; ``None`` where the log does not give it.
        live: data files to look at.
        tasks: how many of them were taken out to be looked at already.
    """

    sums: list[tuple[int, Sum]] = field(default_factory=list)
    ranges: list[IdRange] = field(default_factory=list)
    vectors: list[tuple[str, str]] = field(default_factory=list)
    latest: State | None = None
    live: list[FileBatch] = field(default_factory=list)
    tasks: int = 0


def latest_of(left: Iterable[BucketResult]) -> State | None:
    """Return the latest version, which every bucket that knows it gives; ``None`` for none."""
    return next((each.latest for each in left if each.latest is not None), None)


def _listed(document: Document, bucket: Bucket) -> Document:
    """Return a checksum with those of its ``allFiles`` that are in the bucket."""
    listed = document.value.get("allFiles") if isinstance(document.value, dict) else None
    if not isinstance(listed, list):
        return document

    def here(item: Any) -> bool:
        key = file_key(item) if isinstance(item, dict) else None
        return bucket.has(key[0] if key else "")

    kept = [item for item in listed if here(item)]
    return replace(document, value={**document.value, "allFiles": kept})


def audit_bucket(
    job: Job, small: SmallLog, number: int, pieces: Iterable[Piece]
) -> Iterator[Finding | BucketResult]:
    """Audit a table by the file actions of one bucket, and yield what is left to others last."""
    storage, options = job.storage(), job.options
    with within_limits(options.limits, "audit"):
        log = small.of_bucket(storage, Bucket(number, job.buckets), pieces)
        run = Run(Checker(storage, log, options.data, whole=False, first=number == 0, now=job.now))
        yield from options.findings(run.run())
        yield _left(run, data=options.data)


def _left(run: Run, *, data: bool) -> BucketResult:
    left = BucketResult(run.sums)
    view = run.latest
    if view is None:
        return left
    left.ranges = id_ranges(view)
    left.vectors = list(stored_vectors(view))
    left.latest = view.state.without_files()
    if data:
        left.live = list(_live(view))
    return left


def _live(view: VersionView) -> Iterator[FileBatch]:
    adds: list[str] = []
    born: dict[str, int] = {}
    size, last = 0, None
    for (path, _), body in sorted(view.state.adds.items(), key=lambda item: str(item[0])):
        if path != last and (size >= _BYTES or len(adds) >= _FILES):
            yield FileBatch(size, tuple(adds), born)
            adds, born, size = [], {}, 0
        last = path
        adds.append(json.dumps({"add": {key: body[key] for key in _ADD if key in body}}))
        first = view.state.seen.get(path)
        if first is not None:
            born[path] = first
        size += body["size"] if type(body.get("size")) is int and body["size"] > 0 else 0
    if adds:
        yield FileBatch(size, tuple(adds), born)


def audit_files(job: Job, latest: State, lives: Iterable[FileBatch]) -> Iterator[Finding]:
    """Check some live data files against what the log says of them."""
    texts: list[str] = []
    born: dict[str, int] = {}
    for live in lives:
        texts += live.adds
        born |= live.born
    state = latest.without_files()
    state.apply(latest.version, json_lines("", enumerate(text.encode() for text in texts)))
    for path, version in born.items():
        state.seen.versions[state.index.path_code(path)] = version
    layout = Layouts().get(state.protocol, state.metadata)
    view = VersionView(job.storage(), state, layout, Log((), {}, (), (), {}, None), job.now)
    with within_limits(job.options.limits, "audit"):
        for check in checks_of("files"):
            if not check.whole:
                yield from job.options.findings(check.run(view))


def audit_whole(job: Job, small: SmallLog, left: Sequence[BucketResult]) -> Iterator[Finding]:
    """Run the checks that need all files of a version, over what the buckets left."""
    storage, options, now = job.storage(), job.options, job.now
    with within_limits(options.limits, "audit"):
        log = small.of_bucket(storage, Bucket(0, 1), ())
        found: list[Iterable[Finding]] = [
            check.run(LogView(storage, log, now)) for check in checks_of("log") if check.whole
        ]
        for version, total in _summed(left):
            match total:
                case Balance():
                    found.append(unbalanced(log.commits[version].path, total))
                case RowChanges():
                    found.append(differing_changes(log.commits[version].path, total))
                case Moved():
                    found.append(changed_rows(total))
                case Measure():
                    state = State()
                    state.version = version
                    layout = Layouts().get(None, None)
                    view = VersionView(storage, state, layout, log, now)
                    subject = ChecksumView(log.checksums[version], view, total)
                    found += [check.run(subject) for check in checks_of("checksum") if check.whole]
        found.append(overlaps(each for part in left for each in part.ranges))
        found.append(shared_vectors(sorted(each for part in left for each in part.vectors)))
        latest = latest_of(left)
        if latest is not None:
            layout = Layouts().get(latest.protocol, latest.metadata)
            view = VersionView(storage, State(), layout, log, now)
            asked = [*checks_of("version"), *(checks_of("files") if options.data else ())]
            found += [check.run(view) for check in asked if check.whole]
        for each in found:
            yield from options.findings(each)


def _summed(parts: Iterable[BucketResult]) -> Iterator[tuple[int, Any]]:
    """Yield each version with each kind of sum that the parts have for it."""
    found: dict[tuple[int, str], Any] = {}
    for version, each in (pair for part in parts for pair in part.sums):
        key = version, type(each).__name__
        found[key] = found[key] + each if key in found else each
    yield from (
        (version, total) for (version, _), total in sorted(found.items(), key=lambda item: item[0])
    )
