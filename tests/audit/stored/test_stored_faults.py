"""Faults of what data files hold, against the schema: each fires its finding alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Plant = Callable[[Any], Any]
I32, I64 = pa.int32(), pa.int64()


def _array(of: Any = "long", *, nulls: bool = True) -> dict[str, Any]:
    return {"type": "array", "elementType": of, "containsNull": nulls}


def _map(key: Any = "string", value: Any = "long", *, nulls: bool = True) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": nulls}


def _struct(lake: Any, of: Any = "long", *, nullable: bool = True) -> dict[str, Any]:
    return {"type": "struct", "fields": [lake.field("x", of, nullable=nullable)]}


def _held(lake: Any, of: Any, stored: Any, **field: Any) -> None:
    """Commit a file whose column ``v`` is stored as given, and one more that is right."""
    declared = of(lake) if callable(of) else of
    features = ["r:timestampNtz", *field.pop("features", ())]
    nullable = field.pop("nullable", True)
    stats = field.pop("stats", None)
    column = lake.field("v", declared, nullable=nullable, **field)
    lake.commit(lake.protocol(*features), lake.metadata(lake.field("id"), column))
    rows = {"id": pa.array([1, 2])}
    if stored is not None:
        rows["v"] = stored
    more = {} if stats is None else {"stats": json.dumps({"numRecords": 2, **stats})}
    lake.commit(lake.file("a.parquet", pa.table(rows), **more))


def _pair(of: pa.DataType, *values: Any) -> pa.Array:
    return pa.array(values or (None, None), of)


def _changes(*pairs: tuple[str, str], path: str | None = None) -> dict[str, Any]:
    within = {} if path is None else {"fieldPath": path}
    return {"delta.typeChanges": [{"fromType": a, "toType": b, **within} for a, b in pairs]}


WIDENING: dict[str, Any] = {"features": ("r:typeWidening",)}

TYPES: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "a long is stored in 32 bits": ("WCON-005", "long", _pair(I32), {}),
    "an integer is stored in 64 bits": ("WCON-005", "integer", _pair(I64), {}),
    "a short is stored in 32 bits": ("PQ-004", "short", _pair(I32), {}),
    "a byte is stored in 32 bits": ("PQ-003", "byte", _pair(I32), {}),
    "a byte is stored in 16 bits": ("WCON-005", "byte", _pair(pa.int16()), {}),
    "a long is stored unsigned": ("WCON-005", "long", _pair(pa.uint64()), {}),
    "a double is stored as float": ("WCON-005", "double", _pair(pa.float32()), {}),
    "a float is stored as double": ("WCON-005", "float", _pair(pa.float64()), {}),
    "a double is stored as integer": ("WCON-005", "double", _pair(I32), {}),
    "a boolean is stored as integer": ("WCON-005", "boolean", _pair(pa.int8()), {}),
    "a date is stored as integer": ("WCON-005", "date", _pair(I32), {}),
    "a local timestamp is stored as date": ("WCON-005", "timestamp_ntz", _pair(pa.date32()), {}),
    "a timestamp is stored as long": ("WCON-005", "timestamp", _pair(I64), {}),
    "a binary is stored as text": ("WCON-005", "binary", _pair(pa.string()), {}),
    "a decimal has another scale": ("WCON-005", "decimal(9,2)", _pair(pa.decimal128(9, 3)), {}),
    "a decimal has less digits": ("WCON-005", "decimal(9,2)", _pair(pa.decimal128(7, 2)), {}),
    "a decimal has more digits": ("WCON-005", "decimal(9,2)", _pair(pa.decimal128(12, 2)), {}),
    "a decimal is stored as integer": ("WCON-005", "decimal(9,0)", _pair(I32), {}),
    "an element has another type": ("WCON-005", _array(), _pair(pa.list_(pa.string())), {}),
    "an element is narrower": ("WCON-005", _array(), _pair(pa.list_(I32)), {}),
    "a key has another type": ("WCON-005", _map(), _pair(pa.map_(I64, I64)), {}),
    "a value has another type": ("WCON-005", _map(), _pair(pa.map_(pa.string(), I32)), {}),
    "a field has another type": (
        "WCON-005",
        _struct,
        _pair(pa.struct({"x": pa.string()})),
        {},
    ),
    "a field in an array has another type": (
        "WCON-005",
        lambda lake: _array(_struct(lake)),
        _pair(pa.list_(pa.struct({"x": I32}))),
        {},
    ),
    "a struct is stored as array": ("WCON-005", _struct, _pair(pa.list_(I64)), {}),
    "an array is stored as struct": ("WCON-005", _array(), _pair(pa.struct({"x": I64})), {}),
    "a widening is not recorded": ("TW-006", "long", _pair(I32), WIDENING),
    "a widening of an element is not recorded": (
        "TW-006",
        _array(),
        _pair(pa.list_(I32)),
        WIDENING,
    ),
    "the first of two widenings is not recorded": (
        "TW-009",
        "long",
        _pair(pa.int16()),
        {**WIDENING, **_changes(("integer", "long"))},
    ),
    "the records have a gap": (
        "TW-009",
        "long",
        _pair(pa.int8()),
        {**WIDENING, **_changes(("byte", "short"), ("integer", "long"))},
    ),
    "a widening is recorded for another part": (
        "TW-006",
        _map("integer", "long"),
        _pair(pa.map_(I32, I32)),
        {**WIDENING, **_changes(("short", "integer"), path="key")},
    ),
    "a timestamp counts milliseconds": (
        "PQ-008",
        "timestamp",
        _pair(pa.timestamp("ms", "UTC")),
        {},
    ),
    "a local timestamp counts milliseconds": (
        "PQ-009",
        "timestamp_ntz",
        _pair(pa.timestamp("ms")),
        {},
    ),
    "a timestamp in an array has no zone": (
        "SCH-015",
        _array("timestamp"),
        _pair(pa.list_(pa.timestamp("us"))),
        {},
    ),
    "a text does not say that it is one": ("PQ-013", "string", _pair(pa.binary()), {}),
    "a void column is stored": ("VOID-001", "void", _pair(I64), {}),
    "a required column is absent": ("SCH-025", "long", None, {"nullable": False}),
    "a required field is absent": (
        "SCH-025",
        lambda lake: _struct(lake, nullable=False),
        _pair(pa.struct({"y": I64}), {"y": 1}, {"y": 2}),
        {},
    ),
    "a required column has a null": ("SCH-025", "long", _pair(I64, 1, None), {"nullable": False}),
    "a required array is null": ("SCH-025", _array(), _pair(pa.list_(I64)), {"nullable": False}),
    "a required field has a null": (
        "SCH-025",
        lambda lake: _struct(lake, nullable=False),
        _pair(pa.struct({"x": I64}), {"x": None}, None),
        {},
    ),
    "an element is null": (
        "SCH-031",
        _array(nulls=False),
        _pair(pa.list_(I64), [1, None], None),
        {},
    ),
    "an element of an element is null": (
        "SCH-031",
        _array(_array(nulls=False)),
        _pair(pa.list_(pa.list_(I64)), [[1], [None]], None),
        {},
    ),
    "a value is null": (
        "SCH-035",
        _map(nulls=False),
        _pair(pa.map_(pa.string(), I64), [("a", None)], None),
        {},
    ),
    "a required field in a map is null": (
        "SCH-025",
        lambda lake: _map(value=_struct(lake, nullable=False)),
        _pair(pa.map_(pa.string(), pa.struct({"x": I64})), [("a", {"x": None})], [("b", None)]),
        {},
    ),
    "an array counts other nulls": (
        "STAT-008",
        _array(),
        _pair(pa.list_(I64), [1], None),
        {"stats": {"nullCount": {"v": 0}}},
    ),
    "a map counts other nulls": (
        "STAT-008",
        _map(),
        _pair(pa.map_(pa.string(), I64), [("a", 1)], None),
        {"stats": {"nullCount": {"v": 2}}},
    ),
    "a struct is counted itself": (
        "STAT-007",
        _struct,
        _pair(pa.struct({"x": I64}), {"x": 1}, None),
        {"stats": {"nullCount": {"v": 1}}},
    ),
    "statistics have flat names": (
        "STAT-007",
        _struct,
        _pair(pa.struct({"x": I64}), {"x": 1}, None),
        {"stats": {"nullCount": {"v.x": 1}}},
    ),
    "statistics go below a leaf": (
        "STAT-007",
        "long",
        _pair(I64, 1, 2),
        {"stats": {"nullCount": {"v": {"x": 1}}}},
    ),
    "a bound of a boolean is text": (
        "STAT-012",
        "boolean",
        _pair(pa.bool_()),
        {"stats": {"minValues": {"v": "True"}}},
    ),
    "a bound of a long is text": (
        "STAT-012",
        "long",
        _pair(I64),
        {"stats": {"maxValues": {"v": "7"}}},
    ),
    "a bound of a long is a boolean": (
        "STAT-012",
        "long",
        _pair(I64),
        {"stats": {"maxValues": {"v": True}}},
    ),
    "a bound of a date is a number": (
        "STAT-012",
        "date",
        _pair(pa.date32()),
        {"stats": {"minValues": {"v": 18000}}},
    ),
}
"""What is wrong, to the requirement, the declared type, the stored values and more of the field."""


def _of_types(name: str) -> tuple[set[str], Plant]:
    requirement, of, stored, more = TYPES[name]
    other = "struct({" in name or "field is absent" in name  # and the file has another one
    expected = {requirement} | ({"WCON-001"} if other else set())
    return expected, lambda lake: _held(lake, of, stored, **dict(more))


def _by_id(lake: Any, *columns: tuple[str, Any, int | None]) -> None:
    """Commit a table of mode ``id`` from birth with a file of the given columns."""
    properties = {"columnMapping__mode": "id", "columnMapping__maxColumnId": "3"}
    inner = {"type": "struct", "fields": [lake.column("deep", 3)]}
    metadata = lake.metadata(lake.column("id", 1), lake.column("s", 2, inner), **properties)
    lake.commit(lake.protocol("r:columnMapping"), metadata)
    fields, arrays = [], []
    for name, values, number in columns:
        held = {} if number is None else {"PARQUET:field_id": str(number)}
        fields.append(pa.field(name, values.type, metadata=held))
        arrays.append(values)
    lake.commit(lake.file("a.parquet", pa.table(arrays, schema=pa.schema(fields))))


def _deep(number: int, of: pa.DataType = I64) -> pa.Array:
    field = pa.field("c-3", of, metadata={"PARQUET:field_id": str(number)})
    return pa.array([None], pa.struct([field]))


def _named(lake: Any, number: int | None, *, later: bool = False) -> None:
    """Commit a file to a table that is mapped by name from birth, or later on."""
    properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "1"}
    column = lake.column("c-1", 1)
    mapped = lake.metadata(column, **properties)
    held = {} if number is None else {"PARQUET:field_id": str(number)}
    rows = pa.table([pa.array([1])], schema=pa.schema([pa.field("c-1", I64, metadata=held)]))
    if later:
        lake.commit(lake.protocol("r:columnMapping"), lake.metadata(lake.field("c-1")))
        lake.commit(lake.file("old.parquet", rows))
        lake.commit(mapped)
    else:
        lake.commit(lake.protocol("r:columnMapping"), mapped)
        lake.commit(lake.file("a.parquet", rows))


def _iceberg(lake: Any, version: int, names: list[str], *, later: bool = False) -> None:
    properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "2"}
    active = {f"enableIcebergCompatV{version}": "true"}
    fields = (lake.column("id", 1), lake.column("p", 2, "string"))
    lake.commit(
        lake.protocol(f"icebergCompatV{version}", "r:columnMapping"),
        lake.metadata(*fields, partition=["p"], **properties, **({} if later else active)),
    )
    columns = {"c-1": pa.array([1]), "c-2": pa.array(["a"])}
    stored = [pa.field(n, columns[n].type, metadata={"PARQUET:field_id": n[2:]}) for n in names]
    rows = pa.table([columns[n] for n in names], schema=pa.schema(stored))
    lake.commit(lake.file("a.parquet", rows, partitionValues={"c-2": "a"}))
    if later:
        lake.commit(lake.metadata(*fields, partition=["p"], **properties, **active))


def _wide(lake: Any, nulls: int, values: list[int | None], deleted: list[int]) -> None:
    protocol = lake.protocol("r:deletionVectors")
    lake.commit(protocol, lake.metadata(lake.field("v"), enableDeletionVectors="true"))
    stats = {"numRecords": len(values), "tightBounds": False, "nullCount": {"v": nulls}}
    rows = pa.table({"v": pa.array(values, I64)})
    vector = lake.vector(deleted)
    lake.commit(lake.file("a.parquet", rows, deletionVector=vector, stats=json.dumps(stats)))


ID = ("x", pa.array([1]), 1)


def _materialised(lake: Any, of: str, stored: pa.Array) -> None:
    """Write a file that has the column of its partition as well."""
    fields = (lake.field("id"), lake.field("p", of))
    lake.commit(lake.protocol(), lake.metadata(*fields, partition=["p"]))
    rows = pa.table({"id": [1], "p": stored})
    lake.commit(lake.file("a.parquet", rows, partitionValues={"p": "1"}))


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "a partition column is stored as text": (
        {"WCON-005"},
        lambda x: _materialised(x, "long", pa.array(["1"])),
    ),
    "a partition column is stored in 32 bits": (
        {"WCON-005"},
        lambda x: _materialised(x, "long", pa.array([1], I32)),
    ),
    **{name: _of_types(name) for name in TYPES},
    "a column of mode id has another type": (
        {"CM-013", "WCON-005"},
        lambda x: _by_id(x, ("x", pa.array(["a"]), 1)),
    ),
    "a nested column of mode id has another type": (
        {"WCON-005", "WCON-001", "CM-013"},
        lambda x: _by_id(x, ID, ("c-2", _deep(3, I32), 2)),
    ),
    "a nested column has another id": (
        {"CM-015", "WCON-001"},
        lambda x: _by_name_nested(x, 7),
    ),
    "a file has no ids where mapping was there first": ({"CM-015"}, lambda x: _named(x, None)),
    "a new file lacks partition values": (
        {"ICE2-015"},
        lambda x: _iceberg(x, 2, ["c-1"]),
    ),
    "partition values come first": (
        {"ICE1-008"},
        lambda x: _iceberg(x, 1, ["c-2", "c-1"]),
    ),
    "no valid row is null, says a wide count": (
        {"STAT-010"},
        lambda x: _wide(x, 0, [1, None, None], [2]),
    ),
    "all valid rows are null, says a wide count": (
        {"STAT-009"},
        lambda x: _wide(x, 3, [1, None, None], [2]),
    ),
}


def _by_name_nested(lake: Any, number: int) -> None:
    properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "3"}
    inner = {"type": "struct", "fields": [lake.column("deep", 3)]}
    metadata = lake.metadata(lake.column("id", 1), lake.column("s", 2, inner), **properties)
    lake.commit(lake.protocol("r:columnMapping"), metadata)
    held = pa.field("c-2", _deep(number).type, metadata={"PARQUET:field_id": "2"})
    own = pa.field("own", I64)
    rows = pa.table([_deep(number), pa.array([1])], schema=pa.schema([held, own]))
    lake.commit(lake.file("a.parquet", rows))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_finding(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


RIGHT: dict[str, Plant] = {
    "a decimal": lambda x: _held(
        x, "decimal(9,2)", _pair(pa.decimal128(9, 2), Decimal("1.50"), None)
    ),
    "a chain of widenings": lambda x: _held(
        x,
        "long",
        _pair(pa.int8()),
        **WIDENING,
        **_changes(("byte", "short"), ("short", "integer"), ("integer", "long")),
    ),
    "the middle of a chain": lambda x: _held(
        x, "long", _pair(pa.int16()), **WIDENING, **_changes(("byte", "short"), ("short", "long"))
    ),
    "a widened element": lambda x: _held(
        x,
        _array(),
        _pair(pa.list_(I32)),
        **WIDENING,
        **_changes(("integer", "long"), path="element"),
    ),
    "bounds of a widened float": lambda x: _held(
        x,
        "double",
        _pair(pa.float32(), 4 / 3, None),
        stats={"minValues": {"v": 1.3333334}, "maxValues": {"v": 1.3333334}},
        **WIDENING,
        **_changes(("float", "double")),
    ),
    "a widened date": lambda x: _held(
        x, "timestamp_ntz", _pair(pa.date32()), **WIDENING, **_changes(("date", "timestamp_ntz"))
    ),
    "a null struct of required fields": lambda x: _held(
        x,
        lambda lake: _struct(lake, nullable=False),
        _pair(pa.struct({"x": I64}), None, {"x": 1}),
    ),
    "a null array without null elements": lambda x: _held(
        x, _array(nulls=False), _pair(pa.list_(I64), None, [1])
    ),
    "a null map without null values": lambda x: _held(
        x, _map(nulls=False), _pair(pa.map_(pa.string(), I64), None, [("a", 1)])
    ),
    "nulls of nested columns": lambda x: _held(
        x,
        _array(),
        _pair(pa.list_(I64), None, [1, None]),
        stats={"nullCount": {"v": 1}},
    ),
    "a partition column of its type": lambda x: _materialised(x, "long", pa.array([1])),
    "a count of a mapped file": lambda x: _by_id(x, ("c-1", pa.array([1]), 1)),
    "a wide count that says nothing": lambda x: _wide(x, 1, [1, None, None], [2]),
    "a wide count of deleted nulls": lambda x: _wide(x, 0, [1, 2, None], [2]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_fits_is_clean(name: str, lake: Any) -> None:
    RIGHT[name](lake)
    assert lake.audit() == []


def test_a_file_that_is_older_than_the_mapping_may_lack_ids(lake: Any) -> None:
    _named(lake, None, later=True)
    assert {found.severity for found in lake.audit()} == {"info"}


def test_a_file_that_is_older_than_the_compatibility_is_a_warning(lake: Any) -> None:
    _iceberg(lake, 2, ["c-1"], later=True)
    assert {found.severity for found in lake.audit()} == {"warning"}


def _typed_alone(lake: Any, **changes: Any) -> None:
    """Write a log that begins with a checkpoint, whose statistics are typed and no text."""
    fields = (lake.field("id"), lake.field("d", "date"), lake.field("t", "timestamp"))
    actions = [lake.protocol(), lake.metadata(*fields)]
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    values = {"id": [1, 2], "d": [date(2020, 1, 1), None], "t": [moment, moment]}
    add = lake.file("a.parquet", pa.table(values), stats=...)["add"]
    lake.version = 0
    path = lake.checkpoint(actions)
    low = {"id": 1, "d": date(2020, 1, 1), "t": moment}
    stats = {"numRecords": 2, "minValues": low, "maxValues": {**low, "id": 2}}
    stats |= {"nullCount": {"id": 0, "d": 1, "t": 0}} | changes
    body = add | {"stats_parsed": stats, "partitionValues": []}
    head = pq.read_table(path)
    kind = pa.array([body]).type
    at = kind.get_field_index("partitionValues")
    parts = [kind.field(n) for n in range(kind.num_fields)]
    parts[at] = pa.field("partitionValues", pa.map_(pa.string(), pa.string()))
    rows = pa.array([None] * head.num_rows + [body], pa.struct(parts))
    empty = pa.table(
        {name: pa.nulls(1, head.schema.field(name).type) for name in head.schema.names}
    )
    pq.write_table(pa.concat_tables([head, empty]).append_column("add", rows), path)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, set[str]()),
        ({"numRecords": 3}, {"STAT-001"}),
        ({"nullCount": {"id": 0, "d": 0, "t": 0}}, {"STAT-008"}),
        ({"maxValues": {"id": 1}}, {"STAT-012"}),
        ({"minValues": {"d": date(2020, 1, 2)}}, {"STAT-012"}),
    ],
)
def test_typed_statistics_are_checked_against_the_file(
    changes: dict[str, Any], expected: set[str], fires: Any
) -> None:
    fires(lambda lake: _typed_alone(lake, **changes), expected)
