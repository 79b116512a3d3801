"""Pytest plugin of the kit: ``pytest --impl=NAME`` judges an implementation.

Without ``--impl`` it only adds its options. With it, and without paths, it collects the suite that
is shipped with the package, from whatever directory pytest runs. Each case is one test item; the
kit's own outcome travels in the item's properties, and the exit status is the kit's
(:mod:`conformance.status`).

A whole run of the reference implementation uses the cores that there are, where pytest-xdist is
installed and ``-n`` does not say otherwise. Engines use the cores themselves, and an adapter per
core would cost more than it gives.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Final

import pytest

from conformance.options import NARROWING, add_options, destination
from conformance.supervisor import Supervisor

__all__ = ["pytest_addoption", "pytest_cmdline_main", "pytest_configure"]

_MOST_PROCESSES: Final = 4
"""Beyond these, starting test processes takes longer than the cases."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options."""
    add_options(parser)
    pluginmanager.register(Supervisor(), Supervisor.NAME)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(
    config: pytest.Config,
) -> Generator[None, int | pytest.ExitCode | None, int | pytest.ExitCode | None]:
    """Choose the number of test processes before pytest-xdist reads it."""
    if _spreads(config):
        config.option.numprocesses = min(_cores(), _MOST_PROCESSES)
    return (yield)


def _spreads(config: pytest.Config) -> bool:
    def given(name: str) -> bool:
        return bool(config.getoption(destination(name)))

    return (
        config.pluginmanager.hasplugin("xdist")
        and not hasattr(config, "workerinput")
        and config.getoption(destination("--impl")) == "ours"
        and config.getoption("numprocesses", 0) is None
        and not any(given(name) for name in NARROWING)
        and not any(config.getoption(name, default=None) for name in ("usepdb", "collectonly"))
        and _cores() > 1
    )


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pytest_configure(config: pytest.Config) -> None:
    """Begin a judging session when an implementation is named."""
    if config.getoption(destination("--impl")):
        from conformance.session import start  # noqa: PLC0415  keeps other pytest runs quick

        start(config)
