"""Which stored types a column may have been widened from (upstream section Type Widening).

The list of the protocol: wider integers, ``float`` to ``double``, integers to ``double`` or to
a decimal that holds all their digits, decimals that lose no digit on either side of the dot,
and ``date`` to ``timestamp_ntz``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference_impl.errors import InvalidSchema
from reference_impl.types.keys import TYPE_CHANGES_KEY
from reference_impl.types.model import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP_NTZ,
    DataType,
    Decimal,
    Primitive,
    Struct,
    every_field,
)
from reference_impl.types.schema import parse_type

_WIDER: Mapping[Primitive, frozenset[Primitive]] = {
    BYTE: frozenset({SHORT, INTEGER, LONG, DOUBLE}),
    SHORT: frozenset({INTEGER, LONG, DOUBLE}),
    INTEGER: frozenset({LONG, DOUBLE}),
    FLOAT: frozenset({DOUBLE}),
    DATE: frozenset({TIMESTAMP_NTZ}),
}
_DIGITS: Mapping[Primitive, int] = {BYTE: 10, SHORT: 10, INTEGER: 10, LONG: 20}
"""Digits left of the dot that a decimal needs to be a widening of an integer type."""


def is_widening(stored: DataType, current: DataType) -> bool:
    """Return whether values of ``stored`` may be read as ``current``, which is another type."""
    match stored, current:
        case Decimal(precision, scale), Decimal(wide_precision, wide_scale):
            return wide_scale >= scale and wide_precision - wide_scale >= precision - scale
        case Primitive(), Decimal(precision, scale):
            return stored in _DIGITS and precision - scale >= _DIGITS[stored]
        case Primitive(), Primitive():
            return current in _WIDER.get(stored, frozenset())
        case _:
            return False


def check_type_changes(schema: Struct) -> None:
    """Check that every type change that a schema records is one of the protocol's list.

    Raises:
        InvalidSchema: a record is malformed, or names a change that no reader can follow.
    """
    for label, column in every_field(schema):
        records = column.metadata.get(TYPE_CHANGES_KEY, [])
        for record in records if isinstance(records, list) else [records]:
            stored, current = _change(record, label)
            if stored != current and not is_widening(stored, current):
                raise InvalidSchema(
                    f"column {label} changed from {stored} to {current}, which is no widening",
                    requirement="TW-013",
                )


def _change(record: Any, label: str) -> tuple[DataType, DataType]:
    if not isinstance(record, Mapping):
        raise InvalidSchema(f"column {label}: {TYPE_CHANGES_KEY} holds {record!r:.80}")
    return parse_type(record.get("fromType"), (label,)), parse_type(record.get("toType"), (label,))
