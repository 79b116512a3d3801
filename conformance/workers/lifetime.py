"""How a run ends: interrupted runs clean up, none ends well before its end, and none hangs.

An adapter that runs in the process of pytest, and a plugin, can end it, with whatever exit status,
before anything was judged; an adapter can wait in it for ever. Such a run therefore goes on in a
child process, and so does all of ``delta-tck run``. The status is what the child reports through a
pipe and nothing else, and a process that is at one thing for longer than it may be is ended.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from conformance.base.limits import Journal, Task, debugged, write_to
from conformance.base.scratch import Scratch, sweep
from conformance.base.status import Status
from conformance.base.terminal import one_line, warn
from conformance.workers.process_tree import ProcessTree

_ENDING: Final = ("SIGTERM", "SIGHUP")
_SET_DEATH_SIGNAL: Final = 1
"""``PR_SET_PDEATHSIG`` of ``prctl``."""

_EXIT: Final = os._exit
"""Bound before an adapter is imported, which could put another in its place."""

_LOOK_SECONDS: Final = 0.5
_LAST_WORDS_SECONDS: Final = 2.0
"""Seconds that a process has to print where it hangs."""


def interrupt_on_termination() -> None:
    """Let the signals that end a process end it as Ctrl-C does, so that copies are removed."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")


def can_supervise() -> bool:
    """Return whether the run can go on in a child process.

    Not where a debugger is attached, which would stay behind, nor inside of another program that
    captures what is printed: there the run is not the process, and cannot end it unseen.
    """
    try:
        own = sys.stdout.fileno() == 1
    except (OSError, ValueError, AttributeError):
        own = False
    return own and hasattr(os, "fork") and hasattr(signal, "sigwaitinfo") and not debugged()


def supervised(run: Callable[[], int], *, watched: bool = True) -> int:
    """Run something in a child process and return the status that it reports.

    Args:
        run: gives an exit status.
        watched: end what is at one thing for longer than it may be; not where a person is at the
            prompt of a debugger.

    Returns:
        the status, or that of a run without a verdict when the child ended before it had one.
    """
    reading, writing = os.pipe()
    scratch = Scratch(in_memory=True)
    write_to(scratch.path if watched else None)
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    signals = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(reading)
        _go_on(run, parent, writing)
    os.close(writing)
    watch = _Watch(child, Journal(scratch.path))
    try:
        signal.setitimer(signal.ITIMER_REAL, _LOOK_SECONDS, _LOOK_SECONDS)
        code = _wait(child, signals, watch, watched=watched)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.sigtimedwait({signal.SIGALRM}, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        write_to(None)
        scratch.close()
    os.set_blocking(reading, False)
    try:
        report = os.read(reading, 16)
    except BlockingIOError:  # something that the adapter started holds the other end
        report = b""
    os.close(reading)
    # Another process of the user can write to the pipe, and then end the child.
    if report == str(code).encode() and not watch.ended_all:
        return code
    sweep()
    if watch.ended_all:
        warn("delta-tck: the run was ended: it cannot go on without that process")
        return Status.HUNG
    ended = f"signal {-code}" if code < 0 else f"exit status {code}"
    warn(
        f"delta-tck: the run was ended ({ended}) before it had judged all, by the adapter, a "
        "plugin of pytest or from outside; without --tck-isolation=none an adapter costs one case "
        "at most"
    )
    return Status.ERRORS


def _go_on(run: Callable[[], int], parent: int, writing: int) -> None:
    """Run in the child: run, report, and exit without returning to the caller."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:
            _EXIT(Status.INTERRUPTED)
    status = int(Status.INTERNAL)
    try:
        try:
            status = int(run())
        except KeyboardInterrupt:  # once more, while it was ending for the first
            status = int(Status.INTERRUPTED)
        os.write(writing, str(status).encode())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            _EXIT(status)


def _wait(child: int, signals: set[signal.Signals], watch: _Watch, *, watched: bool) -> int:
    """Wait for the child, look on, and pass on the signals that only this process got.

    A child that something stopped goes on, unless it is watched: it then ends at its time limit.
    Returns its exit status, or below 0 the signal that ended it.

    A timer wakes it to look: a wait with a time limit that lasts over a suspension gives a signal
    that was not sent.
    """
    while True:
        received = signal.sigwaitinfo(signals)
        watch.look()
        if received.si_signo in (signal.SIGCHLD, signal.SIGALRM):
            pid, status = os.waitpid(child, os.WNOHANG | (0 if watched else os.WUNTRACED))
            if pid and os.WIFSTOPPED(status):
                if os.WSTOPSIG(status) == signal.SIGSTOP:
                    # A terminal stops this process as well, and by another signal.
                    os.kill(child, signal.SIGCONT)
            elif pid:
                return os.waitstatus_to_exitcode(status)
        elif received.si_signo != signal.SIGINT or received.si_code <= 0:
            # Ctrl-C reaches the child by itself; its code says that the terminal sent it.
            os.kill(child, received.si_signo)


@dataclass(slots=True)
class _Watch:
    """Ends processes that are at one thing for too long.

    Time is what passed between two looks, and not more than two such: a run that was suspended,
    with its supervisor, has not taken any.

    Args:
        child: the process that this one started; others are below it.
        journal: where they write down what they are at.

    Attributes:
        ended_all: the child itself was ended.
    """

    child: int
    journal: Journal
    ended_all: bool = False
    _last: float = field(default_factory=time.monotonic)
    _taken: dict[int, tuple[int, float]] = field(default_factory=dict)

    def look(self) -> None:
        """End what is overdue."""
        now = time.monotonic()
        for pid, task in self._overdue(min(now - self._last, 2 * _LOOK_SECONDS)):
            _end(pid)
            self.ended_all |= pid == self.child
            self.journal.forget(pid)
            warn(
                f"delta-tck: {one_line(task.what) or 'the adapter'} went on for more than "
                f"{task.seconds:g} s and did not heed its time limit: process {pid}, which the kit "
                "shares with the adapter, was ended; --tck-isolation=process costs that case alone"
            )
        self._last = now

    def _overdue(self, passed: float) -> Iterator[tuple[int, Task]]:
        tasks = self.journal.tasks()
        for pid, task in tasks.items():
            number, taken = self._taken.get(pid, (-1, 0.0))
            taken = taken + passed if number == task.number else 0.0
            self._taken[pid] = task.number, taken
            late = task.seconds > 0 and taken > task.seconds
            if late and self._is_below(pid) and not _traced(pid):
                yield pid, task

    def _is_below(self, pid: int) -> bool:
        """Return whether a process is the child, or one that it started and that still runs."""
        while pid > 1:
            if pid == self.child:
                return True
            pid = _field(pid, "PPid:")
        return False


def _end(pid: int) -> None:
    """End a process with everything that it started.

    SIGABRT comes first, at which the fault handler that pytest installs prints where it hangs.
    """
    tree = ProcessTree(pid, secrets.token_hex(8))
    tree.look()
    with suppress(OSError, ValueError, ImportError):
        # A later import, as not every system has the module.
        import resource  # noqa: PLC0415  see above

        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        os.kill(pid, signal.SIGABRT)
    end = time.monotonic() + _LAST_WORDS_SECONDS
    while time.monotonic() < end and not _gone(pid):
        time.sleep(0.02)
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    tree.kill()


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2][1] in "ZX"
    except OSError:
        return True


def _traced(pid: int) -> bool:
    """Return whether a debugger of the system, such as gdb, holds a process."""
    return _field(pid, "TracerPid:") > 0


def _field(pid: int, name: str) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    return 0
