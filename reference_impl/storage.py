"""Storage of a table: a small protocol over local disk and object stores.

Serves "Delta Table Specification" (relative and absolute paths) and "Delta Log Entries"
(atomic creation of a commit). A storage is bound to one table root. Paths are decoded: relative
to the root, absolute, or URLs with a scheme; nothing in here decodes percent escapes except
:func:`open_storage`, for a location given as a URL.
"""

from __future__ import annotations

import errno
import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, Final, Protocol
from urllib.parse import quote, unquote, urlsplit

import obstore
import pyarrow as pa
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import from_url

from reference_impl.errors import FileTooLarge
from reference_impl.limits import budget, exceeded

__all__ = [
    "STAGED",
    "Entry",
    "LocalStorage",
    "ObjectStorage",
    "Storage",
    "is_absolute",
    "is_failure",
    "open_storage",
]

STAGED: Final = re.compile(r"\.staged-[^/]*\.tmp")
"""Names of files on their way: what a writer that is killed leaves beside the target."""

_NO_FILE: Final = frozenset({errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO})
"""Errors for which no file is there either: what a path meets on its way, or at its end."""

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in storage.

    Attributes:
        path: relative to the table root.
        size: bytes.
        mtime: milliseconds since the epoch.

    """

    path: str
    size: int
    mtime: int

    @property
    def name(self) -> str:
        """The path without its directories."""
        return self.path.rpartition("/")[2]


class Storage(Protocol):
    """What the reader and the writer need of a storage.

    Every method that reads raises :class:`FileNotFoundError` for a missing file, and every
    method another :class:`OSError` where the storage fails; see :func:`is_failure`.
    """

    @property
    def location(self) -> str:
        """The table root as the caller gave it."""

    def list_from(self, directory: str, start_after: str | None = None) -> list[Entry]:
        """List the files right in a directory, sorted by name; empty when there is none.

        ``start_after`` is a file name: only names after it are listed.
        """

    def walk(self) -> Iterator[Entry]:
        """List every file below the root, log and hidden ones too, in no order."""

    def head(self, path: str) -> Entry:
        """Describe a file."""

    def get(self, path: str) -> bytes:
        """Read a whole file; :class:`FileTooLarge` beyond the limit ``log_file``."""

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from byte ``start``; fewer where the file ends."""

    def open_input(self, path: str) -> Any:
        """Open a file for random access by pyarrow; memory-mapped where that is possible."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file as a whole, replacing one that is there."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create a file atomically with its content; :class:`FileExistsError` when it exists."""

    def delete(self, path: str) -> None:
        """Delete a file."""


def open_storage(
    location: str | os.PathLike[str], options: Mapping[str, str] | None = None
) -> Storage:
    """Open the storage of a table root.

    Args:
        location: a local path, taken literally, or a URL (``file://``, ``s3://``, ``az://``,
            ``gs://``, ``memory://`` …), taken as a URL.
        options: configuration for an object store, as ``aws_region``.

    """
    text = os.fspath(location)
    match = _SCHEME.match(text)
    if match is None or len(match[1]) == 1:
        return LocalStorage(Path(text).absolute(), text)
    if match[1].lower() == "file":
        return LocalStorage(Path(unquote(urlsplit(text).path)), text)
    return ObjectStorage(text, options)


