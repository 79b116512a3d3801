"""Kill a process at every step of an operation, in the storage's words and in the system's.

A step of the system is whatever Python asks of it about a file of the table: to open, create,
link, rename, remove or list one. The process is a fork of a server that has the writer loaded.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, Literal

import pytest
from faulty_storage import Fault, FaultyStorage
from injecting import Trial
from scenarios import ALL, opened

from reference_impl import Table

Death = Literal["storage before", "storage after", "system"]

_EVENTS = {
    "open": 0,
    "os.chmod": 0,
    "os.link": 1,
    "os.listdir": 0,
    "os.mkdir": 0,
    "os.remove": 0,
    "os.rename": 1,
    "os.scandir": 0,
}
"""Audit events of the interpreter, and which of their arguments is the path."""

_LOADED = ("pytest", "duckdb", "pyarrow.parquet", "killing")


@cache
def _forks() -> Any:
    """Start the server that every process to be killed is a fork of."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_LOADED])
    with pytest.MonkeyPatch.context() as patch:
        # What the server loads it finds as it was started, not as this process was note later.
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        forkserver.ensure_running()
    return context


def _in_process(target: Callable[..., object], *arguments: object) -> int | None:
    """Call a function in a fork, and give how that ended."""
    process = _forks().Process(target=target, args=arguments)
    process.start()
    process.join()
    code: int | None = process.exitcode
    process.close()
    return code


def _watch(root: Path, at_step: Callable[[int], object]) -> None:
    """Count from now on what the process asks about files below a root: a hook stays."""
    taken = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal taken
        place = _EVENTS.get(event)
        path = None if place is None else arguments[place]
        if not isinstance(path, str | os.PathLike):
            return
        # What is no whole path is a name in a folder that the storage opened.
        if os.fspath(path).startswith(str(root)) or not Path(path).is_absolute():
            taken += 1
            at_step(taken)

    sys.addaudithook(hook)


def _die(root: Path, name: str, step: int, death: Death) -> None:
    storage: Any = opened(root)
    match death:
        case "storage before":
            storage = FaultyStorage(storage, step, Fault.KILL)
        case "storage after":
            storage = FaultyStorage(storage, step, Fault.KILL_LATE)
        case "system":
            _watch(root, lambda taken: taken == step and os.kill(os.getpid(), signal.SIGKILL))
    ALL[name].run(Table(storage))


def kill(trial: Trial, root: Path, death: Death, steps: Iterable[int]) -> int:
    """Kill the writer at one step after the other, each time on a table of its own.

    The first that has ended before its step is the last that is tried: how many steps of the system
    there are differs by a few from run to run, as threads share what one of them found.

    Args:
        trial: the operation and the table.
        root: where the copies of the table stand.
        death: by which words steps are counted.
        steps: their numbers, from 1, rising.

    Returns:
        How many died.
    """
    died = 0
    for step, place in trial.copies(root, steps):
        code = _in_process(_die, place, trial.name, step, death)
        assert code in (0, -signal.SIGKILL)
        trial.judge(place, finished=code == 0, note=f"killed at step {step} of the {death}")
        if code == 0:
            break
        died += 1
    return died
