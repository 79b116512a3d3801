"""A fork of this process for every job: what a job breaks, fills or hangs ends with it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

SILENCE_SECONDS = 60.0
"""A job that says nothing for so long has hung where no alarm reaches it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that ended without a result.

    Attributes:
        how: in a few words.
    """

    how: str


@dataclass
class _Fork:
    process: BaseProcess
    link: Connection
    number: int
    heard: float = field(default_factory=time.monotonic)


def _work(job: Callable[[Callable[[Any], None]], Any], link: Connection) -> None:
    link.send((True, job(lambda _: link.send((False, None)))))
    link.close()


def each_in_a_fork(
    jobs: Iterable[Callable[[Callable[[Any], None]], Any]], count: int
) -> Iterator[tuple[int, Any]]:
    """Do jobs, some at a time, each in a process of its own.

    Args:
        jobs: each is given a function to say with that it goes on.
        count: how many at a time.

    Yields:
        the number of each job, as they end, and what it gave, or an :class:`Ended`.
    """
    context = multiprocessing.get_context("fork")
    waiting = iter(enumerate(jobs))
    forks: list[_Fork] = []
    try:
        while True:
            while len(forks) < count and (at := next(waiting, None)) is not None:
                here, there = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(at[1], there), daemon=True)
                process.start()
                there.close()
                forks.append(_Fork(process, here, at[0]))
            if not forks:
                return
            ready = wait([each.link for each in forks], timeout=1.0)
            for fork in [*forks]:
                result = _heard(fork) if fork.link in ready else _silent(fork)
                if result is not None:
                    forks.remove(fork)
                    yield fork.number, result[0]
    finally:
        for fork in forks:
            fork.process.kill()
            fork.process.join()


def _heard(fork: _Fork) -> tuple[Any] | None:
    try:
        last, result = fork.link.recv()
    except (EOFError, OSError):
        fork.process.join()
        return (Ended(f"exit status {fork.process.exitcode}"),)
    fork.heard = time.monotonic()
    if not last:
        return None
    fork.process.join(10.0)
    fork.process.kill()
    return (result,)


def _silent(fork: _Fork) -> tuple[Any] | None:
    if time.monotonic() - fork.heard < SILENCE_SECONDS:
        return None
    fork.process.kill()
    fork.process.join()
    return (Ended("time limit"),)
