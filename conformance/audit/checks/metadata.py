"""Checks of protocol and metadata where a commit sets them.

Covers "Change Metadata", "Protocol Evolution", "Table Features", "Column Mapping" and the
sections of the features that column metadata or table properties bring in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import schemas
from conformance.audit.checks.commits import configuration_findings, schema_findings
from conformance.audit.findings import Findings, check, finding, unchecked
from conformance.audit.grammar.types import BITS, PRIMITIVES, decimal_of, widens
from conformance.audit.read.layout import (
    COLUMN_ID,
    MAX_COLUMN_ID,
    MODE,
    PHYSICAL_NAME,
    Column,
    Layout,
    listed_features,
    parts_of,
)
from conformance.audit.read.raw import parse_json
from conformance.audit.subjects import Step
from schemas.features import FEATURES, find


@check("commit", "META-001 REC-002")
def first_version_is_whole(step: Step) -> Findings:
    """Report a version 0 without protocol or metaData."""
    if step.version != 0:
        return
    if next(step.of("metaData"), None) is None:
        yield finding("META-001", step.place, "version 0 has no metaData")
    if next(step.of("protocol"), None) is None:
        yield finding("REC-002", step.place, "version 0 has no protocol")


@check("definition", "PROTO-005 FEAT-003 META-015")
def known_to_the_audit(step: Step) -> Findings:
    """Report protocol versions, features and formats that no check in here knows."""
    for line in step.of("protocol"):
        if step.new.reader > LAST_READER or step.new.writer > LAST_VERSION:
            message = f"protocol {step.new.reader}, {step.new.writer} is newer than this audit"
            yield finding("PROTO-005", line.place, message, severity="warning")
        for feature in sorted(step.new.features):
            if find(feature) is None:
                message = f"the feature {feature} is unknown to this audit"
                hint = "names are matched by letter case; what the feature changes is not checked"
                yield finding("FEAT-003", line.place, message, hint, severity="warning")
    for line in step.of("metaData"):
        if step.new.provider != "parquet":
            message = f"format.provider is {step.new.provider}: data files are not checked"
            yield finding("META-015", line.place, message, severity="warning")


@check("definition", "META-008 SCH-001", *schemas.requirements("table/schema"))
def valid_schema(step: Step) -> Findings:
    """Report a schemaString that is no valid schema."""
    for line in step.of("metaData"):
        text = line.body.get("schemaString")
        if not isinstance(text, str):
            continue  # the action's own schema reports it
        parsed = parse_json(text)
        if parsed.limit is not None:
            yield unchecked("SCH-001", line.place, parsed.limit)
            continue
        if not isinstance(parsed.value, dict) or parsed.value.get("type") != "struct":
            yield finding("META-008", line.place, "schemaString is no serialized schema of a table")
        if parsed.fault is not None:
            yield finding("SCH-001", line.place, f"schemaString is not JSON: {parsed.fault}")
        else:
            if not isinstance(parsed.value, dict):
                yield finding("SCH-001", line.place, "schemaString is no JSON object")
            for each in schema_findings(
                "table/schema", parsed.value, line.place, "SCH-001", "schemaString"
            ):
                # What a reader has to know may bring types that no text here has.
                free = _NO_TYPE in each.message and _reads_by_more(step)
                # Outside of the reserved names a key has its meaning by an active feature alone.
                inert = each.requirement in _NESTED_IDS and not step.new.active("icebergCompatV2")
                yield replace(each, severity="warning") if free or inert else each


_NESTED_IDS: Final = frozenset({"ICE2-009", "ICE2-010"})
"""Requirements of the key ``parquet.field.nested.ids``."""

_NO_TYPE: Final = "not the name of a type"
"""What the schema says of a name that no primitive type has."""


def _reads_by_more(step: Step) -> bool:
    """Return whether readers need a version or a feature that is unknown here."""
    names = listed_features(step.protocol, "readerFeatures")
    return step.new.reader > LAST_READER or any(find(name) is None for name in names)


@check("definition", "META-009 VAR-006")
def partition_columns_exist(step: Step) -> Findings:
    """Report partition columns that are no top-level column of a type with text form."""
    for line in step.of("metaData"):
        if step.new.schema is None:
            continue
        for name in step.new.partitions:
            column = step.new.by_path.get((name,))
            if column is None:
                message = f"partition column {name} is not in the schema"
                yield finding("META-009", line.place, message)
            elif column.type == "variant":
                message = f"partition column {name} is a variant"
                yield finding("VAR-006", line.place, message)
            elif not isinstance(column.type, str):
                message = f"partition column {name} is nested, which has no text form"
                yield finding("META-009", line.place, message)


@check("definition", "CM-001 CM-002 CM-003 CM-004 CM-020")
def column_mapping(step: Step) -> Findings:
    """Report columns without id or physical name, and those that share one."""
    line = next(step.of("metaData"), None)
    if line is None or step.new.mode not in ("id", "name"):
        return
    ids: dict[int, Column] = {}
    names: dict[tuple[str, ...], Column] = {}
    for column in step.new.columns:
        if not isinstance(column.metadata.get(PHYSICAL_NAME), str):
            message = f"column {column.name} has no physical name"
            yield finding("CM-001", line.place, message)
        if column.field_id is None:
            yield finding("CM-002", line.place, f"column {column.name} has no column id")
        else:
            other = ids.setdefault(column.field_id, column)
            if other is not column:
                message = f"{column.name} and {other.name} share column id {column.field_id}"
                yield finding("CM-004", line.place, message)
        twin = names.setdefault(column.physical, column)
        if twin is not column:
            message = f"{column.name} and {twin.name} share the physical name {column.physical[-1]}"
            yield finding("CM-003", line.place, message)
    text = step.new.properties.get(MAX_COLUMN_ID, "")
    top = max(ids, default=0)
    numbered = text.isascii() and text.isdigit()
    if (ids or text) and (not numbered or int(text[:20]) < top):
        message = f"{MAX_COLUMN_ID} is {text or 'not set'}, but id {top} is assigned"
        yield finding("CM-020", line.place, message)


@check("commit", "CM-018 CM-034")
def physical_paths_are_permanent(step: Step) -> Findings:
    """Report a physical path that was another column's in an earlier version."""
    if not step.sets_metadata:
        return
    place = next(step.of("metaData")).place
    known = set().union(*step.before.paths.values())
    shared = Counter(path for path, _ in step.new.physical_ids)
    for path, number in step.new.physical_ids:
        former = step.before.paths.get(path, {number})
        if number in former or shared[path] > 1:
            continue
        message = f"the physical path {'.'.join(path)} of id {number} was that of id {min(former)}"
        for requirement in ("CM-034",) if number in known else ("CM-018", "CM-034"):
            yield finding(requirement, place, message, "old files have other values under it")


