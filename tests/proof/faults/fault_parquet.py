"""Edits of Parquet files: rows of checkpoints, columns of data files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fault_log import edit_body

TYPES = {
    "bool": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "nanoseconds": pa.timestamp("ns", tz="UTC"),
    "decimal": pa.decimal128(12, 3),
    "long map": pa.map_(pa.string(), pa.int64()),
    "text map": pa.map_(pa.string(), pa.string()),
    "strings": pa.list_(pa.string()),
    "longs": pa.list_(pa.int64()),
    "pair": pa.struct({"a": pa.int32(), "b": pa.string()}),
    "variant": pa.struct({"metadata": pa.binary(), "value": pa.binary()}),
    "shredded": pa.struct(
        {"metadata": pa.binary(), "value": pa.binary(), "typed_value": pa.int64()}
    ),
    "long value": pa.struct({"metadata": pa.binary(), "value": pa.int64()}),
}
"""Arrow types by the names that the data uses."""

_ID = b"PARQUET:field_id"


def _as_json(value: Any, of: pa.DataType) -> Any:
    """Bring a row to the form that the log has: maps as objects."""
    if value is None:
        return None
    if pa.types.is_map(of):
        return dict(value)
    if pa.types.is_struct(of):
        return {f.name: _as_json(value[f.name], f.type) for f in of}
    return value


def _as_arrow(value: Any, of: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(of):
        return list(value.items())
    if pa.types.is_struct(of):
        return {f.name: _as_arrow(value.get(f.name), f.type) for f in of}
    return str(value) if pa.types.is_string(of) else value


def _with_field(of: pa.DataType, path: list[str], kind: pa.DataType | None) -> pa.DataType:
    """Return a struct with one field more, of another type, or less for ``None``."""
    if not path:
        assert kind is not None
        return kind
    fields = {f.name: f.type for f in of}
    name = path[0]
    if len(path) == 1 and kind is None:
        del fields[name]
    else:
        fields[name] = _with_field(fields.get(name, pa.struct([])), path[1:], kind)
    return pa.struct(fields)


def change_rows(path: Path, action: str, number: int | None, how: Mapping[str, Any]) -> None:
    """Edit rows of a checkpoint or sidecar: one of an action, or every one for ``None``.

    ``types`` gives fields another type or takes them out, before rows are edited.
    """
    table = pq.read_table(path)
    rows = [
        {f.name: _as_json(row[f.name], f.type) for f in table.schema} for row in table.to_pylist()
    ]
    schema = {f.name: f.type for f in table.schema}
    for where, kind in how.get("types", {}).items():
        name, *inner = where.split("/")
        wanted = None if kind == "..." else TYPES[kind]
        if wanted is None and not inner:
            del schema[name]
        else:
            schema[name] = _with_field(schema.get(name, pa.struct([])), inner, wanted)
    changed: list[dict[str, Any]] = []
    seen = 0
    for row in rows:
        if action and row.get(action) is not None:
            seen += 1
            if number is None or seen - 1 == number:
                if how.get("delete"):
                    continue
                edit_body(row[action], how)
                changed.append(row)
                if "repeat" in how:
                    again = json.loads(json.dumps(row, default=str))
                    edit_body(again[action], how["repeat"])
                    changed.append(again)
                if "beside" in how:
                    row.update(how["beside"])
                continue
        changed.append(row)
    if action and not seen:
        raise LookupError(f"{path.name} has no {action}")
    changed += how.get("append", [])
    columns = {
        name: pa.array([_as_arrow(row.get(name), of) for row in changed], of)
        for name, of in schema.items()
    }
    pq.write_table(pa.table(columns), path, store_schema=False)


def _values(column: pa.Array, change: Mapping[str, Any]) -> pa.Array:
    wanted = TYPES[change["type"]] if "type" in change else column.type
    if "values" in change:
        pairs = pa.types.is_map(wanted)
        given = [[tuple(e) for e in v] if pairs and v else v for v in change["values"]]
        return pa.array(given, wanted)
    return column.cast(wanted, safe=False)


def change_columns(path: Path, how: Mapping[str, Any]) -> None:
    """Rewrite a data file: columns of other types, names, ids and values; some more or fewer."""
    table = pq.read_table(path)
    columns = {
        f.name: (table.column(f.name).combine_chunks(), dict(f.metadata or {}))
        for f in table.schema
    }
    renamed = {}
    for name, change in how.get("columns", {}).items():
        if change == "...":
            del columns[name]
            continue
        held, metadata = columns.get(name, (pa.nulls(len(table)), {}))
        if "id" in change:
            metadata = {} if change["id"] == "..." else {_ID: str(change["id"])}
        columns[name] = _values(held, change), metadata
        renamed[name] = change.get("rename", name)
    for name, (values, metadata) in columns.items() if "ids" in how else ():
        number = int(metadata[_ID]) + 100
        columns[name] = values, {} if how["ids"] == "drop" else {_ID: str(number)}
    names = how.get("order") or list(columns)
    renamed |= dict(zip(names, how.get("names", ()), strict=False))
    fields = [
        pa.field(renamed.get(name, name), columns[name][0].type, metadata=columns[name][1] or None)
        for name in names
    ]
    arrays = [columns[name][0] for name in names]
    made = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    if "rows" in how:
        made = made.slice(0, how["rows"])
    int96 = bool(how.get("int96"))
    pq.write_table(made, path, store_schema=False, use_deprecated_int96_timestamps=int96)
