"""File actions from the lines of commits, as Arrow columns.

Serves "Delta Log Entries" and "Add File and Remove File". Regular lines are read by Arrow's
JSON reader straight into columns. It is given the exact schema and errs on anything else; what
it does not take is read once more by the general way, which accepts all that the protocol
allows and words the error for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import orjson
import pyarrow as pa
import pyarrow.json as pj

from reference_impl.actions import SMALL_ACTIONS
from reference_impl.commit_lines import Lines
from reference_impl.errors import MalformedCommit
from reference_impl.file_actions import DELETION_VECTOR, FILE_ACTIONS, REQUIRED, from_objects
from reference_impl.file_actions import STRING_MAP as _MAP
from reference_impl.wire import Place

__all__ = ["Run", "from_lines", "known_actions", "parse_body"]

_BLOCK: Final = 1 << 23
_LIMIT: Final = 1 << 30
_FEW: Final = 64
"""Lines for which setting up Arrow's reader takes longer than the general way."""
_KNOWN: Final = SMALL_ACTIONS.keys() | FILE_ACTIONS.keys()

Run: TypeAlias = tuple[Place, Lines]
"""Lines of one commit, with its place."""


def from_lines(action: str, runs: Sequence[Run]) -> pa.Table:
    """Turn lines of one kind of file action into a table of its columns, in order.

    Raises:
        MalformedCommit: a line is not a JSON object with one action.
        InvalidAction: an action lacks a required field, or a field has a wrong type or range.

    """
    table = _fast(action, [lines for _, lines in runs if lines])
    if table is not None:
        return table
    tables = [
        from_objects(action, [parse_body(action, line, place) for line in lines], place)
        for place, lines in runs
    ]
    return pa.concat_tables([FILE_ACTIONS[action].schema.empty_table(), *tables])


def known_actions(line: Mapping[str, Any]) -> dict[str, Any]:
    """Give the actions on a line by wire name, without unknown ones, which are ignored."""
    return {name: value for name, value in line.items() if value is not None and name in _KNOWN}


def parse_body(action: str, line: bytes, place: Place) -> Any:
    """Give the JSON value of the one action on a line.

    Raises:
        MalformedCommit: the line is not a JSON object with one action.

    """
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        problem = f"a line is not JSON: {error}: {line[:80].decode(errors='replace')}"
    else:
        actions = known_actions(found)
        if actions.keys() == {action}:
            return actions[action]
        problem = f"a line has more than one action: {', '.join(actions)}"
    raise MalformedCommit(problem, path=place.path, version=place.version)


def _fast(action: str, parts: Sequence[Lines]) -> pa.Table | None:
    """Read lines by Arrow; ``None`` when one of them is anything but regular, or few are there."""
    size = sum(len(lines.text) + 1 for lines in parts)
    every = Lines(b"", sum(map(len, parts)), max((lines.longest for lines in parts), default=0))
    if every.count <= _FEW or size >= _LIMIT:
        return None
    every = replace(every, text=b"\n".join(lines.text for lines in parts))
    # Most lines have the fields of the first, and columns of nothing but nulls are not free.
    table = _read(action, every, bare=True)
    return table if table is not None else _read(action, every, bare=False)


def _read(action: str, lines: Lines, *, bare: bool) -> pa.Table | None:
    text = lines.text
    block = max(_BLOCK, 2 * lines.longest)
    try:
        if not text.isascii():
            text.decode()  # Arrow takes any bytes for text.
        schema = _schema(action, text[: text.index(b"\n")], bare=bare)
        table = pj.read_json(
            pa.BufferReader(text),
            read_options=pj.ReadOptions(block_size=block, use_threads=len(text) > block),
            parse_options=pj.ParseOptions(
                explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="error"
            ),
        )
        # Objects that share a line or span lines would change the number of rows.
        regular = table.num_rows == len(lines) and table.schema == schema
        return _columns(action, table[action]) if regular else None
    except (pa.ArrowException, ValueError, TypeError, KeyError, AttributeError):
        return None


def _schema(action: str, line: bytes, *, bare: bool) -> pa.Schema:
    """Give the exact schema of regular lines; the keys of maps are those of the first line.

    ``bare`` leaves out the fields that the first line does not have.
    """
    first = orjson.loads(line)[action]
    fields = []
    for field in FILE_ACTIONS[action].schema:
        if bare and first.get(field.name) is None:
            continue
        data_type = field.type
        if data_type == _MAP:
            keys = (first.get(field.name) or {}).keys()
            data_type = pa.struct([pa.field(key, pa.string()) for key in keys])
        fields.append(pa.field(field.name, data_type))
    return pa.schema([pa.field(action, pa.struct(fields))])


def _columns(action: str, column: pa.ChunkedArray) -> pa.Table | None:
    kind = FILE_ACTIONS[action]
    batches = []
    for chunk in column.chunks:
        arrays = []
        given = dict(zip((field.name for field in chunk.type), chunk.flatten(), strict=True))
        for field in kind.schema:
            array = given.get(field.name)
            if array is None:
                array = pa.nulls(len(chunk), field.type)
            if field.name in kind.required and array.null_count:
                return None
            converted = _converted(array, field.type)
            if converted is None:
                return None
            arrays.append(converted)
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=kind.schema))
    return pa.Table.from_batches(batches, schema=kind.schema)


def _converted(array: pa.Array, target: pa.DataType) -> pa.Array | None:
    if array.type == target and target != DELETION_VECTOR:
        return array
    if target == _MAP:
        return _map(array)
    if target == DELETION_VECTOR:
        for name in REQUIRED:
            if array.field(name).null_count != array.null_count:
                return None
    return array


def _map(struct: pa.StructArray) -> pa.Array | None:
    """Turn an object whose keys are known into a map; ``None`` where a key may be missing.

    A key with a null value and an absent one look alike in a struct.
    """
    length, width = len(struct), struct.type.num_fields
    if struct.null_count == length:
        return pa.nulls(length, _MAP)
    values = struct.flatten()
    if struct.null_count or any(value.null_count for value in values):
        return None
    offsets = pa.arange(0, length * width + 1, width) if width else pa.repeat(0, length + 1)
    keys = pa.array([field.name for field in struct.type] * length, pa.string())
    return pa.MapArray.from_arrays(offsets.cast(pa.int32()), keys, _interleaved(values, length))


def _interleaved(values: Sequence[pa.Array], length: int) -> pa.Array:
    width = len(values)
    if width < 2:
        return values[0] if values else pa.array([], pa.string())
    order = [row + part * length for row in range(length) for part in range(width)]
    return pa.concat_arrays(values).take(pa.array(order, pa.int64()))
