"""Convert the file action columns of a checkpoint to the columns of the log.

Implements "Checkpoint Schema". Writers differ in string, map and integer widths; statistics may be
present only as a struct, which is converted to the JSON text that a commit would hold.
"""

from __future__ import annotations

import functools
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidAction
from reference_impl.model.file_actions import DELETION_VECTOR, FILE_ACTIONS, REQUIRED
from reference_impl.model.wire import LogPlace
from reference_impl.types.text import refuse_bad_text

_FAMILIES: Final = (
    (pa.types.is_integer, "an integer"),
    (pa.types.is_boolean, "a boolean"),
    (lambda t: t in (pa.string(), pa.large_string()), "a string"),
    (pa.types.is_map, "a map from string to string"),
    (pa.types.is_struct, "a struct"),
)


def file_actions_of(column: pa.Array, action: str, place: LogPlace) -> pa.RecordBatch:
    """Return the non-null rows of an action's struct column in the columns of its schema.

    Raises:
        InvalidAction: a required field is null, or a field has a wrong type or range.
    """
    kind = FILE_ACTIONS[action]
    if not pa.types.is_struct(column.type):
        raise place.error(InvalidAction, f"{action} is not a struct", action=action)
    present = column.drop_null()
    fields = dict(zip((field.name for field in present.type), present.flatten(), strict=True))
    arrays = []
    for field in kind.schema:
        array = _field(fields.get(field.name), field, action, len(present), place)
        if field.name in kind.required and array.null_count:
            requirement = kind.required[field.name]
            message = f"{action}.{field.name} is missing"
            raise place.error(InvalidAction, message, action=action, requirement=requirement)
        arrays.append(array)
    if action == "add":
        position = kind.schema.get_field_index("stats")
        arrays[position] = _statistics(arrays[position], fields.get("stats_parsed"))
    try:
        for array in arrays:
            refuse_bad_text(array)
    except pa.ArrowException as error:
        message = f"{action} cannot be read: {error}"
        raise place.error(InvalidAction, message, action=action) from None
    return pa.RecordBatch.from_arrays(arrays, schema=kind.schema)


