"""Check statistics against the values that they describe (section Per-file Statistics)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from conformance.audit.checks.values import is_decimal
from conformance.audit.findings import Finding, finding
from conformance.audit.grammar.types import decimal_of
from conformance.audit.stored.data_file import DataFile
from conformance.audit.stored.places import SchemaPlace
from conformance.audit.stored.statistics.variants import wrong_variant_bounds

_ORDERED: Final = frozenset(
    {
        "byte", "short", "integer", "long", "float", "double", "date", "boolean", "string",
        "timestamp", "timestamp_ntz",
    }
)  # fmt: skip
_AFTER_A_PREFIX: Final = 2
"""Characters that a writer may put after the prefix that an upper bound is cut to."""

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_MILLISECOND: Final = timedelta(milliseconds=1)
_PLAIN_TYPES: Final = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
    pa.date64(): pa.date32(),
}
"""Types that Arrow may restore from its schema in a footer, to those that every kernel takes."""


def describes(stats: Mapping[str, Any], column: SchemaPlace) -> bool:
    """Return whether statistics say anything of a top-level column."""
    return any(value is not None for value in _nodes(stats, column))


def wrong_statistics(
    opened: DataFile, column: SchemaPlace, values: pa.ChunkedArray
) -> Iterator[Finding]:
    """Yield findings about bounds that do not bind and counts that do not count.

    Args:
        opened: the file.
        column: a top-level column whose stored type fits.
        values: all of its rows, deleted ones among them.
    """
    yield from _node(opened, column, values, _nodes(opened.stats, column))


def wrong_counts_of_absent(opened: DataFile, column: SchemaPlace) -> Iterator[Finding]:
    """Yield findings about counts of nulls in a top-level column, where the file lacks it."""
    if column.stored is None and column.misnamed is None and column.key not in opened.schema.names:
        yield from _absent(opened, column, _nodes(opened.stats, column)[2])


def _absent(opened: DataFile, place: SchemaPlace, stated: Any) -> Iterator[Finding]:
    if isinstance(stated, Mapping):
        for inner in place.inner:
            yield from _absent(opened, inner, _get(stated, inner.key))
        return
    nothing = pa.chunked_array([pa.nulls(opened.file.metadata.num_rows)])
    yield from _nulls(opened, place, nothing, stated)


def _nodes(stats: Mapping[str, Any], column: SchemaPlace) -> tuple[Any, Any, Any]:
    low, high, nulls = (_get(stats.get(kind), column.key) for kind in _KINDS)
    return low, high, nulls


def _get(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, Mapping) else None


def _node(
    opened: DataFile, place: SchemaPlace, values: pa.ChunkedArray, stated: tuple[Any, Any, Any]
) -> Iterator[Finding]:
    if all(value is None for value in stated):
        return
    if pa.types.is_struct(values.type) and place.declared != "variant":
        # All at once: to take one field out costs as much as the struct has fields.
        held = dict(zip(values.type.names, values.flatten(), strict=True))
        for inner in place.inner:
            low, high, nulls = (_get(node, inner.key) for node in stated)
            if inner.stored is not None:
                yield from _node(opened, inner, held[inner.stored.name], (low, high, nulls))
            elif inner.misnamed is None:
                yield from _absent(opened, inner, nulls)
        return
    yield from _nulls(opened, place, values, stated[2])
    if place.declared == "variant":
        yield from wrong_variant_bounds(opened, place, values, stated[:2])
    elif isinstance(place.declared, str):
        yield from _bounds(opened, place, opened.live(plain(values)), stated[:2])


def _nulls(
    opened: DataFile, place: SchemaPlace, values: pa.ChunkedArray, stated: Any
) -> Iterator[Finding]:
    """Compare a count of nulls; with a vector it may count the deleted rows as well."""
    if type(stated) is not int:
        return
    live = opened.live(values)
    held, left = values.null_count, live.null_count
    if opened.tight and stated not in ({held, left} if opened.deleted else {held}):
        message = f"column {place.name} has {held} nulls, nullCount says {stated}"
        yield finding("STAT-008", opened.path, message)
    elif not opened.tight and stated == 0 and left:
        message = f"nullCount of {place.name} is 0, and {left} valid rows are null"
        yield finding("STAT-010", opened.path, message)
    elif not opened.tight and stated == len(values) and left < len(live):
        message = f"nullCount of {place.name} is all {stated} rows, and some valid ones have values"
        yield finding("STAT-009", opened.path, message)


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values in the Arrow type of a Delta type: no dictionaries, views or nanoseconds."""
    of = values.type
    if pa.types.is_dictionary(of):
        values = values.cast(of.value_type)
        of = values.type
    if pa.types.is_timestamp(of) and of.unit == "ns":
        return values.cast(pa.timestamp("us", of.tz), safe=False)
    wanted = _PLAIN_TYPES.get(of)
    return values if wanted is None else values.cast(wanted)


