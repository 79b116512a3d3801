"""A table may have a rule for each of thousands of columns."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from conformance.audit import audit

COLUMN = {"type": "long", "nullable": True}
RULES = {
    "generated columns": {"delta.generationExpression": "a + 1"},
    "invariants": {"delta.invariants": json.dumps({"expression": {"expression": "a > 1"}})},
}


def _calls(root: Path, columns: int, metadata: dict[str, str]) -> int:
    """Return how many calls the audit of a table with rules takes."""
    fields: list[dict[str, Any]] = [{"name": "a", "metadata": {}, **COLUMN}]
    fields += [{"name": f"g{each}", "metadata": metadata, **COLUMN} for each in range(columns)]
    described = {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 4}
    log = root / str(columns) / "_delta_log"
    log.mkdir(parents=True)
    lines = [{"protocol": protocol}, {"metaData": described}]
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, lines)))
    calls = count()
    sys.setprofile(lambda *_: next(calls))
    try:
        audit(str(log.parent))
    finally:
        sys.setprofile(None)
    return next(calls)


@pytest.mark.parametrize("metadata", RULES.values(), ids=RULES)
def test_rules_of_many_columns_take_work_that_grows_with_their_number(
    tmp_path: Path, metadata: dict[str, str]
) -> None:
    """Else four times the columns took sixteen times as long."""
    _calls(tmp_path, 1, metadata)  # loads what is loaded once
    few = _calls(tmp_path, 400, metadata)
    assert _calls(tmp_path, 1600, metadata) < 5 * few
