"""Items out of mutations: a valid table changed in one way, judged for who must notice.

Covers the chapters that the mutations name. For a reader the change must lead to a refusal, or to
the original rows. The audit of the kit is judged by the same mutations: of each that it must
notice it has to find a requirement that the mutation names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from conformance.audit import AuditError, audit
from conformance.audit.grammar.log_files import checksum_name
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Accepted, Case, Contested, Expected, ExpectedError, Spec
from conformance.items.items import Item
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
        with judge.store.new_table() as root:
            same = _same_rows(self.mutation.build(root))
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
        refusal = ExpectedError(mutation.kind or "invalid_table", "read", None)
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
        judges = [("read", _ForReader(f"mutations/{mutation.id}/read", mutation).judge)]
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
                Judged(
                    question,
                    mutation.requirements,
                    _audited_requirement(mutation, registry) if question == "audit" else None,
                    refusing=mutation.expect == "refused",
                ),
            )


def _audited_requirement(mutation: Mutation, registry: Registry) -> str | None:
    """Return the first requirement that an audit has to notice; the others bind readers."""
    named = (name for name in mutation.requirements if name in registry)
    return next((name for name in named if "audit" in registry[name].notice), None)


def _revisions(mutation: Mutation, registry: Registry) -> frozenset[str]:
    texts = [registry[name].revisions for name in mutation.requirements if name in registry]
    return frozenset(
        revision
        for revision, selected in SELECTIONS.items()
        if any(selected & {*held} for held in texts)
    )


def _serious(table: Path) -> list[tuple[str, str, str]]:
    """Return requirement, place and message of what is more than information."""
    return [
        (finding.requirement, finding.place, finding.message.replace(str(table), "<table>"))
        for finding in audit(str(table))
        if finding.severity != "info"
    ]


def judge_mutation(mutation: Mutation, judge: Judge) -> Verdict:
    """Take the verdict about a mutation that the audit must notice, by a requirement of its own.

    A finding about something else is luck: it may be gone with the next change of the audit.
    """
    with judge.store.new_table() as root:
        mutation.build(root)
        try:
            # The base is clean, so whatever is found is of the change.
            found = _serious(root)
        except AuditError as error:
            message = f"no table to audit: {error}".replace(str(root), "<table>")
            return Verdict(Outcome.PASS, message)
    own = next((f for f in found if f[0] in mutation.requirements), None)
    if own is not None:
        return Verdict(Outcome.PASS, f"found {own[0]}: {own[2]}")
    others = ", ".join(sorted({requirement for requirement, _, _ in found}))
    message = f"the audit finds {others} alone" if found else "the audit finds nothing"
    wanted = f"a finding of {' or '.join(mutation.requirements)}"
    return Verdict(Outcome.FAIL, message, Hazard.ACCEPTED_INVALID_TABLE, wanted, message)


def judge_checksum(judge: Judge, case: Case, spec: Spec) -> Verdict:
    """Take the verdict about a ``checksum`` spec: the audit says whether the file is right."""
    assert isinstance(spec.expectation, Expected)
    name = checksum_name(spec.parameters["version"])
    found = [f for f in _serious(judge.store.table(case)) if f[1].rpartition("/")[2] == name]
    if bool(spec.expectation.document["valid"]) is not bool(found):
        return Verdict(Outcome.PASS, found[0][2] if found else "")
    message = f"found {found[0][0]}: {found[0][2]}" if found else "the audit finds nothing"
    wanted = "a finding about the checksum" if not found else "a valid checksum"
    return Verdict(Outcome.FAIL, message, Hazard.ACCEPTED_INVALID_TABLE, wanted, message)
