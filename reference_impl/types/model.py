"""Delta's data types as frozen values (section Schema Serialization Format)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type without parameters; ``name`` is that in the schema string."""

    name: str

    def __str__(self) -> str:
        """Return the text of the schema string."""
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal:
    """A decimal of ``precision`` digits (1 to 38), ``scale`` of them right of the dot."""

    precision: int
    scale: int

    def __str__(self) -> str:
        """Return the text of the schema string."""
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    """A list of values of one type."""

    element: DataType
    contains_null: bool = True

    def __str__(self) -> str:
        """Return the short form that messages use."""
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    """A set of pairs; keys are never null."""

    key: DataType
    value: DataType
    value_contains_null: bool = True

    def __str__(self) -> str:
        """Return the short form that messages use."""
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A column, top-level or nested; ``metadata`` is the column metadata as read."""

    name: str
    type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Struct:
    """A sequence of fields: the whole table schema, or a nested column."""

    fields: tuple[Field, ...]
    _by_name: dict[str, Field] | None = field(default=None, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        """Return the short form that messages use."""
        return "struct<" + ",".join(f"{f.name}:{f.type}" for f in self.fields) + ">"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the direct fields, in order."""
        return tuple(f.name for f in self.fields)

    def get(self, name: str) -> Field | None:
        """Find a direct field by its exact name."""
        return self._named().get(name)

    def __getitem__(self, name: str) -> Field:
        """Return the direct field of an exact name, which is there."""
        return self._named()[name]

    def _named(self) -> Mapping[str, Field]:
        """Return the direct fields by name, the first of each: a table may have a great many."""
        if self._by_name is None:
            object.__setattr__(self, "_by_name", {f.name: f for f in reversed(self.fields)})
        return self._by_name or {}


DataType: TypeAlias = Primitive | Decimal | Array | Map | Struct

BINARY = Primitive("binary")
BOOLEAN = Primitive("boolean")
BYTE = Primitive("byte")
DATE = Primitive("date")
DOUBLE = Primitive("double")
FLOAT = Primitive("float")
INTEGER = Primitive("integer")
LONG = Primitive("long")
SHORT = Primitive("short")
STRING = Primitive("string")
TIMESTAMP = Primitive("timestamp")
TIMESTAMP_NTZ = Primitive("timestamp_ntz")
VARIANT = Primitive("variant")
VOID = Primitive("void")

INTEGERS = (BYTE, SHORT, INTEGER, LONG)
"""Whole numbers, from the narrowest type to the widest."""

PRIMITIVES: Mapping[str, Primitive] = {
    t.name: t
    for t in (
        BINARY, BOOLEAN, BYTE, DATE, DOUBLE, FLOAT, INTEGER, LONG, SHORT, STRING, TIMESTAMP,
        TIMESTAMP_NTZ, VARIANT, VOID,
    )
}  # fmt: skip
"""Every type without parameters, by its name in the schema string."""


def children(of: DataType) -> Iterator[tuple[str, DataType]]:
    """Return the direct parts of a type with the path steps that the protocol gives them."""
    match of:
        case Struct(fields):
            yield from ((f.name, f.type) for f in fields)
        case Array(element):
            yield "element", element
        case Map(key, value):
            yield "key", key
            yield "value", value
        case Primitive() | Decimal():
            return


def walk(of: DataType, path: str = "") -> Iterator[tuple[str, DataType]]:
    """Return a type and every type in it, each with its dotted path; outer ones come first."""
    yield path, of
    for step, inner in children(of):
        yield from walk(inner, f"{path}.{step}" if path else step)


def every_field(of: DataType) -> Iterator[tuple[str, Field]]:
    """Return the fields of all structs in a type, each with its dotted path."""
    for path, inner in walk(of):
        if isinstance(inner, Struct):
            for column in inner.fields:
                yield f"{path}.{column.name}" if path else column.name, column


def map_fields(of: DataType, change: Callable[[Field], Field]) -> Any:
    """Return a type with its fields changed, through arrays and maps down to the next struct."""
    match of:
        case Struct(fields):
            return Struct(tuple(map(change, fields)))
        case Array(element):
            return replace(of, element=map_fields(element, change))
        case Map(key, value):
            return replace(of, key=map_fields(key, change), value=map_fields(value, change))
        case _:
            return of
