"""Delta types as Arrow types and back (section Delta Data Type to Parquet Type Mappings).

Rows travel in Delta's own types: timestamps in microseconds (``timestamp`` in zone UTC,
``timestamp_ntz`` without zone), decimals in 128 bits, list items called ``element``, map
entries ``key`` and ``value``. A variant is the struct of its two binary parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from reference_impl.errors import InvalidSchema, UnsupportedType
from reference_impl.types.model import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
)

_VARIANT = pa.struct(
    [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary())]
)
_TO_ARROW: Mapping[Primitive, pa.DataType] = {
    BINARY: pa.binary(),
    BOOLEAN: pa.bool_(),
    BYTE: pa.int8(),
    DATE: pa.date32(),
    DOUBLE: pa.float64(),
    FLOAT: pa.float32(),
    INTEGER: pa.int32(),
    LONG: pa.int64(),
    SHORT: pa.int16(),
    STRING: pa.string(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
    TIMESTAMP_NTZ: pa.timestamp("us"),
    VARIANT: _VARIANT,
    VOID: pa.null(),
}

_FROM_ARROW: tuple[tuple[Callable[[pa.DataType], bool], Primitive], ...] = (
    (pa.types.is_boolean, BOOLEAN),
    (pa.types.is_int8, BYTE),
    (pa.types.is_int16, SHORT),
    (pa.types.is_int32, INTEGER),
    (pa.types.is_int64, LONG),
    (pa.types.is_float32, FLOAT),
    (pa.types.is_float64, DOUBLE),
    (pa.types.is_string, STRING),
    (pa.types.is_large_string, STRING),
    (pa.types.is_string_view, STRING),
    (pa.types.is_binary, BINARY),
    (pa.types.is_large_binary, BINARY),
    (pa.types.is_binary_view, BINARY),
    (pa.types.is_fixed_size_binary, BINARY),
    (pa.types.is_date, DATE),
    (pa.types.is_null, VOID),
)
_MAX_DIGITS = 38


def arrow_type(of: DataType) -> pa.DataType:
    """Return the Arrow type that holds values of a Delta type.

    Raises:
        UnsupportedType: a map has keys of type void, which are null, as no key may be.
    """
    # Obeys SCH-015 SCH-018 SCH-019.
    match of:
        case Primitive():
            return _TO_ARROW[of]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element, contains_null):
            return pa.list_(_field("element", element, nullable=contains_null))
        case Map(key, value, value_contains_null):
            if key == VOID:
                raise UnsupportedType("a map with keys of type void can have no entry")
            item = _field("value", value, nullable=value_contains_null)
            return pa.map_(arrow_type(key), item)
        case Struct(fields):
            return pa.struct([arrow_field(f) for f in fields])


def arrow_field(of: Field) -> pa.Field:
    """Return the Arrow field of a column, with the column's nullability."""
    return _field(of.name, of.type, nullable=of.nullable)


def _field(name: str, of: DataType, *, nullable: bool) -> pa.Field:
    """Make a field; one of type void, which has nulls alone, Arrow takes as nullable only."""
    return pa.field(name, arrow_type(of), nullable=nullable or of == VOID)


def arrow_schema(schema: Struct) -> pa.Schema:
    """Return the Arrow schema of a table."""
    return pa.schema([arrow_field(f) for f in schema.fields])


def from_arrow(schema: pa.Schema) -> Struct:
    """Return the table schema that holds rows of an Arrow schema.

    Raises:
        UnsupportedType: a column has an Arrow type that no Delta type can hold.
        InvalidSchema: two columns have names that differ at most by case.
    """
    return _struct(list(schema), ())


def plain_type(of: pa.DataType) -> DataType | None:
    """Return the Delta type of values of an Arrow type; ``None`` for times and nested ones."""
    if pa.types.is_decimal(of) and 0 <= of.scale <= of.precision <= _MAX_DIGITS:
        return Decimal(of.precision, of.scale)
    return next((primitive for holds, primitive in _FROM_ARROW if holds(of)), None)


def cast(values: pa.Array | pa.ChunkedArray, target: pa.DataType) -> Any:
    """Cast values; Arrow wants the precision of any 64-bit integer before it rescales one."""
    if pa.types.is_integer(values.type) and pa.types.is_decimal(target):
        values = values.cast(pa.decimal128(_MAX_DIGITS, 0))
    return values.cast(target)


def with_children(values: pa.Array, target: pa.DataType, items: pa.Array) -> pa.Array:
    """Return the same lists over other items, sharing validity and offsets."""
    return pa.Array.from_buffers(
        target,
        len(values),
        values.buffers()[:2],
        values.null_count,
        values.offset,
        children=[items],
    )


def with_fields(
    values: pa.Array, parts: Sequence[pa.Array], fields: Sequence[pa.Field]
) -> pa.StructArray:
    """Return structs of other fields, which are null where those of an array are."""
    if not parts:
        return pa.array([{}] * len(values), pa.struct([]), mask=values.is_null())
    return pa.StructArray.from_arrays(parts, fields=fields, mask=values.is_null())


def _struct(fields: list[pa.Field], place: tuple[str, ...]) -> Struct:
    folded: set[str] = set()
    for one in fields:
        if one.name.lower() in folded:
            raise InvalidSchema(
                f"column {'.'.join((*place, one.name))!r} is there twice",
                hint="column names are unique without regard to case",
            )
        folded.add(one.name.lower())
    return Struct(
        tuple(Field(f.name, _delta_type(f.type, (*place, f.name)), f.nullable) for f in fields)
    )


def _delta_type(of: pa.DataType, place: tuple[str, ...]) -> DataType:
    leaf = plain_type(of)
    if leaf is not None:
        return leaf
    if pa.types.is_timestamp(of):
        return TIMESTAMP_NTZ if of.tz is None else TIMESTAMP
    if pa.types.is_dictionary(of):
        return _delta_type(of.value_type, place)
    if pa.types.is_map(of):
        return Map(
            _delta_type(of.key_type, (*place, "key")),
            _delta_type(of.item_type, (*place, "value")),
            of.item_field.nullable,
        )
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        return Array(_delta_type(of.value_type, (*place, "element")), of.value_field.nullable)
    if pa.types.is_struct(of):
        return _struct([of.field(i) for i in range(of.num_fields)], place)
    raise UnsupportedType(f"column {'.'.join(place)!r}: no Delta type holds Arrow's {of}")
