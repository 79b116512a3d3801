"""Values of variants to the binaries of the Parquet variant encoding.

Covers "Variant Data Type" and "Variant Shredding". The encoding leaves widths and order open:
what is built here is as wide as asked, so that one value has many forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from generators.materialise.data.deletion_vectors import z85_encode


@dataclass(frozen=True, slots=True)
class Widths:
    """How wide the numbers of an object or array are.

    Attributes:
        ids: bytes of a field id, 1 to 4.
        offsets: bytes of an offset, 1 to 4.
        large: the number of elements takes four bytes, and one otherwise.
    """

    ids: int = 1
    offsets: int = 1
    large: bool = False


def _unsigned(value: int, width: int) -> bytes:
    return value.to_bytes(width, "little")


def dictionary(names: Sequence[str], width: int = 1) -> bytes:
    """Encode the metadata: version 1, the names of fields in the order of their ids.

    Args:
        names: of all fields.
        width: bytes of an offset, 1 to 4.
    """
    texts = [name.encode() for name in names]
    numbers = (len(texts), 0, *accumulate(map(len, texts)))
    ordered = sorted(texts) == texts
    head = 1 | ordered << 4 | (width - 1) << 6
    return bytes((head,)) + b"".join(_unsigned(n, width) for n in numbers) + b"".join(texts)


def primitive(number: int, body: bytes = b"") -> bytes:
    """Encode a primitive by its type number and the bytes of its value."""
    return bytes((number << 2,)) + body


def short_string(text: str) -> bytes:
    """Encode a string of fewer than 64 bytes."""
    return bytes((len(text.encode()) << 2 | 1,)) + text.encode()


def array_of(items: Sequence[bytes], widths: Widths = Widths()) -> bytes:
    """Encode an array of encoded values."""
    head = (widths.large << 2 | (widths.offsets - 1)) << 2 | 3
    ends = (0, *accumulate(map(len, items)))
    return b"".join(
        (
            bytes((head,)),
            _unsigned(len(items), 4 if widths.large else 1),
            *(_unsigned(end, widths.offsets) for end in ends),
            *items,
        )
    )


def object_of(
    fields: Mapping[str, bytes],
    names: Sequence[str],
    widths: Widths = Widths(),
    stored: Sequence[str] | None = None,
) -> bytes:
    """Encode an object of encoded values.

    Args:
        fields: name to value.
        names: those of the dictionary.
        widths: of ids, offsets and the number of fields.
        stored: fields in the order in which their values lie; by name when ``None``.
    """
    ordered = sorted(fields, key=str.encode)
    lie = ordered if stored is None else stored
    begins = dict(
        zip(lie, accumulate((len(fields[name]) for name in lie), initial=0), strict=False)
    )
    total = sum(map(len, fields.values()))
    head = (widths.large << 4 | (widths.ids - 1) << 2 | (widths.offsets - 1)) << 2 | 2
    return b"".join(
        (
            bytes((head,)),
            _unsigned(len(ordered), 4 if widths.large else 1),
            *(_unsigned(list(names).index(name), widths.ids) for name in ordered),
            *(_unsigned(begins[name], widths.offsets) for name in ordered),
            _unsigned(total, widths.offsets),
            *(fields[name] for name in lie),
        )
    )


def bounds(leaves: Mapping[str, bytes]) -> str:
    """Encode bounds as statistics in JSON have them: metadata and value in Z85.

    Args:
        leaves: normalized JSON path to encoded value.
    """
    names = sorted(leaves, key=str.encode)
    data = dictionary(names) + object_of(leaves, names)
    return z85_encode(data + bytes(-len(data) % 4))
