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
from reference_impl.checkpoint_bounds import (
    BATCH_ROWS,
    OPTIONS,
    Allowance,
    batch_rows,
    refuse_bomb,
    refuse_repeated,
)
from reference_impl.checkpoint_columns import conform
from reference_impl.commits import parse_lines
from reference_impl.errors import CheckpointFileNotFound, InvalidCheckpoint, MalformedCommit
from reference_impl.file_actions import FILE_ACTIONS, from_objects
from reference_impl.log_names import LOG_DIR, SIDECAR_DIR, LogFile
from reference_impl.paths import decode_path
from reference_impl.protocol import validate_protocol
from reference_impl.storage import Storage, is_absolute, is_failure
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
_ACTIONS: Final = (*_SMALL, "add", "remove")
_FEW_ROWS: Final = 1_000
"""Rows for which opening a file again takes longer than reading all that it holds at once."""
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
        self._footers: dict[str, pq.FileMetaData] = {}
        self._sizes: dict[str, int] = {}
        self._tiny: dict[str, list[pa.RecordBatch]] = {}

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
            for name in _SMALL:
                column = batch.column(name) if name in batch.schema.names else None
                if column is not None and column.null_count < len(column):
                    for value in self._values(pc.drop_null(column), path):
                        yield name, value

    def _values(self, column: pa.Array, path: str) -> list[Any]:
        try:
            values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
        except (ValueError, KeyError) as error:  # text that is no UTF-8, a key that is repeated
            raise self._invalid(f"an action cannot be read: {error}", path) from error
        return values

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
        if action == "remove" and not self._any(path, "remove"):
            return
        for batch in self._parquet(path, leaves):
            if action in batch.schema.names:
                yield conform(batch.column(action), action, self._place(path))

    def _any(self, path: str, action: str) -> bool:
        """Look at one column whether there is an action at all, as often there is no remove."""
        batches = self._parquet(path, [f"{action}.path"])
        return any(
            action in batch.schema.names and batch.column(action).null_count < batch.num_rows
            for batch in batches
        )

    def _parquet(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read columns, or more than those where a file is small."""
        try:
            if path not in self._tiny:
                with self._storage.open_input(path) as source, self._open(path, source) as file:
                    if file.metadata.num_rows > _FEW_ROWS:
                        yield from self._batches(path, file, columns)
                        return
                    self._tiny[path] = list(self._batches(path, file, _ACTIONS))
            yield from self._tiny[path]
        except FileNotFoundError:
            raise self._gone(path) from None
        except _READ_ERRORS as error:
            if is_failure(error):
                raise  # the file may be as good as any
            raise self._invalid(f"a checkpoint file is not readable: {error}", path) from error

    def _open(self, path: str, source: Any, *dictionaries: str) -> pq.ParquetFile:
        """Open a file, and check its footer when that is read for the first time."""
        known = self._footers.get(path)
        file = pq.ParquetFile(source, metadata=known, read_dictionary=dictionaries, **OPTIONS)
        if known is None:
            self._sizes[path] = source.size()
            refuse_bomb(file.metadata, self._sizes[path])
            refuse_repeated(file.schema_arrow, "the schema")
            self._footers[path] = file.metadata
        return file

    def _batches(
        self, path: str, file: pq.ParquetFile, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        if not {column.partition(".")[0] for column in columns} & set(file.schema_arrow.names):
            return
        rows = batch_rows(
            lambda paths: self._open(path, self._storage.open_input(path), *paths),
            file,
            columns,
        )
        allowance = Allowance(self._sizes[path])
        threads = file.metadata.num_rows > BATCH_ROWS
        for batch in file.iter_batches(rows, columns=list(columns), use_threads=threads):
            allowance.take(batch.nbytes)
            yield batch

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
