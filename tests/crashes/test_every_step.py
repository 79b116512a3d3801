"""Every operation, on every table, with every step going wrong in every way.

Too long for every run of the tests: ``tox run -e crashes``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from faulty_storage import Fault
from injecting import go_wrong, tried
from killing import Death, kill
from power import cut
from scenarios import ALL

PAIRS = [(name, base) for name, scenario in ALL.items() for base in scenario.bases]
WAYS = [
    (Fault.FAIL, False),
    (Fault.TIMEOUT, False),
    (Fault.LATE, False),
    (Fault.TIMEOUT, True),
    (Fault.LATE, True),
]
"""What happens at a step, and whether the storage stays away from then on."""

DEATHS: tuple[Death, ...] = ("storage before", "storage after", "system")

SILENT = {"identify"}
"""Steps of the storage that only ask for a file's status, which raises no audit event."""

Note = Callable[[str, object], None]

pytestmark = pytest.mark.crashes


@pytest.mark.parametrize(("name", "base"), PAIRS)
def test_a_storage_that_goes_wrong_leaves_before_or_after(
    tmp_path: Path, name: str, base: str, record_property: Note
) -> None:
    trial = tried(tmp_path, name, base)
    steps = range(1, len(trial.steps) + 1)
    for fault, lasting in WAYS:
        done = go_wrong(trial, tmp_path, fault, steps, lasting=lasting)
        record_property(f"fault {fault}{', for good' if lasting else ''}", done)


@pytest.mark.parametrize(("name", "base"), PAIRS)
def test_a_writer_that_is_killed_leaves_before_or_after(
    tmp_path: Path, name: str, base: str, record_property: Note
) -> None:
    trial = tried(tmp_path, name, base)
    for death in DEATHS:
        died = kill(trial, tmp_path, death, count(1))
        steps = [step for step, _ in trial.steps if death != "system" or step not in SILENT]
        assert died >= len(steps) if death == "system" else died == len(steps)
        record_property(f"fault killed, {death}", died)


@pytest.mark.parametrize(("name", "base"), PAIRS)
def test_a_power_cut_leaves_before_or_after(
    tmp_path: Path, name: str, base: str, record_property: Note
) -> None:
    record_property("fault power cut", cut(tried(tmp_path, name, base), tmp_path))
