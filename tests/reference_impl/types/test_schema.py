"""The schema string: every type there and back, and what is no schema."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from reference_impl.errors import InvalidSchema, LimitExceeded, UnsupportedType
from reference_impl.limits import DEFAULT_LIMITS
from reference_impl.types.arrow import arrow_schema, from_arrow
from reference_impl.types.model import (
    LONG,
    PRIMITIVES,
    STRING,
    VOID,
    Array,
    Decimal,
    Field,
    Map,
    Struct,
    children,
)
from reference_impl.types.schema import format_schema, parse_schema


def _field(of: Any, **changes: Any) -> dict[str, Any]:
    return {"name": "c", "type": of, "nullable": True, "metadata": {}, **changes}


def _text(*fields: Any) -> str:
    return json.dumps({"type": "struct", "fields": list(fields)})


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_a_primitive_type_survives_the_round_trip(name: str) -> None:
    schema = parse_schema(_text(_field(name)))
    assert schema.fields[0].type == PRIMITIVES[name]
    assert parse_schema(format_schema(schema)) == schema


@pytest.mark.parametrize("name", sorted(PRIMITIVES.keys() - {"variant"}))
def test_a_primitive_type_survives_arrow(name: str) -> None:
    schema = parse_schema(_text(_field(name)))
    assert from_arrow(arrow_schema(schema)) == schema


def test_the_sample_schema_of_the_protocol_parses() -> None:
    nested = {"type": "struct", "fields": [_field("integer", name="d", nullable=False)]}
    schema = parse_schema(
        _text(
            _field("integer", name="a", nullable=False),
            _field(nested, name="b"),
            _field({"type": "array", "elementType": "integer", "containsNull": False}, name="c"),
            _field({"type": "array", "elementType": nested, "containsNull": True}, name="e"),
            _field({"type": "map", "keyType": "string", "valueType": "string"}, name="f"),
        )
    )
    assert [str(f.type) for f in schema.fields] == [
        "integer",
        "struct<d:integer>",
        "array<integer>",
        "array<struct<d:integer>>",
        "map<string,string>",
    ]
    assert [step for step, _ in children(schema.fields[4].type)] == ["key", "value"]
    arrow = arrow_schema(schema)
    assert not arrow.field("a").nullable
    assert arrow.field("c").type.value_field == pa.field("element", pa.int32(), nullable=False)
    assert arrow.field("f").type == pa.map_(pa.string(), pa.string())
    assert from_arrow(arrow) == schema


def test_column_metadata_is_kept() -> None:
    metadata = {"delta.columnMapping.id": 4, "comment": "é", "nested": {"a": [1]}}
    schema = parse_schema(_text(_field("long", metadata=metadata)))
    assert schema.fields[0].metadata == metadata
    assert json.loads(format_schema(schema))["fields"][0]["metadata"] == metadata


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("decimal(10,2)", Decimal(10, 2)),
        ("decimal( 38 , 38 )", Decimal(38, 38)),
        ("decimal", Decimal(10, 0)),
        ("varchar(12)", STRING),
        ("char(3)", STRING),
        ("null", VOID),
    ],
)
def test_other_spellings_are_read(name: str, expected: object) -> None:
    assert parse_schema(_text(_field(name))).fields[0].type == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        '"long"',
        "{}",
        '{"type":"struct"}',
        '{"type":"struct","fields":{}}',
        '{"type":"array","elementType":"long","containsNull":true}',
        _text("a"),
        _text({"type": "long", "nullable": True, "metadata": {}}),
        _text(_field("long", name=7)),
        _text({"name": "c", "nullable": True, "metadata": {}}),
        _text({"name": "c", "type": "long", "metadata": {}}),
        _text(_field("long", nullable="yes")),
        _text(_field("long", metadata=[])),
        _text(_field("quantum")),
        _text(_field(None)),
        _text(_field({"type": None})),
        _text(_field({"type": "udt"})),
        _text(_field("decimal(39,2)")),
        _text(_field("decimal(4,5)")),
        _text(_field("decimal(0,0)")),
        _text(_field("decimal(5,-1)")),
        _text(_field({"type": "array", "elementType": "long"})),
        _text(_field({"type": "array", "containsNull": True})),
        _text(_field({"type": "map", "keyType": "long", "valueContainsNull": True})),
        _text(_field("long", name="a"), _field("long", name="A")),
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse_schema(text)


@pytest.mark.parametrize("depth", [DEFAULT_LIMITS.nesting + 1, 900, 100_000])
def test_nesting_beyond_the_limit_is_no_fault_of_the_table(depth: int) -> None:
    opening, closing = '{"type":"array","containsNull":true,"elementType":', "}"
    text = opening * depth + '"long"' + closing * depth
    whole = '{"type":"struct","fields":[{"name":"c","nullable":true,"type":' + text + "}]}"
    with pytest.raises(LimitExceeded, match="limit 'nesting'"):
        parse_schema(whole)


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.large_string(), STRING),
        (pa.dictionary(pa.int8(), pa.string()), STRING),
        (pa.large_list(pa.int64()), Array(PRIMITIVES["long"])),
        (pa.map_(pa.string(), pa.int32()), Map(STRING, PRIMITIVES["integer"])),
        (pa.decimal256(38, 4), Decimal(38, 4)),
        (pa.timestamp("ns", "Europe/Oslo"), PRIMITIVES["timestamp"]),
        (pa.timestamp("s"), PRIMITIVES["timestamp_ntz"]),
        (pa.struct([("x", pa.int8())]), Struct((Field("x", PRIMITIVES["byte"]),))),
    ],
)
def test_arrow_types_find_their_delta_type(arrow: pa.DataType, expected: object) -> None:
    assert from_arrow(pa.schema([("c", arrow)])).fields[0].type == expected


@pytest.mark.parametrize("arrow", [pa.uint64(), pa.duration("s"), pa.decimal256(50, 0)])
def test_arrow_types_without_a_delta_type_are_refused(arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedType):
        from_arrow(pa.schema([("c", arrow)]))


def test_arrow_names_that_differ_by_case_are_refused() -> None:
    with pytest.raises(InvalidSchema):
        from_arrow(pa.schema([("c", pa.int8()), ("C", pa.int8())]))


@pytest.mark.usefixtures("ends")
def test_a_field_of_a_great_many_is_found_at_once() -> None:
    names = [f"c{number}" for number in range(200_000)]
    struct = Struct(tuple(Field(name, LONG) for name in (*names, names[0])))
    assert all(struct[name] is struct.fields[at] for at, name in enumerate(names))
