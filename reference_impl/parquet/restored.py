"""Columns of a file in its own types, where Arrow restores others from a schema in the footer.

Implements "Checkpoint Schema" as far as Parquet types go. A library may leave a schema of its own
in the key-value metadata, which is no part of the format: what Arrow makes of it are views of texts
and lists, extension types, and durations where the file has numbers.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.types.arrow import with_children, with_fields


def as_stored(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without views, extension types and durations, at any depth."""
    columns = [stored(column) for column in batch.columns]
    if all(new is old for new, old in zip(columns, batch.columns, strict=True)):
        return batch
    fields = [f.with_type(c.type) for f, c in zip(batch.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, batch.schema.metadata))


def stored(values: pa.Array) -> pa.Array:  # noqa: PLR0911  one return per kind of type
    """Return values without the same; the values themselves where there is nothing to do."""
    of, types = values.type, pa.types
    if isinstance(of, pa.BaseExtensionType):
        return stored(values.storage)
    if types.is_duration(of):
        return values.cast(pa.int64())
    if types.is_string_view(of):
        return values.cast(pa.string())
    if types.is_binary_view(of):
        return values.cast(pa.binary())
    if types.is_list_view(of) or types.is_large_list_view(of):
        return stored(of_view(values))
    if types.is_struct(of):
        return _struct(values)
    if types.is_map(of):
        return _map(values)
    if types.is_list(of) or types.is_large_list(of):
        items = stored(values.values)
        if items.type == of.value_type:
            return values
        make = pa.list_ if types.is_list(of) else pa.large_list
        return with_children(values, make(of.value_field.with_type(items.type)), items)
    return values


def of_view(values: pa.Array) -> pa.ListArray:
    """Return the lists of a view; the cast of Arrow 26 gives offsets that are one too few."""
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(values), 0)).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    plain = pa.list_(values.type.value_field)
    return pa.ListArray.from_arrays(offsets, values.flatten(), plain, mask=values.is_null())


def _struct(values: pa.StructArray) -> pa.Array:
    fields = list(values.type)
    parts = [stored(values.field(at)) for at in range(len(fields))]
    if all(part.type == field.type for part, field in zip(parts, fields, strict=True)):
        return values
    fields = [f.with_type(part.type) for f, part in zip(fields, parts, strict=True)]
    return with_fields(values, parts, fields)


def _map(values: pa.MapArray) -> pa.Array:
    of, keys, items = values.type, stored(values.keys), stored(values.items)
    if keys.type == of.key_type and items.type == of.item_type:
        return values
    fields = [of.key_field.with_type(keys.type), of.item_field.with_type(items.type)]
    entries = pa.StructArray.from_arrays([keys, items], fields=fields)
    return with_children(values, pa.map_(*fields, of.keys_sorted), entries)
