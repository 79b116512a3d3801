"""Leave the heavy suites to who names their marker: ``pytest tests -m crashes``; order the rest."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conformance.judging.tables import TableStore

HEAVY = frozenset(
    {"corpus", "crashes", "damage", "engines", "explore", "mutation", "pipeline"}
    | {"pipeline_audit", "races", "s3", "witness_spark", "witnesses"}
)
"""Suites that take long, or need an engine, a server or Java; `tox run -e` has each."""

_FIRST = ("conformance/run", "conformance/workers", "histories", "pipeline/drivers")
"""Folders of tests that take longest, or wait for processes of theirs. They begin first, so that
other processes have work for the cores meanwhile, and none is left with them at the end."""

HANG_SECONDS = 300
"""Processor time of a test whose input makes all but the right algorithm take hours."""


if threading.current_thread() is threading.main_thread():
    # A shell has its background jobs ignore the first, and nohup the second; so would the
    # processes that tests interrupt.
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)


def _no_fsync(_file: int) -> None:
    """Do not wait for the disk: a test that pulls the plug puts a disk of its own below."""


@pytest.fixture(autouse=True)
def _leaves_the_process_as_it_was() -> Iterator[None]:
    """Fail a test that changes for its neighbours how long a process waits."""
    sleep, fsync = time.sleep, os.fsync
    os.fsync = _no_fsync
    yield
    after, (time.sleep, os.fsync) = (time.sleep, os.fsync), (sleep, fsync)
    assert after == (sleep, _no_fsync), "time.sleep or os.fsync is another one after the test"


@pytest.fixture
def ends() -> Iterator[None]:
    """Fail a test that hangs: its input is so large that only time of its length ends at all."""

    def hangs(_signal: int, _frame: object) -> None:
        pytest.fail(f"after {HANG_SECONDS} s of processor time there is no end")

    before = signal.signal(signal.SIGVTALRM, hangs)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


LEAVE = """
import re, resource, sys
from pathlib import Path

def leave(spare):
    held = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (held + spare, held + spare))
"""
"""What a program calls to have so many bytes of address space left, and no more."""


@pytest.fixture
def printed_in_short_memory() -> Callable[..., str]:
    """Return what a program prints that calls ``leave``; it ends well."""

    def run(program: str, *arguments: str) -> str:
        done = subprocess.run(  # noqa: S603  our own program
            [sys.executable, "-c", LEAVE + program, *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-500:]
        return done.stdout.strip()

    return run


@pytest.fixture
def ends_where_it_hangs() -> Iterator[None]:
    """End the process after four minutes: an exception could be caught by what hangs."""
    previous = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(240)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.fixture
def store() -> Iterator[TableStore]:
    """Hand out copies of tables, which are gone after the test."""
    with closing(TableStore()) as copies:
        yield copies


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is heavy unless ``-m`` names it, and begin with what waits.

    An ``-m`` in ``addopts`` would make every run of ``--impl`` a partial one, and would be gone
    as soon as another is given.
    """
    unnamed = HEAVY.difference(re.findall(r"\w+", config.option.markexpr))
    heavy = [item for item in items if any(mark.name in unnamed for mark in item.iter_markers())]
    if heavy:
        config.hook.pytest_deselected(items=heavy)
        left_out = set(heavy)
        items[:] = [item for item in items if item not in left_out]
    here = Path(__file__).parent
    first = tuple(f"{here / folder}{os.sep}" for folder in _FIRST)
    items.sort(key=lambda item: not str(item.path).startswith(first))
