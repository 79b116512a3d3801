"""Work that is spread, and a job that explores: each unit counts once, whatever is killed."""

from __future__ import annotations

import base64
import io
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conformance.base.status import Status
from conformance.cli import main
from conformance.pipeline.explore.job import ExploreStore, Job, explore
from conformance.pipeline.explore.unit import COUNTS, explore_unit, unpack
from conformance.pipeline.session import SparkOptions
from conformance.pipeline.spread import Spread, SpreadError, spread_over
from conformance.pipeline.store import StoredTable
from conformance.replay.bundle import read_bundle
from generators.materialise.layouts import LAYOUTS

JOB = Job(("mine", "yours"), 5, 3)


@contextmanager
def processes(count: int) -> Iterator[Spread]:
    with spread_over("test", SparkOptions("none"), count) as spread:
        yield spread


def answer(unit: dict[str, Any]) -> dict[str, Any]:
    """Find a failure of one kind in every unit, and of another in a few."""
    kinds = ["a", "b"] if unit["unit"] % 7 == 3 else ["a"]
    return {
        "outcomes": {"pass": 3, "fail": len(kinds)},
        "failures": [
            {
                "defect": f"{unit['implementation']}-{kind}",
                "case_id": f"generated/seed-{unit['seed']}/x",
                "outcome": "fail",
                "hazard": "silent wrong data",
                "requirement": "REC-001",
                "way": kind,
                "message": kind,
                "count": 1,
            }
            for kind in kinds
        ],
        "bundles": {},
        "seconds": 0.5,
        "engine_version": "1",
    }


