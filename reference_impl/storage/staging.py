"""Atomic and durable files.

Implements "Delta Log Entries". Content is staged next to its target and flushed, then it gets its
name, then the folder is flushed: until that a power cut may take the name away.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, TypeAlias

_NO_FLUSH: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})
"""Errors of file systems that do not flush folders."""

_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

Check: TypeAlias = Callable[[int], None]
"""Takes the descriptor of the folder that is written to, and raises where it must not be."""


def replace(target: str, data: bytes, check: Check) -> None:
    """Write a file of that absolute path, replacing one that is there."""
    with _opened(target, check) as (held, name):
        staged = _stage(held, data)
        try:
            os.replace(staged, name, src_dir_fd=held, dst_dir_fd=held)
        except BaseException:
            _discard(staged, held)
            raise
        _flush_folder(held)


def create(target: str, data: bytes, check: Check) -> None:
    """Create a file of that absolute path; :class:`FileExistsError` when there is one.

    A link fails when the name exists, so a commit is never visible in part, and of two racing
    writers one fails.
    """
    with _opened(target, check) as (held, name):
        staged = _stage(held, data)
        try:
            os.link(staged, name, src_dir_fd=held, dst_dir_fd=held)
        finally:
            # The file has its name or never gets it: a leftover harms neither.
            _discard(staged, held)
        _flush_folder(held)


def _stage(folder: int, data: bytes) -> str:
    staged = f".staged-{secrets.token_hex(8)}.tmp"
    # The kernel applies the umask: other users may read the log as they may the data.
    descriptor = os.open(staged, _WRITE, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        _discard(staged, folder)
        raise
    return staged


def _discard(staged: str, folder: int) -> None:
    with suppress(OSError):
        os.unlink(staged, dir_fd=folder)


@contextmanager
def _opened(target: str, check: Check) -> Iterator[tuple[int, str]]:
    """Open the folder of a file, and return it with the file's name in it.

    The folder is made with those above it, and each that got a new one is flushed. What is opened
    is written to, whatever has its name by then. Those that are made go again where that or the
    block fails, unless they are in use.
    """
    folder, _, last = target.rpartition("/")
    above = []
    while not os.path.isdir(folder or "/"):  # noqa: PTH112  paths are text all the way
        folder, _, name = folder.rpartition("/")
        above.append(name)
    made: list[tuple[int, str]] = []
    with ExitStack() as stack:
        held = _held(stack, os.open(folder or "/", _FOLDER))
        try:
            for name in reversed(above):
                if _make(held, name):
                    made.append((held, name))
                below = _held(stack, _open_made(held, name))
                _flush_folder(held)
                held = below
            check(held)
            yield held, last
        except BaseException:
            with suppress(OSError):
                for parent, name in reversed(made):
                    os.rmdir(name, dir_fd=parent)
            raise


def _held(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


def _make(folder: int, name: str) -> bool:
    """Make a folder in another; return whether it was not there, as another writer makes it too."""
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        return False
    return True


def _open_made(folder: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:  # a symlink that leads nowhere has the name
        code = errno.ENOTDIR
        raise NotADirectoryError(code, os.strerror(code), name) from None


def _flush_folder(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _NO_FLUSH:
            raise
