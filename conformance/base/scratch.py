"""Folders for what a run needs for a while, which no end of the run leaves behind for long.

A folder is held by a lock of its process. Where the lock of one is free, its process was
killed, be it in another container that shares the place, and the folder is removed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

_PREFIX: Final = "delta-tck-run-"
_MEMORY: Final = Path("/dev/shm")  # noqa: S108  a folder of our own is made below it
_ROOM: Final = 256 * 1024 * 1024
"""Bytes that have to be free in memory; a run holds a few tables at a time."""

_REMOVAL_SECONDS: Final = 60


class Scratch:
    """A new folder that no other user may enter.

    Args:
        in_memory: make it in shared memory, where there is room and no other place is chosen.

    Attributes:
        path: the folder.
    """

    def __init__(self, *, in_memory: bool = False) -> None:
        sweep()
        self._descriptor: int | None = None
        while self._descriptor is None:
            place = _memory() if in_memory else None
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
            # A folder may be swept between its making and its locking: then make another.
            self._descriptor = _locked(self.path)
        self._owner = os.getpid()
        atexit.register(self.close)

    @property
    def lost(self) -> bool:
        """Whether the path of the folder leads to something else by now, or to nothing."""
        return self._descriptor is None or not _is_still(self.path, self._descriptor)

    def remove(self, name: str) -> None:
        """Remove what has a name in the folder, whatever became of it and of its permissions."""
        if self._descriptor is not None:
            _remove(name, self.path, self._descriptor)

    def clear(self) -> None:
        """Remove everything in the folder."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                for name in os.listdir(self._descriptor):  # noqa: PTH208  a descriptor is no path
                    _remove(name, self.path, self._descriptor)

    def close(self) -> None:
        """Remove the folder."""
        if self._descriptor is None or self._owner != os.getpid():
            return
        self.clear()
        with contextlib.suppress(OSError):
            if self.path.is_symlink():  # an adapter put it in the place of the folder
                self.path.unlink()
            else:
                self.path.rmdir()
        os.close(self._descriptor)
        self._descriptor = None
        atexit.unregister(self.close)


def sweep() -> None:
    """Remove the folders of processes that were killed; those of this user only."""
    if sys.platform == "win32":
        return
    for place in {Path(tempfile.gettempdir()), _MEMORY}:
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in list(entries):
                if entry.name.startswith(_PREFIX):
                    _sweep_one(Path(entry.path))


def _sweep_one(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if folder.lstat().st_uid != os.getuid():
            return
        descriptor = _locked(folder)
        if descriptor is None:
            return
        try:
            for name in os.listdir(descriptor):  # noqa: PTH208  as above
                _remove(name, folder, descriptor)
            folder.rmdir()
        finally:
            os.close(descriptor)


def _memory() -> Path | None:
    if any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")):
        return None
    with contextlib.suppress(OSError):
        if shutil.disk_usage(_MEMORY).free >= _ROOM and os.access(_MEMORY, os.W_OK):
            return _MEMORY
    return None


def _locked(folder: Path) -> int | None:
    """Open a folder and lock it; returns ``None`` when another process has it."""
    if sys.platform == "win32":
        raise OSError("copies of tables need a POSIX file system")
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_still(folder, descriptor):
            return descriptor
    except BlockingIOError:
        pass
    os.close(descriptor)
    return None


def _is_still(folder: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(folder.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove(name: str, folder: Path, descriptor: int) -> None:
    """Remove one entry of an open folder, through no link."""
    try:
        os.unlink(name, dir_fd=descriptor)
    except FileNotFoundError:
        return
    except OSError:
        # A folder: links in it are removed and not followed.
        try:
            shutil.rmtree(name, dir_fd=descriptor)
        except (OSError, RecursionError):
            _remove_by_force(folder / name, _is_still(folder, descriptor))


def _remove_by_force(path: Path, safe: bool) -> None:
    """Remove a tree that is too deep for recursion, or closed to its owner."""
    if not safe:  # another folder was put in its place
        return
    for command in (["chmod", "-R", "u+rwx", path.name], ["rm", "-rf", "--", path.name]):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603  fixed programs on a name of our own
                command,
                cwd=path.parent,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_REMOVAL_SECONDS,
            )
