"""Convert Arrow arrays of a data file to the table's types.

Implements "Delta Data Type to Parquet Type Mappings", "Column Mapping" (reader requirements) and
upstream's "Type Widening". A converter is built once per column and file; it is ``None`` where
the file already has the table's type.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidDataFile
from reference_impl.model.column_mapping import Mode, field_id, physical_name
from reference_impl.parquet.restored import of_view
from reference_impl.scan.shredded import unshred
from reference_impl.types.arrow import (
    arrow_field,
    arrow_type,
    cast,
    plain_type,
    with_children,
    with_fields,
)
from reference_impl.types.model import (
    BINARY,
    BYTE,
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
from reference_impl.types.widening import is_widening

Converter: TypeAlias = Callable[[pa.Array], pa.Array]
"""Converts an array of a file to the table's type; may raise :class:`pyarrow.ArrowInvalid`."""

_FIELD_ID = b"PARQUET:field_id"
_NARROWED = {(INTEGER, BYTE), (INTEGER, SHORT), (SHORT, BYTE)}
"""Integers that Parquet stores in 32 bits and that a file may hold without their annotation."""

_REINTERPRETED = {(BINARY, STRING), (STRING, BINARY)}
"""Byte arrays whose annotation a file may lack, or have without need."""


def find_columns(
    candidates: Sequence[pa.Field], wanted: Iterable[tuple[Field, Mode]]
) -> list[int | None]:
    """Find columns, or nested fields, among the fields of a file; ``None`` for one it lacks.

    Raises:
        InvalidDataFile: the file has one of the columns twice.
    """
    # Obeys CM-024 CM-025 CM-029 CM-032 CDC-019.
    by_id: defaultdict[bytes | None, list[int]] = defaultdict(list)
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for position, candidate in enumerate(candidates):
        by_id[(candidate.metadata or {}).get(_FIELD_ID)].append(position)
        by_name[candidate.name].append(position)
    places: list[int | None] = []
    for column, mode in wanted:
        if mode == "id":
            found = by_id.get(str(field_id(column)).encode(), [])
        else:
            found = by_name.get(physical_name(column, mode), [])
        if len(found) > 1:
            raise InvalidDataFile(f"the file has column {column.name!r} {len(found)} times")
        places.append(found[0] if found else None)
    return places


def missing(of: DataType, length: int) -> pa.Array:
    """Return ``length`` rows of null, of the type of a column that a file lacks."""
    # Obeys CM-028 CM-031 VOID-002 DFT-004 WCON-004.
    return pa.nulls(length, arrow_type(of))


def refuse_nulls(values: pa.Array, column: Field) -> None:
    """Refuse nulls in a column that the schema declares not null.

    Raises:
        InvalidDataFile: the column has nulls.
    """
    if not column.nullable and values.null_count:
        raise _has_nulls(column.name)


def converter(stored: pa.Field, column: Field, mode: Mode) -> Converter | None:
    """Build the converter from a file's field to a table's column.

    Args:
        stored: the field of the file, with its id in the metadata.
        column: the column, or nested field, of the table.
        mode: how nested fields are found.

    Returns:
        ``None`` where the file already has the type of the table.

    Raises:
        InvalidDataFile: the file holds a type that the column's type cannot be read from.
    """
    return _convert(stored.type, column.type, mode, column.name)


def _convert(  # noqa: PLR0911  one return per kind of type
    stored: pa.DataType, wanted: DataType, mode: Mode, place: str
) -> Converter | None:
    if isinstance(stored, pa.BaseExtensionType):
        inner = _convert(stored.storage_type, wanted, mode, place)
        return _after(lambda a: a.storage, inner)
    if pa.types.is_dictionary(stored):
        inner = _convert(stored.value_type, wanted, mode, place)
        return _after(lambda a: a.dictionary_decode(), inner)
    if pa.types.is_duration(stored):  # Arrow's own schema says so, and the file has numbers
        inner = _convert(pa.int64(), wanted, mode, place)
        return _after(lambda a: a.cast(pa.int64()), inner)
    if pa.types.is_null(stored) or wanted == VOID:
        return lambda a: missing(wanted, len(a))
    match wanted:
        case Struct(fields):
            return _struct(stored, fields, mode, place)
        case Array():
            return _array(stored, wanted, mode, place)
        case Map():
            return _map(stored, wanted, mode, place)
        case Primitive("variant"):
            return _variant(stored, place)
        case _:
            return _leaf(stored, wanted, place)


def _leaf(stored: pa.DataType, wanted: DataType, place: str) -> Converter | None:
    # Obeys WCON-005.
    target = arrow_type(wanted)
    if stored == target:
        return None
    if wanted in (TIMESTAMP, TIMESTAMP_NTZ) and pa.types.is_timestamp(stored):
        return partial(_instants, target=target)
    held = plain_type(stored)
    # Large and view layouts are the same type to Delta.
    if (pa.types.is_unsigned_integer(stored) and wanted in (BYTE, SHORT, INTEGER, LONG)) or (
        held is not None
        and (
            held == wanted
            or (held, wanted) in _NARROWED
            or (held, wanted) in _REINTERPRETED
            or is_widening(held, wanted)
        )
    ):
        return partial(cast, target=target)
    raise _unreadable(stored, wanted, place)


