"""Faults of what features need, of the forms of checkpoints, of checksums: each fires its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit.findings import Finding
from conformance.audit.summaries.canonical_json import canonical_form, digest
from generators.materialise.data.spark_hash import murmur3_text

Plant = Callable[[Any], Any]
LIST = {"type": "array", "elementType": "long", "containsNull": True}


def _protocol(reader: int, writer: int, readers: Any, writers: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    lists = {"readerFeatures": readers, "writerFeatures": writers}
    return {"protocol": body | {k: v.split() for k, v in lists.items() if v is not None}}


def _under(lake: Any, *protocol: Any) -> None:
    lake.commit(_protocol(*protocol), lake.metadata())


def _variants(lake: Any, rows: pa.Table, *features: str, **metadata: Any) -> None:
    listed = ("r:variantType", *features)
    lake.commit(lake.protocol(*listed), lake.metadata(lake.field("v", "variant", **metadata)))
    lake.commit(lake.file("a.parquet", rows))


def _parts(**parts: pa.Array) -> pa.Table:
    return pa.table({"v": pa.StructArray.from_arrays([*parts.values()], [*parts])})


BYTES = pa.array([b"\x01\x00\x00"])


def _pair(lake: Any, older: Any, **more: Any) -> None:
    """Make a table of Iceberg compatibility V2 whose only column is an array."""
    column = lake.column("a", 1, LIST)
    column["metadata"] |= {"delta.columnMapping.nested.ids": {"c-1.element": 2}, **more}
    if older is not ...:
        column["metadata"]["parquet.field.nested.ids"] = older
    lake.commit(
        lake.protocol("icebergCompatV2", "r:columnMapping"),
        lake.metadata(
            column,
            enableIcebergCompatV2="true",
            columnMapping__mode="name",
            columnMapping__maxColumnId="2",
        ),
    )


def _array_file(lake: Any, number: int | None) -> None:
    _pair(lake, ...)
    metadata = None if number is None else {"PARQUET:field_id": str(number)}
    element = pa.field("element", pa.int64(), metadata=metadata)
    column = pa.field("c-1", pa.list_(element), metadata={"PARQUET:field_id": "1"})
    rows = pa.table([pa.array([[1]], column.type)], schema=pa.schema([column]))
    lake.commit(lake.file("a.parquet", rows))


def _old_timestamps(lake: Any) -> None:
    lake.commit(
        lake.protocol("icebergCompatV2", "r:columnMapping"),
        lake.metadata(
            lake.column("a", 1, "timestamp"),
            enableIcebergCompatV2="true",
            columnMapping__mode="name",
            columnMapping__maxColumnId="1",
        ),
    )
    column = pa.field("c-1", pa.timestamp("us", "UTC"), metadata={"PARQUET:field_id": "1"})
    rows = pa.table([pa.array([1], column.type)], schema=pa.schema([column]))
    add = lake.file("a.parquet", rows)
    pq.write_table(rows, lake.root / "a.parquet", use_deprecated_int96_timestamps=True)
    add["add"]["size"] = (lake.root / "a.parquet").stat().st_size
    lake.commit(add)


def _both_ways(lake: Any) -> None:
    lake.basic().commit(lake.remove("a.parquet"), lake.file("a.parquet"))


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


HINT: dict[str, Any] = {
    "version": 2,
    "size": 5,
    "tags": {"checksum": "a/b~c.d", "Grün": "ä é", "a": None},
    "list": ["x", 7],
}


ORDER = ('"version"', '"size"', "checksum", "Gr", '+"a"', '"list"+0', '"list"+1')
"""How the members of the hint stand in it."""


def _hint(form: Callable[[str], str]) -> Plant:
    """Return a hint whose checksum is that of another form."""

    def plant(lake: Any) -> None:
        _classic(lake)
        text = form(canonical_form(HINT))
        assert text != canonical_form(HINT)
        lake.write("_last_checkpoint", json.dumps({**HINT, "checksum": digest(text)}))

    return plant


def _pairs(change: Callable[[list[str]], Any]) -> Plant:
    return _hint(lambda text: ",".join(change(text.split(","))))


def _upper(text: str) -> str:
    """Return the escapes of a canonical form in small letters."""
    head, *rest = text.split("%")
    return "".join([head, *(f"%{each[:2].lower()}{each[2:]}" for each in rest)])


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "clustering in writer 6": (
        {"CLUS-002", "CLUS-006", "PROTO-004"},
        lambda lake: _under(lake, 1, 6, None, "clustering domainMetadata"),
    ),
    "clustering without domains": (
        {"CLUS-003", "CLUS-006"},
        lambda lake: _under(lake, 1, 7, None, "clustering"),
    ),
    "iceberg 1 in writer 6": (
        {"ICE1-002", "PROTO-004"},
        lambda lake: _under(lake, 2, 6, None, "icebergCompatV1 columnMapping"),
    ),
    "iceberg 2 in writer 6": (
        {"ICE2-002", "PROTO-004"},
        lambda lake: _under(lake, 2, 6, None, "icebergCompatV2 columnMapping"),
    ),
    "timestamps in writer 6": (
        {"ICT-001", "PROTO-004"},
        lambda lake: _under(lake, 1, 6, None, "inCommitTimestamp"),
    ),
    "row tracking in writer 6": (
        {"RT-006", "PROTO-004"},
        lambda lake: _under(lake, 1, 6, None, "rowTracking domainMetadata"),
    ),
    "vectors for writers alone": (
        {"DV-001", "TF-018"},
        lambda lake: _under(lake, 3, 7, "", "deletionVectors"),
    ),
    "vectors in reader 1": (
        {"DV-001"},
        lambda lake: _under(lake, 1, 7, None, "deletionVectors"),
    ),
    "timestamps without zone for writers alone": (
        {"NTZ-002", "TF-018"},
        lambda lake: _under(lake, 3, 7, "", "timestampNtz"),
    ),
    "vacuum check for writers alone": (
        {"VPC-001", "TF-018"},
        lambda lake: _under(lake, 3, 7, "", "vacuumProtocolCheck"),
    ),
    "widening for writers alone": (
        {"TW-001", "TF-018"},
        lambda lake: _under(lake, 3, 7, "", "typeWidening"),
    ),
    "variants for writers alone": (
        {"VAR-001", "TF-018"},
        lambda lake: _under(lake, 3, 7, "", "variantType"),
    ),
    "catalogs for writers alone": (
        {"CAT-001", "CAT-015", "CINFO-004", "TF-018"},
        lambda lake: _under(lake, 3, 7, "", "catalogManaged"),
    ),
    "shredding without variants": (
        {"SHRED-001"},
        lambda lake: _under(lake, 3, 7, "variantShredding", "variantShredding"),
    ),
    "variant that is generated": (
        {"VAR-007"},
        lambda lake: lake.commit(
            lake.protocol("r:variantType", "generatedColumns"),
            lake.metadata(
                lake.field("v", "variant", **{"delta.generationExpression": "parse_json(a)"})
            ),
        ),
    ),
    "variant of one part": ({"VAR-003"}, lambda lake: _variants(lake, _parts(value=BYTES))),
    "variant as text": ({"VAR-003"}, lambda lake: _variants(lake, pa.table({"v": ["1"]}))),
    "variant that is shredded": (
        {"SHRED-002"},
        lambda lake: _variants(
            lake, _parts(metadata=BYTES, value=BYTES, typed_value=pa.array([1], pa.int64()))
        ),
    ),
    "key of nobody's": (
        {"SCH-027"},
        lambda lake: lake.commit(
            lake.protocol(), lake.metadata(lake.field("a", "long", **{"delta.mine": 1}))
        ),
    ),
    "older nested ids that are no map": ({"ICE2-009"}, lambda lake: _pair(lake, "2")),
    "older nested ids of another path": ({"ICE2-010"}, lambda lake: _pair(lake, {"b.element": 3})),
    "array whose element has no field id": ({"ICE2-012"}, lambda lake: _array_file(lake, None)),
    "array whose element has another field id": ({"ICE2-012"}, lambda lake: _array_file(lake, 7)),
    "timestamps of twelve bytes": ({"ICE2-017"}, _old_timestamps),
    "file added and removed": ({"FA-016", "WLOG-001"}, _both_ways),
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
    "hint of quoted literals": (
        {"SUM-001", "SUM-002"},
        _hint(lambda text: text.replace("null", '"null"')),
    ),
    "hint of numbers as fractions": (
        {"SUM-001", "SUM-003"},
        _hint(lambda text: text.replace("=7", "=7.0").replace("=5", "=5.0").replace("=2", "=2.0")),
    ),
    "hint of strings without quotes": (
        {"SUM-001", "SUM-004"},
        _pairs(
            lambda pairs: [
                path + "=" + value.strip('"') for path, value in (p.split("=") for p in pairs)
            ]
        ),
    ),
    "hint of keys without quotes": (
        {"SUM-001", "SUM-005"},
        _pairs(
            lambda pairs: [
                path.replace('"', "") + "=" + value for path, value in (p.split("=") for p in pairs)
            ]
        ),
    ),
    "hint of paths with dots": ({"SUM-001", "SUM-006"}, _hint(lambda t: t.replace("+", "."))),
    "hint of colons": ({"SUM-001", "SUM-007"}, _hint(lambda text: text.replace("=", ":"))),
    "hint of no order": (
        {"SUM-001", "SUM-008"},
        _pairs(lambda pairs: sorted(pairs, key=lambda p: [n in p for n in ORDER].index(True))),
    ),
    "hint of semicolons": ({"SUM-001", "SUM-009"}, _hint(lambda text: text.replace(",", ";"))),
    "hint of positions from one": (
        {"SUM-001", "SUM-010"},
        _hint(lambda text: text.replace("+1=", "+2=").replace("+0=", "+1=")),
    ),
    "hint that counts its checksum": (
        {"SUM-001", "SUM-011"},
        _hint(lambda text: '"checksum"="",' + text),
    ),
    "hint without a checksum below": (
        {"SUM-001", "SUM-012"},
        _pairs(lambda pairs: [each for each in pairs if "checksum" not in each]),
    ),
    "hint in latin letters": (
        {"SUM-001", "SUM-015"},
        _hint(lambda text: text.replace("%C3%A4%20%C3%A9", "%E4%20%E9").replace("%C3%BC", "%FC")),
    ),
    "hint of bare slashes": ({"SUM-001", "SUM-016"}, _hint(lambda text: text.replace("%2F", "/"))),
    "hint of escaped tildes": (
        {"SUM-001", "SUM-017"},
        _hint(lambda text: text.replace("~", "%7E")),
    ),
    "hint of small escapes": ({"SUM-001", "SUM-018"}, _hint(_upper)),
}
"""What is wrong, to the requirements that are found and how to make it so."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_findings(
    name: str, fires: Callable[[Plant, set[str]], list[Finding]]
) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


def test_parts_by_path_and_vector_are_clean(lake: Any) -> None:
    _keyed(lake, lambda path, of: murmur3_text(of, murmur3_text(path, 42)), "r:deletionVectors")
    assert lake.audit() == []
