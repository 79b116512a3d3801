"""What tables, corpora and results say reaches the terminal without steering it."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import conformance
from conformance.base.status import Status
from conformance.base.terminal import one_line
from conformance.cli import COMMANDS, main

ODD = "\x1b[2J\x07\u202eé\r\n" + os.fsdecode(b"\xff")
"""Steers, hides, has no encoding, and is no ASCII."""

_PRINTS = {"terminal.py", "worker.py"}
"""The seam itself, and the worker, whose output the kit reads and passes through it."""


def _asked(folder: Path) -> dict[str, list[str]]:
    odd = str(folder / ODD)
    return {
        "run": ["--impl=ours", f"--corpus={odd}"],
        "smoke": ["ours", f"--corpus={odd}"],
        "replay": [odd, "--impl=ours"],
        "audit": [odd],
        "coverage": [f"--corpus={odd}", f"--project={odd}"],
        "drift": [odd],
        "report": [odd],
        "diff": [odd, odd],
        "explain": [odd],
        "merge": [odd, f"--output={odd}"],
        "pipeline": [odd],
    }


def test_every_command_is_asked(tmp_path: Path) -> None:
    assert _asked(tmp_path).keys() == COMMANDS.keys()


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
@pytest.mark.parametrize("help_", [False, True])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_lets_text_steer_the_terminal(
    command: str,
    encoding: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    help_: bool,
) -> None:
    arguments = [command, *(["--help"] if help_ else _asked(tmp_path)[command])]
    if command == "run" and not help_:  # a test runner in a test runner shares its state
        ran = subprocess.run(  # noqa: S603  our own module
            [sys.executable, "-m", "conformance", *map(os.fsencode, arguments)],
            check=False,
            capture_output=True,
            timeout=120,
            env=os.environ | {"PYTHONIOENCODING": encoding},
        )
        status, written = ran.returncode, ran.stdout + ran.stderr
    else:
        out = io.BytesIO()
        for name in ("stdout", "stderr"):
            stream = io.TextIOWrapper(out, encoding=encoding, write_through=True)
            monkeypatch.setattr(sys, name, stream)
        try:
            status = main(arguments)
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        written = out.getvalue()
    text = written.decode(encoding)
    assert (status == 0) is help_, text
    assert text
    assert not {"\x1b", "\x07", "\u202e", "\r"} & set(text)


def test_a_name_stays_on_its_line() -> None:
    assert one_line("a\nok  b\t\u2028") == "a\\nok  b\\t\\u2028"


def _writes(tree: ast.AST) -> list[int]:
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        text = ast.unparse(node.func)
        if text in ("print", "sys.stdout.write", "sys.stderr.write"):
            found.append(node.lineno)
    return found


def test_one_module_writes_to_the_terminal() -> None:
    package = Path(conformance.__file__).parent
    found = {
        path.relative_to(package).as_posix(): lines
        for path in package.rglob("*.py")
        if path.name not in _PRINTS and (lines := _writes(ast.parse(path.read_text("utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
@pytest.mark.parametrize("full", [True, False], ids=["a full disk", "a pipe that nobody reads"])
def test_an_output_that_cannot_be_written_is_named(arguments: list[str], full: bool) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") if full else os.fdopen(writer, "wb") as out:
        ended = subprocess.run(  # noqa: S603  our own command
            [sys.executable, "-m", "conformance", *arguments],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=Path(conformance.__file__).parent.parent,
        )
    if full:
        os.close(writer)
    assert ended.returncode == Status.USAGE
    (line,) = ended.stderr.splitlines()
    assert line.startswith("delta-tck: the output cannot be written: ")
