"""What features ask of a data file that is written while they are on.

Covers "Writer Requirements for IcebergCompatV2" and "Variant Shredding". A table may have files
that are older than the feature: a file is reported only where the log shows that it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as at

from conformance.audit.findings import Finding, finding
from conformance.audit.read.arrow import schema_of
from conformance.audit.read.layout import PHYSICAL_NAME, Layout
from conformance.audit.read.raw import listed
from conformance.audit.stored.data_file import LiveFile
from conformance.audit.stored.places import field_id, places_of
from conformance.audit.stored.statistics.columns import plain
from conformance.audit.summaries.parsed import same_value
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
    for field in schema_of(file):
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


_MATERIALISED: Final = (("icebergCompatV1", "ICE1-007"), ("icebergCompatV2", "ICE2-015"))
"""Versions of Iceberg compatibility, and what they have against a file without partitions."""


def partitions_of_iceberg(opened: LiveFile) -> Iterator[Finding]:
    """Report partition columns that a file lacks or misplaces under Iceberg compatibility."""
    layout = opened.view.layout
    top = [column for column in layout.columns if len(column.path) == 1]
    found = {column.field_id: column.physical[0] for column in top if layout.mode == "id"}
    # Where columns are found by their ids, a file may call them otherwise.
    stored = {found.get(field_id(each), each.name): each.name for each in opened.schema}
    names = list(stored)
    partitions = layout.partition_columns.keys()
    declared = layout.top_names
    for feature, requirement in _MATERIALISED:
        if not layout.active(feature):
            continue
        of_first = feature == "icebergCompatV1"
        # Under the second version a file may be older than what asks for them.
        sure = of_first or opened.follows(feature)
        for physical in partitions - set(names):
            message = f"the file lacks the partition column {physical}"
            yield finding(requirement, opened.path, message, sure=sure)
        for physical in sorted(partitions & set(names)):
            for message in _materialised(opened, physical, stored[physical]):
                yield finding(requirement, opened.path, message, sure=sure)
        # Row ids and other hidden columns are no data columns.
        last = [name in partitions for name in names if name in declared]
        if of_first and last != sorted(last):
            message = "partition columns come before data columns"
            yield finding("ICE1-008", opened.path, message)


def _materialised(opened: LiveFile, physical: str, stored: str) -> Iterator[str]:
    """Describe values of a partition column in a file that are not the partition's."""
    column = opened.view.layout.partition_columns[physical]
    texts = opened.body.get("partitionValues")
    if column is None or not isinstance(column.type, str) or not isinstance(texts, dict):
        return
    if opened.schema.names.count(stored) != 1:
        return
    text = texts.get(physical) or None
    for value in listed(pc.unique(plain(opened.read(stored)))):
        if None in (text, value):
            same = text == (None if value == "" else value)  # an empty text may be a null
        else:
            # A timestamp's text without zone is in one that the log does not say.
            same = column.type == "timestamp" or same_value(text, value, column.type)
        if not same:
            yield f"partition column {column.name} is {value!r} in the file, the log says {text}"