def _inner_types(of: Any) -> Iterator[Any]:
    """Return the types in a column down to its structs, whose fields are columns themselves."""
    if not isinstance(of, dict):
        yield of
    for _, inner in parts_of(of):
        yield from _inner_types(inner)


def needs_feature(column: Column, feature: str) -> bool:
    """Return whether the type of a column, or its metadata, needs a feature."""
    types, keys = FEATURES[feature].types, FEATURES[feature].column_keys
    return any(key in column.metadata for key in keys) or any(
        of in types for of in _inner_types(column.type)
    )


LISTED_BY: Final[Mapping[str, str]] = {
    "allowColumnDefaults": "DFT-001",
    "appendOnly": "APP-001",
    "changeDataFeed": "CDC-013",
    "checkConstraints": "CHK-001",
    "deletionVectors": "DV-001",
    "generatedColumns": "GEN-001",
    "icebergCompatV1": "ICE1-003",
    "icebergCompatV2": "ICE2-003",
    "identityColumns": "IDN-001",
    "invariants": "INV-001",
    "rowTracking": "RT-041",
    "timestampNtz": "NTZ-002",
    "typeWidening": "TW-001",
    "v2Checkpoint": "V2F-001",
    "vacuumProtocolCheck": "VPC-001",
    "variantType": "VAR-001",
}
"""Feature to the row that wants its name in the protocol."""

LAST_READER: Final = 3
"""The highest reader version that a text has."""

