"""Errors of the reference implementation: one tree, each class naming the clause it enforces.

Step to error:

* finding a table or version: :class:`NotFoundError`;
* choosing log files, reading commits and checkpoints, reconciling actions:
  :class:`InvalidTableError`, or :class:`UnsupportedError` for what a newer client would read;
* planning and reading data files: both of the above;
* writing: :class:`ConstraintError` for rows or requests that the table forbids,
  :class:`ConflictError` for a commit that lost a race.

:class:`StorageFailed` and :class:`CommitOutcomeUnknown`, each an :class:`OSError`, say nothing
about the table.

``kind`` and ``stage`` carry the words that case specs use (``docs/formats.md``).
"""

# ruff: noqa: N818  the root is DeltaError; its subclasses name the fault

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, TypeAlias

from reference_impl.shown import shown_location

Kind: TypeAlias = Literal["unsupported", "invalid_table", "not_found", "constraint", "conflict"]
"""Why: the wire words of ``error.kind`` in a spec."""

Stage: TypeAlias = Literal["load", "plan", "read", "commit"]
"""When: the wire words of ``error.stage`` in a spec."""

_MAX_CHARACTERS: Final = 10_000
"""Characters of a message or a path in what an error prints."""


def _cut(value: object) -> str:
    """Return a text that fits a line of a log, whatever a table makes long, without secrets."""
    text = shown_location(str(value)[: _MAX_CHARACTERS + 1])
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"


class DeltaError(Exception):
    """Root of every error that this package raises on purpose.

    Attributes:
        kind: why (class level).
        stage: when; the class gives the usual stage, a raise may give another.
        clause: heading of the protocol section that the class enforces (class level).
        requirement: id of the requirement that is broken.
        path: the file at fault, as written in the log or relative to the table root.
        action: wire name of the action at fault, as ``add``; the class gives the usual one.
        version: table version at fault.
        hint: what a person can do about it.
    """

    kind: ClassVar[Kind] = "invalid_table"
    clause: ClassVar[str] = "Delta Table Specification"
    stage: Stage = "load"
    requirement: str = "SNAP-001"
    action: str | None = None

    def __init__(  # noqa: PLR0913  each keyword is one fact about the fault
        self,
        message: str,
        *,
        path: str | None = None,
        action: str | None = None,
        version: int | None = None,
        hint: str | None = None,
        stage: Stage | None = None,
        requirement: str | None = None,
    ) -> None:
        """Store the facts besides the message, so that callers need not parse it."""
        super().__init__(message)
        self.message = message
        self.path = path
        self.version = version
        self.hint = hint
        if stage is not None:
            self.stage = stage
        if requirement is not None:
            self.requirement = requirement
        if action is not None:
            self.action = action

    def __str__(self) -> str:
        """Return the message with place, clause and hint."""
        facts = (("version", self.version), ("file", self.path), ("action", self.action))
        place = ", ".join(f"{name} {_cut(value)}" for name, value in facts if value is not None)
        text = f"{_cut(self.message)} [{self.requirement}: {self.clause}]"
        if place:
            text = f"{text} ({place})"
        return f"{text}; {_cut(self.hint)}" if self.hint else text


class UnsupportedError(DeltaError):
    """The table may be valid; this implementation does not read or write it."""

    kind = "unsupported"
    clause = "Protocol Evolution"
    requirement = "PROTO-005"


class InvalidTableError(DeltaError):
    """The files break the protocol: no client can give a right answer."""


class NotFoundError(DeltaError):
    """Nothing is where the request points."""

    kind = "not_found"


class ConstraintError(DeltaError):
    """The request or its rows break a rule that the table sets."""

    kind = "constraint"
    stage: Stage = "commit"


class ConflictError(DeltaError):
    """Another writer committed first, and the two changes cannot both hold."""

    kind = "conflict"
    stage = "commit"


class UnsupportedProtocolVersion(UnsupportedError):
    """The table asks for a reader or writer version beyond this implementation."""

    action = "protocol"


class UnsupportedFeatures(UnsupportedError):
    """The table uses features that this implementation does not honour.

    Attributes:
        features: every such name, sorted, as written in the protocol action.
    """

    clause = "Table Features"
    requirement = "TF-001"

    def __init__(self, features: tuple[str, ...], message: str, *, hint: str) -> None:
        """Keep the names for callers that report them one by one."""
        super().__init__(message, action="protocol", hint=hint)
        self.features = features


