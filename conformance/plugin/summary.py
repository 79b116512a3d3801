"""The summary that a person acts on: what was judged, then failures by hazard and requirement.

Covers every section: failures are printed with the clause in our words, what was expected, what
was seen, the case ids and the command that repeats one. Failures that say the same are printed
once.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from conformance.base.outcomes import ALTERED, HAZARDS, MEANINGS, Hazard, Outcome
from conformance.base.terminal import printable, shortened
from conformance.judging.messages import blocking
from conformance.report.share import Record, Share, least_judged, share_of, unclaimed_words
from conformance.requirements.registry import Registry

_T = TypeVar("_T")

_GROUPS: Final = 5
"""Different failures of one requirement that are printed."""

_REQUIREMENTS: Final = 8
"""Requirements of one hazard that are printed."""

_MAX_NAMED: Final = 3
"""Cases that are named of those that fail alike."""

_WORDS: Final = 8
"""Words and chapters that are printed of a list."""

_HALF: Final = 50.0
"""Percent; chapters of which less was judged are named."""

_WIDTH: Final = 200


def counts_line(records: Iterable[Record]) -> str:
    """Return one line of counts by outcome, known failures apart."""
    counts = Counter(str(record["outcome"]) for record in records if not _known(record))
    known = sum(1 for record in records if _known(record))
    parts = [f"{counts[o]} {o}" for o in Outcome if counts[o]]
    return (
        ", ".join([*parts, *([f"{known} known failure{'s' * (known > 1)}"] if known else [])])
        or "nothing"
    )


def lead_line(records: Sequence[Record], selected: int) -> str:
    """Return the line that every summary begins with: what was judged, and what not claimed."""
    words = [f"{word} ({count})" for word, count in unclaimed_words(records)]
    missing = f"; not claimed: {_list(words, _WORDS)}" if words else ""
    return f"{share_of(records, selected)}{missing}"


def _known(record: Record) -> bool:
    return bool(record["standing"] == "known")


def _requirement(record: Record) -> str:
    return str(record["requirement"] or record["requirements"][0])


def _finding(record: Record) -> str:
    """Name what failed: a requirement, or what an adapter does to any table."""
    return ALTERED if record["message"].startswith(ALTERED) else _requirement(record)


def _list(words: Sequence[str], most: int) -> str:
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def _by(key: Callable[[_T], Hashable], items: Iterable[_T]) -> list[list[_T]]:
    groups: dict[Hashable, list[_T]] = {}
    for each in items:
        groups.setdefault(key(each), []).append(each)
    return sorted(groups.values(), key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a run.

    Attributes:
        records: every judged item.
        selected: how many items the selection takes.
        registry: gives each requirement's section and statement.
        reproduce: gives the command that repeats one item.
        verbose: print everything, however long.
    """

    records: Sequence[Record]
    selected: int
    registry: Registry
    reproduce: Callable[[str], str]
    verbose: bool

    def lines(self) -> Iterator[str]:
        """Return the lines, without ends; nothing in them steers a terminal."""
        yield from map(printable, self._parts())

    def _parts(self) -> Iterator[str]:
        yield lead_line(self.records, self.selected)
        yield from self._chapters()
        news = [record for record in self.records if not _known(record)]
        for hazard in HAZARDS:
            failures = [r for r in news if r["hazard"] == hazard and r["outcome"] == Outcome.FAIL]
            if failures:
                yield from self._hazard(hazard, failures)
        yield from self._errors([r for r in news if r["outcome"] == Outcome.ERROR])
        yield from self._advice([r for r in news if r["outcome"] == Outcome.ADVICE])
        yield from self._open([r for r in self.records if r["outcome"] == Outcome.OPEN])
        yield from self._blocked()
        yield from self._stale([str(r["stale"]) for r in self.records if r["stale"]])

    def _most(self, usual: int) -> int:
        return len(self.records) if self.verbose else usual

    def _chapters(self) -> Iterator[str]:
        found: list[tuple[str, Share]] = least_judged(self.records, _HALF)
        if found:
            words = [f"{chapter} {share.judged} of {share.of}" for chapter, share in found]
            yield f"LITTLE JUDGED: {_list(words, self._most(_WORDS))}"

    def _hazard(self, hazard: Hazard, failures: Sequence[Record]) -> Iterator[str]:
        yield f"{hazard.upper()} ({len(failures)})"
        groups = _by(_finding, sorted(failures, key=lambda r: str(r["id"])))
        most = self._most(_REQUIREMENTS)
        for group in groups[:most]:
            finding = _finding(group[0])
            clause = "" if finding == ALTERED else f"  {_clause(finding, self.registry)}"
            yield f"  {finding}{clause}"
            alike = _by(lambda record: str(record["actual"]), group)
            shown = self._most(_GROUPS)
            for same in alike[:shown]:
                yield from self._failure(same)
            yield from _rest(alike[shown:], "    ")
        yield from _rest(groups[most:], "  ")

    def _failure(self, alike: Sequence[Record]) -> Iterator[str]:
        first = alike[0]
        if len(alike) == 1:
            yield f"    {first['id']}: {first['title']}"
        else:
            names = _list([str(record["id"]) for record in alike], self._most(_MAX_NAMED))
            yield f"    {len(alike)} cases: {names}"
        yield f"      expected: {_line(first['expected'])}"
        yield f"      actual:   {_line(first['actual'])}"
        yield from (f"        {_line(line)}" for line in first["details"][:4])
        yield f"      repeat:   {self.reproduce(first['id'])}"

    def _errors(self, errors: Sequence[Record]) -> Iterator[str]:
        if not errors:
            return
        yield f"NO VERDICT ({len(errors)}): the adapter or the kit broke"
        groups = _by(lambda record: str(record["message"]), errors)
        most = self._most(_GROUPS)
        for alike in groups[:most]:
            names = _list([str(record["id"]) for record in alike], self._most(_MAX_NAMED))
            yield f"  {names}: {_line(alike[0]['message'])}"
            yield from (f"      {line}" for line in alike[0]["details"][-5:])
            yield f"      repeat: {self.reproduce(alike[0]['id'])}"
        yield from _rest(groups[most:], "  ")

    def _advice(self, records: Sequence[Record]) -> Iterator[str]:
        if records:
            words = [
                f"{_requirement(group[0])} ({len(group)})" for group in _by(_requirement, records)
            ]
            yield f"ADVICE ({len(records)}): a SHOULD is not followed: {_list(words, _WORDS)}"

    def _open(self, records: Sequence[Record]) -> Iterator[str]:
        if not records:
            return
        more = "" if self.verbose else "; -v says which reading was seen"
        yield f"CONTESTED ({len(records)}): {MEANINGS[Outcome.OPEN].words}{more}"
        if self.verbose:
            yield from (f"  {record['id']}: {record['seen']}" for record in records)

    def _blocked(self) -> Iterator[str]:
        blocked = Counter(
            blocking(record["message"])
            for record in self.records
            if record["outcome"] == Outcome.BLOCKED
        )
        if blocked:
            words = [f"{count} by {root}" for root, count in blocked.most_common()]
            total = blocked.total()
            yield f"BLOCKED ({total}): {_list(words, self._most(_MAX_NAMED))}"

    def _stale(self, ids: Sequence[str]) -> Iterator[str]:
        most = self._most(2 * _GROUPS)
        yield from (f"STALE BASELINE: {_line(line)}" for line in ids[:most])
        if len(ids) > most:
            yield f"STALE BASELINE: {len(ids) - most} more; -v prints them"


def _rest(groups: Sequence[Sequence[Record]], indent: str) -> Iterator[str]:
    count = sum(map(len, groups))
    if count:
        yield f"{indent}… and {count} more; -v prints them, --tck-results keeps them"


def _clause(requirement: str, registry: Registry) -> str:
    if requirement not in registry:
        return "(not in the registry)"
    row = registry[requirement]
    return f"{row.section} ({row.level}): {row.statement}"


def _line(text: str) -> str:
    return shortened(text, _WIDTH)


def reproduce_command(impl: str, options: Sequence[str], identity: str) -> str:
    """Return the command that repeats one item."""
    return shlex.join(["pytest", f"--impl={impl}", *options, f"--tck-case={identity}"])
