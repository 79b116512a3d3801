"""Reassemble shredded variants (upstream section Variant Shredding).

A shredded variant holds parts of its values in columns of their own types. The result is
the plain form: the two binaries ``metadata`` and ``value`` of the Parquet variant encoding. The
dictionary of field names stays as it is, since it has the names of shredded fields as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidDataFile

_NULL = b"\x00"
_SHORT_STRING_END = 64
"""Strings of fewer bytes have their length in the header byte."""

_OBJECT, _ARRAY, _STRING, _BINARY = 2, 3, 16, 15
_BITS: Mapping[pa.DataType, tuple[int, int]] = {
    pa.date32(): (11, 4),
    pa.time64("us"): (17, 8),
    pa.float64(): (7, 8),
    pa.float32(): (14, 4),
}
"""Arrow types of which the bits are stored: the variant's type id and the width in bytes."""

_SIGNED = {4: pa.int32(), 8: pa.int64()}
_TIMESTAMPS: Mapping[tuple[str, bool], int] = {
    ("us", True): 12,
    ("us", False): 13,
    ("ns", True): 18,
    ("ns", False): 19,
}
_WIDTHS = ((3, 1), (4, 2), (5, 4), (6, 8))
"""Type id and width in bytes of the four integer types."""

_DECIMALS = ((9, 8, 4), (18, 9, 8), (38, 10, 16))
"""Most digits, type id and width in bytes of the three decimal types."""


def unshred(values: pa.StructArray, place: str) -> list[bytes]:
    """Return the ``value`` binary of each variant; any where the variant itself is null.

    Args:
        values: structs of ``metadata``, ``typed_value`` and, where present, ``value``.
        place: the column, for messages.

    Raises:
        InvalidDataFile: the parts do not fit together.
    """
    # Obeys SHRED-006.
    # Below a null variant the parts may hold anything, even where they are declared not null.
    gone = values.is_null().to_pylist()
    names = [
        {} if none else _dictionary(metadata, place)
        for none, metadata in zip(gone, values.field("metadata").to_pylist(), strict=True)
    ]
    return [_NULL if value is None else value for value in _group(values, names, place)]


def _group(
    values: pa.StructArray, names: Sequence[Mapping[str, int]], place: str
) -> list[bytes | None]:
    """Rebuild the values of a pair of ``value`` and ``typed_value``; ``None`` where neither is."""
    parts = {values.type.field(i).name: values.field(i) for i in range(values.type.num_fields)}
    plain: list[bytes | None] = [None] * len(values)
    if "value" in parts:
        plain = parts["value"].cast(pa.binary()).to_pylist()
    typed = parts.get("typed_value")
    if typed is None:
        return plain
    if pa.types.is_struct(typed.type):
        built = _objects(typed, plain, names, place)
    elif pa.types.is_list(typed.type) or pa.types.is_large_list(typed.type):
        built = _arrays(typed, names, place)
    else:
        encode, given = _encoder(typed, place)
        built = [None if value is None else encode(value) for value in given.to_pylist()]
    return [whole if whole is not None else rest for whole, rest in zip(built, plain, strict=True)]


def _objects(
    typed: pa.StructArray,
    plain: Sequence[bytes | None],
    names: Sequence[Mapping[str, int]],
    place: str,
) -> list[bytes | None]:
    fields = {
        typed.type.field(i).name: _group(typed.field(i), names, place)
        for i in range(typed.type.num_fields)
    }
    built: list[bytes | None] = []
    for row, gone in enumerate(typed.is_null().to_pylist()):
        if gone:
            built.append(None)
            continue
        known = names[row]
        rest = plain[row]
        merged = {} if rest is None else _fields(rest, known, place)
        for name, column in fields.items():
            value = column[row]
            if value is not None:
                merged[name] = value
        missing = merged.keys() - known.keys()
        if missing:
            raise _broken(place, f"the metadata does not name field {min(missing)!r}")
        built.append(_object(merged, known))
    return built


def _arrays(
    typed: pa.ListArray, names: Sequence[Mapping[str, int]], place: str
) -> list[bytes | None]:
    sizes = [0 if size is None else size for size in pc.list_value_length(typed).to_pylist()]
    rows = [row for row, size in zip(names, sizes, strict=True) for _ in range(size)]
    items = iter(_group(typed.flatten(), rows, place))
    # An item that is neither typed nor plain is a null of the variant.
    built = [_array([item or _NULL for item in islice(items, size)]) for size in sizes]
    return [
        None if gone else array
        for gone, array in zip(typed.is_null().to_pylist(), built, strict=True)
    ]


def _encoder(  # noqa: PLR0911  one return per type
    typed: pa.Array, place: str
) -> tuple[Callable[[Any], bytes], pa.Array]:
    """Return how to encode values, and the values in the form that this takes."""
    of = typed.type
    if isinstance(of, pa.BaseExtensionType):
        typed, of = typed.storage, of.storage_type
    if pa.types.is_signed_integer(of):
        return _least_integer, typed
    if of in _BITS:
        number, width = _BITS[of]
        return _integer(number, width), typed.view(_SIGNED[width])
    if pa.types.is_timestamp(of) and (of.unit, of.tz is not None) in _TIMESTAMPS:
        return _integer(_TIMESTAMPS[of.unit, of.tz is not None], 8), typed.view(pa.int64())
    if pa.types.is_decimal(of):
        return _decimal(of), typed
    if pa.types.is_boolean(of):
        return (lambda value: _header(1 if value else 2)), typed
    if of == pa.binary(16):
        return (lambda value: _header(20) + value), typed
    if pa.types.is_string(of) or pa.types.is_large_string(of):
        return _string, typed
    if pa.types.is_binary(of) or pa.types.is_large_binary(of):
        return (lambda value: _header(_BINARY) + len(value).to_bytes(4, "little") + value), typed
    raise _broken(place, f"no variant holds a typed value of {of}")


