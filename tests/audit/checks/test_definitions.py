"""What is wrong with protocol, metaData and domains is found where a checkpoint alone has them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from audit_faults import planted

from conformance.audit.checker import checks_of

STEPS = frozenset({
    "CHK-007", "CM-011", "ICE1-011", "ICE2-019", "TF-007", "TF-008", "TF-009", "TW-002",
})  # fmt: skip
"""What a change breaks, and no state."""

DEFINED = {name for check in checks_of("definition") for name in check.requirements} - STEPS
FAULTS = {name: plant for name, broken, plant in planted() if broken & DEFINED}


def _newest(lake: Any) -> list[dict[str, Any]]:
    """Return the last protocol and metaData of the commits, and the last of each domain."""
    found: dict[Any, dict[str, Any]] = {}
    for path in sorted(lake.log.glob("*[0-9].json")):
        for line in path.read_bytes().splitlines():
            try:
                action = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(action, dict):
                found |= {key: {key: action[key]} for key in _STATE if key in action}
                domain = action.get("domainMetadata", {"removed": True})
                if not domain["removed"]:
                    found["domain", domain["domain"]] = action
    return list(found.values())


_STATE = ("protocol", "metaData")


@pytest.mark.parametrize("name", FAULTS)
def test_a_log_that_begins_with_a_checkpoint_is_judged_alike(name: str, lake: Any) -> None:
    FAULTS[name](lake)
    newest = _newest(lake)
    for path in [each for each in lake.log.rglob("*") if each.is_file()]:
        path.unlink()
    lake.version = -1
    lake.commit(*newest)
    expected = {each.requirement for each in lake.audit()} & DEFINED
    lake.checkpoint(newest)
    (lake.log / f"{0:020}.json").unlink()
    found = {each.requirement for each in lake.audit()}
    assert expected <= found
