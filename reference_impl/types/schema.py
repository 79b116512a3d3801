"""Read and write the schema string of a table (section Schema Serialization Format).

A malformed schema raises :class:`~reference_impl.errors.InvalidSchema`, which names the place
inside the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from reference_impl.errors import InvalidSchema
from reference_impl.limits import budget, exceeded
from reference_impl.types.model import (
    PRIMITIVES,
    STRING,
    VOID,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
)
from reference_impl.untrusted import load_json, too_deep

_DECIMAL = re.compile(r"decimal\(\s*(\d{1,4})\s*,\s*(-?\d{1,4})\s*\)", re.ASCII)
_CHARACTERS = re.compile(r"(?:var)?char\(\s*\d{1,10}\s*\)", re.ASCII)
_MAX_DIGITS = 38
_ALIASES: Final[Mapping[str, DataType]] = {
    "null": VOID,  # Spark's name of void before 3.0
    "decimal": Decimal(10, 0),  # Spark's reading of a decimal without parameters
}


def parse_schema(text: str) -> Struct:
    """Parse ``metaData.schemaString``.

    Raises:
        LimitExceeded: the schema is nested deeper than the limit.
        InvalidSchema: the text is not JSON, not a struct, or breaks a rule of the section.
    """
    try:
        node = load_json(text)
    except (ValueError, TypeError) as error:
        if isinstance(error, orjson.JSONDecodeError) and (deep := too_deep(error)):
            raise deep from None
        raise InvalidSchema(f"schemaString is not JSON: {error}") from None
    parsed = parse_type(node)
    if not isinstance(parsed, Struct):
        raise _invalid((), f"the table schema must be a struct, not {parsed}")
    return parsed


def parse_type(node: Any, place: tuple[str, ...] = ()) -> DataType:
    """Parse one type out of its JSON form: a name, or an object with ``type``.

    Args:
        node: the decoded JSON.
        place: the path of field names that leads to it, for messages.

    Raises:
        InvalidSchema: see :func:`parse_schema`.
    """
    if len(place) > budget().limits.nesting:
        raise exceeded("nesting", f"the schema is nested deeper than {len(place) - 1} levels")
    if isinstance(node, str):
        return _parse_name(node, place)
    if not isinstance(node, dict):
        raise _invalid(place, f"a type is a name or an object, not {_shown(node)}")
    match node.get("type"):
        case "struct":  # Obeys SCH-021.
            return _parse_struct(node, place)
        case "array":
            return Array(
                parse_type(_required(node, "elementType", place), (*place, "element")),
                _flag(node, "containsNull", place),
            )
        case "map":
            return Map(
                parse_type(_required(node, "keyType", place), (*place, "key")),
                parse_type(_required(node, "valueType", place), (*place, "value")),
                # The table of the section omits valueContainsNull, so that its absence is legal.
                _flag(node, "valueContainsNull", place, default=True),
            )
        case str() as name:
            raise _unknown(name, place)
        case other:
            raise _invalid(place, f"'type' must be struct, array or map, not {_shown(other)}")


def to_json(of: DataType) -> Any:
    """Return the JSON form of a type, ready for encoding."""
    # Obeys SCH-021 SCH-022 SCH-023 SCH-026 SCH-029 SCH-030 SCH-031 SCH-032 SCH-033 SCH-034 SCH-035.
    match of:
        case Primitive() | Decimal():
            return str(of)
        case Array(element, contains_null):
            return {"type": "array", "elementType": to_json(element), "containsNull": contains_null}
        case Map(key, value, value_contains_null):
            return {
                "type": "map",
                "keyType": to_json(key),
                "valueType": to_json(value),
                "valueContainsNull": value_contains_null,
            }
        case Struct(fields):
            return {
                "type": "struct",
                "fields": [
                    {
                        "name": f.name,
                        "type": to_json(f.type),
                        "nullable": f.nullable,
                        "metadata": dict(f.metadata),
                    }
                    for f in fields
                ],
            }


def format_schema(schema: Struct) -> str:
    """Write ``metaData.schemaString`` as compact JSON.

    Raises:
        InvalidSchema: a name or a value of column metadata has no JSON, or no UTF-8.
    """
    try:
        tree = to_json(schema)
        try:
            return orjson.dumps(tree).decode()
        except orjson.JSONEncodeError:
            return _deep_json(tree)
    except (TypeError, ValueError, RecursionError) as error:
        raise _invalid((), f"it cannot be written: {str(error)[:200]}") from None


def _deep_json(tree: Any) -> str:
    """Write what nests more deeply than orjson does, which reports that like other faults."""
    text = json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text.encode()
    return text


def _parse_name(name: str, place: tuple[str, ...]) -> DataType:
    # Obeys SCH-010.
    known = PRIMITIVES.get(name) or _ALIASES.get(name)
    if known is not None:
        return known
    if parts := _DECIMAL.fullmatch(name):
        precision, scale = int(parts[1]), int(parts[2])
        if not (1 <= precision <= _MAX_DIGITS and 0 <= scale <= precision):
            raise _invalid(
                place, f"{name}: precision is 1 to {_MAX_DIGITS} and scale 0 to the precision"
            )
        return Decimal(precision, scale)
    if _CHARACTERS.fullmatch(name):
        # Spark keeps lengths in column metadata; a length in the type itself limits writers only.
        return STRING
    raise _unknown(name, place)


def _parse_struct(node: Mapping[str, Any], place: tuple[str, ...]) -> Struct:
    items = _required(node, "fields", place)
    if not isinstance(items, list):
        raise _invalid(place, f"'fields' must be an array, not {_shown(items)}")
    fields = tuple(_parse_field(item, place) for item in items)
    _refuse_duplicates(fields, place)
    return Struct(fields)


def _parse_field(node: Any, place: tuple[str, ...]) -> Field:
    if not isinstance(node, dict):
        raise _invalid(place, f"a field must be an object, not {_shown(node)}")
    name = _required(node, "name", place)
    if not isinstance(name, str):
        raise _invalid(place, f"a field name must be a string, not {_shown(name)}")
    inside = (*place, name)
    metadata = node.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, dict):
        raise _invalid(inside, f"'metadata' must be an object, not {_shown(metadata)}")
    return Field(
        name,
        parse_type(_required(node, "type", inside), inside),
        _flag(node, "nullable", inside),
        metadata,
    )


def _refuse_duplicates(fields: Sequence[Field], place: tuple[str, ...]) -> None:
    # Obeys SCH-028.
    seen: dict[str, str] = {}
    for one in fields:
        folded = one.name.lower()
        if folded in seen:
            raise _invalid(
                place,
                f"columns {seen[folded]!r} and {one.name!r} differ at most by case",
                hint="column names are unique without regard to case",
            )
        seen[folded] = one.name


def _required(node: Mapping[str, Any], key: str, place: tuple[str, ...]) -> Any:
    if key not in node:
        raise _invalid(place, f"{key!r} is missing")
    return node[key]


def _flag(
    node: Mapping[str, Any], key: str, place: tuple[str, ...], *, default: bool | None = None
) -> bool:
    value = node.get(key, default)
    if not isinstance(value, bool):
        raise _invalid(place, f"{key!r} must be true or false, not {_shown(value)}")
    return value


def _unknown(name: str, place: tuple[str, ...]) -> InvalidSchema:
    return InvalidSchema(
        f"{_at(place)}: the protocol has no type {name[:80]!r}",
        hint="a newer revision may have it, and then a table feature that says so",
        requirement="SCH-024",
    )


def _invalid(place: tuple[str, ...], problem: str, *, hint: str | None = None) -> InvalidSchema:
    return InvalidSchema(f"{_at(place)}: {problem}", hint=hint)


def _at(place: tuple[str, ...]) -> str:
    return "column " + ".".join(place)[:200] if place else "table schema"


def _shown(node: Any) -> str:
    return repr(node)[:80]
