"""Baselines: failures that are known, each with what must still hold for it to count.

A baseline is a YAML file:

    claims: {operations: [scan], …}  # optional: a run that claims less fails
    judged:                          # optional: cases of each chapter to be judged at least,
      upstream: {checkpoints: 61}    # where a whole run judges by that revision
    failures:
      - id: chapter/case/spec        # "*" stands for any text; at most 20 items
        requirement: REC-001         # one that the item names or the verdict gives
        message: "rows: 1 missing"   # part of the message; /…/ is a regular expression
        reason: reads a removed file
        link: https://…              # optional
        intermittent: true           # optional: the item passes at some times and fails at others

An entry whose item passes, fails in another way or does not exist is stale, and a stale baseline
fails the run: a list that may rot hides regressions. Only an intermittent entry lets its item pass
as well, for implementations whose answer depends on chance.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from conformance.base.faults import BaselineError
from conformance.base.terminal import shortened
from conformance.judging.claims import WORDS
from conformance.report.share import Record, judged_by_chapter, share_of
from conformance.requirements.documents import Node, RegistryError, read_yaml
from conformance.requirements.registry import REVISIONS

UNTRIAGED: Final = "untriaged"
"""The reason of an entry that no person has looked into."""

_MAX_COVERED: Final = 20
"""Items that one entry may be about."""

_MAX_ID_CHARACTERS: Final = 200
"""Characters of an id in a message."""

_MAX_PATTERNS: Final = 1000
"""Entries that stand for more than one item; each is checked against each item."""

_MAX_EXPRESSION_CHARACTERS: Final = 50_000
"""Characters; what is linear in the length of a message may take seconds of a large expression."""

_MIN_MESSAGE_CHARACTERS: Final = 3
"""Characters of a message; fewer are part of nearly every failure's."""

_LABEL: Final = re.compile(r"\s*\w+:\s*")
"""How every message of one kind begins, such as ``rows:``."""

_SAYING_NOTHING: Final = ("", *"aeinorst 01:,.", "qxz jvk 07")
"""Texts that say nothing of any failure; an expression that one of them satisfies says no more."""

_REPETITION: Final = re.compile(r"(?<!\\)\{(?:[0-9]+,)?([0-9]+),?\}")
_EXPRESSION_SECONDS: Final = 10.0
"""Processor time for all messages that are regular expressions; thousands of usual ones take a
tenth of a second, and so does one that repeats and repeats."""

_NUMBERS: Final = ("reader_version", "writer_version")


def is_pattern(message: str) -> bool:
    """Return whether the message of an entry is a regular expression."""
    return len(message) > 2 and message[0] == message[-1] == "/"


@dataclass(frozen=True, slots=True)
class Entry:
    """One known failure.

    Attributes:
        id: id or pattern.
        requirement: the requirement that is broken.
        message: text or ``/regular expression/`` that the message must still match.
        reason: why it is known.
        link: where it is discussed.
        intermittent: whether the item may pass as well.
        place: ``file:line`` of the entry.
    """

    id: str
    requirement: str
    message: str
    reason: str
    link: str | None = None
    intermittent: bool = False
    place: str = ""

    def covers(self, identity: str) -> bool:
        """Return whether the entry is about an item."""
        return fnmatchcase(identity, self.id) if "*" in self.id else identity == self.id

    def covered(self, known: Mapping[str, object]) -> list[str]:
        """Return the items, out of all there are, that the entry is about."""
        if "*" in self.id:
            return [identity for identity in known if self.covers(identity)]
        return [self.id] if self.id in known else []

    def explains(self, requirements: Iterable[str], message: str) -> bool:
        """Return whether a failure is the known one."""
        return self.requirement in requirements and self.matches(message)

    def matches(self, message: str) -> bool:
        """Return whether a failure's message is the known one."""
        if is_pattern(self.message):
            return _occurs(self.message[1:-1], message)
        return self.message in message


