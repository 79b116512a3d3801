"""Give back to columns the type names that an engine's own type system cannot distinguish.

Covers the "Schema Serialization Format" section, for engines with fewer types than Delta. Where
one engine type stands for two Delta types (text and bytes; an instant and a zone-less time),
the declared type of the table says which is meant. Only the label changes: no value does, and a
type that an engine can distinguish is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyarrow import types


def relabelled(table: pa.Table, declared: Mapping[str, pa.DataType]) -> pa.Table:
    """Relabel text as binary and instants as zone-less times where they are so declared.

    Args:
        table: rows of an engine whose strings are bytes and whose timestamps have no kind.
        declared: the Arrow types of the table's columns by name; others keep their type.

    Returns:
        The same values under the declared labels.
    """
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        wanted = declared.get(field.name)
        label = field.type if wanted is None else _label(field.type, wanted)
        columns.append(column if label == field.type else column.cast(label))
        fields.append(field.with_type(label))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _label(given: pa.DataType, declared: pa.DataType) -> pa.DataType:
    if types.is_string(given) and types.is_binary(declared):
        return pa.binary()
    if types.is_timestamp(given) and types.is_timestamp(declared) and declared.tz is None:
        return pa.timestamp(given.unit)
    if types.is_list(given) and types.is_list(declared):
        return pa.list_(given.value_field.with_type(_label(given.value_type, declared.value_type)))
    if types.is_map(given) and types.is_map(declared):
        return pa.map_(
            _label(given.key_type, declared.key_type), _label(given.item_type, declared.item_type)
        )
    if types.is_struct(given) and types.is_struct(declared):
        wanted = {field.name: field.type for field in declared}
        return pa.struct(
            [
                field.with_type(_label(field.type, wanted.get(field.name, field.type)))
                for field in given
            ]
        )
    return given