_FAR_DATE: Final = re.compile(r"[+-]\d{4,9}-\d\d-\d\d")
"""Dates before year 1 and after 9999, which Python has none of."""

_NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")
"""How writers spell what JSON has no number for."""

_KINDS: Final = ("minValues", "maxValues", "nullCount")


def _bounds(
    opened: DataFile, column: SchemaPlace, values: pa.ChunkedArray, bounds: tuple[Any, Any]
) -> Iterator[Finding]:
    ordered = column.declared in _ORDERED or decimal_of(column.declared) is not None
    if not ordered or bounds == (None, None):
        return
    of_nan = opened.deleted is not None
    if pa.types.is_floating(values.type):
        nan = pc.is_nan(values)
        of_nan = of_nan or bool(pc.any(nan).as_py())
        values = values.filter(pc.invert(nan))
    tight = opened.tight
    # A file from before the type was widened keeps bounds in the digits of its own.
    declared = "float" if pa.types.is_float32(values.type) else column.declared
    for side, stated, actual in zip(_KINDS[:2], bounds, _span(values), strict=True):
        if stated is None or actual is None or _FAR_DATE.match(str(stated)):
            continue
        try:
            limit, value = _comparable(stated, actual, declared)
        except (ValueError, TypeError, ArithmeticError):
            message = f"{side} of {column.name} is {stated!r}, no value of type {column.declared}"
            yield finding("STAT-012", opened.path, message)
            continue
        slack = _MILLISECOND if isinstance(value, datetime) and side == "maxValues" else None
        broken = limit > value if side == "minValues" else _below(limit, value, slack)
        if broken:
            requirement = "STAT-012" if tight else "STAT-013"
            relation = "below" if side == "minValues" else "above"
            message = (
                f"{side} of {column.name} is {stated}, but the file has {actual}, {relation} it"
            )
            hint = _HINT_JULIAN if _of_old_days(opened, value) else _HINT_SKIPPING
            # Strings are cut off at a prefix: the text does not say that the greatest is raised,
            # nor whether they are in the order of UTF-8 or of UTF-16.
            cut = isinstance(value, str) and (
                (limit and value.startswith(limit)) or _reordered(limit, value)
            )
            yield finding(requirement, opened.path, message, hint, sure=not cut)
        elif tight and _loose(limit, value):
            message = f"{side} of {column.name} is {stated} under tight bounds, not {actual}"
            # A vector that came later leaves bounds of rows that went: it has to loosen them.
            # The text before tightBounds asks for bounds alone, so that who writes it is bound.
            # Whether NaN is above all numbers, no clause says; where no row has it, it is no value.
            bound = opened.deleted is not None or opened.stats.get("tightBounds") is True
            sure = bound and not (of_nan and stated == _NOT_FINITE[0])
            yield finding("STAT-012", opened.path, message, sure=sure)


_HINT_SKIPPING: Final = "readers that skip by statistics lose rows"
_HINT_JULIAN: Final = "the footer says that Spark wrote Julian dates, which Parquet does not have"
_LEGACY: Final = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
_GREGORIAN: Final = date(1582, 10, 15)


def _of_old_days(opened: DataFile, value: Any) -> bool:
    """Return whether a day is from before the Gregorian calendar, in a file with Julian days."""
    day = value.date() if isinstance(value, datetime) else value
    marked = not _LEGACY.isdisjoint(opened.file.metadata.metadata or ())
    return marked and isinstance(day, date) and day < _GREGORIAN


def _reordered(one: str, other: str) -> bool:
    """Return whether UTF-16 has two different strings in another order than UTF-8."""
    a, b = (text.encode("utf-16-be", "surrogatepass") for text in (one, other))
    return (one < other) != (a < b)


def _loose(limit: Any, value: Any) -> bool:
    """Return whether a bound that binds is no value of the file, nor cut off from one."""
    if isinstance(value, datetime):
        return bool(abs(limit - value) > _MILLISECOND)
    if isinstance(value, str):
        after = _AFTER_A_PREFIX if limit > value else 0
        return not value.startswith(limit[: len(limit) - after] if after else limit)
    return bool(limit != value)


def _span(values: pa.ChunkedArray) -> tuple[Any, Any]:
    """Return the least and the greatest value; nothing where Python has no such date."""
    span = pc.min_max(values)
    try:
        return span["min"].as_py(), span["max"].as_py()
    except (ValueError, OverflowError):
        return None, None


def _below(limit: Any, value: Any, slack: timedelta | None) -> bool:
    """Return whether an upper bound fails; timestamps may be cut to milliseconds."""
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
    text = isinstance(actual, str | date) or (isinstance(actual, Decimal) and is_decimal(stated))
    if isinstance(stated, str) != text or isinstance(stated, bool) != isinstance(actual, bool):
        raise ValueError(stated)
    match actual:
        case bool() | str():  # code points order like UTF-8 bytes
            return stated, actual
        case date() if not _DATE.match(stated):  # Python reads weeks and days without dashes
            raise ValueError(stated)
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
