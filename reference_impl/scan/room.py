"""How much memory values take once they have the table's types, before they are converted.

Serves "Column Mapping" (reader requirements) and upstream's "Type Widening": a file may lack
fields, which are then null in every value, and have narrower numbers. Few bytes of a file so
become many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from reference_impl.model.column_mapping import Mode
from reference_impl.scan.conform import find_columns
from reference_impl.types.arrow import arrow_type
from reference_impl.types.model import Array, DataType, Field, Map, Struct, walk

_NULL: Final = 8
"""Bytes of a null, about."""


def room_of_lost(fields: Iterable[Field], sources: Iterable[int | None]) -> int:
    """Return about how many bytes the nulls take of fields without a source, and all in them."""
    pairs = zip(fields, sources, strict=True)
    return _NULL * sum(1 for field, at in pairs if at is None for _ in walk(field.type))


def growth(
    held: Sequence[pa.Field],
    wanted: Sequence[tuple[Field, Mode]],
    sources: Sequence[int | None],
) -> list[int]:
    """Return how many bytes conversion adds to each value, for every leaf of fields of a file.

    What a struct lacks counts at its first leaf, which has as many values or more.

    Args:
        held: the fields of the file, or of a struct in it.
        wanted: the columns, or nested fields, of the table, and how they are found.
        sources: which of the former each of the latter is, as
            :func:`~reference_impl.scan.conform.find_columns` says.

    """
    found = dict(zip(sources, wanted, strict=True))
    leaves = []
    for at, field in enumerate(held):
        if at in found:
            column, mode = found[at]
            leaves += _of_type(field.type, column.type, mode)
        else:
            leaves += _of_type(field.type, None, "none")
    return leaves


def _of_type(stored: pa.DataType, wanted: DataType | None, mode: Mode) -> list[int]:
    if isinstance(stored, pa.BaseExtensionType):
        return _of_type(stored.storage_type, wanted, mode)
    if pa.types.is_dictionary(stored):
        return _of_type(stored.value_type, wanted, mode)
    inner = [stored.field(at) for at in range(stored.num_fields)]
    if not inner:
        return [0 if wanted is None else _widened(stored, wanted)]
    kinds: list[DataType | None] = [None] * len(inner)
    match wanted:
        case Struct(fields) if pa.types.is_struct(stored):
            columns: list[tuple[Field, Mode]] = [(field, mode) for field in fields]
            sources = find_columns(inner, columns)
            leaves = growth(inner, columns, sources)
            leaves[0] += room_of_lost(fields, sources)
            return leaves
        case Map(key, value) if pa.types.is_map(stored):
            inner, kinds = [stored.key_field, stored.item_field], [key, value]
        case Array(element) if len(inner) == 1:
            kinds = [element]
        case _:
            pass
    pairs = zip(inner, kinds, strict=True)
    return [size for field, kind in pairs for size in _of_type(field.type, kind, mode)]


def _widened(stored: pa.DataType, wanted: DataType) -> int:
    try:
        return max(int(arrow_type(wanted).bit_width) - int(stored.bit_width), 0) // 8
    except ValueError:  # of strings
        return 0
