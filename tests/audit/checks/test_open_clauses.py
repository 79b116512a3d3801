"""Where no sentence forbids what a table has, the audit says what is odd and calls it no error."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit import audit
from generators.materialise.builder import TableBuilder
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import field, struct
from reference_impl import Table

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


def _null_statistics(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata())
    lake.commit(lake.file("a.parquet", stats="null"))


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


def _ids(base: int, version: int) -> dict[str, Any]:
    return {"dataChange": False, "baseRowId": base, "defaultRowCommitVersion": version}


def _tracked_again(lake: Any) -> None:
    """Drop row tracking, its ids with it, and give files ids once more that others had before."""
    features = lake.protocol("rowTracking", "domainMetadata")
    mark = {
        "domain": "delta.rowTracking",
        "configuration": json.dumps({"rowIdHighWaterMark": 3}),
        "removed": False,
    }
    a, b, c = (lake.file(f"{name}.parquet")["add"] for name in "abc")
    lake.commit(features, lake.metadata())
    adds = ({"add": a | _ids(0, 1) | {"dataChange": True}}, {"add": b | _ids(2, 1)})
    lake.commit(adds[0], {"add": adds[1]["add"] | {"dataChange": True}}, {"domainMetadata": mark})
    lake.commit(lake.remove("b.parquet", baseRowId=2, defaultRowCommitVersion=1))
    lake.commit(lake.metadata(rowTrackingSuspended="true"))
    lake.commit({"add": a | {"dataChange": False}})
    lake.commit(lake.protocol("domainMetadata"), {"domainMetadata": {**mark, "removed": True}})
    lake.commit(features, lake.metadata())
    last = {"add": c | _ids(0, 7) | {"dataChange": True}}
    lake.commit(last, {"add": a | _ids(2, 7)}, {"domainMetadata": mark})


def _mapped(lake: Any, *columns: tuple[str, int, str], **more: Any) -> dict[str, Any]:
    """Make the metadata of a table mapped by name: logical name, id and physical name of each."""
    keys = ("delta.columnMapping.id", "delta.columnMapping.physicalName")
    fields = (
        lake.field(
            name, "string" if name.endswith("p") else "long", **dict(zip(keys, of, strict=True))
        )
        for name, *of in columns
    )
    top = str(max(number for _, number, _ in columns))
    settings = {"columnMapping__mode": "name", "columnMapping__maxColumnId": top, **more}
    metadata: dict[str, Any] = lake.metadata(*fields, **settings)
    return metadata


_NEW: Final = "col-2f6d1c3e-9a41-4c52-8a6b-0d6a6f1f7c11"


def _named_again(lake: Any, *, cut: bool) -> None:
    """Drop a column, give its name to another, and add a file again that has the former one."""
    features = ("appendOnly", "invariants", "r:columnMapping", "r:deletionVectors")
    vectors = {"enableDeletionVectors": "true"}
    counts = {"numRecords": 2, "minValues": {"id": 1, "x": 1}, "nullCount": {"id": 0, "x": 0}}
    added = lake.file("a.parquet", pa.table({"id": [1, 2], "x": [1, 2]}), stats=json.dumps(counts))
    lake.commit(lake.protocol(), lake.metadata(lake.field("id"), lake.field("x")), added)
    lake.commit(lake.protocol(*features), _mapped(lake, ("id", 1, "id"), ("x", 2, "x"), **vectors))
    lake.commit(_mapped(lake, ("id", 1, "id"), **vectors | {"columnMapping__maxColumnId": "2"}))
    lake.commit(_mapped(lake, ("id", 1, "id"), ("x", 3, _NEW), **vectors))
    changed = {
        "deletionVector": lake.vector([0]),
        "stats": json.dumps(counts | {"tightBounds": False}),
    }
    lake.commit(lake.remove("a.parquet"), {"add": added["add"] | changed})
    if cut:
        Table(str(lake.root)).checkpoint()
        for path in (*lake.log.glob("*.json"), *lake.log.glob("*.crc")):
            path.unlink()


def _hidden_partition(lake: Any, *, renamed: bool) -> None:
    """Have a folder of a partition whose column has, or had, an underscore first."""
    rows = pa.table([[1]], schema=pa.schema([pa.field("c-1", pa.int64(), metadata=_FIRST_ID)]))
    if renamed:
        lake.commit(
            lake.protocol(reader=2, writer=5),
            _mapped(lake, ("id", 1, "c-1"), ("_p", 2, _NEW), partition=["_p"]),
        )
        lake.commit(lake.file("_p=1/a.parquet", rows, partitionValues={_NEW: "1"}))
        lake.commit(_mapped(lake, ("id", 1, "c-1"), ("p", 2, _NEW), partition=["p"]))
        return
    fields = lake.field("c-1"), lake.field("_p:", "string")
    lake.commit(lake.protocol(), lake.metadata(*fields, partition=["_p:"]))
    added = lake.file("_p%3A=1/a.parquet", rows, partitionValues={"_p:": "1"})
    lake.commit({"add": added["add"] | {"path": "_p%253A=1/a.parquet"}})


_FIRST_ID: Final = {"PARQUET:field_id": "1"}


def _whole_number(lake: Any, text: str) -> None:
    fields = lake.field("id"), lake.field("p", "integer")
    lake.commit(lake.protocol(), lake.metadata(*fields, partition=["p"]))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1]}), partitionValues={"p": text}))


def _partition_of_old(lake: Any) -> None:
    """Remove a file again that went when the table had another partition column."""
    fields = lake.field("id"), lake.field("p", "string"), lake.field("q", "string")
    lake.commit(lake.protocol(), lake.metadata(*fields, partition=["p"]))
    rows = pa.table({"id": [1], "q": ["a"]})
    lake.commit(lake.file("a.parquet", rows, partitionValues={"p": "1"}))
    gone = lake.remove("a.parquet", partitionValues={"p": "1"})
    lake.commit(gone, lake.metadata(*fields, partition=["q"]))
    lake.commit(gone)


def _domain_with_its_feature(lake: Any) -> None:
    """Remove a domain in the commit that drops the feature."""
    domain = {"domain": "mine", "configuration": "{}", "removed": False}
    features = lake.protocol("appendOnly", "domainMetadata")
    lake.commit(features, lake.metadata(), {"domainMetadata": domain})
    lake.commit(lake.protocol("appendOnly"), {"domainMetadata": {**domain, "removed": True}})


def _tombstone_again(lake: Any) -> None:
    """Write the tombstone of a file once more that has a vector since."""
    lake.commit(lake.protocol("r:deletionVectors"), lake.metadata(enableDeletionVectors="true"))
    added = lake.file("a.parquet")
    lake.commit(added)
    lake.commit(
        lake.remove("a.parquet"), {"add": added["add"] | {"deletionVector": lake.vector([0])}}
    )
    lake.commit(lake.remove("a.parquet"))


def _changes_unasked(lake: Any, **properties: str) -> None:
    """Write a change file though the table does not list the feature."""
    rows = {"id": [1, 2], "name": ["a", None]}
    lake.commit(lake.protocol("appendOnly"), lake.metadata(**properties), lake.file("a.parquet"))
    table = pa.table({**rows, "_change_type": ["delete", "delete"]})
    added = lake.file("_change_data/c.parquet", table)["add"]
    body = {name: added[name] for name in ("path", "partitionValues", "size")}
    lake.commit(lake.remove("a.parquet"), {"cdc": {**body, "dataChange": False}})


def _spaced_decimals(lake: Any) -> None:
    """Spell decimals with spaces and without."""
    pairs = ("decimal(10,2)", "decimal(11,2)"), ("decimal(11, 2)", "decimal(12,2)")
    changes = [dict(zip(("fromType", "toType"), pair, strict=True)) for pair in pairs]
    column = lake.field("d", "decimal(12, 2)", **{"delta.typeChanges": changes})
    lake.commit(lake.protocol("r:typeWidening"), lake.metadata(column, enableTypeWidening="true"))


def _instant(lake: Any, text: str) -> None:
    fields = lake.field("id"), lake.field("t", "timestamp")
    lake.commit(lake.protocol(), lake.metadata(*fields, partition=["t"]))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1]}), partitionValues={"t": text}))


def _vectors_with_their_feature(lake: Any) -> None:
    """Rewrite the last file with a vector in the commit that drops the feature."""
    metadata = lake.metadata(enableDeletionVectors="true")
    old = lake.file("a.parquet", deletionVector=lake.vector([0]))
    lake.commit(lake.protocol("appendOnly", "r:deletionVectors"), metadata, old)
    left = pa.table({"id": [2], "name": pa.array([None], pa.string())})
    gone = {"deletionVector": old["add"]["deletionVector"], "dataChange": False}
    lake.commit(
        lake.protocol("appendOnly"),
        lake.metadata(),
        lake.remove("a.parquet", **gone),
        lake.file("b.parquet", left, dataChange=False),
    )


def _copied(lake: Any, **properties: str) -> None:
    """Set properties that no feature reads, and have them in a checkpoint and a checksum."""
    table = lake.protocol("appendOnly"), lake.metadata(**properties)
    lake.commit(*table)
    lake.checkpoint(table)
    protocol, metadata = table[0]["protocol"], table[1]["metaData"]
    counts = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    copies = json.dumps({**counts, "protocol": protocol, "metadata": metadata})
    lake.write(f"{0:020d}.crc", copies)


def _null_options(lake: Any) -> None:
    metadata = lake.metadata()
    metadata["metaData"]["format"]["options"] = None
    lake.commit(lake.protocol(), metadata)


OPEN: dict[str, tuple[set[str], Callable[[Any], None]]] = {
    "row ids of a table that tracks rows again": ({"TF-016"}, _tracked_again),
    "a hidden partition whose folder is escaped": (
        {"DATA-001"},
        lambda x: _hidden_partition(x, renamed=False),
    ),
    "a hidden partition that is renamed": (
        {"DATA-001"},
        lambda x: _hidden_partition(x, renamed=True),
    ),
    "a whole number with a fraction of zero": ({"PART-004"}, lambda x: _whole_number(x, "1.0")),
    "a whole number with an exponent": ({"PART-004"}, lambda x: _whole_number(x, "-1.5E1")),
    "an instant with nanoseconds": (
        {"PART-006"},
        lambda x: _instant(x, "2024-01-01T00:00:00.123456000Z"),
    ),
    "an instant in the basic form": ({"PART-006"}, lambda x: _instant(x, "20240101T000000Z")),
    **{
        f"an instant like {text}": ({"PART-006"}, lambda x, text=text: _instant(x, text))
        for text in (
            "2024-01-01t00:00:00z",
            "2024-01-01t00:00:00.123456Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T24:00:00.000Z",
            "20240101T240000Z",
            "2024-01-01T24:00Z",
            "2016-12-31T23:59:60Z",
            "2024-W01-1T00:00:00Z",
        )
    },
    "vectors that go with their feature": ({"DV-001", "TF-016"}, _vectors_with_their_feature),
    "a mode of its own, where no column is mapped": (
        {"CM-005", "CM-006"},
        lambda x: _copied(x, columnMapping__mode="off"),
    ),
    "a version of its own, where commits have no timestamps": (
        {"ICT-010"},
        lambda x: _copied(x, inCommitTimestampEnablementVersion="first"),
    ),
    "a partition value of a file that went long ago": (
        {"ADD-005", "REC-018", "WCON-002"},
        _partition_of_old,
    ),
    "a domain that goes with its feature": ({"DOM-009", "TF-016"}, _domain_with_its_feature),
    "a tombstone that is written again": ({"REC-018"}, _tombstone_again),
    "changes that nobody asked for": ({"CDC-013"}, _changes_unasked),
    "decimals with spaces": (set(), _spaced_decimals),
    "options that are null": ({"META-013"}, _null_options),
    "nested ids that no feature reads": (
        {"ICE2-009"},
        lambda x: _keyed(x, **{"parquet.field.nested.ids": "mine"}),
    ),
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
    "statistics that are the text null": ({"STAT-007"}, _null_statistics),
    "a file that is removed again": ({"REC-018"}, _removed_again),
    "typed partition values with a field of a vendor": ({"CKC-016"}, _vendor_in_parsed_values),
}
"""What a table has, the rows that the audit names, and how it is written."""


@pytest.mark.parametrize("name", OPEN)
def test_what_no_sentence_forbids_is_no_error(name: str, lake: Any) -> None:
    expected, plant = OPEN[name]
    plant(lake)
    assert {(x.requirement, x.severity) for x in lake.audit()} == {(y, "warning") for y in expected}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("later", "severity"), [((), "warning"), (("q",), "error")])
def test_a_table_under_iceberg_compatibility_may_lose_its_partitioning(
    lake: Any, version: int, later: tuple[str, ...], severity: str
) -> None:
    fields = [lake.column(name, n, "string") for n, name in enumerate("pq", 1)]
    on = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "2"}
    on[f"enableIcebergCompatV{version}"] = "true"
    features = lake.protocol("r:columnMapping", f"icebergCompatV{version}")
    lake.commit(features, lake.metadata(*fields, partition=["p"], **on))
    lake.commit(lake.metadata(*fields, partition=later, **on))
    named = "ICE1-011" if version == 1 else "ICE2-019"
    assert {(x.requirement, x.severity) for x in lake.audit()} == {(named, severity)}


@pytest.mark.parametrize("cut", [False, True])
def test_statistics_of_a_dropped_column_are_not_of_the_next_one_of_its_name(
    lake: Any, cut: bool
) -> None:
    _named_again(lake, cut=cut)
    found = {(x.requirement, x.severity) for x in lake.audit()}
    assert found == {(name, "info") for name in ("CM-015", "STAT-007", "WCON-001")}


def test_the_folders_above_a_table_are_none_of_its_partitions(lake: Any, tmp_path: Path) -> None:
    lake = type(lake)(tmp_path / "p=1" / "table")
    fields = lake.field("id"), lake.field("p", "string")
    metadata = lake.metadata(*fields, partition=["p"], enableDeletionVectors="true")
    lake.commit(lake.protocol("r:deletionVectors"), metadata)
    rows, vector = pa.table({"id": [1, 2]}), lake.vector([0])
    lake.commit(lake.file("a", rows, partitionValues={"p": "1"}, deletionVector=vector))
    assert lake.audit() == []


BOUND: dict[str, tuple[str, Callable[[Any], None]]] = {
    "a hidden folder of no partition": (
        "DATA-001",
        lambda x: x.commit(x.protocol(), x.metadata(), x.file("_p=1/a.parquet")),
    ),
    "an instant in another zone": ("PART-006", lambda x: _instant(x, "20240101T000000+0100")),
    "an instant after the end of a day": (
        "PART-006",
        lambda x: _instant(x, "2024-01-01T24:00:01Z"),
    ),
    "the end of a day in the plain form": (
        "PART-006",
        lambda x: _instant(x, "2024-01-01 24:00:00"),
    ),
    "a whole number with a fraction": ("PART-004", lambda x: _whole_number(x, "1.5")),
    "a number that is no short one": ("PART-004", lambda x: _whole_number(x, "1e30")),
    "changes that the property alone asks for": (
        "CDC-013",
        lambda x: _changes_unasked(x, enableChangeDataFeed="true"),
    ),
    "nested ids of the feature": (
        "ICE2-009",
        lambda x: x.commit(
            x.protocol("r:columnMapping", "icebergCompatV2"),
            x.metadata(
                x.column("id", 1) | {"metadata": {"parquet.field.nested.ids": "mine"}},
                enableIcebergCompatV2="true",
            ),
        ),
    ),
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


def test_a_name_that_no_text_has_turns_no_timestamps_on(lake: Any) -> None:
    metadata = lake.metadata(enableInCommitTimestamps="true")
    lake.commit(lake.protocol("inCommitTimestamp-preview"), metadata)
    lake.commit(lake.file("a.parquet"))
    found = lake.audit()
    assert "FEAT-003" in {each.requirement for each in found}
    assert [each for each in found if each.severity == "error"] == []
