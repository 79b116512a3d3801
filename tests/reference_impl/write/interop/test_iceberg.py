"""What Iceberg compatibility demands holds through every write, or the write is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl import Sql, Table, read_table
from reference_impl.errors import DataFileNotFound, DeltaError, InvalidMetadata

SCHEMA = pa.schema([("part", pa.string()), ("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
MAPPED = {"delta.columnMapping.mode": "name"}
FIRST = {**MAPPED, "delta.enableIcebergCompatV1": "true"}
SECOND = {**MAPPED, "delta.enableIcebergCompatV2": "true"}
NESTED_IDS = "delta.columnMapping.nested.ids"


def rows(*numbers: int) -> pa.Table:
    moments = pa.array([10**15 + n for n in numbers], pa.timestamp("us", "UTC"))
    parts = ["ab"[n % 2] for n in numbers]
    return pa.table({"id": list(numbers), "part": parts, "at": moments})


def live(table: Table) -> list[pq.ParquetFile]:
    root = Path(table.storage.location)
    return [pq.ParquetFile(root / path) for path in table.snapshot().adds()["path"].to_pylist()]


def physical(table: Table) -> dict[str, str]:
    return {
        f.name: f.metadata["delta.columnMapping.physicalName"]
        for f in table.snapshot().schema.fields
    }


@pytest.mark.parametrize("properties", [FIRST, SECOND], ids=["V1", "V2"])
def test_partition_values_are_in_every_file_after_the_data(
    table: Table, clean: Callable[[], None], properties: dict[str, str]
) -> None:
    table.create(SCHEMA, partition_columns=["part"], properties=properties, rows=rows(1, 2, 3))
    table.update({"id": Sql("id + 10")}, "id = 1")
    table.delete("id = 3")
    names = physical(table)
    for file in live(table):
        held = [file.schema.column(at) for at in range(len(file.schema))]
        assert [column.name for column in held] == [names[n] for n in ("id", "at", "part")]
        assert held[1].physical_type == "INT64"
        [value] = set(file.read().column(names["part"]).to_pylist())
        assert value in ("a", "b")
    for text in table.snapshot().adds()["stats"].to_pylist():
        assert json.loads(text)["numRecords"] >= 1
    clean()


def test_existing_files_are_rewritten(table: Table, clean: Callable[[], None]) -> None:
    table.create(SCHEMA, partition_columns=["part"], properties=MAPPED, rows=rows(1, 2, 3))
    assert {file.metadata.num_columns for file in live(table)} == {2}
    table.set_properties({"delta.enableIcebergCompatV1": "true"})
    assert {file.metadata.num_columns for file in live(table)} == {3}
    assert sorted(read_table(table.storage.location)["id"].to_pylist()) == [1, 2, 3]
    clean()


def test_rows_are_tracked_from_where_their_files_are_rewritten(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, partition_columns=["part"], properties=MAPPED, rows=rows(1, 2))
    table.set_properties({"delta.enableRowTracking": "true", "delta.enableIcebergCompatV1": "true"})
    assert table.snapshot().tombstones().num_rows == 2
    assert sorted(table.snapshot().adds()["baseRowId"].to_pylist()) == [0, 1]
    assert sorted(read_table(table.storage.location)["id"].to_pylist()) == [1, 2]
    clean()


def test_vectors_are_purged_as_compatibility_comes(table: Table, clean: Callable[[], None]) -> None:
    properties = {**MAPPED, "delta.enableDeletionVectors": "true"}
    table.create(SCHEMA, properties=properties, rows=rows(1, 2, 3))
    table.delete("id = 2")
    table.set_properties(
        {"delta.enableDeletionVectors": "false", "delta.enableIcebergCompatV2": "true"}
    )
    assert table.snapshot().adds()["deletionVector"].null_count == 1
    table.delete("id = 3")
    assert read_table(table.storage.location)["id"].to_pylist() == [1]
    clean()


def column(name: str, of: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": of, "nullable": True, "metadata": metadata}


def array(of: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": of, "containsNull": True}


def map_of(value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": "integer", "valueType": value, "valueContainsNull": True}


DEEP = {
    "type": "struct",
    "fields": [
        column("col1", array(array("integer"))),
        column("col2", map_of(array("integer"))),
        column("col3", map_of({"type": "struct", "fields": [column("sub", array("integer"))]})),
    ],
}


def ids(of: Any) -> list[int]:
    """Return every id in a schema, those of columns and those below them."""
    if not isinstance(of, dict):
        return []
    own = [of["metadata"]["delta.columnMapping.id"]] if "metadata" in of else []
    nested = list(of.get("metadata", {}).get(NESTED_IDS, {}).values())
    inner = [of.get(key) for key in ("type", "elementType", "keyType", "valueType")]
    return own + nested + [n for each in [*inner, *of.get("fields", [])] for n in ids(each)]


def test_what_is_in_arrays_and_maps_has_ids(table: Table, clean: Callable[[], None]) -> None:
    table.create(DEEP, properties=SECOND)
    table.add_columns({"type": "struct", "fields": [column("later", array("string"))]})
    table.append(
        pa.table(
            {
                "col1": [[[1]]],
                "col2": pa.array([[(1, [2])]], pa.map_(pa.int32(), pa.list_(pa.int32()))),
            }
        )
    )
    metadata = table.snapshot().metadata
    schema = json.loads(metadata.schema_string)
    first, second, third, later = schema["fields"]
    name = first["metadata"]["delta.columnMapping.physicalName"]
    assert set(first["metadata"][NESTED_IDS]) == {f"{name}.element", f"{name}.element.element"}
    name = second["metadata"]["delta.columnMapping.physicalName"]
    keys = {f"{name}.key", f"{name}.value", f"{name}.value.element"}
    assert set(second["metadata"][NESTED_IDS]) == keys
    assert len(third["metadata"][NESTED_IDS]) == 2
    [sub] = third["type"]["valueType"]["fields"]
    assert len(sub["metadata"][NESTED_IDS]) == 1
    assert len(later["metadata"][NESTED_IDS]) == 1
    given = ids(schema)
    assert len(given) == len(set(given)) == 14
    assert metadata.configuration["delta.columnMapping.maxColumnId"] == str(max(given))
    [file] = live(table)
    stored = file.schema_arrow.field(0).type.value_field
    found = [int(stored.metadata[b"PARQUET:field_id"])]
    found.append(int(stored.type.value_field.metadata[b"PARQUET:field_id"]))
    assert found == list(first["metadata"][NESTED_IDS].values())
    pairs = file.schema_arrow.field(1).type
    found = [int(f.metadata[b"PARQUET:field_id"]) for f in (pairs.key_field, pairs.item_field)]
    assert found == list(second["metadata"][NESTED_IDS].values())[:2]
    clean()


PLAIN = {"type": "struct", "fields": [column("id", "integer"), column("other", "long")]}


def with_column(of: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [*PLAIN["fields"], column("c", of)]}


REFUSED: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "V1 unmapped": (PLAIN, {"delta.enableIcebergCompatV1": "true"}, "ICE1-005"),
    "V2 unmapped": (PLAIN, {"delta.enableIcebergCompatV2": "true"}, "ICE2-005"),
    "V1 supported vectors": (
        PLAIN,
        {**FIRST, "delta.feature.deletionVectors": "supported"},
        "ICE1-006",
    ),
    "V2 active vectors": (PLAIN, {**SECOND, "delta.enableDeletionVectors": "true"}, "ICE2-014"),
    "both": (PLAIN, {**FIRST, **SECOND}, "ICE2-013"),
    "V1 array": (with_column(array("long")), FIRST, "ICE1-010"),
    "V1 map": (with_column(map_of("long")), FIRST, "ICE1-010"),
    "V1 void": (with_column("void"), FIRST, "ICE1-010"),
    "V2 void": (with_column("void"), SECOND, "ICE2-018"),
    "V2 variant": (with_column(array("variant")), SECOND, "ICE2-018"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_version_excludes_is_refused(table: Table, name: str) -> None:
    schema, properties, requirement = REFUSED[name]
    with pytest.raises(InvalidMetadata) as refused:
        table.create(schema, properties=properties)
    assert refused.value.requirement == requirement


LATER: dict[str, Callable[[Table], Any]] = {
    "ICE1-010": lambda table: table.add_columns(
        {"type": "struct", "fields": [column("l", array("long"))]}
    ),
    "ICE1-006": lambda table: table.set_properties({"delta.enableDeletionVectors": "true"}),
    "ICE2-013": lambda table: table.set_properties({"delta.enableIcebergCompatV2": "true"}),
    "ICE2-023": lambda table: table.change_type("id", "double"),
}


@pytest.mark.parametrize("requirement", LATER)
def test_no_later_change_slips_past(table: Table, requirement: str) -> None:
    table.create(PLAIN, properties={**FIRST, "delta.enableTypeWidening": "true"})
    with pytest.raises(InvalidMetadata) as refused:
        LATER[requirement](table)
    assert refused.value.requirement == requirement
    assert table.latest_version() == 0


def test_types_are_widened_as_iceberg_follows(table: Table, clean: Callable[[], None]) -> None:
    table.create(PLAIN, properties={**SECOND, "delta.enableTypeWidening": "true"})
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    table.change_type("id", "long")
    table.append(pa.table({"id": [2**40]}))
    assert read_table(table.storage.location)["id"].to_pylist() == [1, 2**40]
    clean()


def test_files_that_do_not_count_their_rows_are_counted_on_their_way_back(table: Table) -> None:
    table.create(PLAIN, properties=SECOND, rows=pa.table({"id": pa.array([1], pa.int32())}))
    path = f"_delta_log/{0:020d}.json"
    lines = [json.loads(line) for line in table.storage.get(path).splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    table.storage.put(path, "".join(json.dumps(line) + "\n" for line in lines).encode())
    table.delete()
    table.restore(0)
    [stats] = table.snapshot().adds().column("stats").to_pylist()
    assert json.loads(stats) == {"numRecords": 1}
    [path] = table.snapshot().adds().column("path").to_pylist()
    table.delete()
    table.storage.delete(path)
    with pytest.raises(DataFileNotFound):
        table.restore(0)


def test_compatibility_is_dropped(table: Table) -> None:
    table.create(DEEP, properties=SECOND)
    table.drop_feature("icebergCompatV2")
    assert NESTED_IDS not in table.snapshot().metadata.schema_string
    with pytest.raises(DeltaError):
        table.drop_feature("icebergCompatV2")
