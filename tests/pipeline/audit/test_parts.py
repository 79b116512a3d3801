"""A table that is audited in buckets of its paths has the findings of one that is audited whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from audit_faults import loaded, planted
from work_here import compared

from conformance.audit import AuditError, Finding, audit
from conformance.pipeline.audit.buckets import Options
from conformance.pipeline.audit.large import in_parts

AUDIT = Path(__file__).parents[2] / "audit"
CORPUS = AUDIT.parents[1] / "golden-tables"
CHAPTERS = sorted({path.parent.name for path in CORPUS.glob("*/*/") if path.is_dir()})
FAULTS = {name: plant for name, _, plant in planted()}


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
    lake = loaded(AUDIT / "conftest.py").Lake(tmp_path / "table")
    FAULTS[name](lake)
    table = str(lake.root)
    assert _either(partial(in_parts, table, Options(), 3)) == _either(partial(audit, table))
