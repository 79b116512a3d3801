"""Checkpoints of every spec and naming scheme, written from a :class:`LogState`.

Covers "Checkpoints", "Checkpoint Specs", "Checkpoint Naming Scheme", "Sidecar Files" and
"Checkpoint Schema". The statistics struct counts nulls in ``nullCount``, as the JSON statistics
do; the sample in the text says ``nullCounts``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Context as DecimalContext
from decimal import Decimal as DecimalValue
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa

from generators.materialise.data.data_files import FileLayout, write_parquet
from generators.materialise.data.spark_hash import murmur3_text
from generators.materialise.log.files import (
    LOG_DIRECTORY,
    SIDECAR_DIRECTORY,
    classic_checkpoint_name,
    json_text,
    part_name,
    set_modification_time,
    uuid_checkpoint_name,
)
from generators.materialise.log.state import LogState, dv_unique_id
from generators.oracle.delta_schema import Decimal, Primitive, Struct, arrow_type, from_json

_DECIMAL_CONTEXT: Final = DecimalContext(prec=76)
"""Room for 38 digits on either side of the point."""

_TEXT_MAP: Final = pa.map_(pa.string(), pa.string())
_NAMES: Final = pa.list_(pa.field("element", pa.string()))


def _fields(names: str) -> dict[str, pa.DataType]:
    """Return the fields that a text names: ``name`` of strings, else ``name:type``."""
    pairs = [name.partition(":") for name in names.split()]
    nested = {"": pa.string(), "map": _TEXT_MAP, "names": _NAMES}
    return {name: nested.get(of) or pa.type_for_alias(of) for name, _, of in pairs}


_VECTOR: Final = pa.struct(
    _fields("storageType pathOrInlineDv offset:int32 sizeInBytes:int32 cardinality:int64")
)
_ROW_TRACKING: Final = _fields("baseRowId:int64 defaultRowCommitVersion:int64")

_FIXED: Final[Mapping[str, pa.DataType]] = {
    "txn": pa.struct(_fields("appId version:int64 lastUpdated:int64")),
    "remove": pa.struct(
        {
            **_fields("path deletionTimestamp:int64 dataChange:bool extendedFileMetadata:bool"),
            **_fields("partitionValues:map size:int64"),
            "deletionVector": _VECTOR,
            **_ROW_TRACKING,
        }
    ),
    "metaData": pa.struct(
        {
            **_fields("id name description"),
            "format": pa.struct(_fields("provider options:map")),
            **_fields("schemaString partitionColumns:names createdTime:int64 configuration:map"),
        }
    ),
    "protocol": pa.struct(
        _fields(
            "minReaderVersion:int32 minWriterVersion:int32 "
            "readerFeatures:names writerFeatures:names"
        )
    ),
    "domainMetadata": pa.struct(_fields("domain configuration removed:bool")),
    "checkpointMetadata": pa.struct(_fields("version:int64 tags:map")),
    "sidecar": pa.struct(_fields("path sizeInBytes:int64 modificationTime:int64 tags:map")),
}

_V1_COLUMNS: Final = ("txn", "add", "remove", "metaData", "protocol", "domainMetadata")
_V2_COLUMNS: Final = (*_V1_COLUMNS, "checkpointMetadata", "sidecar")
_FILE_COLUMNS: Final = ("add", "remove")

_UNPARSED: Final = frozenset({"boolean", "binary", "void", "variant"})


@dataclass(frozen=True, slots=True)
class CheckpointStyle:
    """What a checkpoint carries beyond what it must.

    Attributes:
        stats_json: ``add.stats`` (``delta.checkpoint.writeStatsAsJson``).
        stats_parsed: ``add.stats_parsed`` and ``add.partitionValues_parsed``
            (``delta.checkpoint.writeStatsAsStruct``).
        tombstones: whether removes are kept.
        row_group_rows: actions per row group; one group when ``None``.
        omit: action columns that the file lacks, all their rows being absent.
    """

    stats_json: bool = True
    stats_parsed: bool = False
    tombstones: bool = True
    row_group_rows: int | None = None
    omit: frozenset[str] = frozenset()


USUAL: Final = CheckpointStyle()


@dataclass(frozen=True, slots=True)
class Written:
    """What a checkpoint turned out to be, for the ``_last_checkpoint`` hint.

    Attributes:
        version: the version.
        files: the checkpoint files, sidecars last.
        actions: how many actions it holds (``size``), those of sidecars included.
        adds: how many of them are ``add``.
        bytes: the size of all files.
        parts: the number of parts of a multi-part checkpoint.
    """

    version: int
    files: tuple[Path, ...]
    actions: int
    adds: int
    bytes: int
    parts: int | None = None


_Rows: TypeAlias = Sequence[Mapping[str, Any]]


def _bounds_type(schema: Struct) -> pa.DataType:
    fields = []
    for column in schema:
        match column.type:
            case Struct():
                nested = _bounds_type(column.type)
                if nested.num_fields:
                    fields.append(pa.field(column.physical_name, nested))
            case Decimal():
                fields.append(pa.field(column.physical_name, arrow_type(column.type)))
            case Primitive(name) if name not in _UNPARSED:
                fields.append(pa.field(column.physical_name, arrow_type(column.type)))
            case _:
                continue
    return pa.struct(fields)


def _null_counts_type(schema: Struct) -> pa.DataType:
    return pa.struct(
        [
            pa.field(
                column.physical_name,
                _null_counts_type(column.type) if isinstance(column.type, Struct) else pa.int64(),
            )
            for column in schema
            if column.type not in (Primitive("void"), Primitive("variant"))
        ]
    )


def _stats_type(schema: Struct) -> pa.DataType:
    bounds = _bounds_type(schema)
    counts = _null_counts_type(schema)
    fields: dict[str, pa.DataType] = {"numRecords": pa.int64(), "tightBounds": pa.bool_()}
    if bounds.num_fields:
        fields |= {"minValues": bounds, "maxValues": bounds}
    if counts.num_fields:
        fields["nullCount"] = counts
    return pa.struct(fields)


def checkpoint_schema(
    schema: Struct,
    partition_columns: Sequence[str],
    style: CheckpointStyle,
    columns: Sequence[str] = _V1_COLUMNS,
) -> pa.Schema:
    """Return the Arrow schema of a checkpoint of a table.

    Args:
        schema: the table schema.
        partition_columns: logical names of the partition columns.
        style: what the checkpoint carries.
        columns: the action columns.
    """
    add: dict[str, pa.DataType] = {
        **_fields("path partitionValues:map size:int64 modificationTime:int64 dataChange:bool"),
        "tags": _TEXT_MAP,
        "deletionVector": _VECTOR,
        **_ROW_TRACKING,
        "clusteringProvider": pa.string(),
    }
    if style.stats_json:
        add["stats"] = pa.string()
    if style.stats_parsed:
        if partition_columns:
            parts = [schema[name] for name in partition_columns]
            values = {each.physical_name: arrow_type(each.type) for each in parts}
            add["partitionValues_parsed"] = pa.struct(values)
        add["stats_parsed"] = _stats_type(schema.without(*partition_columns))
    types = {**_FIXED, "add": pa.struct(add)}
    return pa.schema({name: types[name] for name in columns if name not in style.omit})


def _typed(  # noqa: PLR0911  one return per kind of type
    data_type: pa.DataType, value: Any
) -> Any:
    """Return a JSON statistic or partition text as the value of an Arrow type."""
    if value is None:
        return None
    if pa.types.is_struct(data_type):
        return {each.name: _typed(each.type, value.get(each.name)) for each in data_type}
    if pa.types.is_decimal(data_type):
        return DecimalValue(str(value)).quantize(
            DecimalValue(1).scaleb(-data_type.scale), context=_DECIMAL_CONTEXT
        )
    if pa.types.is_date(data_type):
        return date.fromisoformat(value)
    if pa.types.is_timestamp(data_type):
        instant = datetime.fromisoformat(value)
        return instant.replace(tzinfo=UTC) if data_type.tz and not instant.tzinfo else instant
    if pa.types.is_boolean(data_type):
        return value if isinstance(value, bool) else value == "true"
    if pa.types.is_integer(data_type):
        return int(value)
    if pa.types.is_floating(data_type):
        return float(value)
    if pa.types.is_binary(data_type):
        return value.encode("latin-1")
    return value


def _row(wrapped: Mapping[str, Any], target: pa.Schema) -> dict[str, Any]:
    ((kind, body),) = wrapped.items()
    if kind not in target.names:
        return {}
    shape = target.field(kind).type
    names = {each.name for each in shape}
    row = {name: value for name, value in body.items() if name in names}
    if kind == "add":
        row["dataChange"] = False
        if "stats_parsed" in names and body.get("stats"):
            parsed = json.loads(body["stats"], parse_float=DecimalValue)
            row["stats_parsed"] = _typed(shape.field("stats_parsed").type, parsed)
        if "partitionValues_parsed" in names:
            fields = shape.field("partitionValues_parsed").type
            row["partitionValues_parsed"] = {
                each.name: _typed(each.type, body["partitionValues"].get(each.name) or None)
                for each in fields
            }
    return {kind: row}


def checkpoint_table(actions: _Rows, target: pa.Schema) -> pa.Table:
    """Return actions as a table of one struct column per kind, one row per action."""
    return pa.Table.from_pylist([_row(each, target) for each in actions], schema=target)


def _table_schema(state: LogState) -> tuple[Struct, tuple[str, ...]]:
    if state.metadata is None:
        raise ValueError("a checkpoint needs a metaData action")
    schema = from_json(json.loads(state.metadata["schemaString"]))
    return schema, tuple(state.metadata["partitionColumns"])


def _file_actions(state: LogState, style: CheckpointStyle) -> list[dict[str, Any]]:
    return [each for each in state.file_actions() if style.tombstones or "add" in each]


def _write(path: Path, actions: _Rows, target: pa.Schema, style: CheckpointStyle) -> int:
    layout = FileLayout(row_group_rows=style.row_group_rows)
    return write_parquet(path, checkpoint_table(actions, target), layout)


def write_classic(root: Path, version: int, state: LogState, style: CheckpointStyle) -> Written:
    """Write a classic checkpoint of the V1 spec."""
    schema, partitions = _table_schema(state)
    actions = state.other_actions() + _file_actions(state, style)
    path = root / LOG_DIRECTORY / classic_checkpoint_name(version)
    size = _write(path, actions, checkpoint_schema(schema, partitions, style), style)
    return Written(version, (path,), len(actions), len(state.adds), size)


def write_multi_part(  # noqa: PLR0913  state, parts and style are independent of one another
    root: Path,
    version: int,
    state: LogState,
    parts: int,
    style: CheckpointStyle = USUAL,
    *,
    scattered: bool = False,
) -> Written:
    """Write a multi-part checkpoint, file actions spread by the hash that the text asks for.

    All others are in the first part, or ``scattered`` over the parts in turns, from the second on.
    """
    schema, partitions = _table_schema(state)
    features = (state.protocol or {}).get("writerFeatures") or ()
    spread: list[list[dict[str, Any]]] = [[] for _ in range(parts)]
    for turn, wrapped in enumerate(state.other_actions() + _file_actions(state, style), 1):
        ((kind, body),) = wrapped.items()
        place = turn % parts if scattered else 0
        if kind in _FILE_COLUMNS:
            digest = murmur3_text(body["path"], 42)
            identity = dv_unique_id(body.get("deletionVector"))
            if "deletionVectors" in features and identity is not None:
                digest = murmur3_text(identity, digest)
            place = digest % parts
        spread[place].append(wrapped)
    target = checkpoint_schema(schema, partitions, style)
    paths, size = [], 0
    for number, actions in enumerate(spread, start=1):
        path = root / LOG_DIRECTORY / part_name(version, number, parts)
        size += _write(path, actions, target, style)
        paths.append(path)
    count = sum(map(len, spread))
    return Written(version, tuple(paths), count, len(state.adds), size, parts)


def write_v2(  # noqa: PLR0913  naming, format and sidecars are independent of one another
    root: Path,
    version: int,
    state: LogState,
    *,
    identity: str | None,
    extension: str = "parquet",
    sidecars: Sequence[str] = (),
    modified: int = 0,
    style: CheckpointStyle = USUAL,
) -> Written:
    """Write a checkpoint of the V2 spec.

    Args:
        root: the table root.
        version: the version.
        state: the state at that version.
        identity: the UUID in the name; the classic name when ``None``.
        extension: ``json`` or ``parquet`` of the top-level file.
        sidecars: names of the sidecar files that take the file actions, in turns; where there are
            none, the top level keeps them.
        modified: modification time of sidecars in milliseconds since the epoch.
        style: what the checkpoint carries.
    """
    schema, partitions = _table_schema(state)
    files = _file_actions(state, style)
    top: list[dict[str, Any]] = [
        {"checkpointMetadata": {"version": version, "tags": {}}},
        *state.other_actions(),
    ]
    paths: list[Path] = []
    size = 0
    if sidecars:
        target = checkpoint_schema(schema, partitions, replace(style, omit=frozenset()))
        target = pa.schema([target.field(name) for name in _FILE_COLUMNS])
        for number, name in enumerate(sidecars):
            path = root / SIDECAR_DIRECTORY / name
            written = _write(path, files[number :: len(sidecars)], target, style)
            set_modification_time(path, modified)
            size += written
            paths.append(path)
            body = {"path": name, "sizeInBytes": written, "modificationTime": modified}
            top.append({"sidecar": {**body, "tags": {}}})
    else:
        top += files
    name = (
        classic_checkpoint_name(version)
        if identity is None
        else uuid_checkpoint_name(version, identity, extension)
    )
    path = root / LOG_DIRECTORY / name
    if extension == "json":
        text = "".join(json_text(_checkpointed(each)) + "\n" for each in top)
        path.write_bytes(text.encode("utf-8"))
        size += path.stat().st_size
    else:
        size += _write(path, top, checkpoint_schema(schema, partitions, style, _V2_COLUMNS), style)
    count = len(top) + (len(files) if sidecars else 0)
    return Written(version, (path, *paths), count, len(state.adds), size)


def _checkpointed(wrapped: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an action as a JSON checkpoint spells it: tombstones without stats and tags."""
    match wrapped:
        case {"remove": body}:
            kept = {name: value for name, value in body.items() if name not in ("stats", "tags")}
            return {"remove": kept}
        case {"add": body}:
            return {"add": {**body, "dataChange": False}}
        case _:
            return wrapped
