"""A second opinion on materialised tables: a reader of plain commits in a page of Python.

It knows JSON commits, partition values, column mapping by name and deletion vectors, reads
Parquet with the Parquet library, and shares no line with the materialiser or any engine.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

PARSERS: dict[str, Any] = {
    "string": str,
    "long": int,
    "integer": int,
    "short": int,
    "byte": int,
    "float": float,
    "double": float,
    "boolean": lambda text: text == "true",
    "binary": lambda text: text.encode("latin-1"),
    "date": date.fromisoformat,
    "timestamp": lambda text: datetime.fromisoformat(text).astimezone(UTC),
    "timestamp_ntz": datetime.fromisoformat,
}


def z85_decode(text: str) -> bytes:
    data = b""
    for start in range(0, len(text), 5):
        word = 0
        for letter in text[start : start + 5]:
            word = word * 85 + Z85.index(letter)
        data += struct.pack(">I", word)
    return data


def deleted_rows(root: Path, descriptor: dict[str, Any]) -> set[int]:
    name, size = descriptor["pathOrInlineDv"], descriptor["sizeInBytes"]
    if descriptor["storageType"] == "i":
        data = z85_decode(name)[:size]
    else:
        hexadecimal = z85_decode(name[-20:]).hex()
        cuts = (0, 8, 12, 16, 20, 32)
        identity = "-".join(hexadecimal[a:b] for a, b in pairwise(cuts))
        content = (root / name[:-20] / f"deletion_vector_{identity}.bin").read_bytes()
        start = descriptor["offset"] + 4
        data = content[start : start + size]
    return set(BitMap64.deserialize(data[4:]))


def partition_value(data_type: str, text: str | None) -> Any:
    if text is None or text == "":
        return None
    return Decimal(text) if data_type.startswith("decimal") else PARSERS[data_type](text)


def logical(value: Any, data_type: Any) -> Any:
    """Rename nested fields to their logical names."""
    if value is None or isinstance(data_type, str):
        return value
    if data_type["type"] == "array":
        return [logical(each, data_type["elementType"]) for each in value]
    if data_type["type"] == "map":
        return [
            (logical(k, data_type["keyType"]), logical(v, data_type["valueType"])) for k, v in value
        ]
    return {
        each["name"]: logical(value.get(physical(each)), each["type"])
        for each in data_type["fields"]
    }


def physical(field: dict[str, Any]) -> str:
    name: str = field["metadata"].get("delta.columnMapping.physicalName", field["name"])
    return name


def read(root: Path, version: int) -> list[dict[str, Any]]:
    """Return the rows of a version from its plain commits."""
    live: dict[tuple[str, str], dict[str, Any]] = {}
    metadata: dict[str, Any] = {}
    for number in range(version + 1):
        text = (root / "_delta_log" / f"{number:020d}.json").read_text(encoding="utf-8")
        actions = [json.loads(line) for line in text.split("\n") if line]
        for action in actions:
            metadata = action.get("metaData", metadata)
        for kind in ("remove", "add"):
            for body in (action[kind] for action in actions if kind in action):
                key = (body["path"], json.dumps(body.get("deletionVector"), sort_keys=True))
                live.pop(key, None)
                if kind == "add":
                    live[key] = body
    schema = json.loads(metadata["schemaString"])
    return [row for add in live.values() for row in file_rows(root, schema, metadata, add)]


def file_rows(
    root: Path, schema: dict[str, Any], metadata: dict[str, Any], add: dict[str, Any]
) -> list[dict[str, Any]]:
    stored = pq.read_table(root / unquote(add["path"]), partitioning=None).to_pylist()
    gone = deleted_rows(root, add["deletionVector"]) if add.get("deletionVector") else set()
    rows = []
    for place, values in enumerate(stored):
        if place in gone:
            continue
        row = {}
        for field in schema["fields"]:
            if field["name"] in metadata["partitionColumns"]:
                text = add["partitionValues"][physical(field)]
                row[field["name"]] = partition_value(field["type"], text)
            else:
                row[field["name"]] = logical(values.get(physical(field)), field["type"])
        rows.append(row)
    return rows


@pytest.fixture(scope="session")
def read_plain() -> Callable[[Path, int], list[dict[str, Any]]]:
    """Return the reader of plain commits: table root and version to rows."""
    return read
