"""No implementation fails that uses a freedom which the text gives."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from breaches.model import Breach
from breaches.proving import items, judged, revision_of
from freedoms import FREEDOMS, Freedom
from freedoms_of_commits import FREEDOMS_OF_COMMITS
from freedoms_of_files import FREEDOMS_OF_FILES

from conformance.base.outcomes import Outcome
from conformance.items.items import Item

ALL = (*FREEDOMS, *FREEDOMS_OF_FILES, *FREEDOMS_OF_COMMITS)


def _tried(freedom: Freedom) -> list[Item]:
    return [
        item
        for item in items()
        if any(fnmatchcase(item.id, pattern) for pattern in freedom.cases)
        and (item.judged.asked == "reader") is (freedom.kind == "reader")
    ]


@pytest.mark.parametrize("freedom", ALL, ids=lambda freedom: freedom.id)
def test_a_freedom_fails_nowhere(freedom: Freedom) -> None:
    used = Breach(freedom.id, "SNAP-007", freedom.kind, freedom.how)
    due = {Outcome.ADVICE} if freedom.advised else {Outcome.PASS, Outcome.OPEN}
    tried = _tried(freedom)
    assert len(tried) >= len(freedom.cases)
    for item in tried:
        name = item.requirement("2025") or item.requirement("upstream")
        assert name is not None
        verdict = judged(item, used, revision_of(name))
        assert verdict.outcome in due, f"{item.id}: {verdict.message} {verdict.details}"


def test_each_freedom_has_its_name() -> None:
    assert len({freedom.id for freedom in ALL}) == len(ALL)
