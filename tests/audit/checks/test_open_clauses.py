"""Where no sentence forbids what a table has, the audit says what is odd and calls it no error."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit import audit
from generators.materialise.builder import TableBuilder
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import field, struct

NAN = float("nan")
MAP = {"type": "map", "keyType": "string", "valueType": "long"}
LIST = {"type": "array", "elementType": "long", "containsNull": True}


def _keyed(lake: Any, **metadata: Any) -> None:
    """Give a column a key, in a table without the feature of the key."""
    lake.commit(lake.protocol("appendOnly"), lake.metadata(lake.field("id", **metadata)))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1]})))


def _mode_alone(lake: Any, mode: str) -> None:
    """Set the property of column mapping in a table that maps no column."""
    lake.commit(lake.protocol("appendOnly"), lake.metadata(lake.field("id")))
    lake.commit(lake.metadata(lake.field("id"), columnMapping__mode=mode))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1]})))


def _column(lake: Any, of: Any, values: pa.Array) -> None:
    lake.commit(lake.protocol(), lake.metadata(lake.field("v", of)))
    lake.commit(lake.file("a.parquet", pa.table({"v": values})))


def _strange_type(lake: Any, protocol: dict[str, Any]) -> None:
    lake.commit(protocol, lake.metadata(lake.field("v", "geometry")))
    lake.commit(lake.file("a.parquet", pa.table({"v": [b"x"]})))


def _without_options(lake: Any) -> None:
    metadata = lake.metadata()
    del metadata["metaData"]["format"]["options"]
    lake.commit(lake.protocol(), metadata)


def _clustered(lake: Any, of: Any, values: pa.Array, bounds: dict[str, Any] | None = None) -> None:
    columns = json.dumps({"clusteringColumns": [["v"]]})
    domain = {"domain": "delta.clustering", "configuration": columns, "removed": False}
    features = lake.protocol("clustering", "domainMetadata")
    lake.commit(features, lake.metadata(lake.field("v", of)), {"domainMetadata": domain})
    stats = {"numRecords": len(values), "nullCount": {"v": 0}, **(bounds or {})}
    lake.commit(lake.file("a.parquet", pa.table({"v": values}), stats=json.dumps(stats)))


def _counted_in_a_fraction(lake: Any) -> None:
    lake.commit(lake.protocol("r:deletionVectors"), lake.metadata(enableDeletionVectors="true"))
    stats = '{"numRecords":2.0}'
    lake.commit(lake.file("a.parquet", stats=stats, deletionVector=lake.vector([0])))


def _removed_again(lake: Any) -> None:
    """Remove a file once more beside those that are rearranged."""
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet"), lake.file("b.parquet"))
    lake.commit(lake.remove("a.parquet"))
    gone, moved = (lake.remove(f"{n}.parquet", dataChange=False) for n in "ab")
    lake.commit(gone, moved, lake.file("c.parquet", dataChange=False))


def _vendor_in_parsed_values(lake: Any) -> None:
    """Have a field of a vendor among the typed partition values of a checkpoint."""
    fields = (lake.field("id"), lake.field("p", "string"))
    created = lake.protocol(writer=3), lake.metadata(*fields, partition=["p"])
    added = lake.file("a.parquet", pa.table({"id": [1]}), partitionValues={"p": "a"})
    lake.commit(*created, added)
    path = lake.checkpoint([*created, added])
    table = pq.read_table(path)
    at = table.schema.get_field_index("add")
    parsed = pa.struct({"p": pa.string(), "vendor": pa.int64()})
    stored = pa.struct(
        [
            f if f.name != "partitionValues_parsed" else f.with_type(parsed)
            for f in table.field(at).type
        ]
    )
    rows = [
        row and row | {"partitionValues_parsed": {"p": "a", "vendor": 1}}
        for row in table.column(at).to_pylist()
    ]
    pq.write_table(table.set_column(at, "add", pa.array(rows, stored)), path)


OPEN: dict[str, tuple[set[str], Callable[[Any], None]]] = {
    "a key of an implementation": ({"SCH-027"}, lambda x: _keyed(x, **{"delta.mine": 1})),
    "an invariant": (
        {"INV-001"},
        lambda x: _keyed(x, **{"delta.invariants": '{"expression":{"expression":"id > 3"}}'}),
    ),
    "an expression": ({"GEN-001"}, lambda x: _keyed(x, **{"delta.generationExpression": "2"})),
    "a default": ({"DFT-001"}, lambda x: _keyed(x, CURRENT_DEFAULT="1")),
    "an identity": (
        {"IDN-001"},
        lambda x: _keyed(x, **{"delta.identity.start": 1, "delta.identity.step": 1}),
    ),
    "mode name alone": ({"CM-006"}, lambda x: _mode_alone(x, "name")),
    "mode id alone": ({"CM-006"}, lambda x: _mode_alone(x, "id")),
    "a format without options": ({"META-013"}, _without_options),
    "a map that does not say whether it has nulls": (
        {"SCH-035"},
        lambda x: _column(x, MAP, pa.array([[("k", None)]], pa.map_(pa.string(), pa.int64()))),
    ),
    "a null in a map that has none": (
        {"SCH-035"},
        lambda x: _column(
            x,
            MAP | {"valueContainsNull": False},
            pa.array([[("k", None)]], pa.map_(pa.string(), pa.int64())),
        ),
    ),
    "a type of a feature that readers have to know": (
        {"FEAT-003", "SCH-024"},
        lambda x: _strange_type(x, x.protocol("r:fromAnotherWorld")),
    ),
    "a type of a later reader version": (
        {"PROTO-005", "SCH-024"},
        lambda x: _strange_type(x, x.protocol(reader=4, writer=8)),
    ),
    "a decimal without digits": (
        {"SCH-024"},
        lambda x: _column(x, "decimal", pa.array([Decimal(1)], pa.decimal128(10, 0))),
    ),
    "a short of no annotation": (
        {"PQ-004"},
        lambda x: _column(x, "short", pa.array([1], pa.int32())),
    ),
    "a byte of no annotation": (
        {"PQ-003"},
        lambda x: _column(x, "byte", pa.array([1], pa.int32())),
    ),
    "a clustering column of nothing but NaN": (
        {"CLUS-009"},
        lambda x: _clustered(x, "double", pa.array([NAN, NAN])),
    ),
    "a clustering column without an order": (
        set(),
        lambda x: _clustered(x, LIST, pa.array([[1]], pa.list_(pa.int64()))),
    ),
    "a count that is spelled as a fraction": (set(), _counted_in_a_fraction),
    "a file that is removed again": ({"REC-018"}, _removed_again),
    "typed partition values with a field of a vendor": ({"CKC-016"}, _vendor_in_parsed_values),
}
"""What a table has, the rows that the audit names, and how it is written."""


@pytest.mark.parametrize("name", OPEN)
def test_what_no_sentence_forbids_is_no_error(name: str, lake: Any) -> None:
    expected, plant = OPEN[name]
    plant(lake)
    assert {(x.requirement, x.severity) for x in lake.audit()} == {(y, "warning") for y in expected}


BOUND: dict[str, tuple[str, Callable[[Any], None]]] = {
    "options that are no map": (
        "META-013",
        lambda x: x.commit(
            x.protocol(),
            {
                "metaData": x.metadata()["metaData"]
                | {"format": {"provider": "parquet", "options": 1}}
            },
        ),
    ),
    "a strange type of a feature for writers": (
        "SCH-024",
        lambda x: _strange_type(x, x.protocol("fromAnotherWorld")),
    ),
    "a flag of a map that is no boolean": (
        "SCH-035",
        lambda x: x.commit(
            x.protocol(), x.metadata(x.field("v", MAP | {"valueContainsNull": "yes"}))
        ),
    ),
    "a clustering column with one bound": (
        "CLUS-009",
        lambda x: _clustered(x, "double", pa.array([1.0]), {"minValues": {"v": 1.0}}),
    ),
    "a mapped column without the feature": (
        "CM-011",
        lambda x: [
            x.commit(x.protocol("appendOnly"), x.metadata(x.field("id"))),
            x.commit(x.metadata(x.column("id", 1), columnMapping__mode="name")),
        ],
    ),
}
"""What a sentence does forbid, beside each of those."""


@pytest.mark.parametrize("name", BOUND)
def test_what_a_sentence_forbids_is_an_error(name: str, lake: Any) -> None:
    expected, plant = BOUND[name]
    plant(lake)
    assert expected in {x.requirement for x in lake.audit() if x.severity == "error"}


def test_what_a_writer_version_of_no_text_supports_is_unknown(tmp_path: Path) -> None:
    properties = {"delta.constraints.small": "id < 100"}
    schema = struct(field("id", "long"), field("t", "timestamp_ntz"))
    builder = TableBuilder(tmp_path, schema, properties=properties, protocol=Protocol(1, 8))
    builder.create()
    builder.set_domain("app.kept", "x")
    assert [each.requirement for each in audit(str(tmp_path)) if each.severity == "error"] == []


def test_a_reader_version_stands_for_the_features_of_its_time(lake: Any) -> None:
    lake.commit(lake.protocol("r:columnMapping", "r:v2Checkpoint"), lake.metadata())
    body = {"minReaderVersion": 2, "minWriterVersion": 7, "writerFeatures": ["columnMapping"]}
    lake.commit({"protocol": body})
    assert [each.message for each in lake.audit()] == [
        "the feature v2Checkpoint is no longer supported"
    ]


def test_a_former_name_is_a_name_of_the_feature(lake: Any) -> None:
    names = ("variantType", "variantShredding", "timestampNtz")
    former = ("variantType-preview", "variantShredding-preview", "timestampWithoutTimezone")
    fields = lake.field("id"), lake.field("t", "timestamp_ntz")
    metadata = lake.metadata(*fields, partition=["t"], enableVariantShredding="true")
    lake.commit(lake.protocol(*(f"r:{name}" for name in former)), metadata)
    lake.commit(lake.protocol(*(f"r:{name}" for name in names)))
    assert lake.audit() == []
