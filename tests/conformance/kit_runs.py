"""Run the kit in a folder of its own, as a person does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny import READ, write_case

from conformance.base.status import Status
from conformance.report.results import Results, read_results

HERE = Path(__file__).parent
WRONG: dict[str, Any] = {"scan": {"rows": []}}
OTHER_WRONG = {"scan": {"rows": [{"id": 1, "name": "a"}]}}
UNCLAIMED = {"type": "read", "timestamp": "2024-01-01 00:00:00.000", "expected": {"rowCount": 2}}
"""A question that the adapters of these tests do not claim."""


class Kit:
    """A corpus, and runs over it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.folder = pytester.path
        self.corpus = pytester.path / "corpus"
        self.results = pytester.path / "results.jsonl"
        self.output = ""

    def case(self, name: str, answers: dict[str, Any] | None = None, **more: Any) -> None:
        specs = more.pop("specs", {"read-latest": READ})
        write_case(self.corpus, f"table-features/{name}", specs, answers, **more)

    def __call__(
        self, *options: str, impl: str = "python:fakes:told", isolation: str = "none"
    ) -> Status:
        shared = (f"--impl={impl}", f"--tck-corpus={self.corpus}", f"--tck-isolation={isolation}")
        return self.run("-pno:cacheprovider", *shared, *options)

    def run(self, *arguments: str) -> Status:
        # Looking for plugins costs more than the runs of these tests.
        plugins = ("-pdelta_tck_pytest", "-pxdist.plugin")
        if any(argument.startswith("-n") for argument in arguments):
            done = self.pytester.runpytest_subprocess(*plugins, *arguments)
        else:
            # This process has imported the plugin: pytest says so where it is installed.
            quiet = "-Wignore::pytest.PytestAssertRewriteWarning"
            done = self.pytester.runpytest_inprocess(*plugins, quiet, *arguments)
        self.output = f"{done.stdout}\n{done.stderr}"
        return Status(done.ret)

    def read(self) -> Results:
        return read_results(self.results)

    def baseline(self, *entries: dict[str, str], **more: Any) -> str:
        path = self.folder / "baseline.yaml"
        path.write_text(yaml.safe_dump({**more, "failures": list(entries)}))
        return f"--tck-baseline={path}"


def make_kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return Kit(pytester)


def known(name: str, **changes: str) -> dict[str, str]:
    entry = {
        "id": f"table-features/{name}/read-latest",
        "requirement": "REC-001",
        "message": "rows: 2 missing of 2",
        "reason": "reads nothing",
    }
    return {**entry, **changes}
