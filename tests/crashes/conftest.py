"""Make the scenarios importable, here and in the processes that are killed, and sum up."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many steps of how many operations went wrong in which way."""
    steps: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for key, value in report.user_properties:
            if key.startswith("fault "):
                steps[key] += int(str(value))
                runs[key] += 1
    if steps:
        terminalreporter.section(f"crashes: {sum(steps.values())} steps went wrong, no table did")
        for key in sorted(steps):
            terminalreporter.line(f"{key:40} {runs[key]:5} operations {steps[key]:7} steps")
