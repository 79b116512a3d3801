"""Find, measure and end everything that an adapter's process started.

A process that starts a session of its own, or whose parent died, is in no group that could be
killed. So the adapter's process adopts what loses its parent, and has a mark in its environment,
which what it starts inherits. What cleans its environment, leaves its session and outlives the
adapter's process between two looks gets away.

Linux only, through ``/proc``; elsewhere the process group alone is ended, and nothing is measured.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MARK: Final = "DELTA_TCK_ADAPTER"
"""Name of the variable of the environment that marks an adapter's processes."""

_PROC: Final = Path("/proc")
_ROUNDS: Final = 20
"""How often to look for more after killing, in case something starts processes without end."""

_STATE, _PARENT, _SESSION, _START = 0, 1, 3, 19
"""Fields of ``/proc/PID/stat`` after the name of the program."""

_HELD_FIELDS: Final = (b"RssAnon:", b"RssShmem:", b"VmSwap:")
"""What a process holds that the system cannot take back; mapped files it can."""

_SHARED_ONCE_FIELDS: Final = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")
"""What a process holds that the system cannot take back; shared pages are counted once."""


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    session: int
    start: str


@dataclass(slots=True)
class ProcessTree:
    """The processes of one adapter.

    Args:
        root: the process that the kit started; it leads a session.
        mark: what its environment has under :data:`MARK`.
    """

    root: int
    mark: str
    _known: dict[int, str] = field(default_factory=dict)

    def look(self) -> None:
        """Learn which processes there are now."""
        running = _running()
        members = {
            pid
            for pid, process in running.items()
            if self.root in (pid, process.session) or self._known.get(pid) == process.start
        }
        found = members
        while found:
            found = {pid for pid, each in running.items() if each.parent in found} - members
            members |= found
        self._known = {pid: running[pid].start for pid in members}

    def memory(self) -> int:
        """Return the bytes that the processes seen by :meth:`look` hold; pages of files are not."""
        pids = list(self._known)
        return sum(_kibibytes(pid, "status", _HELD_FIELDS) for pid in pids) * 1024

    def exact_memory(self) -> int:
        """Return the bytes of :meth:`memory`, pages that processes share counted once; slower."""
        pids = list(self._known)
        exact = sum(_kibibytes(pid, "smaps_rollup", _SHARED_ONCE_FIELDS) for pid in pids) * 1024
        return exact or self.memory()

    def kill(self) -> None:
        """End all of them."""
        self.look()  # children of the first are reparented once it is gone
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.root, signal.SIGKILL)
        for _ in range(_ROUNDS):
            self.look()
            targets = {*self._known, *self._marked()} - {os.getpid(), self.root}
            if not targets:
                return
            for pid in targets:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def _marked(self) -> set[int]:
        wanted = f"{MARK}={self.mark}".encode()
        found = set()
        for pid in _running():
            with contextlib.suppress(OSError):
                if wanted in _PROC.joinpath(str(pid), "environ").read_bytes().split(b"\0"):
                    found.add(pid)
        return found


def _running() -> dict[int, _Process]:
    """Return the processes that run, without those that ended and wait for their parent."""
    found = {}
    with contextlib.suppress(OSError):
        for name in [each.name for each in _PROC.iterdir()]:
            if name.isdecimal():
                with contextlib.suppress(OSError):
                    text = _PROC.joinpath(name, "stat").read_text(errors="replace")
                    fields = text.rpartition(")")[2].split()
                    if fields[_STATE] not in "ZX":
                        found[int(name)] = _Process(
                            int(fields[_PARENT]), int(fields[_SESSION]), fields[_START]
                        )
    return found


def _kibibytes(pid: int, file: str, names: tuple[bytes, ...]) -> int:
    with contextlib.suppress(OSError):
        lines = _PROC.joinpath(str(pid), file).read_bytes().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(names))
    return 0


_BLOCK: Final = 512
"""Bytes of a block of ``stat``, whatever the file system's own are."""

_MIN_ENTRY_BYTES: Final = 4096
"""Bytes that any file or folder counts, so that many empty ones are noticed too."""


def disk_used(folders: Iterable[Path], most: int) -> int:
    """Count the bytes that everything below some folders takes on disk.

    A program may write anywhere that its user may. What is looked at is the folder of its temporary
    files and the table that it was asked about, which is where engines write.

    Args:
        folders: where to begin; no symlink below them is followed.
        most: bytes beyond which the count stops.
    """
    total = 0
    pending = [str(folder) for folder in folders]
    while pending and total <= most:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    total += max(facts.st_blocks * _BLOCK, _MIN_ENTRY_BYTES)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                if total > most:
                    break
    return total
