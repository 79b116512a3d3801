"""A table that is audited in buckets of its paths has the findings of one that is audited whole."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from audit_faults import loaded, planted
from audit_in_buckets import in_parts
from corpus import PARTS, one_of_four, tables
from work_here import either

from conformance.audit import audit
from conformance.pipeline.audit.buckets import Options

AUDIT = Path(__file__).parents[2] / "audit"
FAULTS = {name: plant for name, _, plant in planted()}


@pytest.mark.parametrize(("chapter", "part"), PARTS)
def test_golden_tables_have_the_same_findings_in_buckets(chapter: str, part: int) -> None:
    for table in map(str, tables(chapter, part)):
        whole = either(partial(audit, table))
        assert either(partial(in_parts, table, Options(), 3)) == whole, table


@pytest.mark.parametrize("name", one_of_four(FAULTS))
def test_planted_faults_are_found_in_buckets(name: str, tmp_path: Path) -> None:
    lake = loaded(AUDIT / "conftest.py").Lake(tmp_path / "table")
    FAULTS[name](lake)
    table = str(lake.root)
    assert either(partial(in_parts, table, Options(), 3)) == either(partial(audit, table))
