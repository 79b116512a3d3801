"""Work spread over Spark's executors, or over processes of this machine.

A unit of work is a JSON object, and so is its answer; who works is a function that is named as
``package.module:function`` and keeps nothing that an answer depends on. A unit whose process is
killed is done again: its answer is the same.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from conformance.base.commands import function_of
from conformance.base.faults import UnusableError
from conformance.base.limits import cores
from conformance.base.options import IMPLEMENTATIONS
from conformance.pipeline.session import SparkOptions, add_spark_options, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_MASTER: Final = "none"
"""In place of a master of Spark: processes of this machine, without it."""

_LIVES: Final = 8
"""Pools of processes that the work of one call may wear out."""

Unit: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[str, Sequence[Unit]], list[Unit]]


class SpreadError(UnusableError):
    """A unit of work failed in every attempt."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where work goes.

    Attributes:
        slots: how many units are worked on at once.
        run: gives the answers of some units, in their order.
        session: of Spark, where it is there.
    """

    slots: int
    run: Run
    session: SparkSession | None = None


def add_judging_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser of a job that judges who is judged, who works, and where it is kept."""
    names = ", ".join(IMPLEMENTATIONS)
    parser.add_argument(
        "--impl", action="append", required=True, help=f"{names}, python:… or cmd:…; repeatable"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--dry-run", action="store_true", help="say what there is to do")
    parser.add_argument(
        "--workers", type=count, help=f"processes, with --master={NO_MASTER} (default: the cores)"
    )
    add_spark_options(parser)


def count(text: str) -> int:
    """Read a number of things.

    Raises:
        argparse.ArgumentTypeError: it is no whole number from 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def hours(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def spread_over(job: str, options: SparkOptions, workers: int | None = None) -> Iterator[Spread]:
    """Hold what units are spread over.

    Args:
        job: name of the job.
        options: how to reach Spark; the master ``none`` is this machine without it.
        workers: processes of this machine, where it is without Spark; a core each by default.

    Raises:
        SparkMissingError: Spark is not available.
    """
    if options.master == NO_MASTER:
        here = _Here(workers or cores())
        try:
            yield Spread(here.count, here.run)
        finally:
            here.close()
        return
    with spark_session(job, options) as session:
        context = session.sparkContext

        def run(function: str, units: Sequence[Unit]) -> list[Unit]:
            texts = [json.dumps(unit) for unit in units]
            try:
                answers = (
                    context.parallelize(texts, len(texts)).map(partial(work, function)).collect()
                )
            except Exception as error:
                words = str(error).strip().splitlines()
                cause = next(
                    (each for each in words if "Error: " in each), words[0] if words else ""
                )
                raise SpreadError(f"the executors gave up: {cause.strip()}") from error
            return [json.loads(text) for text in answers]

        yield Spread(context.defaultParallelism, run, session)


def work(function: str, unit: str) -> str:
    """Do one unit; runs in an executor, or in a process of this machine.

    Args:
        function: ``package.module:function``, which takes a unit and gives its answer.
        unit: as JSON.
    """
    answer: Unit = function_of(function)(json.loads(unit))
    return json.dumps(answer)


def in_this_process(function: str, units: Sequence[Unit]) -> list[Unit]:
    """Do units one after the other in this process, as :class:`Spread` does elsewhere."""
    return [json.loads(work(function, json.dumps(unit))) for unit in units]


def _end_with_driver() -> None:
    """End this process when the driver is killed, which would have ended it."""
    driver = multiprocessing.parent_process()
    assert driver is not None

    def watch() -> None:
        driver.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@dataclass(slots=True)
class _Here:
    """Processes of this machine, replaced where one is killed."""

    count: int
    _pool: ProcessPoolExecutor | None = None

    def run(self, function: str, units: Sequence[Unit]) -> list[Unit]:
        answers: dict[int, str] = {}
        for _ in range(_LIVES):
            left = [place for place in range(len(units)) if place not in answers]
            if not left:
                return [json.loads(answers[place]) for place in range(len(units))]
            if self._pool is None:
                # A fork would carry over the threads of Arrow, and none of their locks.
                spawn = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self.count, spawn, _end_with_driver)
            waiting: dict[int, Future[str]] = {}
            try:
                for place in left:
                    waiting[place] = self._pool.submit(work, function, json.dumps(units[place]))
                wait(waiting.values())
            except BrokenProcessPool:
                pass
            broken = len(waiting) < len(left)
            for place, future in waiting.items():
                if isinstance(future.exception(), BrokenProcessPool):
                    broken = True
                else:
                    answers[place] = future.result()
            if broken:
                self.close()
        raise SpreadError(f"{_LIVES} times a process was killed before its work was done")

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
