"""A small table on disk that tests write by hand, clean until a test breaks it."""

from __future__ import annotations

import json
import struct
import sys
import uuid
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyroaring
import pytest

from conformance.audit import Finding, audit
from conformance.audit.findings import PART_IS_BROKEN

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

TABLE_ID = "3f1c0a52-7a5d-4d58-9a01-6f2b8f9f2a10"
LONG_AGO = 1_600_000_000_000
"""Milliseconds since the epoch; tombstones of that time have expired."""

ADD_FIELDS = pa.struct(
    {
        "path": pa.string(),
        "partitionValues": pa.map_(pa.string(), pa.string()),
        "size": pa.int64(),
        "modificationTime": pa.int64(),
        "dataChange": pa.bool_(),
        "stats": pa.string(),
        "baseRowId": pa.int64(),
        "defaultRowCommitVersion": pa.int64(),
        "partitionValues_parsed": pa.struct({"p": pa.string()}),
        "stats_parsed": pa.struct({"numRecords": pa.int64()}),
    }
)


def field(name: str, of: Any = "long", *, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": of, "nullable": nullable, "metadata": metadata}


def column(name: str, number: int, of: Any = "long") -> dict[str, Any]:
    """Make a field under column mapping."""
    mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c-{number}"}
    return field(name, of, **mapping)


def without_wholes(findings: Iterable[Finding]) -> list[Finding]:
    """Leave out the rows that are named since a part of them is."""
    return [each for each in findings if not each.message.endswith(PART_IS_BROKEN)]


class Lake:
    """A table root; every method writes files, and nothing is checked."""

    field = staticmethod(field)
    column = staticmethod(column)

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "_delta_log"
        self.log.mkdir(parents=True)
        self.version = -1

    def protocol(self, *features: str, reader: int = 1, writer: int = 2) -> dict[str, Any]:
        """Make a protocol; features make it (3, 7), ``r:`` marks those of both lists."""
        if not features:
            return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer}}
        readers = [f.removeprefix("r:") for f in features if f.startswith("r:")]
        body: dict[str, Any] = {"minReaderVersion": 3 if readers else 1, "minWriterVersion": 7}
        if readers:
            body["readerFeatures"] = readers
        body["writerFeatures"] = [f.removeprefix("r:") for f in features]
        return {"protocol": body}

    def metadata(
        self, *fields: dict[str, Any], partition: Iterable[str] = (), **properties: str
    ) -> dict[str, Any]:
        """Make a metaData; property names take ``_`` for ``.`` after ``delta``."""
        schema = {
            "type": "struct",
            "fields": list(fields) or [field("id"), field("name", "string")],
        }
        configuration = {f"delta.{key.replace('__', '.')}": v for key, v in properties.items()}
        return {
            "metaData": {
                "id": TABLE_ID,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": list(partition),
                "configuration": configuration,
            }
        }

    def commit(self, *actions: dict[str, Any] | str) -> int:
        self.version += 1
        self.write(f"{self.version:020d}.json", self.lines(actions))
        return self.version

    @staticmethod
    def lines(actions: Iterable[dict[str, Any] | str]) -> str:
        return "".join((a if isinstance(a, str) else json.dumps(a)) + "\n" for a in actions)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.log / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def file(self, path: str, rows: pa.Table | None = None, **changes: Any) -> dict[str, Any]:
        """Write a data file and make its add, with changes to the action's fields."""
        table = pa.table({"id": [1, 2], "name": ["a", None]}) if rows is None else rows
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, target)
        body: dict[str, Any] = {
            "path": path,
            "partitionValues": {},
            "size": target.stat().st_size,
            "modificationTime": LONG_AGO,
            "dataChange": True,
            "stats": json.dumps({"numRecords": table.num_rows}),
        }
        body |= changes
        return {"add": {key: value for key, value in body.items() if value is not ...}}

    @staticmethod
    def remove(path: str, **changes: Any) -> dict[str, Any]:
        return {
            "remove": {"path": path, "deletionTimestamp": LONG_AGO, "dataChange": True} | changes
        }

    def vector(self, rows: Iterable[int], **changes: Any) -> dict[str, Any]:
        """Write a deletion vector file and make its descriptor."""
        bits = pyroaring.BitMap64(rows)
        payload = struct.pack("<I", 1681511377) + bits.serialize()
        name = f"dv-{uuid.uuid5(uuid.NAMESPACE_OID, str(sorted(bits)))}.bin"
        frame = struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))
        (self.root / name).write_bytes(b"\x01" + frame)
        return {
            "storageType": "p",
            "pathOrInlineDv": f"file://{self.root}/{name}",
            "offset": 1,
            "sizeInBytes": len(payload),
            "cardinality": len(bits),
        } | changes

    def basic(self) -> Lake:
        """Write three versions: create, add two files, remove one."""
        self.commit({"commitInfo": {"operation": "CREATE"}}, self.protocol(), self.metadata())
        self.commit(self.file("a.parquet"), self.file("b.parquet"))
        self.commit(self.remove("b.parquet"), {"txn": {"appId": "app", "version": 1}})
        return self

    def rows(self) -> list[dict[str, Any]]:
        """Return what a checkpoint of :meth:`basic` holds."""
        actions = [
            json.loads(line)
            for version in range(3)
            for line in (self.log / f"{version:020d}.json").read_text().splitlines()
        ]
        return [
            action
            for action in actions
            if "commitInfo" not in action and action.get("add", {}).get("path") != "b.parquet"
        ]

    def checkpoint(self, rows: Iterable[dict[str, Any]], name: str = "") -> Path:
        """Write a checkpoint in Parquet, the column ``add`` in its true types."""
        names = sorted({key for row in rows for key in row})
        columns = {}
        for key in names:
            values = [row.get(key) for row in rows]
            if key == "add":
                values = [
                    v and v | {"partitionValues": list(v["partitionValues"].items())}
                    for v in values
                ]
                columns[key] = pa.array(values, ADD_FIELDS)
            else:
                columns[key] = pa.array(self._maps(key, values), FIELDS[key])
        path = self.log / (name or f"{self.version:020d}.checkpoint.parquet")
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), path)
        return path

    @staticmethod
    def _maps(key: str, values: list[Any]) -> list[Any]:
        if key != "metaData":
            return values
        return [
            v
            and v
            | {
                "configuration": list(v["configuration"].items()),
                "format": v["format"] | {"options": []},
            }
            for v in values
        ]

    def audit(self, *, data: bool = True) -> list[Finding]:
        return without_wholes(audit(str(self.root), data=data))


