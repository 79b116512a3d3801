"""Synthesise the logs of large tables, column by column, without data files.

One table of ``files`` live files in several physical shapes: a classic checkpoint with JSON
statistics and commits on top, the same as V2 with sidecars, as a multi-part checkpoint, and as
small JSON commits alone. All shapes hold the same files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in (("id", "long"), ("name", "string"), ("day", "date"))
        ],
    }
)
_METADATA = {
    "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": _SCHEMA,
    "partitionColumns": ["day"],
    "configuration": {},
    "createdTime": 1700000000000,
}
_STRINGS = pa.map_(pa.string(), pa.string())
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
_REMOVE = pa.struct(
    [("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())]
)
_METADATA_TYPE = pa.struct(
    [
        ("id", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", _STRINGS)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.field("element", pa.string()))),
        ("configuration", _STRINGS),
        ("createdTime", pa.int64()),
    ]
)
_COMMITS, _ADDS_PER_COMMIT = 20, 1000


def _days(ids: pa.Array) -> pa.Array:
    day = pc.add(pc.subtract(ids, pc.multiply(pc.divide(ids, 28), 28)), 1)
    text = pc.utf8_lpad(pc.cast(day, pa.string()), 2, "0")
    return pc.binary_join_element_wise("2024-01-", text, "")


def _adds(start: int, stop: int) -> pa.StructArray:
    ids = pa.array(range(start, stop), pa.int64())
    text = pc.utf8_lpad(pc.cast(ids, pa.string()), 12, "0")
    days = _days(ids)
    low, high = pc.multiply(ids, 100), pc.add(pc.multiply(ids, 100), 99)
    stats = pc.binary_join_element_wise(
        '{"numRecords":100,"minValues":{"id":',
        pc.cast(low, pa.string()),
        ',"name":"a',
        text,
        '"},"maxValues":{"id":',
        pc.cast(high, pa.string()),
        ',"name":"z',
        text,
        '"},"nullCount":{"id":0,"name":0}}',
        "",
    )
    path = pc.binary_join_element_wise("day=", days, "/part-", text, ".snappy.parquet", "")
    count = stop - start
    offsets = pa.array(range(count + 1), pa.int32())
    partition = pa.MapArray.from_arrays(offsets, pa.array(["day"] * count, pa.string()), days)
    return pa.StructArray.from_arrays(
        [
            path,
            partition,
            pc.add(ids, 1000),
            pc.add(ids, 1700000000000),
            pa.array([True] * count, pa.bool_()),
            stats,
        ],
        fields=list(_ADD),
    )


def _rows(adds: pa.StructArray, *, head: bool) -> pa.Table:
    lead = 2 if head else 0
    null = pa.nulls
    columns = {
        "protocol": pa.concat_arrays(
            [
                pa.array(
                    [{"minReaderVersion": 3, "minWriterVersion": 7, **_FEATURES}, None][:lead],
                    _PROTOCOL_TYPE,
                ),
                null(len(adds), _PROTOCOL_TYPE),
            ]
        ),
        "metaData": pa.concat_arrays(
            [
                pa.array([None, _checkpoint_metadata()][:lead], _METADATA_TYPE),
                null(len(adds), _METADATA_TYPE),
            ]
        ),
        "add": pa.concat_arrays([null(lead, _ADD), adds]),
        "remove": null(len(adds) + lead, _REMOVE),
    }
    return pa.table(columns)


_FEATURES = {"readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"]}
_PROTOCOL_TYPE = pa.struct(
    [
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("readerFeatures", pa.list_(pa.field("element", pa.string()))),
        ("writerFeatures", pa.list_(pa.field("element", pa.string()))),
    ]
)


def _checkpoint_metadata() -> dict[str, object]:
    return _METADATA | {"format": {"provider": "parquet", "options": []}, "configuration": []}


def _head() -> list[dict[str, object]]:
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **_FEATURES}
    return [{"protocol": protocol}, {"metaData": _METADATA}]


def _write_commit(log: Path, version: int, actions: Iterable[dict[str, object]]) -> None:
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (log / f"{version:020}.json").write_text(text)


def _add_actions(start: int, stop: int) -> Iterator[dict[str, object]]:
    for add in _adds(start, stop).to_pylist():
        yield {"add": add | {"partitionValues": dict(add["partitionValues"])}}


def _tail(log: Path, files: int) -> None:
    """Write twenty commits, each of which replaces a thousand files, or all of fewer."""
    count = min(_ADDS_PER_COMMIT, files)
    for commit in range(_COMMITS):
        start = files + commit * count
        gone = _adds(commit * count, (commit + 1) * count).field("path")
        removes: Iterable[dict[str, object]] = (
            {"remove": {"path": path, "deletionTimestamp": 1700000000000, "dataChange": True}}
            for path in gone.to_pylist()
        )
        _write_commit(log, 11 + commit, [*_add_actions(start, start + count), *removes])


def _hint(log: Path, size: int, parts: int | None = None) -> None:
    hint = {"version": 10, "size": size} | ({"parts": parts} if parts else {})
    (log / "_last_checkpoint").write_text(json.dumps(hint))


def _classic(log: Path, files: int) -> None:
    pq.write_table(_rows(_adds(0, files), head=True), log / f"{10:020}.checkpoint.parquet")
    _hint(log, files + 2)
    _tail(log, files)


def _parts(log: Path, files: int, parts: int = 10) -> None:
    bounds = [files * part // parts for part in range(parts + 1)]
    for part in range(parts):
        name = f"{10:020}.checkpoint.{part + 1:010}.{parts:010}.parquet"
        rows = _rows(_adds(bounds[part], bounds[part + 1]), head=part == 0)
        pq.write_table(rows, log / name)
    _hint(log, files + 2, parts)
    _tail(log, files)


def _sidecars(log: Path, files: int, sidecars: int = 8) -> None:
    (log / "_sidecars").mkdir()
    lines: list[dict[str, object]] = [{"checkpointMetadata": {"version": 10}}, *_head()]
    for number in range(sidecars):
        start, stop = files * number // sidecars, files * (number + 1) // sidecars
        path = log / "_sidecars" / f"{number:08}-0000-4000-8000-000000000000.parquet"
        table = pa.table({"add": _adds(start, stop), "remove": pa.nulls(stop - start, _REMOVE)})
        pq.write_table(table, path)
        sidecar = {
            "path": path.name,
            "sizeInBytes": path.stat().st_size,
            "modificationTime": 1700000000000,
        }
        lines.append({"sidecar": sidecar})
    name = f"{10:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
    (log / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    _hint(log, files + 11)
    _tail(log, files)


def _commits(log: Path, files: int, commits: int = 2000) -> None:
    bounds = [files * commit // commits for commit in range(commits + 1)]
    for commit in range(commits):
        head = _head() if commit == 0 else []
        _write_commit(log, commit, [*head, *_add_actions(bounds[commit], bounds[commit + 1])])


SHAPES = {"classic": _classic, "sidecars": _sidecars, "parts": _parts, "commits": _commits}
"""The physical shapes, by name; each writes into an empty log directory."""


def build(root: Path, shape: str, files: int) -> Path:
    """Write the log of a table of ``files`` files in ``shape`` below ``root``, once."""
    table = root / f"{shape}-{files}"
    if not (table / "done").exists():
        log = table / "_delta_log"
        log.mkdir(parents=True)
        SHAPES[shape](log, files)
        (table / "done").touch()
    return table
