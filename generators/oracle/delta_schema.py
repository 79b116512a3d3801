"""Table schemas as values: a small language, its JSON form and its Arrow form.

Covers "Schema Serialization Format", "Column Mapping" and "Delta Data Type to Parquet Type
Mappings". The builders, the oracle and the strategies share these classes, and share nothing
with the reference implementation, so that a mistake in one cannot hide in the other.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any, Final, TypeAlias

import pyarrow as pa

ID_KEY: Final = "delta.columnMapping.id"
PHYSICAL_NAME_KEY: Final = "delta.columnMapping.physicalName"

_ARROW_PRIMITIVES: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
    "variant": pa.struct(
        [
            pa.field("metadata", pa.binary(), nullable=False),
            pa.field("value", pa.binary(), nullable=False),
        ]
    ),
}

PRIMITIVE_NAMES: Final[frozenset[str]] = frozenset(_ARROW_PRIMITIVES)
"""Names of every primitive type but decimal, as the schema string writes them."""

_DECIMAL_TEXT: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(-?\d+)\s*\)")


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type by its serialized name, as ``long`` or ``timestamp_ntz``."""

    name: str

    def __post_init__(self) -> None:
        """Refuse a name that no revision of the protocol gives to a type."""
        if self.name not in PRIMITIVE_NAMES:
            raise ValueError(f"{self.name!r} is no primitive type of a Delta schema")


@dataclass(frozen=True, slots=True)
class Decimal:
    """A decimal of ``precision`` digits (1 to 38), ``scale`` of them behind the point."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        """Refuse what the protocol's decimal cannot hold."""
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise ValueError(f"decimal({self.precision},{self.scale}) is out of range")


@dataclass(frozen=True, slots=True)
class Array:
    """A list of elements of one type."""

    element: DataType
    contains_null: bool = True


@dataclass(frozen=True, slots=True)
class Map:
    """Pairs of one key type and one value type; keys are never null."""

    key: DataType
    value: DataType
    value_contains_null: bool = True


@dataclass(frozen=True, slots=True)
class Field:
    """A top-level or nested column.

    Attributes:
        name: the logical name.
        type: the column's type.
        nullable: whether the column may be null.
        metadata: the column metadata as the schema string carries it.
    """

    name: str
    type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = dataclass_field(default_factory=dict)

    @property
    def physical_name(self) -> str:
        """The name in data files, partition values and statistics: the mapped one if any."""
        return str(self.metadata.get(PHYSICAL_NAME_KEY, self.name))

    @property
    def field_id(self) -> int | None:
        """The column mapping id, or ``None`` without column mapping."""
        value = self.metadata.get(ID_KEY)
        return None if value is None else int(value)

    def to_json(self) -> dict[str, Any]:
        """Return the field as the schema string writes it."""
        return {
            "name": self.name,
            "type": _type_to_json(self.type),
            "nullable": self.nullable,
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True, slots=True)
class Struct:
    """A table schema, or a struct column."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        """Refuse two fields of one name, which no reader could distinguish."""
        names = [each.name.lower() for each in self.fields]
        if len(set(names)) != len(names):
            raise ValueError(f"two fields of one name (ignoring case) in {names}")

    def __iter__(self) -> Iterator[Field]:
        """Return the fields in order."""
        return iter(self.fields)

    def __getitem__(self, name: str) -> Field:
        """Return the field of a logical name; raises :class:`KeyError` when there is none."""
        for each in self.fields:
            if each.name == name:
                return each
        raise KeyError(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The logical names in order."""
        return tuple(each.name for each in self.fields)

    def select(self, *names: str) -> Struct:
        """Return the schema of some columns, in the order asked for."""
        return Struct(tuple(self[name] for name in names))

    def without(self, *names: str) -> Struct:
        """Return the schema less some columns."""
        return Struct(tuple(each for each in self.fields if each.name not in names))

    def with_fields(self, *fields: Field) -> Struct:
        """Return the schema with columns appended."""
        return Struct((*self.fields, *fields))

    def to_json(self) -> dict[str, Any]:
        """Return the schema as the JSON document that ``schemaString`` holds."""
        return {"type": "struct", "fields": [each.to_json() for each in self.fields]}

    def schema_string(self) -> str:
        """Return the text of ``metaData.schemaString``."""
        return json.dumps(self.to_json(), separators=(",", ":"), ensure_ascii=False)


DataType: TypeAlias = Primitive | Decimal | Array | Map | Struct


def type_of(written: str | DataType) -> DataType:
    """Return the type that a text names, as ``long`` or ``decimal(10,2)``; types pass through."""
    if not isinstance(written, str):
        return written
    match = _DECIMAL_TEXT.fullmatch(written)
    if match:
        return Decimal(int(match[1]), int(match[2]))
    return Primitive(written)


def field(
    name: str,
    type: str | DataType,  # noqa: A002  the word of the wire, and the natural keyword
    *,
    nullable: bool = True,
    metadata: Mapping[str, Any] | None = None,
) -> Field:
    """Return a column; the type may be written as text."""
    return Field(name, type_of(type), nullable, dict(metadata or {}))


def struct(*fields: Field, **columns: str | DataType) -> Struct:
    """Return a table schema or a struct type of fields, and of columns by their names."""
    return Struct((*fields, *(field(name, each) for name, each in columns.items())))


def array(element: str | DataType, *, contains_null: bool = True) -> Array:
    """Return an array type."""
    return Array(type_of(element), contains_null)


