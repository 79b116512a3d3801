"""Bytes of variants that are stored whole (section Variant Data Type, upstream).

The text takes their form from the encoding of variants in Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
import pyarrow.types as at

from conformance.audit.findings import Finding, finding
from conformance.audit.stored.data_file import DataFile
from conformance.audit.stored.places import SchemaPlace
from conformance.base.variants import UnknownTypeError, Variant, VariantError, variant
from conformance.judging.compare.families import is_list
from reference_impl.limits import budget


def holds_variants(column: SchemaPlace) -> bool:
    """Return whether a column is a variant, or has one inside."""
    return any(each.declared == "variant" for each in column.walk())


def malformed_variants(
    opened: DataFile, column: SchemaPlace, values: pa.ChunkedArray
) -> Iterator[Finding]:
    """Yield a finding for each place of a column whose variants do not parse.

    Args:
        opened: the file.
        column: the column.
        values: what the file has of it.
    """
    for place, parts in _places(column, opened.live(values)):
        wrong = next(filter(None, map(_fault, parts.to_pylist())), None)
        if wrong is not None:
            yield finding("VAR-003", opened.path, f"a variant of {place.name}: {wrong}")


def _places(place: SchemaPlace, values: pa.ChunkedArray) -> Iterator[tuple[SchemaPlace, pa.Array]]:
    """Yield the variants at and inside of a place, as structs of their parts."""
    for chunk in values.chunks if isinstance(values, pa.ChunkedArray) else (values,):
        if place.declared == "variant":
            # Parts that are shredded out have rules of their own.
            if {each.name for each in place.stored_fields} == {"metadata", "value"}:
                yield place, chunk
        else:
            for inner, parts in _inside(place, chunk):
                yield from _places(inner, parts)


def _inside(place: SchemaPlace, values: pa.Array) -> list[tuple[SchemaPlace, pa.Array]]:
    """Pair the places inside of one with what they hold."""
    if at.is_struct(values.type):
        held = dict(zip(values.type.names, values.flatten(), strict=True))
        return [(each, held[each.stored.name]) for each in place.inner if each.stored is not None]
    if at.is_map(values.type):
        return list(zip(place.inner, (values.keys, values.items), strict=False))
    return [(each, values.flatten()) for each in place.inner if is_list(values.type)]


def _fault(row: dict[str, bytes | None] | None) -> str | None:
    """Return what is wrong with the bytes of one variant; ``None`` where they are valid."""
    metadata, value = (row or {}).get("metadata"), (row or {}).get("value")
    if metadata is None or value is None:
        return None
    try:
        todo, seen = [variant(metadata, value)], set[int]()
        while todo:
            budget().check_time()
            part = todo.pop()
            if part.start not in seen:  # parts may share bytes, which does not make them more
                seen.add(part.start)
                todo += _parts(part)
    except (VariantError, UnicodeDecodeError) as error:
        return str(error)
    return None


def _parts(part: Variant) -> list[Variant]:
    """Return what is inside of a value.

    Raises:
        VariantError: it is malformed.
        UnicodeDecodeError: so is its text.
    """
    if part.nested == "object":
        fields = list(part.fields())
        names = [name.encode() for name, _ in fields]
        if names != sorted(set(names)):
            raise VariantError("the fields of an object are not in the order of their names")
        return [inner for _, inner in fields]
    if part.nested == "array":
        return list(part.items())
    with suppress(UnknownTypeError):  # a later version of the encoding may have it
        leaf = part.leaf()
        if leaf is not None and leaf.kind == "string" and isinstance(leaf.value, bytes):
            leaf.value.decode()
    return []