@dataclass(frozen=True)
class Baseline:
    """The known failures of one implementation, and what it was judged by.

    Attributes:
        entries: the known failures.
        claims: what it claims, as in a results file; ``None`` where it is not recorded.
        judged: revision to chapter to the number of its cases that are judged at least. New cases
            that are not claimed leave it as it is.
        percent: percent of all cases that are judged at least, as older baselines have it;
            ``None`` as above.
    """

    entries: tuple[Entry, ...] = ()
    claims: Mapping[str, Any] | None = None
    judged: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    percent: float | None = None

    def about(self, identity: str) -> tuple[Entry, ...]:
        """Return the entries about an item."""
        patterns = (entry for entry in self._patterns if entry.covers(identity))
        return (*self._plain.get(identity, ()), *patterns)

    def shortfalls(
        self, records: Collection[Record], selected: int, revision: str
    ) -> Iterator[str]:
        """Name where a whole run judged less than is asked for.

        A count is not a share: a corpus that grows by what is not claimed changes none.

        Args:
            records: of all cases of the run.
            selected: how many cases were to be judged.
            revision: by which they were.
        """
        known = share_of(records, selected, chance=True)
        if self.percent is not None and known.percent < self.percent:
            yield f"{share_of(records, selected)}, and the baseline asks for {self.percent:g} %"
        judged = judged_by_chapter(records)
        for chapter, count in self.judged.get(revision, {}).items():
            if judged.get(chapter, 0) < count:
                asked = f"judged {judged.get(chapter, 0)} of {chapter}"
                yield f"{asked}, and the baseline asks for {count}"

    @cached_property
    def _patterns(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if "*" in entry.id)

    @cached_property
    def _plain(self) -> Mapping[str, Sequence[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if "*" not in entry.id:
                found.setdefault(entry.id, []).append(entry)
        return found

    def check(self, universe: Sequence[str]) -> list[str]:
        """Name the entries that no item has.

        Args:
            universe: ids of all items that exist, selected or not.

        Raises:
            BaselineError: an entry stands for more items than one may.
        """
        faults = []
        known = dict.fromkeys(universe)
        for entry in self.entries:
            matched, name = len(entry.covered(known)), shortened(entry.id, _MAX_ID_CHARACTERS)
            if not matched:
                faults.append(f"{entry.place}: {name} matches no case")
            elif matched > _MAX_COVERED:
                raise BaselineError(
                    f"{entry.place}: {name} covers {matched} cases, and an entry covers at most "
                    f"{_MAX_COVERED}: one reason for more hides what is new; write several entries"
                )
        return faults


def load_baseline(path: Path) -> Baseline:
    """Read a baseline file.

    Raises:
        BaselineError: it is missing or malformed; the message has file and line.
    """
    try:
        root = read_yaml(path, "a baseline").fields(("failures",), ("claims", "judged"))
        entries = tuple(_entries(root["failures"]))
        claims = _claims(root["claims"]) if "claims" in root else None
        judged, percent = _floor(root["judged"]) if "judged" in root else ({}, None)
    except RegistryError as error:
        first = not os.path.lexists(path)  # of a name that is too long this raises nothing
        hint = f"; a first one is written by --tck-write-baseline={path.name}" if first else ""
        raise BaselineError(f"{error}{hint}") from error
    taken: dict[str, Entry] = {}
    for entry in entries:
        other = taken.setdefault(entry.id, entry)
        if other is not entry:
            # One of them explains the failure: that the other no longer does would stay unseen.
            name = shortened(entry.id, _MAX_ID_CHARACTERS)
            raise BaselineError(f"{entry.place}: {name} has an entry already, at {other.place}")
    patterns = [each for each in entries if "*" in each.id]
    if len(patterns) > _MAX_PATTERNS:
        place = patterns[_MAX_PATTERNS].place
        raise BaselineError(f"{place}: more than {_MAX_PATTERNS} entries have a *")
    return Baseline(entries, claims, judged, percent)


def _entries(failures: Node) -> Iterator[Entry]:
    taken = 0.0
    for node in failures.items(may_be_empty=True):
        begun = time.process_time()
        entry = _entry(node)
        if is_pattern(entry.message):
            taken += time.process_time() - begun
            if taken > _EXPRESSION_SECONDS:
                limit = f"more than {_EXPRESSION_SECONDS:g} s to compile"
                raise node.fail(f"the regular expressions up to this one take {limit}")
        yield entry


def _claims(node: Node) -> dict[str, Any]:
    values = node.fields((*_NUMBERS, *WORDS))
    numbers = {name: values[name].integer() for name in _NUMBERS}
    sets = {name: [i.text() for i in values[name].items(may_be_empty=True)] for name in WORDS}
    return {**numbers, **sets}


def _floor(node: Node) -> tuple[dict[str, dict[str, int]], float | None]:
    if not node.is_mapping:
        return {}, _percent(node)
    counts = {revision: each.entries() for revision, each in node.fields((), REVISIONS).items()}
    judged = {
        revision: {chapter: count.integer() for chapter, count in chapters.items()}
        for revision, chapters in counts.items()
    }
    return judged, None


def _percent(node: Node) -> float:
    value = node.text()
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", value) or float(value) > 100:
        raise node.fail(f"judged is a percentage from 0 to 100, not {value!r}")
    return float(value)


def _entry(node: Node) -> Entry:
    values = node.fields(("id", "requirement", "message", "reason"), ("link", "intermittent"))
    chance = values.pop("intermittent", None)
    intermittent = chance is not None and chance.choice(("true", "false")) == "true"
    texts = {key: value.text() for key, value in values.items()}
    message = texts["message"]
    if len(message.strip()) < _MIN_MESSAGE_CHARACTERS:
        raise values["message"].fail("is so short that it is part of nearly every message")
    if _LABEL.fullmatch(message):
        raise values["message"].fail("names what differs, but not how")
    if is_pattern(message):
        if _size(message) > _MAX_EXPRESSION_CHARACTERS:
            raise values["message"].fail("is too large a regular expression, or repeats too much")
        try:
            if any(_occurs(message[1:-1], each) for each in _SAYING_NOTHING):
                raise values["message"].fail("is a regular expression that any text satisfies")
        except pa.ArrowInvalid as error:
            raise values["message"].fail(f"is no regular expression: {error}") from error
    return Entry(**texts, intermittent=intermittent, place=node.place)


def _size(pattern: str) -> int:
    """Return about how large an expression is once its counted repetitions are written out."""
    numbers = (int(number[-9:]) for number in _REPETITION.findall(pattern))
    return len(pattern) * max(1, sum(numbers))


def _occurs(pattern: str, message: str) -> bool:
    """Search for an expression of RE2, which takes linear time whatever a baseline asks for."""
    found = pc.match_substring_regex(pa.array([message], pa.string()), pattern)
    return bool(found[0].as_py())
