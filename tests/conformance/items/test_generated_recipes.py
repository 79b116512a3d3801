"""The implementation writes drawn histories; a wrong writer of them is found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from conformance.adapter import Answer, Claims, Description, Request, Write
from conformance.adapters import ours
from conformance.base.outcomes import Hazard, Outcome
from conformance.items.generated import Plan
from conformance.items.recipes import generated_recipes
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from generators.oracle.delta_schema import field, struct
from generators.oracle.operations import AddColumn, NoRowChange
from generators.steps import recipe_step


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


def judge(adapter: Any, store: TableStore, claims: Claims | None = None) -> Judge:
    return Judge(adapter, claims or adapter.describe().claims, store)


def test_gates_have_the_same_recipes_and_explorers_ten_times_as_many() -> None:
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


def test_fields_inside_of_structs_have_no_step() -> None:
    schema = struct(field("s", struct(field("a", "long"))))
    with pytest.raises(ValueError, match="is no step"):
        recipe_step(AddColumn(field("b", "long"), ("s",)), schema)
    with pytest.raises(ValueError, match="is no step"):
        recipe_step(NoRowChange(), schema)
