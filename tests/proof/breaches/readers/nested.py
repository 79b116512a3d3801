"""Wrong readers of nested fields, and of values that a narrower type held."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

from breaches.edits import parquet, statistics
from breaches.model import reader
from breaches.seams import rows, viewing


def _namesakes(stats: dict[str, Any]) -> None:
    """Give nested fields what the statistics have of a column of their name at the top."""

    def changed(node: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
        return {
            key: changed(value, top) if isinstance(value, dict) else top.get(key, value)
            for key, value in node.items()
        }

    for kind in ("minValues", "maxValues", "nullCount"):
        node = stats.get(kind, {})
        top = {key: value for key, value in node.items() if not isinstance(value, dict)}
        stats[kind] = changed(node, top)


def _narrowed(table: pa.Table) -> pa.Table:
    """Bring doubles through a float of 32 bits."""
    for at, column in enumerate(table.schema):
        if pa.types.is_float64(column.type):
            values = [
                None if v is None else struct.unpack("<f", struct.pack("<f", v))[0]
                for v in table.column(at).to_pylist()
            ]
            table = table.set_column(at, column, pa.chunked_array([values], column.type))
    return table


def _lost(value: Any) -> Any:
    """Take a struct without a field, below a list or map, for null."""
    if isinstance(value, list):
        return [None if _hollow(each) else _lost(each) for each in value]
    if isinstance(value, tuple):  # an entry of a map
        return (value[0], None if _hollow(value[1]) else _lost(value[1]))
    if isinstance(value, dict):
        return {key: _lost(each) for key, each in value.items()}
    return value


def _hollow(value: Any) -> bool:
    return isinstance(value, dict) and "b" in value and value["b"] is None


def _without_structs(table: pa.Table) -> pa.Table:
    for at, column in enumerate(table.schema):
        if pa.types.is_nested(column.type):
            values = [_lost(value) for value in table.column(at).to_pylist()]
            table = table.set_column(at, column, pa.chunked_array([values], column.type))
    return table


def _as_unshredded(table: pa.Table) -> pa.Table:
    """Leave of variants what is in no column of its own."""
    for at, column in enumerate(table.schema):
        if not pa.types.is_struct(column.type) or column.type.get_field_index("typed_value") < 0:
            continue
        held = table.column(at).combine_chunks()
        names = [field.name for field in column.type if field.name != "typed_value"]
        kept = pa.StructArray.from_arrays(
            [held.field(name) for name in names],
            fields=[column.type.field(name) for name in names],
            mask=held.is_null(),
        )
        table = table.set_column(at, column.with_type(kept.type), kept)
    return table


ROWS = (
    reader(
        "takes-bounds-of-namesakes",
        "SNAP-007",
        "actions",
        viewing(statistics(_namesakes)),
        "per-file-statistics/nested-namesakes/*",
    ),
    reader(
        "reads-unshredded-variants-alone",
        "SHRED-006",
        "files",
        viewing(parquet(_as_unshredded)),
        "variant-shredding/*",
    ),
    reader(
        "widens-through-floats",
        "TW-012",
        "answers",
        rows(_narrowed),
        "type-widening/ends-in-doubles/*",
    ),
    *(
        reader(
            f"loses-structs-that-lack-a-field{slug}",
            row,
            "answers",
            rows(_without_structs),
            f"*/nested-field-added{slug}/*",
        )
        for slug, row in (("", "SNAP-007"), ("-name", "CM-031"), ("-id", "CM-028"))
    ),
)
