"""The oracle takes every operation as SQL means it."""

from __future__ import annotations

from typing import Any

import pytest

from generators.delta_schema import field, struct
from generators.filters import node
from generators.operations import (
    AddColumn,
    Append,
    Create,
    Keep,
    Merge,
    MergeClause,
    Operation,
    ReorderColumns,
    Restore,
    SetProperties,
    UnsetProperties,
    Update,
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


def test_what_nobody_sees_may_make_a_version() -> None:
    assert len(replay([CREATE, Keep(), Keep(version=False)]).versions) == 2