LAST_VERSION: Final = 7
"""The highest writer version that a text has."""

_TYPE_FEATURES: Final = frozenset({"timestampNtz", "variantType"})
"""Features without which there may be no column of their type."""

COLUMN_FEATURES: Final[Mapping[str, str]] = {
    "timestampNtz": "has type timestamp_ntz",
    "variantType": "has type variant",
    "typeWidening": "has type changes",
    "invariants": "has an invariant",
    "generatedColumns": "has a generation expression",
    "allowColumnDefaults": "has a default",
    "identityColumns": "is an identity column",
}
"""Features that columns need, and what such a column has, for messages."""

_WITHOUT_EFFECT: Final = (
    # Row tracking has more to say of its property.
    *((n, row) for n, row in LISTED_BY.items() if FEATURES[n].activation and n != "rowTracking"),
    ("appendOnly", "APP-005"),
    ("inCommitTimestamp", "ICT-003"),
    ("variantShredding", "SHRED-005"),
)
"""Features whose property has no effect while they are not supported."""


@check(
    "definition",
    *(LISTED_BY[feature] for feature in COLUMN_FEATURES),
    "CHK-001 CHK-002 CHK-007 PART-012",
)
def columns_need_their_features(step: Step) -> Findings:
    """Report column types and column metadata whose feature is not supported."""
    if not (step.sets_metadata or step.sets_protocol) or step.new.writer > LAST_VERSION:
        return  # it is unknown what a version supports that no text has
    for column in step.new.columns:
        for feature, words in COLUMN_FEATURES.items():
            if needs_feature(column, feature) and feature not in step.new.features:
                message = f"column {column.name} {words}, but {feature} is not supported"
                # What the key of a feature is worth where it is not supported, no sentence says.
                sure = feature in _TYPE_FEATURES
                yield finding(LISTED_BY[feature], step.place, message, sure=sure)
    for name in step.new.partitions:
        of = step.new.by_path.get((name,))
        if of is not None and of.type == "timestamp_ntz" and not _listed(step, "timestampNtz"):
            yield finding("PART-012", step.place, f"partition column {name} needs timestampNtz")
    yield from _constraints(step)


def _listed(step: Step, feature: str) -> bool:
    """Return whether a feature of readers and writers is in both lists."""
    lists = (listed_features(step.protocol, key) for key in ("readerFeatures", "writerFeatures"))
    return all(feature in names for names in lists)


def _constraints(step: Step) -> Findings:
    constraints = [k for k in step.new.properties if k.startswith(_CONSTRAINT)]
    if constraints and "checkConstraints" not in step.new.features:
        # The sentence that forbids comes before the one that says what support is.
        message = f"{constraints[0]} is set, but checkConstraints is not supported"
        if step.before.known and any(name not in step.old.properties for name in constraints):
            yield finding("CHK-007", step.place, f"{constraints[0]} is added all the same")
        yield finding("CHK-001", step.place, message)
    if _CONSTRAINT in constraints:
        yield finding("CHK-002", step.place, f"the key {_CONSTRAINT} names no constraint")


_CONSTRAINT: Final = "delta.constraints."


@check("definition", "VAR-007")
def variants_are_not_generated(step: Step) -> Findings:
    """Report variant columns that an expression is to give."""
    if not step.sets_metadata:
        return
    for column in step.new.columns:
        if column.type == "variant" and "delta.generationExpression" in column.metadata:
            message = f"the variant column {column.name} has a generation expression"
            yield finding("VAR-007", step.place, message)


@check("definition", "SCH-027")
def reserved_keys(step: Step) -> Findings:
    """Report keys of column metadata in the reserved namespace that no feature defines."""
    if not step.sets_metadata:
        return
    for column in step.new.columns:
        for key in sorted(map(str, column.metadata)):
            if key.startswith("delta.") and key not in _RESERVED:
                message = f"column {column.name} has {key}, a name that implementations give"
                # The log does not say who gave it, and an implementation may.
                yield finding("SCH-027", step.place, message, severity="warning")


