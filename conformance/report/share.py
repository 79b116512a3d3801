"""How much of a selection was judged, and what was not claimed of the rest.

A case counts as judged when its verdict was taken from what the implementation did
(``outcomes.JUDGED``). The share is of the cases that were selected, so that a run
that came to an end early, or asked little, shows it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from conformance.base.outcomes import JUDGED

Record: TypeAlias = Mapping[str, Any]
"""One judged item, as the line of a results file has it."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of some cases.

    Attributes:
        judged: how many were judged.
        of: out of how many.
    """

    judged: int
    of: int

    @property
    def percent(self) -> float:
        """Return the share in percent, rounded down to a tenth: 100 means all."""
        return math.floor(1000 * self.judged / self.of) / 10 if self.of else 0.0

    def __str__(self) -> str:
        """Return the share as summaries print it."""
        return f"judged {self.judged} of {self.of} ({self.percent:g} %)"


def share_of(records: Iterable[Record], of: int | None = None, *, chance: bool = False) -> Share:
    """Count the judged ones among records.

    Args:
        records: as in a results file.
        of: how many were selected; as many as there are records when ``None``.
        chance: count what an intermittent failure blocked as well, so that two runs of one
            release have one share.
    """
    found = list(records)
    judged = sum(
        record["outcome"] in JUDGED or (chance and record["intermittent"]) for record in found
    )
    return Share(judged, len(found) if of is None else of)


def judged_by_chapter(records: Iterable[Record]) -> dict[str, int]:
    """Count the judged ones of each chapter that has any, by its name.

    What an intermittent failure blocked counts, so that two runs of one release have one count.
    """
    judged = (r for r in records if r["outcome"] in JUDGED or r["intermittent"])
    return dict(sorted(Counter(str(record["chapter"]) for record in judged).items()))


def unclaimed_words(records: Iterable[Record]) -> list[tuple[str, int]]:
    """Count what was not claimed among unsupported records, most frequent first."""
    words = Counter(word for record in records for word in record["unclaimed"])
    return sorted(words.items(), key=lambda entry: (-entry[1], entry[0]))


def by_chapter(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the records of each chapter, by its name."""
    chapters: dict[str, list[Record]] = {}
    for record in records:
        chapters.setdefault(record["chapter"], []).append(record)
    return chapters


def least_judged(records: Sequence[Record], below: float) -> list[tuple[str, Share]]:
    """Return the chapters of which less than some percentage was judged, the least first."""
    shares = [(chapter, share_of(found)) for chapter, found in by_chapter(records).items()]
    return sorted(
        ((chapter, share) for chapter, share in shares if share.percent < below),
        key=lambda entry: (entry[1].percent, entry[0]),
    )
