"""Tables written by hand: Parquet by pyarrow, the log line by line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl.deletion_vectors import encode, encode_z85


@dataclass
class TableWriter:
    """A table root, and the ways in which these tests write to it."""

    root: Path
    version: int = -1
    parts: int = field(default=0)

    def commit(self, *actions: Mapping[str, Any]) -> int:
        self.version += 1
        log = self.root / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (log / f"{self.version:020}.json").write_text(lines, encoding="utf-8")
        return self.version

    def create(
        self,
        fields: Sequence[Any],
        *actions: Mapping[str, Any],
        partition: Sequence[str] = (),
        configuration: Mapping[str, str] | None = None,
        features: Sequence[str] = (),
        writer_features: Sequence[str] = (),
    ) -> int:
        """Commit protocol and metadata; ``fields`` are (name, type) or whole field objects."""
        protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
        if features or writer_features:
            protocol = {
                "minReaderVersion": 3 if features else 1,
                "minWriterVersion": 7,
                "writerFeatures": [*features, *writer_features],
            }
            if features:
                protocol["readerFeatures"] = list(features)
        schema = {
            "type": "struct",
            "fields": [
                f
                if isinstance(f, Mapping)
                else {"name": f[0], "type": f[1], "nullable": True, "metadata": {}}
                for f in fields
            ],
        }
        metadata = {
            "id": "6a7b5a4e-57a1-4bd6-9d3e-3f7c3c9b2f10",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema),
            "partitionColumns": list(partition),
            "configuration": dict(configuration or {}),
        }
        return self.commit({"protocol": protocol}, {"metaData": metadata}, *actions)

    def add(self, rows: pa.Table, path: str | None = None, **fields: Any) -> dict[str, Any]:
        """Write a data file and give its add action; ``options`` go to the Parquet writer."""
        options = fields.pop("options", {})
        self.parts += 1
        name = path or f"part-{self.parts:05}.parquet"
        target = self.root / fields.pop("on_disk", name)
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, target, **options)
        add = {
            "path": name,
            "partitionValues": {},
            "size": target.stat().st_size,
            "modificationTime": 1_700_000_000_000,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows.num_rows}),
        }
        return {"add": {**add, **fields}}

    @staticmethod
    def remove(add: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        """Return the action that undoes an add."""
        kept = ("path", "partitionValues", "size", "deletionVector")
        body = {key: add["add"][key] for key in kept if key in add["add"]}
        times = {"deletionTimestamp": 1_700_000_000_000, "dataChange": True}
        return {"remove": {**body, **times, "extendedFileMetadata": True, **fields}}


def inline_vector(rows: Sequence[int]) -> dict[str, Any]:
    """Return the descriptor of an inline vector of rows."""
    payload = encode(rows)
    return {
        "storageType": "i",
        "pathOrInlineDv": encode_z85(payload),
        "sizeInBytes": len(payload),
        "cardinality": len(rows),
    }


@pytest.fixture
def table(tmp_path: Path) -> TableWriter:
    """Return a writer for an empty root."""
    return TableWriter(tmp_path / "table")


@pytest.fixture
def vector() -> Callable[[Sequence[int]], dict[str, Any]]:
    """Return the maker of inline deletion vector descriptors."""
    return inline_vector
