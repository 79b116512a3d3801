"""The log of a table as a set of files: commits, checkpoints, compactions, checksums, hint.

Covers "Delta Log Entries", "Checkpoint Naming Scheme", "Log Compaction Files" and "Last
Checkpoint File".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, Protocol

import pyarrow as pa

from conformance.audit.columnar.keys import FileIndex
from conformance.audit.grammar.log_files import HINT, LOG_DIR, SIDECAR_DIR, LogFile, name_of
from conformance.audit.grammar.uris import decode_path
from conformance.audit.read.raw import Document, Fault, Lines, read_document, read_file
from reference_impl.errors import DeltaError, PlaceRefused
from reference_impl.limits import budget
from reference_impl.parquet.opening import open_parquet
from reference_impl.shown import shown_location
from reference_impl.storage import Entry, Storage

_NOT_SIDECAR_DIRS: Final = (
    *(f"{LOG_DIR}/{name}" for name in ("", "sidecars/", "_sidecar/", "sidecar/", "_Sidecars/")),
    *(f"{LOG_DIR}/{name}" for name in ("_side_cars/", "side_cars/", "_checkpoints/")),
    *("", "_sidecars/"),
)
"""Folders where a sidecar is looked for that is not in its own."""

_LISTINGS: Final = 3
"""How often a log is listed whose commits are not in a row."""


class AuditError(Exception):
    """There is no table to audit at the location.

    Attributes:
        location: what was asked for.
    """

    def __init__(self, location: str, message: str) -> None:
        """Say what was asked for and what is there instead."""
        super().__init__(f"{shown_location(location)}: {message}")
        self.location = location


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit file.

    Attributes:
        version: from its name.
        path: relative to the table root.
        content: its actions.
    """

    version: int
    path: str
    content: Lines


def sidecar_path(storage: Storage, path: str) -> str:
    """Return the path below the root of the sidecar that an action names.

    Raises:
        ValueError: it is not a path, or leads to another folder than that of sidecars.
    """
    decoded = decode_path(path)
    try:
        where = storage.locator()(decoded if "/" in decoded else f"{SIDECAR_DIR}/{decoded}")
    except PlaceRefused:
        where = None
    if where is None or where.rpartition("/")[0] != SIDECAR_DIR:
        raise ValueError(f"a sidecar is not in the table's own {SIDECAR_DIR}")
    return where


class ReadLines(Protocol):
    """Gives what a file of actions holds, by its path and whether it is a ``sidecar``."""

    def __call__(self, path: str, *, sidecar: bool = False) -> Lines:
        """Read the file."""
        ...


class Checkpoint:
    """A checkpoint with all of its parts, read when it is first looked at."""

    def __init__(
        self,
        storage: Storage,
        read: ReadLines,
        files: tuple[LogFile, ...],
        entries: tuple[Entry, ...],
    ) -> None:
        """Take the files of one checkpoint, parts in order, and what reads one of them."""
        self._storage = storage
        self._read = read
        self.files = files
        self.entries = entries
        self.version = files[0].version
        self.kind = files[0].kind
        self._schemas: dict[str, pa.Schema | None] = {}

    @property
    def complete(self) -> bool:
        """Whether no part is missing."""
        return self.kind != "multipart_checkpoint" or len(self.files) == self.files[0].parts

    @property
    def place(self) -> str:
        """The path of the first file."""
        return self.entries[0].path

    def schema(self, path: str) -> pa.Schema | None:
        """Return the columns of one of its files, sidecars among them; ``None`` if not Parquet."""
        if path not in self._schemas:
            self._schemas[path] = None if path.endswith(".json") else _schema(self._storage, path)
        return self._schemas[path]

    @cached_property
    def top(self) -> Lines:
        """The rows of the checkpoint itself, without its sidecars."""
        return Lines.merged([self._read(entry.path) for entry in self.entries])

    @cached_property
    def sidecars(self) -> Mapping[str, Lines]:
        """The rows of each sidecar that the checkpoint refers to, by the path of its action."""
        found: dict[str, Lines] = {}
        read: dict[str, Lines] = {}  # a file that is named often is read once
        for line in self.top.of("sidecar"):
            path = line.body.get("path")
            if isinstance(path, str) and path and path not in found:
                budget().check_time()  # one that is gone is looked for in many folders
                found[path] = self._sidecar(line.place, path, read)
        return found

    def _sidecar(self, place: str, path: str, read: dict[str, Lines]) -> Lines:
        """Return the rows of the sidecar that the action at a place names, or why there are none.

        Rows are taken from ``read`` by the path of the file, or added to it.
        """
        try:
            where = sidecar_path(self._storage, path)
            fault = self._missing(place, path, where)
        except ValueError as error:
            fault = Fault(place, f"{error}: {path[:500]!r}", "elsewhere")
        except DeltaError as error:
            fault = Fault(place, error.message)
        if fault is not None:
            return Lines(faults=(fault,))
        if where not in read:
            read[where] = self._read(where, sidecar=True)
        return read[where]

    def _missing(self, place: str, path: str, where: str) -> Fault | None:
        """Return the fault of a sidecar that is not there, by where it is instead."""
        try:
            self._storage.head(where)
        except OSError:
            folder = next((f for f in _NOT_SIDECAR_DIRS if self._is_there(f"{f}{path}")), None)
            if folder is not None:
                message = f"lies in {folder or 'the root'}, not in {SIDECAR_DIR}/"
                return Fault(place, message, "elsewhere")
            if where.rpartition("/")[2] != path and self._is_there(f"{SIDECAR_DIR}/{path}"):
                message = f"{path} is the name of the file, which is no URI of it"
                return Fault(place, message, "unescaped")
            return Fault(where, "does not exist", "gone")
        return None

    def _is_there(self, path: str) -> bool:
        try:
            self._storage.head(path)
        except (OSError, ValueError, DeltaError):
            return False
        return True

    def forget(self) -> None:
        """Drop what was read; it is read again when it is asked for again."""
        for name in ("top", "sidecars", "all"):
            self.__dict__.pop(name, None)

    @cached_property
    def all(self) -> Lines:
        """The rows of the checkpoint and of its sidecars."""
        return Lines.merged([self.top, *self.sidecars.values()])


