"""Make the mutants importable, and print which requirement killed each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from conformance.judging.tables import TableStore

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def store() -> Iterator[TableStore]:
    """Hand out copies of tables, which are gone after the test."""
    with closing(TableStore()) as copies:
        yield copies


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the score table: mutant, requirement, case."""
    kills = [
        value
        for report in terminalreporter.getreports("passed")
        for key, value in report.user_properties
        if key == "killed"
    ]
    if kills:
        terminalreporter.section(f"mutants: {len(kills)} killed")
        for line in sorted(map(str, kills)):
            terminalreporter.line(line)
