"""``pytest --impl`` runs what is asked, says what came of it, and never lies by its status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from kit_runs import OTHER_WRONG, WRONG, Kit, known, make_kit
from tiny import READ, READ_V1, REFUSED

from conformance.adapter import READ_OPERATIONS
from conformance.base.status import Status
from conformance.plugin.session import SUITE
from conformance.report.results import ResultsError, read_results

pytest_plugins = ["pytester"]


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return make_kit(pytester, monkeypatch)


def test_to_collect_alone_is_no_success_and_says_so(kit: Kit) -> None:
    kit.case("right")
    assert kit("--collect-only") is Status.EMPTY_SELECTION
    assert "nothing was asked: --collect-only; exit status 10" in kit.output


def test_the_suite_is_shipped_with_the_package() -> None:
    assert (SUITE / "test_golden.py").is_file()


def test_a_conformant_run_is_ok_and_its_results_are_complete(kit: Kit) -> None:
    kit.case("one", specs={"read-latest": READ, "read-v1": READ_V1})
    path = kit.folder / "out" / "results.jsonl"
    assert kit(f"--tck-results={path}") is Status.OK
    assert "judged 2 of 2 (100 %): 2 pass; exit status 0 (ok)" in kit.output
    results = read_results(path)
    assert results.header["adapter"] == {
        "name": "told",
        "adapter_version": "1",
        "engine_version": "1.0",
    }
    assert results.header["corpus_digest"].startswith("sha256:")
    assert results.header["selection"]["revision"] == "upstream"
    assert set(results.records) == {
        "table-features/one/read-latest",
        "table-features/one/read-v1",
    }
    assert results.header["claims"]["operations"] == sorted(READ_OPERATIONS)
    footer = {key: value for key, value in results.footer.items() if key != "digest"}
    assert footer == {
        "line": "footer",
        "records": 2,
        "counts": {"pass": 2},
        "judged": 2,
        "complete": True,
        "partial": [],
        "status": 0,
    }


def test_a_failure_is_reported_with_clause_and_command(kit: Kit) -> None:
    kit.case("one", WRONG)
    assert kit() is Status.NONCONFORMANT
    assert "SILENT WRONG DATA (1)" in kit.output
    assert "REC-001  " in kit.output
    assert "expected: 2 rows" in kit.output
    assert "actual:   rows: 2 missing of 2" in kit.output
    assert "--tck-case=table-features/one/read-latest" in kit.output


def test_crash_and_hang_cost_one_case_each(kit: Kit) -> None:
    kit.case("crash", {"scan": {"exit": 5}})
    kit.case("hang", {"scan": {"sleep": 600}})
    kit.case("right")
    assert kit("--tck-time-limit=5", isolation="process") is Status.ERRORS
    assert "1 pass, 2 error" in kit.output
    assert "crash: the adapter ended with exit status 5" in kit.output
    assert "time limit: no answer within 5 s" in kit.output


def test_failures_outrank_errors(kit: Kit) -> None:
    kit.case("broken", {"scan": {"raise": "boom"}})
    kit.case("wrong", WRONG)
    assert kit() is Status.NONCONFORMANT


@pytest.mark.parametrize(
    ("option", "status", "words"),
    [
        ("--tck-case=table-features/won", Status.UNKNOWN_ID, "did you mean 'table-features/one'"),
        ("--tck-case=zz*", Status.UNKNOWN_ID, "no case is called 'zz*'"),
        ("--tck-requirement=REC-9999", Status.UNKNOWN_ID, "no requirement is called 'REC-9999'"),
        ("--tck-feature=deletionVector", Status.UNKNOWN_ID, "did you mean 'deletionVectors'"),
        ("--tck-chapter=table-feature", Status.UNKNOWN_ID, "did you mean 'table-features'"),
        ("--tck-chapter=checkpoints", Status.EMPTY_SELECTION, "no case is selected"),
        ("-kzzz", Status.EMPTY_SELECTION, "exit status 10"),
        ("--tck-revision=1999", Status.USAGE, "invalid choice"),
        ("-pno:terminal", Status.USAGE, "leaves no place for the verdicts"),
        ("--tck-corpus=/does/not/exist", Status.CORPUS, "no such folder"),
        ("--tck-baseline=/does/not/exist", Status.USAGE, "cannot be read"),
    ],
)
def test_a_run_that_cannot_judge_has_a_status_of_its_own(
    kit: Kit, option: str, status: Status, words: str
) -> None:
    kit.case("one")
    assert kit(option) is status
    assert words in kit.output


@pytest.mark.parametrize(
    ("impl", "words"),
    [
        ("python:fakes:never", "the engine is not here"),
        ("python:fakes:nothing", "cannot be imported"),
        ("cmd:/does/not/exist", "cannot be run"),
        ("duckdbb", "did you mean 'duckdb'"),
    ],
)
def test_an_adapter_that_does_not_start_ends_the_run(kit: Kit, impl: str, words: str) -> None:
    kit.case("one")
    assert kit(impl=impl, isolation="process") is Status.ADAPTER
    assert words in kit.output


def test_a_corpus_without_cases_is_no_corpus(kit: Kit) -> None:
    kit.corpus.mkdir()
    assert kit() is Status.CORPUS


def test_a_malformed_spec_is_named_with_its_place(kit: Kit) -> None:
    kit.case("one", specs={"read-latest": {**READ, "version": -1}})
    assert kit() is Status.CORPUS
    assert "table-features/one/specs/read-latest.json:#/version" in kit.output


def test_selection_by_id_feature_and_revision(kit: Kit) -> None:
    kit.case("one")
    kit.case("two", features=("deletionVectors",))
    kit.case("three", revision=["2021"])
    path = kit.folder / "results.jsonl"
    for option, ids in (
        ("--tck-case=table-features/one", ["one"]),
        ("--tck-case=*/t*", ["two"]),
        ("--tck-feature=deletionVectors", ["two"]),
        ("--tck-revision=2021", ["one", "three", "two"]),
    ):
        assert kit(option, f"--tck-results={path}") is Status.OK
        assert [name.split("/")[1] for name in read_results(path).records] == ids


def test_a_known_failure_is_expected(kit: Kit) -> None:
    kit.case("one", WRONG)
    kit.case("two", WRONG)
    kit.case("three")
    entries = (known("one"), known("two", message="/missing of [0-9]+$/"))
    assert kit(kit.baseline(*entries)) is Status.OK
    assert "1 pass, 2 known failures; exit status 0" in kit.output


def test_one_entry_can_stand_for_alike_failures(kit: Kit) -> None:
    kit.case("one", WRONG)
    kit.case("two", WRONG)
    assert kit(kit.baseline(known("*"))) is Status.OK


@pytest.mark.parametrize(
    ("answers", "entry", "words"),
    [
        ({}, known("one"), "expects a failure, and the outcome is pass"),
        (OTHER_WRONG, known("one"), "expects another failure"),
        (
            WRONG,
            known("one", requirement="REC-002"),
            "names REC-002",
        ),
    ],
)
def test_a_stale_entry_fails_the_run(
    kit: Kit, answers: dict[str, Any], entry: dict[str, str], words: str
) -> None:
    kit.case("one", answers)
    assert kit(kit.baseline(entry)) is Status.STALE_BASELINE
    assert words in kit.output


@pytest.mark.parametrize("answers", [{}, WRONG])
def test_an_intermittent_entry_lets_its_case_pass_and_fail(
    kit: Kit, answers: dict[str, Any]
) -> None:
    kit.case("one", answers)
    option = kit.baseline(known("one", intermittent="true"))
    assert kit(option, f"--tck-results={kit.results}") is Status.OK
    (record,) = read_results(kit.results).records.values()
    assert record["intermittent"] is True


def test_what_an_intermittent_failure_blocks_counts_as_judged(kit: Kit) -> None:
    refused = {name: {"refused": ["invalid_table", "no"]} for name in ("scan", "snapshot")}
    kit.case("one", refused, specs={"read-latest": READ, "read-v1": READ_V1})
    root = known("one", message="refused a valid table", intermittent="true")
    behind = known("one", id="table-features/one/read-v1")
    for entries in ([root], [root, behind]):
        assert kit(kit.baseline(*entries, judged=100)) is Status.OK
        assert "judged 1 of 2 (50 %)" in kit.output
    always = {**root, "intermittent": "false"}
    assert kit(kit.baseline(always, judged=100)) is Status.TOO_FEW_JUDGED
    assert kit(kit.baseline(always, behind)) is Status.STALE_BASELINE


def test_an_intermittent_entry_expects_one_failure_only(kit: Kit) -> None:
    kit.case("one", OTHER_WRONG)
    entry = known("one", intermittent="true")
    assert kit(kit.baseline(entry)) is Status.STALE_BASELINE


def test_an_entry_without_a_case_fails_the_run(kit: Kit) -> None:
    kit.case("one")
    assert kit(kit.baseline(known("gone"))) is Status.STALE_BASELINE
    assert "table-features/gone/read-latest matches no case" in kit.output


def test_an_entry_outside_the_selection_is_left_alone(kit: Kit) -> None:
    kit.case("one")
    kit.case("two", WRONG)
    option = kit.baseline(known("two"))
    assert kit(option, "--tck-case=table-features/one") is Status.OK


def test_a_new_failure_beside_known_ones_fails_the_run(kit: Kit) -> None:
    kit.case("one", WRONG)
    kit.case("two", WRONG)
    assert kit(kit.baseline(known("one"))) is Status.NONCONFORMANT


def test_a_written_baseline_makes_the_next_run_pass(kit: Kit) -> None:
    kit.case("one", WRONG)
    kit.case("broken", {"scan": {"raise": "boom"}})
    path = kit.folder / "baselines" / "told.yaml"
    assert kit(f"--tck-write-baseline={path}") is Status.NONCONFORMANT
    entries = yaml.safe_load(path.read_text())["failures"]
    assert {entry["reason"] for entry in entries} == {"untriaged"}
    assert kit(f"--tck-baseline={path}") is Status.OK


def test_a_run_over_several_processes_says_the_same(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = kit.folder / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    for name, answers in (("known", WRONG), ("new", WRONG), ("right", {})):
        kit.case(name, answers)
    path = kit.folder / "results.jsonl"
    options = ("-n2", f"--tck-results={path}", kit.baseline(known("known")))
    assert kit(*options) is Status.NONCONFORMANT
    assert "1 pass, 1 fail, 1 known failure; exit status 1" in kit.output
    assert read_results(path).footer["counts"] == {"fail": 2, "pass": 1}
    left = [path.name for path in scratch.iterdir() if path.name.startswith("delta-tck-")]
    assert left == []


def test_a_witness_that_does_not_come_up_ends_the_run(kit: Kit) -> None:
    kit.case("right")
    assert kit("--tck-witness=python:nowhere:create") is Status.ADAPTER
    assert "nowhere" in kit.output


def test_all_processes_of_a_run_draw_the_same_histories(pytester: pytest.Pytester) -> None:
    options = ("--impl=ours", "--tck-generate=explore", "--tck-case=generated/seed-*-[01]/plain")
    done = pytester.runpytest_subprocess("-pno:cacheprovider", "-n2", *options)
    assert "2 pass; exit status 0 (ok)" in str(done.stdout)


def test_an_unfinished_results_file_is_no_results_file(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    kit.case("one")
    assert kit("--tck-results", str(path)) is Status.OK
    path.write_text(path.read_text().partition("\n")[0] + "\n")
    with pytest.raises(ResultsError, match="did not end"):
        read_results(path)
    path.write_text("")
    with pytest.raises(ResultsError, match="does not begin with a header"):
        read_results(path)


def test_without_an_implementation_the_plugin_does_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_mine(): pass")
    done = pytester.runpytest_inprocess()
    done.assert_outcomes(passed=1)
    assert "delta-tck" not in str(done.stdout).partition("collected")[2]


def test_an_adapter_that_cannot_be_made_here_ends_the_run(kit: Kit) -> None:
    kit.case("one")
    assert kit(impl="python:fakes:never") is Status.ADAPTER
    assert "the engine is not here" in kit.output


def test_an_entry_needs_every_field(kit: Kit) -> None:
    kit.case("one")
    entry = known("one")
    del entry["reason"]
    assert kit(kit.baseline(entry)) is Status.USAGE
    assert "lacks reason" in kit.output
    assert "baseline.yaml:2" in kit.output


def test_refused_specs_pass_in_a_worker_process(kit: Kit) -> None:
    refusal = {"scan": {"refused": ["invalid_table", "no"]}}
    kit.case("one", refusal, specs={"read-latest": REFUSED})
    assert kit(isolation="process") is Status.OK


def test_a_changed_table_is_a_finding_of_its_own(kit: Kit) -> None:
    kit.case("one", {"scan": {"alter": "new"}})
    assert kit() is Status.NONCONFORMANT
    assert "  the adapter changed the table that it was asked to read\n" in kit.output
    assert "REC-001  " not in kit.output


def test_a_message_that_cannot_be_encoded_does_not_end_the_run(kit: Kit) -> None:
    kit.case("one", {"scan": {"refused": ["unsupported", "\ud800\x1b[2J"]}})
    path = kit.folder / "results.jsonl"
    assert kit(f"--tck-results={path}") is Status.NONCONFORMANT
    [record] = read_results(path).records.values()
    assert record["message"] == "refused a valid table: \\ud800\\x1b[2J"
