"""``delta-tck`` runs its commands and distinguishes a usable adapter from an unusable one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tiny import READ, write_case

from conformance.base.options import OPTIONS, long_names, short_name
from conformance.base.status import Status
from conformance.cli import COMMANDS, main

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    write_case(tmp_path, "table-features/one", {"read-latest": READ})
    return tmp_path


@pytest.mark.parametrize("arguments", [[], ["rum"], ["run", "--results=x"]])
def test_bad_usage_says_what_there_is(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == Status.USAGE
    assert capsys.readouterr().err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == Status.OK
    output = capsys.readouterr().out
    for command in ("run", "smoke", "audit", "coverage", "drift", "report", "diff"):
        assert f"  {command} " in output


@pytest.mark.parametrize("module", ["cli", "plugin.cli", "audit.cli", "report.cli", "run.merge"])
def test_no_module_of_a_command_ends_well_without_doing_anything(module: str) -> None:
    command = [sys.executable, "-m", f"conformance.{module}", "no-such-thing"]
    ended = subprocess.run(command, capture_output=True, check=False)  # noqa: S603  of this kit
    assert ended.returncode != Status.OK


def test_every_module_of_a_command_may_be_run_as_a_script() -> None:
    modules = {function.partition(":")[0] for _, function in COMMANDS.values()}
    for module in modules:
        source = ROOT / "conformance" / (module.replace(".", "/") + ".py")
        assert 'if __name__ == "__main__":\n    raise SystemExit(' in source.read_text(), module


@pytest.mark.parametrize("name", ["careful", "--impl=careful"])
def test_smoke_says_what_holds(corpus: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    named = name.replace("careful", "python:fakes:careful")
    assert main(["smoke", named, f"--corpus={corpus}"]) == Status.OK
    assert "FAIL" not in capsys.readouterr().out


def test_smoke_accepts_the_java_example_which_reads_snapshots_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = ROOT / "docs" / "examples" / "SnapshotReader.java"
    assert main(["smoke", f"cmd:java {program}"]) == Status.OK
    assert "ok    it answers snapshot of a plain table" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("impl", "words"),
    [
        ("python:fakes:told", "it answers where no table is"),
        ("python:fakes:misspelled", "did you mean 'deletionVectors'?"),
        ("python:fakes:silent", "nothing can be judged"),
        ("python:fakes:never", "it comes up and says who it is"),
        ("nobody", "neither one of"),
    ],
)
def test_smoke_finds_an_adapter_that_cannot_be_judged(
    corpus: Path, capsys: pytest.CaptureFixture[str], impl: str, words: str
) -> None:
    assert main(["smoke", impl, f"--corpus={corpus}"]) == Status.ADAPTER
    assert words in "".join(capsys.readouterr())


def test_smoke_needs_a_corpus(tmp_path: Path) -> None:
    missing = tmp_path / "nothing"
    assert main(["smoke", "--impl=ours", f"--corpus={missing}"]) == Status.CORPUS


def test_an_unknown_command_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reprot"]) == Status.USAGE
    said = capsys.readouterr().err
    assert said.startswith("delta-tck: there is no command 'reprot'; did you mean 'report'?\n")


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == Status.OK
    assert capsys.readouterr().out.startswith("delta-tck ")


def test_the_help_of_run_has_every_option_under_its_short_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--help"]) == Status.OK
    lines = capsys.readouterr().out.splitlines()
    for name in OPTIONS:
        assert any(line.startswith(f"  {short_name(name)}=") for line in lines)


def test_run_takes_short_names_and_long_ones() -> None:
    given = ["--impl=ours", "--case=a", "--tck-case=b", "--write-baseline", "x", "-x", "--lf"]
    wanted = ["--impl=ours", "--tck-case=a", "--tck-case=b", "--tck-write-baseline", "x", "-x"]
    assert long_names(given) == [*wanted, "--lf"]


def test_no_option_but_the_first_can_meet_another_plugins() -> None:
    first, *others = OPTIONS
    assert first == "--impl"
    assert all(name.startswith("--tck-") for name in others)


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "soon"])
def test_smoke_takes_limits_above_zero_only(limit: str) -> None:
    with pytest.raises(SystemExit):
        main(["smoke", "ours", f"--time-limit={limit}"])


def test_a_missing_extra_is_named_in_one_line(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DELTA_TCK_DUCKDB_EXTENSION", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["smoke", "duckdb", f"--corpus={corpus}"]) == Status.ADAPTER
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("which is not installed: pip install 'delta-tck[duckdb]'")


def test_every_option_explains_itself() -> None:
    for name, details in OPTIONS.items():
        assert name.startswith("--")
        assert details["help"]