@dataclass(frozen=True)
class Log:
    """Every file of a log.

    Attributes:
        entries: the whole listing of ``_delta_log``, sorted by name.
        commits: by version, ascending.
        checkpoints: complete and incomplete ones, by version.
        compactions: name and content.
        checksums: by version.
        hint: ``_last_checkpoint``; ``None`` when there is none.
        index: the file actions of commits and compactions.
    """

    entries: tuple[Entry, ...]
    commits: Mapping[int, Commit]
    checkpoints: tuple[Checkpoint, ...]
    compactions: tuple[tuple[LogFile, Lines], ...]
    checksums: Mapping[int, Document]
    hint: Document | None

    @cached_property
    def index(self) -> FileIndex:
        """The file actions of commits and compactions, by number."""
        contents = (
            *(commit.content for commit in self.commits.values()),
            *(content for _, content in self.compactions),
        )
        return FileIndex().with_rows([content.rows for content in contents])


def _checkpoints(
    storage: Storage, read: ReadLines, files: Iterable[tuple[LogFile, Entry]]
) -> tuple[Checkpoint, ...]:
    groups: dict[tuple[object, ...], list[tuple[LogFile, Entry]]] = {}
    for file, entry in files:
        if file.kind == "multipart_checkpoint":
            groups.setdefault((file.version, file.parts), []).append((file, entry))
        elif file.kind.endswith("checkpoint"):
            groups[(file.name,)] = [(file, entry)]
    found = [
        Checkpoint(storage, read, tuple(f for f, _ in group), tuple(e for _, e in group))
        for group in groups.values()
    ]
    return tuple(sorted(found, key=lambda checkpoint: checkpoint.version))


@dataclass(frozen=True, slots=True)
class Listing:
    """The listing of a log.

    Attributes:
        entries: everything, sorted by name.
        files: those that are files of a log, with what their names say.
    """

    entries: tuple[Entry, ...]
    files: tuple[tuple[LogFile, Entry], ...]

    def of(self, kind: str) -> list[tuple[LogFile, Entry]]:
        """Return the files of a kind by version."""
        found = [(file, entry) for file, entry in self.files if file.kind == kind]
        return sorted(found, key=lambda pair: pair[0].version)


def list_log(storage: Storage) -> Listing:
    """List a log, again where a commit is missing: a listing may miss one that is just made.

    Raises:
        AuditError: the location cannot be listed, or has no commit and no checkpoint.
    """
    for _ in range(_LISTINGS):
        try:
            entries = tuple(storage.list_from(LOG_DIR))
        except Exception as error:  # whatever a storage raises, the table cannot be reached
            raise AuditError(storage.location, f"cannot be listed: {error}") from error
        files = tuple((file, entry) for entry in entries if (file := name_of(entry.name)))
        versions = [file.version for file, _ in files if file.kind == "commit"]
        if not versions or len(versions) == max(versions) - min(versions) + 1:
            break
    if not any(file.kind == "commit" or "checkpoint" in file.kind for file, _ in files):
        empty = "" if entries else ", which is empty or not there"
        within = storage.location.rstrip("/").endswith(f"/{LOG_DIR}")
        hint = "; name the folder that it lies in" if within else ""
        raise AuditError(storage.location, f"no commit and no checkpoint in {LOG_DIR}{empty}{hint}")
    return Listing(entries, files)


def read_log(storage: Storage, listing: Listing, read: ReadLines) -> Log:
    """Make a log of its listing.

    Args:
        storage: where the table is; checksums and the hint are read from there.
        listing: of the log.
        read: reads a file of actions.
    """
    return Log(
        entries=listing.entries,
        commits={
            file.version: Commit(file.version, entry.path, read(entry.path))
            for file, entry in listing.of("commit")
        },
        checkpoints=_checkpoints(storage, read, listing.files),
        compactions=tuple((f, read(e.path)) for f, e in listing.files if f.kind == "compaction"),
        checksums={
            file.version: document
            for file, entry in listing.files
            if file.kind == "checksum" and (document := read_document(storage, entry.path))
        },
        hint=read_document(storage, HINT, spelt=True),
    )


def open_log(storage: Storage) -> Log:
    """List a log and read its commits, compactions, checksums and hint.

    Raises:
        AuditError: the location cannot be listed, or has no commit and no checkpoint.
    """
    return read_log(storage, list_log(storage), partial(read_file, storage))


def _schema(storage: Storage, path: str) -> pa.Schema | None:
    try:
        with storage.open_input(path) as source:
            # By their nanoseconds columns of int96 differ from others.
            return open_parquet(source, coerce_int96_timestamp_unit="ns").schema_arrow
    except (OSError, pa.ArrowException, ValueError, KeyError, DeltaError):
        return None
