"""File actions from the lines of commits, as Arrow columns.

Implements "Delta Log Entries" and "Add File and Remove File". Regular lines are read by Arrow's
JSON reader straight into columns. It is given the exact schema and fails on anything else; then
the lines are parsed one by one, which accepts all that the protocol allows and reports errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from reference_impl.errors import DeltaError, InvalidAction
from reference_impl.log.lines import Lines, parse_bodies
from reference_impl.model.file_actions import DELETION_VECTOR, FILE_ACTIONS, REQUIRED, from_objects
from reference_impl.model.file_actions import STRING_MAP as _MAP
from reference_impl.model.wire import LogPlace
from reference_impl.untrusted import load_json

_BLOCK: Final = 1 << 23
_LIMIT: Final = 1 << 30
_MIN_ARROW_LINES: Final = 64
"""Lines below which Arrow's reader is slower than parsing one by one."""
_SAMPLES: Final = 8
"""Lines that are sampled for their fields and map keys."""
_MAX_KEYS: Final = 32
"""Map keys at most: each becomes a column."""

_NOWHERE: Final = LogPlace("", 0)

_Rows: TypeAlias = npt.NDArray[np.int64]

Run: TypeAlias = tuple[LogPlace, Lines]
"""Lines of one commit, with its place."""


def from_lines(action: str, runs: Sequence[Run]) -> pa.Table:
    """Turn lines of one kind of file action into a table of its columns, in order.

    Raises:
        MalformedCommit: a line is not a JSON object with one action.
        InvalidAction: an action lacks a required field, or a field has a wrong type or range.
    """
    runs = [(place, lines) for place, lines in runs if lines]
    if not runs:
        return FILE_ACTIONS[action].none
    table = _read_with_arrow(action, [lines for _, lines in runs])
    if table is not None:
        return table
    bodies = [(parse_bodies(action, lines, place), place) for place, lines in runs]
    try:
        return from_objects(action, list(chain.from_iterable(each for each, _ in bodies)), _NOWHERE)
    except InvalidAction:
        # Parsed commit by commit, the error names the commit.
        return pa.concat_tables([from_objects(action, *body) for body in bodies])


def _read_with_arrow(action: str, parts: Sequence[Lines]) -> pa.Table | None:
    """Read lines by Arrow; ``None`` where they are few or one of them is irregular."""
    count = sum(map(len, parts))
    if count <= _MIN_ARROW_LINES or sum(len(lines.text) + 1 for lines in parts) >= _LIMIT:
        return None
    text = b"\n".join(lines.text for lines in parts)
    block = max(_BLOCK, 2 * max(lines.longest for lines in parts))
    # Most lines have the fields of a few, and columns of nulls are not free.
    tables = (_read_json(action, text, block, bare=bare) for bare in (True, False))
    found = (_checked(action, table, count, text) for table in tables if table is not None)
    return next((table for table in found if table is not None), None)


