"""Faults of partition values, deletion vectors, change files and timestamps."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from conformance.audit.grammar.partition_text import fault_of

Plant = Callable[[Any], Any]

WRONG: tuple[tuple[str, str, str], ...] = (
    ("PART-004", "integer", " 1"),
    ("PART-004", "integer", "1 "),
    ("PART-004", "integer", "1_000"),
    ("PART-004", "integer", "\u0661"),
    ("PART-004", "integer", "1.0"),
    ("PART-004", "integer", "1e3"),
    ("PART-004", "integer", "0x10"),
    ("PART-004", "byte", "128"),
    ("PART-004", "short", "-32769"),
    ("PART-004", "integer", "2147483648"),
    ("PART-004", "long", "9223372036854775808"),
    ("PART-004", "double", "1,5"),
    ("PART-004", "double", "1.5f"),
    ("PART-004", "double", "1_0.5"),
    ("PART-004", "float", "\u0663.\u0665"),
    ("PART-004", "decimal(4,2)", "1.505"),
    ("PART-004", "decimal(4,2)", "100"),
    ("PART-004", "decimal(4,2)", "NaN"),
    ("PART-004", "decimal(4,2)", "1_0"),
    ("PART-005", "date", "2020-02-30"),
    ("PART-005", "date", "2020-13-01"),
    ("PART-005", "date", "20200101"),
    ("PART-005", "date", "2020-01-01 00:00:00"),
    ("PART-005", "date", "2020-1-1"),
    ("PART-005", "date", "\u0662\u0660\u0662\u0660-01-01"),
    ("PART-006", "timestamp", "2020-01-01"),
    ("PART-006", "timestamp", "2020-01-01T10:00:00+02:00"),
    ("PART-006", "timestamp", "2020-01-01 24:00:00"),
    ("PART-006", "timestamp", "2020-01-01 00:00:00.1234567"),
    ("PART-006", "timestamp", "1577836800000000"),
    ("PART-011", "timestamp_ntz", "2020-01-01T00:00:00"),
    ("PART-011", "timestamp_ntz", "2020-01-01 00:00:00Z"),
    ("PART-011", "timestamp_ntz", "2020-01-01"),
    ("PART-013", "boolean", "True"),
    ("PART-013", "boolean", "TRUE"),
    ("PART-013", "boolean", "1"),
    ("PART-013", "boolean", "true "),
)
"""Requirement, type and a text that is none of it."""

FITTING: tuple[tuple[str, str], ...] = (
    ("string", " anything_1 "),
    ("binary", "\u0001\u00ff"),
    ("byte", "-128"),
    ("long", "-9223372036854775808"),
    ("integer", "+5"),
    ("integer", "007"),
    ("float", "1.5"),
    ("double", "-1.5E-10"),
    ("double", "NaN"),
    ("double", "-Infinity"),
    ("decimal(4,2)", "12.5"),
    ("decimal(4,2)", "12.500"),
    ("decimal(4,2)", "0"),
    ("decimal(4,2)", "-0.00"),
    ("decimal(38,0)", "9" * 38),
    ("decimal(38,38)", "0." + "9" * 38),
    ("decimal(10,0)", "1E+9"),
    ("date", "2020-02-29"),
    ("date", "0001-01-01"),
    ("date", "+12020-01-01"),
    ("timestamp", "2020-01-01 00:00:00"),
    ("timestamp", "2020-01-01 00:00:00.123456"),
    ("timestamp", "2020-01-01 00:00:00.1"),
    ("timestamp", "2020-01-01T00:00:00.123456Z"),
    ("timestamp", "2020-01-01T00:00:00"),
    ("timestamp_ntz", "2020-01-01 00:00:00"),
    ("timestamp_ntz", "2020-01-01 00:00:00.5"),
    ("boolean", "true"),
    ("boolean", "false"),
    ("date", ""),
)


@pytest.mark.parametrize(("of", "text"), FITTING)
def test_a_text_of_the_type_is_accepted(of: str, text: str) -> None:
    assert fault_of(text, of) is None


def _partitioned(lake: Any, of: str, text: str | None, **more: Any) -> None:
    column = lake.field("p", of, nullable=more.pop("nullable", True))
    metadata = lake.metadata(lake.field("id"), column, partition=["p"])
    lake.commit(lake.protocol("r:timestampNtz"), metadata)
    rows = pa.table({"id": [1]})
    lake.commit(lake.file("a.parquet", rows, partitionValues={"p": text}, **more))


def _counted(lake: Any, text: str | None, nulls: int, **stats: Any) -> None:
    known = {"numRecords": 1, "nullCount": {"p": nulls}, **stats}
    _partitioned(lake, "long", text, stats=json.dumps(known))


HEAD = struct.pack("<IQ", 1681511377, 1)


def _bitmap(*containers: tuple[int, list[int]]) -> bytes:
    """Spell a bitmap of array containers."""
    size = len(containers)
    keys = b"".join(struct.pack("<HH", key, len(values) - 1) for key, values in containers)
    at, offsets, data = 8 + 8 * size, b"", b""
    for _, values in containers:
        offsets += struct.pack("<I", at + len(data))
        data += b"".join(struct.pack("<H", value) for value in values)
    return struct.pack("<II", 12346, size) + keys + offsets + data


GOOD = HEAD + struct.pack("<I", 0) + _bitmap((0, [0]))


def _vector(lake: Any, payload: bytes = GOOD, **changes: Any) -> None:
    """Commit a file whose vector is given byte by byte."""
    frame = struct.pack(">I", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))
    (lake.root / "v.bin").write_bytes(b"\x01" + frame)
    descriptor = {
        "storageType": "p",
        "pathOrInlineDv": f"file://{lake.root}/v.bin",
        "offset": 1,
        "sizeInBytes": len(payload),
        "cardinality": 1,
    } | changes
    held = {key: value for key, value in descriptor.items() if value is not ...}
    lake.commit(lake.protocol("r:deletionVectors"), lake.metadata(enableDeletionVectors="true"))
    lake.commit(lake.file("a.parquet", deletionVector=held))


def _bucket(key: int, *containers: tuple[int, list[int]]) -> bytes:
    return struct.pack("<I", key) + _bitmap(*containers)


def _two(first: int, second: int) -> bytes:
    buckets = _bucket(first, (0, [0])) + _bucket(second, (0, [0]))
    return struct.pack("<IQ", 1681511377, 2) + buckets


INLINE = {"storageType": "i", "offset": ..., "sizeInBytes": 4}
UUID = {"storageType": "u", "offset": 1}

VECTORS: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "a UUID is short": ("DVDESC-002", GOOD, {**UUID, "pathOrInlineDv": "abc"}),
    "a UUID is no Z85": ("DVDESC-002 DVDESC-011", GOOD, {**UUID, "pathOrInlineDv": "~" * 20}),
    "a UUID is beyond four bytes": ("DVDESC-011", GOOD, {**UUID, "pathOrInlineDv": "#" * 20}),
    "a path has an escape of no text": (
        "DVDESC-006",
        GOOD,
        {"pathOrInlineDv": "file:///x%FF.bin"},
    ),
    "inline text is no Z85": ("DVDESC-004 DVDESC-011", GOOD, {**INLINE, "pathOrInlineDv": "abc"}),
    "an inline vector is short": (
        "DVDESC-009",
        GOOD,
        {**INLINE, "pathOrInlineDv": "00000", "sizeInBytes": 9},
    ),
    "buckets descend": ("DVFMT-004", _two(1, 0), {"cardinality": 2}),
    "a bucket comes twice": ("DVFMT-004", _two(0, 0), {"cardinality": 2}),
    "containers descend": (
        "DVFMT-004",
        HEAD + _bucket(0, (1, [0]), (0, [0])),
        {"cardinality": 2},
    ),
    "a key has its top bit set": ("DVFMT-006", HEAD + _bucket(1 << 31, (0, [0])), {}),
    "values descend": ("DVFMT-005", HEAD + _bucket(0, (0, [1, 0])), {"cardinality": 2}),
    "a value comes twice": ("DVFMT-005", HEAD + _bucket(0, (0, [1, 1])), {"cardinality": 2}),
    "a cookie is another": ("DVFMT-005", HEAD + struct.pack("<II", 0, 7), {}),
    "an offset leads elsewhere": (
        "DVFMT-005",
        GOOD[:28] + struct.pack("<I", 99) + GOOD[32:],
        {},
    ),
    "bytes follow": ("DVFMT-011", GOOD + b"\0", {}),
    "the bitmap is cut": ("DVFMT-011", GOOD[:-1], {}),
}


def _changed(lake: Any, **columns: Any) -> None:
    """Commit a change file with changes to its columns."""
    lake.commit(lake.protocol("changeDataFeed"), lake.metadata(enableChangeDataFeed="true"))
    rows = {"id": pa.array([1]), "name": pa.array(["a"]), "_change_type": pa.array(["insert"])}
    size = columns.pop("size", None)
    rows |= {name: values for name, values in columns.items() if values is not ...}
    held = {name: values for name, values in rows.items() if columns.get(name) is not ...}
    path = "_change_data/c.parquet"
    add = lake.file(path, pa.table(held))["add"]
    body = {"path": path, "partitionValues": {}, "size": size or add["size"], "dataChange": False}
    lake.commit(lake.file("c.parquet", pa.table({"id": [1], "name": ["a"]})), {"cdc": body})


_ICT = "inCommitTimestamp"


def _timed(lake: Any, *changes: dict[str, str], first: bool = False) -> None:
    """Turn in-commit timestamps on in version 1, or 0, and set metadata again after it."""
    right = {
        f"{_ICT}EnablementVersion": "1",
        f"{_ICT}EnablementTimestamp": "50",
        "enableInCommitTimestamps": "true",
    }
    if not first:
        lake.commit(lake.protocol("domainMetadata"), lake.metadata())
    for number, change in enumerate(({}, *changes)):
        held = {} if first and not number else right
        properties = {k: v for k, v in (held | change).items() if v}
        properties["enableInCommitTimestamps"] = "true"
        info = {"commitInfo": {_ICT: 50 + number}}
        protocol = [] if number else [lake.protocol("domainMetadata", _ICT)]
        lake.commit(info, *protocol, lake.metadata(**properties))


FAULTS: dict[str, tuple[set[str], Plant]] = {
    **{
        f"{text!r} is no {of}": (
            {requirement},
            lambda x, of=of, text=text: _partitioned(x, of, text),
        )
        for requirement, of, text in WRONG
    },
    **{
        name: (set(requirement.split()), lambda x, p=payload, c=changes: _vector(x, p, **c))
        for name, (requirement, payload, changes) in VECTORS.items()
    },
    "a required partition value is null": (
        {"SCH-025"},
        lambda x: _partitioned(x, "long", None, nullable=False),
    ),
    "a required partition value is empty": (
        {"SCH-025"},
        lambda x: _partitioned(x, "date", "", nullable=False),
    ),
    "a partition column counts nulls": (
        {"STAT-008"},
        lambda x: _partitioned(
            x, "long", "1", stats=json.dumps({"numRecords": 1, "nullCount": {"p": 1}})
        ),
    ),
    "a null partition column counts none": (
        {"STAT-008"},
        lambda x: _partitioned(
            x, "long", None, stats=json.dumps({"numRecords": 1, "nullCount": {"p": 0}})
        ),
    ),
    "a wide count of a partition column is all rows": (
        {"STAT-009"},
        lambda x: _counted(x, "1", 1, tightBounds=False),
    ),
    "a wide count of a null partition column is 0": (
        {"STAT-010"},
        lambda x: _counted(x, None, 0, tightBounds=False),
    ),
    "a change file has another size": ({"CDC-008"}, lambda x: _changed(x, size=7)),
    "a change file lacks a column": (
        {"CDFF-007", "CDC-001", "CDC-012"},
        lambda x: _changed(x, name=...),
    ),
    "a change file has a column of its own": (
        {"WCON-001"},
        lambda x: _changed(x, own=pa.array([1])),
    ),
    "a change file has another type": (
        {"WCON-005"},
        lambda x: _changed(x, id=pa.array(["1"])),
    ),
    "a kind of change is null": (
        {"CDFF-008"},
        lambda x: _changed(x, _change_type=pa.array([None], pa.string())),
    ),
    "a kind of change is a number": (
        {"CDFF-007"},
        lambda x: _changed(x, _change_type=pa.array([1])),
    ),
    "the enabling version changes": (
        {"ICT-010"},
        lambda x: _timed(x, {f"{_ICT}EnablementVersion": "2"}),
    ),
    "the enabling timestamp changes": (
        {"ICT-011"},
        lambda x: _timed(x, {f"{_ICT}EnablementTimestamp": "51"}),
    ),
    "the enabling version is lost": (
        {"ICT-010"},
        lambda x: _timed(x, {f"{_ICT}EnablementVersion": ""}),
    ),
    "the enabling version of a table that began so is another": (
        {"ICT-010"},
        lambda x: _timed(x, {f"{_ICT}EnablementTimestamp": "50"}, first=True),
    ),
    "a checksum is in a folder": (
        {"CRC-004"},
        lambda x: x.basic() and x.write(f"sums/{1:020d}.crc", "{}"),
    ),
    "a compaction is in a folder": (
        {"COMP-001"},
        lambda x: x.basic() and x.write(f"c/{0:020d}.{1:020d}.compacted.json", ""),
    ),
    "a new column has its own name": (
        {"CM-018"},
        lambda x: _columns(x, "q"),
    ),
}


def _columns(lake: Any, physical: str) -> None:
    """Add a column to a table that is mapped by name."""
    properties = {"columnMapping__mode": "name", "columnMapping__maxColumnId": "1"}
    lake.commit(lake.protocol("r:columnMapping"), lake.metadata(lake.column("id", 1), **properties))
    new = lake.column("q", 2)
    new["metadata"]["delta.columnMapping.physicalName"] = physical
    properties["columnMapping__maxColumnId"] = "2"
    lake.commit(lake.metadata(lake.column("id", 1), new, **properties))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fires_its_findings(name: str, fires: Any) -> None:
    expected, plant = FAULTS[name]
    fires(plant, expected)


RIGHT: dict[str, Plant] = {
    "a vector": _vector,
    "a partition of texts that is empty": lambda x: _partitioned(x, "string", "", nullable=False),
    "a change file": _changed,
    "timestamps that stay": lambda x: _timed(x, {}, {}),
    "timestamps from the beginning": lambda x: _timed(x, first=True),
    "a new column": lambda x: _columns(x, "col-5e2378cd-d103-5b86-a1be-770f1c91821a"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_clean(name: str, lake: Any) -> None:
    RIGHT[name](lake)
    assert lake.audit() == []


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_that_was_replaced_is_judged_as_well(name: str, lake: Any) -> None:
    requirement, payload, changes = VECTORS[name]
    _vector(lake, payload, **changes)
    live = {each.requirement for each in lake.audit()} - {"SNAP-004"}
    (add,) = (
        action["add"]
        for action in map(json.loads, (lake.log / f"{1:020}.json").read_text().splitlines())
    )
    old = add["deletionVector"]
    lake.commit(
        lake.remove("a.parquet", deletionVector=old),
        {"add": add | {"deletionVector": lake.vector([0])}},
    )
    assert set(requirement.split()) <= live <= {each.requirement for each in lake.audit()}


def test_a_vector_file_in_a_folder_with_a_percent_needs_its_escape(lake: Any) -> None:
    _vector(lake)
    folder = lake.root / "v%20dir"
    folder.mkdir()
    (lake.root / "v.bin").rename(folder / "v.bin")
    commit = lake.log / f"{1:020}.json"
    commit.write_text(commit.read_text().replace("/v.bin", "/v%20dir/v.bin"))
    assert {each.requirement for each in lake.audit()} == {"DVDESC-006"}
    commit.write_text(commit.read_text().replace("/v%20dir/", "/v%2520dir/"))
    assert lake.audit() == []


@pytest.mark.parametrize(("text", "nulls"), [("1", 7), (None, 7), ("1", 0), (None, 1)])
def test_a_wide_count_of_a_partition_column_may_say_nothing(
    text: str | None, nulls: int, lake: Any
) -> None:
    _counted(lake, text, nulls, tightBounds=False)
    assert lake.audit() == []
