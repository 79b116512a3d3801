"""Count results by chapter and gather what needs a person's eye."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.base.outcomes import HAZARDS, JUDGED, Outcome
from conformance.report.results import Results
from conformance.report.share import Share, share_of


@dataclass(frozen=True, slots=True)
class Cell:
    """The outcomes of one chapter for one implementation.

    Attributes:
        counts: outcome to number of cases.
        hazard: the worst hazard among the failures, ``None`` without failures.

    """

    counts: Mapping[str, int]
    hazard: str | None

    @property
    def judged(self) -> int:
        """How many cases were judged."""
        return sum(count for outcome, count in self.counts.items() if outcome in JUDGED)

    @property
    def total(self) -> int:
        """How many cases there are, judged or not."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Column:
    """One results file, counted.

    Attributes:
        name: the implementation.
        engine_version: version of the engine that answered.
        header: the stamp.
        counts: outcome to number of cases, over all chapters.
        share: how much of its selection was judged.
        partial: why cases of the selection are missing; empty when none are.
        cells: chapter to its cell.
        failures: records that failed or ended in an error, worst hazard first.

    """

    name: str
    engine_version: str
    header: Mapping[str, Any]
    counts: Mapping[str, int]
    share: Share
    partial: tuple[str, ...]
    cells: Mapping[str, Cell]
    failures: tuple[Mapping[str, Any], ...]


def column_of(results: Results) -> Column:
    """Count one results file."""
    by_chapter: dict[str, list[Mapping[str, Any]]] = {}
    for record in results.records.values():
        by_chapter.setdefault(record["chapter"], []).append(record)
    adapter = results.header.get("adapter") or {}
    failures = sorted(
        (each for each in results.records.values() if _failed(each)),
        key=lambda record: (_rank(record["hazard"]), record["id"]),
    )
    return Column(
        name=str(adapter.get("name", "?")),
        engine_version=str(adapter.get("engine_version", "?")),
        header=results.header,
        counts=Counter(record["outcome"] for record in results.records.values()),
        share=share_of(results.records.values(), results.header["selected"]),
        partial=results.partial,
        cells={chapter: _cell(records) for chapter, records in by_chapter.items()},
        failures=tuple(failures),
    )


def chapters_of(columns: Sequence[Column]) -> Iterator[str]:
    """Return every chapter that any of the files has, in alphabetical order."""
    yield from sorted({chapter for column in columns for chapter in column.cells})


def _cell(records: Sequence[Mapping[str, Any]]) -> Cell:
    hazards = [record["hazard"] for record in records if record["outcome"] == Outcome.FAIL]
    return Cell(
        Counter(record["outcome"] for record in records), min(hazards, key=_rank, default=None)
    )


def _failed(record: Mapping[str, Any]) -> bool:
    return record["outcome"] in {Outcome.FAIL, Outcome.ERROR}


def _rank(hazard: str | None) -> int:
    words = [each.value for each in HAZARDS]
    return words.index(hazard) if hazard in words else len(words)
