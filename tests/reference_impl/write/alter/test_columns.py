"""Columns come, go, move and widen without a data file being touched."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import (
    ConstraintViolation,
    DeltaError,
    InvalidColumnMapping,
    InvalidSchema,
    SchemaMismatch,
    UnknownColumn,
    UnsupportedFeatures,
)
from reference_impl.model.actions import Protocol
from reference_impl.write.features.protocols import with_features

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
MAPPED = {"delta.columnMapping.mode": "name"}
Actions = Callable[..., list[dict[str, Any]]]


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": list(numbers), "name": [f"n{n}" for n in numbers]}, schema=SCHEMA)


def found(table: Table, version: int | None = None) -> list[dict[str, Any]]:
    read = read_table(table.storage.location, version=version).to_pylist()
    return sorted(read, key=lambda row: row.get("id", 0))


@pytest.mark.parametrize("properties", [{}, MAPPED])
def test_an_added_column_is_null_in_earlier_rows(
    table: Table, clean: Callable[[], None], properties: dict[str, str]
) -> None:
    table.create(SCHEMA, properties=properties, rows=rows(1))
    table.add_columns(pa.schema([("x", pa.int32())]))
    table.append(pa.table({"id": [2], "x": pa.array([7], pa.int32())}))
    assert found(table) == [
        {"id": 1, "name": "n1", "x": None},
        {"id": 2, "name": None, "x": 7},
    ]
    assert found(table, 0) == [{"id": 1, "name": "n1"}]
    clean()


def test_fields_are_added_inside_of_columns(table: Table, clean: Callable[[], None]) -> None:
    inner = pa.struct([("x", pa.int64())])
    schema = pa.schema([("id", pa.int64()), ("l", pa.list_(inner))])
    table.create(schema, properties=MAPPED)
    table.append(pa.table({"id": [1], "l": [[{"x": 1}]]}, schema=schema))
    table.add_columns(pa.schema([("y", pa.string())]), ["l", "element"])
    assert found(table) == [{"id": 1, "l": [{"x": 1, "y": None}]}]
    clean()


@pytest.mark.parametrize("name", ["\ud800", b"x", 10**30, {"a"}])
def test_a_schema_that_json_cannot_spell_is_refused(table: Table, name: Any) -> None:
    field = {"name": name, "type": "long", "nullable": True, "metadata": {}}
    with pytest.raises(InvalidSchema):
        table.create({"type": "struct", "fields": [field]})
    table.create(SCHEMA)
    with pytest.raises(InvalidSchema):
        table.add_columns({"type": "struct", "fields": [field]})


def test_columns_that_earlier_rows_cannot_have_are_refused(table: Table) -> None:
    table.create(SCHEMA)
    with pytest.raises(ConstraintViolation):
        table.add_columns(pa.schema([pa.field("x", pa.int64(), nullable=False)]))
    with pytest.raises(InvalidSchema):
        table.add_columns(pa.schema([("NAME", pa.int64())]))
    assert table.latest_version() == 0


def test_a_renamed_column_keeps_its_values_and_a_dropped_one_is_gone(
    table: Table, actions: Actions, clean: Callable[[], None]
) -> None:
    table.create(SCHEMA, properties=MAPPED, partition_columns=["name"], rows=rows(1))
    table.rename_column("name", "label")
    table.add_columns(pa.schema([("x", pa.int64())]))
    table.append(pa.table({"id": [2], "label": ["b"], "x": [5]}))
    table.drop_column("x")
    table.add_columns(pa.schema([("x", pa.int64())]))
    assert found(table) == [
        {"id": 1, "label": "n1", "x": None},
        {"id": 2, "label": "b", "x": None},
    ]
    numbers = [
        actions(version, "metaData")[0]["configuration"]["delta.columnMapping.maxColumnId"]
        for version in (0, 2, 5)
    ]
    assert numbers == ["2", "3", "4"]
    clean()


def test_unmapped_tables_keep_their_names(table: Table) -> None:
    table.create(SCHEMA)
    for change in (lambda: table.rename_column("id", "x"), lambda: table.drop_column("id")):
        with pytest.raises(InvalidColumnMapping):
            change()


def test_what_rules_name_stays(table: Table) -> None:
    table.create(SCHEMA, properties={**MAPPED, "delta.constraints.c": "id > 0"})
    with pytest.raises(ConstraintViolation):
        table.drop_column("id")
    with pytest.raises(ConstraintViolation):
        table.rename_column("id", "x")
    with pytest.raises(UnknownColumn):
        table.drop_column("nowhere")


def test_what_an_invariant_names_stays(table: Table) -> None:
    invariant = json.dumps({"expression": {"expression": "id > 0"}})
    fields = [{"name": n, "type": "integer", "nullable": True, "metadata": {}} for n in ("id", "n")]
    fields[1]["metadata"] = {"delta.invariants": invariant}
    table.create(
        {"type": "struct", "fields": fields},
        properties={**MAPPED, "delta.enableTypeWidening": "true"},
    )
    for change in (
        lambda: table.drop_column("id"),
        lambda: table.rename_column("id", "x"),
        lambda: table.change_type("id", "long"),
    ):
        with pytest.raises(ConstraintViolation):
            change()
    table.drop_column("n")
    table.change_type("id", "long")


def test_partition_columns_and_last_columns_stay(table: Table) -> None:
    table.create(SCHEMA, properties=MAPPED, partition_columns=["name"])
    with pytest.raises(ConstraintViolation):
        table.drop_column("name")


def test_columns_are_put_into_another_order(table: Table) -> None:
    table.create(SCHEMA, rows=rows(1))
    table.reorder_columns(["name", "id"])
    assert read_table(table.storage.location).column_names == ["name", "id"]
    with pytest.raises(SchemaMismatch):
        table.reorder_columns(["id"])


WIDENINGS = {
    "integer": (pa.int8(), 5, "integer", 5),
    "long": (pa.int32(), 5, "long", 5),
    "double": (pa.float32(), 0.5, "double", 0.5),
    "decimal": (pa.decimal128(5, 2), Decimal("1.50"), "decimal(10,4)", Decimal("1.5000")),
    "timestamp_ntz": (
        pa.date32(),
        dt.date(2020, 1, 2),
        "timestamp_ntz",
        dt.datetime(2020, 1, 2),  # noqa: DTZ001  the type has no zone
    ),
}


@pytest.mark.parametrize("name", WIDENINGS)
def test_a_type_is_widened(table: Table, clean: Callable[[], None], name: str) -> None:
    of, value, wanted, wide = WIDENINGS[name]
    table.create(
        pa.schema([("a", of)]),
        properties={"delta.enableTypeWidening": "true"},
        rows=pa.table({"a": pa.array([value], of)}),
    )
    table.change_type("a", wanted)
    assert [row["a"] for row in found(table)] == [wide]
    table.append(pa.table({"a": read_table(table.storage.location)["a"]}))
    assert [row["a"] for row in found(table)] == [wide, wide]
    clean()


def test_other_changes_of_types_are_refused(table: Table) -> None:
    table.create(SCHEMA)
    with pytest.raises(UnsupportedFeatures):
        table.change_type("id", "double")
    table.set_properties({"delta.enableTypeWidening": "true"})
    for wanted in ("integer", "string", "decimal(10,0)"):
        with pytest.raises(SchemaMismatch):
            table.change_type("id", wanted)


def test_nulls_of_deleted_rows_do_not_count(table: Table) -> None:
    properties = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}
    table.create(SCHEMA, properties=properties)
    table.append(pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]}, schema=SCHEMA))
    table.delete("id = 2")
    table.set_nullable("name", nullable=False)
    left = [{"id": 1, "name": "a"}, {"id": 3, "name": "c"}]
    assert found(table) == left
    table.update({"name": "d"}, "id = 3")
    assert found(table) == [left[0], {"id": 3, "name": "d"}]
    table.optimize()
    assert found(table) == [left[0], {"id": 3, "name": "d"}]


def test_nulls_are_forbidden_only_where_there_are_none(table: Table) -> None:
    table.create(SCHEMA, rows=pa.table({"id": [1], "name": pa.array([None], pa.string())}))
    with pytest.raises(ConstraintViolation):
        table.set_nullable("name", nullable=False)
    table.set_nullable("id", nullable=False)
    with pytest.raises(ConstraintViolation):
        table.append(pa.table({"name": ["x"]}))
    table.set_nullable("id", nullable=True)
    table.append(pa.table({"name": ["x"]}))


def test_a_comment_is_set_and_other_metadata_stay(table: Table) -> None:
    scale = {"scale": 7, "comment": "a number"}
    field = {"name": "n", "type": "integer", "nullable": True, "metadata": scale}
    table.create({"type": "struct", "fields": [field]})
    table.set_comment("n", "a size")
    [column] = table.snapshot().schema.fields
    assert column.metadata == {"scale": 7, "comment": "a size"}


def test_a_default_is_set_later_on(table: Table) -> None:
    table.create(SCHEMA, rows=rows(1))
    table.set_default("name", "'x'")
    table.append(pa.table({"id": [2]}))
    assert [row["name"] for row in found(table)] == ["n1", "x"]
    with pytest.raises(DeltaError):
        table.set_default("name", "id")
    table.set_default("name", None)
    table.append(pa.table({"id": [3]}))
    assert found(table)[-1]["name"] is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            Protocol(2, 7, None, ("rowTracking",)),
            Protocol(
                3,
                7,
                ("columnMapping", "v2Checkpoint"),
                (
                    "columnMapping",
                    "rowTracking",
                    "v2Checkpoint",
                ),
            ),
        ),
        (
            Protocol(3, 7, ("variantType-preview",), ("variantType-preview",)),
            Protocol(
                3,
                7,
                ("v2Checkpoint", "variantType-preview"),
                (
                    "v2Checkpoint",
                    "variantType-preview",
                ),
            ),
        ),
    ],
    ids=["column mapping, which reader version 2 means", "a feature by its alias"],
)
def test_a_further_feature_leaves_those_that_there_are(before: Protocol, after: Protocol) -> None:
    assert with_features(before, ["v2Checkpoint"]) == after
