"""Why a run did not judge all that was selected.

Only cases with a record count, whatever left out the others: pytest's own options, another
plugin, a ``conftest.py``, an end before the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final

import pytest

from conformance.base.options import options_set

LEFT_OUT_ELSEWHERE: Final = (
    "PYTEST_ADDOPTS, pytest's configuration, a plugin or a conftest.py left cases out"
)
"""Why a run is partial whose command asks for all: no success, as less was not asked for."""

_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "keyword": ("-k",),
    "markexpr": ("-m",),
    "deselect": ("--deselect",),
    "lf": ("--last-failed", "--lf"),
    "stepwise": ("--stepwise", "--sw", "--stepwise-skip", "--sw-skip"),
    "ignore": ("--ignore",),
    "ignore_glob": ("--ignore-glob",),
    "collectonly": ("--collect-only", "--co"),
}
"""Pytest's options that leave out cases, by the names under which it keeps them."""

_FLAGS: Final = ("lf", "stepwise", "collectonly")
_SHORT_OPTIONS: Final = ("-h", "-l", "-q", "-s", "-v", "-x")
"""Short options without a value, which may stand before another: ``-xk NAME``."""


def partial_reasons(
    session: pytest.Session, status: int, *, missing: int, unrecorded: int, suite: str
) -> list[str]:
    """Return why cases of a selection have no record; empty when all have one.

    Args:
        session: the session, at its end.
        status: pytest's own exit status.
        missing: how many selected cases have no record.
        unrecorded: how many tests failed without a record.
        suite: the folder that is collected when no paths are given.
    """
    found = [*_ends(session, status, unrecorded)]
    if missing:
        asked = bool(found) or _asks_for_less(session.config)
        found += _narrowings(session.config, suite)
        found += [] if asked else [LEFT_OUT_ELSEWHERE]
        found.append(f"{missing} selected case{'s have' if missing > 1 else ' has'} no record")
    return found


def _ends(session: pytest.Session, status: int, unrecorded: int) -> Iterator[str]:
    if status == pytest.ExitCode.INTERRUPTED:
        yield str(session.shouldstop or "interrupted")
    elif status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        yield f"pytest ended with status {int(status)}"
    if session.shouldfail:
        yield f"-x or --maxfail: {session.shouldfail}"
    if unrecorded:
        yield f"{unrecorded} test{'s' * (unrecorded > 1)} ended without a record"


def _narrowings(config: pytest.Config, suite: str) -> Iterator[str]:
    for name, spellings in _OPTIONS.items():
        value = config.getoption(name, default=None)
        if value:
            yield spellings[0] if value is True else f"{spellings[0]} {value}"
    if [str(argument) for argument in config.args] != [suite]:
        yield f"only {', '.join(map(str, config.args[:3]))}"


def set_elsewhere(config: pytest.Config) -> str | None:
    """Name the kit's options that a file or a variable sets and the command does not.

    They narrow no run unseen: a forgotten variable asks for less, and all of it passes.
    """
    given = {str(word).partition("=")[0] for word in config.invocation_params.args}
    others = [name for name in options_set(config) if name not in given]
    where = "PYTEST_ADDOPTS or pytest's configuration"
    return f"{where} sets {', '.join(others)}" if others else None


def _asks_for_less(config: pytest.Config) -> bool:
    """Return whether the command itself, and no file or variable, leaves cases out."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for flag in _SHORT_OPTIONS:
        parser.add_argument(flag, action="store_true")
    for name, spellings in _OPTIONS.items():
        taken: dict[str, Any] = {"action": "store_true"} if name in _FLAGS else {}
        parser.add_argument(*spellings, dest=name, **taken)
    words = [str(word) for word in config.invocation_params.args]
    given, _ = parser.parse_known_args(words)
    return any(getattr(given, name) for name in _OPTIONS) or any(
        str(argument) in words for argument in config.args
    )
