"""Items out of generated histories that the implementation itself writes, step by step.

Serves the section "Write recipes" of ``docs/formats.md``. Each history is a recipe: after every
step the rows are the oracle's, and the audit finds nothing that a clause forbids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from conformance.adapters.sqltext import SPARK, render
from conformance.cases import Case, Expected, Spec
from conformance.generated import MODERN, Plan
from conformance.items import ALL_REVISIONS, Item
from conformance.judge import Judge
from conformance.judged import Judged
from conformance.outcomes import Verdict
from generators.delta_schema import Decimal, Primitive, Struct
from generators.materialise.arrow_rows import arrow_table
from generators.operations import (
    Create,
    History,
    Operation,
    Overwrite,
    Update,
    filtered,
    replay,
    schema_after,
)
from generators.steps import step_of

__all__ = ["generated_recipes"]

_REQUIREMENTS: Final = ("LOG-005", "SNAP-001")
_STEPS: Final = 8


@dataclass(frozen=True, slots=True)
class _Group:
    """Histories that are drawn alike.

    Attributes:
        count: how many the ``gate`` profile draws.
        features: table features that they have.
        only_rows: rows change, and nothing else, so that most writers can follow.
        decimals: among the types there are decimals.

    """

    count: int
    features: tuple[str, ...] = ()
    only_rows: bool = False
    decimals: bool = True


_GROUPS: Final = (
    _Group(3, only_rows=True),
    # A writer that fails at wide decimals is to show what else it does.
    _Group(3, only_rows=True, decimals=False),
    _Group(2),
    _Group(2, ("columnMapping", "deletionVectors")),
    _Group(2, ("changeDataFeed", "inCommitTimestamp", "rowTracking")),
    _Group(2, ("columnMapping", "domainMetadata", "typeWidening")),
)


@cache
def _draw(group: _Group, factor: int, seed: int) -> list[History]:
    # Hypothesis is imported only when a history is judged, not when items are listed.
    from generators.export import draw_histories  # noqa: PLC0415  see above
    from generators.strategies.schemas import PRIMITIVES  # noqa: PLC0415  as above

    return draw_histories(
        group.count * factor,
        seed,
        group.features,
        max_operations=_STEPS,
        only_rows=group.only_rows,
        # The text says of no writer that it has to keep nulls out of fields inside of columns.
        required_inside=False,
        primitives=(*PRIMITIVES, *(["decimal"] if group.decimals else [])),
    )


@dataclass(frozen=True, slots=True)
class _Recipe:
    """One history to write."""

    id: str
    group: _Group
    plan: Plan
    index: int

    def judge(self, judge: Judge) -> Verdict:
        """Let the implementation write the history from nothing."""
        drawn = _draw(self.group, self.plan.factor, self.plan.seed)[self.index]
        history, steps = zip(*_written(drawn), strict=True)
        oracle = replay(history)
        spec = Spec(
            f"{self.id}/write",
            "write",
            "",
            _REQUIREMENTS,
            {"operations": list(steps)},
            Expected(
                {"versions": len(oracle.versions)},
                partial(arrow_table, oracle.schema, oracle.rows()),
            ),
        )
        features = frozenset(self.group.features)
        case = Case(self.id, self.id, features, _REQUIREMENTS, MODERN, Path(), ())
        return judge.judge_once(case, spec)


def _written(history: History) -> Iterator[tuple[Operation, dict[str, Any]]]:
    """Give the operations that a recipe can ask for, each with its step."""
    schema = Struct(())
    for drawn in history:
        operation = drawn
        if isinstance(operation, Create):
            schema = operation.schema
        if isinstance(operation, Update) and not all(
            isinstance(schema[name].type, Primitive | Decimal) for name in operation.values
        ):
            continue  # constants of a step are single values
        if isinstance(operation, Overwrite) and operation.where is not None:
            # Writers may refuse rows that the filter would not have replaced.
            operation = replace(operation, rows=tuple(filtered(operation.rows, operation.where)))
        step = step_of(operation, schema)
        if "filter" in step:
            step["predicate"] = render(step["filter"], SPARK)
        yield operation, step
        schema = schema_after(schema, operation)


def generated_recipes(plan: Plan) -> Iterator[Item]:
    """Give an item for every history that is drawn to be written."""
    name = "recipe" if plan.profile == "gate" else f"recipe-{plan.name}"
    number = 0
    for group in _GROUPS:
        for index in range(group.count * plan.factor):
            identity = f"generated/{name}-{number}/written"
            yield Item(
                identity,
                "generated",
                "generated",
                f"History {number} is written as the oracle has it",
                _REQUIREMENTS,
                frozenset(group.features),
                MODERN if group.features else ALL_REVISIONS,
                _Recipe(identity, group, plan, index).judge,
                Judged("write", _REQUIREMENTS),
            )
            number += 1
