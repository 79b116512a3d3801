"""Processes that change one table at once leave what they would have left one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from serial import judge, run

PROCESSES, COMMITS = 3, 5


def test_a_serial_order_explains_every_version(tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    counts = judge(location, run(location, tmp_path, processes=PROCESSES, commits=COMMITS))
    made = sum(n for what, n in counts.items() if what.endswith("committed"))
    assert made == PROCESSES * COMMITS


def test_a_commit_that_is_lost_is_missed(tmp_path: Path) -> None:
    location = str(tmp_path / "table")
    notes = run(location, tmp_path, processes=1, commits=3)
    (last,) = [note for note in notes if note["version"] == 3]
    with pytest.raises(AssertionError):
        judge(location, [note for note in notes if note is not last])
    with pytest.raises(AssertionError):
        judge(location, [*notes, last])
