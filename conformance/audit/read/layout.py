"""What protocol and metadata of a version say about its files, read leniently.

Covers "Table Features", "Column Mapping" and "Schema Serialization Format".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.audit.read.raw import mapping_in, parse_object
from conformance.audit.read.state import Body
from schemas.features import FEATURES, find

MODE: Final = "delta.columnMapping.mode"
MAX_COLUMN_ID: Final = "delta.columnMapping.maxColumnId"
"""The table property that holds the highest id of a column."""

LISTS: Final = 7
"""The writer version that goes by lists of features."""

COLUMN_ID: Final = "delta.columnMapping.id"
PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"
"""Keys of column metadata under column mapping."""


@dataclass(frozen=True, slots=True)
class Column:
    """A field of the schema, at any depth outside of arrays and maps or within them.

    Attributes:
        path: logical names from the root, ``element``, ``key`` and ``value`` among them.
        physical: the same by physical names.
        type: the name of a primitive type, or the JSON of a nested one.
        nullable: as in the schema.
        metadata: of the field.
        reachable: whether statistics can describe it: not inside an array or a map.
    """

    path: tuple[str, ...]
    physical: tuple[str, ...]
    type: Any
    nullable: bool
    metadata: Mapping[str, Any]
    reachable: bool = True

    @property
    def name(self) -> str:
        """The logical path with dots, for messages."""
        return ".".join(self.path)

    @property
    def field_id(self) -> int | None:
        """The id of column mapping."""
        value = self.metadata.get(COLUMN_ID)
        return value if type(value) is int else None

    @property
    def identity(self) -> tuple[object, ...]:
        """The id of column mapping, which outlasts a rename; the path where there is none."""
        return self.path if self.field_id is None else (self.field_id,)

    @property
    def type_changes(self) -> tuple[tuple[str, str, str], ...]:
        """The recorded type changes: path inside of the column, type before, type after."""
        listed = self.metadata.get("delta.typeChanges")
        records = (
            [record.get(key, "") for key in ("fieldPath", "fromType", "toType")]
            for record in (listed if isinstance(listed, list) else ())
            if isinstance(record, dict)
        )
        return tuple((a, b, c) for a, b, c in records if {type(x) for x in (a, b, c)} == {str})


@dataclass(frozen=True, slots=True)
class Layout:
    """Protocol and metadata of a version, taken apart.

    Attributes:
        features: supported features, listed or implied by a version; aliases by their feature.
        reader: ``minReaderVersion``; 0 when it is missing.
        writer: ``minWriterVersion``; 0 when it is missing.
        properties: the configuration.
        mode: the column mapping mode in force.
        schema: the parsed schema; ``None`` when it is no JSON object.
        provider: of the format, in lower case; ``parquet`` when the metadata does not say.
        columns: every field of the schema, depth first.
        partitions: names of partition columns.
        by_path: the columns by their logical paths.
        by_physical: the columns by their physical paths.
        aliases: physical paths by those that end with the logical name.
    """

    features: frozenset[str]
    reader: int
    writer: int
    properties: Mapping[str, str]
    mode: str
    schema: Any
    provider: str
    columns: tuple[Column, ...]
    partitions: tuple[str, ...]
    by_path: Mapping[tuple[str, ...], Column] = field(repr=False)
    by_physical: Mapping[tuple[str, ...], Column] = field(repr=False)
    aliases: Mapping[tuple[str, ...], tuple[str, ...]] = field(repr=False)

    def is_true(self, name: str) -> bool:
        """Whether a table property is ``true``."""
        return self.properties.get(name, "").lower() == "true"

    def active(self, feature: str) -> bool:
        """Whether a feature is supported and the table property that activates it true."""
        return feature in self.features and self.is_true(FEATURES[feature].activation)

    @property
    def used(self) -> frozenset[str]:
        """The features of versions before lists that metadata makes use of."""
        keys = {key for column in self.columns for key in column.metadata}
        found = {
            each.name
            for each in FEATURES.values()
            if each.legacy_writer
            and (
                (each.activation and self.is_true(each.activation))
                or not keys.isdisjoint(each.column_keys)
            )
        }
        if any(key.startswith("delta.constraints.") for key in self.properties):
            found.add("checkConstraints")
        if self.mode != "none":
            found.add("columnMapping")
        return frozenset(found)

    @property
    def max_column_id(self) -> int | None:
        """The highest id of column mapping that was given; ``None`` where no number is."""
        text = self.properties.get(MAX_COLUMN_ID, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None

    @property
    def top_names(self) -> set[str]:
        """Physical names of the top-level columns."""
        return {c.physical[0] for c in self.columns if len(c.path) == 1}

    @property
    def physical_ids(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Physical path and id of each column that has both; none without column mapping."""
        for column in self.columns if self.mode != "none" else ():
            if column.field_id is not None and isinstance(column.metadata.get(PHYSICAL_NAME), str):
                yield column.physical, column.field_id

    @property
    def partition_columns(self) -> dict[str, Column | None]:
        """Physical name of each partition column to its field; ``None`` when it has none."""
        found: dict[str, Column | None] = {}
        for name in self.partitions:
            column = self.by_path.get((name,))
            found[column.physical[-1] if column else name] = column
        return found


