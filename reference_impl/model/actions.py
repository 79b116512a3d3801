"""The actions of the log that are values of their own: everything except file actions.

Implements "Actions". File actions come in millions and stay in Arrow columns: see
:mod:`reference_impl.model.file_actions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from reference_impl.model.ranges import INT64
from reference_impl.model.wire import (
    LogPlace,
    boolean,
    decode,
    encode,
    int64,
    string,
    string_list,
    string_map,
    wire,
)


class _WireAction:
    """Encodes an action for the wire."""

    __slots__ = ()

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object of the action's fields, in wire form."""
        return encode(self)


@dataclass(frozen=True, slots=True)
class Protocol(_WireAction):
    """What a client must implement to read or write the table ("Protocol Evolution").

    A version beyond every client's is unsupported, however large, and not malformed.
    """

    min_reader_version: int = wire("minReaderVersion", int64, "PROTO-001")
    min_writer_version: int = wire("minWriterVersion", int64, "PROTO-002")
    reader_features: tuple[str, ...] | None = wire("readerFeatures", string_list)
    writer_features: tuple[str, ...] | None = wire("writerFeatures", string_list)


@dataclass(frozen=True, slots=True)
class Format(_WireAction):
    """The encoding of the data files ("Format Specification")."""

    provider: str = wire("provider", string, "META-012")
    options: Mapping[str, str] = field(
        default_factory=dict, metadata={"wire": "options", "decoder": string_map, "requirement": ""}
    )


def _format(value: object) -> Format:
    return decode(Format, "metaData.format", value, LogPlace("", 0))


@dataclass(frozen=True, slots=True)
class Metadata(_WireAction):
    """Schema, partitioning and configuration of the table ("Change Metadata").

    Attributes:
        id: GUID of the table.
        format: encoding of the data files.
        name: what a user calls the table.
        description: what a user says of it.
        schema_string: the table schema in its JSON form.
        partition_columns: logical names, in order.
        configuration: table properties.
        created_time: milliseconds since the epoch.
    """

    id: str = wire("id", string, "META-004")
    format: Format = wire("format", _format, "META-007")  # noqa: RUF009  as its neighbours
    schema_string: str = wire("schemaString", string, "META-008")
    partition_columns: tuple[str, ...] = wire("partitionColumns", string_list, "META-009")
    configuration: Mapping[str, str] = wire("configuration", string_map, "META-011")
    name: str | None = wire("name", string)
    description: str | None = wire("description", string)
    created_time: int | None = wire("createdTime", int64)


@dataclass(frozen=True, slots=True)
class Txn(_WireAction):
    """Progress of an application ("Transaction Identifiers")."""

    app_id: str = wire("appId", string, "TXN-001")
    version: int = wire("version", int64, "TXN-002")
    last_updated: int | None = wire("lastUpdated", int64)


@dataclass(frozen=True, slots=True)
class DomainMetadata(_WireAction):
    """Configuration of a named domain, or its tombstone ("Domain Metadata")."""

    domain: str = wire("domain", string, "DOM-001")
    configuration: str = wire("configuration", string, "DOM-002")
    removed: bool = wire("removed", boolean, "DOM-003")


@dataclass(frozen=True, slots=True)
class CommitInfo(_WireAction):
    """Provenance of a commit ("Commit Provenance Information").

    The content is free; the fields that this package looks at are read where they have the
    expected type and range, and else ignored.

    Attributes:
        in_commit_timestamp: milliseconds since the epoch.
        timestamp: milliseconds since the epoch, as the writer recorded it.
        operation: name of the operation.
        raw: the whole object.
    """

    in_commit_timestamp: int | None
    timestamp: int | None
    operation: str | None
    raw: Mapping[str, Any]

    def to_wire(self) -> dict[str, Any]:
        """Return the object as it was committed."""
        return dict(self.raw)


@dataclass(frozen=True, slots=True)
class CheckpointMetadata(_WireAction):
    """Identity of a V2 checkpoint ("Checkpoint Metadata")."""

    version: int = wire("version", int64, "CKM-002")


@dataclass(frozen=True, slots=True)
class Sidecar(_WireAction):
    """Reference of a V2 checkpoint to a file with file actions ("Sidecar File Information").

    Attributes:
        path: file name in the sidecar directory, or an absolute path.
        size_in_bytes: bytes.
        modification_time: milliseconds since the epoch.
    """

    path: str = wire("path", string, "SCA-002")
    size_in_bytes: int = wire("sizeInBytes", int64, "SCA-005")
    modification_time: int = wire("modificationTime", int64, "SCA-006")


Action: TypeAlias = (
    Protocol | Metadata | Txn | DomainMetadata | CommitInfo | CheckpointMetadata | Sidecar
)

SMALL_ACTIONS: Final[Mapping[str, type[Any]]] = {
    "protocol": Protocol,
    "metaData": Metadata,
    "txn": Txn,
    "domainMetadata": DomainMetadata,
    "commitInfo": CommitInfo,
    "checkpointMetadata": CheckpointMetadata,
    "sidecar": Sidecar,
}
"""Wire name of every action that is not a file action, with its class."""

_NAMES: Final = {kind: name for name, kind in SMALL_ACTIONS.items()}


def action_key(action: Action) -> tuple[str, str]:
    """Return the wire name of an action, and the application or domain that it is of, if any."""
    return _NAMES[type(action)], getattr(action, "app_id", getattr(action, "domain", ""))


def decode_action(name: str, value: object, place: LogPlace) -> Action:
    """Decode the action of a wire name out of :data:`SMALL_ACTIONS`.

    Raises:
        InvalidAction: a required field is missing, or a field has a wrong type or range.
    """
    if name == "commitInfo":
        return _commit_info(value)
    action: Action = decode(SMALL_ACTIONS[name], name, value, place)
    return action


def _commit_info(value: object) -> CommitInfo:
    raw = value if isinstance(value, dict) else {}
    ict, timestamp, operation = (
        raw.get(key) for key in ("inCommitTimestamp", "timestamp", "operation")
    )
    return CommitInfo(
        in_commit_timestamp=ict if ict in INT64 else None,
        timestamp=timestamp if timestamp in INT64 else None,
        operation=operation if isinstance(operation, str) else None,
        raw=raw,
    )