FIELDS = {
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
            "format": pa.struct(
                {"provider": pa.string(), "options": pa.map_(pa.string(), pa.string())}
            ),
            "schemaString": pa.string(),
            "partitionColumns": pa.list_(pa.string()),
            "configuration": pa.map_(pa.string(), pa.string()),
        }
    ),
    "remove": pa.struct(
        {"path": pa.string(), "deletionTimestamp": pa.int64(), "dataChange": pa.bool_()}
    ),
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64()}),
    "commitInfo": pa.struct({"operation": pa.string()}),
    "domainMetadata": pa.struct(
        {"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}
    ),
    "checkpointMetadata": pa.struct({"version": pa.int64()}),
    "sidecar": pa.struct(
        {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64()}
    ),
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return an empty table root."""
    return Lake(tmp_path / "table")


@pytest.fixture
def fires(lake: Lake) -> Callable[[Callable[[Lake], Any], set[str]], list[Finding]]:
    """Plant a fault and return the findings, which must be those of the requirements alone."""

    def run(plant: Callable[[Lake], Any], expected: set[str]) -> list[Finding]:
        plant(lake)
        findings = lake.audit()
        assert {finding.requirement for finding in findings} == expected, findings
        assert all(finding.place and finding.message for finding in findings)
        return findings

    return run
