"""The suite kills every reader that is wrong on purpose, by a requirement that it breaks.

A mutant is the tiny reader with one fault. It is killed when the judge fails it on a golden spec
that names one of the requirements below, and that the tiny reader without a fault does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from tiny_reader import TinyReader

from conformance.cases import Case, Spec
from conformance.corpus import Corpus, load_corpus
from conformance.judge import Judge
from conformance.outcomes import Outcome, Verdict
from conformance.tables import TableStore

MUTANTS = {
    "decodes-paths-twice": "ADD-003",
    "drops-doubled-rows": "DATA-004",
    "drops-rows-with-nulls": "DATA-004",
    "fills-missing-columns-with-zero": "DFT-004",
    "folds-the-case-of-paths": "REC-006",
    "gives-empty-strings-for-null": "PART-004",
    "highest-transaction-wins": "TXN-005",
    "ignores-checkpoints": "CKPT-011",
    "ignores-commits-after-checkpoint": "CKPT-003",
    "ignores-deletion-vectors": "DVDESC-020",
    "ignores-reader-features": "TF-001",
    "ignores-removes": "REC-018",
    "ignores-the-protocol": "TF-001",
    "never-decodes-paths": "ADD-003",
    "off-by-one-version": "REC-018",
    "passes-over-broken-lines": "LOG-004",
    "reads-latest-always": "REC-018",
    "reads-the-first-part-only": "CKPT-021",
    "reads-timestamps-as-local": "PART-008",
    "refuses-unknown-actions": "PROTO-008",
    "refuses-unknown-fields": "PROTO-009",
    "removed-stays-removed": "REC-008",
    "removes-by-file-name": "REM-002",
    "skips-gaps": "SNAP-001",
    "stale-add-wins": "FA-003",
    "takes-incomplete-checkpoints": "CKPT-030",
    "takes-partition-values-from-directories": "PART-003",
    "trusts-the-hint": "CKPT-003",
}
"""Each fault, and the requirement that has to kill it."""

ASKED = ("read", "snapshot", "files", "txn")


@cache
def corpus() -> Corpus:
    return load_corpus(validate=False)


@pytest.fixture
def judge_of() -> Iterator[Callable[[str], Judge]]:
    store = TableStore()

    def make(fault: str) -> Judge:
        reader = TinyReader(fault)
        return Judge(reader, reader.describe().claims, store)

    yield make
    store.close()


def naming(requirement: str) -> Iterator[tuple[Case, Spec]]:
    """Give the specs that hold an implementation to a requirement, and can be put to a reader."""
    for case in corpus().cases:
        for spec in case.specs:
            if requirement in spec.requirements and spec.type in ASKED:
                yield case, spec


def first_kill(mutant: Judge, healthy: Judge, requirement: str) -> tuple[Spec, Verdict] | None:
    for case, spec in naming(requirement):
        verdict = mutant.judge_once(case, spec)
        if (
            verdict.outcome is Outcome.FAIL
            and healthy.judge_once(case, spec).outcome is not Outcome.FAIL
        ):
            return spec, verdict
    return None


@pytest.mark.parametrize("fault", MUTANTS)
def test_the_suite_kills_the_mutant(
    fault: str,
    judge_of: Callable[[str], Judge],
    record_property: Callable[[str, object], None],
) -> None:
    requirement = MUTANTS[fault]
    killed = first_kill(judge_of(fault), judge_of(""), requirement)
    assert killed is not None, f"{requirement} does not kill a reader that {fault}"
    spec, verdict = killed
    record_property("killed", f"{fault:42} {requirement:10} {verdict.hazard:24} {spec.id}")


def test_the_healthy_reader_reads_right_what_it_claims(judge_of: Callable[[str], Judge]) -> None:
    judge = judge_of("")
    verdicts = [
        judge.judge_once(case, spec)
        for requirement in sorted({*MUTANTS.values()} - {"DATA-004", "REC-018", "CKPT-003"})
        for case, spec in naming(requirement)
    ]
    passed = sum(verdict.outcome is Outcome.PASS for verdict in verdicts)
    failed = [v for v in verdicts if v.outcome is Outcome.FAIL]
    assert passed > 100
    assert len(failed) < passed / 10
