"""Ids in arrays and maps: each fault fires its finding, and right ids fire none."""

from __future__ import annotations

import json
from typing import Any

import pytest

KEY = "delta.columnMapping.nested.ids"
OLDER = "parquet.field.nested.ids"
LISTS = {
    "type": "array",
    "elementType": {"type": "array", "elementType": "long", "containsNull": True},
    "containsNull": True,
}
PAIRS = {
    "type": "map",
    "keyType": "long",
    "valueType": {"type": "struct", "fields": []},
    "valueContainsNull": True,
}
RIGHT = {"p1.element": 10, "p1.element.element": 11}


def lake_with(  # noqa: PLR0913  what a column of such a table is made of
    lake: Any,
    ids: dict[str, int],
    *,
    key: str = KEY,
    of: Any = LISTS,
    inner: Any = None,
    older: Any = None,
) -> None:
    """Write a table of one column with ids in it, under Iceberg compatibility V2."""
    if inner is not None:
        of = {**PAIRS, "valueType": {"type": "struct", "fields": [inner]}}
    metadata = {
        "delta.columnMapping.id": 1,
        "delta.columnMapping.physicalName": "p1",
        key: ids,
    } | ({} if older is None else {OLDER: older})
    column = {"name": "c", "type": of, "nullable": True, "metadata": metadata}
    action = lake.metadata(
        column,
        columnMapping__mode="name",
        columnMapping__maxColumnId="99",
        enableIcebergCompatV2="true",
    )
    assert json.loads(action["metaData"]["schemaString"])["fields"] == [column]
    lake.commit(lake.protocol("r:columnMapping", "icebergCompatV2"), action)


INNER = {
    "name": "s",
    "type": {"type": "array", "elementType": "long", "containsNull": True},
    "nullable": True,
    "metadata": {
        "delta.columnMapping.id": 2,
        "delta.columnMapping.physicalName": "p2",
        KEY: {"p2.element": 30},
    },
}
FAULTS: dict[str, tuple[set[str], dict[str, Any]]] = {
    "every part has an id": (set(), {"ids": RIGHT}),
    "a struct begins anew": (set(), {"ids": {"p1.key": 10, "p1.value": 11}, "inner": INNER}),
    "an inner element has no id": ({"ICE2-006"}, {"ids": {"p1.element": 10}}),
    "an id is no number": ({"ICE2-006", "ICE2-021"}, {"ids": {**RIGHT, "p1.element": "10"}}),
    "two parts share an id": ({"ICE2-007"}, {"ids": dict.fromkeys(RIGHT, 10)}),
    "a part has the id of its column": ({"ICE2-007"}, {"ids": {**RIGHT, "p1.element": 1}}),
    "ids are the same under both keys": (
        set(),
        {"ids": RIGHT, "older": {"c.element": 10, "c.element.element": 11}},
    ),
    "an id under the older key is that of its column": (
        {"ICE2-007"},
        {"ids": RIGHT, "older": {"c.element": 1, "c.element.element": 11}},
    ),
    "an id belongs to another column": ({"ICE2-008"}, {"ids": {**RIGHT, "p2.element": 12}}),
    "an id lies above the struct in between": (
        {"ICE2-008"},
        {"ids": {"p1.key": 10, "p1.value": 11, "p1.value.s.element": 12}, "inner": INNER},
    ),
    "ids are kept under the older key": (
        {"ICE2-021"},
        {"ids": {"c.element": 10, "c.element.element": 11}, "key": OLDER},
    ),
    "ids are kept by logical names": (
        {"ICE2-022"},
        {"ids": {"c.element": 10, "c.element.element": 11}},
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_finding_alone(name: str, fires: Any) -> None:
    expected, arguments = FAULTS[name]
    fires(lambda lake: lake_with(lake, **arguments), expected)
