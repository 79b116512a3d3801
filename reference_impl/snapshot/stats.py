"""Statistics of files: JSON text in the log, typed Arrow columns here.

Implements "Per-file Statistics".

Statistics are optional: one that is absent, of the wrong type or outside of its
type's range is unknown, and so is every statistic of a text that is not JSON. Columns are found
by physical name and given by logical path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from reference_impl.errors import LimitExceeded
from reference_impl.limits import budget
from reference_impl.model.column_mapping import Mode, physical_name
from reference_impl.storage.threads import MAX_THREADS, in_order
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    Decimal,
    Struct,
)
from reference_impl.types.temporal import parse_date, parse_timestamp
from reference_impl.untrusted import decimal_of, parse_json

_BATCH = 1 << 16
"""Texts that are parsed at a time."""

_JSON_TYPES: Mapping[DataType, pa.DataType] = {
    **dict.fromkeys(INTEGERS, pa.int64()),
    **dict.fromkeys((FLOAT, DOUBLE), pa.float64()),
    **dict.fromkeys((STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ), pa.string()),
    BOOLEAN: pa.bool_(),
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column that can have statistics: every column that is not a struct.

    Attributes:
        path: logical names from the table's root.
        physical: physical names from the table's root: its keys in statistics.
        type: its type.
    """

    path: tuple[str, ...]
    physical: tuple[str, ...]
    type: DataType

    @property
    def has_bounds(self) -> bool:
        """Whether values of the type have a minimum and a maximum in JSON."""
        return self.type in _JSON_TYPES or isinstance(self.type, Decimal)


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of one column, an item per file, null where unknown.

    Attributes:
        minimum: in the column's type; strings may be cut, timestamps are cut to milliseconds.
        maximum: as above.
        null_count: rows that are null.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of files, an item per file, null where unknown.

    Attributes:
        records: physical rows of the data file.
        tight: whether bounds are exact; null counts as true.
        columns: by logical path.
    """

    records: pa.Array
    tight: pa.Array
    columns: Mapping[tuple[str, ...], ColumnStatistics]


def leaves(schema: Struct, mode: Mode) -> Iterator[Leaf]:
    """Return the columns of a schema that can have statistics, in order."""
    for column in schema.fields:
        name, stored = (column.name,), (physical_name(column, mode),)
        if isinstance(column.type, Struct):
            for leaf in leaves(column.type, mode):
                yield Leaf(name + leaf.path, stored + leaf.physical, leaf.type)
        else:
            yield Leaf(name, stored, column.type)


def parse_statistics(texts: pa.ChunkedArray, wanted: Sequence[Leaf]) -> Statistics:
    """Parse the statistics of files.

    Args:
        texts: the ``stats`` of file actions.
        wanted: the columns whose statistics to give; the others are not parsed.
    """
    schema = _json_schema(wanted)
    batches = [texts.slice(start, _BATCH) for start in range(0, len(texts), _BATCH)]
    threads = min(len(batches), MAX_THREADS)
    parts = in_order(lambda batch: _parse(batch, schema), batches, threads)
    parsed = pa.concat_tables([schema.empty_table(), *parts])
    columns = {}
    structs: Structs = {}

    def pick(*path: str) -> pa.Array:
        return column_at(parsed, path, structs).combine_chunks()

    for leaf in wanted:
        count = pick("nullCount", *leaf.physical)
        if leaf.has_bounds:
            low = _typed(pick("minValues", *leaf.physical), leaf.type)
            high = _typed(pick("maxValues", *leaf.physical), leaf.type)
        else:
            low = high = pa.nulls(len(parsed), arrow_type(leaf.type))
        columns[leaf.path] = ColumnStatistics(low, high, count)
    return Statistics(pick("numRecords"), pick("tightBounds"), columns)


def to_struct(statistics: Statistics) -> pa.StructArray:
    """Return statistics as one struct per file, nested like the schema, by logical names."""
    nested: dict[str, Any] = {"minValues": {}, "maxValues": {}, "nullCount": {}}
    for path, column in statistics.columns.items():
        parts = (column.minimum, column.maximum, column.null_count)
        for name, values in zip(nested, parts, strict=True):
            if not pa.types.is_nested(values.type):
                place_value(nested[name], path, values)
    tree = {"numRecords": statistics.records, "tightBounds": statistics.tight}
    return nested_struct({**tree, **{name: inner for name, inner in nested.items() if inner}})


def place_value(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Put a value into nested dictionaries at a path."""
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def nested_struct(tree: Mapping[str, Any]) -> pa.StructArray:
    """Make a struct of arrays that are in nested dictionaries."""
    arrays = [nested_struct(item) if isinstance(item, dict) else item for item in tree.values()]
    return pa.StructArray.from_arrays(arrays, names=list(tree))


def _json_schema(wanted: Sequence[Leaf]) -> pa.Schema:
    bounds: dict[str, Any] = {}
    counts: dict[str, Any] = {}
    for leaf in wanted:
        place_value(counts, leaf.physical, pa.int64())
        if leaf.has_bounds:
            of = leaf.type
            kind = arrow_type(of) if isinstance(of, Decimal) else _JSON_TYPES[of]
            place_value(bounds, leaf.physical, kind)
    fields = {"numRecords": pa.int64(), "tightBounds": pa.bool_()}
    for name, tree in (("minValues", bounds), ("maxValues", bounds), ("nullCount", counts)):
        if tree:
            fields[name] = _nested_type(tree)
    return pa.schema(fields)