_RESERVED: Final = frozenset(
    {
        "delta.invariants", "delta.generationExpression", "delta.typeChanges",
        "delta.columnMapping.id", "delta.columnMapping.physicalName",
        "delta.columnMapping.nested.ids", "delta.identity.start", "delta.identity.step",
        "delta.identity.highWaterMark", "delta.identity.allowExplicitInsert",
    }
)  # fmt: skip
"""Keys of column metadata that the protocol defines."""


@check("definition", *(requirement for _, requirement in _WITHOUT_EFFECT), "CM-006 CM-011")
def properties_need_their_features(step: Step) -> Findings:
    """Report table properties that are on while their feature is not supported."""
    if not (step.sets_metadata or step.sets_protocol):
        return
    for feature, requirement in _WITHOUT_EFFECT:
        name = FEATURES[feature].activation
        if step.new.is_true(name) and feature not in step.new.features:
            message = f"{name} is true without effect: {feature} is not supported"
            # To set a property that is without effect is forbidden of one alone.
            yield finding(requirement, step.place, message, sure=requirement == "SHRED-005")
        elif requirement == "SHRED-005" and step.new.is_true(name) and not _listed(step, feature):
            message = f"{name} is true, and {feature} is in one list alone"
            yield finding(requirement, step.place, message)
    mode = step.new.properties.get(MODE, "none")
    off = step.before.known and step.old.properties.get(MODE, "none") == "none"
    if mode != "none" and off:
        yield from _turned_on(step)
    if mode != "none" and "columnMapping" not in step.new.features:
        message = f"column mapping mode {mode} is without effect: columnMapping is not supported"
        yield finding("CM-006", step.place, message, severity="warning")


def _turned_on(step: Step) -> Findings:
    """Report column mapping that is turned on and not listed for readers and writers."""
    if step.new.writer != 7:
        return
    keys = {key for column in step.new.columns for key in column.metadata}
    if "columnMapping" not in step.new.features and not keys & {PHYSICAL_NAME, COLUMN_ID}:
        return  # a property that is without effect
    # Reader version 2 is the feature itself, and a version before it is without.
    for key in (
        ("readerFeatures", "writerFeatures") if step.new.reader == 3 else ("writerFeatures",)
    ):
        listed = (step.protocol or {}).get(key)
        if isinstance(listed, list) and "columnMapping" not in listed:
            message = f"column mapping is turned on, and {key} does not list columnMapping"
            yield finding("CM-011", step.place, message)
    if step.new.reader == 1 and "columnMapping" in step.new.features:
        message = "column mapping is turned on, and reader version 1 does not know it"
        yield finding("CM-011", step.place, message)


@check("definition", "TF-018 TF-019")
def features_are_listed_where_they_belong(step: Step) -> Findings:
    """Report features in a list that is not theirs."""
    for line in step.of("protocol"):
        readers, writers = (
            {str(name) for name in found} if isinstance(found, list) else set()
            for found in (line.body.get("readerFeatures"), line.body.get("writerFeatures"))
        )
        for name in sorted(readers):
            feature = find(name)
            if feature is not None and feature.kind == "writer":
                message = f"the writer feature {name} is in readerFeatures"
                yield finding("TF-019", line.place, message)
        if line.body.get("minReaderVersion") != 3:
            continue
        for name in sorted(writers - readers):
            feature = find(name)
            if feature is not None and feature.kind != "writer":
                message = f"{name} is in writerFeatures alone, under reader version 3"
                yield finding("TF-018", line.place, message)


@check("definition", "CLUS-004", *schemas.requirements("table/clustering"))
def clustered_tables_have_no_partitions(step: Step) -> Findings:
    """Report clustering together with partition columns, and malformed clustering columns."""
    changed = step.sets_metadata or step.sets_protocol
    if changed and "clustering" in step.new.features and step.new.partitions:
        message = f"the table is clustered and partitioned by {', '.join(step.new.partitions)}"
        yield finding("CLUS-004", step.place, message)
    if "clustering" not in step.new.features:
        return  # without the feature the section asks for no domain, nor for a form of it
    for line in step.of("domainMetadata"):
        if line.body.get("domain") != "delta.clustering" or line.body.get("removed") is True:
            continue
        # Both shapes that are contested are valid here.
        message = "the configuration is not JSON"
        yield from configuration_findings("table/clustering", line, "CLUS-007", message)


