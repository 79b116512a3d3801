"""The state of a table at one version.

Implements "Action Reconciliation" and "Delta Table Specification". Protocol, metadata and the other
small actions are loaded without touching file actions; those are reconciled on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

import pyarrow as pa

from reference_impl.errors import (
    CheckpointFileNotFound,
    DeltaError,
    InvalidAction,
    InvalidLogSegment,
    InvalidRatifiedCommits,
    InvalidTableError,
    LimitExceeded,
    MalformedCommit,
    MissingMetadata,
    MissingProtocol,
)
from reference_impl.limits import Limits, budget, exceeded, limited
from reference_impl.log.checkpoints.reader import CheckpointReader, FileBatches
from reference_impl.log.commits import Commit, parse_commit
from reference_impl.log.names import LOG_DIR, LogFile, commit_name
from reference_impl.log.ratified import RatifiedCommits
from reference_impl.model.actions import Action, CommitInfo, DomainMetadata, Metadata, Protocol, Txn
from reference_impl.model.column_mapping import check_annotations, column_mapping_mode
from reference_impl.model.features import active, supported
from reference_impl.model.protocol import check_readable
from reference_impl.model.wire import LogPlace
from reference_impl.snapshot.replay import CommittedFiles, Reconciled, reconcile
from reference_impl.snapshot.segment import Listing, Segment, commit_groups, list_log, segments
from reference_impl.snapshot.table_schema import (
    TableSchema,
    table_schema,
    typed_files,
    validate_metadata,
)
from reference_impl.storage import Storage
from reference_impl.storage.threads import in_order
from reference_impl.types.model import Struct

_T = TypeVar("_T")

_CACHED_BYTES: Final = 1 << 20
"""Bytes of commits that are cached between reading small and file actions."""

_LISTINGS: Final = 3
"""How often the log is listed where its files vanish before they are read."""


def load(
    storage: Storage,
    version: int | None = None,
    *,
    from_start: bool = False,
    ratified: RatifiedCommits | None = None,
) -> Snapshot:
    """List the log and load a version; again where a cleanup deletes what was listed.

    The arguments and errors are those of :func:`~reference_impl.snapshot.segment.list_log` and
    of :class:`Snapshot`.
    """
    listing = list_log(storage, version, from_start=from_start, ratified=ratified)
    for _ in range(_LISTINGS - 1):
        try:
            return Snapshot(storage, listing, version)
        except (InvalidLogSegment, CheckpointFileNotFound):
            found = list_log(storage, version, from_start=from_start, ratified=ratified)
            if found == listing:
                raise
            listing = found
    return Snapshot(storage, listing, version)


def read_commit(storage: Storage, file: LogFile, *, files: bool = True) -> Commit:
    """Read a commit or compaction; see :func:`reference_impl.log.commits.parse_commit`.

    Raises:
        InvalidLogSegment: the file is gone.
        MalformedCommit: a compaction is empty.
    """
    path = f"{LOG_DIR}/{file.name}"
    try:
        data = storage.get(path) if file.content is None else file.content
    except FileNotFoundError:
        raise InvalidLogSegment("a commit is gone", path=path, version=file.end) from None
    compacted = file.kind == "compaction"
    if compacted and not data.strip():
        # Reconciled commits leave at least their metadata or files; the commits know better.
        raise MalformedCommit("a compaction is empty", path=path, version=file.end)
    return parse_commit(data, LogPlace(path, file.end), files=files, compacted=compacted)


def in_commit_timestamp(info: CommitInfo | None, version: int) -> int:
    """Return the in-commit timestamp, in ms, of a version whose commit must have one.

    Raises:
        InvalidAction: the commit has none.
    """
    if info is None or info.in_commit_timestamp is None:
        raise InvalidAction(
            "in-commit timestamps are enabled and the commit has none",
            path=f"{LOG_DIR}/{commit_name(version)}",
            version=version,
            action="commitInfo",
            requirement="ICT-005",
        )
    return info.in_commit_timestamp


@limited
class Snapshot:
    """One version of a table.

    Attributes:
        version: the table version.
        protocol: the protocol in force.
        metadata: the metadata in force.
        schema: the table schema.
        txns: application id to its latest transaction.
        domain_metadata: domain to its configuration, removed domains left out.
        storage: the table's storage.
        limits: those of the operation that loaded it; they hold for what it is asked later.
        listing: the listing that the version was loaded from.
        segment: the log files that it was loaded from.
    """

    def __init__(self, storage: Storage, listing: Listing, version: int | None = None) -> None:
        """Load the small actions of a version and check that the table can be read.

        Raises:
            NotFoundError: there is no such version.
            InvalidTableError: the log breaks the protocol.
            InvalidRatifiedCommits: commits were handed in for a table that no catalog manages.
            UnsupportedError: the table needs what this implementation does not read.
        """
        self.storage = storage
        self.limits: Limits = budget().limits
        self.listing = listing
        self._segments = segments(listing, version)
        self._reconciled: Reconciled | None = None
        self._table: TableSchema | None = None
        self._cached_commits: list[Commit] | None = None
        self._damaged = 0
        self.segment: Segment
        self._reader: CheckpointReader | None
        self._start_from(next(self._segments))
        state = self._with_fallback(self._load)
        self.version = self.segment.version
        ratified = listing.ratified is not None
        self.protocol: Protocol = state.required("protocol", self.version)
        check_readable(self.protocol, ratified=ratified)
        self.metadata: Metadata = state.required("metaData", self.version)
        self._refuse_unmanaged(managed=state.managed)
        self.schema: Struct = validate_metadata(self.metadata, self.version)
        check_annotations(self.schema, column_mapping_mode(self.protocol, self.metadata))
        self.txns: Mapping[str, Txn] = state.txns
        self.domain_metadata: Mapping[str, DomainMetadata] = state.live_domains()

    @property
    def table(self) -> TableSchema:
        """The table schema of the version, with partition columns and column mapping.

        Raises:
            InvalidTableError: what only reading data files relies on breaks the protocol.
        """
        if self._table is None:
            self._table = table_schema(self.protocol, self.metadata, self.version)
        return self._table

    def adds(self) -> pa.Table:
        """Return the live logical files, one row each, in the columns of ``ADD_SCHEMA``.

        ``path`` is written as in the log. ``stats`` is JSON text also where a checkpoint holds
        statistics as a struct only.

        Raises:
            InvalidTableError: the file actions break the protocol.
        """
        return self._files().adds

    def files(self) -> pa.Table:
        """Return the live logical files with typed partition values and parsed statistics.

        The columns are those of :meth:`adds`, except that ``partitionValues`` is a struct of
        the partition columns and ``stats`` a struct, both by logical names. Parsing the
        statistics of a million files takes about three times the processor time of :meth:`adds`,
        which serves callers that need them as JSON or not at all.

        Raises:
            InvalidTableError: file actions or partition values break the protocol.
        """
        return typed_files(self.adds(), self.table)

    def tombstones(self) -> pa.Table:
        """Return the removed logical files that the log still holds, in ``REMOVE_SCHEMA``."""
        # Obeys REC-011.
        return self._files().removes

    @property
    def commit_info(self) -> CommitInfo | None:
        """The commitInfo of the version's own commit; ``None`` without one."""
        # Obeys REC-022 REC-023 CINFO-003.
        file = self.listing.commits.get(self.version)
        return read_commit(self.storage, file, files=False).info if file is not None else None

    @property
    def timestamp(self) -> int | None:
        """When the version was committed, in milliseconds since the epoch.

        The in-commit timestamp where that is active, else the commit's modification time;
        ``None`` when the commit was cleaned up.

        Raises:
            InvalidAction: in-commit timestamps are active and the commit has none.
        """
        if self.version not in self.listing.commits:
            return None
        if not active(self.protocol, self.metadata, "inCommitTimestamp"):
            return self.listing.modified(self.version)
        return in_commit_timestamp(self.commit_info, self.version)

    def _refuse_unmanaged(self, *, managed: bool) -> None:
        """Refuse ratified commits for a table that is not catalog-managed."""
        ratified = self.listing.ratified
        if ratified is None or managed:
            return
        handed = ratified.by_version()
        stray = next((file for file in self.segment.commits if file.version in handed), None)
        if stray is not None:
            raise InvalidRatifiedCommits(
                "a ratified commit is given for a table that no catalog manages",
                path=f"{LOG_DIR}/{stray.name}",
                version=stray.version,
                requirement="CAT-001",
            )

    def _start_from(self, segment: Segment) -> None:
        self.segment, self._cached_commits = segment, None
        start = segment.checkpoint
        self._reader = CheckpointReader(self.storage, start) if start is not None else None

    def _with_fallback(self, load: Callable[[], _T]) -> _T:
        """Load, going on to the next segment while a checkpoint or compaction is damaged.

        The log may hold the version also without that file. When no segment is left, the first
        fault is the one to report.

        Raises:
            LimitExceeded: more files are at fault than the limits allow.
        """
        first: DeltaError | None = None
        while True:
            try:
                return load()
            except _FallbackNeeded as fault:
                first = first or fault.error
            self._damaged += 1
            if self._damaged > self.limits.checkpoints:
                found = f"{self._damaged} checkpoints and compactions are damaged, and maybe more"
                raise exceeded("checkpoints", found) from first
            following = self._next_segment()
            if following is None:
                raise first from None
            self._start_from(following)

    def _load(self) -> State:
        state = State()
        if self._reader is not None:
            with _recoverable():
                state.apply(self._reader.actions())
        cached = self._fits_cache()
        groups = self._in_groups(lambda files: self._commits(files, file_actions=cached))
        commits: Iterable[Commit] = chain.from_iterable(groups)
        if cached:
            commits = self._cached_commits = list(commits)
        for number, commit in enumerate(commits):
            state.apply(commit.actions)
            if self._reader is None and number == 0:
                # Version 0 must hold both; a later commit does not repair it.
                state.required("protocol", 0)
                state.required("metaData", 0)
        return state

    def _next_segment(self) -> Segment | None:
        """Return the next segment, going back to before the hinted checkpoint if need be."""
        following = next(self._segments, None)
        if following is None and self.listing.start:
            start, target = self.listing.start, self.segment.version
            self.listing = list_log(self.storage, from_start=True, ratified=self.listing.ratified)
            self._segments = segments(self.listing, target, before=start)
            following = next(self._segments, None)
        return following

    def _files(self) -> Reconciled:
        if self._reconciled is None:
            self._reconciled = self._with_fallback(self._reconcile)
            self._cached_commits = None
        return self._reconciled

    def _reconcile(self) -> Reconciled:
        compacted = any(file.kind == "compaction" for file in self.segment.commits)
        with _recoverable() if compacted else nullcontext():
            parts: Iterable[CommittedFiles]
            if self._cached_commits is not None:
                parts = [CommittedFiles.of(self._cached_commits)]
            else:
                parts = self._in_groups(lambda files: CommittedFiles.of(self._commits(files)))
            committed = CommittedFiles.joined(parts)
            threads = 1 if self._reader is None else self._reader.threads
            adds, removes = self._checkpointed("add"), self._checkpointed("remove")
            return reconcile(adds, removes, committed, threads)

    def _checkpointed(self, action: str) -> Iterator[FileBatches]:
        if self._reader is None:
            return
        with _recoverable():
            for batches in self._reader.file_actions(action):
                yield _recoverable_batches(batches)

    def _fits_cache(self) -> bool:
        """Return whether the commits of the segment fit into the cache, file actions included."""
        entries, commits = self.listing.entries, self.segment.commits
        return all(file.kind == "commit" and file.version in entries for file in commits) and (
            sum(entries[file.version].size for file in commits) <= _CACHED_BYTES
        )

    def _in_groups(self, work: Callable[[Sequence[LogFile]], _T]) -> Iterator[_T]:
        """Process the commits of the segment in ascending order, in groups."""
        sizes = {version: entry.size for version, entry in self.listing.entries.items()}
        groups, threads = commit_groups(self.segment.commits, sizes)
        return in_order(work, groups, threads)

    def _commits(self, files: Sequence[LogFile], *, file_actions: bool = True) -> list[Commit]:
        """Read commits and compactions; damage of a compaction is a fallback."""
        found = []
        for file in files:
            budget().check_time()
            with _recoverable() if file.kind == "compaction" else nullcontext():
                found.append(read_commit(self.storage, file, files=file_actions))
        return found


