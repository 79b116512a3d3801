"""Tables to write to, and what every version of them has to stand up to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.audit import audit
from reference_impl import Table

HERE = Path(__file__).parent
for folder in (HERE, HERE.parents[1] / "crashes"):  # its storage that fails
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Return a table that is not there yet."""
    return Table(tmp_path / "table")


@pytest.fixture
def actions(table: Table) -> Callable[..., list[dict[str, Any]]]:
    """Return the actions of a version, or the bodies of those of one name."""

    def read(version: int, name: str | None = None) -> list[dict[str, Any]]:
        data = table.storage.get(f"_delta_log/{version:020d}.json")
        lines = [json.loads(line) for line in data.splitlines()]
        return lines if name is None else [line[name] for line in lines if name in line]

    return read


@pytest.fixture
def clean(table: Table) -> Callable[[], None]:
    """Check the whole table against the audit, which shares no code with the writer."""

    def check() -> None:
        faults = [f for f in audit(table.storage.location) if f.severity != "info"]
        assert faults == []

    return check
