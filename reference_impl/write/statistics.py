"""Statistics of the rows of a data file (section Per-file Statistics).

A bound is only written where it holds and JSON can say it. Strings are cut to 32 characters,
the upper bound then raised to the next string; instants are cut to milliseconds, the upper
bound rounded up. A column with NaN has no upper bound, because NaN is greater than every other
number, and infinities have no JSON.

``numRecords`` is required of files with deletion vectors, and with row tracking or Iceberg
compatibility of every file that is added. Files of a table may lack it: another writer left it
out, or a checkpoint has no statistics.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Number
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.model.ranges import INT64
from reference_impl.places import decode_path
from reference_impl.scan.data_file import at_file
from reference_impl.snapshot.stats import Leaf, Structs, column_at, place_value
from reference_impl.snapshot.table_schema import TableSchema
from reference_impl.storage import Storage
from reference_impl.types.model import BOOLEAN, VOID
from reference_impl.untrusted import load_json, parse_json
from reference_impl.write.properties import INDEXED_COLUMNS, integer_property

PREFIX: Final = 32
"""Characters of a string that a bound keeps."""

_NAMES_PROPERTY: Final = "delta.dataSkippingStatsColumns"
_MILLISECOND: Final = timedelta(milliseconds=1)
_BEFORE_SURROGATES: Final = 0xD7FF
_AFTER_SURROGATES: Final = 0xE000


def is_bounded(leaf: Leaf) -> bool:
    """Return whether we write bounds of a column: not of truth values."""
    return leaf.has_bounds and leaf.type != BOOLEAN


def indexed_leaves(table: TableSchema, configuration: Mapping[str, str]) -> list[Leaf]:
    """Choose the columns that get statistics.

    ``delta.dataSkippingStatsColumns`` names them, else ``delta.dataSkippingNumIndexedCols``
    counts them from the left, 32 by default and all for a negative number.
    """
    found = [leaf for leaf in table.stored_leaves() if leaf.type != VOID]
    named = configuration.get(_NAMES_PROPERTY)
    if named is not None:
        return _named(found, named)
    count = integer_property(configuration, INDEXED_COLUMNS)
    return found if count < 0 else found[:count]


def _named(leaves: Sequence[Leaf], named: str) -> list[Leaf]:
    paths = {
        tuple(part.strip().strip("`") for part in name.split("."))
        for name in named.split(",")
        if name.strip()
    }
    return [leaf for leaf in leaves if any(leaf.path[: len(p)] == p for p in paths)]


def statistics_of(rows: pa.Table, columns: Iterable[Leaf]) -> dict[str, Any]:
    """Return the statistics of rows in the table's types, by physical names.

    Every number is an ``int``, ``float`` or ``Decimal``; see :func:`statistics_json`.
    """
    # Obeys STAT-007 STAT-012.
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    structs: Structs = {}
    for leaf in columns:
        values = column_at(rows, leaf.path, structs)
        place_value(nulls, leaf.physical, values.null_count)
        for tree, bound in zip((low, high), bounds_of(values, leaf), strict=True):
            if bound is not None:
                place_value(tree, leaf.physical, bound)
    return {"numRecords": rows.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}


def bounds_of(values: pa.ChunkedArray, leaf: Leaf) -> tuple[Any, Any]:
    """Return the bounds of values as statistics have them; ``None`` where there is none."""
    if not is_bounded(leaf) or values.null_count == len(values):
        return None, None
    found = pc.min_max(values)
    try:
        low, high = found["min"].as_py(), found["max"].as_py()
    except (ValueError, OverflowError):
        return None, None  # a date that Python does not have: better no bound than a wrong one
    match low:
        case float():
            low, high = _float_bounds(values, low, high)
        case str():
            low, high = low[:PREFIX], upper_prefix(high)
        case datetime():
            low, high = _instant(low, up=False), _instant(high, up=True)
        case date():
            low, high = low.isoformat(), high.isoformat()
    # Integers and decimals are written as they are.
    return low, high


def _float_bounds(values: pa.ChunkedArray, low: float, high: float) -> tuple[Any, Any]:
    has_nan = bool(pc.any(pc.is_nan(values)).as_py())
    # Both zeros are equal, so that either may have been found.
    low = -0.0 if low == 0 else low
    high = 0.0 if high == 0 else high
    return (
        low if math.isfinite(low) else None,
        high if math.isfinite(high) and not has_nan else None,
    )


def upper_prefix(text: str) -> str | None:
    """Return a string of at most 32 characters that is not less than ``text``.

    Where the text is longer, its prefix is raised at the last character that can be raised;
    ``None`` where none can.
    """
    if len(text) <= PREFIX:
        return text
    prefix = text[:PREFIX].rstrip(chr(sys.maxunicode))
    if not prefix:
        return None
    code = ord(prefix[-1])
    # Surrogates are no characters: the next one after them follows.
    following = _AFTER_SURROGATES if code == _BEFORE_SURROGATES else code + 1
    return prefix[:-1] + chr(following)


def _instant(value: datetime, *, up: bool) -> str | None:
    zone = value.tzinfo is not None
    plain = value.astimezone(UTC).replace(tzinfo=None) if zone else value
    spare = timedelta(microseconds=plain.microsecond % 1000)
    try:
        cut = plain - spare + (_MILLISECOND if up and spare else timedelta())
    except OverflowError:
        return None
    return cut.isoformat(timespec="milliseconds") + ("Z" if zone else "")


def statistics_json(statistics: Mapping[str, Any]) -> str:
    """Spell statistics as JSON; decimals as numbers with every digit."""
    # Obeys CM-017.
    return "".join(_json_parts(statistics))


def parse_exact(text: str | None) -> dict[str, Any] | None:
    """Parse statistics so that :func:`statistics_json` gives every digit back.

    Returns:
        ``None`` where the text is no JSON object; no text is an empty one.
    """
    try:
        found = parse_json(text or "{}")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _json_parts(value: Any) -> Iterator[str]:
    match value:
        case Mapping():
            yield "{"
            for number, (name, item) in enumerate(value.items()):
                yield f"{',' if number else ''}{json.dumps(name, ensure_ascii=False)}:"
                yield from _json_parts(item)
            yield "}"
        case Number():
            yield str(value) if value.is_finite() else "null"
        case _:
            yield json.dumps(value, ensure_ascii=False)


def num_records_of(stats: Any) -> int | None:
    """Return ``numRecords`` of statistics, ``None`` when it is absent or invalid."""
    try:
        records = load_json(stats)["numRecords"]
    except (KeyError, TypeError, ValueError):
        return None
    return records if records in INT64 and records >= 0 else None


def ensure_num_records(
    storage: Storage, adds: Sequence[dict[str, Any]], *, everywhere: bool
) -> list[dict[str, Any]]:
    """Complete ``numRecords`` in the statistics of add actions, from footers if need be.

    Args:
        storage: the table's storage.
        adds: bodies of add actions.
        everywhere: for all files, not only those with deletion vectors.

    Raises:
        DataFileNotFound: a file that lacks it does not exist.
        InvalidDataFile: its footer cannot be read.
    """
    # Obeys DVDESC-022.
    return [
        _with_num_records(storage, body)
        if (everywhere or body.get("deletionVector") is not None)
        and num_records_of(body.get("stats")) is None
        else body
        for body in adds
    ]


def _with_num_records(storage: Storage, body: Mapping[str, Any]) -> dict[str, Any]:
    path = decode_path(str(body["path"]))
    with at_file(path), storage.open_input(path) as source:
        rows = pq.read_metadata(source).num_rows
    statistics = {**(parse_exact(body.get("stats")) or {}), "numRecords": rows}
    if body.get("deletionVector") is not None:
        statistics["tightBounds"] = False
    return {**body, "stats": statistics_json(statistics)}
