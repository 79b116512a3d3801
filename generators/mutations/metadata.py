"""Metadata that is missing or that describes no table.

Serves "Change Metadata", "Schema Serialization Format" and "Column Mapping".
"""

from __future__ import annotations

from typing import Any, Final

from generators.mutations.bases import MAPPED, MAPPED_BY_ID, PARTITIONED
from generators.mutations.edits import (
    drop_action,
    edit_action,
    edit_schema,
    set_fields,
    without,
)
from generators.mutations.mutation import Change, Chapter
from generators.oracle.delta_schema import ID_KEY, PHYSICAL_NAME_KEY

_METADATA: Final = Chapter("change-metadata")
_SCHEMA: Final = Chapter("schema-serialization-format")
_MAPPING: Final = Chapter("column-mapping")

_NOT_NEEDED: Final = "the missing part is required of writers; no row depends on it"


def _first_type(data_type: Any) -> Change:
    """Change the type of the first column."""
    return edit_schema(lambda schema: schema["fields"][0].update(type=data_type))


def _field(index: int, **parts: Any) -> Change:
    return edit_schema(lambda schema: schema["fields"][index].update(parts))


def _without_field_part(name: str) -> Change:
    def edit(schema: dict[str, Any]) -> None:
        del schema["fields"][0][name]

    return edit_schema(edit)


def _without_column_metadata(key: str) -> Change:
    def edit(schema: dict[str, Any]) -> None:
        del schema["fields"][0]["metadata"][key]

    return edit_schema(edit)


def _same_column_metadata(key: str) -> Change:
    def edit(schema: dict[str, Any]) -> None:
        first, second = schema["fields"][:2]
        second["metadata"][key] = first["metadata"][key]

    return edit_schema(edit)


def _configuration(**properties: Any) -> Change:
    names = {name.replace("__", "."): value for name, value in properties.items()}
    return edit_action(0, "metaData", lambda body: body["configuration"].update(names))


