"""A table that is audited in buckets of its paths has the findings of one that is audited whole."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from audit_faults import loaded, planted
from audit_in_buckets import in_parts
from work_here import either

from conformance.audit import audit
from conformance.pipeline.audit.buckets import Options

AUDIT = Path(__file__).parents[2] / "audit"
CORPUS = AUDIT.parents[1] / "golden-tables"
CHAPTERS = sorted({path.parent.name for path in CORPUS.glob("*/*/") if path.is_dir()})
FAULTS = {name: plant for name, _, plant in planted()}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_golden_tables_have_the_same_findings_in_buckets(chapter: str) -> None:
    for log in sorted((CORPUS / chapter).rglob("_delta_log")):
        table = str(log.parent)
        whole = either(partial(audit, table))
        assert either(partial(in_parts, table, Options(), 3)) == whole, table


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found_in_buckets(name: str, tmp_path: Path) -> None:
    lake = loaded(AUDIT / "conftest.py").Lake(tmp_path / "table")
    FAULTS[name](lake)
    table = str(lake.root)
    assert either(partial(in_parts, table, Options(), 3)) == either(partial(audit, table))
