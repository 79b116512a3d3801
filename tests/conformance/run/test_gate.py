"""Nothing is green that was not judged: adapters that dodge, runs that stop, options that do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from kit_runs import UNCLAIMED, WRONG, Kit, make_kit
from tiny import READ, READ_V1, SNAPSHOT_SPEC

from conformance.base.status import Status
from conformance.plugin.partial import LEFT_OUT_ELSEWHERE
from conformance.plugin.session import SUITE
from conformance.run.breaker import MAX_FAULTS, Breaker
from generators.file_digests import digest_of_case

pytest_plugins = ["pytester"]

REFUSED_ALL = {"scan": {"refused": ["unsupported", "not today"]}}


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return make_kit(pytester, monkeypatch)


def test_a_misspelled_claim_ends_the_start_with_the_nearest_word(kit: Kit) -> None:
    kit.case("one")
    assert kit(impl="python:fakes:misspelled") is Status.ADAPTER
    for words in (
        "'read' is no word of the contract; did you mean 'scan'?",
        "'scan.version'",
        "'deletionVectors'",
        "'appendOnly'",
    ):
        assert words in kit.output


def test_an_adapter_that_claims_nothing_is_not_judged(kit: Kit) -> None:
    kit.case("one")
    assert kit(f"--tck-results={kit.results}", impl="python:fakes:silent") is Status.NOTHING_JUDGED
    assert "judged 0 of 1 (0 %); not claimed: scan (1)" in kit.output
    footer = kit.read().footer
    assert (footer["judged"], footer["status"]) == (0, 16)


def test_a_case_that_is_not_claimed_is_not_judged(kit: Kit) -> None:
    kit.case("one", specs={"at-time": UNCLAIMED})
    assert kit() is Status.NOTHING_JUDGED


def test_every_summary_says_what_was_judged_and_what_was_not_claimed(kit: Kit) -> None:
    kit.case("one", specs={"a": READ, "b": UNCLAIMED, "c": READ_V1, "d": SNAPSHOT_SPEC})
    assert kit(impl="python:fakes:scanner") is Status.OK
    lead = "judged 1 of 4 (25 %); not claimed: scan.timestamp (1), scan.version (1), snapshot (1)"
    assert lead in kit.output
    assert "LITTLE JUDGED: table-features 1 of 4" in kit.output
    assert "judged 1 of 4 (25 %): 1 pass, 3 unsupported; exit status 0 (ok)" in kit.output
    assert "1 passed, 3 unsupported in" in kit.output


@pytest.mark.parametrize(("least", "status"), [(50, Status.OK), (50.1, Status.TOO_FEW_JUDGED)])
def test_a_smaller_share_than_is_asked_for_fails(kit: Kit, least: float, status: Status) -> None:
    kit.case("one", specs={"read-latest": READ, "at-time": UNCLAIMED})
    assert kit(f"--tck-min-judged={least}") is status


def test_what_is_claimed_and_refused_as_unsupported_fails(kit: Kit) -> None:
    kit.case("one", REFUSED_ALL)
    assert kit() is Status.NONCONFORMANT
    assert "WRONG REFUSAL (1)" in kit.output


def test_an_adapter_cannot_end_the_run_unseen(kit: Kit) -> None:
    kit.case("one")
    assert (
        kit(f"--tck-results={kit.results}", impl="python:fakes:leaver", isolation="process")
        is Status.ERRORS
    )
    assert "crash: the adapter ended with exit status 0" in kit.output
    assert kit.read().footer["counts"] == {"error": 1}


def test_the_same_fault_again_and_again_ends_the_run(kit: Kit) -> None:
    for number in range(MAX_FAULTS + 5):
        kit.case(f"case-{number:02}")
    assert (
        kit(f"--tck-results={kit.results}", impl="python:fakes:leaver", isolation="process")
        is Status.GAVE_UP
    )
    assert "GAVE UP: 10 cases in a row ended in a fault of the adapter (crash)" in kit.output
    results = kit.read()
    assert len(results.records) == MAX_FAULTS
    assert results.partial[0].startswith("10 cases in a row")
    assert not results.footer["complete"]


def _record(outcome: str, fault: str | None = None, standing: str = "new") -> dict[str, str | None]:
    return {"outcome": outcome, "fault": fault, "standing": standing, "message": "m"}


CRASH = _record("error", "crash")


@pytest.mark.parametrize(
    ("between", "ends"),
    [
        (_record("unsupported"), True),
        (_record("blocked"), True),
        (_record("error", None), True),
        (_record("error", "crash", "known"), True),
        (_record("pass"), False),
        (_record("fail"), False),
        (_record("open"), False),
        (_record("error", "garbage"), False),
    ],
)
def test_only_a_judged_case_or_another_fault_ends_a_row_of_faults(
    between: dict[str, str | None], *, ends: bool
) -> None:
    breaker = Breaker()
    row = [*[CRASH] * (MAX_FAULTS - 1), between, CRASH]
    assert bool([breaker.add(record) for record in row][-1]) is ends


@pytest.mark.parametrize("fault", [None, "raised"])
def test_faults_that_an_adapter_reports_in_order_end_no_run(fault: str | None) -> None:
    breaker = Breaker()
    assert not any(breaker.add(_record("error", fault)) for _ in range(3 * MAX_FAULTS))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("-x",), "-x or --maxfail: stopping after 1 failures"),
        (("-kfeatures/one/read",), "-k features/one/read"),
        (("--deselect=test_golden.py::test_golden[table-features/two/read-latest]",), "--deselect"),
        ((f"{SUITE / 'test_golden.py'}::test_golden[table-features/two/read-latest]",), "only /"),
        (("--last-failed",), "--last-failed"),
        (("--stepwise",), "--stepwise"),
        (("-pleaves_out",), LEFT_OUT_ELSEWHERE),
    ],
)
def test_a_run_that_lacks_cases_is_partial_and_says_why(
    kit: Kit, options: tuple[str, ...], reason: str
) -> None:
    for name in ("one", "two", "three"):
        kit.case(name, WRONG if name == "one" else None)
    (kit.folder / "leaves_out.py").write_text(
        "def pytest_collection_modifyitems(items):\n    del items[1:]\n"
    )
    kit.pytester.syspathinsert()
    if options[0] in ("--last-failed", "--stepwise"):
        cached = ("-pcacheprovider", f"-ocache_dir={kit.folder / 'cache'}")
        judging = ("--impl=python:fakes:told", f"--tck-corpus={kit.corpus}", "--tck-isolation=none")
        kit.run(*cached, *judging)
        kit.run(*cached, *judging, f"--tck-results={kit.results}", *options)
    else:
        # A path decides where pytest looks for its own configuration.
        (kit.folder / "pytest.ini").write_text("[pytest]\n")
        kit(*options, f"-c{kit.folder / 'pytest.ini'}", f"--tck-results={kit.results}")
    results = kit.read()
    assert len(results.records) < 3
    assert any(each.startswith(reason) for each in results.partial), results.partial
    assert f"PARTIAL: {reason}" in kit.output
    assert f"judged {len(results.records)} of 3" in kit.output


def test_cases_that_a_plugin_leaves_out_are_no_success(kit: Kit) -> None:
    kit.case("one")
    kit.case("two", WRONG)
    (kit.folder / "leaves_two.py").write_text(
        "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [item for item in items if '/one/' in item.nodeid]\n"
    )
    kit.pytester.syspathinsert()
    assert kit("-pleaves_two") is Status.INTERRUPTED
    assert kit("-pleaves_two", "-kone") is Status.OK


def test_no_plugin_makes_a_success_of_a_failed_run(kit: Kit) -> None:
    kit.case("one", WRONG)
    (kit.folder / "ends_well.py").write_text(
        "import pytest\n\n\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_sessionfinish(session):\n"
        "    session.exitstatus = 0\n"
    )
    kit.pytester.syspathinsert()
    assert kit("-pends_well") is Status.NONCONFORMANT


def test_a_test_that_ends_without_a_record_is_no_success(kit: Kit) -> None:
    kit.case("one")
    kit.case("two")
    (kit.folder / "skips.py").write_text(
        "import pytest\n\n\n"
        "def pytest_collection_modifyitems(items):\n"
        "    items[1].add_marker(pytest.mark.skip('not today'))\n"
    )
    kit.pytester.syspathinsert()
    assert kit("-pskips", f"--tck-results={kit.results}") is Status.ERRORS
    assert "NO RECORD" in kit.output
    assert kit.read().partial[0] == "1 test ended without a record"


@pytest.mark.parametrize(
    "option",
    [
        "--tck-results=x",
        "--tck-case=x",
        "--tck-revision=upstream",
        "--tck-min-judged=0",
        "--tck-isolation=auto",
    ],
)
def test_options_that_judge_nothing_are_refused(kit: Kit, option: str) -> None:
    kit.pytester.makepyfile("def test_mine(): pass")
    assert kit.run(option) is Status.USAGE
    assert f"{option.partition('=')[0]}: judges nothing without --impl" in kit.output


@pytest.mark.parametrize(
    "option",
    [
        "--tck-time-limit=-1",
        "--tck-time-limit=0",
        "--tck-start-limit=nan",
        "--tck-start-limit=inf",
        "--tck-time-limit=soon",
        "--tck-min-judged=101",
        "--tck-min-judged=-1",
    ],
)
def test_a_number_out_of_range_is_refused(kit: Kit, option: str) -> None:
    kit.case("one")
    assert kit(option) is Status.USAGE
    assert option.partition("=")[0] in kit.output


@pytest.mark.parametrize("option", ["--tck-results", "--tck-write-baseline"])
def test_a_file_that_cannot_be_written_ends_the_run_before_it_begins(
    kit: Kit, option: str, tmp_path: Path
) -> None:
    kit.case("one")
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "below"):
        assert kit(f"{option}={path}", impl="python:fakes:never") is Status.USAGE
        assert "cannot be written" in kit.output


def test_failures_that_say_the_same_are_printed_once(kit: Kit) -> None:
    for number in range(12):
        kit.case(f"case-{number:02}", WRONG)
    assert kit() is Status.NONCONFORMANT
    assert kit.output.count("expected: 2 rows") == 1
    assert "12 cases: table-features/case-00/read-latest, " in kit.output
    assert "and 9 more" in kit.output
    assert len(kit.output.splitlines()) < 40


@pytest.mark.parametrize(
    "option", ["--tck-baseline=", "--tck-results=", "--tck-corpus=", "--tck-witness="]
)
def test_an_empty_value_is_refused(kit: Kit, option: str) -> None:
    kit.case("right")
    assert kit(option) is Status.USAGE
    assert "an empty value asks for nothing" in kit.output


def test_a_corpus_that_lacks_cases_of_its_manifest_is_refused(kit: Kit) -> None:
    kit.case("right")
    (kit.corpus / "manifest.json").write_text('{"cases": {"table-features/right": {}}}')
    assert kit() is Status.OK
    (kit.corpus / "manifest.json").write_text('{"cases": {"table-features/left-out": {}}}')
    assert kit() is Status.CORPUS
    assert "lists 1 cases that are not there, as table-features/left-out" in kit.output
    (kit.corpus / "manifest.json").write_text("[]")
    assert kit() is Status.CORPUS


@pytest.mark.parametrize("change", ["gone", "altered", "added"])
def test_a_case_that_is_not_as_it_was_built_is_refused(kit: Kit, change: str) -> None:
    kit.case("right")
    kit.case("other")
    listed = {
        "table-features/right": {"digest": digest_of_case(kit.corpus / "table-features" / "right")}
    }
    (kit.corpus / "manifest.json").write_text(json.dumps({"cases": listed}))
    assert kit() is Status.OK
    answers = kit.corpus / "table-features" / "right" / "delta" / "answers.json"
    if change == "gone":
        shutil.rmtree(answers.parent)
    else:
        (answers if change == "altered" else answers.with_name("more")).write_text("{ }")
    assert kit() is Status.CORPUS
    assert "right: is not as it was built" in kit.output
    assert kit("--tck-case=table-features/other") is Status.OK


def test_a_corpus_that_is_written_to_during_the_run_makes_it_worth_nothing(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit.case("right")
    case = kit.corpus / "table-features" / "right"
    listed = {"table-features/right": {"digest": digest_of_case(case)}}
    (kit.corpus / "manifest.json").write_text(json.dumps({"cases": listed}))
    monkeypatch.setenv("DELTA_TCK_VANDAL", str(case / "delta" / "answers.json"))
    status = kit(f"--tck-results={kit.results}", impl="python:fakes:Vandal")
    assert status is Status.CORPUS
    assert "ALTERED DURING THE RUN: " in kit.output
    assert kit.read().footer["status"] == Status.CORPUS