def _nested_type(tree: Mapping[str, Any]) -> pa.DataType:
    return pa.struct(
        [
            (name, _nested_type(item) if isinstance(item, dict) else item)
            for name, item in tree.items()
        ]
    )


def _parse(texts: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """Parse a batch as a whole; one by one when a text in it is not as it ought to be."""
    given = pa.concat_arrays(texts.chunks)
    unknown = pc.or_(
        pc.equal(given, ""), pc.greater(pc.binary_length(given), budget().limits.statistics)
    )
    empty = pc.fill_null(unknown, True)  # noqa: FBT003  a value
    filled = pc.if_else(empty, "{}", given)
    whole = pa.ListArray.from_arrays(pa.array([0, len(filled)], pa.int32()), filled)
    lines = pc.binary_join(whole, "\n")[0].as_buffer()
    feeds = np.count_nonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
    if feeds != len(filled) - 1 or not pc.all(pc.starts_with(filled, "{")).as_py():
        # A line that is no object, or a text of several lines, would shift what follows.
        return _parse_singly(filled, schema)
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    reading = pj.ReadOptions(use_threads=False, block_size=max(lines.size, 1) + 1)
    try:
        parsed = pj.read_json(pa.BufferReader(lines), parse_options=options, read_options=reading)
        if len(parsed) == len(filled) and parsed.schema.equals(schema):
            return parsed
    except (pa.ArrowException, UnicodeDecodeError):
        pass
    return _parse_singly(filled, schema)


def _parse_singly(texts: pa.Array, schema: pa.Schema) -> pa.Table:
    rows = [_document(text) for text in texts.to_pylist()]
    return pa.table(
        [pa.array([_fit(r.get(f.name), f.type) for r in rows], f.type) for f in schema],
        schema=schema,
    )


def _document(text: str) -> Mapping[str, Any]:
    try:
        found = parse_json(text)
    except (ValueError, LimitExceeded):
        return {}
    return found if isinstance(found, dict) else {}


def _fit(value: Any, of: pa.DataType) -> Any:
    """Return a JSON value if it fits a type, else ``None``."""
    if pa.types.is_struct(of):
        inside = value if isinstance(value, dict) else {}
        return {f.name: _fit(inside.get(f.name), f.type) for f in of}
    if isinstance(value, bool) is not pa.types.is_boolean(of):
        return None
    try:
        if pa.types.is_decimal(of) and isinstance(value, int | str):
            value = decimal_of(value) if isinstance(value, str) else Number(value)
        if pa.types.is_floating(of) and isinstance(value, int | Number | str):
            value = float(value)
        return pa.scalar(value, of).as_py()
    except (pa.ArrowException, ValueError, TypeError, ArithmeticError, LimitExceeded):
        return None


Structs: TypeAlias = dict[tuple[str, ...], dict[str, pa.ChunkedArray]]
"""Path of each struct to its fields, null where the struct is."""


def column_at(rows: pa.Table, path: tuple[str, ...], structs: Structs) -> pa.ChunkedArray:
    """Return a column, which may be within structs.

    Args:
        rows: the columns.
        path: names from the top level down.
        structs: the structs that were taken apart so far, which it adds to: to take fields out
            one by one costs the square of them.
    """
    if len(path) == 1:
        return rows.column(path[0])
    above = path[:-1]
    if above not in structs:
        values = column_at(rows, above, structs)
        structs[above] = dict(zip(values.type.names, values.flatten(), strict=True))
    return structs[above][path[-1]]


def _typed(values: pa.Array, of: DataType) -> pa.Array:
    target = arrow_type(of)
    if of in (FLOAT, DOUBLE):
        # A bound printed with few digits must compare as the value that it denotes.
        values = values.cast(target, safe=False)
        return pc.if_else(pc.is_nan(values), None, values)
    if of not in _PARSERS:
        return values
    try:
        return values.cast(target)
    except pa.ArrowInvalid:
        stored, parse = _PARSERS[of]
        return pa.array([_or_none(parse, t) for t in values.to_pylist()], stored).view(target)


def _instant(text: str) -> int:
    if not text.endswith("Z") and "+" not in text[10:] and "-" not in text[10:]:
        raise ValueError(f"{text!r} has no zone, so that its instant is unknown")
    return parse_timestamp(text, zone=True)


_PARSERS: Mapping[DataType, tuple[pa.DataType, Callable[[str], int]]] = {
    DATE: (pa.int32(), parse_date),
    TIMESTAMP: (pa.int64(), _instant),
    TIMESTAMP_NTZ: (pa.int64(), lambda text: parse_timestamp(text, zone=False)),
}
"""Types of bounds that are text: the number that stands for a value, and how it is parsed."""


def _or_none(parse: Callable[[str], int], text: str | None) -> int | None:
    try:
        return None if text is None else parse(text)
    except ValueError:
        return None
