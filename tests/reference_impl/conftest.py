"""Logs written by hand: a small builder that knows names and required fields, and no rules."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.table import Table

SCHEMA = {
    "type": "struct",
    "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}],
}
STRINGS = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
CHECKPOINT = {
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": pa.list_(pa.string()),
            "writerFeatures": pa.list_(pa.string()),
        }
    ),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "name": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": STRINGS}),
            "schemaString": pa.string(),
            "partitionColumns": pa.list_(pa.string()),
            "configuration": STRINGS,
            "createdTime": pa.int64(),
        }
    ),
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
    "domainMetadata": pa.struct(
        {"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}
    ),
    "add": pa.struct(
        {
            "path": pa.string(),
            "partitionValues": STRINGS,
            "size": pa.int64(),
            "modificationTime": pa.int64(),
            "dataChange": pa.bool_(),
            "stats": pa.string(),
            "deletionVector": VECTOR,
        }
    ),
    "remove": pa.struct(
        {
            "path": pa.string(),
            "deletionTimestamp": pa.int64(),
            "dataChange": pa.bool_(),
            "deletionVector": VECTOR,
        }
    ),
    "checkpointMetadata": pa.struct({"version": pa.int64(), "tags": STRINGS}),
    "sidecar": pa.struct(
        {
            "path": pa.string(),
            "sizeInBytes": pa.int64(),
            "modificationTime": pa.int64(),
            "tags": STRINGS,
        }
    ),
}


def _pairs(value: Any, data_type: pa.DataType) -> Any:
    """Return maps as pairs, in which form alone Arrow takes them inside structs."""
    if value is None:
        return None
    if pa.types.is_map(data_type):
        return list(value.items() if isinstance(value, dict) else value)
    if pa.types.is_struct(data_type):
        return {field.name: _pairs(value.get(field.name), field.type) for field in data_type}
    return value


class Log:
    """Writes the log of one table and opens it."""

    types = CHECKPOINT

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directory = root / "_delta_log"
        self.directory.mkdir(parents=True)
        self.next = 0

    def protocol(
        self,
        reader: Any = 1,
        writer: Any = 2,
        features: list[str] | None = None,
        writer_features: list[str] | None = None,
    ) -> dict[str, Any]:
        body = {"minReaderVersion": reader, "minWriterVersion": writer}
        if features is not None:
            body["readerFeatures"] = features
        if writer_features is not None:
            body["writerFeatures"] = writer_features
        return {"protocol": body}

    def metadata(
        self, configuration: dict[str, str] | None = None, /, **over: Any
    ) -> dict[str, Any]:
        body = {
            "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(SCHEMA),
            "partitionColumns": [],
            "configuration": configuration or {},
        }
        return {"metaData": _over(body, over)}

    def add(self, path: str, /, **over: Any) -> dict[str, Any]:
        body = {
            "path": path,
            "partitionValues": {},
            "size": 1,
            "modificationTime": 1,
            "dataChange": True,
        }
        return {"add": _over(body, over)}

    def remove(self, path: str, /, **over: Any) -> dict[str, Any]:
        return {"remove": _over({"path": path, "deletionTimestamp": 1, "dataChange": True}, over)}

    def vector(self, name: str, offset: int | None = 1) -> dict[str, Any]:
        body = {"storageType": "p", "pathOrInlineDv": name, "sizeInBytes": 34, "cardinality": 1}
        return body if offset is None else {**body, "offset": offset}

    def raw(self, name: str, data: bytes) -> Path:
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    def commit(self, *actions: Any, version: int | None = None, mtime: int | None = None) -> Path:
        version = self.next if version is None else version
        self.next = version + 1
        path = self.raw(f"{version:020d}.json", self.lines(*actions))
        if mtime is not None:
            os.utime(path, ns=(mtime * 1_000_000, mtime * 1_000_000))
        return path

    def lines(self, *actions: Any) -> bytes:
        return b"".join(json.dumps(action).encode() + b"\n" for action in actions)

    def start(self, *actions: Any, **configuration: str) -> None:
        """Commit version 0 with protocol and metadata."""
        self.commit(self.protocol(), self.metadata(configuration), *actions)

    def parquet(self, name: str, *actions: dict[str, Any], columns: Any = None) -> int:
        """Write actions as checkpoint rows, and give the file's size."""
        types = CHECKPOINT if columns is None else columns
        arrays = {
            kind: pa.array([_pairs(action.get(kind), of) for action in actions], of)
            for kind, of in types.items()
        }
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(arrays), path)
        return path.stat().st_size

    def checkpoint(self, version: int, *actions: dict[str, Any]) -> None:
        """Write a classic checkpoint with protocol and metadata before the actions."""
        self.parquet(
            f"{version:020d}.checkpoint.parquet", self.protocol(), self.metadata(), *actions
        )

    def hint(self, **fields: Any) -> None:
        self.raw("_last_checkpoint", json.dumps(fields).encode())

    @property
    def table(self) -> Table:
        return Table(self.root)

    def snapshot(self, version: int | None = None) -> Snapshot:
        return self.table.snapshot(version)

    def paths(self, version: int | None = None) -> list[str]:
        """Return the live paths of a version, sorted."""
        return sorted(self.snapshot(version).adds()["path"].to_pylist())

    def dead(self, version: int | None = None) -> list[str]:
        """Return the paths of the tombstones of a version, sorted."""
        return sorted(self.snapshot(version).tombstones()["path"].to_pylist())


def _over(body: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Replace fields; an Ellipsis leaves a field out."""
    return {key: value for key, value in (body | over).items() if value is not ...}


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "table")
