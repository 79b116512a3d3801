"""How a run ends: interrupted runs clean up, and no run ends well before it came to its end.

An adapter that runs in the process of pytest can end it, with whatever exit status, before
anything was judged. Such a run therefore goes on in a child process, and the status is what the
child reports through a pipe and nothing else.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

from conformance.base.scratch import sweep
from conformance.base.status import Status
from conformance.base.terminal import warn

_ENDING: Final = ("SIGTERM", "SIGHUP")
_SET_DEATH_SIGNAL: Final = 1
"""``PR_SET_PDEATHSIG`` of ``prctl``."""

_EXIT: Final = os._exit
"""Bound before an adapter is imported, which could put another in its place."""


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
    return own and hasattr(os, "fork") and hasattr(signal, "sigwaitinfo") and not sys.gettrace()


def supervised(run: Callable[[], int]) -> int:
    """Run something in a child process and return the status that it reports.

    Args:
        run: gives an exit status.

    Returns:
        the status, or that of a run without a verdict when the child ended before it had one.

    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    watched = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(reading)
        _go_on(run, parent, writing)
    os.close(writing)
    try:
        ended = _wait(child, watched)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.set_blocking(reading, False)
    try:
        report = os.read(reading, 16)
    except BlockingIOError:  # something that the adapter started holds the other end
        report = b""
    os.close(reading)
    if report:
        return int(report)
    sweep()
    warn(
        f"delta-tck: the run was ended ({ended}) before it had judged all, by the adapter or "
        "from outside; without --tck-isolation=none an adapter costs one case at most"
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
        status = int(run())
        os.write(writing, str(status).encode())
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            _EXIT(status)


def _wait(child: int, watched: set[signal.Signals]) -> str:
    """Wait for the child, and pass on the signals that only this process got."""
    while True:
        received = signal.sigwaitinfo(watched)
        if received.si_signo == signal.SIGCHLD:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return f"signal {-code}" if code < 0 else f"exit status {code}"
        elif received.si_signo != signal.SIGINT or received.si_code <= 0:
            # Ctrl-C reaches the child by itself; its code says that the terminal sent it.
            os.kill(child, received.si_signo)
