"""Convert the rows of a caller to the table's types.

Implements "Delta Data Type to Parquet Type Mappings" and the nullability rules of "Schema
Serialization Format". Columns are found by name without regard to letter case; a value is
converted only without loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import ConstraintViolation, SchemaMismatch
from reference_impl.types.arrow import (
    arrow_field,
    arrow_schema,
    arrow_type,
    cast,
    with_children,
    with_fields,
)
from reference_impl.types.model import BINARY, VARIANT, Array, DataType, Field, Map, Struct, walk

_VERSION_BITS = 0x0F
_VARIANT_VERSION = 1
"""Version of the metadata of a variant, and where its first byte has it."""


def conform(rows: pa.Table, schema: Struct) -> pa.Table:
    """Return rows in the types of a table schema, in its column order.

    Columns that the rows lack are not added: see :func:`fill_missing`. Nulls are not checked:
    see :func:`check_nulls`.

    Raises:
        SchemaMismatch: a column is unknown or given twice, or values do not fit its type.
    """
    given = _match([f.name for f in rows.schema], schema.fields, ())
    columns = [f for f in schema.fields if f.name in given]
    arrays = []
    for column in columns:
        values = rows.column(given[column.name])
        chunks = [_conform(chunk, column.type, (column.name,)) for chunk in values.chunks]
        arrays.append(pa.chunked_array(chunks, arrow_type(column.type)))
    names = pa.schema([arrow_field(f).with_nullable(nullable=True) for f in columns])
    if not columns:
        return rows.select([])
    return pa.Table.from_arrays(arrays, schema=names)


def fill_missing(rows: pa.Table, schema: Struct) -> pa.Table:
    """Add the columns that rows lack, all null, and return the columns in table order."""
    given = {*rows.column_names}
    arrays = [
        rows.column(f.name)
        if f.name in given
        else pa.chunked_array([pa.nulls(rows.num_rows, arrow_type(f.type))])
        for f in schema.fields
    ]
    fields = [f.with_nullable(nullable=True) for f in arrow_schema(schema)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def check_nulls(rows: pa.Table, schema: Struct) -> pa.Table:
    """Refuse nulls where the schema declares none, and declare so in the Arrow schema.

    Raises:
        ConstraintViolation: a column, or a field in it, is null and must not be.
    """
    for column in schema.fields:
        for chunk in rows.column(column.name).chunks:
            _refuse_nulls(chunk, column.type, (column.name,), nullable=column.nullable)
    return pa.Table.from_arrays(rows.columns, schema=arrow_schema(schema))


def _match(names: Sequence[str], fields: Sequence[Field], place: tuple[str, ...]) -> dict[str, int]:
    """Find the position of each field that is given."""
    folded = {f.name.lower(): f.name for f in fields}
    found: dict[str, int] = {}
    for at, name in enumerate(names):
        label = ".".join((*place, name))
        target = folded.get(name.lower())
        if target is None:
            raise SchemaMismatch(
                f"the rows have column {label!r}, the table has not",
                hint="columns: " + ", ".join(f.name for f in fields),
            )
        if target in found:
            raise SchemaMismatch(f"the rows have column {label!r} twice")
        found[target] = at
    return found


def _conform(  # noqa: PLR0911  one return per kind of type
    values: pa.Array, of: DataType, place: tuple[str, ...]
) -> pa.Array:
    values = _plain(values)
    target = arrow_type(of)
    if values.type == target and all(inner != VARIANT for _, inner in walk(of)):
        return values
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), target)
    match of:
        case Struct(fields):
            return _struct(values, fields, place)
        case Array(element):
            return _list(values, element, target, place)
        case Map():
            return _map(values, of, target, place)
        case _ if of == VARIANT:
            return _variant(values, target, place)
        case _:
            return _leaf(values, target, place)


def _plain(values: pa.Array) -> pa.Array:
    """Return the values of an extension type, and of a dictionary, as they are."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _struct(values: pa.Array, fields: tuple[Field, ...], place: tuple[str, ...]) -> pa.Array:
    if not pa.types.is_struct(values.type):
        raise _mismatch(values.type, Struct(fields), place)
    held = [values.type.field(i).name for i in range(values.type.num_fields)]
    found = _match(held, fields, place)
    # Values below a null of the struct have no meaning.
    below = values.flatten()
    parts = [
        _conform(below[found[f.name]], f.type, (*place, f.name))
        if f.name in found
        else pa.nulls(len(values), arrow_type(f.type))
        for f in fields
    ]
    return with_fields(values, parts, [arrow_field(f) for f in fields])


