"""Read checkpoints: small actions as values, file actions as Arrow columns.

Implements "Checkpoints", "Sidecar Files" and "Checkpoint Schema". One row holds one action, each
kind of action in a struct column of its own; an absent column counts as null. Only the columns
that are asked for are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.errors import (
    CheckpointFileNotFound,
    DataFileTooLarge,
    InvalidCheckpoint,
    MalformedCommit,
    PlaceRefused,
)
from reference_impl.limits import out_of_memory
from reference_impl.log.checkpoints.bounds import (
    BATCH_ROWS,
    bounded,
    refuse_bomb,
    refuse_duplicate_columns,
)
from reference_impl.log.checkpoints.columns import file_actions_of
from reference_impl.log.file_columns import from_lines
from reference_impl.log.lines import Lines, group_actions
from reference_impl.log.names import LOG_DIR, SIDECAR_DIR, LogFile
from reference_impl.model.actions import (
    Action,
    CheckpointMetadata,
    Metadata,
    Protocol,
    Sidecar,
    decode_action,
)
from reference_impl.model.file_actions import FILE_ACTIONS
from reference_impl.model.protocol import validate_protocol
from reference_impl.model.wire import LogPlace
from reference_impl.parquet.opening import open_parquet
from reference_impl.places import Locator, decode_path
from reference_impl.storage import Storage, is_failure
from reference_impl.storage.threads import MAX_THREADS

_REQUIRED_FIELDS: Final = {
    "protocol": "minReaderVersion",
    "metaData": "id",
    "txn": "appId",
    "domainMetadata": "domain",
    "checkpointMetadata": "version",
    "sidecar": "path",
}
"""A required field of every action that is not a file action."""

_SMALL_ACTIONS: Final = tuple(_REQUIRED_FIELDS)
_ACTIONS: Final = (*_SMALL_ACTIONS, "add", "remove")
_FEW_ROWS: Final = 1_000
"""Rows below which a file is read whole, once."""
_SMALL_SIDECARS: Final = 1 << 22
"""Bytes of sidecars below which threads cost more than they save."""
_READ_ERRORS: Final = (pa.ArrowException, OSError, ValueError, OverflowError)

FileBatches: TypeAlias = Iterator[Callable[[], pa.RecordBatch]]
"""File actions of one file in batches, with the columns of their schema. A batch is read as the
iterator advances, and converted to its columns when it is called, on any thread."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: one file, or all parts of a multi-part one.

    Attributes:
        version: the version whose state it holds.
        files: in order of part number.
    """

    version: int
    files: tuple[LogFile, ...]


def sidecar_path(locate: Locator, path: str) -> str:
    """Return the path below the table root of the sidecar that an action names.

    Args:
        locate: the table's, see :meth:`reference_impl.storage.Storage.locator`.
        path: as in the action: a name, a path from the table root, or an absolute one.

    Raises:
        InvalidAction: the path cannot be decoded.
        InvalidCheckpoint: it leads to another folder than the one for sidecars.
    """
    # Obeys SCA-004.
    decoded = decode_path(path, action="sidecar")
    try:
        where = locate(decoded if "/" in decoded else f"{SIDECAR_DIR}/{decoded}")
    except PlaceRefused:
        where = None
    if where is None or where.rpartition("/")[0] != SIDECAR_DIR:
        raise InvalidCheckpoint(
            f"a sidecar is not in the table's own {SIDECAR_DIR}",
            path=decoded[:500],
            action="sidecar",
            requirement="SIDE-004",
        )
    return where


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
        self._small_files: dict[str, list[pa.RecordBatch]] = {}

    def actions(self) -> tuple[Action, ...]:
        """Return every action that is not a file action, checked for being complete."""
        # Obeys CKM-009.
        if self._actions is None:
            found = [
                action for file in self._checkpoint.files for action in self._small_actions(file)
            ]
            self._check(found)
            self._actions = tuple(found)
        return self._actions

    def file_actions(self, action: str) -> Iterator[FileBatches]:
        """Return the file actions of a wire name, in batches for each file, not yet read."""
        for file in self._checkpoint.files:
            yield self._file_batches(file, action)
        for path in self._sidecars():
            yield self._columns_of(path, action)

    def _sidecars(self) -> Iterator[str]:
        """Return the paths of the sidecars; one that is named often comes twice.

        A few bytes name a sidecar as often as they like. Twice shows whether it repeats actions.
        """
        named = Counter(item.path for item in self.actions() if isinstance(item, Sidecar))
        locate = self._storage.locator()
        times: Counter[str] = Counter()
        for path, count in named.items():
            times[sidecar_path(locate, path)] += count
        for path, count in times.items():
            yield from (path,) * min(count, 2)

    @property
    def threads(self) -> int:
        """How many threads are worth starting to read the file actions."""
        sidecars = sum(i.size_in_bytes for i in self.actions() if isinstance(i, Sidecar))
        large = any(footer.num_rows > BATCH_ROWS for footer in self._footers.values())
        return MAX_THREADS if large or sidecars > _SMALL_SIDECARS else 1

    def _path(self, file: LogFile) -> str:
        return f"{LOG_DIR}/{file.name}"

    def _place(self, path: str) -> LogPlace:
        return LogPlace(path, self._checkpoint.version)

    def _small_actions(self, file: LogFile) -> Iterator[Action]:
        path = self._path(file)
        place = self._place(path)
        if file.name.endswith(".json"):
            found, _ = self._json_actions(path, files=False)
        else:
            found = self._parquet_actions(path)
        for name, value in found:
            action = decode_action(name, value, place)
            if isinstance(action, Protocol):
                action = validate_protocol(action, place)
            yield action

    def _json_actions(
        self, path: str, *, files: bool
    ) -> tuple[Iterable[tuple[str, Any]], dict[str, Lines]]:
        """Return the small actions of a JSON file, and its lines of file actions if asked for."""
        found: list[tuple[str, Any]] = []
        place = self._place(path)
        try:
            data = self._storage.get(path)
            lines = group_actions(data, place, lambda *item: found.append(item), files=files)
        except FileNotFoundError:
            raise self._missing(path) from None
        except MalformedCommit as error:
            raise self._invalid(error.message, path) from error
        return found, lines

    def _parquet_actions(self, path: str) -> Iterator[tuple[str, Any]]:
        left = self._rows_to_read(path)
        with closing(self._parquet(path, _SMALL_ACTIONS)) as batches:
            while left > 0 and (batch := next(batches, None)) is not None:
                left -= batch.num_rows
                for name in [name for name in _SMALL_ACTIONS if name in batch.schema.names]:
                    for value in self._values(pc.drop_null(batch.column(name)), path):
                        yield name, value

    def _rows_to_read(self, path: str) -> int:
        """Return the number of rows up to the last action that is no file action.

        In a large checkpoint a few rows among many hold one, mostly the first. One leaf of each
        column shows which, and is small.
        """
        leaves = [f"{name}.{leaf}" for name, leaf in _REQUIRED_FIELDS.items()]
        at = reach = 0
        marked: set[str] = set()
        for batch in self._parquet(path, leaves):
            at += batch.num_rows
            found = [name for name in batch.schema.names if name in _REQUIRED_FIELDS]
            marked.update(found)
            if any(batch.column(name).null_count < batch.num_rows for name in found):
                reach = at
        footer = self._footers[path]
        unmarked = set(footer.schema.to_arrow_schema().names) & set(_REQUIRED_FIELDS) - marked
        return int(footer.num_rows) if unmarked else reach

    def _values(self, column: pa.Array, path: str) -> list[Any]:
        try:
            try:
                values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
            except (KeyError, ValueError):  # a key that is repeated, which a struct hides
                values = [_with_dicts(value, column.type) for value in column.to_pylist()]
        except ValueError as error:  # text that is no UTF-8
            raise self._invalid(f"an action cannot be read: {error}", path) from error
        return values

    def _file_batches(self, file: LogFile, action: str) -> FileBatches:
        path = self._path(file)
        if not file.name.endswith(".json"):
            yield from self._columns_of(path, action)
            return
        _, lines = self._json_actions(path, files=True)
        try:
            table = from_lines(action, [(self._place(path), lines[action])])
        except MalformedCommit as error:
            raise self._invalid(error.message, path) from error
        for batch in table.to_batches():
            yield batch.slice  # from its first row on: all of it

    def _columns_of(self, path: str, action: str) -> FileBatches:
        leaves = [f"{action}.{field.name}" for field in FILE_ACTIONS[action].schema]
        place = self._place(path)
        if action == "remove" and not self._has_removes(path):
            return
        at = 0
        with closing(self._read_from(path, action, leaves, at)) as columns:
            for column in columns:
                if action == "add" and self._lacks_statistics(path, column):
                    break
                yield partial(file_actions_of, column, action, place)
                at += len(column)
            else:
                return
        # From here on parsed statistics are read as well, which most files do not need.
        leaves.append("add.stats_parsed")
        for column in self._read_from(path, action, leaves, at):
            yield partial(file_actions_of, column, action, place)

    def _read_from(
        self, path: str, action: str, leaves: Sequence[str], start: int
    ) -> Generator[pa.Array]:
        """Return the column of an action from a row on."""
        with closing(self._parquet(path, leaves)) as batches:
            for batch in batches:
                skipped = min(start, batch.num_rows)
                start -= skipped
                if action in batch.schema.names and skipped < batch.num_rows:
                    yield batch.column(action).slice(skipped)

    def _lacks_statistics(self, path: str, adds: pa.Array) -> bool:
        """Return whether adds lack JSON statistics, and their file has parsed ones."""
        if path in self._small_files or not pa.types.is_struct(adds.type):
            return False
        held = self._footers[path].schema.to_arrow_schema().field("add").type
        if not pa.types.is_struct(held) or held.get_field_index("stats_parsed") < 0:
            return False
        if adds.type.get_field_index("stats") < 0:
            return True
        return bool(pc.struct_field(adds, "stats").null_count > adds.null_count)

    def _has_removes(self, path: str) -> bool:
        """Return whether a file has a remove; often it has none."""
        return any(
            "remove" in batch.schema.names and batch.column("remove").null_count < batch.num_rows
            for batch in self._parquet(path, ["remove.path"])
        )

    def _parquet(self, path: str, columns: Sequence[str]) -> Generator[pa.RecordBatch]:
        """Read columns; of a small file all of them."""
        try:
            if path not in self._small_files:
                with self._storage.open_input(path) as source, self._open(path, source) as file:
                    if file.metadata.num_rows > _FEW_ROWS:
                        yield from _batches(source, file, columns)
                        return
                    self._small_files[path] = list(_batches(source, file, _ACTIONS))
            yield from self._small_files[path]
        except FileNotFoundError:
            raise self._missing(path) from None
        except MemoryError as error:  # Arrow's is one as well
            raise out_of_memory(error, path) from error
        except DataFileTooLarge as error:
            error.path = error.path or path
            raise
        except _READ_ERRORS as error:
            if is_failure(error):
                raise  # the file may be intact
            raise self._invalid(f"a checkpoint file is not readable: {error}", path) from error

    def _open(self, path: str, source: Any) -> pq.ParquetFile:
        """Open a file, and check its footer when that is read for the first time."""
        known = self._footers.get(path)
        file = open_parquet(source, metadata=known)
        if known is None:
            refuse_bomb(file.metadata, source.size())
            refuse_duplicate_columns(file.schema_arrow, "the schema")
            self._footers[path] = file.metadata
        return file

    def _check(self, actions: Sequence[Action]) -> None:
        version = self._checkpoint.version
        files = self._checkpoint.files
        protocols, metadata = (
            sum(isinstance(action, kind) for action in actions) for kind in (Protocol, Metadata)
        )
        identities = [item for item in actions if isinstance(item, CheckpointMetadata)]
        others = [item.version for item in identities if item.version != version]
        sidecars = any(isinstance(item, Sidecar) for item in actions)
        kind_of_file = files[0].kind
        for wrong, message, requirement in (
            (protocols != 1, f"{protocols} protocol actions", "CKC-002"),
            (metadata != 1, f"{metadata} metaData actions", "CKC-003"),
            (bool(others), f"checkpointMetadata for version {others[:1]}", "CKM-003"),
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

    def _missing(self, path: str) -> CheckpointFileNotFound:
        return CheckpointFileNotFound(
            "a file of a checkpoint is gone", path=path, version=self._checkpoint.version
        )

    def _invalid(
        self, message: str, path: str, requirement: str | None = None
    ) -> InvalidCheckpoint:
        return InvalidCheckpoint(
            message, path=path, version=self._checkpoint.version, requirement=requirement
        )


def _batches(source: Any, file: pq.ParquetFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if {column.partition(".")[0] for column in columns} & set(file.schema_arrow.names):
        yield from bounded(source, file, columns)


def _with_dicts(value: Any, data_type: pa.DataType) -> Any:
    """Make dictionaries of pairs: of a key that a map repeats the last value counts in Parquet."""
    if isinstance(value, list) and pa.types.is_map(data_type):
        return dict(value)
    if isinstance(value, dict):
        return {name: _with_dicts(each, data_type.field(name).type) for name, each in value.items()}
    return value
