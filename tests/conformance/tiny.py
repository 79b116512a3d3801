"""Build a corpus of a few small cases whose tables say what the scripted adapter answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", None]})
PROTOCOL: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
METADATA: dict[str, Any] = {
    "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": '{"type":"struct","fields":[]}',
    "partitionColumns": [],
    "configuration": {},
}
SNAPSHOT = {"protocol": PROTOCOL, "metadata": METADATA}

READ: dict[str, Any] = {"type": "read", "expected": {"rowCount": 2}}
READ_V1: dict[str, Any] = {**READ, "version": 1}
SNAPSHOT_SPEC: dict[str, Any] = {"type": "snapshot", "expected": SNAPSHOT}
REFUSED: dict[str, Any] = {
    "type": "read",
    "error": {
        "errorCode": "X",
        "kind": "invalid_table",
        "stage": "load",
        "requirement": "REC-003",
    },
}


def write_json(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def write_case(  # noqa: PLR0913  one keyword per part of a case
    corpus: Path,
    identity: str,
    specs: Mapping[str, dict[str, Any]],
    answers: Mapping[str, Any] | None = None,
    *,
    features: tuple[str, ...] = (),
    rows: pa.Table = ROWS,
    **more: Any,
) -> Path:
    """Write a case; ``answers`` is what the scripted adapter answers, by request."""
    folder = corpus / identity
    document = {
        "id": identity,
        "title": "A table holds its rows",
        "features": list(features),
        "requirements": ["REC-001"],
        "provenance": {"derivation": "clause", "builder": "kit", "tool_versions": {}},
        "revision": ["2021", "2025", "upstream"],
        **more,
    }
    write_json(folder / "case.json", document)
    write_json(folder / "delta" / "answers.json", answers or {})
    for slug, spec in specs.items():
        full = {"title": "Rows are read", "requirements": ["REC-001"], **spec}
        write_json(folder / "specs" / f"{slug}.json", full)
        kind = spec.get("of", spec["type"])
        if kind not in ("read", "changes", "row_ids"):
            continue
        accepted = spec.get("contested", {}).get("accepted", [{}])
        for entry in accepted:
            if "expected" in spec or "expected" in entry:
                target = folder / "expected" / slug / entry.get("name", "") / "expected_data"
                target.mkdir(parents=True)
                pq.write_table(rows, target / "part-0.parquet")
    return folder
