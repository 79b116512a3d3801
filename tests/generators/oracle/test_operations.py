"""The oracle takes every operation as SQL means it."""

from __future__ import annotations

from typing import Any

import pytest

from generators.oracle.delta_schema import array, field, struct, type_of
from generators.oracle.filters import node
from generators.oracle.operations import (
    AddColumn,
    Append,
    Create,
    DropColumn,
    Merge,
    MergeClause,
    NoRowChange,
    Operation,
    RenameColumn,
    ReorderColumns,
    Restore,
    SetDefault,
    SetProperties,
    UnsetProperties,
    Update,
    WidenColumn,
    replay,
)

SCHEMA = struct(field("id", "long"), field("n", "integer"))
ROWS = ({"id": 1, "n": 1}, {"id": 2, "n": None}, {"id": None, "n": 3})
CREATE = Create(SCHEMA, rows=ROWS)


def column(*parts: str) -> dict[str, Any]:
    return {"column": list(parts)}


SAME = node("=", column("target", "id"), column("source", "id"))
PLUS = node("+", column("target", "n"), column("source", "n"))


def left(*operations: Operation) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in replay([CREATE, *operations]).rows()}


def test_an_update_computes_from_the_row_as_it_was() -> None:
    computed = {
        "n": node("*", column("n"), column("id")),
        "id": node("-", column("n"), column("n")),
    }
    assert left(Update({}, None, computed)) == {(0, 1), (None, None), (0, None)}


SOURCE = ({"id": 1, "n": 10}, {"id": 5, "n": 50}, {"id": None, "n": 70})
MERGES: dict[str, tuple[tuple[MergeClause, ...], set[tuple[Any, ...]]]] = {
    "update and insert": (
        (MergeClause("matched", "update"), MergeClause("not_matched", "insert")),
        {(1, 10), (2, None), (None, 3), (5, 50), (None, 70)},
    ),
    "computed": (
        (MergeClause("matched", "update", None, {"n": PLUS}),),
        {(1, 11), (2, None), (None, 3)},
    ),
    "the first that holds": (
        (
            MergeClause("matched", "update", node("is_null", column("target", "n"))),
            MergeClause("matched", "delete"),
        ),
        {(2, None), (None, 3)},
    ),
    "by source": (
        (MergeClause("not_matched_by_source", "delete", node("is_null", column("target", "n"))),),
        {(1, 1), (None, 3)},
    ),
    "nothing": ((), {(1, 1), (2, None), (None, 3)}),
}


@pytest.mark.parametrize("name", MERGES)
def test_a_merge_follows_its_clauses(name: str) -> None:
    clauses, expected = MERGES[name]
    assert left(Merge(SOURCE, SAME, clauses)) == expected


def test_two_source_rows_for_one_row_are_ambiguous_unless_it_goes() -> None:
    twice = (SOURCE[0], {"id": 1, "n": 11})
    with pytest.raises(ValueError, match="several"):
        left(Merge(twice, SAME, (MergeClause("matched", "update"),)))
    assert left(Merge(twice, SAME, (MergeClause("matched", "delete"),))) == {(2, None), (None, 3)}


def test_restore_brings_rows_schema_and_properties_back() -> None:
    history: list[Operation] = [
        CREATE,
        SetProperties({"a": "b"}),
        AddColumn(field("x", "string")),
        Append(({"id": 9, "n": 9, "x": "y"},)),
        UnsetProperties(("a", "zz")),
        Restore(1),
    ]
    oracle = replay(history)
    assert oracle.rows() == list(ROWS)
    assert oracle.properties == {"a": "b"}
    [deleted] = oracle.versions[-1].changes
    assert (deleted.change_type, deleted.values["id"]) == ("delete", 9)
    assert {row.identity for row in oracle.versions[-1].rows} == {0, 1, 2}


def test_an_order_of_columns_changes_no_row() -> None:
    oracle = replay([CREATE, ReorderColumns(("n", "id"))])
    assert list(oracle.schema.names) == ["n", "id"]
    assert oracle.rows() == list(ROWS)


NESTED = Create(
    struct(
        field("s", struct(field("a", "byte"), field("b", "string"))),
        field("l", array(struct(field("a", "byte"), field("b", "string")))),
    ),
    rows=({"s": {"a": 1, "b": "x"}, "l": [{"a": 2, "b": "y"}, None]}, {"s": None, "l": None}),
)


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([RenameColumn("a", "c", ("s",))], ({"c": 1, "b": "x"}, [{"a": 2, "b": "y"}, None])),
        (
            [RenameColumn("a", "c", ("l", "element"))],
            ({"a": 1, "b": "x"}, [{"c": 2, "b": "y"}, None]),
        ),
        (
            [DropColumn("a", ("s",)), AddColumn(field("a", "byte"), ("s",))],
            ({"b": "x", "a": None}, [{"a": 2, "b": "y"}, None]),
        ),
        (
            [WidenColumn("a", type_of("double"), ("s",)), DropColumn("b", ("l", "element"))],
            ({"a": 1.0, "b": "x"}, [{"a": 2}, None]),
        ),
    ],
)
def test_fields_in_structs_change_as_columns_do(
    operations: list[Operation], expected: tuple[Any, ...]
) -> None:
    oracle = replay([NESTED, *operations])
    first, second = oracle.rows()
    assert (first["s"], first["l"]) == expected
    assert second == {"s": None, "l": None}
    assert [list(each) for each in (first, second)] == [["s", "l"]] * 2


def test_a_restore_brings_the_names_of_partition_columns_back() -> None:
    create = Create(SCHEMA.with_fields(field("p", "string")), ("p",))
    oracle = replay([create, RenameColumn("p", "q"), Restore(0), Append(({"p": ""},))])
    assert [each.partition_columns for each in oracle.versions] == [("p",), ("q",), ("p",), ("p",)]
    assert oracle.rows() == [{"id": None, "n": None, "p": None}]


def test_a_default_is_for_rows_to_come() -> None:
    oracle = replay([CREATE, SetDefault("n", "7"), SetDefault("id", "1"), SetDefault("id", None)])
    assert [each.metadata for each in oracle.schema] == [{}, {"CURRENT_DEFAULT": "7"}]
    assert oracle.rows() == list(ROWS)


def test_what_no_reader_sees_may_make_a_version() -> None:
    assert len(replay([CREATE, NoRowChange(), NoRowChange(version=False)]).versions) == 2
