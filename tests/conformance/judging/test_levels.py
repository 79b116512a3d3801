"""Verdicts by the level of the requirement that is broken."""

from __future__ import annotations

import pytest

from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.requirements.levels import METRICS, ROWS_READ, ROWS_WRITTEN, at_level
from conformance.requirements.registry import load_registry


def failed(hazard: Hazard = Hazard.SILENT_WRONG_DATA, broken: str | None = None) -> Verdict:
    return Verdict(Outcome.FAIL, "wrong", hazard, requirement=broken)


@pytest.mark.parametrize(
    ("judged", "outcome"),
    [("REC-018", Outcome.FAIL), ("ICT-013", Outcome.ADVICE), ("WCON-004", Outcome.ADVICE)],
)
def test_a_breach_of_a_must_fails_and_of_a_should_is_advice(judged: str, outcome: Outcome) -> None:
    verdict = at_level(failed(), judged, "reader", load_registry())
    assert (verdict.outcome, verdict.requirement) == (outcome, judged)


@pytest.mark.parametrize("judged", ["META-015", "COMP-011"])
def test_what_is_allowed_cannot_be_broken(judged: str) -> None:
    verdict = at_level(failed(), judged, "reader", load_registry())
    assert (verdict.outcome, verdict.hazard) == (Outcome.OPEN, None)


def test_to_refuse_what_should_be_supported_is_advice_and_to_read_it_wrong_fails() -> None:
    registry = load_registry()
    refused = at_level(failed(Hazard.WRONG_REFUSAL), "PQ-001", "reader", registry)
    assert (refused.outcome, refused.requirement) == (Outcome.ADVICE, "PQ-001")
    wrong = at_level(failed(), "PQ-001", "reader", registry)
    assert (wrong.outcome, wrong.requirement) == (Outcome.FAIL, ROWS_READ)


@pytest.mark.parametrize(
    ("broken", "outcome", "requirement"),
    [
        ("CHK-006", Outcome.FAIL, "CHK-006"),
        ("IDN-013", Outcome.ADVICE, "IDN-013"),
        ("STAT-001", Outcome.FAIL, ROWS_WRITTEN),
        ("CRC-018", Outcome.FAIL, METRICS),
        (None, Outcome.FAIL, ROWS_WRITTEN),
    ],
)
def test_a_writer_breaks_what_the_check_names(
    broken: str | None, outcome: Outcome, requirement: str
) -> None:
    verdict = at_level(failed(broken=broken), "IDN-012", "writer", load_registry())
    assert (verdict.outcome, verdict.requirement) == (outcome, requirement)


def test_a_definition_that_is_not_met_is_quoted_beside_the_rows_that_it_gives() -> None:
    verdict = at_level(failed(broken="STAT-008"), "IDN-012", "writer", load_registry())
    assert verdict.details[0] == (
        "STAT-008 is what readers go by: nullCount is the number of nulls in the column."
    )
    assert at_level(failed(broken="CRC-018"), "IDN-012", "writer", load_registry()).details == ()


def test_what_did_not_fail_keeps_its_outcome_and_names_what_was_judged() -> None:
    verdict = at_level(Verdict(Outcome.PASS), "REC-018", "reader", load_registry())
    assert (verdict.outcome, verdict.requirement) == (Outcome.PASS, "REC-018")
    failed_audit = at_level(failed(), "CDC-009", "audit", load_registry())
    assert failed_audit.outcome is Outcome.FAIL


def test_what_is_not_in_force_is_not_named() -> None:
    verdict = at_level(failed(broken="CHK-006"), "CHK-011", "writer", load_registry(), "2021")
    assert verdict.requirement == "CHK-011"
    verdict = at_level(failed(broken="CHK-006"), "CHK-011", "writer", load_registry(), "2025")
    assert verdict.requirement == "CHK-006"
