"""Findings by a revision of the protocol (section Requirements of every text)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Final

from conformance.audit.findings import SEVERITIES, Finding, severity_of
from conformance.requirements.registry import load_registry

_ABANDONED: Final = frozenset({"ICE2-009", "ICE2-010"})
"""Requirements of a key that a later text names otherwise: what is under it binds no longer."""

_WIDER: Final = frozenset({"CM-034"})
"""Requirements that are reported only of what the earlier requirement that they supersede leaves
free."""

_EITHER: Final = frozenset({"ICT-003", "RT-035"})
"""Requirements that are reported only of what no reading of a contested text allows."""


@cache
def _in_force(requirement: str, revision: str) -> str | None:
    """Return the requirement that says the same in a revision; ``None`` where none does."""
    rows = load_registry()
    row = rows[requirement]
    if row.holds_in(revision):
        return requirement
    later = row.superseded_by
    if later and requirement not in _ABANDONED and rows[later].holds_in(revision):
        return later
    if requirement in _WIDER:
        return None
    earlier = (each.id for each in rows if each.superseded_by == requirement)
    return next((each for each in earlier if rows[each].holds_in(revision)), None)


def in_revision(findings: Iterable[Finding], revision: str) -> Iterator[Finding]:
    """Yield the findings that a revision has a requirement for, under that requirement.

    Args:
        findings: of an audit.
        revision: one of :data:`conformance.requirements.registry.SELECTIONS`.
    """
    for found in findings:
        requirement = _in_force(found.requirement, revision)
        if requirement is None:
            continue
        if requirement == found.requirement:
            yield found
        elif found.requirement in _EITHER:
            yield replace(found, requirement=requirement)
        elif found.severity == "error":
            # The text of the revision may be contested where the other one is not.
            grave = max(found.severity, severity_of(requirement), key=SEVERITIES.index)
            yield replace(found, requirement=requirement, severity=grave)
