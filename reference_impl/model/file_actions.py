"""File actions as Arrow columns: schemas, and the way from JSON objects into them.

Implements "Add File and Remove File", "Add CDC File" and "Deletion Vector Descriptor Schema".
Columns keep their wire names, because they are wire columns. An absent field is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from reference_impl.errors import InvalidAction
from reference_impl.model.wire import LogPlace

STRING_MAP: Final = pa.map_(pa.string(), pa.string())

DELETION_VECTOR: Final = pa.struct(
    [
        pa.field("storageType", pa.string()),
        pa.field("pathOrInlineDv", pa.string()),
        pa.field("offset", pa.int32()),
        pa.field("sizeInBytes", pa.int32()),
        pa.field("cardinality", pa.int64()),
    ]
)
"""Column type of a deletion vector descriptor; sizes in bytes, cardinality in rows."""

_TYPES: Final = {
    "path": pa.string(),
    "partitionValues": STRING_MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "deletionTimestamp": pa.int64(),
    "dataChange": pa.bool_(),
    "extendedFileMetadata": pa.bool_(),
    "stats": pa.string(),
    "tags": STRING_MAP,
    "deletionVector": DELETION_VECTOR,
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "clusteringProvider": pa.string(),
}


def _schema(names: str) -> pa.Schema:
    """Return the columns that a text names; only a path cannot be null."""
    return pa.schema([pa.field(each, _TYPES[each], each != "path") for each in names.split()])


ADD_SCHEMA: Final = _schema(
    "path partitionValues size modificationTime dataChange stats tags deletionVector baseRowId "
    "defaultRowCommitVersion clusteringProvider"
)
"""Columns of add actions: path as in the log, size in bytes, times in ms since the epoch."""

REMOVE_SCHEMA: Final = _schema(
    "path deletionTimestamp dataChange extendedFileMetadata partitionValues size stats tags "
    "deletionVector baseRowId defaultRowCommitVersion"
)
"""Columns of remove actions."""

CDC_SCHEMA: Final = _schema("path partitionValues size dataChange tags")
"""Columns of cdc actions."""


@dataclass(frozen=True)
class FileActions:
    """What is fixed about one kind of file action.

    Attributes:
        schema: its columns.
        required: required field to the requirement that demands it.
    """

    schema: pa.Schema
    required: dict[str, str]

    @cached_property
    def none(self) -> pa.Table:
        """Return the table without rows, which is made once: most commits remove nothing."""
        return self.schema.empty_table()


FILE_ACTIONS: Final = {
    "add": FileActions(
        ADD_SCHEMA,
        {
            "path": "ADD-001",
            "partitionValues": "ADD-005",
            "size": "ADD-006",
            "modificationTime": "ADD-007",
            "dataChange": "ADD-008",
        },
    ),
    "remove": FileActions(REMOVE_SCHEMA, {"path": "REM-001", "dataChange": "REM-004"}),
    "cdc": FileActions(
        CDC_SCHEMA,
        {
            "path": "CDC-005",
            "partitionValues": "CDC-007",
            "size": "CDC-008",
            "dataChange": "CDC-009",
        },
    ),
}
"""The kinds of file action by wire name."""

REQUIRED: Final = {
    "storageType": "DVDESC-001",
    "pathOrInlineDv": "DVDESC-002",
    "sizeInBytes": "DVDESC-009",
    "cardinality": "DVDESC-010",
}
"""Required fields of a deletion vector descriptor, with their requirements."""

_NULL_TYPE: Final = type(None)


class _WrongColumn(Exception):  # noqa: N818  a signal between two functions of this module
    """A column does not fit its type; carries field, expectation and requirement."""


def from_objects(action: str, objects: Sequence[Any], place: LogPlace) -> pa.Table:
    """Turn the JSON objects of one kind of file action into a table of its columns.

    Raises:
        InvalidAction: an object lacks a required field, or a field has a wrong type or range.
    """
    kind = FILE_ACTIONS[action]
    try:
        _refuse_non_objects(objects)
        columns = [_column(field, objects, kind.required.get(field.name)) for field in kind.schema]
    except _WrongColumn as wrong:
        name, expected, requirement = wrong.args
        where = f"{action}.{name}" if name else action
        message = f"{where} is {'' if expected == 'missing' else 'not '}{expected}"
        raise place.error(InvalidAction, message, action=action, requirement=requirement) from None
    return pa.Table.from_arrays(columns, schema=kind.schema)


def choose(files: pa.Table, flags: Iterable[bool]) -> pa.Table:
    """Return the file actions of a table whose flag is true, one flag for each."""
    return files.filter(pa.array(flags, pa.bool_()))


def to_objects(files: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each file action of a table; what is null is left out of it."""
    for row in files.to_pylist(maps_as_pydicts="strict"):
        body = {name: value for name, value in row.items() if value is not None}
        vector = body.get("deletionVector")
        if vector is not None:
            body["deletionVector"] = {k: v for k, v in vector.items() if v is not None}
        yield body


def _refuse_non_objects(objects: Sequence[Any]) -> None:
    if not set(map(type, objects)) <= {dict}:
        raise _WrongColumn("", "an object", None)


_EXPECTED: Final[dict[pa.DataType, tuple[frozenset[type], str]]] = {
    pa.string(): (frozenset({str}), "a string"),
    pa.int32(): (frozenset({int}), "a 32-bit integer"),
    pa.int64(): (frozenset({int}), "a 64-bit integer"),
    pa.bool_(): (frozenset({bool}), "a boolean"),
    STRING_MAP: (frozenset({dict}), "a map from string to string"),
    DELETION_VECTOR: (frozenset({dict}), "an object"),
}


def _column(field: pa.Field, objects: Sequence[Any], requirement: str | None) -> pa.Array:
    name = field.name
    values = [item.get(name) for item in objects]
    types, expected = _EXPECTED[field.type]
    seen = set(map(type, values))
    if requirement is not None and _NULL_TYPE in seen:
        raise _WrongColumn(name, "missing", requirement)
    # Types first: given a list with a null for a map, Arrow ends the process.
    if not seen <= types | {_NULL_TYPE}:
        raise _WrongColumn(name, expected, requirement)
    if field.type == DELETION_VECTOR:
        _check_descriptors(name, [value for value in values if value is not None])
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise _WrongColumn(name, expected, requirement) from None


def _check_descriptors(name: str, descriptors: list[dict[str, Any]]) -> None:
    for child in DELETION_VECTOR:
        try:
            _column(child, descriptors, REQUIRED.get(child.name))
        except _WrongColumn as wrong:
            inner, *facts = wrong.args
            raise _WrongColumn(f"{name}.{inner}", *facts) from None
