"""Kill a process at every step of an operation, in the storage's words and in the system's.

A step of the system is whatever Python asks of it about a file of the table: to open, create,
link, rename, remove or list one. The process is a fork of a server that has the writer loaded.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from injecting import Trial
from judging import judge
from scenarios import ALL, opened

from generators.damage.storage import FaultyStorage
from reference_impl import Table

_EVENTS = {
    "open": 0,
    "os.chmod": 0,
    "os.link": 1,
    "os.listdir": 0,
    "os.mkdir": 0,
    "os.remove": 0,
    "os.rename": 1,
    "os.scandir": 0,
    "os.truncate": 0,
    "tempfile.mkstemp": 0,
}
"""Audit events of the interpreter, and which of their arguments is the path."""


class SystemSteps:
    """Counts what the process asks of the system about files below a root, and dies on the way."""

    def __init__(self, root: Path, step: int, done: Callable[[], object]) -> None:
        self.taken = 0
        self._root = str(root)
        self._step = step
        self._done = done
        self._open = True

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        place = _EVENTS.get(event)
        if place is None or not self._open:
            return
        path = arguments[place]
        if not isinstance(path, str | os.PathLike) or not os.fspath(path).startswith(self._root):
            return
        self.taken += 1
        if self.taken == self._step:
            os.kill(os.getpid(), signal.SIGKILL)

    def close(self) -> None:
        """Count no more: a hook cannot be taken away."""
        self._open = False


def _count_system(root: Path, name: str, answer: Any) -> None:
    steps = SystemSteps(root, 0, int)
    sys.addaudithook(steps)
    ALL[name].run(Table(opened(root)))
    steps.close()
    answer.send(steps.taken)


def _die_in_system(root: Path, name: str, step: int) -> None:
    sys.addaudithook(SystemSteps(root, step, int))
    ALL[name].run(Table(opened(root)))


def _die_in_storage(root: Path, name: str, step: int, fault: Any) -> None:
    ALL[name].run(Table(FaultyStorage(opened(root), step, fault)))
