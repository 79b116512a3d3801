"""A baseline keeps what people wrote, and asks for what was claimed and judged."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
import yaml
from fakes import EVERYTHING
from kit_runs import OTHER_WRONG, UNCLAIMED, WRONG, Kit, known, make_kit
from tiny import READ, READ_V1, write_case

from conformance.base.outcomes import FAILING
from conformance.base.status import Status
from conformance.report.baseline import UNTRIAGED, Entry
from conformance.report.baseline_writing import Outcomes, merged

pytest_plugins = ["pytester"]


@pytest.fixture
def kit(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Kit:
    return make_kit(pytester, monkeypatch)


def test_a_selection_drops_no_entry_of_the_baseline_that_it_writes(kit: Kit) -> None:
    for name, answers in (("one", WRONG), ("two", OTHER_WRONG), ("three", {}), ("new", WRONG)):
        kit.case(name, answers)
    link = {"link": "https://example.org/1"}
    option = kit.baseline(known("one", **link), known("two"), known("three"), judged=12)
    path = kit.folder / "baseline.yaml"
    path.write_text(f"# Looked into.\n\n{path.read_text()}")
    write = f"--tck-write-baseline={path}"
    assert kit(option, write, "--tck-case=table-features/new") is Status.NONCONFORMANT
    written = yaml.safe_load(path.read_text())
    assert written["failures"][:3] == [known("one", **link), known("two"), known("three")]
    assert written["failures"][3]["reason"] == UNTRIAGED
    assert written["judged"] == 12
    assert kit(option, write) is Status.STALE_BASELINE
    assert path.read_text().startswith("# Looked into.\n")
    written = yaml.safe_load(path.read_text())
    two = known("two", message="rows: 1 missing of 2")
    assert written["failures"][:2] == [known("one", **link), two]
    assert [entry["id"].split("/")[1] for entry in written["failures"]] == ["one", "two", "new"]
    assert written["judged"] == {"upstream": {"table-features": 4}}
    assert written["claims"] == EVERYTHING.as_document()
    assert kit(option) is Status.OK


def _record(
    identity: str, outcome: str, message: str = "m", *, intermittent: bool = False
) -> dict[str, Any]:
    return {
        "id": identity,
        "outcome": outcome,
        "message": message,
        "requirement": None,
        "requirements": ["REC-001"],
        "intermittent": intermittent,
    }


def _merged(entry: Entry, *records: dict[str, Any], shipped: bool = True) -> list[Entry]:
    universe = ["a/1", "a/2", "b/1"]
    asked = {record["id"]: record for record in records}
    return merged([entry], Outcomes(asked, FAILING, universe, shipped=shipped))


WIDE = Entry("a/*", "REC-001", "m", "reason")
ONE = Entry("a/1", "REC-001", "m", "reason")
CHANCE = Entry("a/1", "REC-001", "m", "reason", intermittent=True)


@pytest.mark.parametrize(
    ("entry", "records", "kept"),
    [
        (ONE, [], True),
        (ONE, [_record("a/1", "pass")], False),
        (ONE, [_record("a/1", "unsupported")], False),
        (ONE, [_record("a/2", "pass")], True),
        (ONE, [_record("a/1", "blocked")], False),
        (ONE, [_record("a/1", "blocked", intermittent=True)], True),
        (CHANCE, [_record("a/1", "pass")], True),
        (WIDE, [_record("a/1", "pass")], True),
        (WIDE, [_record("a/1", "pass"), _record("a/2", "fail")], True),
        (WIDE, [_record("a/1", "pass"), _record("a/2", "pass")], False),
        (Entry("c/1", "REC-001", "m", "reason"), [_record("a/1", "pass")], False),
    ],
)
def test_an_entry_goes_only_when_all_its_cases_were_asked_and_passed(
    entry: Entry, records: list[dict[str, Any]], *, kept: bool
) -> None:
    assert (_merged(entry, *records) == [entry]) is kept


def test_of_another_corpus_no_entry_is_dropped() -> None:
    entry = Entry("c/1", "REC-001", "m", "reason")
    assert _merged(entry, _record("a/1", "pass"), shipped=False) == [entry]


def test_a_message_that_looks_like_a_pattern_is_written_as_one() -> None:
    (_, entry) = _merged(WIDE, _record("a/1", "fail"), _record("b/1", "fail", "/srv/(x)/"))
    assert entry.explains(["REC-001"], "no file /srv/(x)/ there")


def test_an_entry_for_too_much_names_the_limit_once(kit: Kit) -> None:
    for number in range(21):
        kit.case(f"case-{number:02}")
    assert kit(kit.baseline(known("*"))) is Status.USAGE
    assert kit.output.count("covers 21 cases, and an entry covers at most 20") == 1


def test_a_missing_baseline_says_how_a_first_one_is_written(kit: Kit) -> None:
    kit.case("one")
    assert kit("--tck-baseline=new.yaml") is Status.USAGE
    assert "; a first one is written by --tck-write-baseline=new.yaml" in kit.output


def test_a_case_has_one_entry(kit: Kit) -> None:
    kit.case("one", WRONG)
    assert kit(kit.baseline(known("one"), known("one", message="of old"))) is Status.USAGE
    assert "one/read-latest has an entry already, at " in kit.output


def test_an_entry_of_another_requirement_says_so(kit: Kit) -> None:
    kit.case("one", WRONG)
    assert kit(kit.baseline(known("one", requirement="REC-002"))) is Status.STALE_BASELINE
    assert "names REC-002, and the failure is about REC-001" in kit.output


def test_a_run_with_fewer_claims_than_the_baseline_fails(kit: Kit) -> None:
    kit.case("one")
    claims = {**EVERYTHING.as_document(), "reader_features": ["deletionVectors"]}
    assert kit(kit.baseline(claims=claims)) is Status.TOO_FEW_JUDGED
    assert "a claim that is made no longer: reader_features: deletionVectors" in kit.output
    assert kit(kit.baseline(claims=EVERYTHING.as_document())) is Status.OK


def test_a_whole_run_that_judges_less_than_the_baseline_fails(kit: Kit) -> None:
    kit.case("one", specs={"read-latest": READ, "at-time": UNCLAIMED})
    option = kit.baseline(judged=51)
    assert kit(option) is Status.TOO_FEW_JUDGED
    assert "judged 1 of 2 (50 %), and the baseline asks for 51 %" in kit.output
    assert kit(option, "--tck-case=table-features/one/read-latest") is Status.OK
    assert kit(kit.baseline(judged=50)) is Status.OK


def recorded(kit: Kit, *options: str) -> str:
    """Let a run write a baseline, and return the option that goes by it."""
    path = kit.folder / "recorded.yaml"
    kit(f"--tck-write-baseline={path}", *options)
    return f"--tck-baseline={path}"


def test_cases_that_are_not_claimed_turn_no_gate_red_for_being_new(kit: Kit) -> None:
    kit.case("one")
    option = recorded(kit)
    kit.case("new", specs={"at-time": UNCLAIMED, "again": UNCLAIMED})
    assert kit(option) is Status.OK
    assert "judged 1 of 3" in kit.output
    assert kit(option, "--tck-min-judged=90") is Status.TOO_FEW_JUDGED


def test_a_corpus_that_lost_cases_fails(kit: Kit) -> None:
    """All of what is left is judged, and it is less than before."""
    kit.case("one")
    kit.case("two")
    option = recorded(kit)
    shutil.rmtree(kit.corpus / "table-features" / "two")
    assert kit(option) is Status.TOO_FEW_JUDGED
    assert "judged 1 of table-features, and the baseline asks for 2" in kit.output


def test_what_one_chapter_gains_hides_no_loss_of_another(kit: Kit) -> None:
    kit.case("one")
    write_case(kit.corpus, "commits/two", {"read-latest": READ})
    option = recorded(kit)
    shutil.rmtree(kit.corpus / "commits")
    kit.case("three")
    assert kit(option) is Status.TOO_FEW_JUDGED
    assert "judged 0 of commits, and the baseline asks for 1" in kit.output


def test_an_adapter_that_drops_a_claim_fails(kit: Kit) -> None:
    """Also where a person has taken the claims out of the baseline."""
    kit.case("one", specs={"read-latest": READ, "read-v1": READ_V1})
    option = recorded(kit)
    assert kit(option) is Status.OK
    assert kit(option, impl="python:fakes:scanner") is Status.TOO_FEW_JUDGED
    path = kit.folder / "recorded.yaml"
    left = yaml.safe_load(path.read_text())
    del left["claims"]
    path.write_text(yaml.safe_dump(left))
    assert kit(option, impl="python:fakes:scanner") is Status.TOO_FEW_JUDGED
    assert "judged 1 of table-features, and the baseline asks for 2" in kit.output


def test_an_adapter_that_claims_and_refuses_fails(kit: Kit) -> None:
    kit.case("one")
    option = recorded(kit)
    shutil.rmtree(kit.corpus)
    kit.case("one", {"scan": {"refused": ["unsupported", "not today"]}})
    assert kit(option) is Status.NONCONFORMANT


def test_each_revision_has_counts_of_its_own(kit: Kit) -> None:
    kit.case("one")
    kit.case("two")
    recorded(kit, "--tck-revision=2025")
    shutil.rmtree(kit.corpus / "table-features" / "two")
    option = recorded(kit)
    counts = yaml.safe_load((kit.folder / "recorded.yaml").read_text())["judged"]
    assert counts == {"2025": {"table-features": 2}, "upstream": {"table-features": 1}}
    assert kit(option) is Status.OK
    assert kit(option, "--tck-revision=2025") is Status.TOO_FEW_JUDGED


@pytest.mark.parametrize(
    "more",
    [
        {"judged": "most"},
        {"judged": 101},
        {"judged": {"upstream": 5}},
        {"judged": {"upstream": {"commits": 1.5}}},
        {"claims": {"operations": ["scan"]}},
        {"claims": {**EVERYTHING.as_document(), "reader_version": -1}},
        {"claim": {}},
    ],
)
def test_a_baseline_with_a_bent_head_is_refused(kit: Kit, more: dict[str, Any]) -> None:
    kit.case("one")
    assert kit(kit.baseline(**more)) is Status.USAGE
    assert "baseline.yaml:" in kit.output


def test_an_expression_that_backtracks_without_end_is_matched_at_once() -> None:
    entry = Entry("a/b/c", "SNAP-001", "/(a+)+$/", "known")
    assert not entry.matches("a" * 5_000 + "b")
    assert entry.matches("b" + "a" * 5_000)
