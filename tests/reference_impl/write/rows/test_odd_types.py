"""Void columns are in no file, and variants are written as the pair that they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl import Sql, Table, read_table
from reference_impl.errors import (
    ConstraintViolation,
    InvalidDataFile,
    InvalidMetadata,
    SchemaMismatch,
    UnsupportedFeatures,
    UnsupportedType,
)


def column(name: str, of: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": of, "nullable": True, "metadata": metadata}


def schema(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def files(table: Table) -> list[pq.ParquetFile]:
    root = Path(table.storage.location)
    return [
        pq.ParquetFile(path)
        for path in sorted(root.glob("**/*.parquet"))
        if "_delta_log" not in path.parts
    ]


def rows(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_table(table.storage.location).sort_by("id").to_pylist()
    return found


INNER = schema(column("a", "long"), column("nothing", "void"), column("b", "string"))


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_void_columns_are_in_the_schema_and_in_no_file(
    table: Table, clean: Callable[[], None], mode: str
) -> None:
    table.create(
        schema(column("v", "void"), column("id", "long"), column("s", INNER)),
        properties={"delta.columnMapping.mode": mode, "delta.enableChangeDataFeed": "true"},
    )
    table.append(pa.table({"id": [1, 2], "s": [{"a": 1, "b": "x"}, None]}))
    table.append(pa.table({"id": [3], "v": pa.nulls(1), "s": [{"nothing": None, "b": "y"}]}))
    table.update({"id": Sql("id + 10")}, "id = 1")
    assert rows(table) == [
        {"v": None, "id": 2, "s": None},
        {"v": None, "id": 3, "s": {"a": None, "nothing": None, "b": "y"}},
        {"v": None, "id": 11, "s": {"a": 1, "nothing": None, "b": "x"}},
    ]
    for file in files(table):
        leaves = [file.schema.column(at).path for at in range(len(file.schema))]
        assert len([leaf for leaf in leaves if leaf != "_change_type"]) == 3
    clean()


def test_a_void_column_takes_any_type_later_on(table: Table, clean: Callable[[], None]) -> None:
    table.create(schema(column("id", "long"), column("v", "void")), rows=pa.table({"id": [1]}))
    table.add_columns(schema(column("w", "void")))
    table.change_type("v", "string")
    table.append(pa.table({"id": [2], "v": ["x"]}))
    assert [(row["v"], row["w"]) for row in rows(table)] == [(None, None), ("x", None)]
    clean()


SHAPES = {
    "VOID-003": (column("l", {"type": "array", "elementType": "void", "containsNull": True}),),
    "VOID-004": (column("s", schema(column("x", "void"))),),
    "VOID-005": (column("w", "void"),),
}


@pytest.mark.parametrize("requirement", SHAPES)
def test_void_where_no_file_can_do_without_is_created_and_not_written(
    table: Table, requirement: str
) -> None:
    first = column("id", "void" if requirement == "VOID-005" else "long")
    table.create(schema(first, *SHAPES[requirement]))
    assert read_table(table.storage.location).num_rows == 0
    nothing = pa.nulls(1) if requirement == "VOID-005" else pa.array([1])
    with pytest.raises(SchemaMismatch) as refused:
        table.append(pa.table({"id": nothing}))
    assert refused.value.requirement == requirement
    assert table.latest_version() == 0
    assert files(table) == []


def test_a_void_column_holds_nothing_but_null(table: Table) -> None:
    table.create(schema(column("id", "long"), column("v", "void")))
    with pytest.raises(SchemaMismatch):
        table.append(pa.table({"id": [1], "v": ["x"]}))


NULL = {"metadata": b"\x01\x00\x00", "value": b"\x00"}
SEVEN = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x07"}
PAIR = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
NESTED = {"type": "array", "elementType": "variant", "containsNull": True}


@pytest.mark.parametrize("features", [[], ["variantShredding"]])
def test_variants_are_written_as_they_are(
    table: Table, clean: Callable[[], None], features: list[str]
) -> None:
    table.create(
        schema(column("id", "long"), column("v", "variant"), column("l", NESTED)),
        features=features,
        properties={"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"},
    )
    given = pa.table(
        {
            "id": [1, 2, 3],
            "v": pa.array([SEVEN, None, NULL], PAIR),
            "l": pa.array([[SEVEN, None], None, []], pa.list_(PAIR)),
        }
    )
    table.append(given)
    table.update({"id": Sql("id + 10")}, "id = 1")
    table.optimize()
    found = rows(table)
    assert [row["v"] for row in found] == [None, NULL, SEVEN]
    assert found[2]["l"] == [SEVEN, None]
    [add] = table.snapshot().adds().to_pylist(maps_as_pydicts="strict")
    assert json.loads(add["stats"])["nullCount"]["v"] == 1
    clean()


BROKEN = {
    "no metadata": {"metadata": None, "value": b"\x00"},
    "no value": {"metadata": b"\x01\x00\x00", "value": None},
    "empty metadata": {"metadata": b"", "value": b"\x00"},
    "another version": {"metadata": b"\x02\x00\x00", "value": b"\x00"},
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_variant_is_refused(table: Table, name: str) -> None:
    table.create(schema(column("id", "long"), column("v", "variant"), column("l", NESTED)))
    for given in (
        {"v": pa.array([None, BROKEN[name]], PAIR)},
        {"l": pa.array([None, [SEVEN, BROKEN[name]]], pa.list_(PAIR))},
    ):
        with pytest.raises(SchemaMismatch, match="no variant"):
            table.append(pa.table({"id": [1, 2], **given}))
    with pytest.raises(SchemaMismatch):
        table.append(pa.table({"v": ["text"]}))
    assert table.latest_version() == 0


def test_a_variant_is_no_partition_no_default_and_not_generated(table: Table) -> None:
    plain = schema(column("id", "long"), column("v", "variant"))
    with pytest.raises(InvalidMetadata):
        table.create(plain, partition_columns=["v"])
    generated = column("v", "variant", **{"delta.generationExpression": "id"})
    with pytest.raises(InvalidMetadata, match="no expression gives"):
        table.create(schema(column("id", "long"), generated))
    table.create(plain, features=["allowColumnDefaults"])
    with pytest.raises(ConstraintViolation, match="default is null"):
        table.set_default("v", "1")


def test_a_table_that_a_catalog_manages_is_not_created(table: Table) -> None:
    with pytest.raises(UnsupportedFeatures, match="catalog"):
        table.create(schema(column("id", "long")), features=["catalogManaged"])


REQUIRED = {**column("a", "long"), "nullable": False}
DEEP = {
    **column("s", schema({**column("v", "variant"), "nullable": False}, REQUIRED)),
    "nullable": False,
}


@pytest.mark.parametrize("of", ["variant", schema(REQUIRED), schema(DEEP)], ids=repr)
def test_a_column_of_required_parts_may_be_left_out(
    table: Table, clean: Callable[[], None], of: Any
) -> None:
    table.create(
        schema(column("id", "long"), column("x", of)),
        properties={"delta.enableChangeDataFeed": "true"},
    )
    table.append(pa.table({"id": [1, 2, 3]}))
    table.update({"id": 10}, "id = 1")
    table.optimize()
    table.delete("id = 2")
    assert rows(table) == [{"id": 3, "x": None}, {"id": 10, "x": None}]
    changes = [(row["id"], row["_change_type"]) for row in table.changes(2).to_pylist()]
    assert sorted(changes) == [(1, "update_preimage"), (2, "delete"), (10, "update_postimage")]
    clean()


def test_void_that_must_not_be_null_is_read(table: Table) -> None:
    list_of_void = {"type": "array", "elementType": "void", "containsNull": False}
    map_of_void = {
        "type": "map", "keyType": "long", "valueType": "void", "valueContainsNull": False
    }  # fmt: skip
    odd = [column("l", list_of_void), column("m", map_of_void)]
    _replanted(table, *odd)
    found = read_table(table.storage.location).to_pylist()
    assert found == [{"id": 1, "l": None, "m": None}]
    with pytest.raises(SchemaMismatch):
        table.append(pa.table({"id": [2]}))


def test_a_void_column_that_must_not_be_null_has_no_rows(table: Table) -> None:
    _replanted(table, column("v", "void") | {"nullable": False})
    with pytest.raises(InvalidDataFile, match="not null"):
        read_table(table.storage.location)


def test_a_map_with_keys_of_type_void_is_unsupported(table: Table) -> None:
    keys = {"type": "map", "keyType": "void", "valueType": "long", "valueContainsNull": True}
    _replanted(table, column("m", keys))
    with pytest.raises(UnsupportedType):
        read_table(table.storage.location)


@pytest.mark.parametrize("inside", [False, True])
def test_a_struct_without_fields_is_read_and_not_written(table: Table, inside: bool) -> None:
    empty: Any = schema()
    if inside:
        empty = {"type": "array", "elementType": empty, "containsNull": True}
    _replanted(table, column("x", empty))
    assert read_table(table.storage.location).to_pylist() == [{"id": 1, "x": None}]
    with pytest.raises(SchemaMismatch, match="without fields"):
        table.append(pa.table({"id": [2]}))


def _replanted(table: Table, *columns: dict[str, Any]) -> None:
    """Give a table of one row more columns, as another writer may."""
    table.create(schema(column("id", "long")), rows=pa.table({"id": [1]}))
    body = table.snapshot().metadata.to_wire()
    body["schemaString"] = json.dumps(schema(column("id", "long"), *columns))
    _planted(table, 1, body)


def _planted(table: Table, version: int, metadata: dict[str, Any]) -> None:
    commit = Path(table.storage.location) / "_delta_log" / f"{version:020d}.json"
    commit.write_text(json.dumps({"metaData": metadata}) + "\n")


@pytest.mark.parametrize("mode", ["none", "name", "id"])
@pytest.mark.parametrize("more", [[], [column("v", "void")]], ids=["alone", "with void"])
def test_rows_of_partition_columns_alone_are_kept(
    table: Table, clean: Callable[[], None], mode: str, more: list[dict[str, Any]]
) -> None:
    properties = {"delta.columnMapping.mode": mode, "delta.enableDeletionVectors": "true"}
    columns = [column("id", "long"), column("p", "string"), *more, column("x", "long")]
    table.create(schema(*columns), partition_columns=["p", "id"], properties=properties)
    # A writer may drop the last column that is in files.
    body = table.snapshot().metadata.to_wire()
    fields = json.loads(body["schemaString"])["fields"][:-1]
    body["schemaString"] = json.dumps(schema(*fields))
    _planted(table, 1, body)
    table.append(pa.table({"p": ["a", "a", "a", None], "id": [1, 1, 2, None]}))
    table.delete("id = 2")
    table.optimize()
    table.update({"id": 3}, "p IS NULL")
    found = [(row["p"], row["id"]) for row in rows(table)]
    assert found == [("a", 1), ("a", 1), (None, 3)]
    clean()


def test_days_and_instants_beyond_pythons_years_partition_a_table(
    table: Table, clean: Callable[[], None]
) -> None:
    types = [column("d", "date"), column("t", "timestamp"), column("n", "timestamp_ntz")]
    table.create(schema(column("id", "long"), *types), partition_columns=["d", "t", "n"])
    far = pa.array([-719529, 3664000, None], pa.int32())
    instants = pa.array([-(2**62), 2**62, None], pa.int64())
    written = pa.table(
        {
            "id": [1, 2, 3],
            "d": far.view(pa.date32()),
            "t": instants.view(pa.timestamp("us", "UTC")),
            "n": instants.view(pa.timestamp("us")),
        }
    )
    table.append(written)
    table.optimize()
    assert read_table(table.storage.location).sort_by("id").equals(written)
    lines = (Path(table.storage.location) / "_delta_log" / f"{1:020d}.json").read_text()
    adds = [json.loads(line)["add"] for line in lines.splitlines() if line.startswith('{"add"')]
    days = {add["partitionValues"]["d"] for add in adds}
    assert days == {"-0001-12-31", "+12001-09-10", None}
    clean()
