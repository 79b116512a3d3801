"""Typed copies of statistics and partition values against their texts.

Covers "Checkpoint Schema": ``stats_parsed`` and ``partitionValues_parsed``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal

from conformance.audit.checks.values import leaves
from conformance.audit.grammar.types import BITS, decimal_of
from conformance.audit.read.layout import Layout
from conformance.audit.read.raw import mapping_in

_KINDS: Final = ("minValues", "maxValues", "nullCount")
_GLOBAL: Final = ("numRecords", "tightBounds")


def _single(number: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return number


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _day(text: str) -> tuple[int, ...]:
    """Return year, month and day, of any number of digits: Python's dates end with 9999."""
    sign, year = ("-", text[1:]) if text.startswith("-") else ("", text)
    first, *others = map(int, year.split("-"))
    return (-first if sign else first), *others


def _same_number(text: Any, typed: Any) -> bool:
    a, b = float(text), float(typed)
    return a == b or _single(a) == _single(b) or (math.isnan(a) and math.isnan(b))


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    **dict.fromkeys(BITS, lambda text, typed: int(text) == int(typed)),
    **dict.fromkeys(("float", "double"), _same_number),
    **dict.fromkeys(
        ("timestamp", "timestamp_ntz"),
        lambda text, typed: _moment(str(text)) == _moment(str(typed)),
    ),
    "string": lambda text, typed: str(text) == str(typed),
    "date": lambda text, typed: _day(str(text)) == _day(str(typed)),
    "boolean": lambda text, typed: str(text).lower() == str(typed).lower(),
    "decimal": lambda text, typed: Decimal(str(text)) == Decimal(str(typed)),
}


def same_value(text: Any, typed: Any, declared: str) -> bool:
    """Return whether a value from JSON or of a partition is the one of a typed column.

    What cannot be converted to one kind is passed over: other checks judge the text.
    """
    same = _COMPARISONS.get("decimal" if decimal_of(declared) else declared)
    try:
        return same is None or same(text, typed)
    except (ValueError, ArithmeticError, TypeError):
        return True


def same_partition_value(text: Any, typed: Any, declared: str) -> bool:
    """Return whether a typed copy of a partition value can be what its text says."""
    return same_value(text, typed, declared) or (
        declared == "timestamp" and not _zoned(text) and _within_zones(text, typed)
    )


def respelled_partition_value(one: Any, other: Any, declared: str) -> bool:
    """Return whether two texts can be one partition value; see :func:`respelled`."""
    return respelled(one, other, declared) or (
        declared == "timestamp" and _zoned(one) != _zoned(other) and _within_zones(one, other)
    )


def _zoned(text: Any) -> bool:
    """Return whether a text says in which zone it is, or is no moment at all.

    A partition value without zone is in that of the system that wrote it, which no log names.
    """
    try:
        return datetime.fromisoformat(str(text)).tzinfo is not None
    except ValueError:
        return True


def _within_zones(one: Any, other: Any) -> bool:
    """Return whether two texts are moments that can be one in zones that are not known."""
    try:
        return abs(_moment(str(one)) - _moment(str(other))) <= _OFFSET
    except ValueError:  # other checks judge the text
        return False


_OFFSET: Final = timedelta(hours=18)
"""How far a zone may be from UTC, local mean times of the past among them."""