def _list(
    values: pa.Array, element: DataType, target: pa.DataType, place: tuple[str, ...]
) -> pa.Array:
    of = values.type
    if pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        values = values.cast(pa.list_(of.value_field))
    elif not pa.types.is_list(of):
        raise _mismatch(of, target, place)
    items = _conform(values.values, element, (*place, "element"))
    return with_children(values, target, items)


def _map(values: pa.Array, of: Map, target: pa.DataType, place: tuple[str, ...]) -> pa.Array:
    if not pa.types.is_map(values.type):
        raise _mismatch(values.type, of, place)
    keys = _conform(values.keys, of.key, (*place, "key"))
    items = _conform(values.items, of.value, (*place, "value"))
    fields = [target.key_field, target.item_field]
    return with_children(values, target, pa.StructArray.from_arrays([keys, items], fields=fields))


def _variant(values: pa.Array, target: pa.DataType, place: tuple[str, ...]) -> pa.Array:
    """Return variants as the struct of their two binary parts."""
    names = [f.name for f in values.type] if pa.types.is_struct(values.type) else []
    if sorted(names) != ["metadata", "value"]:
        raise _mismatch(values.type, target, place)
    parts = [_conform(values.field(f.name), BINARY, (*place, f.name)) for f in target]
    present = values.is_valid()
    headers = pc.binary_slice(parts[0].filter(present), 0, 1).to_pylist()
    if any(part.filter(present).null_count for part in parts) or any(
        not header or header[0] & _VERSION_BITS != _VARIANT_VERSION for header in headers
    ):
        raise SchemaMismatch(
            f"a value of column {'.'.join(place)} is no variant: it lacks a part, or its metadata "
            "are of another version",
            requirement="VAR-003",
        )
    return with_fields(values, parts, list(target))


_FAMILIES = (
    (pa.types.is_integer, pa.types.is_integer),
    (pa.types.is_integer, pa.types.is_decimal),
    (pa.types.is_decimal, pa.types.is_decimal),
    (pa.types.is_floating, pa.types.is_float64),
    (pa.types.is_date, pa.types.is_date),
    (pa.types.is_timestamp, pa.types.is_timestamp),
)
"""Families inside which a value can be converted, each as test of the source and the target."""


def _textual(of: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of)
    )


def _binary(of: pa.DataType) -> bool:
    tests = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return any(test(of) for test in tests)


def _leaf(values: pa.Array, target: pa.DataType, place: tuple[str, ...]) -> pa.Array:
    of = values.type
    alike = any(source(of) and wanted(target) for source, wanted in _FAMILIES)
    alike = alike or (_textual(of) and _textual(target)) or (_binary(of) and _binary(target))
    if pa.types.is_timestamp(of) and pa.types.is_timestamp(target):
        # timestamp_ntz and timestamp do not convert to each other.
        alike = (of.tz is None) == (target.tz is None)
    if not alike:
        raise _mismatch(of, target, place)
    try:
        return cast(values, target)
    except pa.ArrowInvalid as error:
        raise SchemaMismatch(
            f"a value of column {'.'.join(place)} does not fit {target}: {str(error)[:200]}"
        ) from None


def _mismatch(of: pa.DataType, wanted: object, place: tuple[str, ...]) -> SchemaMismatch:
    return SchemaMismatch(
        f"column {'.'.join(place)} has Arrow type {of} in the rows, the table wants {wanted}",
        hint="cast the rows; a lossy conversion is never implicit",
    )


def _refuse_nulls(
    values: pa.Array, of: DataType, place: tuple[str, ...], *, nullable: bool
) -> None:
    if not nullable and values.null_count:
        raise ConstraintViolation(
            f"column {'.'.join(place)} is declared not null and a row has null",
            requirement="SCH-025",
        )
    match of:
        case Struct(fields):
            # A null parent makes its fields null, even where they are declared not null.
            present = values.drop_null()
            for at, inner in enumerate(fields):
                below = (*place, inner.name)
                _refuse_nulls(present.field(at), inner.type, below, nullable=inner.nullable)
        case Array(element, contains_null):
            _refuse_nulls(values.flatten(), element, (*place, "element"), nullable=contains_null)
        case Map(_, value, contains_null):
            items = pa.concat_arrays([values.drop_null()]).items
            _refuse_nulls(items, value, (*place, "value"), nullable=contains_null)
