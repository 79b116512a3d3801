"""The files of a checkpoint: actions as columns of Parquet files.

Implements "Checkpoint Schema", "V2 Spec", "Sidecar Files" and the split of "Multi-part checkpoint".
File actions stay in Arrow columns from the snapshot to the Parquet file.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.deletion_vectors import Descriptor
from reference_impl.errors import UnsupportedFeatures
from reference_impl.log.names import LOG_DIR, SIDECAR_DIR
from reference_impl.model.column_mapping import physical_name
from reference_impl.model.features import is_true, supported
from reference_impl.model.file_actions import ADD_SCHEMA, STRING_MAP, to_objects
from reference_impl.model.wire import json_text
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.snapshot.stats import nested_struct, parse_statistics, place_value
from reference_impl.snapshot.table_schema import partition_column
from reference_impl.write.clock import now
from reference_impl.write.files.orphans import cleanup_on_failure, publish_references
from reference_impl.write.files.parquet import refuse_deep
from reference_impl.write.statistics import indexed_leaves

_BITS: Final = 0xFFFFFFFF
_NAMES: Final = pa.list_(pa.field("element", pa.string()))
_ROW_GROUP_ROWS: Final = 1 << 17
_AS_JSON: Final = "delta.checkpoint.writeStatsAsJson"
_AS_STRUCT: Final = "delta.checkpoint.writeStatsAsStruct"
_SEED: Final = 42

_TYPES: Final[Mapping[str, pa.DataType]] = {
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": _NAMES,
            "writerFeatures": _NAMES,
        }
    ),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "name": pa.string(),
            "description": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": STRING_MAP}),
            "schemaString": pa.string(),
            "partitionColumns": _NAMES,
            "configuration": STRING_MAP,
            "createdTime": pa.int64(),
        }
    ),
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
    "domainMetadata": pa.struct(
        {"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}
    ),
    "checkpointMetadata": pa.struct({"version": pa.int64(), "tags": STRING_MAP}),
    "sidecar": pa.struct(
        {
            "path": pa.string(),
            "sizeInBytes": pa.int64(),
            "modificationTime": pa.int64(),
            "tags": STRING_MAP,
        }
    ),
}
"""Column types of the actions that are not file actions."""

Small = Mapping[str, Sequence[Any]]
Files = Mapping[str, pa.Table]


def checkpoint_adds(snapshot: Snapshot) -> pa.Table:
    """Return the live files with statistics in the forms that the table asks for."""
    # Obeys CKPT-006 CKC-004 CKC-015 CKC-018 CKC-020 CKC-021 CKC-023 RT-031.
    adds, configuration = snapshot.adds(), snapshot.metadata.configuration
    moved = pa.repeat(pa.scalar(value=False), adds.num_rows)
    adds = _replaced(adds, "dataChange", moved)
    table = snapshot.table
    if is_true(configuration, _AS_STRUCT):
        leaves = indexed_leaves(table, configuration)
        adds = adds.append_column("stats_parsed", _parsed(adds.column("stats"), leaves))
        if table.partition_columns:
            values = {
                physical_name(f, table.mode): partition_column(adds, f, table.mode)
                for f in table.partition_columns
            }
            adds = adds.append_column("partitionValues_parsed", nested_struct(values))
    if configuration.get(_AS_JSON, "true").lower() == "false":
        adds = _replaced(adds, "stats", pa.nulls(adds.num_rows, pa.string()))
    return adds


def _replaced(adds: pa.Table, name: str, values: pa.Array) -> pa.Table:
    at = adds.schema.get_field_index(name)
    return adds.set_column(at, ADD_SCHEMA.field(name), values)


def _parsed(texts: pa.ChunkedArray, leaves: Sequence[Any]) -> pa.StructArray:
    # Obeys CKC-016 CKSCH-012 CKSCH-013.
    found = parse_statistics(texts, leaves)
    trees: dict[str, dict[str, Any]] = {"minValues": {}, "maxValues": {}, "nullCount": {}}
    for leaf in leaves:
        column = found.columns[leaf.path]
        place_value(trees["nullCount"], leaf.physical, column.null_count)
        if leaf.has_bounds:
            place_value(trees["minValues"], leaf.physical, column.minimum)
            place_value(trees["maxValues"], leaf.physical, column.maximum)
    records = {"numRecords": found.records, "tightBounds": found.tight}
    return nested_struct({**records, **{name: tree for name, tree in trees.items() if tree}})


def put_parquet(snapshot: Snapshot, path: str, small: Small, files: Files) -> int:
    """Write one Parquet file of actions; returns its size in bytes."""
    data = _parquet(small, files)
    snapshot.storage.put(path, data)
    return len(data)


def _parquet(small: Small, files: Files) -> bytes:
    # Obeys CKC-026.
    columns: dict[str, list[pa.StructArray]] = {
        name: [pa.array(list(rows), _TYPES[name])] for name, rows in small.items()
    }
    columns |= {name: _structs(table) for name, table in files.items()}
    refuse_deep(each.type for parts in columns.values() for each in parts)
    sink = pa.BufferOutputStream()
    pq.write_table(_stacked(columns), sink, row_group_size=_ROW_GROUP_ROWS, store_schema=False)
    return bytes(sink.getvalue().to_pybytes())


def write_v2(
    snapshot: Snapshot, name: str, sidecars: int, small: Small, files: Files
) -> tuple[int, int]:
    """Write a checkpoint of the V2 spec; returns bytes and actions, sidecars and theirs included.

    Args:
        snapshot: the version.
        name: of the checkpoint's own file, in JSON or Parquet by its ending.
        sidecars: how many files take the file actions; 0 keeps them inside.
        small: kind to bodies of the other actions.
        files: kind to file actions.

    Raises:
        UnsupportedFeatures: the table does not support V2 checkpoints.
    """
    # Obeys CKPT-V2-003 CKPT-V2-004 CKPT-N-011.
    if "v2Checkpoint" not in supported(snapshot.protocol):
        raise UnsupportedFeatures(
            ("v2Checkpoint",),
            "the table does not support V2 checkpoints",
            hint="support the feature v2Checkpoint first",
        )
    top: dict[str, Sequence[Any]] = {"checkpointMetadata": [{"version": snapshot.version}], **small}
    in_json = name.endswith(".json")
    if in_json and any(each.endswith("_parsed") for each in files["add"].column_names):
        # JSON has not the types of parsed columns; the Parquet of a sidecar has.
        sidecars = max(sidecars, 1)
    path = f"{LOG_DIR}/{name}"
    created: list[str] = []
    size, inside = 0, files
    with cleanup_on_failure(snapshot.storage, created):
        if sidecars:
            top["sidecar"] = _write_sidecars(snapshot, sidecars, files, created)
            size, inside = sum(body["sizeInBytes"] for body in top["sidecar"]), {}
        data = "".join(_lines(top, inside)).encode() if in_json else _parquet(top, inside)
        with publish_references(created):
            snapshot.storage.put(path, data)
    actions = sum(part.num_rows for part in files.values()) + sum(map(len, top.values()))
    return size + len(data), actions


def _write_sidecars(
    snapshot: Snapshot, count: int, files: Files, created: list[str]
) -> list[dict[str, Any]]:
    """Spread file actions over sidecars; returns the bodies of the actions that name them."""
    # Obeys SIDE-001 SIDE-002 SIDE-003.
    bodies = []
    for number in range(count):
        name = f"{uuid.uuid4()}.parquet"
        part = {
            kind: table.take(pa.arange(number, table.num_rows, count))
            for kind, table in files.items()
        }
        created.append(f"{SIDECAR_DIR}/{name}")
        written = put_parquet(snapshot, created[-1], {}, part)
        bodies.append({"path": name, "sizeInBytes": written, "modificationTime": now()})
    return bodies


def _lines(small: Small, files: Files) -> Iterator[str]:
    for name, bodies in small.items():
        for body in bodies:
            yield json_text({name: body}) + "\n"
    for name, table in files.items():
        for body in to_objects(table):
            yield json_text({name: body}) + "\n"


def part_keys(actions: pa.Table) -> list[int]:
    """Return the hash by which a file action belongs to a part: of path, then of the vector."""
    # Obeys CKPT-N-003 CKPT-N-004 CKPT-N-005.
    paths = actions.column("path").to_pylist()
    vectors = actions.column("deletionVector").to_pylist()
    keys = []
    for path, vector in zip(paths, vectors, strict=True):
        key = hash_text(str(path), _SEED)
        if vector is not None:
            key = hash_text(Descriptor.from_wire(vector).unique_id, key)
        keys.append(key)
    return keys


def _structs(actions: pa.Table) -> list[pa.StructArray]:
    # A row of another action has none of the fields.
    # Obeys CKC-001 CKC-010.
    fields = [f.with_nullable(nullable=True) for f in actions.schema]
    return [
        pa.StructArray.from_arrays(batch.columns, fields=fields) for batch in actions.to_batches()
    ] or [pa.array([], pa.struct(fields))]


def _stacked(blocks: Mapping[str, list[pa.StructArray]]) -> pa.Table:
    """Concatenate actions: in every row one column has a value."""
    every = [(name, part) for name, parts in blocks.items() for part in parts]
    return pa.table(
        {
            name: pa.chunked_array(
                [part if of == name else pa.nulls(len(part), own.type) for of, part in every]
            )
            for name, (own, *_) in blocks.items()
        }
    )


def hash_text(text: str, seed: int) -> int:
    """Return the hash of a text's UTF-8 as a signed 32-bit integer.

    The hash of one text is the seed for the next where a key has several.
    """
    data = text.encode()
    state = seed & _BITS
    end = len(data) - len(data) % 4
    for at in range(0, end, 4):
        state = _mix(state, int.from_bytes(data[at : at + 4], "little"))
    for byte in data[end:]:
        state = _mix(state, byte | 0xFFFFFF00 if byte & 0x80 else byte)
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ (state >> shift)) * factor) & _BITS
    state ^= state >> 16
    return state - (1 << 32) if state & 0x80000000 else state


def _mix(state: int, word: int) -> int:
    word = (word * 0xCC9E2D51) & _BITS
    word = ((word << 15) | (word >> 17)) & _BITS
    state ^= (word * 0x1B873593) & _BITS
    state = ((state << 13) | (state >> 19)) & _BITS
    return (state * 5 + 0xE6546B64) & _BITS
