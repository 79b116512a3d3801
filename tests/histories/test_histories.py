"""A few random histories of the writer, the same in every run; ``check_histories.py`` has more."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import WriterMachine
from tally import Tally, missed, told

COUNT, STEPS = 60, 25


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: no test here pulls the plug."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def test_the_writer_does_what_the_oracle_does(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally()
    monkeypatch.setattr(WriterMachine, "tally", tally)
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        seed(17)(WriterMachine),
        settings=settings(
            max_examples=COUNT,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert missed(tally) == [], told(tally)
