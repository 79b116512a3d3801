"""Eight processes commit fifty times each: ``tox run -e races``, and ``-e s3`` on an S3 server.

``DELTA_TCK_RACE_URL`` names the folder or bucket that the table goes to; local disk by default.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from serial import judge, run

PROCESSES, COMMITS = 8, 50

pytestmark = pytest.mark.races


@pytest.mark.parametrize("seed", [1, 2])
def test_eight_processes_lose_nothing(
    tmp_path: Path, seed: int, record_property: Callable[[str, object], None]
) -> None:
    base = os.environ.get("DELTA_TCK_RACE_URL", str(tmp_path))
    location = f"{base}/race-{seed}"
    notes = run(location, tmp_path, processes=PROCESSES, commits=COMMITS, seed=seed)
    counts = judge(location, notes)
    record_property("race", (location, sorted(counts.items())))
    assert sum(n for what, n in counts.items() if what.endswith("committed")) == PROCESSES * COMMITS
    assert any(what.startswith("Concurrent") for what in counts), "no two processes met"
