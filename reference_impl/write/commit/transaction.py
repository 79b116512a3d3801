"""A transaction: actions that are staged on a version and committed as the next one.

Implements "Delta Log Entries", "Commit Provenance Information", "In-Commit Timestamps" and the
writer requirements of what every commit must keep. A commit is one file that appears at once or not
at all; when another writer takes the version first, the transaction is checked against what that
writer did and tried again on top of it.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from reference_impl.errors import (
    AppendOnlyViolation,
    CommitConflict,
    CommitOutcomeUnknown,
    InvalidLogSegment,
    InvalidMetadata,
    InvalidTableError,
)
from reference_impl.filters import Node
from reference_impl.log.commits import parse_commit
from reference_impl.log.names import LOG_DIR, commit_name
from reference_impl.model.actions import DomainMetadata, Metadata, Protocol, Txn
from reference_impl.model.features import is_true
from reference_impl.model.file_actions import to_objects
from reference_impl.model.ranges import INT64
from reference_impl.model.wire import LogPlace
from reference_impl.places import decode_path
from reference_impl.scan.skipping import may_match
from reference_impl.snapshot.history import ICT_PROVENANCE
from reference_impl.snapshot.segment import list_log
from reference_impl.snapshot.snapshot import Snapshot, read_commit
from reference_impl.storage import Storage
from reference_impl.write.clock import now
from reference_impl.write.commit.commit_file import encode_commit, encode_text, require_text
from reference_impl.write.commit.conflicts import ReadWriteSet, check_conflict
from reference_impl.write.commit.post_commit import ENGINE, Committed, after_commit
from reference_impl.write.features.iceberg import is_iceberg_compatible
from reference_impl.write.features.row_ids import ROW_TRACKING_SUSPENDED, assign_row_ids
from reference_impl.write.features.target import Target
from reference_impl.write.files.clustering import clustering_leaves, ensure_clustering_statistics
from reference_impl.write.files.live_files import LiveFile, live_files
from reference_impl.write.files.orphans import cleanup_on_failure, is_refusal
from reference_impl.write.statistics import ensure_num_records

_ATTEMPTS: Final = 200
_MAX_WAIT_SECONDS: Final = 0.25
_STUCK: Final = 8
"""Attempts when a commit file exists and no listing has it."""
ICT: Final = "inCommitTimestamp"


@dataclass(slots=True)
class _Staged:
    """Staged actions; file actions as wire bodies."""

    adds: list[dict[str, Any]] = field(default_factory=list)
    removes: list[dict[str, Any]] = field(default_factory=list)
    cdc: list[dict[str, Any]] = field(default_factory=list)
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    txns: dict[str, Txn] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)


class Transaction:
    """One change of a table, prepared on a version.

    Attributes:
        storage: the table's storage.
        base: the version that it is prepared on; ``None`` for a table that is to be created.
        read_write_set: for conflict detection.
        created: paths of the files that were written for it, or begun: no version references
            them until the commit does. A path is listed before its file is written.
    """

    def __init__(
        self, on: Snapshot | Storage, operation: str, parameters: Mapping[str, Any]
    ) -> None:
        """Begin on a version, or with a table that is to be created.

        Args:
            on: the version that is read; the storage of a table that is to be created.
            operation: name of the operation, for the history.
            parameters: its parameters, for the history; values are written as JSON.

        Raises:
            UnsupportedError: the table needs what this implementation does not write.
        """
        base = on if isinstance(on, Snapshot) else None
        self.base = base
        self.storage: Storage = on.storage if isinstance(on, Snapshot) else on
        self.created: list[str] = []
        self.read_write_set = ReadWriteSet()
        self._operation = operation
        self._parameters = parameters
        self._id = str(uuid.uuid4())
        self._staged = _Staged()
        self._stuck = 0
        self._read_version = base.version if base is not None else None
        self._read_target = Target.of(base.protocol, base.metadata) if base is not None else None
        self._target = self._read_target

    @property
    def target(self) -> Target:
        """Protocol and metadata for written rows, staged changes included.

        Raises:
            CommitConflict: the table is not created yet, and no metadata is staged.
        """
        if self._target is None:
            raise CommitConflict("the transaction creates a table and has no metadata yet")
        return self._target

    @property
    def read_target(self) -> Target:
        """Protocol and metadata of the version that was read."""
        assert self._read_target is not None
        return self._read_target

    def define(self, protocol: Protocol, metadata: Metadata) -> None:
        """Stage a protocol and metadata, those of them that are not in force.

        Raises:
            UnsupportedError: this implementation does not write tables that are so defined.
            InvalidTableError: they contradict each other.
        """
        self._target = Target.of(protocol, metadata)
        base = self.base
        self._staged.protocol = protocol if base is None or protocol != base.protocol else None
        self._staged.metadata = metadata if base is None or metadata != base.metadata else None

    def record_read(self, predicate: Node | None, files: pa.Table) -> None:
        """Add rows for which a predicate is true, all for ``None``, to the read set.

        ``files`` are the add actions, in wire columns, of the files that were opened.
        """
        if predicate is None:
            self.read_write_set.reads_all = True
        else:
            self.read_write_set.predicates.append(predicate)
        self.read_write_set.files |= {decode_path(str(p)) for p in files.column("path").to_pylist()}

    def open_files(self, predicate: Node | None = None) -> Iterator[LiveFile]:
        """Return the live files that may hold rows for which a predicate is true, all for ``None``.

        They count as read. Errors are those of
        :func:`~reference_impl.write.files.live_files.live_files`.
        """
        assert self.base is not None
        target, adds = self.read_target, self.base.adds()
        if predicate is not None:
            adds = adds.filter(may_match(adds, predicate, target.table))
        self.record_read(predicate, adds)
        return live_files(self.storage, target, adds)

    def add(self, files: Iterable[dict[str, Any]]) -> None:
        """Stage add actions, given as their bodies."""
        self._staged.adds.extend(files)

    def add_changes(self, files: Iterable[dict[str, Any]]) -> None:
        """Stage cdc actions, given as their bodies."""
        self._staged.cdc.extend(files)

    def remove(self, files: pa.Table, *, data_change: bool = True) -> None:
        """Stage the removal of live files, given as their add actions in wire columns.

        Raises:
            AppendOnlyViolation: the table is append-only and rows would go.
        """
        # Obeys APP-002 APP-004.
        if data_change and files.num_rows and self.target.active("appendOnly"):
            raise AppendOnlyViolation(
                f"the table is append-only: {self._operation} would remove rows",
                hint="unset delta.appendOnly first",
            )
        bodies, timestamp = list(to_objects(files)), now()
        self._staged.removes += [
            remove_of(add, timestamp, data_change=data_change) for add in bodies
        ]
        gone = {decode_path(add["path"]) for add in bodies}
        self.read_write_set.files |= gone
        self.read_write_set.removed |= gone

    def remove_all(self) -> None:
        """Stage the removal of every live file.

        Raises:
            AppendOnlyViolation: the table is append-only and has files.
        """
        assert self.base is not None
        adds = self.base.adds()
        self.record_read(None, adds)
        self.remove(adds)

    def set_txn(self, app_id: str, version: int) -> None:
        """Stage the progress of an application.

        Raises:
            InvalidAction: the id is no text.
            RangeExhausted: the version is no 64-bit integer.
        """
        require_text(app_id, "the id of the application", "txn")
        INT64.require(version, "the version of the application", action="txn")
        self._staged.txns[app_id] = Txn(app_id, version, now())
        self.read_write_set.applications.add(app_id)

    def set_domain(self, domain: DomainMetadata) -> None:
        """Stage the configuration of a metadata domain, or its removal."""
        self._staged.domains[domain.domain] = domain
        self.read_write_set.domains.add(domain.domain)

    @property
    def domains(self) -> dict[str, DomainMetadata]:
        """The metadata domains of the base with the staged changes."""
        # Obeys DOM-014.
        held = dict(self.base.domain_metadata) if self.base is not None else {}
        return held | self._staged.domains

    @property
    def is_empty(self) -> bool:
        """Whether nothing is staged."""
        return self._staged == _Staged()

    def cleanup_on_failure(self) -> AbstractContextManager[None]:
        """Remove the files of the transaction where the block fails.

        Nothing is removed once the commit may exist.
        """
        return cleanup_on_failure(self.storage, self.created)

    def commit(self) -> int:
        """Commit, and return the version.

        Checksum and checkpoint are written after the commit: a version is valid without
        either, and a failure is logged. An interrupt (``KeyboardInterrupt``,
        ``SystemExit``) that is raised from here leaves the outcome open: look for
        the commit in the history.

        Raises:
            CommitConflict: another writer's commit does not go with this one, or others were
                faster every time.
            RangeExhausted: a number of the commit, such as the version, would leave its range.
            CommitOutcomeUnknown: the storage failed, and it is unknown whether the
                commit is there, or will be.
            OSError: the storage refused; the commit is not there.
        """
        # Obeys SNAP-008 TXN-004 DATA-005.
        with self.cleanup_on_failure():
            version, lines = self._commit()
        after_commit(Committed(self.storage, self.base, self.target, version, lines))
        return version

    def _commit(self) -> tuple[int, list[dict[str, Any]]]:
        # Obeys WNEW-001 WNEW-002 CRC-001 DOM-005.
        for attempt in range(_ATTEMPTS):
            version = self.base.version + 1 if self.base is not None else 0
            INT64.require(version, "the version", requirement="LOG-003")
            lines = self._commit_actions(version)
            if self._create(version, encode_commit(lines, version)):
                return version, lines
            self._rebase()
            time.sleep(random.uniform(0, min(0.002 * 2**attempt, _MAX_WAIT_SECONDS)))  # noqa: S311  not a secret
        raise CommitConflict(
            f"other writers were faster {_ATTEMPTS} times", hint="repeat the operation later"
        )

    def _create(self, version: int, data: bytes) -> bool:
        """Create the commit file; ``False`` where another writer's has the name.

        Raises:
            CommitOutcomeUnknown: the storage failed, and the commit may be there.
            OSError: the storage refused.
        """
        error: Exception | None = None
        named, self.created[:] = list(self.created), []
        try:
            self.storage.put_if_absent(f"{LOG_DIR}/{commit_name(version)}", data)
        except Exception as failure:  # noqa: BLE001  raised below, unless the commit is there
            error = failure
        if error is None:
            return True
        try:
            # The commit may exist though the response was lost, and a storage that retries
            # may have found its own first attempt.
            if self._is_own_commit(version):
                return True
        except Exception as lost:
            raise CommitOutcomeUnknown(self._id, version, error) from lost
        if not isinstance(error, FileExistsError) and not is_refusal(error):
            raise CommitOutcomeUnknown(self._id, version, error) from error
        self.created += named
        if isinstance(error, FileExistsError):
            return False
        raise error

    def _is_own_commit(self, version: int) -> bool:
        """Return whether the commit of a version is this transaction's own."""
        path = f"{LOG_DIR}/{commit_name(version)}"
        try:
            data = self.storage.get(path)
            info = parse_commit(data, LogPlace(path, version), files=False).info
        except (FileNotFoundError, InvalidTableError):
            return False  # what is malformed is another writer's
        return info is not None and info.raw.get("txnId") == self._id

    def _rebase(self) -> None:
        """Rebase on the latest version, unless a commit in between conflicts."""
        if self.base is None:
            raise CommitConflict(
                "a table was created at this place in the meantime",
                version=0,
                hint="append to it instead",
            )
        listing = list_log(self.storage)
        latest = listing.latest
        assert latest is not None
        self._stuck = self._stuck + 1 if latest == self.base.version else 0
        if self._stuck == _STUCK:
            raise CommitConflict(
                "something that is not a commit file has the name of the next commit",
                path=f"{LOG_DIR}/{commit_name(latest + 1)}",
                version=latest + 1,
                hint="inspect it, and remove it",
            )
        table = self.read_target.table
        for version in range(self.base.version + 1, latest + 1):
            if version not in listing.commits:
                listing = list_log(self.storage, from_start=True)
            file = listing.commits.get(version)
            if file is None:
                raise CommitConflict(
                    f"the commit of version {version} was cleaned up, so that it cannot be judged",
                    version=version,
                    hint="repeat the operation",
                )
            try:
                winner = read_commit(self.storage, file)
            except InvalidLogSegment as error:
                raise CommitConflict(str(error), version=version) from error
            check_conflict(self.read_write_set, winner, table)
        self.base = Snapshot(self.storage, listing, latest)

    def _commit_actions(self, version: int) -> list[dict[str, Any]]:
        """Return the lines of the commit, commitInfo first."""
        # Obeys ICT-006 WLOG-002 WLOG-003 WLOG-004 FA-016 FA-019 FA-021.
        staged, target = self._staged, self.target
        now_ms = now()
        metadata = staged.metadata
        info: dict[str, Any] = {}
        if target.active(ICT):
            timestamp = info["inCommitTimestamp"] = self._in_commit_timestamp(now_ms)
            metadata = self._with_provenance(metadata, version, timestamp)
        adds, domains = self._completed(version)
        info |= self._commit_info(now_ms)
        if target.active("rowTracking"):
            # Obeys RT-053.
            info["tags"] = {"delta.rowTracking.preserved": "true"}
        lines: list[dict[str, Any]] = [{"commitInfo": info}]
        if staged.protocol is not None:
            lines.append({"protocol": staged.protocol.to_wire()})
        if metadata is not None:
            lines.append({"metaData": metadata.to_wire()})
        lines += [{"txn": txn.to_wire()} for txn in staged.txns.values()]
        lines += [{"domainMetadata": domain.to_wire()} for domain in domains.values()]
        lines += [{"remove": body} for body in staged.removes]
        lines += [{"add": body} for body in adds]
        lines += [{"cdc": body} for body in staged.cdc]
        return lines

    def _completed(self, version: int) -> tuple[list[dict[str, Any]], dict[str, DomainMetadata]]:
        """Return add actions and domains, completed as the features of the table ask for it."""
        # Obeys RT-008.
        target, domains = self.target, dict(self._staged.domains)
        suspended = is_true(target.configuration, ROW_TRACKING_SUSPENDED)
        tracked = target.supports("rowTracking") and not suspended
        everywhere = tracked or is_iceberg_compatible(target.protocol, target.metadata)
        adds = ensure_num_records(self.storage, self._staged.adds, everywhere=everywhere)
        clustered = clustering_leaves(target, self.domains)
        if clustered:
            adds = ensure_clustering_statistics(self.storage, target, adds, clustered)
        if tracked:
            adds, mark = assign_row_ids(adds, self.domains, version)
            if mark is not None:
                domains[mark.domain] = mark
        return adds, domains

    def _commit_info(self, timestamp: int) -> dict[str, Any]:
        """Return the body of commitInfo, which describes the operation."""
        # Obeys CINFO-004.
        own = self.read_write_set
        blind = not (own.reads_all or own.predicates or own.files)
        info = {
            "timestamp": timestamp,
            "operation": self._operation,
            "operationParameters": {
                name: value if isinstance(value, str) else encode_text(value, "commitInfo")
                for name, value in self._parameters.items()
            },
            "isolationLevel": "Serializable",
            "isBlindAppend": blind and bool(self._staged.adds),
            "engineInfo": ENGINE,
            "txnId": self._id,
        }
        if self._read_version is not None:
            info["readVersion"] = self._read_version
        return info

    def _in_commit_timestamp(self, timestamp: int) -> int:
        """Return the current time, but at least 1 ms after the previous commit."""
        # Obeys ICT-004 ICT-007 ICT-008 ICT-009 ICT-012.
        base = self.base
        if base is None:
            return timestamp
        before = base.timestamp
        if before is None:
            if not self.read_target.active(ICT):
                return timestamp
            raise InvalidMetadata(
                "the commit with the latest in-commit timestamp is gone",
                version=base.version,
                action="commitInfo",
                stage="commit",
                requirement="ICT-005",
            )
        return INT64.require(
            max(timestamp, before + 1), "the in-commit timestamp", requirement="ICT-005"
        )

    def _with_provenance(
        self, metadata: Metadata | None, version: int, timestamp: int
    ) -> Metadata | None:
        """Add the enablement version and timestamp, unless it is enabled from version 0."""
        # Obeys ICT-010 ICT-011.
        if self.base is None or self.read_target.active(ICT):
            return metadata
        assert metadata is not None
        provenance = dict(zip(ICT_PROVENANCE, (str(version), str(timestamp)), strict=True))
        return replace(metadata, configuration={**metadata.configuration, **provenance})


def add_of(add: Mapping[str, Any], *, data_change: bool) -> dict[str, Any]:
    """Return the body of an add action that stages a file again."""
    return {**add, "dataChange": data_change}


def remove_of(add: Mapping[str, Any], timestamp: int, *, data_change: bool) -> dict[str, Any]:
    """Return the body of the remove action of a live file.

    Args:
        add: the body of its add action.
        timestamp: when it is removed, in ms since the epoch.
        data_change: whether rows are deleted, not only moved.
    """
    # Obeys REM-014 RT-030 REM-007 REM-008 FA-005.
    body = {
        "path": add["path"],
        "deletionTimestamp": timestamp,
        "dataChange": data_change,
        "extendedFileMetadata": True,
        "partitionValues": add["partitionValues"],
        "size": add["size"],
        "tags": add.get("tags", {}),
    }
    kept = ("stats", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    return body | {name: add[name] for name in kept if name in add}