def is_absolute(path: str) -> bool:
    """Say whether a decoded path is absolute or a URL, and not relative to the table root."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def is_failure(error: BaseException) -> bool:
    """Tell whether a storage failed, and not what it holds.

    Damage of a file reaches us as an :class:`OSError`, too: pyarrow raises a bare one.
    """
    return isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None)


def _refuse_large(path: str, size: int) -> None:
    if size > budget().limits.log_file:
        found = f"the file has {size} bytes"
        raise exceeded("log_file", found, error=FileTooLarge, path=path)


@contextmanager
def _absent() -> Iterator[None]:
    """Turn what says in other words that no file is there into :class:`FileNotFoundError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_FILE:
            raise FileNotFoundError(str(error)) from error
        raise


class LocalStorage:
    """A table on local disk."""

    def __init__(self, root: Path, location: str | None = None) -> None:
        """Bind to a directory, which need not exist yet."""
        self._root = str(root)
        self._location = location if location is not None else self._root

    @property
    def location(self) -> str:
        """The table root as the caller gave it."""
        return self._location

    def _local(self, path: str) -> str:
        match = _SCHEME.match(path)
        if match is None:
            return os.path.join(self._root, path)  # noqa: PTH118  hot, and path is text
        if match[1].lower() != "file":
            msg = f"{path} is not on local disk"
            raise FileNotFoundError(msg)
        # The path is decoded already: only the authority goes, and '#' or '?' stay.
        rest = path[match.end() - 1 :]
        return "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest

    def _open(self, path: str) -> BinaryIO:
        """Open a regular file: a table may name a pipe, which would never end."""
        with _absent():
            descriptor = os.open(self._local(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        file = os.fdopen(descriptor, "rb") if S_ISREG(os.fstat(descriptor).st_mode) else None
        if file is None:
            os.close(descriptor)
            msg = f"{path} is not a file"
            raise FileNotFoundError(msg)
        return file

    def _stat(self, path: str) -> os.stat_result:
        with _absent():
            stat = os.stat(self._local(path))  # noqa: PTH116  as _local
        if not S_ISREG(stat.st_mode):
            msg = f"{path} is not a file"
            raise FileNotFoundError(msg)
        return stat

    def list_from(self, directory: str, start_after: str | None = None) -> list[Entry]:
        """List the files right in a directory, sorted by name; empty when there is none."""
        found: list[Entry] = []
        try:
            with _absent():
                scan = os.scandir(self._local(directory))
        except FileNotFoundError:
            return found
        prefix = f"{directory}/" if directory else ""
        with scan:
            for item in scan:
                if start_after is not None and item.name <= start_after:
                    continue
                # A file can vanish between the listing and its description.
                with suppress(FileNotFoundError), _absent():
                    if item.is_file():
                        stat = item.stat()
                        mtime = stat.st_mtime_ns // 1_000_000
                        found.append(Entry(prefix + item.name, stat.st_size, mtime))
        found.sort(key=lambda entry: entry.path)
        return found

    def walk(self) -> Iterator[Entry]:
        """List every file below the root, log and hidden ones too, in no order."""
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = os.path.join(folder, name)  # noqa: PTH118  as _local
                # A file can vanish between the listing and its description.
                with suppress(FileNotFoundError):
                    yield self.head(os.path.relpath(path, self._root))

    def head(self, path: str) -> Entry:
        """Describe a file."""
        stat = self._stat(path)
        return Entry(path, stat.st_size, stat.st_mtime_ns // 1_000_000)

    def get(self, path: str) -> bytes:
        """Read a whole file; :class:`FileTooLarge` beyond the limit ``log_file``."""
        with self._open(path) as file:
            _refuse_large(path, os.fstat(file.fileno()).st_size)
            return file.read()

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from byte ``start``; fewer where the file ends."""
        with self._open(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(min(start, size))
            return file.read(min(length, max(size - start, 0)))

    def open_input(self, path: str) -> Any:
        """Map a file into memory for pyarrow."""
        # An empty file cannot be mapped on every system.
        if self._stat(path).st_size == 0:
            return pa.BufferReader(b"")
        return pa.memory_map(self._local(path), "r")

    def put(self, path: str, data: bytes) -> None:
        """Write a file as a whole, replacing one that is there."""
        staged = Path(self._stage(path, data))
        try:
            staged.replace(self._local(path))
        except OSError:
            staged.unlink(missing_ok=True)
            raise

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create a file atomically with its content; :class:`FileExistsError` when it exists.

        The content is staged and flushed beside the target and then linked to its name: a
        link fails when the name is taken, so nobody sees a part of a commit and of two racing
        writers one loses.
        """
        staged = self._stage(path, data)
        try:
            os.link(staged, self._local(path))
        finally:
            Path(staged).unlink()

    def _stage(self, path: str, data: bytes) -> str:
        target = Path(self._local(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, staged = tempfile.mkstemp(prefix=".staged-", suffix=".tmp", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            # mkstemp makes files private; a log is read by whoever reads the table.
            os.fchmod(descriptor, 0o666 & ~_umask())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return staged

    def delete(self, path: str) -> None:
        """Delete a file."""
        Path(self._local(path)).unlink()


def _umask() -> int:
    """Read the process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


class ObjectStorage:
    """A table in an object store, reached by URL."""

    def __init__(
        self, location: str, options: Mapping[str, str] | None = None, store: Any = None
    ) -> None:
        """Bind to a URL; ``store`` hands in an obstore store whose root is the table root."""
        self._location = location
        self._options = dict(options or {})
        self._store = store if store is not None else from_url(location, config=self._options)
        self._others: dict[str, Any] = {}

    @property
    def location(self) -> str:
        """The table root as the caller gave it."""
        return self._location

    def _resolve(self, path: str) -> tuple[Any, str]:
        """Give the store and the key of a path: absolute paths may lie in another bucket."""
        match = _SCHEME.match(path)
        if match is None and not path.startswith("/"):
            return self._store, path
        here = urlsplit(self._location)
        if match is None:
            scheme, authority, key = here.scheme, here.netloc, path[1:]
        else:
            scheme = match[1]
            authority, _, key = path[match.end() + 1 :].partition("/")
        base = f"{scheme}://{authority}"
        if base not in self._others:
            self._others[base] = from_url(quote(base, safe=":/@"), config=self._options)
        return self._others[base], key

    def list_from(self, directory: str, start_after: str | None = None) -> list[Entry]:
        """List the files right in a directory, sorted by name; empty when there is none."""
        prefix = f"{directory}/" if directory else ""
        offset = prefix + start_after if start_after is not None else None
        if offset is None:
            # Spares walking the directories below, which an offset does not.
            with _as_os_error(directory):
                metas = obstore.list_with_delimiter(self._store, prefix or None)["objects"]
        else:
            with _as_os_error(directory):
                batches = obstore.list(self._store, prefix or None, offset=offset)
                metas = [meta for batch in batches for meta in batch]
        found = [
            _entry(meta["path"], meta) for meta in metas if "/" not in meta["path"][len(prefix) :]
        ]
        found.sort(key=lambda entry: entry.path)
        return found

    def walk(self) -> Iterator[Entry]:
        """List every file below the root, log and hidden ones too, in no order."""
        with _as_os_error(""):
            for batch in obstore.list(self._store):
                for meta in batch:
                    yield _entry(meta["path"], meta)

    def head(self, path: str) -> Entry:
        """Describe a file."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            return _entry(path, obstore.head(store, key))

    def get(self, path: str) -> bytes:
        """Read a whole file; :class:`FileTooLarge` beyond the limit ``log_file``."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            found = obstore.get(store, key)
            _refuse_large(path, found.meta["size"])
            return bytes(found.bytes())

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from byte ``start``; fewer where the file ends."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            end = min(start + length, obstore.head(store, key)["size"])
            if end <= start:
                return b""
            return bytes(obstore.get_range(store, key, start=start, end=end))

    def open_input(self, path: str) -> Any:
        """Open a file for random access by pyarrow."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            reader = obstore.open_reader(store, key)
        return pa.PythonFile(_Reader(reader, path), mode="r")

    def put(self, path: str, data: bytes) -> None:
        """Write a file as a whole, replacing one that is there."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            obstore.put(store, key, data)

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create a file atomically with its content; :class:`FileExistsError` when it exists."""
        store, key = self._resolve(path)
        try:
            with _as_os_error(path):
                obstore.put(store, key, data, mode="create")
        except (AlreadyExistsError, PreconditionError) as error:
            raise FileExistsError(path) from error

    def delete(self, path: str) -> None:
        """Delete a file."""
        store, key = self._resolve(path)
        with _as_os_error(path):
            obstore.delete(store, key)


class _Reader(io.RawIOBase):
    """Give an obstore reader the face of a Python file."""

    def __init__(self, reader: Any, path: str) -> None:
        self._reader = reader
        self._path = path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def read(self, size: int = -1) -> bytes:
        with _as_os_error(self._path):
            return bytes(self._reader.read(None if size < 0 else size))


@contextmanager
def _as_os_error(path: str) -> Iterator[None]:
    """Say in the words of the system what an object store refused or failed to do."""
    try:
        yield
    except (AlreadyExistsError, PreconditionError):
        raise
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise PermissionError(errno.EACCES, str(error), path) from error
    except BaseError as error:
        raise OSError(errno.EIO, str(error), path) from error


def _entry(path: str, meta: Any) -> Entry:
    return Entry(path, meta["size"], int(meta["last_modified"].timestamp() * 1000))
