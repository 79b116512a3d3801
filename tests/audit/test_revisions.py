"""An audit by a revision reports what that text demands, under its own requirements."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from conformance.audit import audit, run_audit_cli
from conformance.requirements.registry import SELECTIONS, load_registry


def _several(lake: Any) -> None:
    lake.basic().commit(
        lake.file("c.parquet", pa.table({"id": ["text"]})),
        lake.file("d.parquet", size=1),
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    )


def _found(lake: Any, revision: str | None) -> set[str]:
    return {each.requirement for each in audit(str(lake.root), revision=revision)}


def test_every_revision_names_what_is_in_force(lake: Any) -> None:
    _several(lake)
    assert _found(lake, None) == {"WCON-005", "ADD-006", "DOM-008", "DOM-009"}
    assert _found(lake, "upstream") == {"WCON-005", "ADD-006", "DOM-008", "DOM-009"}
    assert _found(lake, "2025") == {"WCON-001", "ADD-006", "DOM-008", "DOM-009"}
    assert _found(lake, "2021") == {"WCON-001", "ADD-006"}


@pytest.mark.parametrize("revision", SELECTIONS)
def test_no_finding_is_of_another_revision(lake: Any, revision: str) -> None:
    _several(lake)
    rows = load_registry()
    assert all(rows[requirement].holds_in(revision) for requirement in _found(lake, revision))


def test_the_command_line_takes_a_revision(lake: Any, capsys: pytest.CaptureFixture[str]) -> None:
    _several(lake)
    assert run_audit_cli([str(lake.root), "--revision=2021"]) == 1
    assert "DOM-008" not in capsys.readouterr().out
    assert run_audit_cli([str(lake.root), "--revision=2022"]) == 2
