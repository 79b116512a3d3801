"""Synthesise tables with data files, with and without deletion vectors."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.data.deletion_vectors import StoredVector, write_vector_file

_FIELDS = (("id", "long"), ("key", "integer"), ("value", "double"), ("text", "string"))
_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _FIELDS
        ],
    }
)


def _table(start: int, rows: int, random: np.random.Generator) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(np.arange(start, start + rows)),
            "key": pa.array(random.integers(0, 1000, rows, dtype=np.int32)),
            "value": pa.array(random.random(rows)),
            "text": pa.array(random.integers(0, 10**9, rows)).cast(pa.string()),
        }
    )


def build(root: Path, files: int, rows: int, *, deleted: float) -> Path:
    """Write a table of ``files`` files of ``rows`` rows each, a share ``deleted`` of them by DV."""
    table = root / f"data-{files}-{rows}-{deleted}"
    if (table / "done").exists():
        return table
    log = table / "_delta_log"
    log.mkdir(parents=True)
    random = np.random.default_rng(7)
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    metadata = {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _SCHEMA,
        "partitionColumns": [],
        "configuration": {},
    }
    lines: list[dict[str, object]] = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"metaData": metadata},
    ]
    for number in range(files):
        path = table / f"part-{number:05}.parquet"
        pq.write_table(_table(number * rows, rows, random), path)
        add: dict[str, object] = {
            "path": path.name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": 1700000000000,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows}),
        }
        if deleted:
            gone = np.flatnonzero(random.random(rows) < deleted)
            vectors = [StoredVector(gone.tolist())]
            identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{table.name}/{number}")
            (add["deletionVector"],) = write_vector_file(table, identity, vectors)
        lines.append({"add": add})
    (log / f"{0:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (table / "done").touch()
    return table
