"""The audit is held to find what a mutation breaks, and not just anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from fakes import EVERYTHING, Told

from conformance.base.outcomes import Outcome
from conformance.items.mutated import judge_mutation
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from generators.mutations import MUTATIONS, Mutation

NOTICED = {m.id: m for m in MUTATIONS if m.noticed_by in ("audit", "both")}


@pytest.fixture
def judge() -> Iterator[Judge]:
    store = TableStore()
    yield Judge(Told(EVERYTHING), EVERYTHING, store)
    store.close()


@pytest.mark.parametrize("mutation", NOTICED.values(), ids=NOTICED)
def test_the_audit_finds_what_the_mutation_breaks(mutation: Mutation, judge: Judge) -> None:
    verdict = judge_mutation(mutation, judge)
    assert verdict.outcome is Outcome.PASS, verdict.message


def test_a_finding_about_something_else_does_not_count(judge: Judge) -> None:
    mutation = replace(NOTICED["reconcile-sidecar-in-commit"], requirements=("PQ-001",))
    verdict = judge_mutation(mutation, judge)
    assert verdict.outcome is Outcome.FAIL
    assert verdict.message == "the audit finds REC-019, SCA-001 alone"
