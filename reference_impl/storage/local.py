"""A table on local disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa

from reference_impl.errors import PlaceRefused
from reference_impl.places import LocalRoot, Locator, Place, Policy
from reference_impl.storage import protocol, staging
from reference_impl.storage.protocol import Entry, Identity, absent

if TYPE_CHECKING:
    from reference_impl.storage.object_store import ObjectStorage

_NO_NAME: Final = frozenset(
    {
        errno.EILSEQ, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR,
        errno.ENOTEMPTY, errno.ENXIO,
    }
)  # fmt: skip
"""Errors that a name brings about, and what is in its place."""


class LocalStorage:
    """A table on local disk."""

    def __init__(
        self, root: Path, location: str | None = None, *, policy: Policy | None = None
    ) -> None:
        """Bind to a directory, which need not exist yet."""
        self._policy = policy or Policy()
        self._root = LocalRoot(str(root.absolute()), self._policy)
        self._location = location if location is not None else str(root)
        self._others: dict[str, ObjectStorage] = {}

    @property
    def location(self) -> str:
        """The table root as the caller gave it."""
        return self._location

    def _other(self, place: Place, path: str) -> ObjectStorage | None:
        """Return the storage of another store that the policy allows."""
        if place.store is None:
            return None
        base = place.store.store
        if base not in self._others:
            from reference_impl.storage.object_store import ObjectStorage

            given = self._policy.other(place.store, "file", path)
            self._others[base] = ObjectStorage.of_other(base, given)
        return self._others[base]

    def _open(self, address: str, path: str) -> BinaryIO:
        """Open a regular file: a table may name a pipe, which would never end."""
        with absent():
            descriptor = os.open(address, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        file = os.fdopen(descriptor, "rb") if S_ISREG(os.fstat(descriptor).st_mode) else None
        if file is None:
            os.close(descriptor)
            msg = f"{path} is not a file"
            raise FileNotFoundError(msg)
        if self._policy.root_only:
            try:
                self._root.check_opened(descriptor, path)
            except BaseException:
                file.close()
                raise
        return file

    def _stat(self, address: str, path: str) -> os.stat_result:
        with absent():
            stat = os.stat(address)  # noqa: PTH116  hot, and a path is text
        if not S_ISREG(stat.st_mode):
            msg = f"{path} is not a file"
            raise FileNotFoundError(msg)
        return stat

    def list_from(self, directory: str, start_after: str | None = None) -> list[Entry]:
        """List what is directly in a directory, without the directories in it, sorted by name.

        A pipe, a device and a link that leads nowhere are listed too: to leave out a commit that
        cannot be read would give an older version for the newest.
        """
        found: list[Entry] = []
        place = self._root.follow(directory)
        try:
            with absent():
                scan = os.scandir(place.address)
        except FileNotFoundError:
            return found
        prefix = f"{directory}/" if directory else ""
        with scan:
            for item in scan:
                if start_after is not None and item.name <= start_after:
                    continue
                # A file can vanish between the listing and its description.
                with suppress(FileNotFoundError), absent():
                    stat = _described(item)
                    if not S_ISDIR(stat.st_mode):
                        found.append(_entry(prefix + item.name, stat, link=item.is_symlink()))
        found.sort(key=lambda entry: entry.path)
        return found

    def walk(self, linked: Callable[[str], None] | None = None) -> Iterator[Entry]:
        """List every file below the root, log and hidden ones too, in no order."""
        folders = [""]
        while folders:
            folder = folders.pop()
            # A folder can vanish too; one that cannot be listed makes the listing incomplete.
            with suppress(FileNotFoundError), absent(), os.scandir(self._folder(folder)) as scan:
                for item in scan:
                    path = folder + item.name
                    # A file can vanish between the listing and its description.
                    with suppress(FileNotFoundError), absent():
                        if item.is_dir(follow_symlinks=False):
                            folders.append(f"{path}/")
                        elif item.is_file():
                            yield _entry(path, item.stat(), link=item.is_symlink())
                        elif linked is not None and item.is_dir():
                            linked(path)

    def _folder(self, folder: str) -> str:
        return f"{self._root.path}/{folder}"

    def head(self, path: str) -> Entry:
        """Describe a file."""
        place = self._root.follow(path)
        if other := self._other(place, path):
            return replace(other.head(place.address), path=path)
        return _entry(path, self._stat(place.address, path))

    def get(self, path: str) -> bytes:
        """Read a whole file; :class:`FileTooLarge` beyond the limit ``log_file``."""
        place = self._root.follow(path)
        if other := self._other(place, path):
            return other.get(place.address)
        with self._open(place.address, path) as file:
            size = os.fstat(file.fileno()).st_size
            protocol.refuse_large(path, size)
            return file.read(size) or b""  # no more: what is in /proc or grows has no end

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from byte ``start``; fewer where the file ends."""
        place = self._root.follow(path)
        if other := self._other(place, path):
            return other.get_range(place.address, start, length)
        with self._open(place.address, path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(min(start, size))
            return file.read(min(length, max(size - start, 0))) or b""

    def open_input(self, path: str) -> Any:
        """Open a file for pyarrow. It is not mapped: a file may be cut off while it is read."""
        place = self._root.follow(path)
        if other := self._other(place, path):
            return other.open_input(place.address)
        with self._open(place.address, path) as held:
            # What was looked at is opened, whatever has its name by now: a pipe would never end.
            same = f"/proc/self/fd/{held.fileno()}"
            return pa.OSFile(same if os.path.exists(same) else place.address, "r")  # noqa: PTH110

    def put(self, path: str, data: bytes) -> None:
        """Write a file below the root as a whole, replacing one that is there."""
        with _unobstructed(path):
            staging.replace(self._root.writable_key(path), data, self._checking(path))

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create a file below the root atomically; :class:`FileExistsError` when it exists."""
        with _unobstructed(path):
            staging.create(self._root.writable_key(path), data, self._checking(path))

    def _checking(self, path: str) -> staging.Check:
        return lambda folder: self._root.check_opened(folder, path)

    def delete(self, path: str) -> None:
        """Delete a file below the root."""
        with _unobstructed(path):
            folder, _, name = self._root.writable_key(path).rpartition("/")
            held = os.open(f"{folder}/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._root.check_opened(held, path)
                os.unlink(name, dir_fd=held)
            finally:
                os.close(held)

    def locator(self) -> Locator:
        """Return a function from a decoded path to the path below the root, ``None`` for others."""
        return self._root.locator()

    def holds(self, path: str) -> bool:
        """Return whether a path leads to a place below the root, symlinks resolved."""
        return self._root.holds(path)

    def above(self, name: str) -> Iterator[tuple[protocol.Storage, str]]:
        """Return the folders above the root that have a folder of a name, with the root in each.

        Those above the root as it is written, and with its symlinks resolved.
        """
        for root in {Path(self._root.path): None, Path(self._root.real): None}:
            for folder in root.parents:
                if os.path.isdir(folder / name):  # noqa: PTH112  it raises nothing
                    yield LocalStorage(folder, policy=self._policy), str(root.relative_to(folder))

    def identify(self, path: str) -> Identity | None:
        """Return the identity of the file or folder that a path leads to; ``None`` for none."""
        try:
            with absent():
                stat = os.stat(self._root.guess(path))  # noqa: PTH116  as _stat
        except (FileNotFoundError, ValueError):  # the latter for what no file can be named
            return None
        return Identity(stat.st_dev, stat.st_ino, S_ISDIR(stat.st_mode))


@contextmanager
def _unobstructed(path: str) -> Iterator[None]:
    """Refuse to write or delete where no file can have the name, or something else has it."""
    try:
        yield
    except (OSError, ValueError) as error:  # the latter for a NUL or half of a surrogate pair
        if isinstance(error, OSError) and error.errno not in _NO_NAME:
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise PlaceRefused(
            f"no file can be written or deleted there: {reason}",
            path=ascii(path)[1:501],
            stage="commit",
            hint="look at what has its name, or shorten the names of the table and its partitions",
        ) from error


def _described(item: os.DirEntry[str]) -> os.stat_result:
    """Describe what an item leads to; a link that leads nowhere, or to itself, as the link."""
    with suppress(FileNotFoundError), absent():
        return item.stat()
    return item.stat(follow_symlinks=False)


def _entry(path: str, stat: os.stat_result, *, link: bool = False) -> Entry:
    identity = Identity(stat.st_dev, stat.st_ino)
    return Entry(path, stat.st_size, stat.st_mtime_ns // 1_000_000, identity, link)
