"""Items out of mutations: a valid table changed in one way, judged for who must notice.

Serves the chapters that the mutations name. For a reader the change must lead to a refusal, or to
the original rows. The audit of the kit is judged by the same mutations: of each that it must
notice it has to find a requirement that the mutation names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Accepted, Case, Contested, Expected, ExpectedError, Spec
from conformance.items.items import Item
from conformance.items.self_audit import judge_mutation
from conformance.judging.judge import Judge
from conformance.requirements.judged import Judged
from conformance.requirements.registry import SELECTIONS, Registry
from generators.materialise.builder import TableBuilder
from generators.materialise.data.arrow_rows import arrow_table
from generators.mutations import MUTATIONS, Mutation


@dataclass(frozen=True, slots=True)
class _ForReader:
    """A mutation as a question to an implementation."""

    id: str
    mutation: Mutation

    def judge(self, judge: Judge) -> Verdict:
        """Ask for the rows of the changed table."""
        with judge.store.fresh(None) as root:
            builder = self.mutation.build(root)
            same = _same_rows(builder)
            verdict = self._ask(judge, root, self._expectation(same))
            if "refused" in self.mutation.tolerated and verdict.hazard is Hazard.WRONG_REFUSAL:
                return Verdict(Outcome.OPEN, f"contested: {verdict.message}", seen="refused")
            tolerated = "same_rows" in self.mutation.tolerated
            if tolerated and verdict.outcome is Outcome.FAIL:
                # The original rows are tolerated, other rows are not.
                self.mutation.build(root)
                again = self._ask(judge, root, same)
                if again.outcome is Outcome.PASS:
                    return Verdict(Outcome.OPEN, "contested: the original rows", seen="same_rows")
                return again
            return verdict

    def _ask(
        self, judge: Judge, root: Path, expectation: Expected | ExpectedError | Contested
    ) -> Verdict:
        mutation = self.mutation
        features = frozenset(mutation.base.features)
        case = Case(self.id, mutation.title, features, mutation.requirements, frozenset(), root, ())
        spec = Spec(self.id, "read", mutation.title, mutation.requirements, {}, expectation)
        with judge.alone(case):
            return judge.judge_once(case, spec)

    def _expectation(self, same: Expected) -> Expected | ExpectedError | Contested:
        mutation = self.mutation
        refusal = ExpectedError(mutation.kind or "invalid_table", mutation.stage, None)
        if mutation.expect == "refused":
            return refusal
        if mutation.expect == "same_rows":
            return same
        return Contested(
            (
                Accepted("same_rows", mutation.reason, same),
                Accepted("refused", mutation.reason, refusal),
            ),
            mutation.open,
        )


def _same_rows(builder: TableBuilder) -> Expected:
    rows = builder.rows()
    return Expected({"rowCount": len(rows)}, partial(arrow_table, builder.schema, rows))


def mutated_items(registry: Registry, *, audited: bool) -> Iterator[Item]:
    """Return the items of every mutation.

    Args:
        registry: says under which revisions a mutation's requirements hold.
        audited: also judge the audit of the kit.

    """
    for mutation in MUTATIONS:
        revisions = _revisions(mutation, registry)
        reader = _ForReader(f"mutations/{mutation.id}/read", mutation)
        judges = [("read", reader.judge)]
        if audited and mutation.noticed_by in ("audit", "both"):
            judges.append(("audit", partial(judge_mutation, mutation)))
        for question, judge in judges:
            yield Item(
                f"mutations/{mutation.id}/{question}",
                "mutations",
                mutation.chapter,
                mutation.title,
                mutation.requirements,
                frozenset(mutation.base.features),
                revisions,
                judge,
                Judged(question, mutation.requirements, refusing=mutation.expect == "refused"),
            )


def _revisions(mutation: Mutation, registry: Registry) -> frozenset[str]:
    texts = [registry[name].revisions for name in mutation.requirements if name in registry]
    return frozenset(
        revision
        for revision, selected in SELECTIONS.items()
        if any(selected & {*held} for held in texts)
    )