class UnsupportedFormat(UnsupportedError):
    """Data files are in a format other than Parquet."""

    clause = "Format Specification"
    requirement = "META-015"
    action = "metaData"


class UnsupportedType(UnsupportedError):
    """A column has a type that this implementation does not read."""

    clause = "Schema Serialization Format"
    requirement = "SCH-024"
    stage = "plan"


class UnsupportedExpression(UnsupportedError):
    """A SQL expression uses something that this implementation does not evaluate."""

    clause = "CHECK Constraints"
    requirement = "CHK-003"
    stage = "plan"


class LimitExceeded(UnsupportedError):
    """Reading or evaluating would exceed a limit that this implementation sets itself.

    The table may be valid.

    Attributes:
        limit: name of the limit: a field of ``Limits``, or a limit on expressions.
        allowed: what it is.
    """

    stage: Stage = "plan"

    def __init__(self, message: str, *, limit: str, allowed: float | None, **facts: Any) -> None:
        """Keep the limit for callers that raise it; ``facts`` are those of every error."""
        super().__init__(message, **facts)
        self.limit = limit
        self.allowed = allowed


class TableNotFound(NotFoundError):
    """There is no log at the location."""

    clause = "Delta Log Entries"
    requirement = "LOG-001"


class VersionNotFound(NotFoundError):
    """The table has no such version, or its log was cleaned up past it."""

    requirement = "SNAP-002"


class TimestampNotFound(NotFoundError):
    """No version of the table was committed at or before the time."""

    clause = "Recommendations for Readers of Tables with In-Commit Timestamps"
    requirement = "ICT-013"


class CheckpointFileNotFound(NotFoundError):
    """A file of a checkpoint, such as a sidecar, is gone."""

    clause = "Sidecar Files"
    requirement = "SIDE-005"


class InvalidLogSegment(InvalidTableError):
    """The log files do not give the version."""


class MalformedCommit(InvalidTableError):
    """A commit or compaction is not JSON with one action per line."""

    clause = "Delta Log Entries"
    requirement = "LOG-004"


class InvalidAction(InvalidTableError):
    """An action lacks a required field, or a field has another type or range."""

    clause = "Actions"
    requirement = "LOG-004"


class DuplicateAction(InvalidTableError):
    """Two actions contradict each other where only one is allowed."""

    clause = "Action Reconciliation"
    requirement = "FA-011"


class MissingProtocol(InvalidTableError):
    """The log has no protocol action."""

    clause = "Action Reconciliation"
    requirement = "REC-002"


class MissingMetadata(InvalidTableError):
    """The log has no metaData action."""

    clause = "Action Reconciliation"
    requirement = "REC-003"


class InvalidProtocol(InvalidTableError):
    """Versions and feature lists of a protocol action do not fit together."""

    clause = "Protocol Evolution"
    requirement = "PROTO-003"
    action = "protocol"


class InvalidMetadata(InvalidTableError):
    """A metaData action contradicts itself."""

    clause = "Change Metadata"
    requirement = "META-003"
    action = "metaData"


class InvalidCheckpoint(InvalidTableError):
    """A checkpoint or sidecar cannot be read, or holds what it must not."""

    clause = "Checkpoints"
    requirement = "CKPT-005"


class InvalidSchema(InvalidTableError):
    """The table schema is not in the serialization format."""

    clause = "Schema Serialization Format"
    requirement = "META-008"
    action = "metaData"


class InvalidPartitionValue(InvalidTableError):
    """A partition value is missing, or does not parse as its column's type."""

    clause = "Partition Value Serialization"
    requirement = "ADD-005"
    stage = "plan"
    action = "add"


class InvalidColumnMapping(InvalidTableError):
    """Column ids or physical names are missing, repeated or do not fit the mode."""

    clause = "Column Mapping"
    requirement = "CM-001"


class InvalidRatifiedCommits(InvalidTableError):
    """The ratified commits do not fit each other or the table."""

    clause = "Catalog-managed tables"
    requirement = "CAT-002"


class InvalidStatistics(InvalidTableError):
    """The statistics of a file are not in the statistics format."""

    clause = "Per-file Statistics"
    requirement = "STAT-001"
    stage = "plan"
    action = "add"


class InvalidDeletionVector(InvalidTableError):
    """A deletion vector or its descriptor is malformed."""

    clause = "Deletion Vectors"
    requirement = "DVDESC-001"
    stage = "read"


class InvalidDataFile(InvalidTableError):
    """A data file cannot be read as Parquet with the table's columns."""

    clause = "Data Files"
    requirement = "DATA-001"
    stage = "read"


