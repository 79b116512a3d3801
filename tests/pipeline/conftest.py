"""Results files of runs that never were."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Claims
from conformance.report.results import ResultsWriter
from conformance.run.run import status_of_run

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "audit", HERE.parent / "conformance"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

CLAIMS = Claims(operations=frozenset({"scan"})).as_document()
HAZARDS = {"fail": "silent wrong data"}
Write = Callable[..., Path]


def record(case: str, outcome: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"chapter/{case}/read-latest",
        "outcome": outcome,
        "hazard": HAZARDS.get(outcome),
        "message": "rows: 1 missing of 2" if outcome in ("fail", "error") else "",
        "requirement": "REC-001",
        "requirements": ["REC-001"],
        "source": "golden",
        "chapter": "chapter",
        "title": "A table holds its rows",
        "features": [],
        "expected": "",
        "actual": "",
        "details": ["missing: id=1"] if outcome == "fail" else [],
        "seen": None,
        "fault": None,
        "unclaimed": [],
        "standing": "new",
        "stale": None,
        "intermittent": False,
        **fields,
    }


@pytest.fixture
def results(tmp_path: Path) -> Write:
    """Return what writes a results file out of cases and their outcomes."""

    def write(cases: Mapping[str, str | dict[str, Any]], release: str = "1.0", **more: Any) -> Path:
        path = tmp_path / f"{len(list(tmp_path.glob('*.jsonl')))}.jsonl"
        partial = more.pop("partial", ())
        records: list[dict[str, Any]] = []
        name = more.pop("name", "mine")
        with ResultsWriter(path) as writer:
            writer.begin(
                {
                    "kit_version": "0.1.0",
                    "corpus_digest": "d",
                    "revision": "upstream",
                    "impl": name,
                    "adapter": {"name": name, "adapter_version": "1", "engine_version": release},
                    "claims": CLAIMS,
                    "selection": {},
                    "cases": len(cases) + len(partial),
                    "selected": len(cases) + len(partial),
                    **more,
                }
            )
            for case, said in cases.items():
                fields = {"outcome": said} if isinstance(said, str) else dict(said)
                records.append(record(case, **fields))
                writer.add(records[-1])
            writer.close(status_of_run(records, (), 0, (), None), partial)
        return path

    return write
