"""A history is spelled without loss, and what is no history is refused by name."""

from __future__ import annotations

import copy
import dataclasses
import json
from datetime import datetime
from decimal import Decimal as DecimalValue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import profile

import schemas
from generators.histories.document import (
    HistoryError,
    document_of,
    history_of,
    read_history,
    schemas_of,
    text_of,
)
from generators.oracle.delta_schema import (
    Field,
    Primitive,
    Struct,
    array,
    decimal,
    field,
    map_of,
    struct,
)
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import OPERATIONS as TABLE
from generators.oracle.operations import (
    AddColumn,
    Append,
    Checkpoint,
    Compact,
    Create,
    Delete,
    DropColumn,
    History,
    Merge,
    MergeClause,
    NoRowChange,
    Operation,
    Overwrite,
    RenameColumn,
    ReorderColumns,
    Replace,
    Restore,
    SetComment,
    SetDefault,
    SetDomain,
    SetNullable,
    SetProperties,
    SetTransaction,
    UnsetProperties,
    Update,
    WidenColumn,
)
from generators.steps import operation_of, recipe_step, step_of
from generators.strategies import data_types, histories, rows, values
from generators.strategies.histories import FEATURES
from generators.strategies.schemas import PRIMITIVES
from generators.strategies.schemas import schemas as table_schemas

VARIANT = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x00"}
NAN = float("nan")


def spelled(value: Any) -> Any:
    """Return a value so that equal ones compare equal: NaN, zeros and digits kept apart."""
    match value:
        case _ if dataclasses.is_dataclass(value):
            each = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return type(value).__name__, spelled(each)
        case dict():
            return {name: spelled(each) for name, each in value.items()}
        case list() | tuple():
            return [spelled(each) for each in value]
        case datetime():
            return repr(value.replace(fold=0))
        case _:
            return repr(value)


@profile("gate", examples=25)
@given(histories(features=tuple(FEATURES), max_operations=8))
def test_a_drawn_history_comes_back_whole(history: History) -> None:
    document = json.loads(text_of(document_of(history)))
    assert schemas.errors("kit/history", document) == []
    assert spelled(read_history(text_of(document))) == spelled(history)


@profile("gate", examples=25)
@given(st.data())
def test_values_of_every_type_come_back(data: st.DataObject) -> None:
    schema = data.draw(table_schemas(primitives=(*PRIMITIVES, "decimal", "void"), max_depth=3))
    chosen = data.draw(st.sampled_from(schema.fields))
    operations: list[Operation] = [
        Append(data.draw(rows(schema)), data.draw(st.sampled_from((None, 1, 7)))),
        Overwrite(data.draw(rows(schema))),
        Update({chosen.name: data.draw(values(chosen.type))}),
    ]
    for operation in operations:
        step = json.loads(json.dumps(step_of(operation, schema)))
        assert spelled(operation_of(step, schema, int)) == spelled(operation)


@given(data_types(primitives=(*PRIMITIVES, "decimal", "void", "variant"), max_depth=3))
@profile("gate", examples=25)
def test_columns_of_every_type_come_back(data_type: Any) -> None:
    column = Field("c", data_type, metadata={"comment": "x", "n": 1})
    for operation in (Create(Struct((column,))), AddColumn(column), WidenColumn("c", data_type)):
        step = json.loads(json.dumps(step_of(operation, Struct(()))))
        assert schemas.errors("kit/recipe-step", step) == [] or isinstance(operation, WidenColumn)
        assert operation_of(step, Struct(()), int) == operation


