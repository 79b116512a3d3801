"""Drawn histories are written by the implementation, and told from those of a wrong writer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from conformance.adapter import Answer, Claims, Description, Request, Write
from conformance.adapters import ours
from conformance.generated import Plan
from conformance.generated_recipes import generated_recipes
from conformance.judge import Judge
from conformance.outcomes import Hazard, Outcome
from conformance.recipe_steps import operation_of
from conformance.tables import TableStore
from generators.delta_schema import Struct, field, struct
from generators.export import draw_histories
from generators.operations import AddColumn, Create, Keep, replay, schema_after
from generators.steps import step_of

FEATURES = ("columnMapping", "deletionVectors", "domainMetadata", "typeWidening")


@dataclass(frozen=True)
class Forgetful:
    """The reference writer, but that it keeps one row of those that it is given to append."""

    writer: Any

    def describe(self) -> Description:
        return self.writer.describe()

    def run(self, request: Request) -> Answer:
        if isinstance(request, Write) and request.operation == "append":
            request = replace(request, rows=request.rows.slice(0, 1))
        return self.writer.run(request)

    def close(self) -> None:
        self.writer.close()


@pytest.fixture
def store() -> Iterator[TableStore]:
    made = TableStore()
    yield made
    made.close()


def judge(adapter: Any, store: TableStore, claims: Claims | None = None) -> Judge:
    return Judge(adapter, claims or adapter.describe().claims, store)


def test_gates_draw_the_same_recipes_and_explorers_ten_times_as_many() -> None:
    gate, again, explored = (
        [item.id for item in generated_recipes(plan)]
        for plan in (Plan(), Plan(), Plan("explore", 7))
    )
    assert gate == again
    assert gate[0] == "generated/recipe-0/written"
    assert explored[0] == "generated/recipe-seed-7-0/written"
    assert len(explored) == 10 * len(gate)


def test_a_right_writer_passes_and_one_that_loses_rows_does_not(store: TableStore) -> None:
    items = list(generated_recipes(Plan()))
    right, wrong = judge(ours.create(), store), judge(Forgetful(ours.create()), store)
    assert items[1].judge(right).outcome is Outcome.PASS
    verdicts = [item.judge(wrong) for item in items[:6]]
    assert Hazard.CORRUPTING_WRITE in {verdict.hazard for verdict in verdicts}
    assert any("(append)" in verdict.message for verdict in verdicts)


def test_a_writer_that_cannot_follow_is_not_asked(store: TableStore) -> None:
    adapter = ours.create()
    claims = adapter.describe().claims
    reader = replace(claims, operations=claims.operations - {"create"})
    verdict = next(generated_recipes(Plan())).judge(judge(adapter, store, reader))
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert verdict.message == "create is not claimed, so not asked"


def test_steps_say_all_that_operations_do() -> None:
    for history in draw_histories(40, 3, FEATURES, required_inside=False, max_depth=0):
        schema, told = Struct(()), []
        for operation in history:
            schema = operation.schema if isinstance(operation, Create) else schema
            told.append(operation_of(step_of(operation, schema), schema, int))
            schema = schema_after(schema, operation)
        assert states(told) == states(history)


def states(history: Any) -> list[str]:
    """Spell what each version of a history has, columns in the order of their names."""
    return [
        repr(
            (
                sorted(repr(sorted(row.values.items())) for row in each.rows),
                each.schema,
                each.partition_columns,
                each.properties,
                each.transactions,
                each.domains,
            )
        )
        for each in replay(history).versions
    ]


def test_fields_inside_of_structs_have_no_step() -> None:
    schema = struct(field("s", struct(field("a", "long"))))
    with pytest.raises(ValueError, match="is no step"):
        step_of(AddColumn(field("b", "long"), ("s",)), schema)
    with pytest.raises(ValueError, match="is no step"):
        step_of(Keep(), schema)
