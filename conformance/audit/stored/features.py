"""What features ask of a data file that is written while they are on.

Covers "Writer Requirements for IcebergCompatV2" and "Variant Shredding". A table may have files
that are older than the feature: a file is reported only where the log shows that it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as at

from conformance.audit.read.layout import PHYSICAL_NAME, Layout
from conformance.audit.stored.places import places_of
from conformance.judging.compare.families import is_list

_KEYS: Final = ("delta.columnMapping.nested.ids", "parquet.field.nested.ids")
_FIELD_ID: Final = b"PARQUET:field_id"


def of_iceberg(file: pq.ParquetFile, layout: Layout) -> Iterator[tuple[str, str]]:
    """Yield requirement and message for each rule of Iceberg compatibility V2 that is broken."""
    if not layout.active("icebergCompatV2"):
        return
    for column in map(file.schema.column, range(len(file.schema))):
        if column.physical_type == "INT96":
            yield "ICE2-017", f"the timestamps of {column.path} are int96 and not int64"
    top = {c.physical[-1]: c for c in layout.columns if len(c.path) == 1}
    for field in file.schema_arrow:
        column = top.get(field.name)
        if column is not None:
            yield from _numbered(field.type, column.type, column.metadata, column.name, "")


def _numbered(
    stored: pa.DataType, declared: Any, metadata: Mapping[str, Any], name: str, place: str
) -> Iterator[tuple[str, str]]:
    """Compare the field ids below a column with the ids that the schema gives them."""
    if not isinstance(declared, Mapping):
        return
    if at.is_struct(stored):
        fields = {_physical(each): each for each in declared.get("fields") or ()}
        for child in stored:
            inner = fields.get(child.name)
            if inner is not None:
                held = inner.get("metadata") or {}
                yield from _numbered(child.type, inner.get("type"), held, str(inner["name"]), "")
        return
    for part, key, child in _parts(stored):
        here = f"{place}.{part}"
        wanted = _wanted(metadata, here)
        given = (child.metadata or {}).get(_FIELD_ID)
        if wanted is not None and (given is None or int(given) != wanted):
            given_id = "no field id" if given is None else f"field id {int(given)}"
            yield "ICE2-012", f"{name}{here} has id {wanted}, the file gives it {given_id}"
        yield from _numbered(child.type, declared.get(key), metadata, name, here)


def _parts(stored: pa.DataType) -> Iterator[tuple[str, str, pa.Field]]:
    if is_list(stored):
        yield "element", "elementType", stored.value_field
    elif at.is_map(stored):
        yield "key", "keyType", stored.key_field
        yield "value", "valueType", stored.item_field


def _physical(field: Any) -> str:
    held = field.get("metadata") if isinstance(field, Mapping) else None
    name = held.get(PHYSICAL_NAME) if isinstance(held, Mapping) else None
    return str(name or field.get("name"))


def _wanted(metadata: Mapping[str, Any], place: str) -> int | None:
    """Find the id of a part; its key begins with a name of the column."""
    for key in _KEYS:
        held = metadata.get(key)
        for name, number in held.items() if isinstance(held, Mapping) else ():
            if name.endswith(place) and "." not in name.removesuffix(place):
                return number if type(number) is int else None
    return None


def not_shredded(schema: pa.Schema, layout: Layout) -> Iterator[tuple[str, str]]:
    """Yield requirement and message for variants that are shredded, at any depth."""
    for column in places_of(layout, schema):
        for place in column.walk():
            parts = {each.name for each in place.stored_fields}
            if place.declared == "variant" and "typed_value" in parts:
                yield "SHRED-002", f"the variants of {place.name} are shredded"
