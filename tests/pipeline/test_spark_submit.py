"""Each job runs under ``spark-submit``, which brings the master and the JARs."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.pipeline.track import job as track
from conformance.report.results import read_results

ROOT = Path(__file__).parents[2]
CHAPTER = "transaction-identifiers"
Submit = Callable[..., str]
Results = Callable[..., Path]


@pytest.fixture
def submit(tmp_path: Path) -> Submit:
    """Return what submits a job, sees that it ends well, and gives what it printed."""
    import pyspark  # noqa: PLC0415  of the extra `spark`, which the marked tests alone have

    home = Path(pyspark.__file__).parent
    folder = os.environ.get("DELTA_TCK_SPARK_JARS")
    release, version = (importlib.metadata.version(x) for x in ("pyspark", "delta-spark"))
    package = f"io.delta:delta-spark_{release.rpartition('.')[0]}_2.13:{version}"
    jars = (
        ["--jars", ",".join(map(str, Path(folder).glob("*.jar")))]
        if folder
        else ["--packages", package]
    )

    def run(*arguments: str) -> str:
        done = subprocess.run(  # noqa: S603  of the installed pyspark
            [
                str(home / "bin" / "spark-submit"), "--master", "local[2]", *jars,
                str(ROOT / "conformance" / "pipeline" / "__main__.py"), *arguments,
            ],
            env={
                **os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1",
                "PYSPARK_PYTHON": sys.executable,
            },
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    return run


@pytest.mark.pipeline
def test_audit(submit: Submit, tmp_path: Path) -> None:
    tables = [str(path) for path in sorted((ROOT / "golden-tables" / CHAPTER).glob("*/delta"))]
    assert f"{tables[0]}: " in submit("audit", "--large=0", tables[0])
    assert submit("audit", *tables, f"--store={tmp_path / 'store'}")
    assert {path.name for path in (tmp_path / "store").iterdir()} == {"audits", "findings", "plan"}


@pytest.mark.pipeline
def test_judge(submit: Submit, tmp_path: Path) -> None:
    submit("judge", "--impl=ours", f"--chapter={CHAPTER}", f"--output={tmp_path / 'out'}")
    (path,) = (tmp_path / "out").glob("*.jsonl")
    assert read_results(path).records


@pytest.mark.pipeline
def test_explore(submit: Submit, tmp_path: Path) -> None:
    asked = ("--impl=ours", "--seeds=1", "--kind=write", f"--output={tmp_path / 'out'}")
    submit("explore", *asked)
    assert (tmp_path / "out" / "units").exists()


@pytest.mark.pipeline
def test_track(submit: Submit, results: Results, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    main(["pipeline", "track", store, "ingest", str(results({"one": "pass"}))])
    assert '"mine"' in submit("track", store, "runs", "--format=json")


@pytest.mark.pipeline
def test_tables(submit: Submit, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "golden-tables" / CHAPTER, tmp_path / "corpus" / CHAPTER)
    shutil.copy(ROOT / "golden-tables" / "manifest.json", tmp_path / "corpus")
    case = next((tmp_path / "corpus").glob(f"{CHAPTER}/*/case.json")).parent
    submit(
        "tables", "read", "--force", f"--only={CHAPTER}/{case.name}",
        f"--corpus={tmp_path / 'corpus'}",
    )  # fmt: skip


def test_track_asks_spark_where_spark_submit_runs_it(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(tmp_path / "store")
    main(["pipeline", "track", store, "ingest", str(results({"one": "pass"}))])
    asked: list[object] = []

    def on_spark(*arguments: object) -> object:
        asked.append(arguments)
        return track.in_process(track.Store(store))

    monkeypatch.setattr(track, "on_spark", on_spark)
    assert main(["pipeline", "track", store, "runs"]) == 0
    assert not asked
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert main(["pipeline", "track", store, "runs"]) == 0
    assert asked
