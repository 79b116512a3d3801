"""Canonical values: hashable Python values that are equal exactly when Delta values are equal.

Covers the "Schema Serialization Format" section. Canonical values are only compared between
columns of one family (see :mod:`conformance.judging.compare.families`), which keeps 1, 1.0 and true
apart. There is no tolerance anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from conformance.base.terminal import shortened
from conformance.base.variants import VariantError
from conformance.judging.compare.families import is_list, is_variant, storage_of
from conformance.judging.compare.variant import NAN, variant_value

_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_MICROS: Final = 1_000_000
_DAY_MS: Final = 86_400_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_TEXT: Final = 120


def _plain(array: pa.Array) -> pa.Array:
    """Take extensions and encodings off an array."""
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif types.is_dictionary(array.type):
            array = array.dictionary_decode()
        elif types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        else:
            return array


def _exact(value: int, unit: int, per_second: int) -> int | Fraction:
    scaled = Fraction(value * unit, per_second)
    return scaled.numerator if scaled.denominator == 1 else scaled


def _timestamps(array: pa.Array) -> list[Any]:
    per_second = _PER_SECOND[array.type.unit]
    values: list[Any] = array.cast(pa.int64()).to_pylist()
    if per_second == _MICROS:
        return values
    return [None if v is None else _exact(v, _MICROS, per_second) for v in values]


def _dates(array: pa.Array) -> list[Any]:
    if types.is_date32(array.type):
        days: list[Any] = array.cast(pa.int32()).to_pylist()
        return days
    values = array.cast(pa.int64()).to_pylist()
    return [None if v is None else _exact(v, 1, _DAY_MS) for v in values]


def _floats(array: pa.Array) -> list[Any]:
    # NaN is the one value that is not equal to itself; -0.0 and 0.0 are equal already.
    return [v if v == v else NAN for v in array.cast(pa.float64()).to_pylist()]  # noqa: PLR0124  NaN


def _strings(array: pa.Array) -> list[Any]:
    try:
        values: list[Any] = array.to_pylist()
    except UnicodeDecodeError:
        raw = array.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
        return [None if v is None else v.decode("utf-8", "surrogateescape") for v in raw]
    return values


def _lists(array: pa.Array) -> list[Any]:
    if not (types.is_list(array.type) or types.is_large_list(array.type)):
        array = array.cast(pa.large_list(array.type.value_type))
    values = canonical_values(array.values)
    offsets = array.offsets.to_pylist()
    return [
        None if null else tuple(values[start:end])
        for null, start, end in zip(array.is_null().to_pylist(), offsets, offsets[1:], strict=False)
    ]


def _maps(array: pa.Array) -> list[Any]:
    entries = list(zip(canonical_values(array.keys), canonical_values(array.items), strict=True))
    offsets = array.offsets.to_pylist()
    return [
        # A counter keeps a doubled entry apart from a single one.
        None if null else frozenset(Counter(entries[start:end]).items())
        for null, start, end in zip(array.is_null().to_pylist(), offsets, offsets[1:], strict=False)
    ]


def _structs(array: pa.Array) -> list[Any]:
    nulls = array.is_null().to_pylist()
    order = sorted(range(array.type.num_fields), key=lambda i: array.type.field(i).name)
    columns = [canonical_values(array.field(index)) for index in order]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(array))
    structs = [None if null else row for null, row in zip(nulls, rows, strict=True)]
    if is_variant(array.type):
        return [None if pair is None else _variant(*pair) for pair in structs]
    return structs


def _variant(metadata: bytes | None, value: bytes | None) -> Any:
    try:
        if metadata is not None and value is not None:
            return variant_value(metadata, value)
    except VariantError:
        pass
    # Malformed bytes are equal to the same bytes only.
    return "malformed variant", metadata, value


_LEAVES: Final = (
    (types.is_timestamp, _timestamps),
    (types.is_date, _dates),
    (types.is_floating, _floats),
    (types.is_map, _maps),
    (is_list, _lists),
    (types.is_struct, _structs),
    (types.is_string, _strings),
    (types.is_large_string, _strings),
    (types.is_string_view, _strings),
)


def canonical_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return one hashable value per element; null is ``None``.

    Args:
        array: values of any type; extension types and encodings are looked through.

    Returns:
        Integers for integers, dates (days) and timestamps (microseconds, a fraction where the
        instant is finer), exact decimals, tuples for lists and structs (fields by name),
        frozen sets of counted entries for maps, decoded values for variants.
    """
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in canonical_values(chunk)]
    array = _plain(array)
    for test, convert in _LEAVES:
        if test(array.type):
            return convert(array)
    values: list[Any] = array.to_pylist()
    return values


def render(value: Any, data_type: pa.DataType) -> str:
    """Write a value of :func:`canonical_values` for people, in the terms of its type.

    Returns:
        One line of bounded length.
    """
    return shortened(_text(value, storage_of(data_type)), _MAX_TEXT)


def _instant(value: int | Fraction, *, zone: bool) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=int(value))
    except OverflowError:
        return f"{value} µs since 1970"
    fine = "" if int(value) == value else f"+{value - int(value)} µs"
    text = moment.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    return f"{text}{'Z' if zone else ''}{fine}"


def _day(value: int | Fraction) -> str:
    try:
        return (date(1970, 1, 1) + timedelta(days=int(value))).isoformat()
    except OverflowError:
        return f"day {value} since 1970-01-01"


def _list_text(value: Any, data_type: pa.DataType) -> str:
    item = storage_of(data_type.value_type)
    return "[" + ", ".join(_text(v, item) for v in value) + "]"


def _map_text(value: Any, data_type: pa.DataType) -> str:
    key, item = storage_of(data_type.key_type), storage_of(data_type.item_type)
    return (
        "{" + ", ".join(sorted(f"{_text(k, key)}: {_text(v, item)}" for (k, v), _ in value)) + "}"
    )


def _struct_text(value: Any, data_type: pa.DataType) -> str:
    if is_variant(data_type):
        return repr(value)
    pairs = zip(sorted(data_type, key=lambda field: field.name), value, strict=True)
    return "(" + ", ".join(f"{f.name}={_text(v, storage_of(f.type))}" for f, v in pairs) + ")"


_WRITERS: Final[
    tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], str]], ...]
] = (
    (types.is_timestamp, lambda v, t: _instant(v, zone=t.tz is not None)),
    (types.is_date, lambda v, _: _day(v)),
    (is_list, _list_text),
    (types.is_map, _map_text),
    (types.is_struct, _struct_text),
    (types.is_decimal, lambda v, _: str(v)),
)


def _text(value: Any, data_type: pa.DataType) -> str:
    if value is None:
        return "null"
    if value is NAN:
        return "NaN"
    for test, write in _WRITERS:
        if test(data_type):
            return write(value, data_type)
    return repr(value)
