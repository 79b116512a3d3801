"""What Spark needs and does not find is said in one line."""

from __future__ import annotations

import argparse
import stat
from pathlib import Path

import pytest

from conformance.base.status import Status
from conformance.cli import main
from conformance.pipeline import session
from conformance.pipeline.cli import JOBS
from conformance.pipeline.session import (
    SparkMissingError,
    SparkOptions,
    add_spark_options,
    check_spark,
    spark_options,
    spark_session,
)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every package for one that is there."""
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda _: object())
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def java(folder: Path, words: str) -> str:
    """Write a Java that only says its version; gives its home."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{words}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(folder)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        session.importlib.util, "find_spec", lambda name: None if name == "pandas" else object()
    )
    with pytest.raises(SparkMissingError, match=r"pandas.*pip install 'delta-tck\[spark\]'"):
        check_spark()


@pytest.mark.usefixtures("packages")
def test_a_missing_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkMissingError, match="no java on PATH"):
        check_spark()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(SparkMissingError, match="JAVA_HOME has no"):
        check_spark()


@pytest.mark.usefixtures("packages")
def test_an_old_java_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path / "old", 'openjdk version "11.0.2"'))
    with pytest.raises(SparkMissingError, match=r'Java 17 or later.*version "11\.0\.2"'):
        check_spark()
    monkeypatch.setenv("JAVA_HOME", java(tmp_path / "new", 'openjdk version "21" 2023'))
    assert not check_spark()


@pytest.mark.usefixtures("packages")
def test_spark_submit_brings_its_own_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert check_spark()


def test_a_job_without_spark_ends_with_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "_PACKAGES", ("no_such_package",))
    out = f"--output={tmp_path / 'out'}"
    assert main(["pipeline", "explore", "--impl=ours", "--seeds=1", out]) == Status.USAGE
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("delta-tck pipeline: the pipeline needs no_such_package")
    assert main(["pipeline", "tables", "--dry-run"]) == Status.USAGE


def test_options_name_a_master_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_spark_options(parser)
    given = spark_options(parser.parse_args(["--master=local[3]", "--conf=a=b=c", "--conf=d="]))
    assert (given.master, given.settings) == ("local[3]", {"a": "b=c", "d": ""})
    assert spark_options(parser.parse_args([])).master is None
    with pytest.raises(SystemExit):
        parser.parse_args(["--conf=nothing"])
    assert "KEY=VALUE" in capsys.readouterr().err


def test_jobs_are_named_and_others_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "--help"]) == Status.OK
    assert main(["pipeline", "nothing"]) == Status.USAGE
    said = capsys.readouterr()
    for usage in (said.out, said.err):
        assert all(f"  {job} " in usage for job in JOBS)


@pytest.mark.pipeline
@pytest.mark.filterwarnings("ignore")
def test_sessions_of_one_process_share_nothing() -> None:
    found = []
    for memory in ("1g", "1100m"):
        options = SparkOptions("local[1]", {"spark.driver.memory": memory})
        with spark_session("turn", options) as session:
            jvm = session.sparkContext._jvm
            assert jvm is not None
            runtime = jvm.java.lang.Runtime.getRuntime()
            assert session.sparkContext.parallelize([1, 2], 2).map(str).collect() == ["1", "2"]
            java = jvm.java.lang.System.getProperty("java.io.tmpdir")
            assert Path(session.sparkContext._temp_dir).is_relative_to(java)
            assert Path(java).is_dir()
            found.append((java, runtime.maxMemory()))
    (one, less), (other, more) = found
    assert one != other
    assert less < more
    assert not Path(one).exists()
    assert not Path(other).exists()
