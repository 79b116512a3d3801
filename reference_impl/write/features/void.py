"""Columns of type void: in the schema, and in no data file (upstream's section Void Type)."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from reference_impl.errors import SchemaMismatch
from reference_impl.types.arrow import arrow_field, with_fields
from reference_impl.types.model import VOID, Array, DataType, Field, Map, Struct, walk


def has_void(of: DataType) -> bool:
    """Return whether a type is void, or has void in it."""
    return any(inner == VOID for _, inner in walk(of))


def stored_columns(schema: Struct) -> tuple[Field, ...]:
    """Return the columns of data files: the schema without void types.

    Raises:
        SchemaMismatch: an array or a map has void in it, or a struct, the table's own too, has
            nothing else, or no field at all: no file can hold its rows.
    """
    # Obeys VOID-001.
    for column in schema.fields:
        if any(isinstance(inner, Struct) and not inner.fields for _, inner in walk(column.type)):
            raise SchemaMismatch(f"column {column.name} has a struct without fields in it")
    found = tuple(_stored(column, column.name) for column in schema.fields if column.type != VOID)
    if schema.fields and not found:
        raise SchemaMismatch(
            "every column is of type void, so that files would have none", requirement="VOID-005"
        )
    return found


def _stored(column: Field, place: str) -> Field:
    return replace(column, type=_without(column.type, place))


def _without(of: DataType, place: str) -> DataType:
    match of:
        case Struct(fields):
            kept = tuple(_stored(f, f"{place}.{f.name}") for f in fields if f.type != VOID)
            if fields and not kept:
                raise SchemaMismatch(
                    f"column {place} has only fields of type void", requirement="VOID-004"
                )
            return Struct(kept)
        case Array() | Map() if has_void(of):
            raise SchemaMismatch(
                f"column {place} is an array or a map with void in it", requirement="VOID-003"
            )
        case _:
            return of


def drop_void(values: pa.Array, of: DataType) -> pa.Array:
    """Return values of a type without the fields in it that are void."""
    if not isinstance(of, Struct):
        return values
    kept = [(at, column) for at, column in enumerate(of.fields) if column.type != VOID]
    children = [drop_void(values.field(at), column.type) for at, column in kept]
    fields = [
        arrow_field(column).with_type(child.type)
        for (_, column), child in zip(kept, children, strict=True)
    ]
    return with_fields(values, children, fields)
