"""Cases about absolute paths: placeholders become the place to which a table is copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fakes import EVERYTHING, Told
from tiny import write_case

from conformance.audit import audit
from conformance.base.outcomes import Outcome, Verdict
from conformance.golden.corpus import load_corpus
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore

OPEN = {"absolute-removed-relative", "absolute-added-twice"}
LOG = "_delta_log/00000000000000000000.json"


def _place(folder: Path, text: str) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text(text, encoding="utf-8")


def test_placeholders_are_expanded_in_the_named_files_alone(
    tmp_path: Path, store: TableStore
) -> None:
    spec = {"type": "located", "of": "txn", "appId": "a", "expected": {"txnVersion": 1}}
    folder = write_case(
        tmp_path, "chapter/case", {"q": spec}, placeholders=[LOG], root="a table", features=()
    )
    _place(folder / "delta" / LOG, "file://{{table}}/f {{beside}}/g")
    _place(folder / "delta" / "other.json", "{{table}}")
    _place(folder / "beside" / "g", "outside")
    (case,) = load_corpus(tmp_path).cases
    table = store.table(case)
    assert table.name == "a table"
    parent = quote(str(table.parent))
    assert (table / LOG).read_text() == f"file://{parent}/a%20table/f {parent}/beside/g"
    assert (table / "other.json").read_text() == "{{table}}"
    assert (table.parent / "beside" / "g").read_text() == "outside"
    assert (folder / "delta" / LOG).read_text() == "file://{{table}}/f {{beside}}/g"
    store.release(case)
    assert not table.parent.exists()


EXPECTED = {"expected": {"configuration": "file://{{table}}/f"}}
QUESTION = {"of": "domain_metadata", "domain": "d"}


def _judged(folder: Path, store: TableStore, spec: dict[str, Any], answer: str) -> Verdict:
    """Judge an adapter that answers what is scripted, once the table is where it is read."""
    answers = {"domainmetadata": {"ok": answer}}
    specs = {"q": {**QUESTION, **spec}}
    write_case(folder, "chapter/case", specs, answers, placeholders=["answers.json"])
    (case,) = load_corpus(folder).cases
    return Judge(Told(EVERYTHING), EVERYTHING, store).judge(case, case.specs[0])


@pytest.mark.parametrize(
    ("answer", "outcome"), [("file://{{table}}/f", Outcome.PASS), ("f {{table}}", Outcome.FAIL)]
)
def test_placeholders_in_an_answer_stand_for_the_copy(
    tmp_path: Path, store: TableStore, answer: str, outcome: Outcome
) -> None:
    assert _judged(tmp_path, store, {"type": "located", **EXPECTED}, answer).outcome is outcome


def test_placeholders_in_accepted_answers_do_too(tmp_path: Path, store: TableStore) -> None:
    accepted = [
        {"name": "it", "source": "s", **EXPECTED},
        {
            "name": "refused",
            "source": "s",
            "error": {"errorCode": "X", "kind": "unsupported", "stage": "load"},
        },
    ]
    spec = {"type": "contested", "contested": {"accepted": accepted}}
    assert _judged(tmp_path, store, spec, "file://{{table}}/f").seen == "it"


def test_the_audit_follows_absolute_paths(store: TableStore) -> None:
    cases = [case for case in load_corpus().cases if case.placeholders]
    assert len(cases) > 10
    # What the text leaves open is for no audit to call clean.
    clean = [case for case in cases if case.id.rpartition("/")[2] not in OPEN]
    errors = {
        case.id: [f for f in audit(str(store.table(case))) if f.severity == "error"]
        for case in clean
    }
    assert {name: each for name, each in errors.items() if each} == {}
