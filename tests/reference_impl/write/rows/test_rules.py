"""Constraints, invariants, generated and identity columns, defaults: enforced or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from reference_impl import Table, read_table
from reference_impl.errors import (
    ConstraintViolation,
    DeltaError,
    InvalidFilter,
    InvalidMetadata,
    SchemaMismatch,
    UnknownColumn,
    UnsupportedExpression,
)

Actions = Callable[..., list[dict[str, Any]]]


def schema(*columns: dict[str, Any]) -> dict[str, Any]:
    fields = [{"nullable": True, "metadata": {}, **column} for column in columns]
    return {"type": "struct", "fields": fields}


A = {"name": "a", "type": "long"}
TEXT = {"name": "t", "type": "string"}


def found(table: Table) -> list[tuple[Any, ...]]:
    rows = read_table(table.storage.location).to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def test_a_constraint_is_kept_by_every_operation(
    table: Table, actions: Actions, clean: Callable[[], None]
) -> None:
    table.create(schema(A, TEXT), rows=pa.table({"a": [1, 2]}))
    assert table.add_constraint("Positive", "a > 0") == 1
    assert actions(1, "metaData")[0]["configuration"]["delta.constraints.positive"] == "a > 0"
    assert "checkConstraints" in actions(1, "protocol")[0]["writerFeatures"]
    for broken in ([0], [None], [5, -1]):
        with pytest.raises(ConstraintViolation):
            table.append(pa.table({"a": pa.array(broken, pa.int64())}))
    with pytest.raises(ConstraintViolation):
        table.update({"a": -1}, "a = 1")
    with pytest.raises(ConstraintViolation):
        table.overwrite(pa.table({"a": [0]}))
    assert table.latest_version() == 1
    table.append(pa.table({"a": [3]}))
    assert table.drop_constraint("POSITIVE") == 3
    table.append(pa.table({"a": [-1]}))
    clean()


def test_rows_that_are_there_are_checked_against_a_new_constraint(table: Table) -> None:
    table.create(schema(A), rows=pa.table({"a": [1, -2]}))
    with pytest.raises(ConstraintViolation):
        table.add_constraint("positive", "a > 0")
    with pytest.raises(ConstraintViolation):
        table.set_properties({"delta.constraints.positive": "a > 0"})
    assert table.latest_version() == 0
    table.delete("a = -2")
    table.add_constraint("positive", "a > 0")


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("b > 0", UnknownColumn),
        ("rand() > 0", UnsupportedExpression),
        ("a IN (SELECT 1)", UnsupportedExpression),
        ("a >", DeltaError),
        ("a + 1", SchemaMismatch),
        ("t LIKE 'x\\\\y'", InvalidFilter),
        ("t LIKE concat(t, '%')", UnsupportedExpression),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    table: Table, expression: str, error: type[DeltaError]
) -> None:
    table.create(schema(A, TEXT), rows=pa.table({"a": [1]}))
    with pytest.raises(error):
        table.add_constraint("c", expression)
    assert table.latest_version() == 0


@pytest.mark.parametrize("text", ["a > 3", json.dumps({"expression": {"expression": "a > 3"}})])
def test_an_invariant_rejects_what_is_false_or_null(table: Table, text: str) -> None:
    table.create(schema({**A, "metadata": {"delta.invariants": text}}))
    for broken in (3, None):
        with pytest.raises(ConstraintViolation):
            table.append(pa.table({"a": pa.array([broken], pa.int64())}))
    table.append(pa.table({"a": [4]}))
    assert found(table) == [(4,)]


def test_an_invariant_that_cannot_be_evaluated_stops_writes(table: Table) -> None:
    with pytest.raises(UnsupportedExpression):
        table.create(schema({**A, "metadata": {"delta.invariants": "a = soundex(a)"}}))


def test_constraints_need_their_feature(table: Table, actions: Actions) -> None:
    table.create(schema(A), features=["domainMetadata"])
    assert "checkConstraints" not in actions(0, "protocol")[0]["writerFeatures"]
    table.add_constraint("c", "a > 0")
    assert "checkConstraints" in actions(1, "protocol")[0]["writerFeatures"]


DOUBLED = {"name": "d", "type": "long", "metadata": {"delta.generationExpression": "a * 2"}}


def test_a_generated_column_is_made_checked_and_followed(
    table: Table, clean: Callable[[], None]
) -> None:
    table.create(schema(A, DOUBLED))
    table.append(pa.table({"a": [1, None]}))
    table.append(pa.table({"a": [5], "d": [10]}))
    with pytest.raises(ConstraintViolation):
        table.append(pa.table({"a": [5], "d": [11]}))
    with pytest.raises(ConstraintViolation):
        table.append(pa.table({"a": [5], "d": pa.array([None], pa.int64())}))
    table.update({"a": 7}, "a = 1")
    with pytest.raises(ConstraintViolation):
        table.update({"d": 7}, "a = 7")
    assert found(table) == [(5, 10), (7, 14), (None, None)]
    clean()


def test_a_default_stands_where_nothing_is_given(table: Table) -> None:
    text = {**TEXT, "metadata": {"CURRENT_DEFAULT": "'none'"}}
    table.create(schema(A, text))
    table.append(pa.table({"a": [1]}))
    table.append(pa.table({"a": [2], "t": pa.array([None], pa.string())}))
    assert found(table) == [(1, "none"), (2, None)]


def identity(start: int, step: int, **more: Any) -> dict[str, Any]:
    metadata = {"delta.identity.start": start, "delta.identity.step": step}
    return {"name": "i", "type": "long", "metadata": {**metadata, **more}}


@pytest.mark.parametrize(
    ("start", "step", "expected"), [(10, 3, [10, 13, 16, 19]), (0, -5, [0, -5, -10, -15])]
)
def test_identity_values_go_on_from_the_mark(
    table: Table, actions: Actions, start: int, step: int, expected: list[int]
) -> None:
    table.create(schema(TEXT, identity(start, step)))
    table.append(pa.table({"t": ["a", "b"]}))
    table.append(pa.table({"t": ["c", "d"]}))
    assert [row[1] for row in found(table)] == expected
    stored = json.loads(actions(2, "metaData")[0]["schemaString"])["fields"][1]["metadata"]
    assert stored["delta.identity.highWaterMark"] == expected[-1]


def test_identity_values_are_not_given_by_users(table: Table) -> None:
    table.create(schema(TEXT, identity(1, 1)), rows=pa.table({"t": ["a"]}))
    with pytest.raises(ConstraintViolation):
        table.append(pa.table({"t": ["b"], "i": [7]}))
    with pytest.raises(ConstraintViolation):
        table.update({"i": 7})
    table.update({"t": "z"})
    assert found(table) == [("z", 1)]


def test_values_that_users_may_give_move_the_mark(table: Table) -> None:
    table.create(schema(TEXT, identity(1, 2, **{"delta.identity.allowExplicitInsert": True})))
    table.append(pa.table({"t": ["a"], "i": [8]}))
    table.append(pa.table({"t": ["b"]}))
    assert found(table) == [("a", 8), ("b", 9)]


def test_identity_values_do_not_overflow(table: Table) -> None:
    table.create(schema(TEXT, identity(2**63 - 2, 1)))
    table.append(pa.table({"t": ["a", "b"]}))
    with pytest.raises(ConstraintViolation):
        table.append(pa.table({"t": ["c"]}))
    assert [row[1] for row in found(table)] == [2**63 - 2, 2**63 - 1]


def test_a_step_of_zero_is_refused(table: Table) -> None:
    with pytest.raises(InvalidMetadata):
        table.create(schema(TEXT, identity(1, 0)))


def test_a_rule_inside_of_a_column_is_refused(table: Table) -> None:
    inner = schema({**A, "metadata": {"delta.invariants": "a > 0"}})
    with pytest.raises(UnsupportedExpression):
        table.create(schema({"name": "s", "type": inner}))