SCHEMA = struct(
    field("id", "long"),
    field("d", decimal(10, 3)),
    field("m", map_of("string", array("double"))),
    field("v", "variant"),
    field("s", struct(field("x", "byte"), field("w", array("variant")))),
)
ROW = {
    "id": 2**63 - 1,
    "d": DecimalValue("0.000"),
    "m": [("a", [NAN, -0.0, None]), ("", None)],
    "v": VARIANT,
    "s": {"x": -128, "w": [VARIANT, None]},
}
IS_ONE = node("=", column("id"), literal("long", 1))
MATCHED = node("=", column("target", "id"), column("source", "id"))
OPERATIONS: tuple[Operation, ...] = (
    Create(SCHEMA, ("id",), {"a": "b"}, ("f",), (ROW,)),
    Replace(SCHEMA, ("id",), (ROW,)),
    Replace(SCHEMA),
    Append((ROW, ROW), 2),
    Append(()),
    Append(({"id": 1, "v": None}, {"id": 2, "v": VARIANT})),
    Overwrite((ROW,), IS_ONE),
    Delete(IS_ONE, "inline"),
    Delete(None, "file"),
    Update({"id": 5, "d": None, "m": ROW["m"], "v": VARIANT, "s": None}, IS_ONE),
    Update({}, None, {"id": node("+", column("id"), literal("long", 1))}),
    Merge(
        (ROW,),
        MATCHED,
        (
            MergeClause("matched", "update", IS_ONE, {"id": column("source", "id")}),
            MergeClause("matched", "delete"),
            MergeClause("not_matched", "insert"),
        ),
    ),
    Merge(({"id": 1},), MATCHED, (MergeClause("not_matched_by_source", "delete"),)),
    SetProperties({"a": ""}),
    UnsetProperties(("a", "b")),
    SetTransaction("app", -(2**63)),
    SetDomain("d", "{}"),
    SetDomain("d", None),
    AddColumn(field("y", "timestamp_ntz", metadata={"comment": "c"}), ("s",)),
    RenameColumn("id", "key"),
    RenameColumn("x", "y", ("s",)),
    DropColumn("x", ("s",)),
    WidenColumn("d", decimal(12, 3)),
    WidenColumn("x", Primitive("long"), ("s",)),
    ReorderColumns(("s", "v", "m", "d", "id")),
    SetNullable("id", nullable=False),
    SetComment("id", "the key"),
    SetDefault("id", "1 + 1"),
    SetDefault("id", None),
    Restore(0),
    Compact(),
    Checkpoint(),
    Checkpoint("v2-classic", 2),
    Checkpoint("multi-part"),
)


def test_every_operation_is_tried() -> None:
    assert {type(each) for each in OPERATIONS} == {each.make for each in TABLE.values()} - {None}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: type(each).__name__)
def test_every_operation_comes_back(operation: Operation) -> None:
    step = json.loads(json.dumps(step_of(operation, SCHEMA, lambda version: version + 10)))
    assert schemas.errors("kit/recipe-step", step) == []
    assert schemas.errors("kit/history", {"operations": [step]}) == []
    back = operation_of(step, SCHEMA, lambda number: number - 10)
    assert spelled(back) == spelled(operation)


def test_a_restore_names_the_step_that_made_the_version() -> None:
    history = (
        Create(struct(field("a", "long"))),
        Checkpoint(),
        AddColumn(field("b", "long")),
        Append(({"a": 1, "b": 2},)),
        Restore(0),
        Append(({"a": 3},)),
        Restore(2),
    )
    steps = document_of(history)["operations"]
    assert [step.get("to_step") for step in steps] == [None] * 4 + [0, None, 3]
    assert history_of({"operations": steps}) == history
    names = [schema.names for _, schema in schemas_of(history)]
    assert names == [(), ("a",), ("a",), ("a", "b"), ("a", "b"), ("a",), ("a",)]


def test_rows_of_one_step_that_have_other_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="same columns"):
        step_of(Append(({"id": 1}, {"v": None})), SCHEMA)
    with pytest.raises(ValueError, match="all are the table's"):
        step_of(Append(({"other": 1},)), SCHEMA)


@pytest.mark.parametrize(
    "operation",
    [
        NoRowChange(),
        AddColumn(field("b", "long"), ("s",)),
        Update({"m": []}),
        Update({"v": VARIANT}),
    ],
)
def test_what_no_step_of_a_recipe_asks_for_is_refused(operation: Operation) -> None:
    with pytest.raises(ValueError, match="is no step"):
        recipe_step(operation, SCHEMA)


def test_steps_of_recipes_leave_out_how_the_builder_lays_them_out() -> None:
    assert recipe_step(Delete(None, "file"), SCHEMA) == {"operation": "delete"}
    assert recipe_step(Checkpoint("v2-json", 1), SCHEMA) == {"operation": "checkpoint"}
    assert "layout" not in recipe_step(Append((ROW,), 1), SCHEMA)


