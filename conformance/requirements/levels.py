"""Verdicts by the level of the requirement that is broken.

A breach of a MUST fails, a breach of a SHOULD is advice, and what is allowed or defined cannot be
broken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.requirements.judged import SUPPORTED
from conformance.requirements.registry import Registry

ROWS_READ: Final = "SNAP-007"
"""What a reader breaks that gives other rows."""

METRICS: Final = "CRC-037"
"""What a writer breaks whose checksum file has anything wrong, optional fields included."""

ROWS_WRITTEN: Final = "SNAP-008"
"""What a writer breaks that leaves other rows, or none that can be read."""


def at_level(
    verdict: Verdict, judged: str, asked: str, registry: Registry, revision: str = "upstream"
) -> Verdict:
    """Return a verdict with its requirement and the outcome that the level of that one has.

    Args:
        verdict: as the judge took it.
        judged: the requirement that the item judges.
        asked: who was asked.
        registry: has the levels.
        revision: what is not in force under it is not broken: the item's own requirement is named.
    """
    named = verdict.requirement
    if named is not None and named in registry and not registry[named].holds_in(revision):
        verdict = replace(verdict, requirement=judged)
    if verdict.outcome is not Outcome.FAIL or asked == "audit":
        return replace(verdict, requirement=verdict.requirement or judged)
    broken = verdict.requirement or judged
    if broken in registry and registry[broken].level != "MUST":
        lesser, broken = broken, _broken_must(broken, asked, verdict, registry) or broken
        defines = verdict.requirement == lesser and registry[lesser].level == "DEF"
        if defines and broken == ROWS_WRITTEN:
            # Who reads by the definition may give other rows: it says what is wrong.
            said = f"{lesser} is what readers go by: {registry[lesser].statement}"
            verdict = replace(verdict, details=(said, *verdict.details))
    level = registry[broken].level if broken in registry else "MUST"
    if level == "MUST":
        return replace(verdict, requirement=broken)
    if level == "SHOULD":
        return replace(verdict, outcome=Outcome.ADVICE, requirement=broken)
    message = f"{broken} is a {level}, which cannot be broken: {verdict.message}"
    return replace(
        verdict,
        outcome=Outcome.OPEN,
        message=message,
        requirement=broken,
        hazard=None,
        seen="other",
    )


def _broken_must(broken: str, asked: str, verdict: Verdict, registry: Registry) -> str | None:
    """Name the MUST that is broken where a failure is more than the breach of a lesser clause."""
    if asked == "reader":
        wrong = broken in SUPPORTED and verdict.hazard is not Hazard.WRONG_REFUSAL
        # Other fill values or times than advised still give rows of the table.
        return ROWS_READ if wrong or verdict.foreign_rows else None
    if verdict.requirement is None:
        # What a SHOULD of writers asks for is named by the check that misses it.
        return ROWS_WRITTEN
    if registry[broken].level != "SHOULD":
        # A check calls it an error that a table is not as it is defined.
        return METRICS if broken.startswith("CRC-") else ROWS_WRITTEN
    return None
