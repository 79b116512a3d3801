"""Why a run did not judge all that was selected.

Only cases with a record count, whatever left out the others: pytest's own options, another
plugin, a ``conftest.py``, an end before the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

FOREIGN: Final = "another plugin or a conftest.py left cases out"
"""Why a run is partial that no option cut short: no success, as nobody asked for less."""

_OPTIONS: dict[str, str] = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "lf": "--last-failed",
    "stepwise": "--stepwise",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "collectonly": "--collect-only",
}
"""Pytest's options that leave out cases, by the names under which it keeps them."""


def partial_reasons(
    session: pytest.Session, status: int, *, missing: int, unrecorded: int, suite: str
) -> list[str]:
    """Say why cases of a selection have no record; nothing when all have one.

    Args:
        session: the session, at its end.
        status: pytest's own exit status.
        missing: how many selected cases have no record.
        unrecorded: how many tests failed without a record.
        suite: the folder that is collected when no paths are given.

    """
    found = [*_ends(session, status, unrecorded)]
    if missing:
        found += _narrowings(session.config, suite)
        found = found or [FOREIGN]
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
    for name, option in _OPTIONS.items():
        value = config.getoption(name, default=None)
        if value:
            yield option if value is True else f"{option} {value}"
    if [str(argument) for argument in config.args] != [suite]:
        yield f"only {', '.join(map(str, config.args[:3]))}"
