"""Read checkpoints: small actions as values, file actions as Arrow columns.

Serves "Checkpoints", "Sidecar Files" and "Checkpoint Schema". One row holds one action, each
kind of action in a struct column of its own; an absent column counts as null. Only the columns
that are asked for are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.actions import (
    Action,
    CheckpointMetadata,
    Metadata,
    Protocol,
    Sidecar,
    decode_action,
)
from reference_impl.checkpoint_columns import conform
from reference_impl.commits import parse_lines
from reference_impl.errors import CheckpointFileNotFound, InvalidCheckpoint, MalformedCommit
from reference_impl.file_actions import FILE_ACTIONS, from_objects
from reference_impl.log_names import LOG_DIR, SIDECAR_DIR, LogFile
from reference_impl.paths import decode_path
from reference_impl.protocol import validate_protocol
from reference_impl.storage import Storage, is_absolute
from reference_impl.wire import Place

__all__ = ["Checkpoint", "CheckpointReader"]

_SMALL: Final = (
    "protocol",
    "metaData",
    "txn",
    "domainMetadata",
    "checkpointMetadata",
    "sidecar",
)
_BATCH: Final = 65_536
"""Rows that are decoded at a time: enough for speed, little enough for memory."""
_ALWAYS_FINE: Final = 1 << 26
_MAX_GROWTH: Final = 200
_MAX_STRING: Final = 1 << 24
_MAX_CONTAINER: Final = 1 << 22
"""Bounds on what the footer of a checkpoint may hold, in bytes and elements."""
_READ_ERRORS: Final = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: one file, or all parts of a multi-part one.

    Attributes:
        version: the version whose state it holds.
        files: in order of part number.

    """

    version: int
    files: tuple[LogFile, ...]


