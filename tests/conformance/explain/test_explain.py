"""A requirement or a case can be looked up: the clause, who obeys it, and what shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.base.home import PROJECT
from conformance.base.status import Status
from conformance.explain import run_explain_cli
from conformance.explain.requirements import ANCHORS, BY_DEFAULT
from conformance.explain.sources import SourceLine, lines_naming
from conformance.golden.corpus import load_corpus
from conformance.requirements.citations import cited_in_cases
from conformance.requirements.gaps import read_gaps
from conformance.requirements.proofs import UNPROVED
from conformance.requirements.registry import load_registry
from generators.spec_files import spec_files


@pytest.fixture
def explained(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def ask(*arguments: str) -> Any:
        assert run_explain_cli([*arguments, "--json"]) == Status.OK
        return json.loads(capsys.readouterr().out)

    return ask


def test_a_table_feature_leads_to_clauses_code_checks_and_cases(
    explained: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained("deletionVectors")
    assert found["requirements"]["DVDESC-020"].startswith("MUST of reader: ")
    assert "deletion-vectors/inline" in found["cases"]
    for folder, key in (("reference_impl/", "code"), ("conformance/audit/", "checks")):
        assert found[key], key
        assert all(each["path"].startswith(folder) for each in found[key])
    assert run_explain_cli(["deletionVectors"]) == Status.OK
    shown = capsys.readouterr().out
    for words in ("reader_writer, since revision 2025", "  - DVDESC-020 MUST of reader: "):
        assert words in shown


def test_a_requirement_shows_its_clause_its_code_and_its_cases(
    explained: Callable[..., Any],
) -> None:
    found = explained("DVDESC-020")
    assert (found["level"], found["role"]) == ("MUST", "reader")
    assert found["binds_in"] == ["2025", "upstream"]
    assert found["link"].endswith("PROTOCOL.md#reader-requirements-for-deletion-vectors")
    assert "hint-array" not in found["defects"]
    assert "vector-wrong-cardinality" in found["defects"]
    assert found["cases"]["golden"]
    for place in found["code"]:
        line = (PROJECT / place["path"]).read_text().splitlines()[place["line"] - 1]
        assert "DVDESC-020" in line


@pytest.mark.parametrize(
    ("name", "anchor"),
    [
        ("ADD-002", "add-file-and-remove-file"),
        ("CKC-005", "checkpoints-1"),
        ("CKPT-005", "checkpoints"),
        ("CRC-037", "writer-requirements"),
        ("DATA-003", "data-files"),
        ("DATA-005", "data-files-1"),
        ("NTZ-001", "timestamp-without-timezone-timestampntz"),
        ("WLOG-001", "delta-log-entries-1"),
    ],
)
def test_a_requirement_leads_to_the_heading_of_its_section(
    name: str, anchor: str, explained: Callable[..., Any]
) -> None:
    assert explained(name)["link"].endswith(f"PROTOCOL.md#{anchor}")


def test_a_section_that_is_no_heading_has_an_anchor_of_its_own() -> None:
    rows = load_registry()
    heading = "Timestamp without timezone (TimestampNtz)"
    parts = {row.section for row in rows if set(row.section) & set(":(")} - {heading}
    drafts = {name for name in parts if name.startswith("RFC draft: ")}
    notes = {name for name in parts if name.endswith("(design note)")}
    assert drafts
    assert notes
    assert parts - drafts - notes <= ANCHORS.keys()
    assert ANCHORS.keys() <= {row.section for row in rows}


@pytest.mark.parametrize("name", ["DVDESC-020", "PART-003", "REC-017"])
def test_a_requirement_leads_to_who_builds_its_tables(
    name: str, explained: Callable[..., Any]
) -> None:
    for place in explained(name)["builders"]:
        lines = (PROJECT / place["path"]).read_text().splitlines()[place["line"] - 1 :]
        start = next(line for line in lines if line.startswith("def "))
        assert start.startswith(f"def {place['within']}(")
    assert explained(name)["builders"]


def test_a_must_without_a_proof_says_why(
    explained: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for found in explained(*read_gaps(UNPROVED).requirements):
        assert found["proofs"] == []
        assert found["unproved"]
    assert explained("DVDESC-020")["unproved"] is None
    assert run_explain_cli(["WVER-006"]) == Status.OK
    assert "shown it yet. Says by what a writer goes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "binds", "proofs"),
    [
        (
            "FA-010",
            "binds under none\n",
            "Proofs: none, for a retired requirement judges nothing\n",
        ),
        ("SCH-004", "--tck-revision 2021, 2025", "Proofs: none, for a DEF cannot be broken\n"),
        ("SNAP-005", "--tck-revision 2021, 2025", "Proofs: none, for a MAY cannot be broken\n"),
        ("STAT-011", "Nothing judges it: every MUST", "Proofs: none, for nothing judges it\n"),
    ],
)
def test_what_cannot_be_broken_lacks_no_proof(
    name: str, binds: str, proofs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_explain_cli([name]) == Status.OK
    shown = capsys.readouterr().out
    assert binds in shown
    assert proofs in shown


def test_a_must_that_nothing_judges_says_why(explained: Callable[..., Any]) -> None:
    assert "question" in explained("REC-023")["unjudged"]
    assert explained("REC-008")["unjudged"] is None


def test_a_step_of_a_recipe_is_named_by_what_it_judges(explained: Callable[..., Any]) -> None:
    assert "row-tracking/write-enable/write step 4" in explained("RT-046")["steps"]


def test_what_a_case_judges_stands_in_its_files_or_is_judged_by_default() -> None:
    registry, corpus = load_registry(), load_corpus(validate=False)
    texts = {
        case.id: b"".join(
            path.read_bytes()
            for path in (case.table.parent / "case.json", *spec_files(case.table.parent))
        )
        for case in corpus.cases
    }
    for each in cited_in_cases(corpus.cases):
        unnamed = {*each.requirements, *each.judges(registry, None)} - BY_DEFAULT
        text = texts[each.case.rpartition("/")[0]]
        assert all(name.encode() in text for name in unnamed), each.case


def test_a_text_that_is_given_is_quoted(explained: Callable[..., Any], tmp_path: Path) -> None:
    text = tmp_path / "PROTOCOL.md"
    text.write_text("## Reconciliation\n\n* A single `metaData` action\n")
    assert explained("REC-003", "--text", str(text))["quotes"] == {
        "PROTOCOL.md": "A single `metaData` action"
    }
    assert explained("REC-003")["quotes"] == {}


def test_a_case_says_what_it_judges_and_why(explained: Callable[..., Any]) -> None:
    found = explained("change-metadata/schema-not-json/read-latest")
    assert found["judges"] == {"2021": "SCH-001", "2025": "SCH-001", "upstream": "SCH-001"}
    assert found["expects"] == "a refusal (invalid_table) no later than load"
    assert found["requirements"]["SCH-001"]["level"] == "MUST"
    assert found["builder"].startswith("generators/golden/chapters/tables/metadata.py:")
    assert [each["name"] for each in found["defects"]] == ["schema-not-json"]


def test_a_case_without_its_question_shows_all_its_questions(
    explained: Callable[..., Any],
) -> None:
    found = explained("change-metadata/schema-not-json")
    assert {each["id"].rpartition("/")[2] for each in found} >= {"read-latest", "snapshot-latest"}


def test_the_text_form_says_the_same_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_explain_cli(["CKPT-007", "mutations/hint-array"]) == Status.OK
    text = capsys.readouterr().out
    assert text.startswith("CKPT-007  MUST of checkpoint-writer")
    assert "\nEntry: conformance/requirements/checkpoints.yaml:" in text
    assert "  - checkpoints/write-checkpoint/write step 4" in text
    assert "Judges under 2025: LAST-004 (MUST of reader)" in text
    assert "Defect hint-array: The hint is a JSON array (reader: contested" in text


def test_an_unknown_name_is_answered_with_what_is_near(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_explain_cli(["CKPT-07"]) == Status.UNKNOWN_ID
    assert "did you mean 'CKPT-0" in capsys.readouterr().err


def test_a_text_that_cannot_be_read_is_an_error_of_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_explain_cli(["CKPT-007", "--text", str(tmp_path / "none.md")]) == Status.USAGE
    assert "none.md" in capsys.readouterr().err


def test_a_place_is_the_line_and_the_function_around_it(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    source = 'class A:\n    def b(self):\n        return "TOY-001 TOY-002"\n\n\nC = 1  # TOY-001\n'
    (folder / "toys.py").write_text(source)
    assert lines_naming("TOY-001", "code", tmp_path) == (
        SourceLine("code/toys.py", 3, "A.b"),
        SourceLine("code/toys.py", 6, ""),
    )
    (line,) = lines_naming("TOY-002", "code", tmp_path)
    assert str(line) == "code/toys.py:3 (A.b)"
    assert lines_naming("TOY-001", "none", tmp_path) == ()
