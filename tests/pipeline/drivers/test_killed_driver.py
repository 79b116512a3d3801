"""A driver that is killed and started again keeps each result once, and leaves no process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from conformance.base.limits import cores
from conformance.base.status import Status
from conformance.cli import main
from conformance.pipeline.audit.store import AuditStore
from conformance.pipeline.explore.job import ExploreStore, Job
from reference_impl import read_table

CASE = Path(__file__).parents[3] / "golden-tables" / "transaction-identifiers"
HERE = ("--master=none",)


def _run_and_kill(arguments: Sequence[str], progress: str) -> None:
    """Run the command in a session of its own, and kill it when it has said that."""
    run = subprocess.Popen(  # noqa: S603  our own interpreter
        [sys.executable, "-m", "conformance", "pipeline", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stderr is not None
    said = []
    for line in run.stderr:
        said.append(line)
        if progress in line:
            run.kill()
            break
    run.stderr.close()
    assert run.wait() == -signal.SIGKILL, "".join(said)
    _wait_for_end(run.pid)


def _wait_for_end(session: int) -> None:
    for _ in range(300):
        if not _running(session):
            return
        time.sleep(0.1)
    os.killpg(session, signal.SIGKILL)
    pytest.fail("processes outlive their driver")


def _running(session: int) -> bool:
    listed = subprocess.run(
        ["ps", "-A", "-o", "sess=,stat="],  # noqa: S607  of the system
        check=True,
        capture_output=True,
        text=True,
    )
    fields = (line.split() for line in listed.stdout.splitlines())
    return any(int(each[0]) == session and not each[1].startswith("Z") for each in fields)


def _rows(*columns: str) -> Callable[[Path], pa.Table]:
    def give(path: Path) -> pa.Table:
        found = read_table(str(path), columns=list(columns))
        return found.sort_by([(name, "ascending") for name in columns])

    return give


def test_an_audit_of_a_fleet(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    table = next(CASE.glob("*/delta"))
    for number in range(32 * cores() + 1):
        shutil.copytree(table, fleet / f"{number:03}")
    asked = ("audit", "--below", str(fleet), "--run=one", *HERE)
    for name in ("whole", "killed"):
        arguments = (*asked, "--store", str(tmp_path / name))
        if name == "killed":
            _run_and_kill(arguments, "[1/3]")
            assert 0 < AuditStore(str(tmp_path / name), "one").done() < 3
        assert main(["pipeline", *arguments]) == Status.OK
    for table_, columns in {
        "plan": ("table", "part"),
        "audits": ("table", "status"),
        "findings": ("table", "requirement", "place", "message"),
    }.items():
        rows = [_rows(*columns)(tmp_path / name / table_) for name in ("whole", "killed")]
        assert rows[0].equals(rows[1])
    assert _rows("table")(tmp_path / "killed" / "audits").num_rows == 32 * cores() + 1


def test_a_run_of_the_corpus(tmp_path: Path) -> None:
    asked = ("judge", "--impl=ours", f"--chapter={CASE.name}", "--shards=5", "--workers=1", *HERE)
    for name in ("whole", "killed"):
        arguments = (*asked, "--output", str(tmp_path / name))
        if name == "killed":
            _run_and_kill(arguments, "2 of 5 parts")
            assert not list((tmp_path / name).glob("*.jsonl"))
        assert main(["pipeline", *arguments]) == Status.OK
    (one,), (other,) = ((tmp_path / name).glob("*.jsonl") for name in ("whole", "killed"))
    assert one.read_bytes() == other.read_bytes()


def test_an_exploration(tmp_path: Path) -> None:
    asked = ("explore", "--impl=ours", "--seeds=1", "--kind=write", "--wave=2", *HERE)
    job = Job(("ours",), 0, 1, ("write",))
    for name in ("whole", "killed"):
        arguments = (*asked, "--output", str(tmp_path / name))
        if name == "killed":
            _run_and_kill(arguments, f"2 of {job.size} units")
            assert 0 < ExploreStore(tmp_path / name, job).done < job.size
        assert main(["pipeline", *arguments]) == Status.OK
    rows = [
        _rows("unit", "seed", "group", "tables", "passed")(tmp_path / x / "units")
        for x in ("whole", "killed")
    ]
    assert rows[0].equals(rows[1])
    assert rows[0].column("unit").to_pylist() == list(range(job.size))
