"""A few random histories of the writer, the same in every run; ``test_explore.py`` has more.

They come in parts, so that test processes share them. Together they reach all that the writer
does, which the part that ends last finds out: each leaves its counts to the others.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import WriterMachine
from tally import Tally, missed, report

SEEDS, COUNT, STEPS = (17, 18), 12, 25
MORE = range(21, 29)
"""Seeds of further parts, for what is rare: Hypothesis draws from constants of the code as well, so
that each change of code changes what the seeds give."""


@pytest.fixture
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all test processes of a run see."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "histories"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("number", SEEDS)
def test_the_writer_does_what_the_oracle_does(
    number: int, counts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = Tally()
    monkeypatch.setattr(WriterMachine, "tally", tally)
    _run(number)
    (counts / f"{number}.part").write_text(json.dumps(tally))
    (counts / f"{number}.part").rename(counts / f"{number}.json")
    done = [counts / f"{each}.json" for each in SEEDS]
    if all(path.exists() for path in done):
        total = sum((Tally(json.loads(path.read_text())) for path in done), Tally())
        for more in MORE:
            if missed(total):
                tally.clear()
                _run(more)
                total += tally
        assert missed(total) == [], report(total)


def _run(number: int) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        seed(number)(WriterMachine),
        settings=settings(
            max_examples=COUNT,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            derandomize=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
