"""Write classic checkpoints (sections Checkpoints, Checkpoint Schema, Last Checkpoint File).

File actions stay in Arrow columns from the snapshot to the Parquet file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.file_actions import ADD_SCHEMA, REMOVE_SCHEMA, STRING_MAP
from reference_impl.last_checkpoint import json_checksum, parse_hint
from reference_impl.log_names import LAST_CHECKPOINT, LOG_DIR, checkpoint_name
from reference_impl.snapshot import Snapshot
from reference_impl.storage import Storage
from reference_impl.write.data_files import now
from reference_impl.write.intervals import DELETED_FILE_RETENTION, duration

__all__ = ["SMALL_TYPES", "live_tombstones", "point_at", "write_checkpoint"]

_NAMES: Final = pa.list_(pa.field("element", pa.string()))

SMALL_TYPES: Final[Mapping[str, pa.DataType]] = {
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
}
"""Column types of the actions that are not file actions."""

_ROW_GROUP_ROWS: Final = 1 << 17
_REMOVE_LEFT_OUT: Final = frozenset({"stats", "tags"})
"""What tombstones do not have in the checkpoint schema."""


def live_tombstones(snapshot: Snapshot, moment: int, *, kept_since: int | None = None) -> pa.Table:
    """Give the tombstones that have not expired at a time in ms since the epoch.

    One without a timestamp is kept: its age is not known from here. ``kept_since`` stands for
    the table's own retention: the time from which on removed files are kept.
    """
    removes = snapshot.tombstones()
    limit = kept_since
    if limit is None:
        limit = moment - duration(snapshot.metadata.configuration, DELETED_FILE_RETENTION)
    kept = pc.greater_equal(removes.column("deletionTimestamp"), limit)
    return removes.filter(pc.fill_null(kept, True))  # noqa: FBT003  a value


def write_checkpoint(snapshot: Snapshot) -> None:
    """Write a classic checkpoint of a version, and point the hint at it.

    Raises:
        InvalidTableError: the file actions of the version break the protocol.
        OSError: the storage failed; the table reads as before.

    """
    storage, version = snapshot.storage, snapshot.version
    adds, removes = snapshot.adds(), live_tombstones(snapshot, now())
    position = adds.schema.get_field_index("dataChange")
    adds = adds.set_column(
        position, ADD_SCHEMA.field(position), pa.repeat(pa.scalar(value=False), adds.num_rows)
    )
    small = dict(_small_actions(snapshot))
    columns: dict[str, pa.StructArray | list[pa.StructArray]] = {
        **small,
        "add": _structs(adds),
        "remove": _structs(
            removes.select([f.name for f in REMOVE_SCHEMA if f.name not in _REMOVE_LEFT_OUT])
        ),
    }
    sink = pa.BufferOutputStream()
    table = _stack(columns)
    pq.write_table(table, sink, row_group_size=_ROW_GROUP_ROWS, store_schema=False)
    data = sink.getvalue()
    name = checkpoint_name(version)
    storage.put(f"{LOG_DIR}/{name}", data.to_pybytes())
    point_at(
        storage,
        {
            "version": version,
            "size": table.num_rows,
            "sizeInBytes": data.size,
            "numOfAddFiles": adds.num_rows,
        },
    )


def point_at(storage: Storage, document: Mapping[str, Any]) -> None:
    """Write the hint, unless the one that is there points at a later version."""
    path = f"{LOG_DIR}/{LAST_CHECKPOINT}"
    try:
        held = parse_hint(storage.get(path))
    except FileNotFoundError:
        held = None
    if held is not None and held.version > document["version"]:
        return
    # The checksum goes over the spelling of numbers, which only the text has.
    unsigned = json.dumps(document)
    checksum = json_checksum(json.loads(unsigned))
    storage.put(path, json.dumps({**document, "checksum": checksum}).encode())


def _small_actions(snapshot: Snapshot) -> Iterator[tuple[str, pa.StructArray]]:
    actions = {
        "protocol": [snapshot.protocol],
        "metaData": [snapshot.metadata],
        "txn": list(snapshot.txns.values()),
        "domainMetadata": list(snapshot.domain_metadata.values()),
    }
    for name, values in actions.items():
        rows = [value.to_wire() for value in values]  # type: ignore[attr-defined]
        yield name, pa.array(rows, SMALL_TYPES[name])


def _structs(actions: pa.Table) -> list[pa.StructArray]:
    fields = [
        f.with_nullable(nullable=True) for f in actions.schema
    ]  # a row of another action has none
    return [
        pa.StructArray.from_arrays(batch.columns, fields=fields) for batch in actions.to_batches()
    ] or [pa.array([], pa.struct(fields))]


def _stack(columns: Mapping[str, Any]) -> pa.Table:
    """Put actions under each other: in every row one column has a value."""
    blocks = {name: v if isinstance(v, list) else [v] for name, v in columns.items()}
    lengths = [len(part) for parts in blocks.values() for part in parts]
    stacked = []
    at = 0
    for parts in blocks.values():
        of = parts[0].type
        mine = range(at, at + len(parts))
        stacked.append(
            pa.chunked_array(
                [
                    parts[number - at] if number in mine else pa.nulls(length, of)
                    for number, length in enumerate(lengths)
                ],
                of,
            )
        )
        at += len(parts)
    return pa.Table.from_arrays(stacked, names=list(blocks))
