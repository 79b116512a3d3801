"""What the reader and the writer need of a storage.

A storage is bound to one table root. Paths are decoded: relative to the root, absolute, or URLs
with a scheme. Each is resolved by :mod:`reference_impl.places`, and what its policy refuses is
a :class:`~reference_impl.errors.PlaceRefused` of every method.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from reference_impl.errors import FileTooLarge
from reference_impl.limits import budget, exceeded
from reference_impl.places import Locator, file_name

STAGED: Final = re.compile(r"\.staged-[^/]*\.tmp")
"""Names of staging files, which a killed writer leaves next to the target."""


class Identity(NamedTuple):
    """Identity of a file, equal however its path is written.

    Attributes:
        device: number of the file system.
        inode: number of the file in it.
        folder: whether it is a folder.
    """

    device: int
    inode: int
    folder: bool = False


_NO_FILE: Final = frozenset({errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO})
"""Further errors that say that there is no file of a path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in storage.

    Attributes:
        path: relative to the table root.
        size: bytes.
        mtime: milliseconds since the epoch.
        identity: of the file that a walk of a local table came to.
        link: whether that is reached by a symlink.
    """

    path: str
    size: int
    mtime: int
    identity: Identity | None = field(default=None, compare=False)
    link: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """The path without its directories."""
        return file_name(self.path)


class Storage(Protocol):
    """What the reader and the writer need of a storage.

    Every method that reads raises :class:`FileNotFoundError` for a missing file, and every
    method another :class:`OSError` where the storage fails; see :func:`is_failure`. Every method
    that takes a path raises :class:`~reference_impl.errors.PlaceRefused` for one that it does
    not follow.
    """

    @property
    def location(self) -> str:
        """The table root as the caller gave it."""

    def list_from(self, directory: str, start_after: str | None = None) -> list[Entry]:
        """List the files directly in a directory, sorted by name; empty when there is none.

        ``start_after`` is a file name: only names after it are listed.
        """

    def walk(self, linked: Callable[[str], None] | None = None) -> Iterator[Entry]:
        """List every file below the root, log and hidden ones too, in no order.

        A folder that is a symlink is not walked; ``linked`` is called with its path.
        """

    def head(self, path: str) -> Entry:
        """Return path, size and modification time of a file without reading its content."""

    def get(self, path: str) -> bytes:
        """Read a whole file; :class:`FileTooLarge` beyond the limit ``log_file``."""

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """Read ``length`` bytes from byte ``start``; fewer where the file ends."""

    def open_input(self, path: str) -> Any:
        """Open a file for random access by pyarrow. No part of it is mapped into memory."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file below the root as a whole, replacing one that is there."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create a file below the root atomically; :class:`FileExistsError` when it exists.

        The content is there once this returns, and stays through a power cut.
        """

    def delete(self, path: str) -> None:
        """Delete a file below the root."""

    def locator(self) -> Locator:
        """Return a function from a decoded path to the path below the root, ``None`` for others.

        It returns the path as in a listing, however it is written. It caches resolved folders and
        is meant for one operation.
        """

    def holds(self, path: str) -> bool:
        """Return whether a path leads to a place below the root, symlinks resolved.

        Raises nothing but ``PlaceRefused``, where that is not certain.
        """

    def above(self, name: str) -> Iterator[tuple[Storage, str]]:
        """Return the folders above the root that have a folder of a name.

        Args:
            name: such as ``_delta_log``.

        Returns:
            The storage of each such folder, and the path of the root in it, nearest first.

        Raises:
            OSError: a folder cannot be looked at; one of an object store for which there are no
                credentials is left out.
        """

    def identify(self, path: str) -> Identity | None:
        """Return the identity of the file or folder that a path leads to; ``None`` for none.

        For deciding what is not deleted: the policy is not asked.
        """


def is_failure(error: BaseException) -> bool:
    """Return whether an error is of the storage, not of the content of a file.

    Damage of a file reaches us as an :class:`OSError`, too: pyarrow raises a bare one.
    """
    return isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None)


def refuse_large(path: str, size: int) -> None:
    """Refuse to read a file of that many bytes as a whole.

    Raises:
        FileTooLarge: they are more than the limit ``log_file``.
    """
    if size > budget().limits.log_file:
        found = f"the file has {size} bytes"
        raise exceeded("log_file", found, error=FileTooLarge, path=path)


@contextmanager
def absent() -> Iterator[None]:
    """Turn other errors for a missing file into :class:`FileNotFoundError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_FILE:
            raise FileNotFoundError(str(error)) from error
        raise
