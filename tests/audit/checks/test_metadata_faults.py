"""Faults of protocol, metadata and the steps between versions fire exactly their findings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

Plant = Callable[[Any], Any]

LONG = {"type": "array", "elementType": "long", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}


def _create(lake: Any, *actions: Any) -> Any:
    lake.commit(*actions)
    return lake


def _schema(lake: Any, *fields: Any, protocol: Any = None, **properties: str) -> None:
    _create(lake, protocol or lake.protocol(), lake.metadata(*fields, **properties))


def _mapped(lake: Any, *fields: Any, top: str = "9") -> None:
    protocol = lake.protocol("r:columnMapping")
    properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": top}
    _schema(lake, *fields, protocol=protocol, **properties)


def _raw_schema(lake: Any, text: str) -> None:
    metadata = lake.metadata()
    metadata["metaData"]["schemaString"] = text
    _create(lake, lake.protocol(), metadata)


def _basic(lake: Any, *actions: Any) -> None:
    lake.basic().commit(*actions)


def _vectors(lake: Any, *commits: Any, enabled: str = "true") -> None:
    protocol = lake.protocol("r:deletionVectors")
    _create(lake, protocol, lake.metadata(enableDeletionVectors=enabled))
    for actions in commits:
        lake.commit(*actions)


def _two_vectors(lake: Any) -> None:
    first, second = (lake.file("a.parquet", deletionVector=lake.vector([r])) for r in (0, 1))
    _vectors(lake, [first], [second])


def _remove_without_vector(lake: Any) -> None:
    add = lake.file("a.parquet", deletionVector=lake.vector([0]))
    _vectors(lake, [add], [lake.remove("a.parquet")])


def _append_only(lake: Any) -> None:
    _create(lake, lake.protocol(), lake.metadata(appendOnly="true"), lake.file("a.parquet"))
    lake.commit(lake.remove("a.parquet"))


def _change_metadata(lake: Any, *fields: Any, top: str = "9") -> None:
    _mapped(lake, lake.column("a", 1), lake.column("b", 2))
    properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": top}
    lake.commit(lake.metadata(*fields, **properties))


def _renamed_physically(lake: Any) -> None:
    other = lake.column("a", 1)
    other["metadata"]["delta.columnMapping.physicalName"] = "other"
    _change_metadata(lake, other, lake.column("b", 2))


def _domain(lake: Any, name: str, configuration: str, protocol: Any) -> None:
    action = {"domain": name, "configuration": configuration, "removed": False}
    _create(lake, protocol, lake.metadata(), {"domainMetadata": action})


def _stamped(lake: Any, *stamps: Any, late: bool = False, **properties: str) -> None:
    protocol = lake.protocol("inCommitTimestamp")
    metadata = lake.metadata(enableInCommitTimestamps="true", **properties)
    if late:
        _create(lake, lake.protocol("inCommitTimestamp"), lake.metadata())
    for stamp in stamps:
        info = {"commitInfo": {"inCommitTimestamp": stamp}}
        lake.commit(
            *([info] if stamp else []), *([protocol, metadata] if stamp == stamps[0] else [])
        )


def _info_second(lake: Any) -> None:
    protocol = lake.protocol("inCommitTimestamp")
    metadata = lake.metadata(enableInCommitTimestamps="true")
    _create(lake, protocol, {"commitInfo": {"inCommitTimestamp": 5}}, metadata)


def _iceberg(lake: Any, version: str, *fields: Any, extra: Any = None, mode: str = "name") -> None:
    features = [f"icebergCompat{version}", "r:columnMapping", *(extra or {})]
    properties = {
        f"enableIcebergCompat{version}": "true",
        "columnMapping__mode": mode,
        "columnMapping__maxColumnId": "9",
        **dict.fromkeys((extra or {}).values(), "true"),
    }
    columns = fields or (lake.column("a", 1), lake.column("b", 2))
    _create(lake, lake.protocol(*features), lake.metadata(*columns, **properties))


def _uncounted(lake: Any, version: str) -> None:
    _iceberg(lake, version)
    pa_field = pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
    rows = pa.table([pa.array([1])], schema=pa.schema([pa_field]))
    lake.commit(lake.file("a.parquet", rows, stats="{}"))


def _unmaterialised(lake: Any, version: str) -> None:
    properties = {
        f"enableIcebergCompat{version}": "true",
        "columnMapping__mode": "name",
        "columnMapping__maxColumnId": "9",
    }
    metadata = lake.metadata(
        lake.column("a", 1), lake.column("b", 2), partition=["b"], **properties
    )
    _create(lake, lake.protocol(f"icebergCompat{version}", "r:columnMapping"), metadata)
    pa_field = pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
    rows = pa.table([pa.array([1])], schema=pa.schema([pa_field]))
    stats = '{"numRecords":1}'
    lake.commit(lake.file("a.parquet", rows, stats=stats, partitionValues={"c-2": "7"}))


def _other_format(lake: Any) -> None:
    metadata = lake.metadata()
    metadata["metaData"]["format"]["provider"] = "orc"
    _create(lake, lake.protocol(), metadata, lake.file("a.orc"))


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "version 0 has no metaData": (
        {"META-001", "REC-003"},
        lambda x: _create(x, x.protocol()),
    ),
    "version 0 has no protocol": ({"REC-002"}, lambda x: _create(x, x.metadata())),
    "the protocol is newer": ({"PROTO-005"}, lambda x: _schema(x, protocol=x.protocol(reader=4))),
    "a feature is unknown": ({"FEAT-003"}, lambda x: _schema(x, protocol=x.protocol("r:futures"))),
    "data files are not Parquet": ({"META-012", "META-015"}, _other_format),
    "the schema is not JSON": ({"META-008", "SCH-001"}, lambda x: _raw_schema(x, "{")),
    "the schema breaks a rule": (
        {"SCH-024"},
        lambda x: _schema(x, x.field("a", "int")),
    ),
    "a partition column is missing": (
        {"META-009"},
        lambda x: _create(x, x.protocol(), x.metadata(partition=["q"])),
    ),
    "a partition column is nested": (
        {"META-009"},
        lambda x: _create(
            x, x.protocol(), x.metadata(x.field("a", LONG), x.field("b"), partition=["a"])
        ),
    ),
    "a partition column is a variant": (
        {"VAR-006"},
        lambda x: _create(
            x,
            x.protocol("r:variantType"),
            x.metadata(x.field("a", "variant"), x.field("b"), partition=["a"]),
        ),
    ),
    "a mapped column has no physical name": (
        {"CM-001"},
        lambda x: _mapped(x, x.field("a", **{"delta.columnMapping.id": 1})),
    ),
    "a mapped column has no id": (
        {"CM-002"},
        lambda x: _mapped(x, x.field("a", **{"delta.columnMapping.physicalName": "p"})),
    ),
    "two columns share a physical name": (
        {"CM-003"},
        lambda x: _mapped(
            x,
            x.column("a", 1),
            x.field(
                "b", **{"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "c-1"}
            ),
        ),
    ),
    "two columns share an id": (
        {"CM-004"},
        lambda x: _mapped(
            x,
            x.column("a", 1),
            x.field("b", **{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "p"}),
        ),
    ),
    "maxColumnId is too small": ({"CM-020"}, lambda x: _mapped(x, x.column("a", 5), top="4")),
    "mapping has no feature": (
        {"CM-006"},
        lambda x: _schema(x, x.field("a"), columnMapping__mode="name"),
    ),
    "timestamp_ntz has no feature": (
        {"NTZ-002"},
        lambda x: _schema(x, x.field("a", "timestamp_ntz")),
    ),
    "variant in a map has no feature": (
        {"VAR-001"},
        lambda x: _schema(x, x.field("a", MAP | {"valueType": "variant"})),
    ),
    "type changes have no feature": (
        {"TW-001"},
        lambda x: _schema(
            x, x.field("a", **{"delta.typeChanges": [{"fromType": "byte", "toType": "long"}]})
        ),
    ),
    "an invariant has no feature": (
        {"INV-001"},
        lambda x: _schema(
            x, x.field("a", **{"delta.invariants": "{}"}), protocol=x.protocol("domainMetadata")
        ),
    ),
    "a generated column has no feature": (
        {"GEN-001"},
        lambda x: _schema(x, x.field("a", **{"delta.generationExpression": "1"})),
    ),
    "a default has no feature": (
        {"DFT-001"},
        lambda x: _schema(x, x.field("a", CURRENT_DEFAULT="1")),
    ),
    "an identity column has no feature": (
        {"IDN-001"},
        lambda x: _schema(x, x.field("a", **{"delta.identity.step": 1})),
    ),
    "a constraint has no feature": (
        {"CHK-001", "CHK-007"},
        lambda x: _schema(x, constraints__c="id > 0"),
    ),
    "enabled vectors have no feature": (
        {"DV-001"},
        lambda x: _schema(x, enableDeletionVectors="true"),
    ),
    "enabled change data has no feature": (
        {"CDC-013"},
        lambda x: _schema(x, enableChangeDataFeed="true"),
    ),
    "append-only has no feature": (
        {"APP-001", "APP-005"},
        lambda x: _schema(x, protocol=x.protocol("domainMetadata"), appendOnly="true"),
    ),
    "enabled widening has no feature": (
        {"TW-001"},
        lambda x: _schema(x, enableTypeWidening="true"),
    ),
    "enabled shredding has no feature": (
        {"SHRED-005"},
        lambda x: _schema(x, enableVariantShredding="true"),
    ),
    "Iceberg V1 has no feature": (
        {"ICE1-002", "ICE1-003"},
        lambda x: _schema(x, enableIcebergCompatV1="true"),
    ),
    "Iceberg V2 has no feature": (
        {"ICE2-002", "ICE2-003"},
        lambda x: _schema(x, enableIcebergCompatV2="true"),
    ),
    "a writer feature is a reader feature": (
        {"TF-019"},
        lambda x: _schema(x, protocol=x.protocol("r:appendOnly")),
    ),
    "column mapping is in one list": (
        {"TF-018"},
        lambda x: _schema(x, protocol=x.protocol("columnMapping", "r:vacuumProtocolCheck")),
    ),
    "a clustered table has partitions": (
        {"CLUS-004", "CLUS-006"},
        lambda x: _create(
            x, x.protocol("clustering", "domainMetadata"), x.metadata(partition=["name"])
        ),
    ),
    "clustering columns are not JSON": (
        {"CLUS-007"},
        lambda x: _domain(x, "delta.clustering", "{", x.protocol("clustering", "domainMetadata")),
    ),
    "clustering columns are missing": (
        {"CLUS-007"},
        lambda x: _domain(x, "delta.clustering", "{}", x.protocol("clustering", "domainMetadata")),
    ),
    "Iceberg V1 is not mapped": ({"ICE1-005"}, lambda x: _iceberg(x, "V1", mode="none")),
    "Iceberg V1 has vectors within reach": (
        {"ICE1-006"},
        lambda x: _iceberg(x, "V1", extra={"r:deletionVectors": "enableMine"}),
    ),
    "Iceberg V1 has an array": (
        {"ICE1-010"},
        lambda x: _iceberg(x, "V1", x.column("a", 1, LONG)),
    ),
    "Iceberg V2 is not mapped": ({"ICE2-005"}, lambda x: _iceberg(x, "V2", mode="none")),
    "Iceberg V2 has V1 beside it": (
        {"ICE2-013"},
        lambda x: _iceberg(x, "V2", extra={"icebergCompatV1": "enableIcebergCompatV1"}),
    ),
    "Iceberg V2 has vectors": (
        {"ICE2-014"},
        lambda x: _iceberg(x, "V2", extra={"r:deletionVectors": "enableDeletionVectors"}),
    ),
    "Iceberg V2 has a void column": (
        {"ICE2-018"},
        lambda x: _iceberg(x, "V2", x.column("a", 1, "void")),
    ),
    "Iceberg V1 has a file without partition": (
        {"ICE1-007"},
        lambda x: _unmaterialised(x, "V1"),
    ),
    "Iceberg V2 has a file without partition": (
        {"ICE2-015"},
        lambda x: _unmaterialised(x, "V2"),
    ),
    "Iceberg V1 has an uncounted file": ({"ICE1-009"}, lambda x: _uncounted(x, "V1")),
    "Iceberg V2 has an uncounted file": ({"ICE2-016"}, lambda x: _uncounted(x, "V2")),
    "a remove names no live file": ({"REC-018"}, lambda x: _basic(x, x.remove("z.parquet"))),
    "a remove spells its path otherwise": (
        {"REM-002"},
        lambda x: _basic(x, x.remove("%61.parquet")),
    ),
    "a remove forgets the vector": ({"REM-014"}, _remove_without_vector),
    "a path comes back with another vector": ({"FA-019", "DVD-018", "REC-021"}, _two_vectors),
    "a path is removed twice": (
        {"FA-012", "REM-014"},
        lambda x: _vectors(
            x,
            [x.file("a.parquet")],
            [x.remove("a.parquet"), x.remove("a.parquet", deletionVector=x.vector([1]))],
        ),
    ),
    "a new file changes nothing": (
        {"ADD-009", "FA-017"},
        lambda x: _basic(x, x.file("c.parquet", dataChange=False)),
    ),
    "a removal changes nothing": (
        {"REM-005", "FA-017"},
        lambda x: _basic(x, x.remove("a.parquet", dataChange=False)),
    ),
    "data of an append-only table is removed": ({"APP-002"}, _append_only),
    "a vector has no feature": (
        {"DV-001"},
        lambda x: _basic(x, x.file("c.parquet", deletionVector=x.vector([1]))),
    ),
    "a vector comes while they are off": (
        {"DV-002"},
        lambda x: _vectors(x, [x.file("a.parquet", deletionVector=x.vector([1]))], enabled="false"),
    ),
    "a feature is dropped": (
        {"TF-016"},
        lambda x: _create(x, x.protocol("domainMetadata", "appendOnly"), x.metadata()).commit(
            x.protocol("appendOnly")
        ),
    ),
    "a version is lowered": (
        {"TF-016"},
        lambda x: _create(x, x.protocol(reader=1, writer=2), x.metadata()).commit(
            x.protocol(reader=1, writer=1)
        ),
    ),
    "maxColumnId falls": (
        {"CM-022"},
        lambda x: _change_metadata(x, x.column("a", 1), x.column("b", 2), top="2"),
    ),
    "a physical name changes": ({"CM-014"}, _renamed_physically),
    "a domain is below writer version 7": (
        {"DOM-008", "DOM-009"},
        lambda x: _domain(x, "mine", "{}", x.protocol()),
    ),
    "a domain has no feature": (
        {"DOM-009"},
        lambda x: _domain(x, "mine", "{}", x.protocol("appendOnly")),
    ),
    "a reserved domain is unknown": (
        {"DOM-007"},
        lambda x: _domain(x, "delta.mine", "{}", x.protocol("domainMetadata")),
    ),
    "a timestamped commit has no commitInfo": (
        {"ICT-005"},
        lambda x: _stamped(x, 5) or x.commit({"txn": {"appId": "a", "version": 1}}),
    ),
    "commitInfo is not first": ({"ICT-006"}, _info_second),
    "commitInfo has no timestamp": (
        {"ICT-007"},
        lambda x: _stamped(x, 5) or x.commit({"commitInfo": {}}),
    ),
    "timestamps do not rise": (
        {"ICT-009"},
        lambda x: _stamped(x, 5) or x.commit({"commitInfo": {"inCommitTimestamp": 5}}),
    ),
    "the enabling version is not recorded": (
        {"ICT-010"},
        lambda x: _stamped(x, 5, late=True, inCommitTimestampEnablementTimestamp="5"),
    ),
    "the enabling time is not recorded": (
        {"ICT-011"},
        lambda x: _stamped(
            x,
            5,
            late=True,
            inCommitTimestampEnablementVersion="1",
            inCommitTimestampEnablementTimestamp="4",
        ),
    ),
    "timestamps lose their feature": (
        {"TF-016", "ICT-003"},
        lambda x: _stamped(x, 5) or x.commit(x.protocol("appendOnly")),
    ),
    "timestamps have no feature": (
        {"ICT-001", "ICT-003"},
        lambda x: _schema(x, enableInCommitTimestamps="true"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_finding_alone(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


@pytest.mark.parametrize("name", ["appendOnly", "enableInCommitTimestamps"])
def test_effects_that_fail_to_appear_are_warnings(name: str, lake: Any) -> None:
    _schema(lake, protocol=lake.protocol("domainMetadata"), **{name: "true"})
    assert {finding.severity for finding in lake.audit()} == {"warning"}


def test_a_bottomless_schema_is_a_finding(lake: Any) -> None:
    text = '{"type":"array","elementType":' * 50_000
    _raw_schema(lake, json.dumps(text)[1:-1])
    assert {finding.requirement for finding in lake.audit()} == {"META-008", "SCH-001"}


def test_an_array_that_was_there_is_a_warning_under_iceberg_1(lake: Any) -> None:
    """Turning the feature on adds no column."""
    names = ("r:columnMapping", "icebergCompatV1")
    mapped = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "2"}
    array = lake.column("a", 1, LONG)
    lake.commit(lake.protocol(*names), lake.metadata(array, **mapped))
    lake.commit(lake.metadata(array, **mapped, enableIcebergCompatV1="true"))
    more = lake.column("b", 2, LONG)
    lake.commit(lake.metadata(array, more, **mapped, enableIcebergCompatV1="true"))
    found = {(x.severity, x.message[-1]) for x in lake.audit() if x.requirement == "ICE1-010"}
    assert found == {("warning", "a"), ("error", "b")}
