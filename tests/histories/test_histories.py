"""A few random histories of the writer, the same in every run; ``check_histories.py`` has more."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import WriterMachine


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk: no test here pulls the plug."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def test_the_writer_does_what_the_oracle_does() -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        seed(11)(WriterMachine),
        settings=settings(
            max_examples=12,
            stateful_step_count=14,
            deadline=None,
            database=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
