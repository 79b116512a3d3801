"""Assign fresh row ids to the files of a commit (section Row Tracking, writer requirements)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from reference_impl.actions import DomainMetadata
from reference_impl.errors import InvalidTableError
from reference_impl.untrusted import parse_json
from reference_impl.write.records import records_of

__all__ = ["ROW_TRACKING_DOMAIN", "assign_row_ids", "high_water_mark"]

ROW_TRACKING_DOMAIN: Final = "delta.rowTracking"
_KEYS: Final = ("rowIdHighWaterMark", "highWaterMark")
"""What engines write, and what the text of 2025 says."""


def high_water_mark(domains: Mapping[str, DomainMetadata]) -> int:
    """Give the highest row id that was ever assigned; -1 when there is none.

    Raises:
        InvalidTableError: the domain of row tracking does not tell it.

    """
    held = domains.get(ROW_TRACKING_DOMAIN)
    if held is None or held.removed:
        return -1
    try:
        document = parse_json(held.configuration)
    except ValueError:
        document = None
    if isinstance(document, Mapping):
        for key in _KEYS:
            if type(document.get(key)) is int:
                return int(document[key])
    raise InvalidTableError(
        f"the domain {ROW_TRACKING_DOMAIN} tells no high-water mark",
        action="domainMetadata",
        stage="commit",
        requirement="RT-006",
    )


def assign_row_ids(
    adds: Sequence[dict[str, Any]], domains: Mapping[str, DomainMetadata], version: int
) -> tuple[list[dict[str, Any]], DomainMetadata | None]:
    """Give each file without ids a range of fresh ones, and the domain with the new mark.

    A file that has its ids already keeps them.

    Args:
        adds: bodies of add actions, which tell how many rows their files have.
        domains: the metadata domains so far.
        version: the version that they are committed in.

    """
    start = mark = high_water_mark(domains)
    out = []
    for body in adds:
        fresh = dict(body)
        if fresh.get("baseRowId") is None:
            fresh["baseRowId"] = mark + 1
            mark += records_of(fresh["stats"]) or 0
        if fresh.get("defaultRowCommitVersion") is None:
            fresh["defaultRowCommitVersion"] = version
        out.append(fresh)
    if mark == start:
        return out, None
    configuration = json.dumps({_KEYS[0]: mark}, separators=(",", ":"))
    return out, DomainMetadata(ROW_TRACKING_DOMAIN, configuration, removed=False)