MUTATIONS: Final = (
    _METADATA.refused(
        "metadata-missing",
        "no commit has a metaData action",
        "META-001 REC-003",
        drop_action(0, "metaData"),
    ),
    _METADATA.refused(
        "metadata-no-schema",
        "metaData has no schemaString",
        "META-008 META-003",
        without(0, "metaData", "schemaString"),
    ),
    _METADATA.refused(
        "metadata-null-schema",
        "schemaString is null",
        "META-008",
        set_fields(0, "metaData", schemaString=None),
    ),
    _METADATA.refused(
        "metadata-schema-is-object",
        "schemaString is an object instead of a string",
        "META-008",
        set_fields(0, "metaData", schemaString={"type": "struct", "fields": []}),
    ),
    _METADATA.contested(
        "metadata-unknown-partition-column",
        "a partition column is not in the schema",
        "META-009",
        set_fields(0, "metaData", partitionColumns=["nowhere"]),
        reason="no column of the schema is a partition column, so that none needs a value",
    ),
    _METADATA.contested(
        "metadata-other-format",
        "the data files are said to be in a format that does not exist",
        "META-012 META-015",
        set_fields(0, "metaData", format={"provider": "clay-tablets", "options": {}}),
        reason="readers need not support other providers; the files are Parquet all the same",
    ),
    _METADATA.contested(
        "metadata-no-partition-columns",
        "metaData has no partitionColumns",
        "META-003 META-009",
        without(0, "metaData", "partitionColumns"),
        reason=_NOT_NEEDED,
    ),
    _METADATA.contested(
        "metadata-no-id",
        "metaData has no id",
        "META-003 META-004",
        without(0, "metaData", "id"),
        reason=_NOT_NEEDED,
    ),
    _METADATA.contested(
        "metadata-no-format",
        "metaData has no format",
        "META-003 META-007",
        without(0, "metaData", "format"),
        reason=_NOT_NEEDED,
    ),
    _METADATA.contested(
        "metadata-no-configuration",
        "metaData has no configuration",
        "META-003 META-011",
        without(0, "metaData", "configuration"),
        reason=_NOT_NEEDED,
    ),
    _METADATA.contested(
        "metadata-configuration-number",
        "a table property is a number",
        "META-011",
        _configuration(delta__appendOnly=1),
        reason=_NOT_NEEDED,
    ),
    _METADATA.survived(
        "metadata-no-optional-fields",
        "metaData has no createdTime",
        "META-010",
        without(0, "metaData", "createdTime"),
    ),
    _METADATA.survived(
        "metadata-unknown-fields-and-properties",
        "metaData has unknown fields and properties",
        "PROTO-009",
        edit_action(
            0,
            "metaData",
            lambda body: body.update(
                futureField=[1], configuration={"delta.future": "x", "mine": ""}
            ),
        ),
    ),
    _SCHEMA.refused(
        "schema-not-json",
        "schemaString is not JSON",
        "SCH-001",
        set_fields(0, "metaData", schemaString="struct<id:bigint>"),
    ),
    _SCHEMA.refused(
        "schema-not-a-struct",
        "the schema is a primitive type",
        "SCH-021",
        edit_schema(lambda _schema: "long"),
    ),
    _SCHEMA.refused(
        "schema-no-fields",
        "the schema has no array of fields",
        "SCH-022",
        edit_schema(lambda _schema: {"type": "struct"}),
    ),
    _SCHEMA.refused(
        "schema-unknown-type",
        "a column has a type that does not exist",
        "SCH-024",
        _first_type("int128"),
    ),
    _SCHEMA.refused(
        "schema-unknown-nested-type",
        "a column has a nested type that does not exist",
        "SCH-024",
        _first_type({"type": "matrix", "elementType": "double"}),
    ),
    _SCHEMA.contested(
        "schema-decimal-too-precise",
        "a decimal column has 39 digits",
        "SCH-010",
        _first_type("decimal(39,0)"),
        reason="a reader may know wider decimals than the text",
        open=True,
    ),
    _SCHEMA.refused(
        "schema-array-without-element",
        "an array column names no element type",
        "SCH-030",
        _first_type({"type": "array", "containsNull": True}),
    ),
    _SCHEMA.refused(
        "schema-map-without-value",
        "a map column names no value type",
        "SCH-034",
        _first_type({"type": "map", "keyType": "string", "valueContainsNull": True}),
    ),
    _SCHEMA.refused(
        "schema-field-without-name",
        "a column has no name",
        "SCH-023",
        _without_field_part("name"),
    ),
    _SCHEMA.refused(
        "schema-field-without-type",
        "a column has no type",
        "SCH-024",
        _without_field_part("type"),
    ),
    _SCHEMA.contested(
        "schema-same-name-twice",
        "two columns have the same name in other letter case",
        "SCH-028",
        _field(1, name="ID"),
        reason="a reader that tells letter case apart can read the table",
        open=True,
    ),
    _SCHEMA.contested(
        "schema-field-without-nullable",
        "a column does not say whether it is nullable",
        "SCH-025",
        _without_field_part("nullable"),
        reason=_NOT_NEEDED,
    ),
    _SCHEMA.contested(
        "schema-field-without-metadata",
        "a column has no metadata",
        "SCH-026",
        _without_field_part("metadata"),
        reason=_NOT_NEEDED,
    ),
    _SCHEMA.contested(
        "schema-nested-partition-column",
        "the table is partitioned by an array",
        "META-009",
        edit_schema(
            lambda schema: schema["fields"][2].update(
                type={"type": "array", "elementType": "long", "containsNull": True}
            )
        ),
        base=PARTITIONED,
        reason="partition values are spelled for primitive types only",
        open=True,
    ),
    _SCHEMA.survived(
        "schema-unknown-column-metadata",
        "a column has metadata that no revision knows",
        "SCH-036 PROTO-009",
        _field(0, metadata={"comment": "the key", "future": {"deep": [1, 2]}}),
    ),
    _SCHEMA.survived(
        "schema-spaced-out",
        "schemaString is pretty-printed over several lines",
        "SCH-001",
        edit_action(
            0,
            "metaData",
            lambda body: body.update(schemaString=body["schemaString"].replace(",", " ,\n  ")),
        ),
    ),
    _MAPPING.contested(
        "mapping-unknown-mode",
        "the column mapping mode is a word that does not exist",
        "CM-005 CM-023",
        _configuration(delta__columnMapping__mode="position"),
        base=MAPPED,
        reason="the mode binds whoever writes it; by display names is for none and no mode alone",
    ),
    _MAPPING.refused(
        "mapping-no-physical-name",
        "a mapped column has no physical name",
        "CM-029 CM-001",
        _without_column_metadata(PHYSICAL_NAME_KEY),
        base=MAPPED,
    ),
    _MAPPING.refused(
        "mapping-no-id",
        "a column mapped by id has no id",
        "CM-025 CM-002",
        _without_column_metadata(ID_KEY),
        base=MAPPED_BY_ID,
    ),
    _MAPPING.contested(
        "mapping-same-physical-name",
        "two columns have the same physical name",
        "CM-003 CM-034",
        _same_column_metadata(PHYSICAL_NAME_KEY),
        base=MAPPED,
        reason="uniqueness binds the writer of the schema; a reader may not look for it",
        open=True,
    ),
    _MAPPING.contested(
        "mapping-same-id",
        "two columns mapped by id have the same id",
        "CM-004",
        _same_column_metadata(ID_KEY),
        base=MAPPED_BY_ID,
        reason="uniqueness binds the writer of the schema; a reader may not look for it",
        open=True,
    ),
    _MAPPING.contested(
        "mapping-highest-id-too-low",
        "the highest column id is above maxColumnId",
        "CM-020",
        _configuration(delta__columnMapping__maxColumnId="1"),
        base=MAPPED,
        reason="the property guides writers; no row depends on it",
    ),
)
