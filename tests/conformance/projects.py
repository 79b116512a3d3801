"""A person's folder with an adapter of their own, and runs there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tiny import READ, write_case

ADAPTER = """
import os, pathlib, sys, time
import pyarrow as pa
from conformance.adapter import Claims, Description, Ok

class Adapter:
    def __init__(self):
        INIT
    def describe(self):
        DESCRIBE
        return Description("own", "1", Claims(1, 0, operations=frozenset({"scan"})))
    def run(self, request):
        here = pathlib.Path(__file__).parent
        ACTION
        return Ok(pa.table({"id": [1, 2], "name": ["a", None]}))
    def close(self):
        CLOSE

create = Adapter
"""
HANG_SECONDS = 600
"""Seconds of the clock, for a machine that many share; a run takes a few of them."""


class Project:
    """A person's folder with an adapter, a corpus, and a folder for what is temporary."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temp = folder / "temp"
        self.temp.mkdir()
        write_case(folder / "corpus", "table-features/one", {"read": READ})
        # To look for assertions in all files of the kit costs more than such a run.
        self.command = [str(Path(sys.executable).with_name("pytest")), "--assert=plain"]
        self.asked = [
            "--impl=python:mypackage.adapter:create",
            f"--tck-corpus={folder / 'corpus'}",
        ]

    def adapter(self, action: str, place: str = "ACTION") -> None:
        path = self.folder / "mypackage" / "adapter.py"
        path.parent.mkdir(exist_ok=True)
        text = ADAPTER.replace(place, textwrap.indent(action, " " * 8).strip())
        for each in ("INIT", "DESCRIBE", "ACTION", "CLOSE"):
            text = text.replace(each, "pass")
        path.write_text(text)

    def start(self, *options: str, **environment: str) -> subprocess.Popen[str]:
        inherited = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        environment = {**inherited, "TMPDIR": str(self.temp), **environment}
        return subprocess.Popen(  # noqa: S603  the kit itself
            [*self.command, "-pno:cacheprovider", *self.asked, *options],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *options: str, **environment: str) -> tuple[int, str]:
        with self.start(*options, **environment) as process:
            output, _ = process.communicate(timeout=HANG_SECONDS)
        return process.returncode, output
