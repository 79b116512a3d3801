"""The audit names every planted fault by its requirement, and says nothing of sound tables."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[2] / "pipeline"))

from audit_in_buckets import in_parts
from corpus import one_of_four
from fault_bases import TABLES
from fault_planting import plant
from fault_records import Fault, load_faults

from conformance.audit import Finding, audit, checker
from conformance.audit.findings import PART_IS_BROKEN, severity_of
from conformance.audit.read import raw
from conformance.pipeline.audit.buckets import Options
from conformance.requirements.registry import load_registry

FAULTS = load_faults()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a sound table by name, built once."""
    held: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in held:
            held[name] = tmp_path_factory.mktemp("sound") / "table"
            TABLES[name](held[name])
        return held[name]

    return build


def _said(findings: list[Finding]) -> set[str]:
    """Return what findings name, less what is named since a part of it is."""
    shown = [each for each in findings if each.severity != "info"]
    return {each.requirement for each in shown if not each.message.endswith(PART_IS_BROKEN)}


@pytest.mark.parametrize("name", TABLES)
def test_a_sound_table_has_no_finding(name: str, sound: Callable[[str], Path]) -> None:
    assert audit(str(sound(name))) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_audit_names_a_planted_fault(
    fault: Fault, sound: Callable[[str], Path], tmp_path: Path
) -> None:
    root = tmp_path / "table"
    shutil.copytree(sound(fault.table), root)
    plant(fault, root)
    findings = audit(str(root), revision=fault.revision)
    assert _said(findings) == {fault.breaks, *fault.also}, findings
    severities = {each.severity for each in findings if each.requirement == fault.breaks}
    binding = severity_of(fault.breaks) == "error"
    assert ("error" in severities) == (binding and not fault.warned) or not binding, findings


def _compared(findings: list[Finding]) -> list[Any]:
    """Return findings less their order, and that of their places."""
    return sorted(
        (x.requirement, x.severity, x.message, x.hint, x.count, sorted(x.places or [x.place]))
        for x in findings
    )


@pytest.mark.parametrize("fault", one_of_four(FAULTS))
def test_columns_and_buckets_hide_no_planted_fault(
    fault: Fault,
    sound: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = tmp_path / "table"
    shutil.copytree(sound(fault.table), root)
    plant(fault, root)
    monkeypatch.setattr(raw, "COLUMNAR", False)
    monkeypatch.setattr(checker, "SCREENS", False)
    by_line = _compared(audit(str(root)))
    monkeypatch.setattr(raw, "COLUMNAR", True)
    monkeypatch.setattr(checker, "SCREENS", True)
    assert _compared(audit(str(root))) == by_line
    assert _compared(in_parts(str(root), Options(), 3)) == by_line


def test_every_fault_breaks_a_row_of_the_registry_and_has_a_table() -> None:
    rows = load_registry()
    assert [each.id for each in FAULTS if each.breaks not in rows or each.table not in TABLES] == []
    assert len(FAULTS) >= 250
    assert len({each.breaks for each in FAULTS}) >= 180