def _instants(values: pa.Array, *, target: pa.TimestampType) -> pa.Array:
    """Convert timestamps of any unit of Parquet to microseconds, rounding down.

    The value counts from the epoch, with or without a zone in the file, so that zones are
    replaced, not converted.
    """
    unit = values.type.unit
    numbers = values.cast(pa.timestamp(unit)).view(pa.int64())
    if unit == "ns":
        quotient = pc.divide(numbers, 1000)
        late = pc.greater(pc.multiply(quotient, 1000), numbers)
        numbers = pc.subtract(quotient, late.cast(pa.int64()))
    elif unit == "ms":
        numbers = pc.multiply_checked(numbers, 1000)
    return numbers.view(target)


def _struct(
    stored: pa.DataType, fields: tuple[Field, ...], mode: Mode, place: str
) -> Converter | None:
    if not pa.types.is_struct(stored):
        raise _unreadable(stored, Struct(fields), place)
    held = [stored.field(i) for i in range(stored.num_fields)]
    sources = find_columns(held, [(f, mode) for f in fields])
    inner = [
        None if i is None else _convert(held[i].type, f.type, mode, f"{place}.{f.name}")
        for i, f in zip(sources, fields, strict=True)
    ]
    targets = [arrow_field(f) for f in fields]
    same = sources == list(range(len(held))) and not any(inner) and held == targets
    if same and all(f.nullable for f in fields):
        return None

    def convert(values: pa.StructArray) -> pa.Array:
        children = []
        for at, one, change in zip(sources, fields, inner, strict=True):
            child = missing(one.type, len(values)) if at is None else values.field(at)
            child = child if change is None else change(child)
            # A null parent makes its children null, even where they are declared not null.
            if not one.nullable and pc.any(pc.and_(child.is_null(), values.is_valid())).as_py():
                raise _has_nulls(f"{place}.{one.name}")
            children.append(child)
        return with_fields(values, children, targets)

    return convert


def _array(stored: pa.DataType, wanted: Array, mode: Mode, place: str) -> Converter | None:
    if pa.types.is_list_view(stored) or pa.types.is_large_list_view(stored):
        plain = pa.list_(stored.value_field)
        return _after(of_view, _array(plain, wanted, mode, place))
    if pa.types.is_large_list(stored) or pa.types.is_fixed_size_list(stored):
        plain = pa.list_(stored.value_field)
        return _after(lambda a: a.cast(plain), _array(plain, wanted, mode, place))
    if not pa.types.is_list(stored):
        raise _unreadable(stored, wanted, place)
    target = arrow_type(wanted)
    inner = _convert(stored.value_type, wanted.element, mode, f"{place}.element")
    if inner is None and stored == target and wanted.contains_null:
        return None  # a copy of its children takes a third of a scan

    def convert(values: pa.ListArray) -> pa.Array:
        items = values.values if inner is None else inner(values.values)
        if not wanted.contains_null and values.flatten().null_count:
            raise _has_nulls(f"{place}.element")
        return with_children(values, target, items)

    return convert


def _map(stored: pa.DataType, wanted: Map, mode: Mode, place: str) -> Converter | None:
    target = arrow_type(wanted)
    if not pa.types.is_map(stored):
        return _list_of_pairs(stored, wanted, mode, place)
    key = _convert(stored.key_type, wanted.key, mode, f"{place}.key")
    value = _convert(stored.item_type, wanted.value, mode, f"{place}.value")
    if key is None and value is None and stored == target and wanted.value_contains_null:
        return None

    def convert(values: pa.MapArray) -> pa.Array:
        keys = values.keys if key is None else key(values.keys)
        items = values.items if value is None else value(values.items)
        if not wanted.value_contains_null and items.null_count:
            raise _has_nulls(f"{place}.value")
        entries = pa.StructArray.from_arrays(
            [keys, items], fields=[target.key_field, target.item_field]
        )
        return with_children(values, target, entries)

    return convert


def _list_of_pairs(stored: pa.DataType, wanted: Map, mode: Mode, place: str) -> Converter:
    """Build the converter of a map group without its annotation."""
    pair = stored.value_type if pa.types.is_list(stored) else None
    if pair is None or not pa.types.is_struct(pair) or pair.num_fields != 2:
        raise _unreadable(stored, wanted, place)
    plain = pa.map_(pair.field(0).with_nullable(nullable=False), pair.field(1))
    inner = _map(plain, wanted, mode, place)
    return _after(lambda a: with_children(a, plain, a.values), inner)


def _variant(stored: pa.DataType, place: str) -> Converter | None:
    # Obeys VAR-004 VAR-005.
    if not pa.types.is_struct(stored):
        raise _unreadable(stored, VARIANT, place)
    names = {stored.field(i).name: i for i in range(stored.num_fields)}
    target = arrow_type(VARIANT)
    shredded = "typed_value" in names
    if "metadata" not in names or not (shredded or "value" in names):
        raise _unreadable(stored, VARIANT, place)

    def convert(values: pa.StructArray) -> pa.Array:
        metadata = values.field(names["metadata"]).cast(pa.binary())
        if shredded:
            value = pa.array(unshred(values, place), pa.binary())
        else:
            value = values.field(names["value"]).cast(pa.binary())
        return with_fields(values, [metadata, value], list(target))

    return convert


def _after(first: Converter, then: Converter | None) -> Converter:
    if then is None:
        return first
    return lambda values: then(first(values))


def _has_nulls(place: str) -> InvalidDataFile:
    return InvalidDataFile(
        f"column {place} is declared not null and holds nulls", requirement="SCH-025"
    )


def _unreadable(stored: pa.DataType, wanted: DataType, place: str) -> InvalidDataFile:
    return InvalidDataFile(
        f"column {place} has type {wanted}, which cannot be read from the file's {stored}",
        hint="only the type changes of the protocol's list are read",
        requirement="TW-012" if isinstance(wanted, Primitive | Decimal) else "PQ-001",
    )
