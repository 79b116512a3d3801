"""``delta-tck`` runs its commands and tells a usable adapter from an unusable one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny import READ, write_case

from conformance.cli import main
from conformance.options import OPTIONS
from conformance.status import Status

HERE = Path(__file__).parent


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
    assert capsys.readouterr().out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == Status.OK
    output = capsys.readouterr().out
    for command in ("run", "smoke", "audit", "coverage", "drift", "report", "diff"):
        assert f"  {command} " in output


def test_smoke_says_what_holds(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "--impl=python:fakes:careful", f"--corpus={corpus}"]) == Status.OK
    assert "FAIL" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("impl", "words"),
    [
        ("python:fakes:told", "it answers for no table"),
        ("python:fakes:never", "it comes up and says who it is"),
        ("nobody", "neither one of"),
    ],
)
def test_smoke_finds_an_adapter_that_cannot_be_judged(
    corpus: Path, capsys: pytest.CaptureFixture[str], impl: str, words: str
) -> None:
    assert main(["smoke", f"--impl={impl}", f"--corpus={corpus}"]) == Status.ADAPTER
    assert words in capsys.readouterr().out


def test_smoke_needs_a_corpus(tmp_path: Path) -> None:
    missing = tmp_path / "nothing"
    assert main(["smoke", "--impl=ours", f"--corpus={missing}"]) == Status.CORPUS


def test_every_option_explains_itself() -> None:
    for name, details in OPTIONS.items():
        assert name.startswith("--")
        assert details["help"]
