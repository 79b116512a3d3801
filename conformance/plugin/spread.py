"""Judge in several processes that are forked once everything is loaded and collected.

A test process of pytest-xdist starts from nothing: it imports, reads the corpus and collects what
the first process has already. A fork has all of it. Items of one case stay in one process, which
copies its table once, and reports come back in the order of the items, not of completion: a run
in four processes reads, stops and writes its results as a run in one.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeAlias

import pytest

from conformance.base.limits import cores

_MAX_PROCESSES: Final = 4
"""More processes than these wait for memory."""

_WORTHWHILE: Final = 200
"""Items below which one process is done before others have begun."""

_IN_FLIGHT: Final = 2
"""Portions that a process has: while it reports one it goes on with the next."""

_MIN_ITEMS: Final = 8
"""Items of a portion, unless they are the last ones."""

_END_SECONDS: Final = 10.0

_Reports: TypeAlias = list[dict[str, Any]]
"""Reports of one item, and warnings on the way, as plain data."""

_WARNING: Final = "delta-tck-warning"


def processes_for(session: pytest.Session) -> int:
    """Return in how many processes the items of a session are judged fastest.

    One where ``-n`` leaves it to pytest-xdist, a debugger or a measure of coverage looks on, or
    there are threads, whose locks a fork would find closed for ever.
    """
    config = session.config

    def given(name: str) -> bool:
        return config.getoption(name, default=None) not in (None, False)

    alone = (
        session.testsfailed
        or len(session.items) < _WORTHWHILE
        or any(map(given, ("numprocesses", "usepdb", "trace", "collectonly", "setuponly")))
        or sys.gettrace() is not None
        or threading.active_count() > 1
        or "fork" not in multiprocessing.get_all_start_methods()
    )
    return 1 if alone else min(cores(), _MAX_PROCESSES)


def portions(items: Sequence[pytest.Item], group: Callable[[pytest.Item], str]) -> list[list[int]]:
    """Cut items into runs that one process judges, where a group ends and not within one.

    Args:
        items: in the order in which they were collected.
        group: what an item shares with its neighbours that stay with it.
    """
    found, start = [], 0
    for end in range(1, len(items) + 1):
        whole = end == len(items) or group(items[end]) != group(items[end - 1])
        if whole and (end - start >= _MIN_ITEMS or end == len(items)):
            found.append(list(range(start, end)))
            start = end
    return found


@dataclass(slots=True)
class _Process:
    """A process, and what it was given that it has not reported."""

    process: BaseProcess
    link: Connection
    left: deque[int] = field(default_factory=deque)
    portions: int = 0
    ends: bool = False


class Crew:
    """Processes that judge the items of a session.

    Args:
        session: collected, and about to run.
        prepare: leaves to the first process what is its own, in a copy.
        finish: releases what the copy holds, at its end.
        group: what an item shares with neighbours that are to stay together.
    """

    def __init__(
        self,
        session: pytest.Session,
        prepare: Callable[[], None],
        finish: Callable[[], None],
        group: Callable[[pytest.Item], str],
    ) -> None:
        """Cut the items; no process begins yet."""
        self._session, self._prepare, self._finish = session, prepare, finish
        self._waiting = deque(portions(session.items, group))
        self._processes: list[_Process] = []

    def reports(self, count: int) -> Generator[list[pytest.TestReport]]:
        """Judge in ``count`` processes, and return the reports of each item in the items' order.

        An item whose process ends is reported as failed, and another process goes on.
        """
        found: dict[int, _Reports] = {}
        try:
            for _ in range(min(count, len(self._waiting))):
                self._start()
            for index in range(len(self._session.items)):
                while index not in found:
                    self._receive(found)
                yield self._replayed(found.pop(index))
        finally:
            self._end()

    def _replayed(self, reports: _Reports) -> list[pytest.TestReport]:
        """Return the reports, and pass on the warnings."""
        config = self._session.config
        found = []
        for data in reports:
            if _WARNING in data:
                hook = config.hook.pytest_warning_recorded
                hook.call_historic(kwargs={**data[_WARNING], "location": None})
                continue
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            assert isinstance(report, pytest.TestReport)
            found.append(report)
        return found

    def _start(self) -> None:
        here, there = multiprocessing.Pipe()
        # What another copy holds open would keep this one waiting after the run has ended.
        foreign = [here, *(each.link for each in self._processes)]
        process = multiprocessing.get_context("fork").Process(
            target=self._judge, args=(there, foreign), daemon=True
        )
        with warnings.catch_warnings():
            # Python warns of threads, which numeric libraries start: they are ready for a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        there.close()
        made = _Process(process, here)
        self._processes.append(made)
        self._give(made)

    def _give(self, made: _Process) -> None:
        """Keep a process busy; that it has ended is noticed where it is read."""
        with suppress(OSError):
            while made.portions < _IN_FLIGHT and not made.ends:
                made.portions += 1
                portion = self._waiting.popleft() if self._waiting else None
                made.ends = portion is None
                made.left += portion or ()
                made.link.send(portion)

    def _receive(self, received: dict[int, _Reports]) -> None:
        """Take what has come from any process."""
        for link in wait([each.link for each in self._processes]):
            made = next(each for each in self._processes if each.link is link)
            try:
                index, reports, last = made.link.recv()
            except (EOFError, OSError):
                self._lose(made, received)
                continue
            received[index] = reports
            made.left.popleft()
            if last:
                made.portions -= 1
                self._give(made)

    def _lose(self, made: _Process, received: dict[int, _Reports]) -> None:
        """Report the item that a process ended at, and leave the rest of its items to another."""
        made.link.close()
        made.process.join()
        self._processes.remove(made)
        if made.left:
            config, at = self._session.config, made.left.popleft()
            item, code = self._session.items[at], made.process.exitcode or 0
            how = f"signal {-code}" if code < 0 else f"exit status {code}"
            lost = pytest.TestReport(
                item.nodeid,
                item.location,
                {},
                "failed",
                f"the process that judged this ended with {how}",
                "call",
            )
            received[at] = [config.hook.pytest_report_to_serializable(config=config, report=lost)]
        if made.left:
            self._waiting.appendleft([*made.left])
        if self._waiting:
            self._start()

    def _end(self) -> None:
        for each in self._processes:
            each.link.close()
        for each in self._processes:
            each.process.join(_END_SECONDS)
            if each.process.is_alive():
                each.process.kill()
                each.process.join()

    def _judge(self, link: Connection, foreign: Sequence[Connection]) -> None:
        """Run as a fork: judge the items that are sent until none follows."""
        for each in foreign:
            each.close()
        plugin = _ReportCollector(self._session.config)
        # The first process went away, or was interrupted as this one is.
        with suppress(EOFError, OSError, KeyboardInterrupt):
            try:
                self._prepare()
                upcoming = _upcoming(link)
                at = next(upcoming, None)
                while at is not None:
                    index, last = at
                    # Who runs an item has to know the one after it.
                    at = next(upcoming, None)
                    following = None if at is None else self._session.items[at[0]]
                    item = self._session.items[index]
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    link.send((index, plugin.reports, last))
                    plugin.reports = []
            finally:
                self._finish()


def _upcoming(link: Connection) -> Iterator[tuple[int, bool]]:
    """Return items, and whether each is the last of its portion."""
    while portion := link.recv():
        for index in portion:
            yield index, index == portion[-1]


class _ReportCollector:
    """Collects the reports of a fork, whose terminal output is switched off."""

    def __init__(self, config: pytest.Config) -> None:
        self.reports: _Reports = []
        self._config = config
        plugins = config.pluginmanager
        plugins.unregister(name="terminalreporter")
        capture = plugins.getplugin("capturemanager")
        if capture is not None and capture.is_globally_capturing():
            # Copies of one open file share their place in it.
            capture.stop_global_capturing()
            capture.start_global_capturing()
            capture.suspend_global_capture()
        plugins.register(self, "delta-tck-report-collector")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report."""
        hook = self._config.hook
        self.reports.append(hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str
    ) -> None:
        """Keep a warning; the object that it is about may not leave this process."""
        given = warning_message
        plain = warnings.WarningMessage(
            str(given.message), given.category, given.filename, given.lineno
        )
        self.reports.append({_WARNING: {"warning_message": plain, "when": when, "nodeid": nodeid}})
