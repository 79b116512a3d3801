"""Per-file statistics, computed from the rows that go into a data file.

Covers "Per-file Statistics". Strings are cut to 32 code points and timestamps to milliseconds,
as the footnote of the protocol says. A bound that JSON cannot carry (NaN, infinity) is left out,
which any reader must take as no information.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal as DecimalValue
from typing import Any, Final

from generators.materialise.data.arrow_rows import Row
from generators.oracle.delta_schema import Decimal, Field, Primitive, Struct

STRING_PREFIX: Final = 32
"""Code points of a string that a bound keeps."""

_HIGHEST: Final = "\U0010ffff"

_BOUNDED: Final = frozenset(
    {
        "string", "long", "integer", "short", "byte", "float", "double", "date", "timestamp",
        "timestamp_ntz",
    }
)  # fmt: skip


def _milliseconds(value: datetime) -> str:
    cut = value.replace(microsecond=value.microsecond // 1000 * 1000)
    if cut.tzinfo is None:
        return cut.isoformat(timespec="milliseconds")
    return cut.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _upper_string(value: str) -> str | None:
    """Return a bound of at most 33 code points that is not below the value, if there is one."""
    if len(value) <= STRING_PREFIX:
        return value
    following = value[STRING_PREFIX]
    if following < "\x7f":
        return value[:STRING_PREFIX] + "\x7f"
    return value[:STRING_PREFIX] + _HIGHEST if following < _HIGHEST else None


def _bound(value: Any, *, upper: bool) -> Any:
    """Return a bound in its JSON form, ``None`` where it has none."""
    match value:
        case str():
            return _upper_string(value) if upper else value[:STRING_PREFIX]
        case float():
            return value if math.isfinite(value) else None
        case datetime():
            return _milliseconds(value)
        case date():
            return value.isoformat()
        case _:
            return value


def _comparable(value: Any) -> Any:
    """Return a sort key: strings compare by code point, as their UTF-8 bytes do."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _column(column: Field, values: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return minimum, maximum and null count of a column; objects for structs."""
    if isinstance(column.type, Struct):
        inner = [_column_of(each, values) for each in column.type]
        names = [each.physical_name for each in column.type]
        parts = (
            {
                name: part[place]
                for name, part in zip(names, inner, strict=True)
                if part[place] is not None
            }
            for place in range(3)
        )
        lows, highs, counts = parts
        return lows or None, highs or None, counts
    present = [value for value in values if value is not None]
    nulls = len(values) - len(present)
    bounded = isinstance(column.type, Decimal) or (
        isinstance(column.type, Primitive) and column.type.name in _BOUNDED
    )
    unordered = any(isinstance(value, float) and math.isnan(value) for value in present)
    if not bounded or not present or unordered:
        return None, None, nulls
    low = _bound(min(present, key=_comparable), upper=False)
    return low, _bound(max(present, key=_comparable), upper=True), nulls


def _column_of(column: Field, parents: Iterable[Any]) -> tuple[Any, Any, Any]:
    return _column(
        column, [None if parent is None else parent.get(column.name) for parent in parents]
    )


def file_statistics(columns: Sequence[Field], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the statistics of all physical rows of a data file, keyed by physical names."""
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for column in columns:
        if column.type in (Primitive("void"), Primitive("variant")):
            continue
        low, high, null = _column_of(column, rows)
        for target, value in ((lows, low), (highs, high), (nulls, null)):
            if value is not None:
                target[column.physical_name] = value
    return {"numRecords": len(rows), "minValues": lows, "maxValues": highs, "nullCount": nulls}


def dump_statistics(statistics: Any) -> str:
    """Return statistics as the JSON text of ``stats``, decimals as exact numbers."""
    match statistics:
        case DecimalValue():
            return f"{statistics:f}"
        case Mapping():
            inner = ",".join(
                f"{json.dumps(name, ensure_ascii=False)}:{dump_statistics(value)}"
                for name, value in statistics.items()
            )
            return "{" + inner + "}"
        case _:
            return json.dumps(statistics, ensure_ascii=False)


def under_vector(stats: str) -> str:
    """Return the statistics of a whole file for one with a vector: bounds are no longer tight."""
    first, comma, rest = stats.partition(",")
    if not comma or '"tightBounds"' in stats:
        return stats
    return f'{first},"tightBounds":false,{rest}'
