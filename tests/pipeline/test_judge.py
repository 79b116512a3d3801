"""A run in parts is the run that one process makes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kit_runs import WRONG, Kit, make_kit

from conformance.base.status import Status
from conformance.cli import main
from conformance.pipeline import judge
from conformance.pipeline.spread import Spread, work
from conformance.pipeline.track.store import Store
from conformance.report.results import Results, read_results

pytest_plugins = ["pytester"]


@contextmanager
def here(*_: object) -> Iterator[Spread]:
    """Do work in this process: as JSON, and one part after the other."""
    yield Spread(1, lambda name, units: [json.loads(work(name, json.dumps(u))) for u in units])


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    made = make_kit(pytester, monkeypatch)
    monkeypatch.setattr(judge, "spread_over", here)
    for name in ("one", "two", "three", "four"):
        made.case(name)
    made.case("five", WRONG)
    return made


def judged(kit: Kit, *options: str) -> tuple[Status, list[Path]]:
    """Run the job, in this process; gives its status and the results files."""
    out = kit.folder / "out"
    shared = ("--impl=python:fakes:told", f"--corpus={kit.corpus}", f"--output={out}")
    status = main(["pipeline", "judge", *shared, "--shards=3", *options])
    judge._close()
    return Status(status), sorted(out.glob("*.jsonl"))


def same(one: Results, other: Results) -> bool:
    own = {"digest"}
    return (
        one.header == other.header
        and one.records == other.records
        and {k: v for k, v in one.footer.items() if k not in own}
        == {k: v for k, v in other.footer.items() if k not in own}
    )


def test_results_are_those_of_a_local_run(kit: Kit) -> None:
    local = kit.folder / "local.jsonl"
    expected = kit(f"--tck-results={local}", isolation="process")
    store = kit.folder / "store"
    status, (path,) = judged(kit, f"--store={store}")
    assert status is expected is Status.NONCONFORMANT
    assert same(read_results(path), read_results(local))
    assert Store(str(store)).table("runs").read().num_rows == 1


def test_what_is_judged_is_not_judged_again(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    _, (path,) = judged(kit, "--isolation=none")
    whole = path.read_bytes()
    first, second, third = sorted((kit.folder / "out" / "parts").iterdir())
    second.unlink()
    third.write_bytes(third.read_bytes()[:-20])  # the machine was switched off
    kept = first.stat().st_mtime_ns
    capsys.readouterr()
    judged(kit, "--isolation=none")
    assert "2 of 3 parts to judge" in capsys.readouterr().err
    assert path.read_bytes() == whole
    assert first.stat().st_mtime_ns == kept


def test_a_baseline_is_held_in_every_part(kit: Kit) -> None:
    baseline = kit.folder / "known.yaml"
    kit(f"--tck-write-baseline={baseline}")
    status, (path,) = judged(kit, f"--baseline=python:fakes:told={baseline}", "--isolation=none")
    assert status is Status.OK
    assert [r["standing"] for r in read_results(path).records.values()].count("known") == 1


def test_a_dry_run_judges_nothing(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    status, files = judged(kit, "--dry-run", "--revision=2021", "--revision=2025")
    assert (status, files) == (Status.OK, [])
    said = capsys.readouterr().err
    assert said.count("5 cases, 3 of 3 parts to judge") == 2
    assert "of one core" in said
