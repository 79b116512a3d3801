"""The suite kills every reader that is wrong on purpose, by a requirement that it breaks.

A mutant is the tiny reader, or the reference implementation, with one fault. It is killed when
the judge fails it on a golden spec that names the requirement below, and that the same reader
without a fault does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest
from faulty_ours import FAULTS, FaultyOurs
from shipped import shipped
from tiny_reader import TinyReader

from conformance.base.outcomes import Outcome, Verdict
from conformance.golden.cases import Case, Spec
from conformance.golden.corpus import Corpus
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore

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

FEATURE_MUTANTS = {
    "composes-partition-values": "PART-003",
    "composes-paths": "REM-002",
    "counts-ids-from-zero": "RT-024",
    "counts-rows-by-row-group": "DVDESC-021",
    "cuts-paths-at-a-query": "REM-002",
    "finds-columns-by-display-name": "CM-029",
    "finds-columns-by-name-in-mode-id": "CM-025",
    "finds-partition-values-by-display-name": "CM-026",
    "folds-the-case-of-bounds": "STAT-012",
    "forgets-materialised-ids": "RT-023",
    "forgets-removes-of-compactions": "COMP-011",
    "gives-removed-domains": "DOM-014",
    "gives-whole-files-of-a-vector-pair": "DVD-008",
    "hides-a-broken-commit-behind-its-checksum": "CRC-035",
    "hides-files-by-their-names": "SNAP-007",
    "keeps-no-row-after-the-vector": "DVDESC-020",
    "keeps-names-of-hidden-columns": "RT-023",
    "keeps-partition-columns": "META-002",
    "leaves-out-sidecars": "SIDE-005",
    "passes-over-change-files": "CDC-003",
    "prefers-published-commits": "CAT-009",
    "reads-beyond-the-latest-ratified": "CAT-010",
    "reads-change-files-and-data-files": "CDFF-009",
    "reads-one-sidecar": "SIDE-005",
    "refuses-files-of-a-narrower-type": "TW-004",
    "removes-nothing-where-one-appends": "CINFO-003",
    "skips-by-either-bound": "STAT-012",
    "takes-an-absent-null-count-for-zero": "STAT-007",
    "takes-bounds-of-floats-for-doubles": "STAT-012",
    "takes-compactions-that-reach-beyond": "COMP-012",
    "travels-by-file-times": "ICT-013",
    "travels-to-the-version-after": "CINFO-001",
    "trims-bounds": "STAT-012",
    "trusts-cut-timestamps": "STAT-016",
}
"""The same of the faults in the reference implementation."""

ASKED = ("read", "snapshot", "files", "txn")
ASKED_OF_OURS = (*ASKED, "changes", "row_ids", "history", "domain_metadata")


@cache
def corpus() -> Corpus:
    return shipped()


@pytest.fixture
def judge_of() -> Iterator[Callable[..., Judge]]:
    store = TableStore()

    def make(fault: str, kind: type[TinyReader | FaultyOurs] = TinyReader) -> Judge:
        reader = kind(fault)
        return Judge(reader, reader.describe().claims, store)

    yield make
    store.close()


def naming(requirement: str, asked: Sequence[str] = ASKED) -> Iterator[tuple[Case, Spec]]:
    """Return the specs that hold an implementation to a requirement, and can be put to a reader."""
    for case in corpus().cases:
        for spec in case.specs:
            if requirement in spec.requirements and spec.type in asked:
                yield case, spec


def first_kill(
    mutant: Judge, healthy: Judge, requirement: str, asked: Sequence[str] = ASKED
) -> tuple[Spec, Verdict] | None:
    for case, spec in naming(requirement, asked):
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
    judge_of: Callable[..., Judge],
    record_property: Callable[[str, object], None],
) -> None:
    requirement = MUTANTS[fault]
    killed = first_kill(judge_of(fault), judge_of(""), requirement)
    assert killed is not None, f"{requirement} does not kill a reader that {fault}"
    spec, verdict = killed
    record_property("killed", f"{fault:42} {requirement:10} {verdict.hazard:24} {spec.id}")


@pytest.mark.parametrize("fault", FEATURE_MUTANTS)
def test_the_suite_kills_the_mutant_of_a_feature(
    fault: str,
    judge_of: Callable[..., Judge],
    record_property: Callable[[str, object], None],
) -> None:
    requirement = FEATURE_MUTANTS[fault]
    judges = judge_of(fault, FaultyOurs), judge_of("", FaultyOurs)
    killed = first_kill(*judges, requirement, ASKED_OF_OURS)
    assert killed is not None, f"{requirement} does not kill a reader that {fault}"
    spec, verdict = killed
    record_property("killed", f"{fault:42} {requirement:10} {verdict.hazard:24} {spec.id}")


def test_every_fault_has_a_requirement_that_kills_it() -> None:
    assert FEATURE_MUTANTS.keys() == FAULTS.keys()


def test_the_healthy_reader_reads_right_what_it_claims(judge_of: Callable[..., Judge]) -> None:
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
