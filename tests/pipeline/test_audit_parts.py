"""A table that is audited in buckets of its paths has the findings of one that is audited whole."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.audit import AuditError, Finding, audit
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.large import in_parts

AUDIT = Path(__file__).parents[1] / "audit"
CORPUS = AUDIT.parents[1] / "golden-tables"
CHAPTERS = sorted({path.parent.name for path in CORPUS.glob("*/*/") if path.is_dir()})
MODULES = sorted(path.stem for path in AUDIT.glob("test_*_faults.py"))


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, AUDIT / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def _faults(name: str) -> dict[str, Callable[[Any], Any]]:
    module = _module(name)
    # Some modules keep the arguments of one way of planting.
    return {
        f"{name}: {fault}": plant if callable(plant) else partial(module.lake_with, **plant)
        for fault, (_, plant) in module.FAULTS.items()
    }


FAULTS = {name: plant for module in MODULES for name, plant in _faults(module).items()}


def compared(findings: Iterable[Finding]) -> list[Any]:
    """Return findings less their order, and that of their places."""
    return sorted(
        (
            x.requirement,
            x.severity,
            x.message,
            x.hint,
            x.limit,
            x.count,
            sorted(x.places or [x.place]),
        )
        for x in findings
    )


def _either(work: Callable[[], list[Finding]]) -> Any:
    try:
        return compared(work())
    except AuditError as error:
        return str(error)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_golden_tables_have_the_same_findings_in_buckets(chapter: str) -> None:
    for log in sorted((CORPUS / chapter).rglob("_delta_log")):
        table = str(log.parent)
        whole = _either(partial(audit, table))
        assert _either(partial(in_parts, table, Options(), 3)) == whole, table


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found_in_buckets(name: str, tmp_path: Path) -> None:
    lake = _module("conftest").Lake(tmp_path / "table")
    FAULTS[name](lake)
    table = str(lake.root)
    assert _either(partial(in_parts, table, Options(), 3)) == _either(partial(audit, table))
