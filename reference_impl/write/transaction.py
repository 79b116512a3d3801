"""A transaction: actions that are staged on a version and committed as the next one.

Serves "Delta Log Entries", "Commit Provenance Information", "In-Commit Timestamps" and the writer
requirements of what every commit must keep. A commit is one file that appears at once or not
at all; when another writer takes the version first, the transaction is checked against what that
writer did and tried again on top of it.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyarrow as pa

from reference_impl.actions import DomainMetadata, Metadata, Protocol, Txn
from reference_impl.commits import parse_commit
from reference_impl.errors import (
    AppendOnlyViolation,
    CommitConflict,
    InvalidLogSegment,
    InvalidMetadata,
)
from reference_impl.filters import Node
from reference_impl.log_names import LOG_DIR, commit_name
from reference_impl.places import decode_path
from reference_impl.segment import list_log
from reference_impl.snapshot import Snapshot, read_commit
from reference_impl.storage import Storage
from reference_impl.wire import Place
from reference_impl.write.checkpoint import write_checkpoint
from reference_impl.write.checksum import State, Totals, read_totals, write_checksum
from reference_impl.write.clustering import clustering_leaves, complete
from reference_impl.write.conflicts import Footprint, check_conflict
from reference_impl.write.data_files import now
from reference_impl.write.iceberg import is_iceberg
from reference_impl.write.records import with_records
from reference_impl.write.row_ids import assign_row_ids
from reference_impl.write.target import Target

__all__ = ["ENGINE", "ICT", "ICT_PROVENANCE", "Transaction", "remove_of"]

ENGINE: Final = "delta-tck-reference"
"""Who commits, in ``commitInfo.engineInfo``."""

_ATTEMPTS: Final = 200
_LONGEST_WAIT: Final = 0.25
_STUCK: Final = 8
"""Attempts after which a name that is taken, though no listing tells of it, is given up."""
_CHECKPOINT_INTERVAL: Final = "delta.checkpointInterval"
_DEFAULT_INTERVAL: Final = 10
_SUSPENDED: Final = "delta.rowTrackingSuspended"
ICT: Final = "inCommitTimestamp"
ICT_PROVENANCE: Final = (
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
)
"""Properties that tell since which version, and which moment, commits carry their time."""


@dataclass(slots=True)
class _Staged:
    """Actions that wait for the commit; file actions as wire bodies."""

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
        footprint: what it read, for conflicts with others.

    """

    def __init__(
        self,
        storage: Storage,
        base: Snapshot | None,
        operation: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        clock: Callable[[], int] = now,
    ) -> None:
        """Begin on a version.

        Args:
            storage: the table's storage.
            base: the version that is read.
            operation: name of the operation, for the history.
            parameters: its parameters, for the history; values are spelt as JSON.
            clock: the time in ms since the epoch.

        Raises:
            UnsupportedError: the table needs what this implementation does not write.

        """
        self.base = base
        self.footprint = Footprint()
        self.storage = storage
        self._operation = operation
        self._parameters = dict(parameters or {})
        self._clock = clock
        self._id = str(uuid.uuid4())
        self._staged = _Staged()
        self._read_version = base.version if base is not None else None
        self._target = Target.of(base.protocol, base.metadata) if base is not None else None

    @property
    def target(self) -> Target:
        """What rows of this transaction are written under: staged metadata count already."""
        if self._target is None:
            raise CommitConflict("the transaction creates a table and has no metadata yet")
        return self._target

    @property
    def read_target(self) -> Target:
        """What the version that was read is under."""
        assert self.base is not None
        return Target.of(self.base.protocol, self.base.metadata)

    def define(self, protocol: Protocol | None = None, metadata: Metadata | None = None) -> None:
        """Stage another protocol, other metadata, or both.

        Raises:
            UnsupportedError: this implementation does not write tables that are so defined.
            InvalidTableError: they contradict each other.

        """
        held = self._target
        protocol = protocol or (held.protocol if held else None)
        metadata = metadata or (held.metadata if held else None)
        assert protocol is not None
        assert metadata is not None
        self._target = Target.of(protocol, metadata)
        base = self.base
        self._staged.protocol = protocol if base is None or protocol != base.protocol else None
        self._staged.metadata = metadata if base is None or metadata != base.metadata else None
        self.footprint.changes_metadata = True

    def read(self, condition: Node | None, files: pa.Table) -> None:
        """Record that rows for which a condition is true were looked at, all for ``None``.

        ``files`` are the add actions, in wire columns, of the files that were opened.
        """
        if condition is None:
            self.footprint.reads_all = True
        else:
            self.footprint.conditions.append(condition)
        self.footprint.files |= {decode_path(str(p)) for p in files.column("path").to_pylist()}

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
        if data_change and files.num_rows and self.target.active("appendOnly"):
            raise AppendOnlyViolation(
                f"the table is append-only: {self._operation} would remove rows",
                hint="unset delta.appendOnly first",
            )
        rows = files.to_pylist(maps_as_pydicts="strict")
        moment = self._clock()
        self._staged.removes += [remove_of(row, moment, data_change=data_change) for row in rows]
        paths = {decode_path(row["path"]) for row in rows}
        self.footprint.files |= paths
        self.footprint.removed |= paths

    def set_txn(self, app_id: str, version: int) -> None:
        """Stage the progress of an application."""
        self._staged.txns[app_id] = Txn(app_id, version, self._clock())
        self.footprint.applications.add(app_id)

    def set_domain(self, domain: DomainMetadata) -> None:
        """Stage the configuration of a metadata domain, or its removal."""
        self._staged.domains[domain.domain] = domain
        self.footprint.domains.add(domain.domain)

    @property
    def domains(self) -> dict[str, DomainMetadata]:
        """The metadata domains as they are to be: those of the base, and what is staged."""
        held = dict(self.base.domain_metadata) if self.base is not None else {}
        return held | self._staged.domains

    @property
    def is_empty(self) -> bool:
        """Whether nothing is staged."""
        return self._staged == _Staged()

    def commit(self) -> int:
        """Commit, and give the version.

        Checksum and checkpoint follow the commit as far as the storage lets them: a version
        stands without either.

        Raises:
            CommitConflict: another writer's commit does not go with this one, or others were
                faster every time.
            OSError: the storage failed, and the commit is not there, as far as it could be asked.

        """
        stuck = 0
        for attempt in range(_ATTEMPTS):
            version = self.base.version + 1 if self.base is not None else 0
            lines, timestamp = self._content(version)
            path = f"{LOG_DIR}/{commit_name(version)}"
            data = "".join(
                f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in lines
            )
            try:
                self.storage.put_if_absent(path, data.encode())
            except FileExistsError:
                won = self._holds(version)
            except Exception:
                # The answer may have been lost and not the commit.
                if not self._holds(version):
                    raise
                won = True
            else:
                won = True
            if won:
                self._after(version, lines, timestamp)
                return version
            self._rebase()
            stuck = stuck + 1 if self.base is not None and self.base.version < version else 0
            if stuck == _STUCK:
                raise CommitConflict(
                    "the name of the next commit is taken by what is no commit file",
                    path=path,
                    version=version,
                    hint="look at what lies there, and remove it",
                )
            time.sleep(random.uniform(0, min(0.002 * 2 ** min(attempt, 8), _LONGEST_WAIT)))  # noqa: S311  not a secret
        raise CommitConflict(
            f"other writers were faster {_ATTEMPTS} times", hint="repeat the operation later"
        )

    def _holds(self, version: int) -> bool:
        """Tell whether the commit of a version is this transaction's own."""
        path = f"{LOG_DIR}/{commit_name(version)}"
        try:
            data = self.storage.get(path)
        except FileNotFoundError:
            return False
        info = parse_commit(data, Place(path, version), files=False).info
        return info is not None and info.raw.get("txnId") == self._id

    def _rebase(self) -> None:
        """Go on from the latest version, if what was committed in between allows it."""
        if self.base is None:
            raise CommitConflict(
                "a table was created at this place in the meantime",
                version=0,
                hint="append to it instead",
            )
        listing = list_log(self.storage)
        latest = listing.latest
        assert latest is not None
        table = self.read_target.table
        for version in range(self.base.version + 1, latest + 1):
            file = listing.commits.get(version)
            if file is None:
                listing = list_log(self.storage, whole=True)
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
            check_conflict(self.footprint, winner, table)
        self.base = Snapshot(self.storage, listing, latest)

    def _content(self, version: int) -> tuple[list[dict[str, Any]], int | None]:
        """Give the lines of the commit, commitInfo first, and the in-commit timestamp."""
        staged, target = self._staged, self.target
        moment = self._clock()
        timestamp = None
        metadata = staged.metadata
        if target.active(ICT):
            timestamp = self._in_commit_timestamp(moment)
            metadata = self._with_provenance(metadata, version, timestamp)
        domains = dict(staged.domains)
        tracked = target.supports("rowTracking") and not target.flag(_SUSPENDED)
        everywhere = tracked or is_iceberg(target.protocol, target.metadata)
        adds = with_records(self.storage, staged.adds, everywhere=everywhere)
        clustered = clustering_leaves(target, self.domains)
        if clustered and self.base is not None:
            adds = complete(self.base, target, adds, clustered)
        if tracked:
            adds, mark = assign_row_ids(adds, self.domains, version)
            if mark is not None:
                domains[mark.domain] = mark
        info = self._info(moment, timestamp)
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
        return lines, timestamp

    def _info(self, moment: int, timestamp: int | None) -> dict[str, Any]:
        info: dict[str, Any] = {} if timestamp is None else {"inCommitTimestamp": timestamp}
        footprint = self.footprint
        blind = not (footprint.reads_all or footprint.conditions or footprint.files)
        info |= {
            "timestamp": moment,
            "operation": self._operation,
            "operationParameters": {
                name: value if isinstance(value, str) else json.dumps(value)
                for name, value in self._parameters.items()
            },
            "isolationLevel": "Serializable",
            "isBlindAppend": blind and bool(self._staged.adds),
            "engineInfo": ENGINE,
            "txnId": self._id,
        }
        if self.target.active("rowTracking"):
            info["tags"] = {"delta.rowTracking.preserved": "true"}
        if self._read_version is not None:
            info["readVersion"] = self._read_version
        return info

    def _in_commit_timestamp(self, moment: int) -> int:
        """Give a time later than the commit before this one, whatever the clock says."""
        base = self.base
        if base is None:
            return moment
        before = base.timestamp
        if before is None and not Target.of(base.protocol, base.metadata).active(ICT):
            return moment
        if before is None:
            raise InvalidMetadata(
                "the commit with the latest in-commit timestamp is gone",
                version=base.version,
                stage="commit",
                requirement="ICT-005",
            )
        return max(moment, before + 1)

    def _with_provenance(
        self, metadata: Metadata | None, version: int, timestamp: int
    ) -> Metadata | None:
        """Tell since when commits carry their time, where it is not from version 0 on."""
        base = self.base
        if base is None or Target.of(base.protocol, base.metadata).active(ICT):
            return metadata
        assert metadata is not None
        told = dict(zip(ICT_PROVENANCE, (str(version), str(timestamp)), strict=True))
        return replace(metadata, configuration={**metadata.configuration, **told})

    def _after(
        self, version: int, lines: Sequence[Mapping[str, Any]], timestamp: int | None
    ) -> None:
        """Write what helps readers; the commit stands whatever becomes of it."""
        with suppress(Exception):
            self._write_checksum(version, lines, timestamp)
        interval = self.target.configuration.get(_CHECKPOINT_INTERVAL, "")
        every = int(interval) if interval.isdecimal() and int(interval) else _DEFAULT_INTERVAL
        if version and version % every == 0:
            with suppress(Exception):
                write_checkpoint(Snapshot(self.storage, list_log(self.storage, version), version))

    def _write_checksum(
        self, version: int, lines: Sequence[Mapping[str, Any]], timestamp: int | None
    ) -> None:
        base = self.base
        txns = dict(base.txns) if base is not None else {}
        domains = dict(base.domain_metadata) if base is not None else {}
        txns |= self._staged.txns
        for line in lines:
            body = line.get("domainMetadata")
            if body is not None:
                domains[body["domain"]] = DomainMetadata(
                    body["domain"], body["configuration"], body["removed"]
                )
        protocol, metadata = self.target.protocol, self.target.metadata
        for line in lines:
            if "metaData" in line:
                configuration = line["metaData"]["configuration"]
                metadata = replace(metadata, configuration=configuration)
        live = {name: domain for name, domain in domains.items() if not domain.removed}
        state = State(protocol, metadata, txns, live, timestamp, self._id)
        write_checksum(self.storage, version, state, self._totals(version))

    def _totals(self, version: int) -> Totals:
        base, staged = self.base, self._staged
        if base is None:
            totals: Totals | None = Totals()
        else:
            info = base.commit_info
            own = info is not None and info.raw.get("engineInfo") == ENGINE
            transaction = str(info.raw.get("txnId")) if info is not None and own else ""
            totals = read_totals(self.storage, base.version, transaction) if own else None
        if totals is None or _replaces(staged.adds, staged.removes):
            listing = list_log(self.storage, version)
            return Totals.of(Snapshot(self.storage, listing, version).adds())
        totals.count(staged.adds, 1)
        totals.count(staged.removes, -1)
        return totals


def _replaces(adds: Sequence[Mapping[str, Any]], removes: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether an add may stand for a file that is live: it then counts once, not twice."""
    removed = {body["path"] for body in removes}
    return any(not body["dataChange"] and body["path"] not in removed for body in adds)


def remove_of(add: Mapping[str, Any], moment: int, *, data_change: bool) -> dict[str, Any]:
    """Give the body of the remove action of a live file.

    Args:
        add: the body of its add action.
        moment: when it is removed, in ms since the epoch.
        data_change: whether rows go with it, and are not only moved.

    """
    body = {
        "path": add["path"],
        "deletionTimestamp": moment,
        "dataChange": data_change,
        "extendedFileMetadata": True,
        "partitionValues": add["partitionValues"],
        "size": add["size"],
        "tags": add.get("tags") or {},
    }
    for name in ("stats", "deletionVector", "baseRowId", "defaultRowCommitVersion"):
        value = add.get(name)
        if value is not None:
            body[name] = _present(value)
    return body


def _present(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: item for name, item in value.items() if item is not None}
    return value
