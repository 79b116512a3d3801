"""Make the mutants importable, and print which requirement killed each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


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
