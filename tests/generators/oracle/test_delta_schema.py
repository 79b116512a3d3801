"""Schemas as values: their JSON and Arrow forms, and what they refuse."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from profiles import profile

from generators.oracle.delta_schema import (
    Array,
    Decimal,
    Map,
    Primitive,
    Struct,
    array,
    arrow_field,
    arrow_schema,
    arrow_type,
    assign_column_mapping,
    decimal,
    field,
    from_json,
    map_of,
    struct,
    type_of,
)
from generators.strategies import schemas

SAMPLE = struct(
    field("a", "integer", nullable=False),
    field("b", struct(field("d", "integer", nullable=False))),
    field("c", array("integer", contains_null=False)),
    field("e", array(struct(field("d", "integer", nullable=False)))),
    field("f", map_of("string", "string")),
)

SAMPLE_TYPES = {
    "a": "integer",
    "b": {
        "type": "struct",
        "fields": [{"name": "d", "type": "integer", "nullable": False, "metadata": {}}],
    },
    "c": {"type": "array", "elementType": "integer", "containsNull": False},
    "f": {
        "type": "map",
        "keyType": "string",
        "valueType": "string",
        "valueContainsNull": True,
    },
}


def test_the_sample_schema_of_the_text_serialises_as_the_text_says() -> None:
    document = SAMPLE.to_json()
    assert document["type"] == "struct"
    by_name = {each["name"]: each for each in document["fields"]}
    assert {name: by_name[name]["type"] for name in SAMPLE_TYPES} == SAMPLE_TYPES
    assert [each["nullable"] for each in document["fields"]] == [False, True, True, True, True]


def test_the_schema_string_is_one_line_of_json() -> None:
    text = SAMPLE.schema_string()
    assert "\n" not in text
    assert json.loads(text) == SAMPLE.to_json()


@profile("gate", examples=50)
@given(schemas(max_depth=2))
def test_a_schema_survives_its_json_form(schema: Struct) -> None:
    assert from_json(json.loads(schema.schema_string())) == schema


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("long", Primitive("long")),
        ("decimal(10,2)", Decimal(10, 2)),
        ("decimal( 38 , 0 )", Decimal(38, 0)),
        ("timestamp_ntz", Primitive("timestamp_ntz")),
    ],
)
def test_types_are_spelled_as_in_the_schema_string(text: str, expected: object) -> None:
    assert type_of(text) == expected


@pytest.mark.parametrize(
    "text", ["int", "bigint", "Long", "decimal(39,0)", "decimal(5,6)", "decimal(0,0)", ""]
)
def test_what_is_no_delta_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no primitive type|out of range"):
        type_of(text)


@pytest.mark.parametrize(
    "document",
    [
        {"type": "struct", "fields": [{"name": "a", "type": {"type": "set"}}]},
        {"type": "struct", "fields": [{"name": "a", "type": 7}]},
        {"type": "array", "elementType": "long", "containsNull": True},
    ],
)
def test_what_is_no_schema_document_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"no type of a Delta schema|is a struct"):
        from_json(document)


def test_two_columns_that_differ_in_letter_case_are_refused() -> None:
    with pytest.raises(ValueError, match="two fields of one name"):
        struct(field("a", "long"), field("A", "long"))


def test_arrow_types_are_those_of_delta() -> None:
    assert arrow_type(type_of("timestamp")) == pa.timestamp("us", tz="UTC")
    assert arrow_type(type_of("timestamp_ntz")) == pa.timestamp("us")
    assert arrow_type(decimal(38, 10)) == pa.decimal128(38, 10)
    listed = arrow_type(Array(Primitive("long"), contains_null=False))
    assert listed.value_field == pa.field("element", pa.int64(), nullable=False)
    mapped = arrow_type(Map(Primitive("string"), Primitive("long"), value_contains_null=False))
    assert (mapped.key_field.name, mapped.item_field.name) == ("key", "value")
    assert (mapped.key_field.nullable, mapped.item_field.nullable) == (False, False)


def test_nullability_reaches_the_arrow_schema() -> None:
    schema = arrow_schema(struct(field("a", "long", nullable=False), field("b", "long")))
    assert [each.nullable for each in schema] == [False, True]


def test_column_mapping_numbers_every_field_once() -> None:
    mapped, highest = assign_column_mapping(SAMPLE, "seed")
    inner = [mapped["b"].type, mapped["e"].type]
    assert isinstance(inner[0], Struct)
    assert isinstance(inner[1], Array)
    assert isinstance(inner[1].element, Struct)
    fields = [*mapped, *inner[0], *inner[1].element]
    assert sorted(each.field_id for each in fields if each.field_id) == list(range(1, 8))
    assert highest == 7
    assert len({each.physical_name for each in fields}) == 7
    assert mapped.names == SAMPLE.names


def test_column_mapping_keeps_what_is_mapped_and_goes_on_from_the_highest_id() -> None:
    mapped, highest = assign_column_mapping(struct(field("a", "long")), "seed")
    wider, again = assign_column_mapping(
        mapped.with_fields(field("b", "long")), "seed", start=highest + 1
    )
    assert wider["a"] == mapped["a"]
    assert (wider["b"].field_id, again) == (2, 2)


def test_the_physical_arrow_schema_carries_field_ids() -> None:
    mapped, _ = assign_column_mapping(struct(field("a", "long")), "seed")
    column = arrow_field(mapped["a"], physical=True)
    assert column.name == mapped["a"].physical_name
    assert column.metadata == {b"PARQUET:field_id": b"1"}