def comparable(value: Any) -> Any:
    """Bring a value to a form in which equal things are equal: without nulls, numbers by value."""
    if isinstance(value, Mapping):
        return {k: comparable(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    return value


def respelled(one: Any, other: Any, declared: str) -> bool:
    """Return whether two texts, or values from JSON, are known to be one value of a type."""
    # Of a double, unlike of a copy by type, no digit may be lost.
    exact = declared == "double" or decimal_of(declared)
    same = _COMPARISONS.get("decimal" if exact else declared)
    try:
        return same is not None and same(one, other)
    except (ValueError, ArithmeticError, TypeError):
        return False


def compare_statistics(
    stats: Mapping[str, Any], held: Mapping[str, Any], layout: Layout
) -> Literal["same", "part", "other"]:
    """Return how statistics relate to others, though values in them may be written differently.

    Args:
        stats: those of the log.
        held: those of a summary; ``part`` where they say less of columns, and nothing otherwise.
        layout: of the version.
    """
    a, b = comparable(stats), comparable(held)
    if a == b:
        return "same"
    if any(a.get(name) != b.get(name) for name in (a.keys() | b.keys()) - {*_KINDS}):
        return "other"
    types = {column.physical: str(column.type) for column in layout.columns}
    less = False
    for kind in _KINDS:
        left, right = (dict(leaves(each.get(kind))) for each in (a, b))
        if right.keys() - left.keys():
            return "other"
        less = less or len(right) < len(left)
        for path, value in right.items():
            if value != left[path] and not respelled(left[path], value, types.get(path, "")):
                return "other"
    return "part" if less else "same"


def _same_bound(text: Any, typed: Any, declared: str) -> bool:
    """Compare as :func:`same_value` does, times but for what is cut off below milliseconds."""
    if declared in _TIMES:
        try:
            return abs(_moment(str(text)) - _moment(str(typed))) < _MILLISECOND
        except (ValueError, ArithmeticError):
            return True
    return same_value(text, typed, declared)


_TIMES: Final = ("timestamp", "timestamp_ntz")
_MILLISECOND: Final = timedelta(milliseconds=1)


def is_stated(parsed: Any) -> bool:
    """Return whether ``stats_parsed`` says anything, as a struct of nulls does not."""
    return any(True for _ in leaves(parsed))


def wrong_statistics(
    stats: Mapping[str, Any], parsed: Mapping[str, Any], layout: Layout
) -> Iterator[str]:
    """Yield messages where ``stats_parsed`` says another thing than the statistics of the log."""
    for name in _GLOBAL:
        if None not in (stats.get(name), parsed.get(name)) and stats[name] != parsed[name]:
            yield f"stats_parsed.{name} is {parsed[name]}, the log says {stats[name]}"
    if stats.get("numRecords") is not None and parsed.get("numRecords") is None:
        yield f"stats_parsed has no numRecords, the log says {stats['numRecords']}"
    if stats.get("tightBounds") is False and parsed.get("tightBounds") is None:
        yield "stats_parsed has no tightBounds, so that bounds count as exact; the log says false"
    for kind in _KINDS:
        held = dict(leaves(stats.get(kind)))
        for path, value in leaves(parsed.get(kind)):
            column = layout.by_physical.get(path)
            declared = "long" if kind == "nullCount" else column and column.type
            if not isinstance(declared, str):
                continue
            name = f"stats_parsed.{kind}.{'.'.join(path)}"
            if path not in held and not _is_no_number(value):
                yield f"{name} is {value}, the log says nothing of it"
            elif path in held and not _same_bound(held[path], value, declared):
                yield f"{name} is {value}, the log says {held[path]}"


def _is_no_number(value: Any) -> bool:
    """Return whether JSON has no number for a value, so that a text may leave it out."""
    return isinstance(value, float) and not math.isfinite(value)


def left_out(stats: Mapping[str, Any], parsed: Mapping[str, Any], layout: Layout) -> Iterator[str]:
    """Yield statistics that ``stats_parsed`` does not have, though it has room for them.

    A table may say which columns have statistics, and in a wide one not all have them. Values
    that have several texts are passed over: a writer may not read the text that is there.
    """
    leafs = {
        each.physical: each
        for each in layout.columns
        if each.reachable
        and not (isinstance(each.type, dict) and each.type.get("type") == "struct")
    }
    chosen = len(leafs) > _INDEXED or any(name in layout.properties for name in _CHOOSING)
    if chosen or any(misnamed({"stats_parsed": parsed}, layout, stats)):
        return  # what has other names is reported
    for kind in _KINDS:
        held = dict(leaves(parsed.get(kind)))
        for path, _ in leaves(stats.get(kind)):
            column = leafs.get(path)
            if column is not None and str(column.type) in _PLAIN_TYPES and path not in held:
                yield f"{kind}.{column.name}"


_INDEXED: Final = 32
"""Columns that have statistics where the table does not say which."""

_CHOOSING: Final = ("delta.dataSkippingNumIndexedCols", "delta.dataSkippingStatsColumns")
_PLAIN_TYPES: Final = frozenset({*BITS, "string", "date"})


def wrong_partition_values(
    texts: Mapping[str, Any], parsed: Mapping[str, Any], layout: Layout
) -> Iterator[str]:
    """Yield messages where ``partitionValues_parsed`` differs from ``partitionValues``.

    A field of no partition column is one that clients pass over.
    """
    for name, column in layout.partition_columns.items():
        if name not in parsed or column is None or not isinstance(column.type, str):
            continue
        text, value = texts.get(name) or None, parsed[name]
        if column.type == "string" and value == "":
            continue  # an empty text and null are distinguished by some
        if (text is None) != (value is None) or (
            text is not None and not same_partition_value(text, value, column.type)
        ):
            yield f"partitionValues_parsed.{name} is {value!r}, the text is {text!r}"


def misnamed(
    body: Mapping[str, Any], layout: Layout, stats: Mapping[str, Any] | None
) -> Iterator[tuple[str, str]]:
    """Yield requirement and message for typed copies that are not keyed by physical names."""
    if layout.mode == "none":
        return
    columns = {each.physical: each.path for each in layout.columns}
    parsed = body.get("stats_parsed")
    found = [
        (node, "CKSCH-013", f"stats_parsed.{kind}")
        for kind in _KINDS
        if isinstance(parsed, Mapping) and isinstance(node := parsed.get(kind), Mapping)
    ]
    values = body.get("partitionValues_parsed")
    if isinstance(values, Mapping):
        found.append((values, "CKSCH-012", "partitionValues_parsed"))
    for node, requirement, what in found:
        kept = mapping_in(stats, what.rpartition(".")[2])  # by a name that the log has as well
        wrong = next((x for x in _logical_names(node, (), columns, layout) if x not in kept), None)
        if wrong is not None:
            yield requirement, f"{what} is keyed by the logical name {wrong}"
        elif requirement == "CKSCH-013" and stats is not None:
            kind = what.rpartition(".")[2]
            if (other := _unknown_name(node, stats.get(kind), columns)) is not None:
                yield requirement, f"{what} is keyed by {other}, which is no physical name"


def _unknown_name(
    node: Mapping[str, Any], texts: Any, columns: Mapping[tuple[str, ...], tuple[str, ...]]
) -> str | None:
    """Return a name of no column that stands where a column of the statistics is missing.

    One that is neither in the schema nor in the statistics is that of no dropped column either.
    """
    if not isinstance(texts, Mapping):
        return None
    missing = any((name,) in columns and node.get(name) is None for name in texts)
    others = (name for name in node if node[name] is not None and (name,) not in columns)
    return next((name for name in others if missing and name not in texts), None)


def _logical_names(
    node: Mapping[str, Any],
    above: tuple[str, ...],
    columns: Mapping[tuple[str, ...], tuple[str, ...]],
    layout: Layout,
) -> Iterator[str]:
    """Yield the columns that a tree, keyed by physical names, has by their logical ones.

    Args:
        node: the tree below a column.
        above: the physical path of that column; empty for the root.
        columns: physical path of each column to the logical one.
        layout: has the columns.
    """
    for key, child in node.items():
        path, logical = (*above, str(key)), (*columns.get(above, ()), str(key))
        if path not in columns and logical in layout.by_path:
            yield ".".join(logical)
        elif isinstance(child, Mapping):
            yield from _logical_names(child, path, columns, layout)