@dataclass(slots=True)
class State:
    """The newest of each small action while the log is replayed."""

    single: dict[str, Any] = field(default_factory=dict)
    txns: dict[str, Txn] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    managed: bool = False

    def apply(self, actions: Iterable[Action]) -> None:
        """Take actions that are newer."""
        # Obeys META-002 TXN-005 DOM-012 DOM-013 PROTO-010 REC-001 REC-012 REC-013 REC-014 REC-015
        # REC-016 REC-017.
        for action in actions:
            match action:
                case Protocol():
                    self.single["protocol"] = action
                    self.managed = self.managed or "catalogManaged" in supported(action)
                case Metadata():
                    self.single["metaData"] = action
                case Txn():
                    self.txns[action.app_id] = action
                case DomainMetadata():
                    self.domains[action.domain] = action
                case _:
                    pass

    def live_domains(self) -> dict[str, DomainMetadata]:
        """Return the domains that are not removed."""
        return {name: domain for name, domain in self.domains.items() if not domain.removed}

    def required(self, name: str, version: int) -> Any:
        """Return the protocol or the metadata, by its wire name.

        Raises:
            InvalidTableError: the log has none.
        """
        if name not in self.single:
            error = MissingProtocol if name == "protocol" else MissingMetadata
            raise error(f"the log has no {name} action", action=name, version=version)
        return self.single[name]


class _FallbackNeeded(Exception):  # noqa: N818  a signal to _with_fallback
    """A checkpoint or compaction is damaged; other files of the log can replace it."""

    def __init__(self, error: DeltaError) -> None:
        super().__init__(str(error))
        self.error = error


def _recoverable_batches(batches: FileBatches) -> FileBatches:
    with _recoverable():
        for batch in batches:
            yield partial(_recoverable_batch, batch)


def _recoverable_batch(batch: Callable[[], pa.RecordBatch]) -> pa.RecordBatch:
    with _recoverable():
        return batch()


@contextmanager
def _recoverable() -> Iterator[None]:
    """Turn an error of a file that others can replace into a fallback."""
    try:
        yield
    except (InvalidTableError, CheckpointFileNotFound, LimitExceeded) as error:
        raise _FallbackNeeded(error) from error
