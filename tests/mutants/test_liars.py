"""An adapter that lies in one way is caught, whatever it lies about."""

from __future__ import annotations

import pytest
from liars import LIES, liar
from shipped import shipped

from conformance.base.outcomes import Outcome
from conformance.golden.corpus import Corpus
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore

CAUGHT_BY = {
    "a-row-too-many": "transaction-identifiers/latest-per-application",
    "a-row-too-few": "partition-value-serialization/string-column",
    "a-value-off-by-one-microsecond": "partition-value-serialization/timestamp-iso-column",
    "a-partition-value-as-text": "partition-value-serialization/long-column",
    "a-null-for-an-empty-string": "parquet-type-mappings/delta-rs-primitives",
    "an-empty-string-for-a-null": "partition-value-serialization/null-values",
    "a-column-left-out": "partition-value-serialization/date-column",
    "a-swallowed-error": "delta-log-entries/line-not-json",
    "an-answer-to-another-request": "action-reconciliation/newest-wins",
    "a-snapshot-of-another-version": "action-reconciliation/newest-wins",
}
"""Each lie, and a golden case that does not believe it."""


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return shipped()


def outcomes(adapter: object, corpus: Corpus, name: str, store: TableStore) -> list[Outcome]:
    (case,) = (case for case in corpus.cases if case.id == name)
    judge = Judge(adapter, adapter.describe().claims, store)  # type: ignore[arg-type,attr-defined]
    return [judge.judge_once(case, spec).outcome for spec in case.specs]


@pytest.mark.parametrize("lie", LIES)
def test_the_lie_is_caught(lie: str, corpus: Corpus, store: TableStore) -> None:
    assert Outcome.FAIL in outcomes(liar(lie), corpus, CAUGHT_BY[lie], store)


@pytest.mark.parametrize("name", sorted({*CAUGHT_BY.values()}))
def test_the_truth_is_believed(name: str, corpus: Corpus, store: TableStore) -> None:
    from conformance.adapters.ours import create  # noqa: PLC0415  beside its only use

    found = outcomes(create(), corpus, name, store)
    assert {*found} <= {Outcome.PASS, Outcome.OPEN}
