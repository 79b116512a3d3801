"""Read structs in the compact Thrift encoding, as footers and page headers of Parquet hold them.

Implements "Data Files" and "Checkpoints". Only fields that are asked for are kept. Ambiguous
structs are refused: a field that occurs twice, or has a wrong type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

INTEGER: Final = "integer"
"""An integer of up to 64 bits, or an enumeration."""

RECORD: Final = "record"
"""A struct, with what is wanted of it."""

LIST: Final = "list"
"""A list of structs, with what is wanted of each."""

Wanted: TypeAlias = Mapping[int, tuple[str, Any]]
"""Field id to the kind of the field and, for structs and lists of them, what is wanted inside."""

_CODES: Final = {INTEGER: (4, 5, 6), LIST: (9,), RECORD: (12,)}
_BOOLEANS: Final = (1, 2)
_BYTE, _DOUBLE, _BINARY, _MAP, _RECORD, _UUID = 3, 7, 8, 11, 12, 13
_INTEGERS: Final = (4, 5, 6)
_LISTS: Final = (9, 10)
_FIXED: Final = {_BYTE: 1, _DOUBLE: 8, _UUID: 16}
_MAX_DEPTH: Final = 32
_INT64_END: Final = 1 << 63
_NO_FIELDS: Final[Wanted] = {}
_TOO_DEEP: Final = "a Thrift struct is nested too deep"


def read_record(data: bytes, at: int, wanted: Wanted, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Read a struct.

    Args:
        data: bytes that hold it.
        at: where it begins.
        wanted: the fields to keep.
        depth: how many structs it is in.

    Returns:
        The values of the wanted fields that are there, and where the struct ends.

    Raises:
        IndexError: the bytes end within the struct.
        ValueError: the bytes are no struct, or an ambiguous one.
    """
    if depth > _MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    found: dict[int, Any] = {}
    field = 0
    while True:
        head = data[at]
        at += 1
        if head == 0:
            return found, at
        code = head & 15
        if head > 15:
            field += head >> 4
        else:
            field, at = _integer(data, at)
        if field in wanted:
            kind, inside = wanted[field]
            if field in found or code not in _CODES[kind]:
                raise ValueError(f"field {field} of a Thrift struct is there twice, or no {kind}")
            found[field], at = _READERS[kind](data, at, inside, depth)
        elif code in _INTEGERS:  # most of what is not wanted
            while data[at] > 127:
                at += 1
            at += 1
        elif code not in _BOOLEANS:
            at = _skip(data, at, code, depth)


def _number(data: bytes, at: int, _wanted: None, _depth: int) -> tuple[int, int]:
    number = data[at]
    if number < 128:  # most are
        return (number >> 1) ^ -(number & 1), at + 1
    return _integer(data, at)


def _record(data: bytes, at: int, wanted: Wanted, depth: int) -> tuple[dict[int, Any], int]:
    return read_record(data, at, wanted, depth + 1)


def _records(data: bytes, at: int, wanted: Wanted, depth: int) -> tuple[list[Any], int]:
    code, count, at = _head(data, at)
    if code != _RECORD and count:
        raise ValueError("a Thrift list holds other than structs")
    records = []
    for _ in range(count):
        record, at = read_record(data, at, wanted, depth + 1)
        records.append(record)
    return records, at


_READERS: Final[Mapping[str, Callable[[bytes, int, Any, int], tuple[Any, int]]]] = {
    INTEGER: _number,
    RECORD: _record,
    LIST: _records,
}


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the type code and the number of a list's elements, and where they begin."""
    head = data[at]
    if head < 0xF0:
        return head & 15, head >> 4, at + 1
    count, at = _varint(data, at + 1)
    return head & 15, count, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a Thrift integer is too long")


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    value = (value >> 1) ^ -(value & 1)
    if not -_INT64_END <= value < _INT64_END:
        raise ValueError("a Thrift integer is too large")
    return value, at


def _skip(data: bytes, at: int, code: int, depth: int) -> int:
    """Return where a value ends that is not wanted."""
    if code in _INTEGERS:
        while data[at] > 127:
            at += 1
        return at + 1
    if code == _BINARY:
        length, at = _varint(data, at)
        return at + length
    if code == _RECORD:
        return read_record(data, at, _NO_FIELDS, depth + 1)[1]
    if code in _LISTS:
        inner, count, at = _head(data, at)
        return _skip_items(data, at, (inner,), count, depth)
    if code == _MAP:
        count, at = _varint(data, at)
        inner = data[at] if count else 0
        return _skip_items(data, at + (count > 0), (inner >> 4, inner & 15), count, depth)
    if code not in _FIXED:
        raise ValueError(f"{code} is no type of Thrift's")
    return at + _FIXED[code]


def _skip_items(data: bytes, at: int, codes: tuple[int, ...], count: int, depth: int) -> int:
    if depth > _MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    for _ in range(count):
        for code in codes:
            at = at + 1 if code in _BOOLEANS else _skip(data, at, code, depth + 1)
        if at > len(data):
            raise IndexError("the bytes end within a Thrift list")
    return at
