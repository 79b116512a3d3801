"""Outcomes, hazards and verdicts: what the judge can say about one case.

The set is closed; skipping is not among it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from conformance.base.faults import FaultKind
from conformance.base.terminal import shortened


class Outcome(StrEnum):
    """How a case ended; :data:`MEANINGS` says what each is and what follows from it."""

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    BLOCKED = "blocked"
    ERROR = "error"
    OPEN = "open"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What follows from an outcome.

    Attributes:
        words: what it is, for people.
        judged: the verdict was taken from what the implementation did; of other cases its answer is
            unknown.
        rank: how bad it is beside others; a case that comes to a higher rank is a regression.
        fails: it turns a run red unless a baseline knows it.
        strict: the ``--tck-strict`` level under which it fails as well.
    """

    words: str
    judged: bool
    rank: int
    fails: bool = False
    strict: str | None = None


MEANINGS: Final[Mapping[Outcome, Meaning]] = {
    Outcome.PASS: Meaning("as the protocol demands", judged=True, rank=0),
    Outcome.FAIL: Meaning("otherwise; carries a hazard", judged=True, rank=3, fails=True),
    Outcome.UNSUPPORTED: Meaning(
        "not claimed, and refused cleanly or never asked: conformant, and not judged",
        judged=False,
        rank=2,
    ),
    Outcome.BLOCKED: Meaning(
        "a question about a table whose more basic question failed already; the root cause is "
        "shown once",
        judged=False,
        rank=3,
    ),
    Outcome.ERROR: Meaning(
        "no verdict: a crash, a time limit, or a fault of the kit", judged=False, rank=3, fails=True
    ),
    Outcome.OPEN: Meaning(
        "the text is contested, and the answer follows one of its readings, which is recorded: "
        "no failure",
        judged=True,
        rank=0,
    ),
    Outcome.ADVICE: Meaning(
        "a SHOULD is not followed; fails under `--tck-strict=should` alone",
        judged=True,
        rank=1,
        strict="should",
    ),
}
"""Every outcome and what follows from it."""

JUDGED: Final = frozenset(outcome for outcome, meaning in MEANINGS.items() if meaning.judged)
"""Outcomes of cases that count as judged."""


def failing(strict: str | None = None) -> frozenset[Outcome]:
    """Return what turns a run red at a level of ``--tck-strict``, unless a baseline knows it."""
    return frozenset(
        outcome
        for outcome, meaning in MEANINGS.items()
        if meaning.fails or (strict is not None and meaning.strict == strict)
    )


FAILING: Final = failing()
"""Outcomes that fail at every level."""

_MAX_CHARACTERS: Final = 10_000
"""Characters of one text of a verdict."""

_MAX_LINES: Final = 200
"""Lines of details of a verdict; a line of results holds them all."""

ALTERED: Final = "the adapter changed the table that it was asked to read"
"""How the message of a verdict begins that is about no requirement of the case."""


def _text(text: str) -> str:
    """Return a text in Unicode alone, and not longer than a verdict's may be."""
    return shortened(text.encode("utf-8", "backslashreplace").decode(), _MAX_CHARACTERS)


class Hazard(StrEnum):
    """What a failure does to a user who trusts the implementation, worst first.

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
        fault: how the adapter failed to answer, for ``ERROR``; ``None`` for a fault of the kit.
        unclaimed: what the implementation does not claim, for ``UNSUPPORTED``.
        foreign_rows: a reader gave rows that the table never had, whatever it was advised to do.
    """

    outcome: Outcome
    message: str = ""
    hazard: Hazard | None = None
    expected: str = ""
    actual: str = ""
    requirement: str | None = None
    details: tuple[str, ...] = ()
    seen: str | None = None
    fault: FaultKind | None = None
    unclaimed: tuple[str, ...] = ()
    foreign_rows: bool = False

    def as_document(self) -> dict[str, Any]:
        """Return what results and bundles keep of it, as JSON."""
        return {
            "outcome": self.outcome.value,
            "hazard": self.hazard.value if self.hazard else None,
            "requirement": self.requirement,
            "message": self.message,
            "expected": self.expected,
            "actual": self.actual,
            "details": list(self.details),
        }

    def __post_init__(self) -> None:
        """Cut what an implementation makes long, as with the names of a million columns.

        Names of files may hold what no Unicode text holds, and baselines and results are such.
        """
        for name in ("message", "expected", "actual"):
            object.__setattr__(self, name, _text(getattr(self, name)))
        details = self.details
        if len(details) > _MAX_LINES:
            kept = details[: _MAX_LINES - 1]
            details = (*kept, f"… {len(details) - len(kept)} more lines")
        lines = tuple(map(_text, details))
        object.__setattr__(self, "details", lines)
