"""Faults of protocols and of what features need: each fires its own findings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit.findings import Finding

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
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_findings(
    name: str, fires: Callable[[Plant, set[str]], list[Finding]]
) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)
