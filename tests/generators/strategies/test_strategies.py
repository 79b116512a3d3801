"""Strategies draw what they promise, refuse what they cannot draw, and shrink."""

from __future__ import annotations

from decimal import Decimal as DecimalValue
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from profiles import PROFILES, profile

from generators.histories.drawing import draw_histories
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.delta_schema import (
    DataType,
    Decimal,
    Primitive,
    Struct,
    array,
    field,
    struct,
)
from generators.oracle.filters import columns_of, evaluate
from generators.oracle.model import normalized_row
from generators.oracle.operations import (
    Append,
    Checkpoint,
    Create,
    Delete,
    History,
    Merge,
    RenameColumn,
    Restore,
    replay,
)
from generators.strategies import (
    data_types,
    filters,
    histories,
    partition_choices,
    partition_values,
    rows,
    schemas,
    values,
)
from generators.strategies.values import INTEGER_BITS

QUIET = settings(
    max_examples=120,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
)
FIRST = settings(QUIET, phases=[Phase.generate])

SMALL = {
    "max_columns": 1,
    "max_depth": 0,
    "max_rows": 1,
    "max_operations": 2,
    "primitives": ("long",),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[Struct, tuple[str, ...], Any]:
    schema = draw(schemas())
    partitions = draw(partition_choices(schema))
    return schema, partitions, draw(rows(schema, partition_columns=partitions))


@profile("gate", examples=30)
@given(tables())
def test_drawn_rows_fit_their_schema(drawn: tuple[Struct, tuple[str, ...], Any]) -> None:
    schema, partitions, table = drawn
    fitted = [normalized_row(schema, row, partitions) for row in table]
    assert arrow_table(schema, fitted).num_rows == len(table)


@profile("gate", examples=40)
@given(data_types(max_depth=0))
def test_depth_zero_draws_no_nested_type(data_type: DataType) -> None:
    assert isinstance(data_type, Primitive | Decimal)


@pytest.mark.parametrize(("name", "bits"), INTEGER_BITS.items())
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_extremes_of_integers_are_drawn(name: str, bits: int, sign: int) -> None:
    extreme = (1 << (bits - 1)) - 1 if sign > 0 else -(1 << (bits - 1))
    drawn = find(
        values(Primitive(name), nullable=False), lambda each: each == extreme, settings=QUIET
    )
    assert drawn == extreme


def test_the_extremes_of_decimals_are_drawn() -> None:
    drawn = find(
        values(Decimal(38, 2), nullable=False),
        lambda each: abs(each) == DecimalValue(10**38 - 1).scaleb(-2),
        settings=QUIET,
    )
    assert len(drawn.as_tuple().digits) == 38


def test_null_is_drawn_only_where_it_is_valid() -> None:
    with pytest.raises(NoSuchExample):
        find(values(Primitive("long"), nullable=False), lambda each: each is None, settings=QUIET)
    assert find(values(Primitive("long")), lambda each: each is None, settings=QUIET) is None


@pytest.mark.parametrize(
    "data_type",
    [Primitive("void"), Primitive("variant"), array("long"), struct(field("a", "long"))],
)
def test_types_that_cannot_partition_are_refused(data_type: DataType) -> None:
    with pytest.raises(ValueError, match="cannot partition"):
        partition_values(data_type)


def test_filters_need_a_column_that_compares() -> None:
    with pytest.raises(ValueError, match="no column"):
        filters(struct(field("l", array("long"))))


def test_no_primitive_type_is_no_strategy() -> None:
    with pytest.raises(ValueError, match="no primitive type"):
        data_types(primitives=())


def test_unknown_features_are_refused() -> None:
    with pytest.raises(ValueError, match="no such features"):
        find(histories(features=("teleportation",)), lambda _each: True, settings=QUIET)


@st.composite
def filtered(draw: st.DrawFn) -> tuple[Any, Any]:
    schema = draw(schemas(max_depth=1))
    table = draw(rows(schema))
    try:
        tree = draw(filters(schema, rows=table))
    except ValueError:
        tree = {"op": "is_null", "args": [{"column": [schema.names[0]]}]}
    return tree, [normalized_row(schema, row) for row in table]


@profile("gate", examples=30)
@given(filtered())
def test_drawn_filters_evaluate_on_their_rows(drawn: tuple[Any, Any]) -> None:
    tree, table = drawn
    assert all(evaluate(tree, row) in (True, False, None) for row in table)


def test_a_history_shrinks_to_its_creation() -> None:
    smallest = find(histories(**SMALL), lambda _each: True, settings=QUIET)
    (create,) = smallest
    assert isinstance(create, Create)
    assert len(create.schema.fields) == 1
    assert create.rows == ()


def test_a_history_shrinks_around_the_operation_that_matters() -> None:
    smallest = find(
        histories(features=("deletionVectors",), **SMALL),
        lambda each: any(isinstance(op, Delete) and op.vectors for op in each),
        settings=QUIET,
    )
    assert len(smallest) <= 3
    assert all(op.rows == () for op in smallest if isinstance(op, Append | Create))


def test_features_open_their_operations() -> None:
    drawn = find(
        histories(features=("columnMapping",), **SMALL),
        lambda each: any(isinstance(op, RenameColumn) for op in each),
        settings=FIRST,
    )
    created = drawn[0]
    assert isinstance(created, Create)
    assert created.properties["delta.columnMapping.mode"] in ("name", "id")


@profile("gate", examples=30)
@given(histories(only_rows=True))
def test_histories_of_rows_alone_change_no_schema(history: History) -> None:
    names = {type(each).__name__ for each in history}
    assert names <= {"Create", "Append", "Overwrite", "Delete", "Update", "Checkpoint"}


@profile("gate", examples=30)
@given(histories(upkeep=True, max_operations=9, max_depth=1))
def test_histories_of_upkeep_can_be_followed_by_every_writer(history: History) -> None:
    names = [type(each).__name__ for each in history]
    steps = {"Append", "Delete", "Update", "Merge", "Restore", "Compact", "Checkpoint"}
    assert set(names) - {"Create"} >= steps - {"Restore"}
    assert set(names) - {"Create"} <= steps
    replay(history)  # no row has two source rows that change it
    for at, operation in enumerate(history):
        if isinstance(operation, Restore):
            # Who deletes nothing may commit nothing: rows that come make the version a past one.
            versions = [each for each in history[:at] if each.commits]
            assert any(
                isinstance(each, Append) and each.rows for each in versions[operation.version + 1 :]
            )


def test_conditions_of_a_merge_are_about_the_side_that_there_is() -> None:
    drawn = find(
        histories(upkeep=True, max_columns=1, max_depth=0, max_rows=2),
        lambda each: any(
            isinstance(op, Merge) and sum(c.condition is not None for c in op.clauses) > 2
            for op in each
        ),
        settings=FIRST,
    )
    sides = {"matched": "target", "not_matched": "source", "not_matched_by_source": "target"}
    for each in drawn:
        for clause in each.clauses if isinstance(each, Merge) else ():
            if clause.condition is not None:
                assert columns_of(clause.condition) <= {sides[clause.match]}


def test_the_same_seed_draws_the_same_histories() -> None:
    first, second = draw_histories(2, 7), draw_histories(2, 7)
    assert repr(first) == repr(second)  # NaN is not equal to itself
    assert repr(draw_histories(2, 8)) != repr(first)
    assert all(len(each) > 1 for each in first)


def test_the_gate_profile_is_the_same_every_time() -> None:
    gate = PROFILES["gate"]
    assert (gate.derandomize, gate.database, gate.deadline) == (True, None, None)
    assert profile("gate", examples=3).max_examples == 3
    assert not PROFILES["explore"].derandomize
    assert Phase.shrink in PROFILES["explore"].phases


def test_checkpoints_are_operations_that_commit_nothing() -> None:
    drawn = find(
        histories(**SMALL),
        lambda each: any(isinstance(op, Checkpoint) for op in each),
        settings=FIRST,
    )
    made = [each for each in drawn if not isinstance(each, Checkpoint)]
    assert len(replay(drawn).versions) == len(made) < len(drawn)