def map_of(key: str | DataType, value: str | DataType, *, value_contains_null: bool = True) -> Map:
    """Return a map type."""
    return Map(type_of(key), type_of(value), value_contains_null)


def decimal(precision: int, scale: int) -> Decimal:
    """Return a decimal type."""
    return Decimal(precision, scale)


def _type_to_json(data_type: DataType) -> str | dict[str, Any]:
    match data_type:
        case Primitive(name):
            return name
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case Array(element, contains_null):
            return {
                "type": "array",
                "elementType": _type_to_json(element),
                "containsNull": contains_null,
            }
        case Map(key, value, value_contains_null):
            return {
                "type": "map",
                "keyType": _type_to_json(key),
                "valueType": _type_to_json(value),
                "valueContainsNull": value_contains_null,
            }
        case Struct():
            return data_type.to_json()


def _type_from_json(document: Any) -> DataType:
    match document:
        case str():
            return type_of(document)
        case {"type": "struct"}:
            return from_json(document)
        case {"type": "array", "elementType": element, "containsNull": contains_null}:
            return Array(_type_from_json(element), bool(contains_null))
        case {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": has_null}:
            return Map(_type_from_json(key), _type_from_json(value), bool(has_null))
    raise ValueError(f"{document!r} is no type of a Delta schema")


def from_json(document: Mapping[str, Any]) -> Struct:
    """Read a schema out of its JSON document; raises :class:`ValueError` for any other."""
    if document.get("type") != "struct":
        raise ValueError(f"a table schema is a struct, not {document.get('type')!r}")
    return Struct(
        tuple(
            Field(
                each["name"],
                _type_from_json(each["type"]),
                bool(each.get("nullable", True)),
                dict(each.get("metadata", {})),
            )
            for each in document["fields"]
        )
    )


def arrow_type(data_type: DataType, *, physical: bool = False) -> pa.DataType:
    """Return the Arrow type of a Delta type.

    Args:
        data_type: the Delta type.
        physical: name nested fields as data files do, with column mapping ids attached.
    """
    match data_type:
        case Primitive(name):
            return _ARROW_PRIMITIVES[name]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element, contains_null):
            element_type = arrow_type(element, physical=physical)
            return pa.list_(pa.field("element", element_type, nullable=contains_null))
        case Map(key, value, value_contains_null):
            make_map: Any = pa.map_  # takes fields, which not every type stub knows
            map_type: pa.DataType = make_map(
                pa.field("key", arrow_type(key, physical=physical), nullable=False),
                pa.field(
                    "value", arrow_type(value, physical=physical), nullable=value_contains_null
                ),
            )
            return map_type
        case Struct(fields):
            return pa.struct([arrow_field(each, physical=physical) for each in fields])


def arrow_field(column: Field, *, physical: bool = False) -> pa.Field[Any]:
    """Return the Arrow field of a column, by logical name or, if ``physical``, as in data files."""
    name = column.physical_name if physical else column.name
    metadata = (
        {"PARQUET:field_id": str(column.field_id)}
        if physical and column.field_id is not None
        else None
    )
    column_type = arrow_type(column.type, physical=physical)
    return pa.field(name, column_type, nullable=column.nullable, metadata=metadata)


def arrow_schema(schema: Struct) -> pa.Schema:
    """Return the Arrow schema of a table schema in Delta's own types and nullability."""
    return pa.schema([arrow_field(each) for each in schema])


def assign_column_mapping(
    schema: Struct, seed: str, *, start: int = 1, keep_names: bool = False
) -> tuple[Struct, int]:
    """Give every field without one an id and a physical name, both fixed by ``seed``.

    Args:
        schema: the schema to map; fields that already carry an id keep theirs.
        seed: fixes the physical names.
        start: the first id to give out.
        keep_names: let physical names be the logical ones, as when mapping is turned on for a
            table that has data files already.

    Returns:
        The mapped schema and the highest id in use (``delta.columnMapping.maxColumnId``).
    """
    counter = start - 1
    highest = start - 1

    def mapped(column: Field) -> Field:
        nonlocal counter, highest
        metadata = dict(column.metadata)
        if ID_KEY not in metadata:
            counter += 1
            metadata[ID_KEY] = counter
            name = uuid.uuid5(uuid.NAMESPACE_OID, f"{seed}/{counter}")
            metadata[PHYSICAL_NAME_KEY] = column.name if keep_names else f"col-{name}"
        highest = max(highest, int(metadata[ID_KEY]))
        return replace(column, type=map_structs(column.type, mapped_fields), metadata=metadata)

    def mapped_fields(of: Struct) -> Struct:
        return Struct(tuple(mapped(each) for each in of))

    return mapped_fields(schema), highest


def mapped_by(mode: str, schema: Struct, seed: str) -> tuple[Struct, dict[str, str]]:
    """Map columns by a mode, the empty one for none; return the schema and what properties say."""
    if not mode:
        return schema, {}
    mapped, highest = assign_column_mapping(schema, seed)
    return mapped, {
        "delta.columnMapping.mode": mode,
        "delta.columnMapping.maxColumnId": str(highest),
    }


def map_structs(of: DataType, change: Callable[[Struct], Struct]) -> DataType:
    """Return a type with its structs changed, through arrays and maps down to the next struct."""
    match of:
        case Struct():
            return change(of)
        case Array(element):
            return replace(of, element=map_structs(element, change))
        case Map(key, value):
            return replace(of, key=map_structs(key, change), value=map_structs(value, change))
        case _:
            return of
