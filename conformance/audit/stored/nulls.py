"""Nulls where a schema forbids them (section Schema Serialization Format)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.types as at

from conformance.audit.stored.places import SchemaPlace


def forbidden_nulls(column: SchemaPlace, values: pa.ChunkedArray) -> Iterator[tuple[str, str]]:
    """Yield requirement and message for nulls in a column or inside of it.

    Args:
        column: a top-level column.
        values: of the rows that are in the table.

    """
    counts: dict[SchemaPlace, int] = {}
    for chunk in values.chunks:
        _count(column, chunk, counts)
    for place, count in counts.items():
        if count:
            yield place.forbids, f"{place.name} is not nullable and has {count} nulls"


def _count(place: SchemaPlace, values: pa.Array, counts: dict[SchemaPlace, int]) -> None:
    if place.required:
        counts[place] = counts.get(place, 0) + values.null_count
    if not any(each.forbids_nulls for each in place.inner):
        return
    for inner, below in zip(place.inner, inner_values(place, values), strict=True):
        if below is not None:
            _count(inner, below, counts)


def inner_values(place: SchemaPlace, values: pa.Array) -> Iterator[pa.Array | None]:
    """Yield what is in each place inside; nothing of a null is there."""
    valid = values.filter(values.is_valid())
    if at.is_struct(values.type):
        held = dict(zip(valid.type.names, valid.flatten(), strict=True))
        for inner in place.inner:
            yield None if inner.stored is None else held[inner.stored.name]
    elif at.is_map(values.type):
        yield valid.keys
        yield valid.items
    else:
        yield valid.flatten()