def _field(
    array: pa.Array | None, field: pa.Field, action: str, length: int, place: LogPlace
) -> pa.Array:
    if array is None or pa.types.is_null(array.type):
        # Obeys CKC-011.
        return pa.nulls(length, field.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    family, expected = next((test, name) for test, name in _FAMILIES if test(field.type))
    if not family(array.type):
        message = f"{action}.{field.name} is not {expected}"
        raise place.error(InvalidAction, message, action=action)
    try:
        if field.type == DELETION_VECTOR:
            return _vectors(array, action, place)
        array = array.cast(field.type)
        return _last_values(array) if pa.types.is_map(field.type) else array
    except (pa.ArrowException, OverflowError) as error:
        message = f"{action}.{field.name} is not {expected} of its range: {error}"
        raise place.error(InvalidAction, message, action=action) from None


_FEW_KEYS: Final = 64
"""Different keys of all maps up to which a table of what each map holds is faster than to sort."""


def _last_values(maps: pa.MapArray) -> pa.MapArray:
    """Keep the last value of a key that a map holds more than once.

    Parquet's definition of its type MAP lets that one count.
    """
    bounds = maps.offsets.to_numpy()
    start, held = int(bounds[0]), int(bounds[-1] - bounds[0])
    counts, keys = np.diff(bounds), maps.keys.slice(start, held)
    widest = int(counts.max(initial=0))
    if widest < 2 or keys.null_count:  # a null key is refused with the text of the map
        return maps
    codes = keys.dictionary_encode().indices.to_numpy()
    if (counts == widest).all():
        # Maps of one table mostly have the same keys in the same order: one is enough to look at.
        table = codes.reshape(-1, widest)
        if (table == table[0]).all() and len(np.unique(table[0])) == widest:
            return maps
    rows = np.repeat(np.arange(len(counts)), counts)
    names = int(codes.max()) + 1
    pairs = rows * names + codes
    if names <= _FEW_KEYS:
        seen = np.zeros(len(counts) * names, np.bool_)
        seen[pairs] = True
        distinct = int(np.count_nonzero(seen))
    else:
        distinct = len(np.unique(pairs))
    if distinct == held:
        return maps
    _, backwards = np.unique(pairs[::-1], return_index=True)
    kept = np.sort(held - 1 - backwards)
    ends = np.cumsum(np.bincount(rows[kept], minlength=len(counts)))
    return pa.MapArray.from_arrays(
        pa.array(np.concatenate(([0], ends)), pa.int32()),
        keys.take(pa.array(kept)),
        maps.items.slice(start, held).take(pa.array(kept)),
        type=maps.type,
        mask=maps.is_null(),
    )


def _vectors(array: pa.StructArray, action: str, place: LogPlace) -> pa.Array:
    array = _without_empty(array)
    given = dict(zip((f.name for f in array.type), array.flatten(), strict=True))
    children = []
    for field in DELETION_VECTOR:
        child = _field(given.get(field.name), field, f"{action}.deletionVector", len(array), place)
        if field.name in REQUIRED and pc.any(pc.and_(child.is_null(), array.is_valid())).as_py():
            message = f"{action}.deletionVector.{field.name} is missing"
            requirement = REQUIRED[field.name]
            raise place.error(InvalidAction, message, action=action, requirement=requirement)
        children.append(child)
    return pa.StructArray.from_arrays(children, fields=list(DELETION_VECTOR), mask=array.is_null())


def _without_empty(vectors: pa.StructArray) -> pa.StructArray:
    """Read a descriptor without values as null: some writers write null structs so."""
    if vectors.null_count == len(vectors):
        return vectors
    present = [
        pc.fill_null(pc.not_equal(pc.struct_field(vectors, name), empty), fill_value=False)
        for name, empty in (("storageType", ""), ("pathOrInlineDv", ""), ("cardinality", 0))
        if name in vectors.type.names
    ]
    empty = pc.invert(functools.reduce(pc.or_, present)) if present else vectors.is_valid()
    if not pc.any(empty).as_py():
        return vectors
    children = [vectors.field(index) for index in range(vectors.type.num_fields)]
    return pa.StructArray.from_arrays(
        children, fields=list(vectors.type), mask=pc.or_(empty, vectors.is_null())
    )


def _statistics(text: pa.Array, parsed: pa.Array | None) -> pa.Array:
    """Fill absent JSON statistics from parsed ones."""
    if parsed is None or text.null_count == 0 or not pa.types.is_struct(parsed.type):
        return text
    wanted = pc.and_(text.is_null(), parsed.is_valid())
    made = [
        orjson.dumps(_pruned(value), _text, orjson.OPT_PASSTHROUGH_DATETIME).decode()
        for value in parsed.filter(wanted).to_pylist()
    ]
    # Texts of a million files are not copied for nothing.
    return pc.replace_with_mask(text, wanted, pa.array(made, pa.string())) if made else text


def _pruned(value: Any) -> Any:
    """Leave out what JSON statistics do not hold: nulls, which mean absence, and binary."""
    if isinstance(value, dict):
        return {
            key: _pruned(item)
            for key, item in value.items()
            if item is not None and not isinstance(item, bytes)
        }
    return value


def _text(value: object) -> object:
    """Spell a value as statistics in JSON do."""
    match value:
        case Decimal():
            return orjson.Fragment(format(value, "f"))
        case datetime() if value.tzinfo is not None:
            text = value.astimezone(UTC).isoformat(timespec="microseconds")
            return text.replace("+00:00", "Z")
        case datetime():
            return value.isoformat(timespec="microseconds")
        case date():
            return value.isoformat()
        case _:
            raise TypeError(type(value).__name__)
