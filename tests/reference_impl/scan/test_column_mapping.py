"""Column mapping: names and ids at every level, in files, partition values and statistics."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import read_table
from reference_impl.errors import InvalidColumnMapping, InvalidDataFile

_LONG = pa.int64()


def _mapped(name: str, of: Any, number: int, physical: Any = None) -> dict[str, Any]:
    return {
        "name": name,
        "type": of,
        "nullable": True,
        "metadata": {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": physical or f"col-{number}",
        },
    }


def _column(name: str, of: pa.DataType, number: int | None = None) -> pa.Field:
    metadata = None if number is None else {"PARQUET:field_id": str(number)}
    return pa.field(name, of, metadata=metadata)


def _create(table: Any, fields: list[Any], mode: str, **more: Any) -> None:
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "99"}
    table.create(fields, features=["columnMapping"], configuration=configuration, **more)


def test_name_mode_finds_physical_names_and_ignores_ids(table: Any) -> None:
    _create(table, [_mapped("a", "long", 1), _mapped("b", "long", 2)], "name")
    rows = pa.table(
        [[10], [20]], schema=pa.schema([_column("col-1", _LONG, 2), _column("col-2", _LONG, 1)])
    )
    table.commit(table.add(rows), table.add(pa.table({"col-2": [21], "a": [99]})))
    assert read_table(table.root).to_pylist() == [{"a": 10, "b": 20}, {"a": None, "b": 21}]


def test_id_mode_finds_ids_and_ignores_names(table: Any) -> None:
    _create(
        table, [_mapped("a", "long", 1), _mapped("b", "long", 2), _mapped("c", "long", 3)], "id"
    )
    schema = pa.schema([_column("col-2", _LONG, 1), _column("x", _LONG, 2), _column("c", _LONG, 9)])
    table.commit(table.add(pa.table([[10], [20], [30]], schema=schema)))
    assert read_table(table.root).to_pylist() == [{"a": 10, "b": 20, "c": None}]


def test_id_mode_refuses_a_file_without_ids(table: Any) -> None:
    _create(table, [_mapped("a", "long", 1)], "id")
    table.commit(table.add(pa.table({"col-1": [1]})))
    with pytest.raises(InvalidDataFile, match="field id"):
        read_table(table.root)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_nested_fields_are_mapped_at_every_level(table: Any, mode: str) -> None:
    inner = {"type": "struct", "fields": [_mapped("renamed", "long", 5), _mapped("new", "long", 6)]}
    fields = [
        _mapped("s", inner, 1),
        _mapped("l", {"type": "array", "elementType": inner, "containsNull": True}, 2),
        _mapped("m", {"type": "map", "keyType": "string", "valueType": inner}, 3),
    ]
    ids = iter(range(5, 100))

    def renumbered(node: Any) -> Any:
        if isinstance(node, dict) and "metadata" in node and node["name"] in ("renamed", "new"):
            number = next(ids)
            physical = "col-5" if node["name"] == "renamed" else "col-6"
            return _mapped(node["name"], node["type"], number, physical)
        if isinstance(node, dict):
            return {key: renumbered(value) for key, value in node.items()}
        return [renumbered(item) for item in node] if isinstance(node, list) else node

    fields = renumbered(fields)
    numbers = range(5, 11, 2)
    stored = [
        pa.struct([_column("old", pa.int8(), 50), _column("col-5", _LONG, number)])
        for number in numbers
    ]
    _create(table, fields, mode)
    schema = pa.schema(
        [
            _column("col-1", stored[0], 1),
            _column("col-2", pa.list_(pa.field("element", stored[1])), 2),
            _column("col-3", pa.map_(pa.string(), stored[2]), 3),
        ]
    )
    row = {"old": 0, "col-5": 7}
    table.commit(table.add(pa.table([[row], [[row]], [[("k", row)]]], schema=schema)))
    expected = {"renamed": 7, "new": None}
    assert read_table(table.root).to_pylist() == [
        {"s": expected, "l": [expected], "m": [("k", expected)]}
    ]


def test_a_column_dropped_and_added_again_does_not_see_old_values(table: Any) -> None:
    _create(table, [_mapped("a", "long", 2, "col-new")], "name")
    table.commit(table.add(pa.table({"a": [1], "col-old": [2]})))
    assert read_table(table.root).to_pylist() == [{"a": None}]


def test_partition_values_and_statistics_are_keyed_by_physical_name(table: Any) -> None:
    fields = [_mapped("p", "string", 1), _mapped("v", "long", 2)]
    _create(table, fields, "name", partition=["p"])
    for value, text in ((1, "x"), (2, "y")):
        stats = {
            "numRecords": 1,
            "minValues": {"col-2": value, "v": 100},
            "maxValues": {"col-2": value, "v": 100},
            "nullCount": {"col-2": 0},
        }
        rows = pa.table({"col-2": [value]})
        table.commit(table.add(rows, partitionValues={"col-1": text}, stats=json.dumps(stats)))
    assert read_table(table.root, filter="v = 1").to_pylist() == [{"p": "x", "v": 1}]
    assert read_table(table.root, filter="p = 'y'").to_pylist() == [{"p": "y", "v": 2}]


def test_names_with_dots_are_names(table: Any) -> None:
    nested = {"type": "struct", "fields": [_mapped("c", "long", 3, "b")]}
    _create(table, [_mapped("a", "long", 1, "a.b"), _mapped("s", nested, 2, "a")], "name")
    table.commit(table.add(pa.table({"a.b": [1], "a": [{"b": 2}]})))
    assert read_table(table.root, columns=["a"]).to_pylist() == [{"a": 1}]
    assert read_table(table.root, columns=["s"]).to_pylist() == [{"s": {"c": 2}}]


@pytest.mark.parametrize("mode", [None, "none"])
def test_annotations_without_a_mode_have_no_effect(table: Any, mode: str | None) -> None:
    configuration = {} if mode is None else {"delta.columnMapping.mode": mode}
    table.create([_mapped("a", "long", 1)], features=["columnMapping"], configuration=configuration)
    table.commit(table.add(pa.table({"a": [1], "col-1": [2]})))
    assert read_table(table.root).to_pylist() == [{"a": 1}]


def test_the_mode_has_no_effect_without_the_feature(table: Any) -> None:
    table.create([_mapped("a", "long", 1)], configuration={"delta.columnMapping.mode": "name"})
    table.commit(table.add(pa.table({"a": [1], "col-1": [2]})))
    assert read_table(table.root).to_pylist() == [{"a": 1}]


def _without(key: str) -> dict[str, Any]:
    column = _mapped("a", "long", 1)
    del column["metadata"][key]
    return column


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ([_mapped("a", "long", 1)], "foo"),
        ([_without("delta.columnMapping.id")], "name"),
        ([_without("delta.columnMapping.physicalName")], "id"),
        ([_mapped("a", "long", 1), _mapped("b", "long", 1)], "id"),
        ([_mapped("a", "long", 1, "x"), _mapped("b", "long", 2, "x")], "name"),
        ([_mapped("a", "long", 2**31)], "name"),
        ([_mapped("a", "long", 1, 7)], "name"),
    ],
)
def test_annotations_that_cannot_be_used_are_refused(
    table: Any, fields: list[Any], mode: str
) -> None:
    _create(table, fields, mode)
    with pytest.raises(InvalidColumnMapping):
        read_table(table.root)
