"""Rows of Python values as Arrow tables in Delta's own types.

Covers "Delta Data Type to Parquet Type Mappings". A row maps logical column names to Python
values: ``int``, ``float``, ``Decimal``, ``bool``, ``str``, ``bytes``, ``date``, ``datetime``
(with zone for timestamp, without for timestamp_ntz), lists, maps as dictionaries or lists of
pairs, structs as dictionaries, ``None`` for null. A missing key is null.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from generators.oracle.delta_schema import (
    Array,
    DataType,
    Field,
    Map,
    Primitive,
    Struct,
    arrow_schema,
    arrow_type,
)

Row: TypeAlias = Mapping[str, Any]


def pairs_of(value: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a map value, which may be a dictionary or already a list of pairs."""
    return list(value.items()) if isinstance(value, Mapping) else [tuple(p) for p in value]


def _prepared(data_type: DataType, value: Any, *, physical: bool) -> Any:
    """Return a value in the shape that Arrow takes: nested names resolved, maps as pairs."""
    if value is None:
        return None
    match data_type:
        case Struct(fields):
            return {
                (each.physical_name if physical else each.name): _prepared(
                    each.type, value.get(each.name), physical=physical
                )
                for each in fields
            }
        case Array(element):
            return [_prepared(element, each, physical=physical) for each in value]
        case Map(key_type, value_type):
            return [
                (
                    _prepared(key_type, key, physical=physical),
                    _prepared(value_type, item, physical=physical),
                )
                for key, item in pairs_of(value)
            ]
        case _:
            return value


def arrow_column(column: Field, rows: Sequence[Row], *, physical: bool = False) -> pa.Array[Any]:
    """Return one column of the rows as an Arrow array.

    Raises:
        ValueError: a column that is not nullable has a null, or a value does not fit its type.
    """
    values = [row.get(column.name) for row in rows]
    if not column.nullable and any(value is None for value in values):
        raise ValueError(f"column {column.name!r} is not nullable and has a null")
    if column.type == Primitive("void"):
        return pa.nulls(len(rows))
    prepared = [_prepared(column.type, value, physical=physical) for value in values]
    try:
        return pa.array(prepared, type=arrow_type(column.type, physical=physical))
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {column.name!r}: {error}") from error


def arrow_table(schema: Struct, rows: Sequence[Row]) -> pa.Table:
    """Return rows by logical name as a table in the schema's order, types and nullability."""
    columns = [arrow_column(each, rows) for each in schema]
    if not columns:
        return pa.table({}).select([])
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def library_footer(schema: pa.Schema) -> dict[str, str]:
    """Return the entry of a footer by which Arrow takes columns for those of its own schema."""
    return {"ARROW:schema": b64encode(schema.serialize().to_pybytes()).decode()}
