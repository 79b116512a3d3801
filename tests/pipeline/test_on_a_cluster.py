"""A small part of each job on Spark: run by ``tox run -e pipeline``, which has Spark and Java.

Its marker keeps it out of the kit's own tests, which need neither. ``DELTA_TCK_MASTER`` names the
master; a cluster of processes on this machine by default.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.base.status import Status
from conformance.cli import main
from conformance.pipeline.explore.job import Job, Kept, explore
from conformance.pipeline.session import SparkOptions
from conformance.pipeline.spread import Spread, spread_over
from conformance.report.results import read_results

MASTER = os.environ.get("DELTA_TCK_MASTER", "local-cluster[2,1,1024]")
CHAPTER = "transaction-identifiers"

pytestmark = pytest.mark.pipeline


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


def test_an_executor_that_is_killed_changes_no_result(cluster: Spread, tmp_path: Path) -> None:
    job = Job(("ours",), 3, 1, ("write",))
    whole, other = Kept(tmp_path / "whole", job), Kept(tmp_path / "killed", job)
    for _ in explore(job, whole, cluster):
        pass
    killed: list[int] = []

    def kill() -> None:
        time.sleep(2)
        for process in _executors()[:1]:
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    thread = threading.Thread(target=kill)
    thread.start()
    for _ in explore(job, other, cluster):
        pass
    thread.join()
    assert killed or not MASTER.startswith("local-cluster")
    facts = ["unit", "seed", "group", "tables", "passed", "failed", "errors"]
    assert whole.table("units").read(facts).equals(other.table("units").read(facts))
    assert whole.done == other.done == job.size


def test_judge_gives_the_results_of_a_local_run(cluster: Spread, tmp_path: Path) -> None:
    del cluster  # the commands below find its session
    shared = ["--impl=ours", f"--chapter={CHAPTER}", "--shards=3"]
    for master, name in ((MASTER, "spark"), ("none", "here")):
        out = [f"--output={tmp_path / name}", f"--master={master}"]
        assert main(["pipeline", "judge", *shared, *out]) == Status.OK
    (one,), (other,) = ((tmp_path / name).glob("*.jsonl") for name in ("spark", "here"))
    assert one.read_bytes() == other.read_bytes()
    assert read_results(one).records


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
