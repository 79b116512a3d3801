"""What an engine says of golden tables is what the judge says of its answers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from conformance.adapter import Answer, Claims, Description, Ok, Refused, Request
from conformance.adapters import ours
from conformance.golden.cases import Case
from conformance.golden.corpus import default_corpus_path, load_corpus
from conformance.pipeline.tables import CrossCheck, cross_check, record, recorded

IDENTITY = {"engine": "spark", "engine_version": "4", "digest": "a" * 64}


@dataclass
class Answering:
    """The reference implementation, whose answers are changed."""

    change: Callable[[Answer], Answer]
    claims: Callable[[Claims], Claims] = lambda claims: claims

    def describe(self) -> Description:
        description = ours.create().describe()
        return replace(description, claims=self.claims(description.claims))

    def run(self, request: Request) -> Answer:
        return self.change(ours.create().run(request))

    def close(self) -> None:
        """Nothing is open."""


def _row_short(answer: Answer) -> Answer:
    return replace(answer, payload=answer.payload.slice(1)) if isinstance(answer, Ok) else answer


def _refusing(_: Answer) -> Answer:
    return Refused("unsupported", "load", "not today")


def _raising(_: Answer) -> Answer:
    raise ValueError("broken")


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """Return a case that reads."""
    return _case(tmp_path, "action-reconciliation/newest-wins")


def _case(corpus: Path, name: str) -> Case:
    shutil.copytree(default_corpus_path() / name, corpus / name)
    (found,) = load_corpus(corpus, validate=False).cases
    return found


@pytest.mark.parametrize(
    ("change", "verdict", "note"),
    [
        (lambda answer: answer, "agrees", ""),
        (_row_short, "disagrees", "row"),
        (_refusing, "refuses", "not today"),
        (_raising, "refuses", "broken"),
    ],
)
def test_an_engine_agrees_refuses_or_disagrees(
    case: Case, change: Callable[[Answer], Answer], verdict: str, note: str
) -> None:
    check = cross_check(Answering(change), case)
    assert check is not None
    assert check.verdict == verdict
    assert note in check.note


def test_an_answer_about_an_invalid_table_disagrees(tmp_path: Path) -> None:
    case = _case(tmp_path, "protocol-evolution/reader-version-4")
    assert cross_check(ours.create(), case) == CrossCheck("agrees")
    check = cross_check(Answering(lambda _: Ok(None)), case)
    assert check is not None
    assert check.verdict == "disagrees"


def test_who_reads_no_rows_says_nothing(case: Case) -> None:
    def nothing(claims: Claims) -> Claims:
        return replace(claims, operations=frozenset({"snapshot"}))

    assert cross_check(Answering(lambda answer: answer, nothing), case) is None


def test_a_record_takes_the_place_of_what_the_engine_said_before(case: Case) -> None:
    folder = case.table.parent
    assert not recorded(folder, IDENTITY)
    record(folder, IDENTITY, CrossCheck("refuses", "why"))
    assert recorded(folder, IDENTITY)
    later: dict[str, Any] = {**IDENTITY, "engine_version": "5"}
    assert not recorded(folder, later)
    record(folder, later, CrossCheck("agrees"))
    assert recorded(folder, later)
    assert not recorded(folder, IDENTITY)
    assert load_corpus(folder.parent.parent).cases[0].id == case.id
