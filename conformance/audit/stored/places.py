"""Where each part of a schema is in a data file (sections Column Mapping and Data Files)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as at

from conformance.audit.read.layout import COLUMN_ID, PHYSICAL_NAME, Layout, fields_of
from conformance.audit.read.raw import mapping_in
from conformance.audit.read.state import FieldKey
from conformance.judging.compare.families import is_list

_CHANGES: Final = "delta.typeChanges"


@dataclass(frozen=True, slots=True, eq=False)
class SchemaPlace:
    """A field of the schema, an array element, or a key or value of a map, beside its storage.

    Attributes:
        path: logical names from the root, ``element``, ``key`` and ``value`` among them.
        key: the last of them by its physical name, as statistics have it.
        declared: the name of a primitive type, or the JSON of a nested one.
        required: whether a null is forbidden here.
        forbids: the requirement of the flag that forbids it.
        column_id: the id of column mapping; ``None`` where there is none to have.
        changes: type changes that are recorded for this place, the first one first.
        field_key: identity of the nearest field, and the path inside of it, under which they are.
        stored: what the file has; ``None`` where it has nothing, or more than one thing.
        inner: the places inside; empty where the file has something of another kind.
        misnamed: what the file has for it under its logical name, by its id under the name of no
            column, or in mode ``id`` under the physical one with another id; ``None`` where all is
            as it has to be.
    """

    path: tuple[str, ...]
    key: str
    declared: Any
    required: bool
    forbids: str
    column_id: int | None
    changes: tuple[tuple[str, str], ...]
    field_key: FieldKey
    stored: pa.Field | None
    inner: tuple[SchemaPlace, ...]
    misnamed: pa.Field | None = None

    @property
    def name(self) -> str:
        """The logical path with dots, for messages."""
        return ".".join(self.path)

    @property
    def stored_fields(self) -> list[pa.Field]:
        """The fields that the file has of a struct, or of a variant; of anything else none."""
        of = self.stored.type if self.stored is not None else None
        return list(of) if of is not None and at.is_struct(of) else []

    @property
    def forbids_nulls(self) -> bool:
        """Whether nulls are forbidden here or inside, and the file leaves room for them."""
        here = self.required and self.stored is not None and self.stored.nullable
        return here or any(each.forbids_nulls for each in self.inner)

    def walk(self) -> Iterator[SchemaPlace]:
        """Yield the place itself and all places inside."""
        yield self
        for each in self.inner:
            yield from each.walk()


def field_id(field: pa.Field) -> int | None:
    """Return the id that a Parquet field has."""
    found = (field.metadata or {}).get(b"PARQUET:field_id")
    return int(found) if found is not None else None


def other_field_ids(column: SchemaPlace, mode: str) -> Iterator[tuple[SchemaPlace, str]]:
    """Yield places, at any depth, whose fields lack the ids of column mapping, and what they have.

    Those that are found under another name are left out.
    """
    for place in column.walk() if mode != "none" else ():
        if place.column_id is None or place.stored is None or place.misnamed is not None:
            continue
        if (given := field_id(place.stored)) != place.column_id:
            yield place, "no field id" if given is None else f"field id {given}"


def places_of(layout: Layout, schema: pa.Schema) -> tuple[SchemaPlace, ...]:
    """Return the top-level columns that data files have, partition columns left out."""
    partitions = frozenset(layout.partitions)
    return tuple(x for x in _top_places(layout, schema) if x.path[0] not in partitions)


def partition_places(layout: Layout, schema: pa.Schema) -> tuple[SchemaPlace, ...]:
    """Return the partition columns, which a file may have as well."""
    partitions = frozenset(layout.partitions)
    if not partitions:
        return ()
    return tuple(x for x in _top_places(layout, schema) if x.path[0] in partitions)


def _top_places(layout: Layout, schema: pa.Schema) -> Iterator[SchemaPlace]:
    return _PlaceFinder(layout.mode).fields(layout.schema, list(schema), ())


def _positions(keys: Iterable[Hashable]) -> dict[Hashable, list[int]]:
    """Return where each key stands: tables may have many thousand columns."""
    found: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return found


def _changes(metadata: Mapping[str, Any], within: str) -> tuple[tuple[str, str], ...]:
    listed = metadata.get(_CHANGES)
    return tuple(
        (str(each.get("fromType")), str(each.get("toType")))
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, Mapping) and str(each.get("fieldPath") or "") == within
    )


def _field_key(path: tuple[str, ...], metadata: Mapping[str, Any], within: str) -> FieldKey:
    given = metadata.get(COLUMN_ID)
    field = path[: len(path) - len(within.split("."))] if within else path
    return (given,) if type(given) is int else field, within


@dataclass(frozen=True, slots=True)
class _PlaceFinder:
    mode: str

    def fields(
        self, declared: Any, stored: Sequence[pa.Field], above: tuple[str, ...]
    ) -> Iterator[SchemaPlace]:
        known = fields_of(declared)
        keys = [self._key(each) for each in known]
        taken = {*keys}
        by_name = _positions(each.name for each in stored)
        by_id = _positions(map(field_id, stored)) if self.mode != "none" else {}
        for each, key in zip(known, keys, strict=True):
            metadata = mapping_in(each, "metadata")
            given = metadata.get(COLUMN_ID)
            number = given if type(given) is int and self.mode != "none" else None
            if self.mode == "id":
                positions = by_id.get(number, []) if number is not None else []
            else:
                positions = by_name.get(key, [])
            found = stored[positions[0]] if len(positions) == 1 else None
            place = self._place(
                ((*above, each["name"]), key),
                each.get("type"),
                (each.get("nullable") is False, "SCH-025"),
                number,
                (metadata, ""),
                found,
            )
            candidates = {each["name"]} - taken if found is None or found.name != key else set()
            if found is None and self.mode == "id":
                candidates.add(key)
            if number is not None:
                named = {stored[position].name for position in by_id.get(number, ())}
                candidates |= named - ({key} if self.mode == "id" and found is not None else taken)
            misnamed = min(
                (by_name[name][0] for name in candidates if name in by_name), default=None
            )
            yield place if misnamed is None else replace(place, misnamed=stored[misnamed])

    def _key(self, declared: Mapping[str, Any]) -> str:
        name = mapping_in(declared, "metadata").get(PHYSICAL_NAME) if self.mode != "none" else None
        return str(name or declared["name"])

    def _place(  # noqa: PLR0917, PLR0913  the parts of a place
        self,
        named: tuple[tuple[str, ...], str],
        declared: Any,
        required: tuple[bool, str],
        number: int | None,
        enclosing: tuple[Mapping[str, Any], str],
        stored: pa.Field | None,
    ) -> SchemaPlace:
        inner: tuple[SchemaPlace, ...] = ()
        if stored is not None:
            inner = tuple(self._inner(named[0], declared, enclosing, stored.type))
        changes, field_key = _changes(*enclosing), _field_key(named[0], *enclosing)
        return SchemaPlace(*named, declared, *required, number, changes, field_key, stored, inner)

    def _inner(
        self,
        path: tuple[str, ...],
        declared: Any,
        enclosing: tuple[Mapping[str, Any], str],
        stored: pa.DataType,
    ) -> Iterator[SchemaPlace]:
        """Go into a nested type where the file has the same kind."""
        kind = declared.get("type") if isinstance(declared, Mapping) else None
        if kind == "struct" and at.is_struct(stored):
            yield from self.fields(declared, list(stored), path)
        elif kind == "array" and is_list(stored):
            yield self._part("element", path, declared, enclosing, stored.value_field)
        elif kind == "map" and at.is_map(stored):
            yield self._part("key", path, declared, enclosing, stored.key_field)
            yield self._part("value", path, declared, enclosing, stored.item_field)

    def _part(
        self,
        part: str,
        path: tuple[str, ...],
        declared: Mapping[str, Any],
        enclosing: tuple[Mapping[str, Any], str],
        stored: pa.Field,
    ) -> SchemaPlace:
        metadata, within = enclosing
        flag, requirement = _FLAGS[part]
        here = f"{within}.{part}" if within else part
        required = (flag is not None and declared.get(flag) is False, requirement)
        of = declared.get(f"{part}Type")
        return self._place(((*path, part), part), of, required, None, (metadata, here), stored)


_FLAGS: Final[Mapping[str, tuple[str | None, str]]] = {
    "element": ("containsNull", "SCH-031"),
    "key": (None, ""),  # Parquet has no null keys
    "value": ("valueContainsNull", "SCH-035"),
}
"""The flag that forbids nulls in a part, and its requirement."""


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


def lacking(place: SchemaPlace, values: pa.Array) -> Iterator[SchemaPlace]:
    """Yield required fields that a file lacks in structs that are there, so that they are null.

    Args:
        place: a column, or a part of one, that the file has.
        values: its values in the rows that are in the table.
    """
    if not place.inner or len(values) == values.null_count:
        return
    for inner, below in zip(place.inner, inner_values(place, values), strict=True):
        if below is not None:
            yield from lacking(inner, below)
        elif inner.required:
            yield inner


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
