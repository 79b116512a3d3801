"""The compact Thrift encoding, as far as a Parquet footer needs it: any struct, no schema.

Covers "Delta Data Type to Parquet Type Mappings": old writers laid lists and maps out in ways
that today's libraries read and no longer write, and only the footer distinguishes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

_TRUE: Final = 1
_FALSE: Final = 2
_BYTE: Final = 3
_INTEGERS: Final = (4, 5, 6)
_DOUBLE: Final = 7
_BINARY: Final = 8
_LISTS: Final = (9, 10)
_RECORD: Final = 12


@dataclass(slots=True)
class Items:
    """A list: the type code of its elements and the elements."""

    code: int
    values: list[Any]


@dataclass(slots=True)
class Record:
    """A struct: type code and value by field id, in the order of the bytes."""

    fields: dict[int, tuple[int, Any]] = field(default_factory=dict)

    def get(self, identity: int) -> Any:
        """Return the value of a field, ``None`` when it is absent."""
        return self.fields[identity][1] if identity in self.fields else None

    def set(self, identity: int, code: int, value: Any) -> None:
        """Set a field, keeping fields in the order of their ids."""
        self.fields[identity] = (code, value)
        self.fields = dict(sorted(self.fields.items()))

    def drop(self, identity: int) -> None:
        """Take a field out if it is there."""
        self.fields.pop(identity, None)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def byte(self) -> int:
        value = self.data[self.place]
        self.place += 1
        return value

    def take(self, count: int) -> bytes:
        self.place += count
        return self.data[self.place - count : self.place]

    def varint(self) -> int:
        value = shift = 0
        while True:
            part = self.byte()
            value |= (part & 0x7F) << shift
            if part < 0x80:
                return value
            shift += 7

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, code: int) -> Any:
        if code in _INTEGERS:
            return self.zigzag()
        readers: dict[int, Callable[[], Any]] = {
            _TRUE: lambda: True,
            _FALSE: lambda: False,
            _BYTE: self.byte,
            _DOUBLE: lambda: self.take(8),
            _BINARY: lambda: self.take(self.varint()),
            _LISTS[0]: self.items,
            _LISTS[1]: self.items,
            _RECORD: self.record,
        }
        return readers[code]()

    def items(self) -> Items:
        head = self.byte()
        count, code = head >> 4, head & 0x0F
        if count == 15:
            count = self.varint()
        if code in (_TRUE, _FALSE):
            return Items(code, [self.byte() for _ in range(count)])
        return Items(code, [self.value(code) for _ in range(count)])

    def record(self) -> Record:
        record, identity = Record(), 0
        while head := self.byte():
            step, code = head >> 4, head & 0x0F
            identity = identity + step if step else self.zigzag()
            record.fields[identity] = (code, self.value(code))
        return record


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _value(code: int, value: Any) -> bytes:
    if code in _INTEGERS:
        return _zigzag(value)
    writers: dict[int, Callable[[], bytes]] = {
        _TRUE: lambda: b"",
        _FALSE: lambda: b"",
        _BYTE: lambda: bytes([value]),
        _DOUBLE: lambda: bytes(value),
        _BINARY: lambda: _varint(len(value)) + value,
        _LISTS[0]: lambda: _items(value),
        _LISTS[1]: lambda: _items(value),
        _RECORD: lambda: encode_record(value),
    }
    return writers[code]()


def _items(items: Items) -> bytes:
    count = len(items.values)
    head = bytes([count << 4 | items.code]) if count < 15 else bytes([0xF0 | items.code])
    if count >= 15:
        head += _varint(count)
    if items.code in (_TRUE, _FALSE):
        return head + bytes(items.values)
    return head + b"".join(_value(items.code, each) for each in items.values)


def decode_record(data: bytes) -> Record:
    """Read a struct from its compact encoding."""
    return _Reader(data).record()


def encode_record(record: Record) -> bytes:
    """Return the compact encoding of a struct."""
    parts, before = [], 0
    for identity, (code, value) in record.fields.items():
        step = identity - before
        head = bytes([step << 4 | code]) if 0 < step < 16 else bytes([code]) + _zigzag(identity)
        parts.append(head + _value(code, value))
        before = identity
    return b"".join([*parts, b"\x00"])
