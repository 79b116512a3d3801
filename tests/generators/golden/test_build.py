"""Building and checking a corpus: rebuilds agree, drift is named, manifests hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.file_digests import digest_of_case
from generators.golden import cli
from generators.golden.build import build_corpus, check_corpus, read_manifest, write_manifest
from generators.golden.cases.canonical import differences, question_digest
from generators.golden.cases.case import CaseError, CaseWriter
from generators.golden.cases.catalog import Chapter, Definition
from generators.golden.chapters import all_definitions

_SELECTED = ("transaction-identifiers", "last-checkpoint-file/minimal", "deletion-vectors/inline")


@pytest.fixture(scope="module")
def definitions() -> list[Definition]:
    return cli.select(all_definitions(), _SELECTED)


@pytest.fixture
def corpus(tmp_path: Path, definitions: list[Definition]) -> Path:
    build_corpus(definitions, tmp_path)
    write_manifest(tmp_path)
    return tmp_path


def test_a_rebuild_agrees(corpus: Path, definitions: list[Definition]) -> None:
    assert check_corpus(definitions, corpus) == []
    assert build_corpus(definitions, corpus) == []


def test_a_changed_expectation_is_drift(corpus: Path, definitions: list[Definition]) -> None:
    path = corpus / "deletion-vectors/inline/specs/read-latest.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    spec["expected"]["rowCount"] += 1
    path.write_text(json.dumps(spec), encoding="utf-8")
    found = [
        detail
        for drift in check_corpus(definitions, corpus)
        if drift.case_id == "deletion-vectors/inline"
        for detail in drift.details
    ]
    assert found == [
        "specs/read-latest.json: content differs",
        "its bytes are not those in the manifest",
    ]


def test_a_record_of_an_engine_goes_with_what_it_was_asked(corpus: Path) -> None:
    case = corpus / "deletion-vectors/inline"
    before = question_digest(case)
    spec = case / "specs/read-latest.json"
    fields = json.loads(spec.read_text(encoding="utf-8"))
    fields |= {"title": "Another title", "requirements": ["DV-001"]}
    spec.write_text(json.dumps(fields), encoding="utf-8")
    assert question_digest(case) == before
    fields["expected"]["rowCount"] += 1
    spec.write_text(json.dumps(fields), encoding="utf-8")
    assert question_digest(case) != before


def test_changed_rows_and_lost_files_are_drift(corpus: Path, definitions: list[Definition]) -> None:
    place = corpus / "deletion-vectors/inline/expected/read-latest/expected_data/part-0.parquet"
    table = pq.read_table(place)
    pq.write_table(table.slice(1), place, store_schema=False)
    (corpus / "last-checkpoint-file/minimal/delta/_delta_log/_last_checkpoint").unlink()
    found = [drift.case_id for drift in check_corpus(definitions, corpus)]
    assert "deletion-vectors/inline" in found
    assert "last-checkpoint-file/minimal" in found


def test_a_case_that_no_one_rebuilds_is_checked_against_the_manifest(corpus: Path) -> None:
    assert check_corpus([], corpus) == []
    (corpus / "deletion-vectors/inline/delta/stray.txt").write_text("x", encoding="utf-8")
    (drift,) = check_corpus([], corpus)
    assert drift.case_id == "deletion-vectors/inline"
    assert "manifest" in drift.details[0]


def test_a_case_outside_the_manifest_is_drift(corpus: Path) -> None:
    manifest = read_manifest(corpus)
    del manifest["cases"]["deletion-vectors/inline"]
    (corpus / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (drift,) = check_corpus([], corpus)
    assert "not in the manifest" in drift.details[0]


def test_the_same_rows_in_other_bytes_agree(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, None]})
    for name, statistics in (("left", True), ("right", False)):
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "x.parquet", write_statistics=statistics)
        add = {"add": {"path": "x.parquet", "size": len(name)}}
        (tmp_path / name / "0.json").write_text(json.dumps(add), encoding="utf-8")
    assert differences(tmp_path / "left", tmp_path / "right") == []
    assert digest_of_case(tmp_path / "left") != digest_of_case(tmp_path / "right")


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zstd"},
        {"use_dictionary": False},
        {"use_dictionary": False, "column_encoding": {"a": "DELTA_BINARY_PACKED"}},
        {"row_group_size": 2},
        {"schema": pa.schema([pa.field("a", pa.int64(), metadata={"PARQUET:field_id": "7"})])},
    ],
    ids=str,
)
def test_the_same_rows_stored_in_another_way_differ(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    schema = options.pop("schema", pa.schema([pa.field("a", pa.int64())]))
    for name, chosen in (("left", {}), ("right", options)):
        (tmp_path / name).mkdir()
        fields = schema if name == "right" else None
        table = pa.table({"a": [1, 2, None]}, fields)
        pq.write_table(table, tmp_path / name / "x.parquet", **chosen)
    assert differences(tmp_path / "left", tmp_path / "right") == ["x.parquet: content differs"]


def test_a_deletion_vector_of_another_size_differs(tmp_path: Path) -> None:
    for name, size in (("left", 34), ("right", 36)):
        (tmp_path / name).mkdir()
        vector = {"storageType": "i", "sizeInBytes": size}
        (tmp_path / name / "0.json").write_text(json.dumps(vector), encoding="utf-8")
    assert differences(tmp_path / "left", tmp_path / "right") == ["0.json: content differs"]


def test_a_chapter_refuses_a_name_twice() -> None:
    chapter = Chapter("chapter")
    chapter.define("case", "A thing holds", "SNAP-001", lambda _: None)
    with pytest.raises(CaseError, match="twice"):
        chapter.define("case", "A thing holds", "SNAP-001", lambda _: None)


def test_a_builder_says_in_one_line_what_holds() -> None:
    chapter = Chapter("chapter")

    @chapter.case("named", "SNAP-001")
    def _named(case: CaseWriter) -> None:
        """Show what holds."""

    (named,) = chapter
    assert (named.info.id, named.info.title) == ("chapter/named", "Show what holds")
    with pytest.raises(CaseError, match="chapter/other"):
        chapter.case("other", "SNAP-001")(lambda _: None)


def test_the_command_builds_checks_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = ["--corpus", str(tmp_path), "--only", "transaction-identifiers"]
    assert cli.main(["build", *corpus]) == 0
    assert "transaction-identifiers/newest-entry-wins" in capsys.readouterr().out
    assert cli.main(["build", "--check", *corpus]) == 0
    spec = tmp_path / "transaction-identifiers/newest-entry-wins/questions/txn-app.json"
    spec.write_text(spec.read_text(encoding="utf-8").replace("3", "7"), encoding="utf-8")
    assert cli.main(["build", "--check", *corpus]) == 1
    assert "txn-app.json" in capsys.readouterr().out
    assert cli.main(["build", "--only", "no-such-chapter"]) == 2
