"""Outcomes, hazards and verdicts: what the judge can say about one case.

Serves every section of the protocol. The set is closed; skipping is not among it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["ALTERED", "FAILING", "HAZARDS", "Hazard", "Outcome", "Verdict"]


class Outcome(StrEnum):
    """How a case ended.

    ``PASS``: as the protocol demands. ``FAIL``: otherwise. ``UNSUPPORTED``: not claimed, and
    refused cleanly or not asked. ``BLOCKED``: the root cause is shown by another spec of the case.
    ``ERROR``: no verdict, because of a crash, a time limit or a fault of the kit. ``OPEN``: the
    text is contested, what was seen is recorded. ``ADVICE``: a SHOULD is not followed.
    """

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    BLOCKED = "blocked"
    ERROR = "error"
    OPEN = "open"
    ADVICE = "advice"


FAILING: Final = frozenset({Outcome.FAIL, Outcome.ERROR})
"""Outcomes that turn a run red unless a baseline knows them."""


ALTERED: Final = "the adapter changed the table that it was asked to read"
"""How the message of a verdict begins that is about no requirement of the case."""


class Hazard(StrEnum):
    """What a failure does to somebody who trusts the implementation, worst first.

    The values are the words of a spec's ``hazard`` and of results.
    """

    SILENT_WRONG_DATA = "silent wrong data"
    CORRUPTING_WRITE = "corrupting write"
    WRONG_REFUSAL = "wrong refusal"
    ACCEPTED_INVALID_TABLE = "accepted invalid table"
    COSMETIC = "cosmetic"


HAZARDS: Final = tuple(Hazard)
"""All hazards, worst first."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge says about one spec.

    Attributes:
        outcome: how it ended.
        message: one line that is the same whenever the same thing happens; baselines match it.
        hazard: what the failure does; set exactly when the outcome is ``FAIL`` or ``ADVICE``.
        expected: what the protocol demands, for people.
        actual: what was seen, for people.
        requirement: the id that is broken, where the judge knows better than the spec.
        details: further lines.
        seen: name of the accepted answer that was seen, for ``OPEN``.

    """

    outcome: Outcome
    message: str = ""
    hazard: Hazard | None = None
    expected: str = ""
    actual: str = ""
    requirement: str | None = None
    details: tuple[str, ...] = ()
    seen: str | None = None