WITHIN = {"s": {"x": 1}, "l": [1], "m": [("k", 1)]}
GOOD = document_of(
    (
        Create(
            struct(
                field("id", "long", nullable=False),
                field("d", decimal(4, 2)),
                field("b", "binary"),
                field("t", "timestamp"),
                field("s", struct(field("x", "long", nullable=False))),
                field("l", array("long", contains_null=False)),
                field("m", map_of("string", "long", value_contains_null=False)),
            )
        ),
        Append(({"id": 1, "d": DecimalValue("1.50"), "b": b"\x00", "t": None} | WITHIN,)),
        Delete(IS_ONE),
    )
)
BAD: dict[str, tuple[tuple[Any, ...], Any]] = {
    "no object": ((), []),
    "no operations": (("operations",), []),
    "an unknown operation": (("operations", 2, "operation"), "explode"),
    "no creation": (("operations", 0, "operation"), "replace"),
    "two creations": (("operations", 2), GOOD["operations"][0]),
    "a row of a wrong type": (("operations", 1, "rows", 0, "id"), "x"),
    "a row of a huge number": (("operations", 1, "rows", 0, "id"), "9" * 5000),
    "a null that may not be": (("operations", 1, "rows", 0, "id"), None),
    "a null field that may not be": (("operations", 1, "rows", 0, "s", "x"), None),
    "a null element that may not be": (("operations", 1, "rows", 0, "l", 0), None),
    "a null value that may not be": (("operations", 1, "rows", 0, "m"), [["k", None]]),
    "a null key": (("operations", 1, "rows", 0, "m"), [[None, 1]]),
    "a decimal too wide": (("operations", 1, "rows", 0, "d"), "100.00"),
    "a decimal of an exponent": (("operations", 1, "rows", 0, "d"), "1E+999999999"),
    "a decimal that is none": (("operations", 1, "rows", 0, "d"), "sNaN"),
    "binary that is none": (("operations", 1, "rows", 0, "b"), "AA"),
    "binary in another spelling": (("operations", 1, "rows", 0, "b"), "A A==A"),
    "an instant without zone": (("operations", 1, "rows", 0, "t"), "2024-01-01T00:00:00.000000"),
    "an instant of a year of five digits": (("operations", 1, "rows", 0, "t"), "10000-01-01"),
    "an unknown column": (("operations", 1, "rows", 0, "z"), 1),
    "a row that is a list": (("operations", 1, "rows", 0), [1]),
    "an unknown partition column": (("operations", 0, "partition_columns"), ["id", "z"]),
    "an unknown type": (("operations", 0, "schema", "fields", 0, "type"), "int"),
    "a filter of an unknown column": (
        ("operations", 2, "filter"),
        {"op": "is_null", "args": [{"column": ["z"]}]},
    ),
    "a filter that does not compare": (
        ("operations", 2, "filter"),
        {"op": "=", "args": [{"column": ["id"]}, {"literal": "x", "type": "string"}]},
    ),
    "a restore of a step to come": (
        ("operations", 2),
        {"operation": "restore", "to_step": 2},
    ),
}


def test_what_the_bad_ones_are_made_of_is_a_history() -> None:
    assert document_of(history_of(GOOD)) == GOOD


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_history_is_refused(case: str) -> None:
    way, value = BAD[case]
    document: Any = {"": copy.deepcopy(GOOD)}
    place, last = document, ""
    for part in way:
        place, last = place[last], part
    place[last] = value
    with pytest.raises(HistoryError):
        history_of(document[""])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('{"operations": ' + '{"operation": ' * 900 + "1" + "}" * 901, "operations"),
        ("9" * 5000, "no JSON"),
        (" " * (256 * 1024 + 1), "are the most"),
    ],
)
def test_text_that_is_no_history_is_refused(text: str, words: str) -> None:
    with pytest.raises(HistoryError, match=words):
        read_history(text)


def test_a_type_nested_without_end_is_refused() -> None:
    deep: Any = "long"
    for _ in range(800):
        deep = {"type": "array", "elementType": deep, "containsNull": True}
    document = copy.deepcopy(GOOD)
    document["operations"][0]["schema"]["fields"][0]["type"] = deep
    with pytest.raises(HistoryError):
        history_of(document)
