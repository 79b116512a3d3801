"""Time limits for an adapter that runs in this process.

An adapter in a process of its own is killed instead (``workers/process.py``). Here an alarm
interrupts Python code, which is what the reference implementation is. Code that waits in C, or
that put the alarm off, does not heed it: so this process also writes down what it is at and how
long that may take, for a process that looks on from outside (``workers/lifetime.py``).
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final, Self

from conformance.base.faults import AdapterError

_OWN_SECONDS: Final = 300.0
"""Seconds that the kit has for its own work on a case, before and after each request."""

_GRACE: Final = 2.0, 10.0
"""Fewest and most seconds that a request has to end once its alarm went off; in between, as many
as it had."""

_FORM: Final = struct.Struct("<Qd")
_SIZE: Final = 1024


@dataclass(frozen=True, slots=True)
class Task:
    """What a process works on, for who watches whether it still lives.

    Attributes:
        number: how many it had before; a new one is a sign of life.
        seconds: how long it may take, 0 where nothing limits it.
        what: the case, for people.
    """

    number: int
    seconds: float
    what: str


class Journal:
    """Files in which processes write down what they are at, one for each process.

    Args:
        folder: where they are; no other user may enter it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._owner = 0
        self._number = 0
        self._page: mmap.mmap | None = None

    def begin(self, seconds: float, what: str) -> None:
        """Write down what this process begins; of no seconds, that nothing limits it."""
        if self._owner != os.getpid():  # a fork begins a file of its own
            self._owner = os.getpid()
            self._page = self._opened()
        if self._page is not None:
            self._number += 1
            text = what.encode("utf-8", "replace")[: _SIZE - _FORM.size]
            self._page[: _FORM.size] = _FORM.pack(0, 0)
            self._page[_FORM.size :] = text.ljust(_SIZE - _FORM.size, b"\0")
            self._page[: _FORM.size] = _FORM.pack(self._number, seconds)

    def _opened(self) -> mmap.mmap | None:
        with suppress(OSError), Path(self.folder, str(self._owner)).open("w+b") as file:
            file.truncate(_SIZE)
            return mmap.mmap(file.fileno(), _SIZE)
        return None  # as where the folder is gone with the process that looked on

    def forget(self, pid: int) -> None:
        """Remove what a process wrote that has ended."""
        with suppress(OSError):
            Path(self.folder, str(pid)).unlink()

    def tasks(self) -> dict[int, Task]:
        """Return what each process is at that has written something down, by its id."""
        found = {}
        with suppress(OSError):
            for name in os.listdir(self.folder):  # noqa: PTH208  by far quicker
                with suppress(OSError, ValueError):
                    content = Path(self.folder, name).read_bytes()[:_SIZE].ljust(_SIZE, b"\0")
                    number, seconds = _FORM.unpack(content[: _FORM.size])
                    what = content[_FORM.size :].rstrip(b"\0").decode("utf-8", "replace")
                    found[int(name)] = Task(number, seconds, what)
        return found


@dataclass(slots=True)
class _Now:
    """The request that this process carries out, and its time limit."""

    journal: Journal | None = None
    limit: InProcessLimit | None = None
    what: str = ""
    own: float = 0

    def write(self, seconds: float) -> None:
        if self.journal is not None:
            self.journal.begin(0 if debugged() else seconds, self.what)


_CURRENT: Final = _Now()


def write_to(folder: Path | None) -> None:
    """Let this process and its forks write down what they are at, for the process that watches."""
    _CURRENT.journal = None if folder is None else Journal(folder)


def written_to() -> Path | None:
    """Return where this process writes down what it is at."""
    return None if _CURRENT.journal is None else _CURRENT.journal.folder


def debugged() -> bool:
    """Return whether a person steps through this process, who may take any time.

    A measure of coverage traces as a debugger does, but does not wait.
    """
    tracer = sys.gettrace()
    module = getattr(tracer, "__module__", None) or type(tracer).__module__
    if tracer is not None and not module.startswith("coverage"):
        return True
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    return monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None


def pause() -> None:
    """Stop the clock while a debugger waits for input."""
    if _CURRENT.limit is not None:
        _CURRENT.limit.disarm()
    _CURRENT.write(0)


def resume() -> None:
    """Let a request have its whole time from now on."""
    if _CURRENT.limit is not None:
        _CURRENT.limit.arm()
    else:
        _CURRENT.write(_CURRENT.own)


class InProcessLimit:
    """Raise within the block when it takes too long; does nothing where no alarm is available.

    Args:
        seconds: how long the block may take, ``None`` for no limit.
    """

    def __init__(self, seconds: float | None = None) -> None:
        alarms = hasattr(signal, "SIGALRM")
        main = threading.current_thread() is threading.main_thread()
        self._seconds = seconds if alarms and main else None

    def __enter__(self) -> Self:
        """Start the alarm."""
        if self._seconds is not None:
            self._before = signal.getsignal(signal.SIGALRM)
            _CURRENT.limit = self
            self.arm()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the alarm."""
        if self._seconds is not None:
            self.disarm()
            _CURRENT.limit = None
            signal.signal(signal.SIGALRM, self._before or signal.SIG_DFL)
            _CURRENT.write(_CURRENT.own)

    def arm(self) -> None:
        """Start the whole time, unless a debugger is attached to this process."""
        if self._seconds is None or debugged():
            return
        fewest, most = _GRACE
        _CURRENT.write(self._seconds + min(most, max(fewest, self._seconds)))
        signal.signal(signal.SIGALRM, self._expire)
        # An earlier request may have blocked the alarm.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def disarm(self) -> None:
        """Stop the time."""
        signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def about(self, what: str) -> Iterator[None]:
        """Say which case requests are about, and limit what the kit does besides."""
        _CURRENT.what, _CURRENT.own = what, 0 if self._seconds is None else _OWN_SECONDS
        _CURRENT.write(_CURRENT.own)
        try:
            yield
        finally:
            _CURRENT.what, _CURRENT.own = "", 0
            _CURRENT.write(0)

    def _expire(self, _signal: int, _frame: FrameType | None) -> None:
        if not debugged():
            raise AdapterError("time limit", f"no answer within {self._seconds:g} s")


def cores() -> int:
    """Return how many cores this process may run on; not every system restricts processes."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