def _header(number: int) -> bytes:
    return bytes((number << 2,))


def _integer(number: int, width: int) -> Callable[[int], bytes]:
    return lambda value: _header(number) + value.to_bytes(width, "little", signed=True)


def _least_integer(value: int) -> bytes:
    """Encode in the narrowest type that holds the value.

    The widths are one class of exact numbers: a writer may shred a narrow value into a wide
    column, and the value is to be what it was, whichever file it is read from.
    """
    bits = (value if value >= 0 else ~value).bit_length()
    number, width = next((n, w) for n, w in _WIDTHS if bits < 8 * w)
    return _integer(number, width)(value)


def _decimal(of: pa.Decimal128Type) -> Callable[[Any], bytes]:
    scale = of.scale

    def encode(value: Any) -> bytes:
        sign, digits, _ = value.as_tuple()
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        needed = max(len(digits), scale)
        number, width = next((n, w) for most, n, w in _DECIMALS if needed <= most)
        return _header(number) + bytes((scale,)) + unscaled.to_bytes(width, "little", signed=True)

    return encode


def _string(value: str) -> bytes:
    text = value.encode()
    if len(text) < _SHORT_STRING_END:
        return bytes((len(text) << 2 | 1,)) + text
    return _header(_STRING) + len(text).to_bytes(4, "little") + text


def _width(greatest: int) -> int:
    return max((greatest.bit_length() + 7) // 8, 1)


def _object(fields: Mapping[str, bytes], known: Mapping[str, int]) -> bytes:
    ordered = sorted(fields)  # code points order as their UTF-8 does
    ids = [known[name] for name in ordered]
    offsets, body = _joined([fields[name] for name in ordered])
    id_width, offset_width = _width(max(ids, default=0)), _width(offsets[-1])
    large = len(ordered) > 255
    header = (large << 4 | (id_width - 1) << 2 | (offset_width - 1)) << 2 | _OBJECT
    count = len(ordered).to_bytes(4 if large else 1, "little")
    return bytes((header,)) + count + _packed(ids, id_width) + _packed(offsets, offset_width) + body


def _array(items: Sequence[bytes]) -> bytes:
    offsets, body = _joined(items)
    width = _width(offsets[-1])
    large = len(items) > 255
    header = (large << 2 | (width - 1)) << 2 | _ARRAY
    count = len(items).to_bytes(4 if large else 1, "little")
    return bytes((header,)) + count + _packed(offsets, width) + body


def _packed(numbers: Sequence[int], width: int) -> bytes:
    return b"".join(number.to_bytes(width, "little") for number in numbers)


def _joined(parts: Sequence[bytes]) -> tuple[list[int], bytes]:
    return [0, *accumulate(map(len, parts))], b"".join(parts)


def _fields(value: bytes, known: Mapping[str, int], place: str) -> dict[str, bytes]:
    """Take an object apart: what shredding left over."""
    if value[:1] and value[0] & 3 != _OBJECT:
        raise _broken(place, "what is left of a shredded object is no object")
    header = _read(value, 0, 1, place) >> 2
    offset_width, id_width = (header & 3) + 1, (header >> 2 & 3) + 1
    count_width = 4 if header >> 4 & 1 else 1
    count = _read(value, 1, count_width, place)
    ids_at = 1 + count_width
    offsets_at = ids_at + count * id_width
    body_at = offsets_at + (count + 1) * offset_width
    if body_at > len(value):
        raise _broken(place, "an object ends before its fields")
    names = {number: name for name, number in known.items()}
    spans = [_read(value, offsets_at + i * offset_width, offset_width, place) for i in range(count)]
    # Values need not lie in the order of their fields: each ends where the next one begins.
    total = _read(value, offsets_at + count * offset_width, offset_width, place)
    ends = dict(zip(sorted(spans), [*sorted(spans)[1:], total], strict=True))
    found = {}
    for index, begin in enumerate(spans):
        number = _read(value, ids_at + index * id_width, id_width, place)
        if number not in names or not begin < ends[begin] <= len(value) - body_at:
            raise _broken(place, "an object's fields are out of range")
        found[names[number]] = value[body_at + begin : body_at + ends[begin]]
    return found


def _dictionary(metadata: bytes | None, place: str) -> dict[str, int]:
    """Return the field names of a variant with their ids."""
    if metadata is None:
        return {}
    header = _read(metadata, 0, 1, place)
    width = (header >> 6) + 1
    count = _read(metadata, 1, width, place)
    body_at = 1 + width * (count + 2)
    if header & 15 != 1 or body_at > len(metadata):
        raise _broken(place, "the metadata is malformed")
    offsets = [_read(metadata, 1 + width * (i + 1), width, place) for i in range(count + 1)]
    body = metadata[body_at:]
    if any(not 0 <= begin <= end <= len(body) for begin, end in pairwise(offsets)):
        raise _broken(place, "the metadata is malformed")
    try:
        names = [body[begin:end].decode() for begin, end in pairwise(offsets)]
    except UnicodeDecodeError:
        raise _broken(place, "a field name of the metadata is not UTF-8") from None
    return {name: number for number, name in enumerate(names)}


def _read(data: bytes, at: int, width: int, place: str) -> int:
    if at + width > len(data):
        raise _broken(place, "a variant ends too early")
    return int.from_bytes(data[at : at + width], "little")


def _broken(place: str, problem: str) -> InvalidDataFile:
    return InvalidDataFile(f"column {place}: {problem}", requirement="SHRED-003")
