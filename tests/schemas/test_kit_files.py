"""The kit's own files have the shapes that their schemas describe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import schemas
from conformance import adapter
from conformance.adapter import (
    Answer,
    Claims,
    Description,
    Files,
    Ok,
    Refused,
    Scan,
    Snapshot,
    Write,
)
from conformance.base.outcomes import FAILING, Hazard, Outcome, Verdict
from conformance.items.items import Item
from conformance.judging.claims import WORDS
from conformance.report.baseline import Baseline
from conformance.report.baseline_writing import BaselineFile, Outcomes
from conformance.report.results import ResultsWriter, record_of
from conformance.requirements.judged import Judged
from conformance.run.selection import Selection
from conformance.workers.wire import (
    encode_answer,
    encode_description,
    encode_request,
)

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "conformance" / "requirements").glob("*.yaml"))
NOT_CHAPTERS = ("chapters.yaml", "exceptions.yaml", "proved.yaml", "unproved.yaml")


@pytest.mark.parametrize(
    "path", [p for p in CHAPTERS if p.name not in NOT_CHAPTERS], ids=lambda p: str(p.stem)
)
def test_a_chapter_of_the_registry_has_its_shape(path: Path) -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = yaml.load(path.read_text(), Loader=loader)  # noqa: S506  a safe loader, in C
    assert schemas.errors("kit/requirements", document) == []


def test_every_case_and_spec_of_the_corpus_has_its_shape() -> None:
    found: dict[str, Any] = {}
    for pattern, name in (
        ("*/*/case.json", "kit/case"),
        ("*/*/table_info.json", "kit/table-info"),
        ("*/*/specs/*.json", "kit/spec"),
        ("*/*/questions/*.json", "kit/spec"),
    ):
        for path in sorted((ROOT / "golden-tables").glob(pattern)):
            violations = schemas.errors(name, json.loads(path.read_text()))
            if violations:
                found[str(path.relative_to(ROOT))] = violations[0]
    assert found == {}


REQUESTS = [
    Snapshot("/t"),
    Files("/t", version=1, ratified={"latest": 1, "commits": [{"staged": "a.json"}]}),
    Scan("/t", columns=["a"], filter={"op": "is_null", "args": [{"column": ["a"]}]}),
    Write("/t", "append", {"x": 1}),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: type(r).__name__)
def test_a_request_on_the_wire_has_its_shape(request_: Any) -> None:
    rows = Path("/rows.arrow") if isinstance(request_, Write) else None
    document = encode_request(request_, 3, Path("/answer.arrow"), rows)
    assert schemas.errors("kit/adapter-request", document) == []


def test_every_request_of_the_wire_is_described() -> None:
    words = schemas.load("kit/adapter-request")["properties"]["request"]["enum"]
    assert set(words) == {*adapter.REQUESTS, "describe", "close"}


def test_a_description_on_the_wire_has_its_shape() -> None:
    document = encode_description(Description("ours", "1.0", Claims(reader_version=3)))
    assert schemas.errors("kit/adapter-description", document) == []


@pytest.mark.parametrize("answer", [Ok({"version": 1}), Refused("conflict", "commit", "lost")])
def test_an_answer_on_the_wire_has_its_shape(answer: Answer) -> None:
    document = {"id": 3, **encode_answer(answer, None)}
    assert schemas.errors("kit/adapter-answer", document) == []


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(Outcome.PASS),
        Verdict(Outcome.FAIL, "m", Hazard.COSMETIC, "e", "a", "REC-001", ("detail",)),
        Verdict(Outcome.OPEN, seen="kept"),
    ],
    ids=lambda verdict: str(verdict.outcome),
)
def test_a_results_file_has_its_shape(verdict: Verdict, tmp_path: Path) -> None:
    item = Item(
        "a/b/c",
        "golden",
        "a",
        "t",
        ("REC-002",),
        frozenset({"f"}),
        frozenset(),
        lambda _: verdict,
        Judged("read", ("REC-002",)),
    )
    header = {
        "kit_version": "1",
        "corpus_digest": "d",
        "revision": "2025",
        "impl": "ours",
        "adapter": {"name": "ours", "adapter_version": "1", "engine_version": "1"},
        "claims": Claims().as_document(),
        "selection": Selection().as_document(),
        "cases": 1,
        "selected": 1,
    }
    path = tmp_path / "results.jsonl"
    with ResultsWriter(path) as writer:
        writer.begin(header)
        writer.add(record_of(item, verdict, "new"))
        writer.close(0)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["line"] for line in lines] == ["header", "result", "footer"]
    assert [schemas.errors("kit/result-line", line) for line in lines] == [[], [], []]


def test_every_baseline_has_its_shape() -> None:
    for path in sorted((ROOT / "conformance" / "baselines").glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        assert schemas.errors("kit/baseline", document) == [], path.name


def test_a_written_baseline_has_its_shape(tmp_path: Path) -> None:
    record = {"id": "a/b", "requirement": None, "requirements": ["REC-001"], "message": "m"}
    outcomes = Outcomes({"a/b": {**record, "outcome": "fail"}}, FAILING, ["a/b"])
    path = tmp_path / "b.yaml"
    BaselineFile(path, Baseline()).write(outcomes, Claims().as_document(), ("2021", {"commits": 1}))
    document = yaml.safe_load(path.read_text())
    assert schemas.errors("kit/baseline", document) == []
    assert (document["judged"], len(document["failures"])) == ({"2021": {"commits": 1}}, 1)


@pytest.mark.parametrize("name", WORDS)
def test_a_description_may_hold_the_words_of_the_contract_and_no_others(name: str) -> None:
    claims = schemas.load("kit/adapter-description")["properties"]["claims"]["properties"]
    assert set(claims[name]["items"]["enum"]) == set(WORDS[name])
