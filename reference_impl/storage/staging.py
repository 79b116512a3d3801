"""Atomic and durable files.

Serves "Delta Log Entries". Content is staged next to its target and flushed, then it gets its
name, then the folder is flushed: until that a power cut may take the name away.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_NO_FLUSH: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})
"""Errors of file systems that do not flush folders."""

_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def replace(target: str, data: bytes) -> None:
    """Write a file of that absolute path, replacing one that is there."""
    folder = os.path.dirname(target)  # noqa: PTH120  paths are text all the way
    staged = _stage(folder, data)
    try:
        os.replace(staged, target)  # noqa: PTH105  as above
    except BaseException:
        _discard(staged)
        raise
    _flush_folder(folder)


def create(target: str, data: bytes) -> None:
    """Create a file of that absolute path; :class:`FileExistsError` when there is one.

    A link fails when the name exists, so a commit is never visible in part, and of two racing
    writers one fails.
    """
    folder = os.path.dirname(target)  # noqa: PTH120  as in replace
    staged = _stage(folder, data)
    try:
        os.link(staged, target)
    finally:
        # The file has its name or never gets it: a leftover harms neither.
        _discard(staged)
    _flush_folder(folder)


def _stage(folder: str, data: bytes) -> str:
    staged = f"{folder}/.staged-{secrets.token_hex(8)}.tmp"
    with _folders(folder):
        # The kernel applies the umask: a log is read by whoever reads the table.
        descriptor = os.open(staged, _WRITE, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            _discard(staged)
            raise
    return staged


def _discard(staged: str) -> None:
    with suppress(OSError):
        os.unlink(staged)  # noqa: PTH108  as in replace


@contextmanager
def _folders(folder: str) -> Iterator[None]:
    """Make a folder and those above it, and flush each folder that got a new one.

    Those that are made go again where that or the block fails, unless they are in use.
    """
    above = []
    while not os.path.isdir(folder):  # noqa: PTH112  as in replace
        above.append(folder)
        folder = os.path.dirname(folder)  # noqa: PTH120  as in replace
    made: list[str] = []
    try:
        for new in reversed(above):
            try:
                os.mkdir(new)  # noqa: PTH102  as in replace
                made.append(new)
            except FileExistsError:
                # Another writer makes it as well, or what has the name is no folder.
                if not os.path.isdir(new):  # noqa: PTH112  as in replace
                    code = errno.ENOTDIR
                    raise NotADirectoryError(code, os.strerror(code), new) from None
            _flush_folder(os.path.dirname(new))  # noqa: PTH120  as in replace
        yield
    except BaseException:
        with suppress(OSError):
            for new in reversed(made):
                os.rmdir(new)  # noqa: PTH106  as in replace
        raise


def _flush_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FLUSH:
            raise
    finally:
        os.close(descriptor)
