"""Faults of file actions and of the files behind them fire exactly their findings."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

Plant = Callable[[Any], Any]


def _basic(lake: Any, *actions: Any) -> None:
    lake.basic().commit(*actions)


def _partitioned(lake: Any, of: str, values: dict[str, Any]) -> None:
    protocol = lake.protocol("r:timestampNtz")
    lake.commit(protocol, lake.metadata(lake.field("id"), lake.field("p", of), partition=["p"]))
    lake.commit(lake.file("a.parquet", pa.table({"id": [1]}), partitionValues=values))


def _mapped(lake: Any, add: Callable[[], Any], *, partition: bool = False) -> None:
    properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "2"}
    fields = (lake.column("id", 1), lake.column("p", 2, "string"))
    metadata = lake.metadata(*fields, partition=["p"] if partition else [], **properties)
    lake.commit(lake.protocol("r:columnMapping"), metadata)
    lake.commit(add())


def _mapped_by_id(lake: Any, **bounds: Any) -> None:
    """Commit a file whose names are not those of the schema, nor physical ones."""
    properties = {"columnMapping__mode": "id", "columnMapping__maxColumnId": "3"}
    inner = {"type": "struct", "fields": [lake.column("deep", 3)]}
    metadata = lake.metadata(lake.column("id", 1), lake.column("s", 2, inner), **properties)
    lake.commit(lake.protocol("r:columnMapping"), metadata)
    deep = pa.field("y", pa.int64(), metadata={"PARQUET:field_id": "3"})
    fields = [
        pa.field("c-3", pa.int64(), metadata={"PARQUET:field_id": "1"}),
        pa.field("x", pa.struct([deep]), metadata={"PARQUET:field_id": "2"}),
    ]
    rows = pa.table([pa.array([4, 7]), pa.array([{"y": 1}, {"y": None}])], pa.schema(fields))
    counts = bounds.pop("counted", {"c-3": bounds.get("nulls", 1)})
    stats = {"numRecords": 2, **{kind: {"c-1": value} for kind, value in bounds.items()}}
    stats["nullCount"] = {"c-1": 0, "c-2": counts}
    stats.pop("nulls", None)
    lake.commit(lake.file("a.parquet", rows, stats=json.dumps(stats)))


def _mapped_rows(*, number: int = 1, name: str = "c-1") -> pa.Table:
    stored = pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(number)})
    return pa.table([pa.array([1])], schema=pa.schema([stored]))


def _stats(lake: Any, text: Any, **later: str) -> None:
    text = text if isinstance(text, str) else json.dumps(text)
    lake.basic()
    fields = [lake.field("id"), lake.field("name", "string")]
    if later:
        fields += [lake.field(name, of) for name, of in later.items()]
        lake.commit(lake.metadata(*fields))
    lake.commit(lake.file("c.parquet", stats=text))


def _lacking(lake: Any, nulls: dict[str, Any]) -> None:
    """Commit a file without a field of a struct, whose statistics have wide bounds."""
    inner = {"type": "struct", "fields": [lake.field("a"), lake.field("b")]}
    lake.commit(lake.protocol("r:deletionVectors"), lake.metadata(lake.field("s", inner)))
    stats = {"numRecords": 2, "nullCount": nulls, "tightBounds": False}
    rows = pa.table({"s": [{"a": 1}, {"a": 2}]})
    lake.commit(lake.file("a.parquet", rows, stats=json.dumps(stats)))


def _vector(lake: Any, change: Callable[[dict[str, Any]], Any] | None = None, **file: Any) -> None:
    """Commit a file of two rows with a vector, changed after the fact."""
    protocol = lake.protocol("r:deletionVectors")
    lake.commit(protocol, lake.metadata(enableDeletionVectors="true"))
    descriptor = lake.vector([0])
    lake.commit(lake.file("a.parquet", **({"deletionVector": descriptor} | file)))
    if change is not None:
        change(descriptor)
        lake.write(
            f"{1:020d}.json",
            lake.lines([lake.file("a.parquet", **({"deletionVector": descriptor} | file))]),
        )


def _shared_vector(lake: Any) -> None:
    _vector(lake)
    lake.commit(lake.file("b.parquet", deletionVector=lake.vector([0])))


def _vector_bytes(descriptor: dict[str, Any], edit: Callable[[bytearray], Any]) -> None:
    path = Path(descriptor["pathOrInlineDv"].removeprefix("file://"))
    data = bytearray(path.read_bytes())
    edit(data)
    path.write_bytes(data)


def _flip(at: int) -> Callable[[dict[str, Any]], None]:
    def edit(data: bytearray) -> None:
        data[at] ^= 0xFF

    return lambda descriptor: _vector_bytes(descriptor, edit)


def _typed(lake: Any, of: str, column: Any, nullable: bool = True, **stats: Any) -> None:
    """Commit a file of one column ``v`` with statistics of it."""
    protocol = lake.protocol("r:timestampNtz", "r:deletionVectors")
    metadata = lake.metadata(lake.field("v", of, nullable=nullable), enableDeletionVectors="true")
    lake.commit(protocol, metadata)
    rows = pa.table({"v": column})
    known: dict[str, Any] = {"numRecords": rows.num_rows}
    for kind, value in stats.items():
        known[kind] = value if kind == "tightBounds" else {"v": value}
    lake.commit(lake.file("a.parquet", rows, stats=json.dumps(known)))


def _micro(*moments: datetime, zone: str | None = None) -> pa.Array:
    return pa.array(moments, pa.timestamp("us", zone))


T = datetime(2020, 1, 1, 0, 0, 0, 123456)  # noqa: DTZ001  a timestamp without zone
Z = T.replace(tzinfo=UTC)


def _in_another_store(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata())
    add = lake.file("b.parquet")
    add["add"]["path"] = "s3://bucket/b.parquet"
    lake.commit(add)


FAULTS: dict[str, tuple[set[str], Plant]] = {
    "a file is in a store that is not followed": (
        {"ADD-002"},
        _in_another_store,
    ),
    "a partition value is missing": (
        {"WCON-002", "ADD-005"},
        lambda x: _partitioned(x, "string", {}),
    ),
    "a partition value is excess": (
        {"ADD-005"},
        lambda x: _partitioned(x, "string", {"p": "a", "q": "b"}),
    ),
    "a partition value is keyed by its logical name": (
        {"CM-016", "WCON-002", "ADD-005"},
        lambda x: _mapped(
            x,
            lambda: x.file("a.parquet", _mapped_rows(), partitionValues={"p": "a"}),
            partition=True,
        ),
    ),
    "a number is none": ({"PART-004"}, lambda x: _partitioned(x, "integer", {"p": "a"})),
    "a decimal is none": ({"PART-004"}, lambda x: _partitioned(x, "decimal(5,2)", {"p": "a"})),
    "a date is none": ({"PART-005"}, lambda x: _partitioned(x, "date", {"p": "yesterday"})),
    "a timestamp is none": ({"PART-006"}, lambda x: _partitioned(x, "timestamp", {"p": "noon"})),
    "a local timestamp is none": (
        {"PART-011"},
        lambda x: _partitioned(x, "timestamp_ntz", {"p": "noon"}),
    ),
    "a boolean is none": ({"PART-013"}, lambda x: _partitioned(x, "boolean", {"p": "yes"})),
    "statistics are not JSON": ({"ADD-010"}, lambda x: _stats(x, "{")),
    "statistics hold NaN": ({"ADD-010"}, lambda x: _stats(x, '{"numRecords": NaN}')),
    "statistics have a wrong shape": ({"STAT-001"}, lambda x: _stats(x, {"numRecords": "2"})),
    "statistics name no column": (
        {"STAT-007"},
        lambda x: _stats(x, {"numRecords": 2, "nullCount": {"ghost": 0}}),
    ),
    "statistics are keyed by logical names": (
        {"CM-017"},
        lambda x: _mapped(
            x,
            lambda: x.file(
                "a.parquet",
                _mapped_rows(),
                stats='{"numRecords": 1, "nullCount": {"id": 0}}',
            ),
        ),
    ),
    "statistics are keyed by a logical name in a struct": (
        {"CM-013", "CM-017"},  # the names in the file are others as well
        lambda x: _mapped_by_id(x, counted={"deep": 1}),
    ),
    "a file with a vector has no row count": (
        {"DVDESC-022", "STAT-002"},
        lambda x: _vector(x, stats="{}"),
    ),
    "a vector deletes more rows than there are": (
        {"DVDESC-010"},
        lambda x: _vector(x, lambda d: d.update(cardinality=9)),
    ),
    "a live file is missing": (
        {"SNAP-004"},
        lambda x: _basic(x, x.file("c.parquet")) or (x.root / "c.parquet").unlink(),
    ),
    "a file has another size": ({"ADD-006"}, lambda x: _basic(x, x.file("c.parquet", size=1))),
    "a file is not Parquet": (
        {"META-012", "ADD-006"},
        lambda x: _basic(x, x.file("c.parquet")) or (x.root / "c.parquet").write_bytes(b"PAR1"),
    ),
    "a file is in a hidden directory": ({"DATA-001"}, lambda x: _basic(x, x.file("_x/c.parquet"))),
    "numRecords is wrong": ({"STAT-001"}, lambda x: _stats(x, {"numRecords": 3})),
    "a file has a column of its own": (
        {"WCON-001"},
        lambda x: _basic(x, x.file("c.parquet", pa.table({"id": [1], "own": [1]}))),
    ),
    "a file has another type": (
        {"WCON-005"},
        lambda x: _basic(x, x.file("c.parquet", pa.table({"id": ["text"]}))),
    ),
    "a mapped file has display names": (
        {"CM-013"},
        lambda x: _mapped(x, lambda: x.file("a.parquet", _mapped_rows(name="id"))),
    ),
    "a mapped file has a wrong field id": (
        {"CM-015"},
        lambda x: _mapped(x, lambda: x.file("a.parquet", _mapped_rows(number=7))),
    ),
    "a timestamp is stored without zone": (
        {"SCH-015"},
        lambda x: _typed(x, "timestamp", _micro(T)),
    ),
    "a local timestamp is stored with zone": (
        {"SCH-019"},
        lambda x: _typed(x, "timestamp_ntz", _micro(Z, zone="UTC")),
    ),
    "a null is where none may be": (
        {"SCH-025"},
        lambda x: _typed(x, "long", pa.array([1, None]), nullable=False),
    ),
    "a null count is that of no column of the file": (
        {"STAT-008"},
        lambda x: _stats(x, {"numRecords": 2, "nullCount": {"id": 0, "later": 0}}, later="string"),
    ),
    "a null count is that of no field of a struct": (
        {"STAT-010"},
        lambda x: _lacking(x, {"s": {"a": 0, "b": 0}}),
    ),
    "a null count is wrong": ({"STAT-008"}, lambda x: _typed(x, "long", [1, None], nullCount=0)),
    "a lower bound is too high in mode id": (
        {"CM-013", "STAT-012"},
        lambda x: _mapped_by_id(x, minValues=5),
    ),
    "an upper bound is too low in mode id": (
        {"CM-013", "STAT-012"},
        lambda x: _mapped_by_id(x, maxValues=6),
    ),
    "a nested nullCount is wrong in mode id": (
        {"CM-013", "STAT-008"},
        lambda x: _mapped_by_id(x, nulls=0),
    ),
    "a lower bound is too high": ({"STAT-012"}, lambda x: _typed(x, "long", [1, 5], minValues=2)),
    "an upper bound is too low": ({"STAT-012"}, lambda x: _typed(x, "long", [1, 5], maxValues=4)),
    "a wide bound does not bound": (
        {"STAT-013"},
        lambda x: _typed(x, "long", [1, 5], maxValues=4, tightBounds=False),
    ),
    "a tight bound is loose": ({"STAT-012"}, lambda x: _typed(x, "long", [1, 5], maxValues=9)),
    "a bound is no value of its type": (
        {"STAT-012"},
        lambda x: _typed(x, "date", [date(2020, 1, 1)], minValues="soon"),
    ),
    "a bound has another kind": ({"STAT-012"}, lambda x: _typed(x, "boolean", [True], minValues=1)),
    "a string bound is too low": (
        {"STAT-012"},
        lambda x: _typed(x, "string", ["b"], maxValues="a"),
    ),
    "a date bound is too high": (
        {"STAT-012"},
        lambda x: _typed(x, "date", [date(2020, 1, 1)], minValues="2020-01-02"),
    ),
    "a decimal bound is too low": (
        {"STAT-012"},
        lambda x: _typed(x, "decimal(3,2)", [Decimal("1.50")], maxValues=1.49),
    ),
    "a float bound is too low": (
        {"STAT-012"},
        lambda x: _typed(x, "float", pa.array([0.2], pa.float32()), maxValues=0.1),
    ),
    "a timestamp bound is a millisecond off": (
        {"STAT-012"},
        lambda x: _typed(
            x, "timestamp", _micro(Z, zone="UTC"), maxValues="2020-01-01T00:00:00.122Z"
        ),
    ),
    "a local timestamp bound is too high": (
        {"STAT-012"},
        lambda x: _typed(x, "timestamp_ntz", _micro(T), minValues="2020-01-01T00:00:00.124"),
    ),
    "two files share a vector": ({"DVFILE-003"}, _shared_vector),
    "a vector file is missing": (
        {"DVD-003"},
        lambda x: _vector(x, lambda d: Path(d["pathOrInlineDv"][7:]).unlink()),
    ),
    "a vector file has another version": ({"DVSTO-003"}, lambda x: _vector(x, _flip(0))),
    "a vector file has another size": ({"DVSTO-005"}, lambda x: _vector(x, _flip(4))),
    "a vector has another checksum": ({"DVSTO-007"}, lambda x: _vector(x, _flip(-1))),
    "a vector file is cut": (
        {"DVSTO-007"},
        lambda x: _vector(x, lambda d: _vector_bytes(d, lambda data: data.__delitem__(-1))),
    ),
    "a vector has another cardinality": (
        {"DVDESC-010"},
        lambda x: _vector(x, lambda d: d.update(cardinality=2)),
    ),
    "a vector marks a row that is not there": (
        {"DVFMT-001"},
        lambda x: _vector(x, deletionVector=x.vector([7])),
    ),
    "an inline vector has another magic": (
        {"DVDESC-005", "DVFMT-008"},
        lambda x: _vector(
            x,
            deletionVector={
                "storageType": "i",
                "pathOrInlineDv": "00000",
                "sizeInBytes": 4,
                "cardinality": 1,
            },
        ),
    ),
    "an inline vector has the native layout": (
        {"DVFMT-008"},
        lambda x: _vector(
            x,
            stats='{"numRecords": 30}',
            deletionVector={
                "storageType": "i",
                "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
                "sizeInBytes": 40,
                "cardinality": 6,
            },
            rows=pa.table({"id": list(range(30)), "name": ["x"] * 30}),
        ),
    ),
    "an inline vector has another size": (
        {"DVDESC-009"},
        lambda x: _vector(
            x,
            deletionVector={
                "storageType": "i",
                "pathOrInlineDv": "00000",
                "sizeInBytes": 44,
                "cardinality": 1,
            },
        ),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_finding_alone(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


GOOD: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "long": ("long", [1, 5, None], {"minValues": 1, "maxValues": 5, "nullCount": 1}),
    "boolean": ("boolean", [True, False], {"minValues": False, "maxValues": True}),
    "date": ("date", [date(2020, 1, 1)], {"minValues": "2020-01-01", "maxValues": "2020-01-01"}),
    "decimal": ("decimal(3,2)", [Decimal("1.50")], {"minValues": 1.5, "maxValues": 1.50}),
    "float": ("float", pa.array([0.1], pa.float32()), {"minValues": 0.1, "maxValues": 0.1}),
    "double with NaN": ("double", [float("nan"), 1.5], {"minValues": 1.5, "maxValues": 1.5}),
    "truncated string": ("string", ["abcdef"], {"minValues": "abc", "maxValues": "abd"}),
    "timestamp in milliseconds": (
        "timestamp",
        _micro(Z, zone="UTC"),
        {"minValues": "2020-01-01T00:00:00.123Z", "maxValues": "2020-01-01T01:00:00.123+01:00"},
    ),
    "local timestamp": (
        "timestamp_ntz",
        _micro(T),
        {"minValues": "2020-01-01T00:00:00.123456", "maxValues": "2020-01-01T00:00:00.123456"},
    ),
    "the end of time": (
        "timestamp_ntz",
        _micro(datetime(9999, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001  as T
        {"maxValues": "9999-12-31T23:59:59.999999"},
    ),
    "a year of five digits": (
        "timestamp_ntz",
        _micro(T),
        {"maxValues": "+48690-07-02T16:00:00.000"},
    ),
    "wide bounds": ("long", [1, 5], {"minValues": 0, "maxValues": 9, "tightBounds": False}),
    "only nulls": ("long", pa.array([None], pa.int64()), {"nullCount": 1}),
    "null bounds": ("long", [1], {"minValues": None, "maxValues": None}),
}


@pytest.mark.parametrize("name", GOOD)
def test_right_statistics_are_clean(name: str, lake: Any) -> None:
    of, values, stats = GOOD[name]
    _typed(lake, of, values, **stats)
    assert lake.audit() == []


def test_a_loose_tight_bound_is_a_warning(lake: Any) -> None:
    _typed(lake, "long", [1, 5], minValues=0)
    assert [finding.severity for finding in lake.audit()] == ["warning"]


def test_a_bound_of_a_julian_day_says_so(lake: Any) -> None:
    rows = pa.table({"v": [date(100, 2, 28)]})
    marked = rows.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    lake.commit(lake.protocol(), lake.metadata(lake.field("v", "date")))
    for name, table in (("a.parquet", rows), ("b.parquet", marked)):
        stats = {"numRecords": 1, "minValues": {"v": "0100-03-01"}}
        lake.commit(lake.file(name, table, stats=json.dumps(stats)))
    found = {f.place: "Julian" in f.hint for f in lake.audit() if f.severity == "error"}
    assert found == {"a.parquet": False, "b.parquet": True}


def test_a_removed_file_that_says_less_than_its_partition_is_a_warning(lake: Any) -> None:
    _partitioned(lake, "string", {"p": "a"})
    lake.commit(lake.remove("a.parquet", partitionValues={}))
    assert lake.audit() == []
    metadata = lake.metadata(lake.field("id"), lake.field("p"), lake.field("q"))
    metadata["metaData"]["partitionColumns"] = ["p", "q"]
    lake.commit(metadata)
    lake.commit(lake.remove("b.parquet", partitionValues={"p": "a"}))
    assert {found.severity for found in lake.audit()} == {"warning"}


def test_bounds_describe_the_rows_that_a_vector_leaves(lake: Any) -> None:
    protocol = lake.protocol("r:deletionVectors")
    lake.commit(protocol, lake.metadata(lake.field("id"), enableDeletionVectors="true"))
    stats = {"numRecords": 3, "minValues": {"id": 2}, "maxValues": {"id": 3}}
    rows = pa.table({"id": [1, 2, 3]})
    vector = lake.vector([0])
    lake.commit(lake.file("a.parquet", rows, deletionVector=vector, stats=json.dumps(stats)))
    assert lake.audit() == []


def test_a_bound_that_the_text_does_not_order_is_no_error(lake: Any) -> None:
    protocol = lake.protocol("r:deletionVectors")
    metadata = lake.metadata(lake.field("v", "double"), enableDeletionVectors="true")
    lake.commit(protocol, metadata)
    stats = {"numRecords": 3, "minValues": {"v": 1.0}, "maxValues": {"v": "NaN"}}
    rows = pa.table({"v": [1.0, 2.0, float("nan")]})
    vector = lake.vector([1])
    lake.commit(lake.file("a.parquet", rows, deletionVector=vector, stats=json.dumps(stats)))
    assert {found.severity for found in lake.audit()} <= {"warning"}


def test_nan_is_no_bound_of_numbers_alone(lake: Any) -> None:
    lake.commit(lake.protocol(), lake.metadata(lake.field("v", "double")))
    stats = {"numRecords": 3, "minValues": {"v": 1.0}, "maxValues": {"v": "NaN"}}
    stated = json.dumps({**stats, "tightBounds": True})
    for name, last in (("a.parquet", 3.0), ("b.parquet", float("nan"))):
        rows = pa.table({"v": [1.0, None, last]})
        lake.commit(lake.file(name, rows, stats=stated))
    found = {each.place: (each.requirement, each.severity) for each in lake.audit()}
    assert found == {"a.parquet": ("STAT-012", "error"), "b.parquet": ("STAT-012", "warning")}


def test_bounds_of_a_nested_column_are_checked_against_its_leaf(lake: Any) -> None:
    inner = {"type": "struct", "fields": [lake.field("x.y"), lake.field("z")]}
    lake.commit(lake.protocol(), lake.metadata(lake.field("s", inner)))
    rows = pa.table({"s": [{"x.y": 1, "z": 2}, None, {"x.y": None, "z": 7}]})
    stats = {"numRecords": 3, "maxValues": {"s": {"z": 6}}, "nullCount": {"s": {"x.y": 2, "z": 1}}}
    lake.commit(lake.file("a.parquet", rows, stats=json.dumps(stats)))
    (found,) = lake.audit()
    assert found.requirement == "STAT-012"
    assert "s.z" in found.message


def test_the_data_can_be_left_alone(lake: Any) -> None:
    _stats(lake, {"numRecords": 3})
    assert lake.audit(data=False) == []