@check(
    "definition",
    "ICE1-005 ICE1-006 ICE1-010 ICE1-011 ICE2-005 ICE2-013 ICE2-014 ICE2-018 ICE2-019",
    "ICE2-023",
)
def iceberg_compatibility(step: Step) -> Findings:
    """Report tables whose Iceberg compatibility does not hold."""
    if not (step.sets_metadata or step.sets_protocol):
        return
    one = step.new.active("icebergCompatV1")
    two = step.new.active("icebergCompatV2")
    stated = step.new.properties.get(MODE)
    mapped = step.new.mode in ("id", "name") and stated == step.new.mode
    rules = (
        (one and not mapped, "ICE1-005", "icebergCompatV1 is active without column mapping"),
        (
            one and "deletionVectors" in step.new.features,
            "ICE1-006",
            "icebergCompatV1 is active and deletionVectors is supported",
        ),
        (two and not mapped, "ICE2-005", "icebergCompatV2 is active without column mapping"),
        (two and one, "ICE2-013", "icebergCompatV1 and icebergCompatV2 are both active"),
        (
            two and step.new.active("deletionVectors"),
            "ICE2-014",
            "icebergCompatV2 and deletion vectors are both active",
        ),
        *(
            (two, "ICE2-018", f"icebergCompatV2 excludes columns of type {name}")
            for name in sorted(_types(step.new) - _ICEBERG if two else ())
        ),
    )
    for broken, requirement, message in rules:
        if broken:
            yield finding(requirement, step.place, message)
    excluded = _nested(step.new) if one else []
    if excluded:
        # What is blocked is to add them; whether a table that has some may turn it on is open.
        had = {at for column in _nested(step.old) for at in (column.path, column.physical)}
        added = [c for c in excluded if had.isdisjoint((c.path, c.physical))]
        column = (added or excluded)[0]
        message = f"icebergCompatV1 excludes {_kind(column)} columns, as {column.name}"
        sure = bool(added) and step.before.known
        yield finding("ICE1-010", step.place, message, sure=sure)
    if one or two:
        yield from _outside_of_iceberg(step)


def _outside_of_iceberg(step: Step) -> Findings:
    """Report partition columns that are exchanged, and type changes that Iceberg does not know."""
    old, new = step.old, step.new
    # A column that is renamed keeps its physical name.
    renamed = old.partition_columns.keys() == new.partition_columns.keys()
    for name, requirement in (("icebergCompatV1", "ICE1-011"), ("icebergCompatV2", "ICE2-019")):
        # What is blocked is to replace a partitioned table.
        kept = bool(old.partitions) and old.active(name) and new.active(name)
        if kept and set(old.partitions) != set(new.partitions) and not renamed:
            message = f"{name} stays active, and the partition columns have other names"
            # No sentence says whether no partition columns at all are a spec of other names.
            yield finding(requirement, step.place, message, sure=bool(new.partitions))
    for column in new.columns:
        for _, before, after in column.type_changes:
            if widens(before, after) and not _iceberg_widens(before, after):
                message = f"{column.name} went from {before} to {after}, which Iceberg does not"
                yield finding("ICE2-023", step.place, message)


def _iceberg_widens(before: str, after: str) -> bool:
    sizes = decimal_of(before), decimal_of(after)
    if sizes[0] is not None and sizes[1] is not None:
        return sizes[0][1] == sizes[1][1]
    return (before in BITS and after in BITS) or (before, after) == ("float", "double")


_ICEBERG: Final = PRIMITIVES - {"void", "variant"}
"""Primitive types that Iceberg compatibility V2 allows, beside decimals."""


def _types(layout: Layout) -> set[str]:
    """Return the names of types that columns have, other than decimals."""
    found = (each for column in layout.columns for each in _inner_types(column.type))
    return {each for each in found if isinstance(each, str) and decimal_of(each) is None}


def _kind(column: Column) -> Any:
    return column.type.get("type") if isinstance(column.type, dict) else column.type


def _nested(layout: Layout) -> list[Column]:
    """Return the map, array and void columns."""
    return [column for column in layout.columns if _kind(column) in ("map", "array", "void")]
