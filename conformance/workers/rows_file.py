"""Rows that travel between the kit and an adapter: Arrow IPC files, read without trust.

See the section "Adapter messages" of ``docs/formats.md``. A small file may claim any number of
rows and bytes: compressed buffers say how much they decompress to, a type without buffers, as null,
is of any length, and many rows may share one long value. All are counted before memory is taken for
them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from conformance.base.faults import KitError
from conformance.base.terminal import printable
from conformance.base.untrusted import MIB, open_plain

_MAX_BYTES: Final = 1024 * MIB
"""Bytes, in the file and decompressed."""

_MAX_ROWS: Final = 10_000_000
_MAX_VALUES: Final = 100_000_000
"""In all columns and what is nested in them."""

_MAGIC: Final = b"ARROW1"
_DICTIONARIES, _BATCHES = 2, 3
"""Fields of the footer."""

_HEADER_TYPE, _HEADER, _BODY_OF_DICTIONARY, _BUFFERS, _COMPRESSION = 1, 2, 1, 2, 3
"""Fields of a message, of a dictionary and of a batch."""

_DICTIONARY_HEADER: Final = 2


class RowsError(KitError):
    """A file does not hold rows that can be compared."""


def write_rows(table: pa.Table, path: Path) -> None:
    """Write rows as an Arrow IPC file."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def read_rows(path: Path) -> pa.Table:
    """Read an Arrow IPC file and check every buffer of it.

    Raises:
        RowsError: the file is missing, malformed, no regular file, or too large.
    """
    try:
        content = _content(path)
        decompressed = sum(_decompressed(content))
        if decompressed > _MAX_BYTES:
            raise RowsError(f"rows at {path} decode to {decompressed} bytes, over {_MAX_BYTES}")
        with pa.BufferReader(content) as source:
            table = pa.ipc.open_file(source).read_all()
        if table.num_rows > _MAX_ROWS:
            raise RowsError(f"rows at {path} are {table.num_rows}, over {_MAX_ROWS}")
        table.validate(full=True)
        _check_names(table.schema)
        chunks = [chunk for column in table.columns for chunk in column.chunks]
        values = sum(map(_values, chunks))
        if values > _MAX_VALUES:
            raise RowsError(f"rows at {path} have {values} values, over {_MAX_VALUES}")
        whole = sum(map(_decoded_bytes, chunks))
        if whole > _MAX_BYTES:
            raise RowsError(f"rows at {path} decode to {whole} bytes, over {_MAX_BYTES}")
    except (OSError, ValueError, MemoryError, pa.ArrowException, struct.error) as error:
        raise RowsError(f"rows at {path} cannot be read: {printable(str(error))}") from error
    return table


def _content(path: Path) -> bytes:
    with open_plain(path) as opened:
        content = opened.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise RowsError(f"rows at {path} have more than {_MAX_BYTES} bytes")
    return content


