"""Wrong readers of types: variants, shredded variants, void."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from breaches.edits import parquet
from breaches.model import How, reader
from breaches.seams import rows, values_of, viewing


def _void_as(change: Callable[[pa.Table, int], pa.Table]) -> How:
    def changed(table: pa.Table) -> pa.Table:
        for at in reversed(range(table.num_columns)):
            if pa.types.is_null(table.column(at).type):
                table = change(table, at)
        return table

    return rows(changed)


def _empty_text(table: pa.Table, at: int) -> pa.Table:
    return table.set_column(at, table.column_names[at], pa.array([""] * len(table)))


def _stored_variants(change: Callable[[Any], Any]) -> How:
    """Change shredded variants as they are stored."""

    def changed(table: pa.Table) -> pa.Table:
        if "v" not in table.column_names:
            return table
        column = table.column("v")
        held = [value and change(value) for value in column.to_pylist()]
        return table.set_column(1, table.schema.field("v"), pa.chunked_array([held], column.type))

    return viewing(parquet(changed))


def _no_missing_items(variant: dict[str, Any]) -> dict[str, Any]:
    for array in (variant.get("typed_value") or {}).values():
        if isinstance((array or {}).get("typed_value"), list):
            array["typed_value"] = [
                item
                for item in array["typed_value"]
                if any(each is not None for each in item.values())
            ]
    return variant


def _no_inner_rest(variant: dict[str, Any]) -> dict[str, Any]:
    for inner in (variant.get("typed_value") or {}).values():
        if isinstance((inner or {}).get("typed_value"), dict):
            inner["value"] = None
    return variant


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
        "reads-unshredded-variants-alone",
        "SHRED-006",
        viewing(parquet(_as_unshredded)),
        "variant-shredding/*",
    ),
    *(
        reader(f"gives-{slug}-for-void", "VOID-002", _void_as(change))
        for slug, change in (
            ("no-column", lambda table, at: table.remove_column(at)),
            ("empty-texts", _empty_text),
        )
    ),
    reader(
        "takes-null-variants-in-lists-for-nulls",
        "VAR-004",
        values_of("v", lambda of: [i and (None if i["value"] == b"\x00" else i) for i in of]),
        "variant-type/within-lists/*",
    ),
    reader(
        "drops-missing-items-of-variants",
        "SHRED-006",
        _stored_variants(_no_missing_items),
        "variant-shredding/arrays/*",
    ),
    reader(
        "drops-what-is-left-of-inner-objects",
        "SHRED-006",
        _stored_variants(_no_inner_rest),
        "variant-shredding/objects/*",
    ),
)
