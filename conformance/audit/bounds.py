"""Check statistics against the values that they describe (section Per-file Statistics)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conformance.audit.columns import read_columns
from conformance.audit.findings import Finding, Severity, finding
from conformance.audit.layout import Column, Layout
from reference_impl.deletion_vectors import Bitmap

__all__ = ["Judged", "wrong_statistics"]

_EXACT: Final = frozenset({"byte", "short", "integer", "long", "date", "boolean"})
"""Types whose bounds nobody truncates."""

_ORDERED: Final = _EXACT | {"float", "double", "string", "timestamp", "timestamp_ntz"}
_MILLISECOND: Final = timedelta(milliseconds=1)
_PLAIN: Final = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


@dataclass(frozen=True, slots=True)
class Judged:
    """A data file with the statistics that its add action gives.

    Attributes:
        path: decoded, for messages.
        source: what the file was opened from.
        file: the opened file.
        layout: of the table.
        stats: parsed, fractions exact.
        vector: the rows that are deleted.

    """

    path: str
    source: pa.NativeFile
    file: pq.ParquetFile
    layout: Layout
    stats: Mapping[str, Any]
    vector: Bitmap | None


def wrong_statistics(judged: Judged) -> Iterator[Finding]:
    """Yield findings about bounds that do not bind, counts that do not count, forbidden nulls."""
    ids = {column.path: column.field_id for column in judged.layout.columns}
    for column in judged.layout.columns:
        wanted = [_get(judged.stats.get(kind), column.physical) for kind in _KINDS]
        required = not column.nullable and len(column.path) == 1
        if not column.reachable or (not required and all(value is None for value in wanted)):
            continue
        place = _place(judged, column, ids) if isinstance(column.type, str) else None
        if place is not None:
            yield from _column(judged, column, _values(judged, place), wanted)


_FAR: Final = re.compile(r"[+-]\d{4,9}-\d\d-\d\d")
"""Dates before year 1 and after 9999, which Python has none of."""

_NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")
"""How writers spell what JSON has no number for."""

_KINDS: Final = ("minValues", "maxValues", "nullCount")


def _get(node: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        node = node.get(part) if isinstance(node, dict) else None
    return node


def _place(
    judged: Judged, column: Column, ids: Mapping[tuple[str, ...], int | None]
) -> tuple[str, ...] | None:
    """Give the names by which the file has a column, ``None`` when it has not just one.

    In mode ``id`` a file may have any names; statistics have physical ones in every mode.
    """
    names: list[str] = []
    fields = list(judged.file.schema_arrow)
    for depth, physical in enumerate(column.physical, 1):
        if judged.layout.mode == "id":
            wanted = str(ids.get(column.path[:depth])).encode()
            found = [field for field in fields if _field_id(field) == wanted]
        else:
            found = [field for field in fields if field.name == physical]
        if len(found) != 1 or sum(field.name == found[0].name for field in fields) != 1:
            return None
        names.append(found[0].name)
        nested = pa.types.is_struct(found[0].type)
        fields = list(found[0].type) if nested else []
    return tuple(names)


def _field_id(field: pa.Field) -> bytes | None:
    found: bytes | None = (field.metadata or {}).get(b"PARQUET:field_id")
    return found


def _values(judged: Judged, place: tuple[str, ...]) -> pa.ChunkedArray | None:
    """Read one column, nested in structs or not, as an array of leaves."""
    name = place[0]
    source = judged.source
    values = read_columns(judged.file, source, [".".join(place)] if name else None)
    if name not in values.schema.names:
        values = read_columns(judged.file, source, [name])
    found = values.column(name)
    for part in place[1:]:
        if not pa.types.is_struct(found.type) or found.type.get_field_index(part) < 0:
            return None
        found = pc.struct_field(found, part)
    if pa.types.is_string_view(found.type):
        # Arrow orders no views.
        found = found.cast(pa.large_string())
    if pa.types.is_timestamp(found.type) and found.type.unit == "ns":
        # Delta keeps microseconds.
        found = found.cast(pa.timestamp("us", found.type.tz), safe=False)
    # A footer may carry its writer's Arrow schema, views in it, which not every kernel takes.
    plain = _PLAIN.get(found.type)
    return found if plain is None else found.cast(plain)


def _column(
    judged: Judged, column: Column, values: pa.ChunkedArray | None, wanted: list[Any]
) -> Iterator[Finding]:
    if values is None:
        return
    low, high, nulls = wanted
    if judged.vector is None and type(nulls) is int and nulls != values.null_count:
        message = f"column {column.name} has {values.null_count} nulls, nullCount says {nulls}"
        yield finding("STAT-008", judged.path, message)
    if judged.vector is not None:
        kept = judged.vector.kept(0, len(values))
        values = values if kept is None else values.filter(kept)
    if not column.nullable and len(column.path) == 1 and values.null_count:
        message = f"column {column.name} is not nullable and has {values.null_count} nulls"
        yield finding("SCH-025", judged.path, message)
    yield from _bounds(judged, column, values, (low, high))


def _bounds(
    judged: Judged, column: Column, values: pa.ChunkedArray, bounds: tuple[Any, Any]
) -> Iterator[Finding]:
    exact = column.type in _EXACT or str(column.type).startswith("decimal")
    if not exact and column.type not in _ORDERED:
        return
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    tight = judged.stats.get("tightBounds") is not False
    for side, stated, actual in zip(_KINDS[:2], bounds, _span(values), strict=True):
        if stated is None or actual is None or _FAR.match(str(stated)):
            continue
        try:
            limit, value = _comparable(stated, actual, column.type)
        except (ValueError, TypeError, ArithmeticError):
            message = f"{side} of {column.name} is {stated!r}, no value of type {column.type}"
            yield finding("STAT-012", judged.path, message)
            continue
        slack = _MILLISECOND if isinstance(value, datetime) and side == "maxValues" else None
        broken = limit > value if side == "minValues" else _below(limit, value, slack)
        if broken:
            requirement = "STAT-012" if tight else "STAT-013"
            relation = "below" if side == "minValues" else "above"
            message = (
                f"{side} of {column.name} is {stated}, but the file has {actual}, {relation} it"
            )
            hint = "readers that skip by statistics lose rows"
            yield finding(requirement, judged.path, message, hint)
        elif tight and exact and limit != value:
            message = f"{side} of {column.name} is {stated} under tight bounds, not {actual}"
            # A vector that came later leaves bounds of rows that went: it has to loosen them.
            severity: Severity | None = "warning" if judged.vector is None else None
            yield finding("STAT-012", judged.path, message, severity=severity)


def _span(values: pa.ChunkedArray) -> tuple[Any, Any]:
    """Give the least and the greatest value; nothing where Python has no such date."""
    span = pc.min_max(values)
    try:
        return span["min"].as_py(), span["max"].as_py()
    except (ValueError, OverflowError):
        return None, None


def _below(limit: Any, value: Any, slack: timedelta | None) -> bool:
    """Tell whether an upper bound fails; timestamps may be cut to milliseconds."""
    return bool(limit < value if slack is None else value - limit >= slack)


def _comparable(stated: Any, actual: Any, declared: Any) -> tuple[Any, Any]:
    """Bring a bound from JSON and a value from the file to one comparable type.

    Raises:
        ValueError: the bound is no value of the column's type.

    """
    if isinstance(actual, bytes):
        actual = actual.decode()
    if isinstance(actual, float) and stated in _NOT_FINITE:
        return float(stated), actual
    text = isinstance(actual, str | date)
    if isinstance(stated, str) != text or isinstance(stated, bool) != isinstance(actual, bool):
        raise ValueError(stated)
    match actual:
        case bool() | str():  # code points order like UTF-8 bytes
            return stated, actual
        case datetime():
            return _instant(datetime.fromisoformat(stated), declared), _instant(actual, declared)
        case date():
            return date.fromisoformat(stated[:10]), actual
        case float():
            number = float(stated)
            return pa.scalar(
                number, pa.float32()
            ).as_py() if declared == "float" else number, actual
        case _:
            return Decimal(str(stated)), Decimal(str(actual))


def _instant(moment: datetime, declared: Any) -> datetime:
    """Bring a moment to its type's form; a timestamp without zone, as int96 gives, is in UTC."""
    if declared == "timestamp":
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.replace(tzinfo=None)
