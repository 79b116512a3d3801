"""A time limit for an adapter that runs in this process.

An adapter in a process of its own is killed instead (``workers/process.py``); here an alarm
interrupts Python code, which is what the reference implementation is.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self

from conformance.base.faults import AdapterError


class InProcessLimit:
    """Raise within the block when it takes too long; does nothing where no alarm can be had.

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
            self._before = signal.signal(signal.SIGALRM, self._expire)
            signal.setitimer(signal.ITIMER_REAL, self._seconds)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the alarm."""
        if self._seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _expire(self, _signal: int, _frame: FrameType | None) -> None:
        raise AdapterError("time limit", f"no answer within {self._seconds:g} s")
