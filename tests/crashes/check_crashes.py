"""Every operation, on every table, with every step going wrong in every way.

Too long for every run of the tests: ``tox run -e crashes``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from injecting import go_wrong, tried
from killing import Death, kill, system_steps
from scenarios import ALL

from generators.damage.storage import Fault

PAIRS = [(name, base) for name, scenario in ALL.items() for base in scenario.bases]


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("fault", [Fault.FAIL, Fault.TIMEOUT, Fault.LATE], ids=str)
@pytest.mark.parametrize(("name", "base"), PAIRS)
def test_a_storage_that_goes_wrong_leaves_before_or_after(  # noqa: PLR0913, PLR0917  a matrix
    tmp_path: Path,
    name: str,
    base: str,
    fault: Fault,
    lasting: bool,
    record_property: Callable[[str, object], None],
) -> None:
    trial = tried(tmp_path, name, base)
    steps = range(1, len(trial.steps) + 1)
    done = go_wrong(trial, tmp_path, fault, steps, lasting=lasting)
    record_property(f"fault {fault}{' for good' if lasting else ''}", done)


@pytest.mark.parametrize("death", ["storage before", "storage after", "system"])
@pytest.mark.parametrize(("name", "base"), PAIRS)
def test_a_writer_that_is_killed_leaves_before_or_after(
    tmp_path: Path,
    name: str,
    base: str,
    death: Death,
    record_property: Callable[[str, object], None],
) -> None:
    trial = tried(tmp_path, name, base)
    count = system_steps(trial, tmp_path) if death == "system" else len(trial.steps)
    died = kill(trial, tmp_path, death, range(1, count + 1))
    assert died == count
    record_property(f"fault killed, {death}", died)
