"""Faults of the forms of checkpoints, their parts and sidecars: each fires its own findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit.findings import Finding
from generators.materialise.data.spark_hash import murmur3_text

Plant = Callable[[Any], Any]


def _protocol(reader: int, writer: int, readers: Any, writers: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    lists = {"readerFeatures": readers, "writerFeatures": writers}
    return {"protocol": body | {k: v.split() for k, v in lists.items() if v is not None}}


def _second(lake: Any) -> None:
    lake.basic()
    lake.commit(lake.protocol("r:v2Checkpoint", *KEPT))


def _rows(lake: Any, *more: dict[str, Any]) -> list[dict[str, Any]]:
    held = [row for row in lake.rows() if "protocol" not in row]
    return [*held, lake.protocol("r:v2Checkpoint", *KEPT), *more]


MARK = {"checkpointMetadata": {"version": 3}}


KEPT = ("appendOnly", "invariants")
"""What the versions of the basic table bring along."""


UUID = "00000000-0000-4000-8000-000000000000"


def _classic(lake: Any, *more: dict[str, Any]) -> None:
    lake.basic().checkpoint([*lake.rows(), *more])


def _first_with_sidecar(lake: Any) -> None:
    lake.basic()
    path = lake.log / "_sidecars" / "s.parquet"
    adds = [row for row in lake.rows() if "add" in row]
    lake.checkpoint(adds, "_sidecars/s.parquet")
    sidecar = {"path": "s.parquet", "sizeInBytes": path.stat().st_size, "modificationTime": 1}
    top = [row for row in lake.rows() if "add" not in row and "remove" not in row]
    lake.checkpoint([*top, {"sidecar": sidecar}])


def _lists(lake: Any, reader: int, writer: int, readers: Any, writers: Any) -> None:
    lake.basic()
    protocol = _protocol(reader, writer, readers, writers)
    rows = [row for row in lake.rows() if "protocol" not in row]
    lake.checkpoint([*rows, protocol])


def _twins(lake: Any) -> None:
    _second(lake)
    lake.checkpoint(_rows(lake, MARK))
    rows = [row for row in _rows(lake, MARK) if "txn" not in row]
    lake.checkpoint(rows, f"{3:020d}.checkpoint.{UUID}.parquet")


def _twice(lake: Any) -> None:
    _second(lake)
    path = lake.log / "_sidecars" / "s.parquet"
    lake.checkpoint([r for r in _rows(lake) if "add" in r], "_sidecars/s.parquet")
    sidecar = {"path": "s.parquet", "sizeInBytes": path.stat().st_size, "modificationTime": 1}
    top = [row for row in _rows(lake, MARK) if "add" not in row and "remove" not in row]
    top += [{"sidecar": sidecar}] * 2
    lake.checkpoint(top, f"{3:020d}.checkpoint.{UUID}.parquet")


def _in_two_parts(lake: Any, *features: str) -> None:
    lake.basic()
    if features:
        lake.commit(lake.protocol(*features, *KEPT))
    name = f"{lake.version:020d}.checkpoint.{{:010d}}.0000000002.parquet"
    rows = lake.rows() if not features else _rows(lake)
    if features:
        rows[-1] = lake.protocol(*features, *KEPT)
    adds = [row for row in rows if "add" in row]
    lake.checkpoint(rows, name.format(1))
    lake.checkpoint(adds, name.format(2))


def _keyed(lake: Any, key: Callable[[str, str], int], *features: str) -> None:
    """Write a checkpoint of two parts that a hash gives the files to, of path and vector."""
    protocol = lake.protocol(*features, *KEPT)
    metadata = lake.metadata(**({"enableDeletionVectors": "true"} if features else {}))
    lake.commit(protocol, metadata)
    parts: list[list[Any]] = [[], []]
    # Vectors lie at paths of this machine, and two hashes seldom agree on so many.
    for number in range(24):
        rows = pa.table({"id": [*range(24)]})
        add = lake.file(f"{number}.parquet", rows)
        ids = ""
        if features:
            vector = add["add"]["deletionVector"] = lake.vector([number])
            ids = f"p{vector['pathOrInlineDv']}@{vector['offset']}"
        lake.commit(add)
        parts[key(f"{number}.parquet", ids) % 2].append(add["add"])
    for number, adds in enumerate(parts, 1):
        name = f"{lake.version:020d}.checkpoint.{number:010d}.{2:010d}.parquet"
        _with_vectors(lake.checkpoint([protocol, metadata], name), adds, keep=number == 1)


def _with_vectors(path: Any, adds: list[Any], *, keep: bool) -> None:
    """Put adds with their vectors into a checkpoint, beside what it has or in its place."""
    vector = pa.struct({
        "storageType": pa.string(), "pathOrInlineDv": pa.string(), "offset": pa.int32(),
        "sizeInBytes": pa.int32(), "cardinality": pa.int64(),
    })  # fmt: skip
    kind = pa.struct([
        ("path", pa.string()), ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()), ("modificationTime", pa.int64()), ("dataChange", pa.bool_()),
        ("stats", pa.string()), ("deletionVector", vector),
    ])  # fmt: skip
    held = pa.array([each | {"partitionValues": []} for each in adds], kind)
    table = pq.read_table(path)
    rows = [pa.table({"add": held})] + ([table] if keep else [])
    pq.write_table(pa.concat_tables(rows, promote_options="default"), path)


def _json_checkpoint(lake: Any) -> None:
    lake.basic()
    text = lake.lines([*lake.rows(), {"checkpointMetadata": {"version": 2}}])
    lake.write(f"{2:020d}.checkpoint.{UUID}.json", text)


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "checkpoint without reader features": (
        {"CKSCH-008", "CKC-002", "PROTO-003"},
        lambda lake: _lists(lake, 3, 7, None, "appendOnly"),
    ),
    "checkpoint without writer features": (
        {"CKSCH-009", "CKC-002", "PROTO-004"},
        lambda lake: _lists(lake, 1, 7, None, None),
    ),
    "checkpoint with features too early": (
        {"CKSCH-011", "CKC-002", "PROTO-004"},
        lambda lake: _lists(lake, 1, 2, None, "appendOnly"),
    ),
    "first spec with a sidecar": (
        {"CKPT-V1-001", "CKC-009", "CKPT-V2-001", "CKPT-V2-002", "SCA-001", "V2F-001"},
        _first_with_sidecar,
    ),
    "first spec with the mark of the second": (
        {"CKPT-V1-002", "CKPT-V2-001", "CKM-001", "CKC-009", "V2F-001"},
        lambda lake: _classic(lake, {"checkpointMetadata": {"version": 2}}),
    ),
    "first spec in JSON": (
        {"CKC-026", "CKPT-V2-001", "V2F-001"},
        _json_checkpoint,
    ),
    "sidecar named twice": ({"SIDE-002"}, _twice),
    "file in two parts": (
        {"CKPT-006", "CKPT-N-003", "CKPT-N-005", "CKPT-N-006"},
        _in_two_parts,
    ),
    "file in two parts, with vectors": (
        {"CKPT-006", "CKPT-N-003", "CKPT-N-004"},
        lambda lake: _in_two_parts(lake, "r:deletionVectors"),
    ),
    "parts by another hash": (
        {"CKPT-N-003", "CKPT-N-005"},
        lambda lake: _keyed(lake, lambda path, _: murmur3_text(path, 0)),
    ),
    "parts by another hash, with vectors": (
        {"CKPT-N-003", "CKPT-N-004"},
        lambda lake: _keyed(lake, lambda path, _: murmur3_text(path, 0), "r:deletionVectors"),
    ),
    "parts by bare paths, with vectors": (
        {"CKPT-N-004"},
        lambda lake: _keyed(lake, lambda path, _: murmur3_text(path, 42), "r:deletionVectors"),
    ),
    "twins that differ": ({"CKPT-N-011", "CKC-006"}, _twins),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_findings(
    name: str, fires: Callable[[Plant, set[str]], list[Finding]]
) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


def test_parts_by_path_and_vector_are_clean(lake: Any) -> None:
    _keyed(lake, lambda path, of: murmur3_text(of, murmur3_text(path, 42)), "r:deletionVectors")
    assert lake.audit() == []
