"""A small part of each job on Spark: run by ``tox run -e pipeline``, which has Spark and Java.

Its marker keeps it out of the kit's own tests, which need neither. ``DELTA_TCK_MASTER`` names the
master; a cluster of processes on this machine by default.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from audit_faults import loaded
from work_here import compared

from conformance.audit import audit
from conformance.base.status import Status
from conformance.cli import main
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.job import outcomes_of
from conformance.pipeline.audit.large import on_spark
from conformance.pipeline.explore.job import ExploreStore, Job, explore
from conformance.pipeline.session import SparkOptions
from conformance.pipeline.spread import Spread, spread_over
from conformance.report.results import read_results

MASTER = os.environ.get("DELTA_TCK_MASTER", "local-cluster[2,1,1024]")
CHAPTER = "transaction-identifiers"
AUDIT = Path(__file__).parents[1] / "audit"

pytestmark = [
    pytest.mark.pipeline,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Spread]:
    """Hold one session for the checks that need no command of their own."""
    with spread_over("check", SparkOptions(MASTER)) as spread:
        yield spread


def _executors() -> list[int]:
    """Return the processes of this machine that are executors of Spark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.startswith(b"org.apache.spark.executor") for word in words):
            found.append(int(folder.name))
    return found


@contextmanager
def killing(cluster: Spread, stages: int = 1) -> Iterator[None]:
    """Kill an executor while the n-th stage of the work within runs, and see that it was."""
    assert cluster.session is not None
    tracker = cluster.session.sparkContext.statusTracker()
    ended = threading.Event()
    seen: set[int] = set()
    killed: list[int] = []

    def kill() -> None:
        while not ended.wait(0.02):
            active = list(tracker.getActiveStageIds())
            seen.update(active)
            stage = tracker.getStageInfo(active[-1]) if active else None
            if len(seen) >= stages and stage is not None and stage.numActiveTasks:
                for process in _executors()[:1]:
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert killed or not MASTER.startswith("local-cluster")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table of forty commits with a checkpoint in between and faults of several kinds."""
    lake = loaded(AUDIT / "conftest.py").Lake(tmp_path_factory.mktemp("faulty") / "table")
    lake.basic()
    lake.checkpoint(lake.rows())
    for number in range(40):
        name = f"{number} x.parquet" if number % 5 == 0 else f"{number}.parquet"
        changes = ({}, {"size": -1}, {"stats": '{"numRecords": 7}'}, {"dataChange": ...})[
            number % 4
        ]
        lake.commit(lake.file(name, **changes), lake.remove("never.parquet"))
    return str(lake.root)


@pytest.mark.parametrize("stages", [1, 3], ids=["while-it-reads", "while-it-checks"])
def test_an_executor_that_is_killed_changes_no_finding_of_a_large_table(
    cluster: Spread, faulty: str, stages: int
) -> None:
    assert cluster.session is not None
    whole = compared(audit(faulty))
    assert len({finding[0] for finding in whole}) >= 4
    with killing(cluster, stages):
        found = on_spark(cluster.session, faulty, Options(), 8)
    assert compared(found) == whole


def test_an_executor_that_is_killed_changes_no_finding_of_a_fleet(
    cluster: Spread, faulty: str, tmp_path: Path
) -> None:
    tables = [str(tmp_path / str(number)) for number in range(40)]
    for table in tables:
        shutil.copytree(faulty, table)
    with killing(cluster):
        outcomes = outcomes_of(cluster.run, Options(), tables)
    whole = compared(audit(faulty))
    assert [each.table for each in outcomes] == tables
    assert all(compared(each.findings) == whole for each in outcomes)


def test_an_executor_that_is_killed_changes_no_result_of_explore(
    cluster: Spread, tmp_path: Path
) -> None:
    job = Job(("ours",), 3, 1, ("write",))
    whole, other = ExploreStore(tmp_path / "whole", job), ExploreStore(tmp_path / "killed", job)
    for _ in explore(job, whole, cluster):
        pass
    with killing(cluster):
        for _ in explore(job, other, cluster):
            pass
    facts = ["unit", "seed", "group", "tables", "passed", "failed", "errors"]
    assert whole.table("units").read(facts).equals(other.table("units").read(facts))
    assert whole.done == other.done == job.size


def test_judge_gives_the_results_of_a_local_run_though_an_executor_is_killed(
    cluster: Spread, tmp_path: Path
) -> None:
    def judge(name: str, master: str) -> bytes:
        asked = ["judge", "--impl=ours", f"--chapter={CHAPTER}", "--shards=3"]
        out = [f"--output={tmp_path / name}", f"--master={master}"]
        assert main(["pipeline", *asked, *out]) == Status.OK
        (one,) = (tmp_path / name).glob("*.jsonl")
        assert read_results(one).records
        return one.read_bytes()

    here = judge("here", "none")
    assert judge("spark", MASTER) == here
    with killing(cluster):
        assert judge("killed", MASTER) == here


def test_track_answers_alike_on_spark_and_here(
    cluster: Spread,
    results: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    del cluster  # as above
    store = str(tmp_path / "store")
    paths = [
        results({"one": "pass", "two": "fail"}, "1.9"),
        results({"one": "fail", "two": "fail"}, "1.10"),
    ]
    main(["pipeline", "track", store, "ingest", *map(str, paths)])
    capsys.readouterr()

    def asked(*arguments: str) -> Any:
        main(["pipeline", "track", store, *arguments, "--format=json"])
        return json.loads(capsys.readouterr().out)

    for question in (["runs"], ["releases"], ["flaky"], ["regressions", "mine==1.9", "mine==1.10"]):
        assert asked(*question, f"--master={MASTER}") == asked(*question)