def supported_features(protocol: Body | None) -> frozenset[str]:
    """Return the features that a protocol supports; unknown names as they stand."""
    if protocol is None:
        return frozenset()
    reader, writer = _version(protocol, "minReaderVersion"), _version(protocol, "minWriterVersion")
    found: set[str] = set()
    for key in ("readerFeatures", "writerFeatures"):
        listed = protocol.get(key)
        for name in listed if isinstance(listed, list) else ():
            feature = find(str(name))
            if feature is None or feature.kind != "writer" or key == "writerFeatures":
                found.add(feature.name if feature else str(name))
    for feature in FEATURES.values():
        by_writer = 0 < feature.legacy_writer <= writer < 7
        by_reader = 0 < feature.legacy_reader <= reader < 3
        if by_reader or (by_writer and feature.kind == "writer"):
            found.add(feature.name)
    return frozenset(found)


def listed_features(protocol: Body | None, key: str) -> frozenset[str]:
    """Return what a list of a protocol has, by the names of the text; unknown ones as they are."""
    listed = (protocol or {}).get(key)
    names = map(str, listed) if isinstance(listed, list) else ()
    return frozenset(feature.name if (feature := find(name)) else name for name in names)


def _version(protocol: Body, key: str) -> int:
    value = protocol.get(key)
    return value if type(value) is int else 0


def parts_of(of: Any) -> Iterator[tuple[str, Any]]:
    """Yield the element of an array type, or the key and the value of a map type, by name."""
    kind = of.get("type") if isinstance(of, dict) else None
    parts = ("element",) if kind == "array" else ("key", "value") if kind == "map" else ()
    yield from ((part, of.get(f"{part}Type")) for part in parts)


def fields_of(of: Any) -> list[dict[str, Any]]:
    """Return the fields of a struct type that have a name; others are reported elsewhere."""
    listed = of.get("fields") if isinstance(of, dict) else None
    fields = listed if isinstance(listed, list) else ()
    return [each for each in fields if isinstance(each, dict) and isinstance(each.get("name"), str)]


def _fields(
    node: Any,
    path: tuple[str, ...],
    physical: tuple[str, ...],
    *,
    mapped: bool,
    reachable: bool = True,
) -> Iterator[Column]:
    if not isinstance(node, dict):
        return
    match node.get("type"):
        case "struct":
            for item in fields_of(node):
                metadata = mapping_in(item, "metadata")
                name = metadata.get(PHYSICAL_NAME) if mapped else item["name"]
                column = Column(
                    (*path, item["name"]),
                    (*physical, name if isinstance(name, str) else item["name"]),
                    item.get("type"),
                    item.get("nullable") is not False,
                    metadata,
                    reachable,
                )
                yield column
                yield from _fields(
                    column.type, column.path, column.physical, mapped=mapped, reachable=reachable
                )
        case _:
            for part, inner in parts_of(node):
                yield from _fields(
                    inner, (*path, part), (*physical, part), mapped=mapped, reachable=False
                )


def layout_of(protocol: Body | None, metadata: Body | None) -> Layout:
    """Take protocol and metadata apart; whatever is malformed is left out."""
    metadata = metadata or {}
    features = supported_features(protocol)
    configuration = metadata.get("configuration")
    properties = {
        key: value
        for key, value in (configuration if isinstance(configuration, dict) else {}).items()
        if isinstance(value, str)
    }
    mode = properties.get(MODE, "none")
    mode = mode if mode in ("none", "id") else "name"  # another one is reported
    mode = mode if "columnMapping" in features else "none"
    schema = parse_object(metadata.get("schemaString"))
    try:
        columns = tuple(_fields(schema, (), (), mapped=mode in ("id", "name")))
    except RecursionError:
        columns = ()
    partitions = metadata.get("partitionColumns")
    form = metadata.get("format")
    return Layout(
        features=features,
        reader=_version(protocol or {}, "minReaderVersion"),
        writer=_version(protocol or {}, "minWriterVersion"),
        properties=properties,
        mode=mode,
        schema=schema,
        provider=str(form.get("provider", "parquet")).lower()
        if isinstance(form, dict)
        else "parquet",
        columns=columns,
        partitions=tuple(
            name
            for name in (partitions if isinstance(partitions, list) else ())
            if isinstance(name, str)
        ),
        by_path={column.path: column for column in columns},
        by_physical={column.physical: column for column in columns},
        aliases={(*each.physical[:-1], each.path[-1]): each.physical for each in columns},
    )