class CheckpointReader:
    """Reads one checkpoint.

    Raises everywhere:
        CheckpointFileNotFound: a file is gone.
        InvalidCheckpoint: a file is unreadable, or holds what it must not.
        InvalidAction: an action lacks a required field or has a field of a wrong type.
    """

    def __init__(self, storage: Storage, checkpoint: Checkpoint) -> None:
        """Bind to a checkpoint; nothing is read yet."""
        self._storage = storage
        self._checkpoint = checkpoint
        self._actions: tuple[Action, ...] | None = None

    def actions(self) -> tuple[Action, ...]:
        """Give every action that is not a file action, checked for being complete."""
        if self._actions is None:
            found = [action for file in self._checkpoint.files for action in self._small(file)]
            self._check(found)
            self._actions = tuple(found)
        return self._actions

    def file_actions(self, action: str) -> Iterator[pa.RecordBatch]:
        """Give the file actions of a wire name in batches with the columns of their schema."""
        for file in self._checkpoint.files:
            yield from self._files(file, action)
        for item in self.actions():
            if isinstance(item, Sidecar):
                yield from self._sidecar(item, action)

    def _path(self, file: LogFile) -> str:
        return f"{LOG_DIR}/{file.name}"

    def _place(self, path: str) -> Place:
        return Place(path, self._checkpoint.version)

    def _small(self, file: LogFile) -> Iterator[Action]:
        path = self._path(file)
        place = self._place(path)
        if file.name.endswith(".json"):
            rows: Iterator[tuple[str, Any]] = iter(self._lines(path))
        else:
            rows = self._rows(path)
        for name, value in rows:
            if name not in _SMALL:
                continue
            action = decode_action(name, value, place)
            if isinstance(action, Protocol):
                action = _without_empty_lists(action)
                validate_protocol(action, place)
            yield action

    def _lines(self, path: str) -> list[tuple[str, Any]]:
        try:
            data = self._storage.get(path)
            return list(parse_lines(data, self._place(path)))
        except FileNotFoundError:
            raise self._gone(path) from None
        except MalformedCommit as error:
            raise self._invalid(error.message, path) from error

    def _rows(self, path: str) -> Iterator[tuple[str, Any]]:
        for batch in self._parquet(path, _SMALL):
            for name in batch.schema.names:
                column = batch.column(name)
                if column.null_count < len(column):
                    for value in pc.drop_null(column).to_pylist(maps_as_pydicts="strict"):
                        yield name, value

    def _files(self, file: LogFile, action: str) -> Iterator[pa.RecordBatch]:
        path = self._path(file)
        if file.name.endswith(".json"):
            objects = [value for name, value in self._lines(path) if name == action]
            return iter(from_objects(action, objects, self._place(path)).to_batches())
        return self._columns(path, action)

    def _sidecar(self, sidecar: Sidecar, action: str) -> Iterator[pa.RecordBatch]:
        path = decode_path(sidecar.path)
        return self._columns(path if is_absolute(path) else f"{SIDECAR_DIR}/{path}", action)

    def _columns(self, path: str, action: str) -> Iterator[pa.RecordBatch]:
        kind = FILE_ACTIONS[action]
        leaves = [f"{action}.{field.name}" for field in kind.schema]
        if action == "add":
            leaves.append("add.stats_parsed")
        for batch in self._parquet(path, leaves, action):
            yield conform(batch.column(action), action, self._place(path))

    def _parquet(
        self, path: str, columns: Sequence[str], present: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        try:
            with (
                self._storage.open_input(path) as source,
                pq.ParquetFile(
                    source,
                    thrift_string_size_limit=_MAX_STRING,
                    thrift_container_size_limit=_MAX_CONTAINER,
                ) as file,
            ):
                _refuse_bomb(file.metadata, source.size())
                yield from _batches(file, columns, present)
        except FileNotFoundError:
            raise self._gone(path) from None
        except _READ_ERRORS as error:
            raise self._invalid(f"a checkpoint file is not readable: {error}", path) from error

    def _check(self, actions: Sequence[Action]) -> None:
        version = self._checkpoint.version
        files = self._checkpoint.files
        counted = ((Protocol, "protocol", "CKC-002"), (Metadata, "metaData", "CKC-003"))
        for kind, name, requirement in counted:
            count = sum(isinstance(action, kind) for action in actions)
            if count != 1:
                raise self._invalid(
                    f"a checkpoint has {count or 'no'} {name} action{'s' * (count > 1)}",
                    self._path(files[0]),
                    requirement,
                )
        identities = [item for item in actions if isinstance(item, CheckpointMetadata)]
        for item in identities:
            if item.version != version:
                raise self._invalid(
                    f"checkpointMetadata is for version {item.version}",
                    self._path(files[0]),
                    "CKM-003",
                )
        sidecars = any(isinstance(item, Sidecar) for item in actions)
        kind_of_file = files[0].kind
        for wrong, message, requirement in (
            (len(identities) > 1, "two checkpointMetadata actions", "CKPT-V2-002"),
            (
                kind_of_file == "uuid_checkpoint" and not identities,
                "a UUID name but no checkpointMetadata",
                "CKPT-015",
            ),
            (
                kind_of_file == "multipart_checkpoint" and bool(identities or sidecars),
                "V2 actions in several parts",
                "CKPT-026",
            ),
            (sidecars and not identities, "sidecars but no checkpointMetadata", "CKPT-V1-001"),
        ):
            if wrong:
                raise self._invalid(
                    f"a checkpoint has {message}", self._path(files[0]), requirement
                )

    def _gone(self, path: str) -> CheckpointFileNotFound:
        return CheckpointFileNotFound(
            "a file of a checkpoint is gone", path=path, version=self._checkpoint.version
        )

    def _invalid(
        self, message: str, path: str, requirement: str | None = None
    ) -> InvalidCheckpoint:
        return InvalidCheckpoint(
            message, path=path, version=self._checkpoint.version, requirement=requirement
        )


def _refuse_bomb(metadata: pq.FileMetaData, size: int) -> None:
    """Refuse a file that would grow out of all proportion when it is decoded.

    Every row of a checkpoint holds an action, which takes more than a byte; statistics and
    paths compress well, but not by hundreds.
    """
    unpacked = sum(
        metadata.row_group(group).column(column).total_uncompressed_size
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    )
    if metadata.num_rows > size or unpacked > _ALWAYS_FINE + _MAX_GROWTH * size:
        raise ValueError(f"{size} bytes claim {metadata.num_rows} rows of {unpacked} bytes")


def _batches(
    file: pq.ParquetFile, columns: Sequence[str], present: str | None
) -> Iterator[pa.RecordBatch]:
    """Read columns; row groups whose statistics show no row of ``present`` are passed over."""
    if not {column.partition(".")[0] for column in columns} & set(file.schema_arrow.names):
        return
    groups = [
        group
        for group in range(file.metadata.num_row_groups)
        if present is None or not _absent(file.metadata.row_group(group), present)
    ]
    yield from file.iter_batches(_BATCH, row_groups=groups, columns=list(columns))


def _absent(group: Any, action: str) -> bool:
    for index in range(group.num_columns):
        column = group.column(index)
        if column.path_in_schema == f"{action}.path":
            statistics = column.statistics
            return bool(
                statistics is not None
                and statistics.has_null_count
                and statistics.null_count == group.num_rows
            )
    return False


def _without_empty_lists(protocol: Protocol) -> Protocol:
    """Read an empty feature list of an older protocol as absent.

    Some writers of Parquet cannot tell an empty list from none.
    """
    return Protocol(
        protocol.min_reader_version,
        protocol.min_writer_version,
        None
        if protocol.reader_features == () and protocol.min_reader_version < 3
        else protocol.reader_features,
        None
        if protocol.writer_features == () and protocol.min_writer_version < 7
        else protocol.writer_features,
    )
