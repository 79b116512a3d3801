"""The adapter contract: requests in, answers out; an adapter executes and never judges.

An implementation under test is reached through one object that satisfies :class:`Adapter`. It
receives a frozen request, runs it with the engine, and returns :class:`Ok` with what the engine saw
or :class:`Refused` with what the engine said. Raising means a fault of the adapter or the engine
and is reported as ``error``, never as a verdict about the table.

No class is inherited from: the contract is structural.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from generators.oracle.operations import OPERATIONS

Kind: TypeAlias = Literal["unsupported", "invalid_table", "not_found", "constraint", "conflict"]
"""Why an implementation refuses; the wire words of ``error.kind`` in a spec."""

Stage: TypeAlias = Literal["load", "plan", "read", "commit"]
"""When an implementation refuses; the wire words of ``error.stage`` in a spec."""

WRITE_OPERATIONS: frozenset[str] = frozenset(OPERATIONS)
"""Names of the operations that a write request may carry."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What an implementation says that it implements.

    A table that needs more than this must be refused by it: that is itself a case.

    Attributes:
        reader_version: highest ``minReaderVersion`` that it reads.
        writer_version: highest ``minWriterVersion`` that it writes.
        reader_features: names it honours in ``readerFeatures``.
        writer_features: names it honours in ``writerFeatures``.
        operations: names out of :data:`READ_OPERATIONS` and :data:`WRITE_OPERATIONS`.
        capabilities: finer abilities of an operation, as ``scan.timestamp``, ``scan.filter``,
            ``scan.columns``, ``scan.row_ids``, ``scan.version``, ``scan.ratified``,
            ``changes.column_mapping``, ``files.tags``. A case
            that needs a capability that is not claimed is reported ``unsupported`` without
            asking the engine.
    """

    reader_version: int = 1
    writer_version: int = 0
    reader_features: frozenset[str] = frozenset()
    writer_features: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset({"scan"})
    capabilities: frozenset[str] = frozenset()

    def as_document(self) -> dict[str, Any]:
        """Return the claims as JSON, sets as sorted arrays."""
        given = asdict(self).items()
        return {n: sorted(v) if isinstance(v, frozenset) else v for n, v in given}


@dataclass(frozen=True, slots=True)
class Description:
    """Who an adapter is: the stamp of a results file.

    Attributes:
        name: the implementation's short name, as ``deltalake``.
        engine_version: the version of the engine that answers, as ``1.6.6``.
        adapter_version: the version of the adapter itself.
        claims: what the implementation says that it implements.
    """

    name: str
    engine_version: str
    claims: Claims
    adapter_version: str = "1"

    @property
    def stamp(self) -> dict[str, str]:
        """Who answers, without what it claims."""
        return {
            "name": self.name,
            "engine_version": self.engine_version,
            "adapter_version": self.adapter_version,
        }


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Ask for protocol and metadata of one version.

    Payload: ``{"version": int, "protocol": {...}, "metadata": {...}}`` in wire form. Versions,
    schema and partition columns are always there, lists of features and the configuration where
    they hold anything. The capabilities :data:`METADATA_KEYS` say which other keys of the metadata
    are given: one that is claimed and left out is null. What is not claimed is compared where it
    is given.

    Attributes:
        table: path or URL of the table root.
        version: the version to load; the latest when ``None`` and ``timestamp`` is ``None``.
        timestamp: milliseconds since the epoch; the latest version not after it.
        ratified: what the table's catalog answers (see ``docs/formats.md``), for every request
            that reads; ``None`` when the table is reached by its files.
    """

    table: str
    version: int | None = None
    timestamp: int | None = None
    ratified: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """Ask for the live logical files of one version.

    Payload: a list of objects with ``path``, ``partitionValues``, ``size``,
    ``modificationTime``, ``dataChange``, ``stats`` (parsed), ``deletionVector``,
    ``baseRowId``, ``defaultRowCommitVersion``, ``clusteringProvider``, ``tags``.
    ``path`` is always there. The capabilities :data:`FILE_KEYS` say which other keys are given: one
    that is claimed is null to the files that have it not. One that is not claimed is compared if
    any file of the answer has it, and with nothing if none has.
    ``timestamp`` is in milliseconds since the epoch.
    """

    table: str
    version: int | None = None
    timestamp: int | None = None
    ratified: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """Ask for the rows of one version.

    Payload: a :class:`pyarrow.Table` in any row and column order.

    Attributes:
        table: path or URL of the table root.
        version: see :class:`Snapshot`.
        timestamp: see :class:`Snapshot`.
        columns: top-level column names to return; all when ``None``.
        filter: an expression tree (see ``docs/formats.md``); rows for which it is true.
        predicate: the same filter as Spark SQL text.
        row_ids: also return ``_row_id`` and ``_row_commit_version`` (both int64).
        ratified: see :class:`Snapshot`.
    """

    table: str
    version: int | None = None
    timestamp: int | None = None
    columns: Sequence[str] | None = None
    filter: Mapping[str, Any] | None = None
    predicate: str | None = None
    row_ids: bool = False
    ratified: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Ask how many rows one version has, and for the extremes of some columns.

    Engines answer such a query by what the log says of files, where they can; the answer has to be
    that of the rows all the same.

    Payload: a :class:`pyarrow.Table` of one row: ``count``, and ``min(c)`` and ``max(c)`` of each
    column ``c``, null where it has no value.

    Attributes:
        table: path or URL of the table root.
        columns: names of top-level columns.
        version: see :class:`Snapshot`.
        ratified: see :class:`Snapshot`.
    """

    table: str
    columns: Sequence[str]
    version: int | None = None
    ratified: Mapping[str, Any] | None = None

    @property
    def extremes(self) -> list[tuple[str, str, str]]:
        """Name in the answer, function (``min`` or ``max``) and column of each extreme."""
        return [(f"{of}({name})", of, name) for name in self.columns for of in ("min", "max")]


@dataclass(frozen=True, slots=True)
class Changes:
    """Ask for the row-level changes of the versions ``start`` to ``end``, both included.

    Payload: a :class:`pyarrow.Table` with ``_change_type``, ``_commit_version`` and
    ``_commit_timestamp`` beside the table's columns.
    """

    table: str
    start: int
    end: int | None = None
    ratified: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Ask for the commits, newest first.

    Payload: a list of ``{"version": int, "timestamp": int, "operation": str | None}``;
    ``timestamp`` in milliseconds since the epoch. The operation may be left out of all.
    """

    table: str
    limit: int | None = None
    ratified: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Txn:
    """Ask for the latest transaction version of an application; payload: int or ``None``."""

    table: str
    app_id: str
    version: int | None = None
    ratified: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DomainMetadata:
    """Ask for the configuration of a domain; payload: the string, ``None`` when not set."""

    table: str
    domain: str
    version: int | None = None
    ratified: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Ask for one write operation.

    Payload: ``{"version": int | None}``, the committed version where the engine gives it.

    Attributes:
        table: path or URL of the table root.
        operation: a name out of :data:`WRITE_OPERATIONS`.
        arguments: operation arguments in the shape that ``docs/formats.md`` gives.
        rows: the rows that the operation brings, when it brings any.
    """

    table: str
    operation: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rows: pa.Table | None = None


Request: TypeAlias = (
    Snapshot | Files | Scan | Aggregate | Changes | History | Txn | DomainMetadata | Write
)

REQUESTS: Mapping[str, type[Request]] = {
    "snapshot": Snapshot,
    "files": Files,
    "scan": Scan,
    "aggregate": Aggregate,
    "changes": Changes,
    "history": History,
    "txn": Txn,
    "domain_metadata": DomainMetadata,
    "write": Write,
}
"""The word of each request."""

FILE_KEYS: Mapping[str, str] = {
    "files.partition_values": "partitionValues",
    "files.size": "size",
    "files.modification_time": "modificationTime",
    "files.deletion_vector": "deletionVector",
    "files.base_row_id": "baseRowId",
    "files.default_row_commit_version": "defaultRowCommitVersion",
    "files.clustering_provider": "clusteringProvider",
    "files.tags": "tags",
}
"""Capability to the key of a file that an answer to :class:`Files` gives then."""

METADATA_KEYS: Mapping[str, str] = {
    "snapshot.id": "id",
    "snapshot.name": "name",
    "snapshot.description": "description",
    "snapshot.format": "format",
    "snapshot.created_time": "createdTime",
}
"""Capability to the key of the metadata that an answer to :class:`Snapshot` gives then."""

READ_OPERATIONS: frozenset[str] = frozenset(REQUESTS) - {"write"}
"""Names of the requests that read."""


def operation_of(request: Request | type[Request]) -> str:
    """Name the operation that a request, or a class of requests, asks for."""
    if isinstance(request, Write):
        return request.operation
    of = request if isinstance(request, type) else type(request)
    return next(word for word, each in REQUESTS.items() if each is of)


@dataclass(frozen=True, slots=True)
class Ok:
    """The implementation did as asked; ``payload`` has the shape that the request documents."""

    payload: Any


@dataclass(frozen=True, slots=True)
class Refused:
    """The implementation said no, in a controlled way.

    Attributes:
        kind: why, as far as the engine says; ``None`` when it does not.
        stage: when; ``None`` when it does not say.
        message: the engine's own words.
    """

    kind: Kind | None
    stage: Stage | None
    message: str


Answer: TypeAlias = Ok | Refused


@runtime_checkable
class Adapter(Protocol):
    """What the kit needs of an implementation under test."""

    def describe(self) -> Description:
        """Return name, versions and claims; called once, before any request."""
        ...

    def run(self, request: Request) -> Answer:
        """Execute one request with the engine."""
        ...

    def close(self) -> None:
        """Release what the adapter holds; called once, at the end."""
        ...
