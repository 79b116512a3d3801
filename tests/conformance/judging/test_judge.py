"""The judge says of each kind of answer what the protocol makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from bench import Bench
from fakes import EVERYTHING, Told
from shipped import shipped
from tiny import READ, READ_V1, REFUSED, SNAPSHOT_SPEC

from conformance.adapter import FILE_KEYS, METADATA_KEYS, Answer, Ok, Refused, Request, Scan
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.golden.cases import Contested, Expected
from conformance.golden.corpus import load_corpus
from conformance.judging.claims import WORDS
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.judging.versions import rows_of_versions
from conformance.requirements.levels import ROWS_READ, at_level
from conformance.requirements.registry import load_registry


@pytest.fixture
def bench(tmp_path: Path, store: TableStore) -> Bench:
    return Bench(tmp_path, store)


def wrong(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"scan": {"rows": rows}}


def refusing(kind: str | None = "invalid_table", message: str = "no") -> dict[str, Any]:
    return {"scan": {"refused": [kind, message]}}


def test_the_right_rows_pass(bench: Bench) -> None:
    assert bench(READ) == Verdict(Outcome.PASS)


@pytest.mark.parametrize(
    ("rows", "outcome", "named"),
    [
        ([{"id": 1}, {"id": 0}], Outcome.ADVICE, "WCON-004"),
        ([{"id": 1}], Outcome.FAIL, ROWS_READ),
        ([{"id": 1}, {"id": 2}, {"id": 3}], Outcome.FAIL, ROWS_READ),
    ],
)
def test_rows_that_are_lost_are_more_than_advice_that_is_not_followed(
    bench: Bench, rows: list[dict[str, Any]], outcome: Outcome, named: str
) -> None:
    verdict = at_level(bench(READ, wrong(rows)), "WCON-004", "reader", load_registry())
    assert (verdict.outcome, verdict.requirement) == (outcome, named)


@pytest.mark.parametrize(
    ("answered", "outcome"), [("read-v1", Outcome.ADVICE), ("read-v0", None), (None, Outcome.FAIL)]
)
def test_a_time_gives_the_rows_of_some_version(
    store: TableStore, answered: str | None, outcome: Outcome | None
) -> None:
    found = shipped().cases
    (case,) = (each for each in found if each.id == "in-commit-timestamps/small-values")
    specs = {each.id.rpartition("/")[2]: each for each in case.specs}
    asked = specs["at-v0"]
    rows = pa.table({"id": [7], "name": ["of no version"]})
    if answered is not None:
        expected = specs[answered].expectation
        assert isinstance(expected, Expected)
        rows = expected.rows()
    adapter = Told(replace(EVERYTHING, capabilities=frozenset({"scan.timestamp"})))
    adapter.run = lambda _: Ok(rows)  # type: ignore[method-assign]
    verdict = Judge(adapter, adapter.claims, store).judge_once(case, asked)
    verdict = at_level(verdict, "ICT-013", "reader", load_registry())
    assert verdict.outcome is (outcome or Outcome.PASS)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("deletion-vectors/every-question", 3),
        ("in-commit-timestamps/crossed-parts", 4),
        ("in-commit-timestamps/before-the-hint", None),
        ("catalog-managed-tables/history-and-travel", None),
    ],
)
def test_the_rows_of_versions_are_those_of_the_case(name: str, count: int | None) -> None:
    (case,) = (each for each in load_corpus(validate=False).cases if each.id == name)
    found = rows_of_versions(case)
    assert (None if found is None else len(found)) == count


@pytest.mark.parametrize("word", sorted(FILE_KEYS))
def test_a_key_of_files_that_is_claimed_is_null_where_it_is_left_out(
    store: TableStore, word: str
) -> None:
    key = "dvId" if FILE_KEYS[word] == "deletionVector" else FILE_KEYS[word]
    case, spec, files = next(
        (case, spec, spec.expectation.document["files"])
        for case in shipped().cases
        for spec in case.specs
        if spec.type == "files" and not spec.parameters and isinstance(spec.expectation, Expected)
        if any(file.get(key) for file in spec.expectation.document["files"])
    )
    adapter = Told(
        replace(
            EVERYTHING, reader_version=3, reader_features=case.features & WORDS["reader_features"]
        )
    )
    adapter.run = lambda _: Ok(  # type: ignore[method-assign]
        [{name: value for name, value in file.items() if name != key} for file in files]
    )
    outcomes = [
        Judge(adapter, replace(adapter.claims, capabilities=given), store).judge_once(case, spec)
        for given in (frozenset[str](), frozenset(FILE_KEYS) - {word}, frozenset({word}))
    ]
    assert [each.outcome for each in outcomes] == [Outcome.PASS, Outcome.PASS, Outcome.FAIL]
    assert FILE_KEYS[word] in outcomes[2].message or "missing file" in outcomes[2].message


@pytest.mark.parametrize("word", sorted(METADATA_KEYS))
def test_a_key_of_the_metadata_that_is_claimed_is_null_where_it_is_left_out(
    store: TableStore, word: str
) -> None:
    key = METADATA_KEYS[word]
    case, spec, document = next(
        (case, spec, spec.expectation.document)
        for case in shipped().cases
        for spec in case.specs
        if spec.type == "snapshot" and isinstance(spec.expectation, Expected)
        if not spec.parameters and spec.expectation.document["metadata"].get(key)
    )
    adapter = Told(
        replace(
            EVERYTHING, reader_version=3, reader_features=case.features & WORDS["reader_features"]
        )
    )
    metadata = {name: value for name, value in document["metadata"].items() if name != key}
    adapter.run = lambda _: Ok({**document, "metadata": metadata})  # type: ignore[method-assign]
    outcomes = [
        Judge(adapter, replace(adapter.claims, capabilities=given), store).judge_once(case, spec)
        for given in (frozenset[str](), frozenset(METADATA_KEYS) - {word}, frozenset({word}))
    ]
    assert [each.outcome for each in outcomes] == [Outcome.PASS, Outcome.PASS, Outcome.FAIL]
    assert f"metadata.{key} is null" in outcomes[2].message


def _late(rows: pa.Table) -> pa.Table:
    at = rows.column_names.index("_commit_timestamp")
    instant = pa.scalar(datetime(1999, 1, 1, tzinfo=UTC), rows.schema.field(at).type)
    return rows.set_column(at, "_commit_timestamp", pa.repeat(instant, rows.num_rows))


@pytest.mark.parametrize(
    ("case", "spec"),
    [("in-commit-times", "changes-all"), ("column-renamed-in-range", "changes-1-2")],
)
@pytest.mark.parametrize(
    ("change", "outcome", "named"),
    [
        (lambda rows: rows.drop_columns("_commit_timestamp"), Outcome.ADVICE, "CDC-015"),
        (_late, Outcome.ADVICE, "CDC-015"),
        (lambda rows: rows.drop_columns("_commit_version"), Outcome.ADVICE, "CDC-014"),
        (lambda rows: rows.drop_columns("_change_type"), Outcome.FAIL, "CDC-004"),
        (lambda rows: rows.slice(1), Outcome.FAIL, "CDC-004"),
    ],
)
def test_a_change_reader_should_add_version_and_time(  # noqa: PLR0913, PLR0917  one of each
    store: TableStore, case: str, spec: str, change: Any, outcome: Outcome, named: str
) -> None:
    found = next(c for c in shipped().cases if c.id == f"add-cdc-file/{case}")
    asked = next(each for each in found.specs if each.id.endswith(f"/{spec}"))
    answer = asked.expectation
    if isinstance(answer, Contested):
        answer = next(a.answer for a in answer.accepted if isinstance(a.answer, Expected))
    assert isinstance(answer, Expected)
    rows = change(answer.rows())
    adapter = Told(
        replace(EVERYTHING, reader_version=2, capabilities=frozenset({"changes.column_mapping"}))
    )
    adapter.run = lambda _: Ok(rows)  # type: ignore[method-assign]
    verdict = Judge(adapter, adapter.claims, store).judge_once(found, asked)
    verdict = at_level(verdict, "CDC-004", "reader", load_registry())
    assert (verdict.outcome, verdict.requirement) == (outcome, named)


def test_wrong_rows_are_silent_wrong_data(bench: Bench) -> None:
    verdict = bench(READ, wrong([{"id": 1, "name": "a"}, {"id": 2, "name": ""}]))
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.SILENT_WRONG_DATA)
    assert "column 'name' expected null, got ''" in verdict.message


def test_a_spec_can_name_its_hazard(bench: Bench) -> None:
    assert bench({**READ, "hazard": "cosmetic"}, wrong([])).hazard is Hazard.COSMETIC


def test_refusing_a_valid_table_is_a_wrong_refusal(bench: Bench) -> None:
    verdict = bench(READ, refusing(message="cannot read <table>/x"))
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.WRONG_REFUSAL)
    assert verdict.message == "refused a valid table: cannot read <table>/x"


@pytest.mark.parametrize("kind", ["invalid_table", None])
def test_refusing_an_invalid_table_passes(bench: Bench, kind: str | None) -> None:
    assert bench(REFUSED, refusing(kind)).outcome is Outcome.PASS


def test_no_clause_names_kinds_of_refusal(bench: Bench) -> None:
    assert bench(REFUSED, refusing("not_found")).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("kind", "hazard"),
    [
        ("invalid_table", Hazard.ACCEPTED_INVALID_TABLE),
        ("unsupported", Hazard.SILENT_WRONG_DATA),
        ("not_found", Hazard.SILENT_WRONG_DATA),
    ],
)
def test_answering_where_a_refusal_is_due_fails(bench: Bench, kind: str, hazard: Hazard) -> None:
    verdict = bench({**REFUSED, "error": {**REFUSED["error"], "kind": kind}})
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, hazard)


def test_an_exception_is_an_error_and_no_refusal(bench: Bench) -> None:
    verdict = bench(REFUSED, {"scan": {"raise": "lost <table>/a.parquet"}})
    assert verdict.outcome is Outcome.ERROR
    assert verdict.message == "raised: RuntimeError: lost <table>/a.parquet"


def test_a_hang_in_this_process_is_cut_off(bench: Bench) -> None:
    verdict = bench(READ, {"scan": {"sleep": 30}})
    assert verdict.outcome is Outcome.ERROR
    assert verdict.message == "time limit: no answer within 0.5 s"


def test_rows_of_another_shape_are_an_error(bench: Bench) -> None:
    assert bench(READ, {"scan": {"ok": [1, 2]}}).outcome is Outcome.ERROR


FEATURED: dict[str, Any] = {"features": ("deletionVectors",)}


def test_refusing_a_feature_that_is_not_claimed_is_unsupported(bench: Bench) -> None:
    assert bench(READ, refusing("unsupported"), **FEATURED).outcome is Outcome.UNSUPPORTED


def test_answering_wrong_without_the_feature_is_silent_wrong_data(bench: Bench) -> None:
    verdict = bench({**READ, "hazard": "cosmetic"}, wrong([]), **FEATURED)
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.SILENT_WRONG_DATA)


def test_answering_right_without_the_feature_passes_with_a_note(bench: Bench) -> None:
    verdict = bench(READ, **FEATURED)
    assert verdict.outcome is Outcome.PASS
    assert verdict.message == "answered right without claiming deletionVectors"


def test_refusing_a_claimed_feature_is_a_wrong_refusal(bench: Bench) -> None:
    claims = replace(EVERYTHING, reader_features=frozenset({"deletionVectors"}))
    verdict = bench(READ, refusing("unsupported"), claims, **FEATURED)
    assert verdict.hazard is Hazard.WRONG_REFUSAL


def test_crashing_on_a_feature_that_is_not_claimed_is_an_error(bench: Bench) -> None:
    assert bench(READ, {"scan": {"raise": "boom"}}, **FEATURED).outcome is Outcome.ERROR


def test_reader_version_2_claims_column_mapping(bench: Bench) -> None:
    claims = replace(EVERYTHING, reader_version=2)
    verdict = bench(READ, refusing(), claims, features=("columnMapping",))
    assert verdict.hazard is Hazard.WRONG_REFUSAL


@pytest.mark.parametrize(
    ("claimed", "outcome"), [(1, Outcome.UNSUPPORTED), (2, Outcome.UNSUPPORTED), (3, Outcome.FAIL)]
)
def test_a_version_that_is_not_claimed_is_refused_with_right(
    bench: Bench, claimed: int, outcome: Outcome
) -> None:
    """Version 3 without a feature in its list is version 3 all the same."""
    folder = bench.folder / "chapter" / "case"
    folder.mkdir(parents=True)
    info = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": []}}
    (folder / "table_info.json").write_text(json.dumps(info))
    claims = replace(EVERYTHING, reader_version=claimed)
    assert bench(READ, refusing("unsupported"), claims).outcome is outcome


@pytest.mark.parametrize(
    "spec",
    [
        {**READ, "timestamp": "2024-01-01 00:00:00.000"},
        {**READ, "filter": {"op": "is_null", "args": [{"column": ["name"]}]}},
        {**READ, "needs": ["scan.magic"]},
        {"type": "row_ids", "expected": {"rowCount": 2}},
        {"type": "checksum", "version": 0, "expected": {"valid": True}},
    ],
)
def test_what_is_not_claimed_is_not_asked(bench: Bench, spec: dict[str, Any]) -> None:
    assert bench(spec).outcome is Outcome.UNSUPPORTED
    assert bench.adapter.asked == []


def test_the_parameters_reach_the_request(bench: Bench) -> None:
    bench({**READ_V1, "columns": ["id", "name"]})
    (asked,) = bench.adapter.asked
    assert isinstance(asked, Scan)
    assert (asked.version, asked.columns, asked.timestamp) == (1, ["id", "name"], None)


def test_a_timestamp_is_asked_in_milliseconds(bench: Bench) -> None:
    claims = replace(EVERYTHING, capabilities=frozenset({"scan.timestamp"}))
    bench({**READ, "timestamp": "1969-12-31 23:59:59.999"}, None, claims)
    (asked,) = bench.adapter.asked
    assert isinstance(asked, Scan)
    assert asked.timestamp == -1


CONTESTED: dict[str, Any] = {
    "type": "contested",
    "of": "read",
    "contested": {
        "accepted": [
            {"name": "rows", "source": "the text", "expected": {"rowCount": 2}},
            {"name": "refused", "source": "an engine", "error": REFUSED["error"]},
        ]
    },
}


@pytest.mark.parametrize(
    ("answers", "seen"),
    [
        ({}, "rows"),
        (refusing(), "refused"),
        (refusing(None), "refused"),
        (refusing("not_found"), "refused"),
    ],
)
def test_a_contested_answer_is_recorded_and_is_no_failure(
    bench: Bench, answers: dict[str, Any], seen: str
) -> None:
    verdict = bench(CONTESTED, answers)
    assert (verdict.outcome, verdict.seen) == (Outcome.OPEN, seen)


def test_an_answer_that_no_reading_of_the_text_gives_fails(bench: Bench) -> None:
    verdict = bench(CONTESTED, wrong([]))
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.SILENT_WRONG_DATA)
    assert verdict.message.startswith("as no reading of the text has it")


def test_a_refusal_that_no_reading_of_the_text_has_fails(bench: Bench) -> None:
    accepted = [CONTESTED["contested"]["accepted"][0]]
    spec = {**CONTESTED, "contested": {"accepted": accepted}}
    assert bench(spec, refusing()).hazard is Hazard.WRONG_REFUSAL


@pytest.mark.parametrize("answers", [refusing(), wrong([])])
def test_where_no_answer_can_be_derived_none_fails(bench: Bench, answers: dict[str, Any]) -> None:
    accepted = [CONTESTED["contested"]["accepted"][0]]
    spec = {**CONTESTED, "contested": {"accepted": accepted, "open": True}}
    verdict = bench(spec, answers)
    assert (verdict.outcome, verdict.seen) == (Outcome.OPEN, "other")


def test_a_crash_on_a_contested_table_is_an_error(bench: Bench) -> None:
    assert bench(CONTESTED, {"scan": {"raise": "boom"}}).outcome is Outcome.ERROR


def test_a_message_does_not_say_where_the_table_was_copied_to(bench: Bench) -> None:
    words = "<table>/x, <folder>/beside/y"
    refused = {"scan": {"refused": ["invalid_table", f"{words} at 0x7f0012ab"]}}
    message = bench(READ, refused).message
    assert message == f"refused a valid table: {words} at <address>"


@pytest.mark.parametrize("name", ["new.crc", "answers.json"])
def test_a_reader_that_alters_the_table_fails(bench: Bench, name: str) -> None:
    verdict = bench(READ, {"scan": {"alter": name}})
    assert (verdict.outcome, verdict.hazard) == (Outcome.FAIL, Hazard.CORRUPTING_WRITE)
    assert name in verdict.message


RATIFIED = {"latest": 1, "commits": [{"version": 1, "content": "{}"}]}
CATALOG: dict[str, Any] = {**READ, "type": "catalog", "of": "read", "ratified": RATIFIED}


def test_commits_of_a_catalog_are_not_for_who_does_not_take_them(bench: Bench) -> None:
    verdict = bench(CATALOG)
    assert verdict.outcome is Outcome.UNSUPPORTED
    assert "scan.ratified" in verdict.message
    assert bench.adapter.asked == []


def test_commits_of_a_catalog_are_handed_in(bench: Bench) -> None:
    claims = replace(EVERYTHING, capabilities=frozenset({"scan.ratified"}))
    assert bench(CATALOG, None, claims).outcome is Outcome.PASS
    (asked,) = bench.adapter.asked
    assert isinstance(asked, Scan)
    assert asked.ratified == RATIFIED


TWO: dict[str, dict[str, Any]] = {"read-latest": READ, "read-v1": READ_V1}


@pytest.mark.parametrize("answers", [refusing(), {"scan": {"raise": "boom"}}])
def test_a_spec_is_blocked_by_the_root_cause_of_its_case(
    bench: Bench, answers: dict[str, Any]
) -> None:
    verdict = bench(TWO, answers)
    assert verdict.outcome is Outcome.BLOCKED
    assert verdict.message.startswith("blocked by chapter/case/read-latest: ")


def test_a_spec_is_not_blocked_by_what_the_run_does_not_show(bench: Bench) -> None:
    bench.roots = {"chapter/case/read-v1"}
    assert bench(TWO, refusing()).outcome is Outcome.FAIL


@pytest.mark.parametrize("asked", [None, {"chapter/case/read-v0", "chapter/case/read-v1"}])
def test_what_a_whole_run_does_not_block_a_part_of_it_does_not(
    bench: Bench, asked: set[str] | None
) -> None:
    class Versions(Told):
        """Refuse every version but the latest."""

        def run(self, request: Request) -> Answer:
            assert isinstance(request, Scan)
            if request.version is not None:
                return Refused("invalid_table", "read", "no")
            return super().run(request)

    bench.adapter, bench.roots = Versions(EVERYTHING), asked
    specs = {"read-latest": READ, "read-v0": READ_V1 | {"version": 0}, "read-v1": READ_V1}
    assert bench(specs).outcome is Outcome.FAIL


def test_wrong_rows_block_nothing(bench: Bench) -> None:
    assert bench(TWO, wrong([])).outcome is Outcome.FAIL


class Racing(Told):
    """Meet another file of the table first each time."""

    def run(self, request: Request) -> Answer:
        self.asked.append(request)
        name = f"part-0000{len(self.asked)}-{uuid4()}.parquet"
        return Refused("invalid_table", "read", f"no file {name}")


def test_the_same_cause_met_at_another_file_blocks(bench: Bench) -> None:
    bench.adapter = Racing(EVERYTHING)
    assert bench(TWO).outcome is Outcome.BLOCKED


@pytest.mark.parametrize("trace", ["Stack Trace:\n/a/e.so(+0x1)", "0: <f>::g\n  1: h"])
def test_a_stack_trace_is_no_part_of_a_message(bench: Bench, trace: str) -> None:
    verdict = bench(READ, refusing(message=f"broken\n\n  {trace}"))
    assert verdict.message == "refused a valid table: broken"


@pytest.mark.parametrize("name", ["answer", "rows"])
def test_a_message_does_not_say_where_and_in_which_turn_a_run_keeps_rows(
    bench: Bench, name: str
) -> None:
    """A baseline that one run writes has to hold in the next."""
    place = f"/home/me/tmp/delta-tck-run-6cjl_tex/{name}-260.arrow"
    verdict = bench(READ, refusing(message=f"no rows at '{place}', file://{place}: gone"))
    words = f"no rows at '<scratch>/{name}.arrow', <scratch>/{name}.arrow: gone"
    assert verdict.message == f"refused a valid table: {words}"


def test_a_message_does_not_say_where_the_engine_is_installed(bench: Bench) -> None:
    verdict = bench(READ, refusing(message="no '/home/me/v/lib/site-packages/engine/e.so'"))
    assert verdict.message == "refused a valid table: no '<installed>/engine/e.so'"


def test_another_cause_does_not_block(bench: Bench) -> None:
    specs = {"a-read": READ, "snapshot": SNAPSHOT_SPEC}
    answers = {**refusing(), "snapshot": {"refused": ["invalid_table", "other"]}}
    assert bench(specs, answers).outcome is Outcome.FAIL


def test_the_root_of_a_case_names_the_folder(bench: Bench) -> None:
    bench(READ, root="a b%20c")
    assert bench.adapter.asked[0].table.endswith("/a b%20c")


def test_file_times_are_set_before_the_case_runs(bench: Bench) -> None:
    bench(READ, file_times={"answers.json": 1_700_000_000_123})
    answers = Path(bench.adapter.asked[0].table, "answers.json")
    assert answers.stat().st_mtime_ns == 1_700_000_000_123_000_000
