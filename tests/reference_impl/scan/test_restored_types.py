"""A column is what the file says, whatever a schema of Arrow's own in the footer makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.audit import audit
from generators.materialise.data.arrow_rows import library_footer
from reference_impl import Table, read_table

Json = dict[str, Any]
LONG: Json = {"type": "array", "elementType": "long", "containsNull": True}
PARTS: Json = {
    "type": "struct",
    "fields": [{"name": "d", "type": "long", "nullable": True, "metadata": {}}],
}
TEXTS: Json = {**LONG, "elementType": "string"}


def element(of: pa.DataType) -> pa.Field:
    return pa.field("element", of)


def lists(of: pa.DataType, *rows: Any) -> pa.Array:
    return pa.array(rows, pa.list_(element(of)))


NUMBERS = pa.array([1, 2, 3], pa.int64())
WORDS = pa.array(["a", None, "c"])
PAIRS = lists(pa.int64(), [1, 2], [3, 4], [5, None])
GAPS = lists(pa.int64(), [1], None, [None])
STRUCTS = pa.array([{"d": 1}, None, {"d": None}], pa.struct({"d": pa.int64()}))
DURATION = pa.duration("us")

RESTORED: dict[str, tuple[Any, pa.Array, pa.DataType]] = {
    "duration": ("long", NUMBERS, pa.duration("ns")),
    "durations in a list": (LONG, GAPS, pa.list_(element(DURATION))),
    "durations in a struct": (PARTS, STRUCTS, pa.struct({"d": DURATION})),
    "durations in a view of structs": (
        {**LONG, "elementType": PARTS},
        lists(pa.struct({"d": pa.int64()}), [{"d": 1}], None, [None, {"d": 2}]),
        pa.list_view(element(pa.struct({"d": DURATION}))),
    ),
    "JSON": ("string", WORDS, pa.json_()),
    "JSON in a list": (TEXTS, lists(pa.string(), ["a"], [], None), pa.list_(element(pa.json_()))),
    "an opaque number": ("long", NUMBERS, pa.opaque(pa.int64(), "x", "y")),
    "a boolean of a byte": ("byte", pa.array([0, 1, None], pa.int8()), pa.bool8()),
    "a tensor": (LONG, PAIRS, pa.fixed_shape_tensor(pa.int64(), [2])),
    "a list of a fixed size": (LONG, PAIRS, pa.list_(element(pa.int64()), 2)),
    "a view of a list": (LONG, GAPS, pa.list_view(element(pa.int64()))),
    "a large view of a list": (LONG, GAPS, pa.large_list_view(element(pa.int64()))),
}


def write(folder: Path, kind: Any, rows: pa.Array, seen: pa.DataType) -> None:
    columns = {"id": pa.array([1, 2, 3], pa.int64()), "m": rows}
    table = pa.table(columns)
    schema = pa.schema({"id": pa.int64(), "m": seen})
    with pq.ParquetWriter(folder / "a.parquet", table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(library_footer(schema))
    assert pq.read_schema(folder / "a.parquet").field("m").type == seen
    fields = [
        {"name": name, "type": of, "nullable": True, "metadata": {}}
        for name, of in (("id", "long"), ("m", kind))
    ]
    least = min((each for each in rows.to_pylist() if isinstance(each, int | str)), default=None)
    stats = {"numRecords": 3, "nullCount": {"id": 0}}
    if least is not None:
        stats |= {"minValues": {"m": least}, "nullCount": {"id": 0, "m": rows.null_count}}
    metadata = {
        "id": "0d0e2f5c-3b63-4a51-9c9e-1f7b8a3b8c11",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }
    add = {
        "path": "a.parquet",
        "partitionValues": {},
        "size": (folder / "a.parquet").stat().st_size,
        "modificationTime": 1,
        "dataChange": True,
        "stats": json.dumps(stats),
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    actions = [{"protocol": protocol}, {"metaData": metadata}, {"add": add}]
    (folder / "_delta_log").mkdir()
    commit = folder / "_delta_log" / f"{0:020}.json"
    commit.write_text("".join(f"{json.dumps(each)}\n" for each in actions))


@pytest.mark.parametrize("name", RESTORED)
def test_what_arrow_restores_changes_no_value_and_is_no_finding(tmp_path: Path, name: str) -> None:
    kind, rows, seen = RESTORED[name]
    write(tmp_path, kind, rows, seen)
    assert read_table(tmp_path).column("m").to_pylist() == rows.to_pylist()
    assert read_table(tmp_path, filter="id > 1").column("m").to_pylist() == rows.to_pylist()[1:]
    assert audit(tmp_path) == []
    Table(tmp_path).delete("id = 2")
    assert read_table(tmp_path).column("m").to_pylist() == rows.to_pylist()[::2]
    assert audit(tmp_path) == []


Types = tuple[pa.DataType, pa.DataType, Callable[[pa.Field], pa.DataType]]
"""Of numbers, of texts, of lists of something."""

IN_CHECKPOINTS: dict[str, Types] = {
    "durations": (pa.duration("ms"), pa.string(), pa.list_),
    "JSON": (pa.int64(), pa.json_(), pa.list_),
    "views": (pa.int64(), pa.string_view(), pa.list_view),
    "large views of lists": (pa.int64(), pa.large_string(), pa.large_list_view),
    "opaque numbers": (pa.opaque(pa.int64(), "x", "y"), pa.string(), pa.large_list),
}


def _actions(numbers: pa.DataType, texts: pa.DataType, lists_of: Any) -> pa.Schema:
    pairs = pa.map_(texts, texts)
    file = {"path": texts, "partitionValues": pairs, "size": numbers, "modificationTime": numbers}
    metadata = {
        "id": texts,
        "format": pa.struct({"provider": texts, "options": pairs}),
        "schemaString": texts,
        "partitionColumns": lists_of(element(texts)),
        "configuration": pairs,
    }
    versions = {"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}
    actions = {
        "protocol": versions,
        "metaData": metadata,
        "txn": {"appId": texts, "version": numbers},
        "add": {**file, "dataChange": pa.bool_(), "stats": texts},
    }
    return pa.schema({name: pa.struct(fields) for name, fields in actions.items()})


@pytest.mark.parametrize("name", IN_CHECKPOINTS)
def test_a_checkpoint_is_what_its_file_says(tmp_path: Path, name: str) -> None:
    write(tmp_path, "long", NUMBERS, pa.int64())
    commit = tmp_path / "_delta_log" / f"{0:020}.json"
    rows = [json.loads(line) for line in commit.read_text().splitlines()]
    rows.append({"txn": {"appId": "a", "version": 7}})
    rows[2]["add"] |= {"partitionValues": [], "dataChange": False}
    rows[1]["metaData"] |= {"format": {"provider": "parquet", "options": []}, "configuration": []}
    plain = _actions(pa.int64(), pa.string(), pa.list_)
    seen = _actions(*IN_CHECKPOINTS[name])
    commit.rename(commit.with_name(f"{1:020}.json")).write_text("")
    target = tmp_path / "_delta_log" / f"{1:020}.checkpoint.parquet"
    with pq.ParquetWriter(target, plain, store_schema=False) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=plain))
        writer.add_key_value_metadata(library_footer(seen))
    assert read_table(tmp_path).column("m").to_pylist() == [1, 2, 3]
    assert [each for each in audit(tmp_path) if each.severity == "error"] == []
    Table(tmp_path).checkpoint()
    Table(tmp_path).delete("m = 2")
    assert read_table(tmp_path).column("m").to_pylist() == [1, 3]
