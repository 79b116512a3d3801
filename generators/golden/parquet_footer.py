"""Edit the footer of a Parquet file, to lay lists out as writers of old did.

Serves "Delta Data Type to Parquet Type Mappings": a list may have two levels or three, and no
current library writes two. The levels of a list whose elements are never null are the same in
both layouts, so that only the schema in the footer has to change. The footer is a structure of
the Thrift compact protocol; it is read into plain lists, edited, and written again.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

__all__ = ["flatten_lists"]

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS: Final = frozenset({4, 5, 6})
_REPEATED: Final = 2
_MAGIC: Final = b"PAR1"

_Fields: TypeAlias = dict[int, tuple[int, Any]]
"""A structure: field id to wire type and value; a list's value is (element type, items)."""


def flatten_lists(path: Path) -> None:
    """Turn the three-level lists of a file into two-level ones of the old name ``array``.

    Raises:
        ValueError: a list holds something other than primitive elements that are never null.

    """
    data = path.read_bytes()
    length = struct.unpack("<I", data[-8:-4])[0]
    start = len(data) - 8 - length
    footer, _ = _read_struct(data, start)
    _flatten(footer)
    encoded = _write_struct(footer)
    path.write_bytes(data[:start] + encoded + struct.pack("<I", len(encoded)) + _MAGIC)


def _flatten(footer: _Fields) -> None:
    kind, elements = footer[2][1]
    kept: list[_Fields] = []
    inside = False
    for element in elements:
        name = element[4][1]
        if name == b"list" and element[3][1] == _REPEATED:
            inside = True
            continue
        if inside:
            if 5 in element or element[3][1] != 0:
                raise ValueError("only required primitive elements keep their levels")
            element[3] = (element[3][0], _REPEATED)
            element[4] = (_BINARY, b"array")
            inside = False
        kept.append(element)
    footer[2] = (_LIST, (kind, kept))
    for group in footer[4][1][1]:
        for chunk in group[1][1][1]:
            column = chunk[3][1]
            parts = column[3][1][1]
            if b"list" in parts:
                column[3] = (_LIST, (_BINARY, [*parts[: parts.index(b"list")], b"array"]))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _write_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _write_integer(value: int) -> bytes:
    return _write_varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _read_binary(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = _read_varint(data, at)
    return data[at : at + length], at + length


def _read_list(data: bytes, at: int) -> tuple[tuple[int, list[Any]], int]:
    head = data[at]
    at += 1
    size, kind = head >> 4, head & 0x0F
    if size == 15:
        size, at = _read_varint(data, at)
    items = []
    for _ in range(size):
        item, at = _read_value(data, at, _BYTE if kind in {_TRUE, _FALSE} else kind)
        items.append(item)
    return (kind, items), at


def _write_list(value: tuple[int, list[Any]]) -> bytes:
    kind, items = value
    head = (
        bytes([len(items) << 4 | kind])
        if len(items) < 15
        else bytes([0xF0 | kind]) + _write_varint(len(items))
    )
    element = _BYTE if kind in {_TRUE, _FALSE} else kind
    return head + b"".join(_write_value(element, item) for item in items)


def _read_struct(data: bytes, at: int) -> tuple[_Fields, int]:
    fields: _Fields = {}
    number = 0
    while data[at]:
        head = data[at]
        at += 1
        kind = head & 0x0F
        if head >> 4:
            number += head >> 4
        else:
            number, at = _read_integer(data, at)
        value, at = _read_value(data, at, kind)
        fields[number] = (kind, value)
    return fields, at + 1


def _write_struct(fields: _Fields) -> bytes:
    out = bytearray()
    last = 0
    for number, (kind, value) in sorted(fields.items()):
        step = number - last
        out += (
            bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _write_integer(number)
        )
        out += _write_value(kind, value)
        last = number
    return bytes(out) + b"\x00"


_READERS: Final[dict[int, Callable[[bytes, int], tuple[Any, int]]]] = {
    _TRUE: lambda _, at: (True, at),
    _FALSE: lambda _, at: (False, at),
    _BYTE: lambda data, at: (data[at], at + 1),
    _DOUBLE: lambda data, at: (data[at : at + 8], at + 8),
    _BINARY: _read_binary,
    _LIST: _read_list,
    _SET: _read_list,
    _STRUCT: _read_struct,
}
_WRITERS: Final[dict[int, Callable[[Any], bytes]]] = {
    _TRUE: lambda _: b"",
    _FALSE: lambda _: b"",
    _BYTE: lambda value: bytes([value]),
    _DOUBLE: bytes,
    _BINARY: lambda value: _write_varint(len(value)) + value,
    _LIST: _write_list,
    _SET: _write_list,
    _STRUCT: _write_struct,
}


def _read_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    return _read_integer(data, at) if kind in _INTEGERS else _READERS[kind](data, at)


def _write_value(kind: int, value: Any) -> bytes:
    return _write_integer(value) if kind in _INTEGERS else _WRITERS[kind](value)
