"""Items out of generated histories: one history laid out as many logs, which all read equal.

Serves "Action Reconciliation", "Checkpoints", "Log Compaction Files", "Last Checkpoint File",
"Version Checksum File" and "Metadata Cleanup". The oracle that gives the expected rows shares no
code with the reference implementation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial

from conformance.cases import Case, Expected, Spec
from conformance.items import ALL_REVISIONS, Item
from conformance.judge import Judge
from conformance.judged import Judged
from conformance.outcomes import FAILING, Outcome, Verdict
from generators.materialise.arrow_rows import arrow_table
from generators.materialise.builder import TableBuilder
from generators.materialise.layouts import LAYOUTS, Layout, lay_out
from generators.operations import History

__all__ = ["MODERN", "Plan", "generated_items"]

MODERN = frozenset({"2025", "upstream"})
"""Revisions of tables that need what came after the one of 2021."""

_GATE = ((4, ()), (3, ("columnMapping", "deletionVectors")))
"""How many histories of which features the ``gate`` profile draws."""

_EXPLORE_FACTOR = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """Which histories to draw.

    Attributes:
        profile: ``gate`` draws the same histories every time, ``explore`` ten times as many.
        seed: what ``explore`` draws from.

    """

    profile: str = "gate"
    seed: int = 0

    @property
    def name(self) -> str:
        """Name the drawn histories, so that an id says how to draw it again."""
        return "history" if self.profile == "gate" else f"seed-{self.seed}"

    @property
    def factor(self) -> int:
        """Tell how many times as many are drawn as by the ``gate`` profile."""
        return 1 if self.profile == "gate" else _EXPLORE_FACTOR

    def counts(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Give how many histories of which features are drawn."""
        return tuple((count * self.factor, features) for count, features in _GATE)


@cache
def _draw(count: int, seed: int, features: tuple[str, ...]) -> list[History]:
    # Hypothesis is imported only when a history is judged, not when items are listed.
    from generators.export import draw_histories  # noqa: PLC0415  see above

    return draw_histories(count, seed, features)


@dataclass(frozen=True, slots=True)
class _Generated:
    """One history in one layout."""

    id: str
    layout: Layout
    count: int
    seed: int
    features: tuple[str, ...]
    index: int

    def judge(self, judge: Judge) -> Verdict:
        """Ask for every version that the layout holds, the latest one first."""
        history = _draw(self.count, self.seed, self.features)[self.index]
        root = judge.store.fresh(None)
        laid = lay_out(root, history, self.layout)
        case = Case(
            self.id,
            self.id,
            frozenset(laid.builder.protocol.reader_features or ()),
            self.layout.requirements,
            MODERN,
            root,
            (),
        )
        with judge.alone(case):
            latest = judge.judge_once(case, self._spec(laid.builder, None))
            if latest.outcome is not Outcome.PASS:
                return _named("latest version", latest)
            for version in laid.versions:
                verdict = judge.judge_once(case, self._spec(laid.builder, version))
                if verdict.outcome in FAILING:
                    return _named(f"version {version}", verdict)
        return latest

    def _spec(self, builder: TableBuilder, version: int | None) -> Spec:
        number = builder.version if version is None else version
        schema = builder.oracle.versions[number].schema
        rows = builder.rows(number)
        return Spec(
            f"{self.id}/{'latest' if version is None else f'v{version}'}",
            "read",
            "",
            self.layout.requirements,
            {} if version is None else {"version": version},
            Expected({"rowCount": len(rows)}, partial(arrow_table, schema, rows)),
        )


def _named(what: str, verdict: Verdict) -> Verdict:
    return replace(verdict, message=f"{what}: {verdict.message}")


def generated_items(plan: Plan) -> Iterator[Item]:
    """Give an item for every drawn history in every layout."""
    number = 0
    for count, features in plan.counts():
        for index in range(count):
            for layout in LAYOUTS:
                identity = f"generated/{plan.name}-{number}/{layout.name}"
                made = _Generated(identity, layout, count, plan.seed, features, index)
                yield Item(
                    identity,
                    "generated",
                    "generated",
                    f"History {number} reads equal in the layout {layout.name}",
                    layout.requirements,
                    frozenset({*features, *layout.features}),
                    MODERN if features or layout.features else ALL_REVISIONS,
                    made.judge,
                    Judged("read", layout.requirements),
                )
            number += 1