def _read_json(action: str, text: bytes, block: int, *, bare: bool) -> pa.Table | None:
    try:
        schema = _schema(action, _samples(action, text), bare=bare)
        table = pj.read_json(
            pa.BufferReader(text),
            read_options=pj.ReadOptions(block_size=block, use_threads=len(text) > block),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="error"
            ),
        )
    except (pa.ArrowException, DeltaError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return table if table.schema == schema else None


def _checked(action: str, table: pa.Table, count: int, text: bytes) -> pa.Table | None:
    """Return the columns of the actions in a table of lines; ``None`` for irregular lines."""
    # Objects that share a line or span lines would change the number of rows.
    columns = _columns(action, table[action]) if table.num_rows == count else None
    try:
        if not text.isascii():
            text.decode()  # Arrow takes any bytes for text.
        return None if columns is None else _reparse_rows(action, *columns, text)
    except (DeltaError, UnicodeDecodeError):
        return None


def _samples(action: str, text: bytes) -> list[dict[str, Any]]:
    """Parse a few lines from the first to the last."""
    begins = [len(text) * part // (_SAMPLES - 1) for part in range(_SAMPLES)]
    starts = dict.fromkeys(text.rfind(b"\n", 0, begin) + 1 for begin in begins)
    return [load_json(_line_at(text, start))[action] for start in starts]


def _line_at(text: bytes, start: int) -> bytes:
    end = text.find(b"\n", start)
    return text[start:end] if end >= 0 else text[start:]


def _schema(action: str, samples: Sequence[Mapping[str, Any]], *, bare: bool) -> pa.Schema:
    """Return the exact schema of regular lines; the keys of maps are those of the samples.

    ``bare`` leaves out the fields that no sample has.
    """
    fields = []
    for field in FILE_ACTIONS[action].schema:
        values = [value for sample in samples if (value := sample.get(field.name)) is not None]
        if bare and not values:
            continue
        data_type = field.type
        if data_type == _MAP:
            keys = dict.fromkeys(key for value in values for key in value)
            if len(keys) > _MAX_KEYS:
                raise ValueError(f"{len(keys)} keys are too many for a column each")
            data_type = pa.struct([pa.field(key, pa.string()) for key in keys])
        fields.append(pa.field(field.name, data_type))
    return pa.schema([pa.field(action, pa.struct(fields))])


def _columns(action: str, column: pa.ChunkedArray) -> tuple[pa.Table, _Rows] | None:
    """Return the columns of actions, and the rows that must be parsed one by one."""
    kind = FILE_ACTIONS[action]
    batches, ambiguous = [], [np.empty(0, np.int64)]
    start = 0
    for chunk in column.chunks:
        arrays = []
        given = dict(zip((field.name for field in chunk.type), chunk.flatten(), strict=True))
        for field in kind.schema:
            array = given.get(field.name)
            if array is None:
                array = pa.nulls(len(chunk), field.type)
            if field.name in kind.required and array.null_count:
                return None
            if field.type == _MAP and array.type != _MAP:
                ambiguous += [start + rows for rows in _ambiguous_rows(array)]
                array = _map(array)
            if field.type == DELETION_VECTOR and not _is_complete(array):
                return None
            arrays.append(array)
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=kind.schema))
        start += len(chunk)
    return pa.Table.from_batches(batches), np.unique(np.concatenate(ambiguous))


def _reparse_rows(action: str, table: pa.Table, rows: _Rows, text: bytes) -> pa.Table:
    """Parse the lines of some rows one by one, and put the result in their place."""
    if len(rows) == 0:
        return table
    every = text.split(b"\n")
    objects = parse_bodies(action, [every[row] for row in rows.tolist()], _NOWHERE)
    order = np.arange(table.num_rows)
    order[rows] = table.num_rows + np.arange(len(rows))
    both = pa.concat_tables([table, from_objects(action, objects, _NOWHERE)])
    return both.take(pa.array(order))


def _is_complete(vectors: pa.StructArray) -> bool:
    return all(vectors.field(name).null_count == vectors.null_count for name in REQUIRED)


def _ambiguous_rows(struct: pa.StructArray) -> Iterator[_Rows]:
    """Return the rows where a key of a map may be missing or null, which look alike in a struct."""
    for value in struct.flatten():
        if value.null_count > struct.null_count:
            mask = pc.and_(value.is_null(), struct.is_valid())
            yield np.flatnonzero(np.asarray(mask))


def _map(struct: pa.StructArray) -> pa.Array:
    """Turn an object whose keys are known into a map."""
    length, width = len(struct), struct.type.num_fields
    names = pa.array([field.name for field in struct.type], pa.string())
    values = pa.concat_arrays([names[:0], *struct.flatten()])
    order = np.arange(length * width).reshape(width, length).T.ravel()
    return pa.MapArray.from_arrays(
        pa.array(np.arange(length + 1) * width, pa.int32()),
        names.take(pa.array(np.tile(np.arange(width), length))),
        values.take(pa.array(order)),
        mask=struct.is_null(),
    )
