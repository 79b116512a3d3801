"""A run in several processes reports as a run in one: the same items, in the same order."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain

import pytest

from conformance.plugin.spread import portions

pytest_plugins = ["pytester"]

CONFTEST = """
import pytest
from conformance.plugin.spread import Crew

@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    crew = Crew(session, lambda: None, lambda: None, lambda item: item.name.partition("[")[0])
    for item, reports in zip(session.items, crew.reports(2), strict=True):
        print("ITEM", item.name, *(f"{each.when}:{each.outcome}" for each in reports))
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
    return True
"""
TESTS = """
import os, signal, time, warnings
import pytest

@pytest.mark.parametrize("number", range(10))
def test_slow(number):
    time.sleep(0.01)
    print("said by", number)

@pytest.mark.parametrize("number", range(10))
def test_quick(number):
    assert number != FAILING, "it is wrong"

@pytest.mark.parametrize("number", range(10))
def test_ending(number):
    if number == ENDING:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 3:
        warnings.warn("mind the gap", UserWarning)
"""


@pytest.fixture
def run(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    def run(*options: str, failing: int = -1, ending: int = -1) -> pytest.RunResult:
        pytester.makeconftest(CONFTEST)
        heads = f"FAILING, ENDING = {failing}, {ending}\n"
        pytester.makepyfile(heads + TESTS)
        return pytester.runpytest_subprocess("-pno:cacheprovider", "-s", *options)

    return run


NAMES = [f"test_{name}[{number}]" for name in ("slow", "quick", "ending") for number in range(10)]


def _seen(done: pytest.RunResult) -> dict[str, str]:
    return dict(re.findall(r"^\S*ITEM (\S+) (.+)$", str(done.stdout), re.MULTILINE))


def test_reports_come_in_the_order_of_the_items(run: Callable[..., pytest.RunResult]) -> None:
    done = run()
    assert list(_seen(done)) == NAMES
    assert {*_seen(done).values()} == {"setup:passed call:passed teardown:passed"}
    done.assert_outcomes(passed=30, warnings=1)
    done.stdout.fnmatch_lines(["*UserWarning: mind the gap*"])


def test_an_item_that_ends_its_process_fails_and_no_other_is_lost(
    run: Callable[..., pytest.RunResult],
) -> None:
    done = run(ending=5)
    seen = _seen(done)
    assert list(seen) == NAMES
    assert seen.pop("test_ending[5]") == "call:failed"
    assert {*seen.values()} == {"setup:passed call:passed teardown:passed"}
    done.stdout.fnmatch_lines(["*the process that judged this ended with signal 9*"])


def test_the_first_failure_in_the_order_of_the_items_ends_a_run(
    run: Callable[..., pytest.RunResult],
) -> None:
    done = run("-x", failing=2, ending=0)
    assert list(_seen(done)) == NAMES[:13]
    done.assert_outcomes(passed=12, failed=1)


def test_what_a_test_prints_stays_with_it(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        "import pytest\n\n\n"
        '@pytest.mark.parametrize("number", range(40))\n'
        "def test_printing(number):\n"
        '    print(f"said by {number}.")\n'
        "    assert number % 20\n"
    )
    done = pytester.runpytest_subprocess("-pno:cacheprovider")
    done.assert_outcomes(passed=38, failed=2)
    assert re.findall(r"^said by (\d+)\.$", str(done.stdout), re.MULTILINE) == ["0", "20"]


class _Named:
    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize("names", ["", "a", "a" * 30, "abcdefghijklmnopq", "aaaabbbbccccddddeeee"])
def test_portions_hold_every_item_once_and_cut_no_group(names: str) -> None:
    items = [_Named(name) for name in names]
    found = portions(items, lambda item: item.name)  # type: ignore[arg-type,attr-defined]
    assert list(chain.from_iterable(found)) == list(range(len(items)))
    assert all(names[part[0] - 1] != names[part[0]] for part in found[1:])
    assert all(len(part) >= 8 for part in found[:-1])
