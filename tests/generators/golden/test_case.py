"""The case writer: what it writes, and what it refuses to write."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.golden.cases.case import (
    REVISIONS,
    Accepted,
    CaseError,
    CaseInfo,
    CaseWriter,
    Refusal,
)
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import Recipe
from generators.oracle.delta_schema import array, field, map_of, struct

_SCHEMA = struct(field("id", "long", nullable=False), field("name", "string"))
_ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


def _info(**changes: Any) -> CaseInfo:
    fields = {"id": "chapter/case", "title": "A thing holds", "requirements": ("SNAP-001",)}
    return CaseInfo(**{**fields, **changes})


@pytest.fixture
def case(tmp_path: Path) -> CaseWriter:
    return CaseWriter(_info(), tmp_path / "chapter" / "case")


def _document(case: CaseWriter, place: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((case.directory / place).read_text(encoding="utf-8"))
    return content


def _expected(case: CaseWriter, place: str) -> pa.Table:
    return pq.read_table(case.directory / "expected" / place / "expected_data" / "part-0.parquet")


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "no-chapter"},
        {"id": "Chapter/case"},
        {"title": ""},
        {"title": "x" * 71},
        {"title": "A sentence."},
        {"requirements": ()},
        {"features": ("domainMetadata",)},
        {"features": ("deletionVector",)},
    ],
)
def test_a_malformed_description_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(CaseError):
        _info(**changes)


def test_a_read_has_its_rows_under_projection_and_filter(case: CaseWriter) -> None:
    kept = compare("id", ">", 1, "long")
    case.read("r", _SCHEMA, _ROWS, title="Rows", columns=["id"], filter=kept, version=3)
    spec = _document(case, "specs/r.json")
    assert spec["expected"] == {"rowCount": 1}
    assert spec["version"] == 3
    assert spec["columns"] == ["id"]
    assert spec["predicate"] == "id > 1"
    assert spec["requirements"] == ["SNAP-001"]
    table = _expected(case, "r")
    assert table.to_pylist() == [{"id": 2}]
    assert table.schema == pa.schema([pa.field("id", pa.int64(), nullable=False)])


def test_expected_data_has_delta_types_and_names(case: CaseWriter) -> None:
    schema = struct(
        field("t", "timestamp"),
        field("n", "timestamp_ntz"),
        field("l", array("integer", contains_null=False)),
        field("m", map_of("string", "long")),
    )
    row = {"t": datetime(2024, 1, 1, tzinfo=UTC), "n": None, "l": [1], "m": {"k": None}}
    case.read("r", schema, [row], title="Rows")
    place = case.directory / "expected" / "r" / "expected_data" / "part-0.parquet"
    found = pq.read_schema(place)
    assert found.field("t").type == pa.timestamp("us", "UTC")
    assert found.field("n").type == pa.timestamp("us")
    assert found.field("l").type.value_field == pa.field("element", pa.int32(), nullable=False)
    assert found.field("m").type.key_field.name == "key"
    assert b"ARROW:schema" not in (pq.read_metadata(place).metadata or {})


def test_a_refusal_names_code_kind_stage_and_clause(case: CaseWriter) -> None:
    refusal = Refusal("unsupported", "load", "TF-001")
    case.refuse("read", "r", refusal, title="Refused")
    assert _document(case, "specs/r.json")["error"] == {
        "errorCode": "DELTA_UNSUPPORTED_FEATURES_FOR_READ",
        "kind": "unsupported",
        "stage": "load",
        "requirement": "TF-001",
    }


def test_a_contested_question_hides_from_harnesses_that_want_one_answer(case: CaseWriter) -> None:
    answers = [
        Accepted("rows", "one reading", rows=_ROWS),
        Accepted("refused", "another", refusal=Refusal("invalid_table", "read", "SNAP-001")),
    ]
    case.contest("read", "r", answers, title="Open", schema=_SCHEMA)
    spec = _document(case, "questions/r.json")
    assert (spec["type"], spec["of"]) == ("contested", "read")
    assert [answer["name"] for answer in spec["contested"]["accepted"]] == ["rows", "refused"]
    assert _expected(case, "r/rows").num_rows == 2


def test_a_contested_refusal_is_of_steps_that_the_recipe_has(tmp_path: Path) -> None:
    def publish(*of: str) -> list[int]:
        case = CaseWriter(_info(), tmp_path / "-".join(of))
        refused = Refusal("unsupported", "commit", "TF-016", of=of)
        recipe = Recipe(_SCHEMA).append(_ROWS).delete(compare("id", "=", 1, "long"))
        recipe.publish(case, contested=[("done", "one", None), ("refused", "other", refused)])
        (_, answer) = _document(case, "questions/write.json")["contested"]["accepted"]
        return list(answer["steps"])

    assert publish("create", "delete") == [0, 2]
    with pytest.raises(CaseError, match="no step is update"):
        publish("update")


def test_a_question_with_a_catalog_hides_from_harnesses_that_have_none(case: CaseWriter) -> None:
    ratified = {"latest": 0, "commits": []}
    case.read("r", _SCHEMA, _ROWS, title="Rows", ratified=ratified)
    spec = _document(case, "questions/r.json")
    assert (spec["type"], spec["of"], spec["ratified"]) == ("catalog", "read", ratified)
    answers = [
        Accepted("rows", "one reading", rows=_ROWS),
        Accepted("none", "another", rows=[]),
    ]
    case.contest("read", "c", answers, title="Open", schema=_SCHEMA, ratified=ratified)
    spec = _document(case, "questions/c.json")
    assert (spec["type"], spec["of"], spec["ratified"]) == ("contested", "read", ratified)


def test_what_has_one_answer_is_not_contested(case: CaseWriter) -> None:
    answers = [Accepted("rows", "every reading", rows=_ROWS)]
    with pytest.raises(CaseError, match="has two answers, or is open"):
        case.contest("read", "r", answers, title="Open", schema=_SCHEMA)
    case.contest("read", "r", answers, title="Open", schema=_SCHEMA, open=True)


def test_a_located_case_names_the_files_with_placeholders(tmp_path: Path) -> None:
    case = CaseWriter(_info(located=True), tmp_path / "case")
    (case.delta / "log.json").write_text('"file://{{table}}/f"')
    (case.delta / "other.json").write_text("{}")
    case.read("r", _SCHEMA, _ROWS, title="Rows")
    assert (_document(case, "questions/r.json")["type"]) == "located"
    case.describe(schema={}, protocol={}, configuration={}, log_info={})
    case.finish()
    assert _document(case, "case.json")["placeholders"] == ["log.json"]


@pytest.mark.parametrize("located", [False, True])
def test_placeholders_and_being_located_go_together(tmp_path: Path, *, located: bool) -> None:
    case = CaseWriter(_info(located=located), tmp_path / "case")
    (case.delta / "log.json").write_text("" if located else "{{beside}}/f")
    case.read("r", _SCHEMA, _ROWS, title="Rows")
    case.describe(schema={}, protocol={}, configuration={}, log_info={})
    with pytest.raises(CaseError, match="located"):
        case.finish()


@pytest.mark.parametrize(
    ("protocols", "features"),
    [
        ([{"minReaderVersion": 1, "minWriterVersion": 2}], []),
        ([{"minReaderVersion": 2, "minWriterVersion": 5}], ["columnMapping"]),
        (
            [
                {"readerFeatures": ["timestampNtz"], "writerFeatures": ["timestampNtz"]},
                {"readerFeatures": ["deletionVectors", "fromAnotherWorld"]},
            ],
            ["deletionVectors", "timestampNtz"],
        ),
    ],
)
def test_readers_honour_what_the_protocols_of_all_versions_list(
    case: CaseWriter, protocols: list[dict[str, Any]], features: list[str]
) -> None:
    latest, *before = protocols
    case.describe(schema={}, protocol=latest, configuration={}, log_info={}, protocols=before)
    case.read("r", _SCHEMA, _ROWS, title="Rows")
    case.finish()
    assert _document(case, "case.json")["features"] == features


def test_a_case_applies_where_the_protocol_has_its_features(tmp_path: Path) -> None:
    case = CaseWriter(_info(features=("typeWidening",), revisions=REVISIONS), tmp_path / "case")
    case.describe(schema={}, protocol={}, configuration={}, log_info={})
    case.read("r", _SCHEMA, _ROWS, title="Rows")
    case.finish()
    assert _document(case, "case.json")["revision"] == ["upstream"]


def test_slugs_are_unique_and_answers_exactly_one(case: CaseWriter) -> None:
    case.spec("txn", "a", title="One", expected={"txnVersion": 1})
    with pytest.raises(CaseError, match="unique"):
        case.spec("txn", "a", title="Again", expected={"txnVersion": 1})
    with pytest.raises(CaseError, match="exactly one"):
        case.spec("txn", "b", title="None")
    with pytest.raises(CaseError, match="exactly one"):
        case.spec("txn", "c", title="Two", expected={}, error={})


def test_what_a_spec_judges_is_said_before_it_is_written(case: CaseWriter) -> None:
    case.describe(schema={}, protocol={}, configuration={}, log_info={})
    case.spec("txn", "a", title="One", expected={"txnVersion": 1})
    case.judged["a"] = "TXN-005"
    with pytest.raises(CaseError, match="before it was said"):
        case.finish()


def test_a_case_without_questions_is_not_finished(case: CaseWriter) -> None:
    with pytest.raises(CaseError, match="described table"):
        case.finish()


def test_a_finished_case_has_its_description_and_the_table_info(case: CaseWriter) -> None:
    case.describe(
        schema=_SCHEMA.to_json(),
        protocol={"minReaderVersion": 1, "minWriterVersion": 2},
        configuration={},
        log_info={"numCommits": 1},
    )
    case.read("r", _SCHEMA, _ROWS, title="Rows")
    case.file_time("_delta_log/0.json", 5)
    case.finish()
    description = _document(case, "case.json")
    assert description["provenance"]["derivation"] == "clause"
    assert description["file_times"] == {"_delta_log/0.json": 5}
    info = _document(case, "table_info.json")
    assert info["name"] == "chapter-case"
    assert info["logInfo"]["numCommits"] == 1
    assert info["logInfo"]["numRemoveFiles"] == 0
