"""Wrong readers of columns whose type was widened."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

from breaches.edits import fields, schema, struct_fields
from breaches.model import How, reader
from breaches.seams import rows, values_of, viewing

_CHANGES = "delta.typeChanges"


def _without_changes(field: Any) -> None:
    field["metadata"].pop(_CHANGES, None)


def _last_change(field: Any) -> None:
    if _CHANGES in field["metadata"]:
        field["metadata"][_CHANGES] = field["metadata"][_CHANGES][-1:]


def _changes_at_the_top(tree: Any) -> None:
    """Pass over what is recorded of elements and of the fields of structs."""
    for column in tree["fields"]:
        for inner in struct_fields(column["type"]):
            _without_changes(inner)
        found = column["metadata"].get(_CHANGES, [])
        column["metadata"][_CHANGES] = [each for each in found if "fieldPath" not in each]


_WITHIN = {"c2": "l", "c3": "m", "c4": "s", "c1": "ls", "c0": "ms"}
"""Columns of widened types, and the holder of each that is overlooked."""


def _overlooked(name: str, holder: str) -> How:
    return values_of(name, lambda held: {**held, holder: None})


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


ROWS = (
    reader(
        "widens-through-floats",
        "TW-012",
        rows(_narrowed),
        "type-widening/ends-in-doubles/*",
    ),
    reader("reads-on-after-any-type-change", "TW-013", viewing(fields(_without_changes))),
    reader(
        "minds-type-changes-of-columns-alone",
        "TW-013",
        viewing(schema(_changes_at_the_top)),
        "type-widening/unsupported-change-*",
    ),
    reader(
        "minds-the-last-type-change-alone",
        "TW-013",
        viewing(fields(_last_change)),
        "type-widening/unsupported-change-first/*",
    ),
    *(
        reader(
            f"overlooks-widened-{name}-{holder}",
            "TW-012",
            _overlooked(name, holder),
            "type-widening/nested-types/*",
        )
        for name, holder in _WITHIN.items()
    ),
)
