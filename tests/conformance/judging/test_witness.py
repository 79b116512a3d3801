"""A witness reads what recipes leave, and decides nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from conformance.adapter import Answer, Claims, Description, Ok, Refused, Request
from conformance.adapters import ours
from conformance.base.outcomes import Outcome, Verdict
from conformance.items.generated import Plan
from conformance.items.recipes import generated_recipes
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.judging.witness import Witness
from reference_impl import Table

ROWS = pa.table({"id": [1, 2]})


@dataclass
class Engine:
    """Reads as the reference implementation does, or answers what is scripted."""

    answer: Any = None
    reader_version: int = 3

    def describe(self) -> Description:
        claims = ours.create().describe().claims
        problem = replace(claims, reader_version=self.reader_version)
        return Description("another", "1", problem)

    def run(self, request: Request) -> Answer:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or ours.create().run(request)

    def close(self) -> None: ...


def witness_of(engine: Engine) -> Witness:
    return Witness(engine, engine.describe())


@pytest.fixture
def table(tmp_path: Path) -> Path:
    Table(tmp_path).create(ROWS.schema, rows=ROWS)
    return tmp_path


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (None, ""),
        (Ok(ROWS.slice(1)), "reads otherwise: rows: 1 missing of 2"),
        (Refused("unsupported", None, "not that one"), "refuses: not that one"),
        (ValueError("broken"), "raises ValueError: broken"),
    ],
)
def test_a_witness_reports_where_it_reads_otherwise(table: Path, answer: Any, problem: str) -> None:
    found = witness_of(Engine(answer)).disagreement(table)
    assert found is not None
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_a_witness_is_asked_for_what_it_claims_to_read(table: Path, tmp_path: Path) -> None:
    Table(table).set_properties({"delta.enableDeletionVectors": "true"})
    assert witness_of(Engine(ValueError("asked"), reader_version=1)).disagreement(table) is None
    assert witness_of(Engine()).disagreement(tmp_path / "nothing") is None


def _judged(store: TableStore, witness: Witness | None, claims: Claims | None = None) -> Verdict:
    adapter = ours.create()
    judge = Judge(adapter, claims or adapter.describe().claims, store, witness=witness)
    return next(generated_recipes(Plan())).judge(judge)


def test_what_a_witness_says_is_reported_and_is_no_failure(store: TableStore) -> None:
    assert _judged(store, None) == Verdict(Outcome.PASS)
    same = _judged(store, witness_of(Engine()))
    assert (same.outcome, same.message) == (Outcome.PASS, "another reads the same")
    other = _judged(store, witness_of(Engine(Refused(None, None, "no"))))
    assert other == Verdict(Outcome.OPEN, "another refuses: no", seen="witness")


def test_no_witness_is_asked_about_what_was_not_written(store: TableStore) -> None:
    claims = replace(ours.create().describe().claims, operations=frozenset({"scan"}))
    verdict = _judged(store, witness_of(Engine(ValueError("asked"))), claims)
    assert verdict.outcome is Outcome.UNSUPPORTED