def alone(_work: str, units: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [answer(unit) for unit in units]


def finish(job: Job, kept: ExploreStore, wave: int) -> None:
    for _ in explore(job, kept, Spread(1, alone), wave):
        pass


def facts(kept: ExploreStore) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the units of a job, and the defects of its failures."""
    units = kept.table("units").read(["unit"]).column("unit").to_pylist()
    failures = kept.table("failures").read(["unit", "defect"]).to_pylist()
    return sorted(units), sorted((row["unit"], row["defect"]) for row in failures)


def test_progress_counts_what_this_run_has_judged(tmp_path: Path) -> None:
    lines = list(explore(JOB, ExploreStore(tmp_path, JOB), Spread(1, alone), 16))
    judged = [int(line.split("; ")[1].split()[0]) for line in lines]
    tables = sum(sum(answer(JOB.unit(number))["outcomes"].values()) for number in range(JOB.size))
    assert len(judged) == -(-JOB.size // 16)
    assert judged == sorted(set(judged))
    assert judged[-1] == tables


def test_every_unit_is_done_once(tmp_path: Path) -> None:
    kept = ExploreStore(tmp_path, JOB)
    finish(JOB, kept, 7)
    units, failures = facts(kept)
    assert units == list(range(JOB.size))
    assert len(failures) == len(set(failures))
    assert kept.defects().keys() == {"mine-a", "mine-b", "yours-a", "yours-b"}
    finish(JOB, kept, 7)
    assert facts(kept) == (units, failures)


@pytest.mark.parametrize("table", ["failures", "units"])
@pytest.mark.parametrize("after", [True, False], ids=["after the commit", "before it"])
def test_a_driver_that_is_killed_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, *, after: bool
) -> None:
    """Whichever commit of the second wave is the last, the job ends as if nothing had been."""
    whole = ExploreStore(tmp_path / "whole", JOB)
    finish(JOB, whole, 7)
    kept = ExploreStore(tmp_path / "killed", JOB)
    add, seen = StoredTable.add, 0

    def killed(self: StoredTable, *given: Any) -> bool:
        nonlocal seen
        seen += Path(self.location).name == table
        now = Path(self.location).name == table and seen == 2
        if now and not after:
            raise KeyboardInterrupt
        done = add(self, *given)
        if now:
            raise KeyboardInterrupt
        return done

    with monkeypatch.context() as patch:
        patch.setattr(StoredTable, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            finish(JOB, kept, 7)
    # Started again with waves of another size, as on another cluster.
    finish(JOB, kept, 11)
    assert facts(kept) == facts(whole)
    assert kept.defects() == whole.defects()


def test_more_seeds_go_on_with_the_same_job(tmp_path: Path) -> None:
    finish(JOB, ExploreStore(tmp_path, JOB), 100)
    more = Job(JOB.implementations, JOB.first, 5)
    assert more.id == JOB.id
    finish(more, ExploreStore(tmp_path, more), 100)
    assert facts(ExploreStore(tmp_path, more))[0] == list(range(more.size))
    assert Job(("mine",), 5, 3).id != JOB.id


def test_a_unit_judges_each_layout_and_keeps_a_small_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setattr("conformance.items.generated.LAYOUTS", LAYOUTS[:2])
    monkeypatch.setitem(COUNTS, "read", 1)
    unit = {"implementation": "python:work_here:forgetful", "seed": 1, "group": 0, "known": []}
    answer = explore_unit(unit)
    assert answer["outcomes"] == {"fail": 2}
    (failure, *_) = answer["failures"]
    unpack(answer["bundles"][failure["defect"]], tmp_path / "bundle")
    description, about = read_bundle(tmp_path / "bundle")
    first, last = description["shrinking"]["operations"]
    assert len(about.drawn.load()) == last <= first
    # What the driver knows is counted, and not shrunk.
    known = explore_unit({**unit, "known": [each["defect"] for each in answer["failures"]]})
    assert known["bundles"] == {}
    assert known["failures"] == answer["failures"]
    assert explore_unit({**unit, "implementation": "ours"})["failures"] == []


def test_a_process_that_is_killed_changes_no_answer(tmp_path: Path) -> None:
    units = [{"number": n, "deadly": 3, "mark": str(tmp_path / "mark")} for n in range(6)]
    with processes(2) as spread:
        answer = spread.run("work_here:dies_once", units)
        assert (tmp_path / "mark").exists()
        assert [each["number"] for each in answer] == [0, 2, 4, 6, 8, 10]
        again = spread.run("work_here:twice", [{"number": 7}])
        assert again[0]["number"] == 14


def test_work_that_always_kills_or_raises_is_given_up() -> None:
    with processes(1) as spread:
        with pytest.raises(SpreadError, match="killed"):
            spread.run("work_here:always_dies", [{"number": 1}])
        with pytest.raises(ValueError, match="not 1"):
            spread.run("work_here:raises", [{"number": 1}])


def test_a_dry_run_says_the_cost_and_keeps_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    given = ("--impl=ours", "--seeds=500", "--kind=read", f"--output={folder}", "--dry-run")
    assert main(["pipeline", "explore", *given]) == Status.OK
    said = capsys.readouterr().err
    assert f"tables: {500 * 2 * 4 * len(LAYOUTS)} to read" in said
    assert "h of one core" in said
    assert not folder.exists()


def test_an_unknown_implementation_is_refused_before_anything_starts(tmp_path: Path) -> None:
    given = ("--impl=nobody", "--seeds=1", f"--output={tmp_path}/o", "--master=none")
    assert main(["pipeline", "explore", *given]) == Status.ADAPTER


@pytest.mark.parametrize(
    ("name", "kind"),
    [("../b", tarfile.REGTYPE), ("/b", tarfile.REGTYPE), ("b", tarfile.SYMTYPE)],
)
def test_a_bundle_that_leads_elsewhere_is_not_unpacked(
    tmp_path: Path, name: str, kind: bytes
) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, str(tmp_path / "b")
        archive.addfile(member)
    with pytest.raises(tarfile.TarError, match="no file of a bundle"):
        unpack(base64.b64encode(data.getvalue()).decode(), tmp_path / "kept")
    assert list(tmp_path.iterdir()) == []
