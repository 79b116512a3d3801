"""Tables that Iceberg can read too (sections Iceberg Compatibility V1 and V2).

Every write checks the requirements on the table as a whole. Ids of elements, keys and values are
assigned with those of columns, and existing files are rewritten where IcebergCompatV1 requires
another layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from reference_impl.errors import InvalidMetadata
from reference_impl.model.actions import Metadata, Protocol
from reference_impl.model.column_mapping import Mode, lasting_name
from reference_impl.model.features import active, supported
from reference_impl.model.file_actions import choose
from reference_impl.types.keys import TYPE_CHANGES_KEY
from reference_impl.types.model import (
    DOUBLE,
    FLOAT,
    INTEGERS,
    VARIANT,
    VOID,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
    every_field,
    map_fields,
    walk,
)
from reference_impl.types.schema import parse_type
from reference_impl.write.features.mapping import MAX_ID_PROPERTY, Numbering, highest_id
from reference_impl.write.statistics import num_records_of

NESTED_IDS_KEY: Final = "delta.columnMapping.nested.ids"
VERSIONS: Final = ("icebergCompatV1", "icebergCompatV2")


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a version asks for, with the requirement of each.

    Attributes:
        mapping: requirement of column mapping.
        vectors: returns whether a table breaks the rule about deletion vectors.
        vectors_requirement: of that rule.
        refused: returns whether a type is forbidden.
        types: requirement of the types.
    """

    mapping: str
    vectors: Callable[[Protocol, Metadata], bool]
    vectors_requirement: str
    refused: Callable[[DataType], bool]
    types: str


_RULES: Final[Mapping[str, _Rules]] = {
    "icebergCompatV1": _Rules(
        "ICE1-005",
        lambda protocol, _: "deletionVectors" in supported(protocol),
        "ICE1-006",
        lambda of: isinstance(of, Array | Map) or of in (VOID, VARIANT),
        "ICE1-010",
    ),
    "icebergCompatV2": _Rules(
        "ICE2-005",
        lambda protocol, metadata: active(protocol, metadata, "deletionVectors"),
        "ICE2-014",
        lambda of: of in (VOID, VARIANT),
        "ICE2-018",
    ),
}


def is_iceberg_compatible(protocol: Protocol, metadata: Metadata) -> bool:
    """Return whether a version of Iceberg compatibility is active."""
    return any(active(protocol, metadata, name) for name in VERSIONS)


def check_iceberg(protocol: Protocol, metadata: Metadata, schema: Struct, mode: Mode) -> None:
    """Check a table against its version of Iceberg compatibility.

    Raises:
        InvalidMetadata: it breaks a demand.
    """
    on = [name for name in VERSIONS if active(protocol, metadata, name)]
    if len(on) > 1:
        raise _refused("both versions of Iceberg compatibility are active", "ICE2-013")
    for name in on:
        rules = _RULES[name]
        if mode == "none":
            raise _refused(f"{name} needs columns that are mapped by name or id", rules.mapping)
        if rules.vectors(protocol, metadata):
            raise _refused(f"{name} allows no deletion vectors", rules.vectors_requirement)
        for place, of in walk(schema):
            if place and rules.refused(of):
                raise _refused(f"{name} allows no column such as {place}: {of}", rules.types)
        for _, column in every_field(schema):
            for change in column.metadata.get(TYPE_CHANGES_KEY, ()):
                if not _is_allowed(parse_type(change["fromType"]), parse_type(change["toType"])):
                    raise _refused(
                        f"{name} allows no column that was widened as {column.name} was", "ICE2-023"
                    )


def files_to_rewrite(protocol: Protocol, metadata: Metadata, adds: pa.Table) -> pa.Table:
    """Choose the live files that must be rewritten when compatibility is enabled."""
    first = active(protocol, metadata, "icebergCompatV1")
    if first and metadata.partition_columns:
        return adds  # partition values have to be in every file
    vectors = adds.column("deletionVector").to_pylist()
    texts = adds.column("stats").to_pylist()
    pairs = zip(vectors, texts, strict=True)
    return choose(
        adds, [vector is not None or num_records_of(text) is None for vector, text in pairs]
    )


def number_nested(
    schema: Struct, configuration: Mapping[str, str]
) -> tuple[Struct, dict[str, str]]:
    """Assign ids to elements, keys and values that have none, above every id so far."""
    # Obeys ICE2-006 ICE2-007 ICE2-008 ICE2-009 ICE2-010 ICE2-012 ICE2-021 ICE2-022.
    numbering = Numbering(highest_id(configuration, schema))

    def annotate(column: Field) -> Field:
        held = column.metadata.get(NESTED_IDS_KEY)
        ids = dict(held) if isinstance(held, Mapping) else {}
        for place in _places(column.type, lasting_name(column)):
            if type(ids.get(place)) is not int:
                ids[place] = numbering.following()
        metadata = {**column.metadata, NESTED_IDS_KEY: ids} if ids else column.metadata
        return replace(column, type=map_fields(column.type, annotate), metadata=metadata)

    return map_fields(schema, annotate), {**configuration, MAX_ID_PROPERTY: str(numbering.highest)}


def _places(of: DataType, prefix: str) -> Iterator[str]:
    """Return the keys of the ids that belong to one field: down to the next struct."""
    match of:
        case Array(element):
            yield f"{prefix}.element"
            yield from _places(element, f"{prefix}.element")
        case Map(key, value):
            for name, inner in (("key", key), ("value", value)):
                yield f"{prefix}.{name}"
                yield from _places(inner, f"{prefix}.{name}")
        case _:
            return


def _is_allowed(before: DataType, after: DataType) -> bool:
    """Whether Iceberg allows a change of type, which is a widening."""
    match before, after:
        case Decimal(_, scale), Decimal(_, other):
            return scale == other
        case _ if before == FLOAT:
            return after == DOUBLE
        case _:
            return before in INTEGERS and after in INTEGERS


def _refused(message: str, requirement: str) -> InvalidMetadata:
    return InvalidMetadata(message, stage="commit", requirement=requirement)
