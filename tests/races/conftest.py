"""Make the racers importable, here and in their processes, and report how the races went."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print for every race how often what was committed, idle or in conflict."""
    for report in terminalreporter.getreports("passed"):
        for key, value in report.user_properties:
            if key == "race":
                location, counts = _pair(value)
                terminalreporter.section(f"race at {location}")
                for what, count in counts:
                    terminalreporter.line(f"{what:32} {count:5}")


def _pair(value: Any) -> tuple[str, list[tuple[str, int]]]:
    return value[0], value[1]