class DataFileNotFound(NotFoundError):
    """A data file that the version names is gone."""

    clause = "Data Files"
    requirement = "DATA-001"
    stage = "read"
    action = "add"


class DeletionVectorNotFound(NotFoundError):
    """A deletion vector file that the version names is gone."""

    clause = "Deletion Vector Files"
    requirement = "DVFILE-001"
    stage = "read"


class InvalidFilter(ConstraintError):
    """A filter tree is malformed or does not fit the schema."""

    stage: Stage = "plan"


class UnknownColumn(ConstraintError):
    """A request names a column that the schema does not have."""

    stage: Stage = "plan"


class ConstraintViolation(ConstraintError):
    """A row breaks a CHECK constraint, an invariant or a not-null column."""

    clause = "CHECK Constraints"
    requirement = "CHK-006"


class SchemaMismatch(ConstraintError):
    """Rows do not fit the table schema."""

    clause = "Schema Serialization Format"
    requirement = "SCH-001"


class RangeExhausted(ConstraintError):
    """A number that the commit needs is beyond the integers that the protocol gives it."""

    clause = "Actions"
    requirement = "LOG-004"


class AppendOnlyViolation(ConstraintError):
    """A change would remove rows from an append-only table."""

    clause = "Append-only Tables"
    requirement = "APP-001"


class CommitConflict(ConflictError):
    """The version to be committed exists already."""

    clause = "Delta Log Entries"
    requirement = "LOG-003"


class CommitOutcomeUnknown(OSError):
    """The storage failed while it created a commit, which may be there or may still appear.

    No :class:`DeltaError`: it says nothing about the table, and must not be retried blindly.
    Files that the commit references are kept.

    Attributes:
        txn_id: ``commitInfo.txnId`` of the commit, by which the history shows whether it succeeded.
        version: the version that it was to make.
    """

    def __init__(self, txn_id: str, version: int, cause: BaseException) -> None:
        """Store what identifies the commit."""
        super().__init__(
            f"the outcome of the commit of version {version} is unknown: {cause}; look in the "
            f"history for txnId {txn_id} before you repeat the operation"
        )
        self.txn_id = txn_id
        self.version = version


class StorageFailed(OSError):
    """The storage failed during an operation: no space, no permission, a disk that does not read.

    No :class:`DeltaError`: it says nothing about the table. ``errno`` and ``filename`` are those of
    the cause.

    Attributes:
        operation: name of the operation, as ``append``.
    """

    def __init__(self, operation: str, cause: OSError) -> None:
        """Store what failed, and where."""
        reason = cause.strerror or str(cause)[:500]
        name = cause.filename
        super().__init__(
            cause.errno,
            shown_location(f"{operation}: {reason}"),
            shown_location(name) if isinstance(name, str) else name,
        )
        self.operation = operation


class IncompatibleSchemas(UnsupportedError):
    """Versions of a range have schemas that cannot be read as one, or names of change columns."""

    clause = "Add CDC File"
    requirement = "CDC-003"
    stage = "plan"


class ConcurrentProtocolChange(CommitConflict):
    """The winner changed the protocol, so that other rules hold now."""


class ConcurrentMetadataChange(CommitConflict):
    """The winner changed the metadata that this commit was prepared under."""


class ConcurrentAppend(CommitConflict):
    """The winner added rows that this operation should have read."""


class ConcurrentDelete(CommitConflict):
    """The winner removed a file that this operation read or removes too."""


class ConcurrentTransaction(CommitConflict):
    """The winner recorded progress of the same application."""


class ConcurrentDomainChange(CommitConflict):
    """The winner changed the same metadata domain."""


class RowsNotTracked(UnsupportedError):
    """Row ids are asked of a table that does not support row tracking."""

    clause = "Row Tracking"
    requirement = "RT-001"
    stage = "plan"


class DataFileTooLarge(LimitExceeded):
    """A data file decompresses to more than the limits allow."""

    clause = "Data Files"
    requirement = "DATA-001"
    stage = "read"


class FileTooLarge(LimitExceeded):
    """A file of the log or of vectors has more bytes than the limits allow to be read at once."""

    clause = "Delta Log Entries"
    requirement = "LOG-004"
    stage = "read"


class PlaceRefused(UnsupportedError):
    """A path leads to a place that is not read, written or deleted from this table.

    The table may be valid. The caller decides about places outside of its root; an ambiguous path
    is refused.
    """

    clause = "Add File and Remove File"
    requirement = "ADD-002"
    stage = "read"
