"""Every requirement that a check declares is planted by a test, and every check is sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from audit_faults import planted

import schemas
from conformance.audit import CHECKS, Check
from conformance.requirements.registry import load_registry

DATA = Path(__file__).parents[1] / "proof/faults/data"

BY_SCHEMA = frozenset(
    requirement for name in schemas.names() for requirement in schemas.requirements(name)
)
"""What a schema reports is planted rule by rule in the tests of the schemas."""

DAMAGED_VECTORS = frozenset(
    {"DVDESC-001", "DVDESC-002", "DVDESC-003", "DVDESC-004", "DVDESC-007", "DVDESC-008"}
    | {"DVDESC-011", "DVFMT-002", "DVFMT-004", "DVFMT-005", "DVFMT-006", "DVFMT-011"}
)
"""What the decoder of deletion vectors reports is planted in its own tests."""


def _planted() -> set[str]:
    return set().union(*(broken for _, broken, _ in planted()))


def _planted_in_data() -> set[str]:
    """Return what the faults of `tests/proof/faults` break."""
    found: set[str] = set()
    for path in sorted(DATA.glob("*.yaml")):
        for fault in yaml.safe_load(path.read_text(encoding="utf-8"))["faults"]:
            found |= {fault["breaks"], *(fault.get("also") or ())}
    return found


def _name(check: Check[Any]) -> str:
    return f"{check.run.__module__.rsplit('.', 1)[1]}.{check.run.__name__}"


def test_every_declared_requirement_is_planted() -> None:
    declared = {requirement for check in CHECKS for requirement in check.requirements}
    assert sorted(declared - _planted() - _planted_in_data() - BY_SCHEMA - DAMAGED_VECTORS) == []


def test_every_planted_requirement_is_declared() -> None:
    declared = {requirement for check in CHECKS for requirement in check.requirements}
    assert sorted(_planted() - declared - {"REC-003"}) == []


@pytest.mark.parametrize("check", CHECKS, ids=_name)
def test_a_check_declares_known_requirements_and_says_what_it_reports(check: Check[Any]) -> None:
    assert [name for name in check.requirements if name not in load_registry()] == []
    assert (check.run.__doc__ or "").strip()


def test_no_check_is_registered_twice() -> None:
    names = [_name(check) for check in CHECKS]
    assert len(names) == len(set(names))
