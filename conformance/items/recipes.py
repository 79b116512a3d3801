"""Items out of histories that the implementation itself writes, step by step.

See the section "Write recipes" of ``docs/formats.md``. Each history is a recipe: after every
step the rows are the oracle's, and the audit finds nothing that a clause forbids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from conformance.adapters.sql.text import SPARK, render
from conformance.base.outcomes import Verdict
from conformance.golden.cases import Case, Expected, Spec
from conformance.items.generated import MODERN, Plan
from conformance.items.items import ALL_REVISIONS, Item
from conformance.judging.judge import Judge
from conformance.requirements.judged import Judged, judged_step
from generators.histories.document import document_of
from generators.histories.groups import Drawn
from generators.materialise.data.arrow_rows import arrow_table
from generators.oracle.operations import History, replay
from generators.steps import asked_of

_REQUIREMENTS: Final = ("LOG-005", "SNAP-001")


@dataclass(frozen=True, slots=True)
class WrittenHistory:
    """A history to be written.

    Attributes:
        id: of the item.
        drawn: the history that the item is about.
        layout: none: the implementation lays the table out.
    """

    id: str
    drawn: Drawn
    layout: None = None

    def judge(self, judge: Judge) -> Verdict:
        """Let the implementation write the history from nothing."""
        return self.judge_history(judge, self.drawn.load())

    def judge_history(self, judge: Judge, history: History) -> Verdict:
        """Judge another history in the same way, as a smaller one."""
        oracle = replay(history)
        spec = Spec(
            f"{self.id}/write",
            "write",
            "",
            _REQUIREMENTS,
            {"operations": list(_steps(history))},
            Expected(
                {"versions": len(oracle.versions)},
                partial(arrow_table, oracle.schema, oracle.rows()),
            ),
        )
        features = frozenset(self.drawn.features)
        case = Case(self.id, self.id, features, _REQUIREMENTS, MODERN, Path(), ())
        return judge.judge_once(case, spec)


def _steps(history: History) -> Iterator[dict[str, Any]]:
    for step in map(asked_of, document_of(history)["operations"]):
        if "filter" in step:
            step["predicate"] = render(step["filter"], SPARK)
        yield step


def generated_recipes(plan: Plan) -> Iterator[Item]:
    """Return an item for every history to be written."""
    for number, drawn in enumerate(plan.histories("write")):
        yield written_item(number, drawn, loaded=plan.profile == "gate")


def written_item(number: int, drawn: Drawn, *, loaded: bool = True) -> Item:
    """Return the item of a history to be written; its title has the number.

    Without ``loaded`` the history is drawn when it is judged, and what its steps judge is not
    known until then.
    """
    identity = f"generated/{drawn.name}/written"
    made = WrittenHistory(identity, drawn)
    return Item(
        identity,
        "generated",
        "generated",
        f"History {number} is written as the oracle has it",
        _REQUIREMENTS,
        frozenset(drawn.features),
        MODERN if drawn.features else ALL_REVISIONS,
        made.judge,
        Judged("write", _REQUIREMENTS),
        made,
        tuple(judged_step(step["operation"]) for step in _steps(drawn.load())) if loaded else (),
    )