def _values(array: pa.Array) -> int:
    """Count the values of an array and of what is nested in it."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _values(array.storage)
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        return len(array) + sum(_values(array.field(i)) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return len(array) + _values(array.keys) + _values(array.items)
    if _is_list_view(kind):
        return len(array) + _shared(array, _values(array.values))
    if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
        return len(array) + _values(array.values)
    return len(array)


def _decoded_bytes(array: pa.Array) -> int:  # noqa: PLR0911  one return per kind of layout
    """Return about how many bytes values take once each has its own."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _decoded_bytes(array.storage)
    if pa.types.is_dictionary(kind):
        return len(array) + _repeated(array.dictionary, array.indices, None)
    if pa.types.is_run_end_encoded(kind):
        runs = np.diff(array.run_ends.to_numpy(), prepend=0)
        return len(array) + _repeated(array.values, None, runs)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return int(_lengths(array).sum())
    if _is_list_view(kind):
        return _shared(array, _decoded_bytes(array.values))
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        return sum(_decoded_bytes(array.field(i)) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _decoded_bytes(array.keys) + _decoded_bytes(array.items)
    return _decoded_bytes(array.values) if pa.types.is_nested(kind) else len(array) + array.nbytes


def _repeated(values: pa.Array, chosen: pa.Array | None, times: Any) -> int:
    """Return about how many bytes values take that are chosen, or repeated some times."""
    if pa.types.is_nested(values.type) or isinstance(values, pa.ExtensionArray):
        return (len(chosen) if chosen is not None else int(times.sum())) * _decoded_bytes(values)
    sizes = _lengths(values)
    if chosen is not None:
        return int(sizes[chosen.drop_null().to_numpy().astype(np.int64)].sum())
    return int((sizes * times).sum())


def _lengths(values: pa.Array) -> Any:
    """Return the bytes of each value, null or not, as numbers of 64 bits."""
    kind = values.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        at = slice(4 * values.offset, 4 * (values.offset + len(values)), 4)
        views = values.buffers()[1]
        held = np.frombuffer(views, np.int32)[at] if views else np.zeros(0, np.int32)
        return np.where(values.is_valid().to_numpy(zero_copy_only=False), held, 0).astype(np.int64)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pc.fill_null(pc.binary_length(values), 0).to_numpy().astype(np.int64)
    return np.full(len(values), _decoded_bytes(values) // max(len(values), 1), np.int64)


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _shared(array: pa.Array, within: int) -> int:
    """Return what lists hold at most of values that they may share; each has one once."""
    held = pc.sum(pc.list_value_length(array)).as_py() or 0
    return within if held <= len(array.values) else len(array) * within


def _check_names(fields: Iterable[pa.Field]) -> None:
    """Raise :class:`UnicodeDecodeError` for a name that is no text."""
    pending = list(fields)
    while pending:
        field = pending.pop()
        _ = field.name
        pending += (field.type.field(i) for i in range(field.type.num_fields))


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a flat buffer; every access stays in the bytes or raises ``struct.error``."""

    content: bytes
    at: int

    def field(self, number: int) -> int | None:
        """Return where a field is, ``None`` where it is absent."""
        layout = self.at - _number("<i", self.content, self.at)
        slot = 4 + 2 * number
        if slot >= _number("<H", self.content, layout):
            return None
        offset = _number("<H", self.content, layout + slot)
        return self.at + offset if offset else None

    def table(self, number: int) -> _Table | None:
        """Return a field that is a table."""
        at = self.field(number)
        return None if at is None else _Table(self.content, at + _number("<I", self.content, at))

    def structs(self, number: int, layout: str) -> Iterator[tuple[int, ...]]:
        """Return the entries of a field that is a vector of structs."""
        at = self.field(number)
        if at is not None:
            at += _number("<I", self.content, at)
            for index in range(_number("<I", self.content, at)):
                yield _unpack(layout, self.content, at + 4 + index * struct.calcsize(layout))


def _unpack(layout: str, content: bytes, at: int) -> tuple[int, ...]:
    if at < 0:
        raise struct.error("an offset is negative")
    return struct.unpack_from(layout, content, at)


def _number(layout: str, content: bytes, at: int) -> int:
    return _unpack(layout, content, at)[0]


def _decompressed(content: bytes) -> Iterator[int]:
    """Return how many bytes the buffers of each compressed batch say that they decompress to."""
    end = len(content) - len(_MAGIC) - 4
    if end < 0 or not content.endswith(_MAGIC):
        raise RowsError("rows cannot be read: no Arrow IPC file")
    start = end - _number("<i", content, end)
    footer = _Table(content, start + _number("<I", content, start))
    for field in (_DICTIONARIES, _BATCHES):
        for offset, metadata, body in footer.structs(field, "<qi4xq"):
            yield _decompressed_batch(content, offset, offset + metadata, body)


def _decompressed_batch(content: bytes, at: int, body: int, length: int) -> int:
    # Files of old versions have no mark before the length of the metadata.
    at += 8 if _number("<i", content, at) == -1 else 4
    message = _Table(content, at + _number("<I", content, at))
    batch = message.table(_HEADER)
    kind = message.field(_HEADER_TYPE)
    if (
        batch is not None
        and kind is not None
        and _number("<B", content, kind) == _DICTIONARY_HEADER
    ):
        batch = batch.table(_BODY_OF_DICTIONARY)
    if batch is None or batch.field(_COMPRESSION) is None:
        return max(length, 0)
    sizes = (
        _number("<q", content, body + offset)
        for offset, size in batch.structs(_BUFFERS, "<qq")
        if size >= 8
    )
    return sum(max(size, 0) for size in sizes)
