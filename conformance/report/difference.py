"""Compare two results files, case by case.

Totals hide regressions, so every case that two runs judge differently is named. A case is worse
off when its outcome ranks higher (:data:`conformance.base.outcomes.MEANINGS`): an answer that is no
longer given is a regression as much as a wrong one. So is a failure that came to a worse hazard.
Two files are comparable when they judge one implementation by one revision; whatever else differs
between the runs is said, because it may be the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from conformance.base.faults import UnusableError
from conformance.base.outcomes import HAZARDS, MEANINGS, Outcome
from conformance.judging.claims import fewer_claims
from conformance.judging.messages import alike, blocking
from conformance.report.results import Results
from conformance.report.share import Record, Share, share_of

_STAMPS: Final = (
    ("revision", "revision"),
    ("kit_version", "kit version"),
    ("corpus_digest", "corpus"),
    ("selection", "selection"),
    ("cases", "number of cases"),
)


class DifferentRunsError(UnusableError):
    """Two results files say nothing about each other."""


@dataclass(frozen=True, slots=True)
class Change:
    """One case that two runs judge differently.

    Attributes:
        id: the case.
        kind: ``regression``, ``fixed``, ``changed``, ``intermittent``, ``added``, ``gone`` or
            ``unknown``; a case is intermittent where the baselines of both runs list it so, or
            list what blocks it in one of them, and unknown where one run lacks it that is partial,
            or that chose otherwise.
        before: outcome and message of the first run; empty when it lacks the case.
        after: the same of the second run.
    """

    id: str
    kind: str
    before: str
    after: str


@dataclass(frozen=True)
class Difference:
    """What two runs differ in.

    Attributes:
        before: the first run.
        after: the second run.
        across: the runs may be of different revisions; what a revision says otherwise counts.

    Raises:
        DifferentRunsError: the runs are of different implementations or revisions.
    """

    before: Results
    after: Results
    across: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        for name, one, other in zip(
            ("implementation", "revision"), _who(self.before), _who(self.after), strict=True
        ):
            if one != other and not (self.across and name == "revision"):
                raise DifferentRunsError(f"the runs differ in {name}: {one} and {other}")

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The cases on which the runs differ, by id."""
        names = sorted(self.before.records.keys() | self.after.records.keys())
        found = (self._change(name) for name in names)
        return tuple(change for change in found if change is not None)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many changes there are of each kind."""
        return Counter(change.kind for change in self.changes)

    @property
    def shares(self) -> tuple[Share, Share]:
        """How much of its selection each run judged."""
        return _share(self.before), _share(self.after)

    @property
    def partial(self) -> tuple[str, ...]:
        """Why one of the runs lacks cases that the other has, or of its own selection."""
        runs = (("first", self.before), ("second", self.after))
        found = [
            f"the {which} run is partial: {reason}" for which, run in runs for reason in run.partial
        ]
        if not self._chosen_alike and self.before.records.keys() != self.after.records.keys():
            found += [
                f"the {which} run {_choice(run)}, and lacks cases of the other: {len(lacking)}"
                for (which, run), (_, other) in zip(runs, reversed(runs), strict=True)
                if (lacking := other.records.keys() - run.records.keys())
            ]
        return tuple(found)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What differs between the runs themselves."""
        return tuple(self._remarks())

    @property
    def regressions(self) -> tuple[str, ...]:
        """Everything that is worse than before, in words."""
        found = [f"{c.id}: {c.before} -> {c.after or 'not there'}" for c in self._worse()]
        before, after = self.shares
        if not self.partial and self._alike and self._newly_judged < 0:
            found.append(f"fewer judged: {before}, then {after}")
        lost = fewer_claims(self.before.header["claims"], self.after.header["claims"])
        return (*found, *(f"claimed no longer: {each}" for each in lost))

    @property
    def _alike(self) -> bool:
        """Return whether both runs chose among the same cases in the same way."""
        return all(
            self.before.header.get(name) == self.after.header.get(name)
            for name, _ in _STAMPS
            if name != "kit_version"
        )

    @property
    def _chosen_alike(self) -> bool:
        """Return whether the options of both runs, of which shard is one, took the same cases."""
        names = ("selection", "shard")
        return all(self.before.header.get(n) == self.after.header.get(n) for n in names)

    @property
    def _newly_judged(self) -> int:
        """How many cases more the second run judged, of those that chance does not decide."""
        runs = self.before.records, self.after.records
        names = [change.id for change in self.changes if change.kind != "intermittent"]
        one, other = (share_of(run[n] for n in names if n in run).judged for run in runs)
        return other - one

    @cached_property
    def _intermittent(self) -> frozenset[str]:
        """The cases that the baselines of both runs let pass and fail."""
        one, other = (
            {name for name, record in run.records.items() if record.get("intermittent")}
            for run in (self.before, self.after)
        )
        return frozenset(one & other)

    def _worse(self) -> Iterator[Change]:
        for change in self.changes:
            if change.kind == "regression" or (change.kind == "gone" and self._alike):
                yield change

    def _remarks(self) -> Iterator[str]:
        one, other = self.before.header, self.after.header
        for name, words in _STAMPS:
            if one.get(name) != other.get(name):
                yield f"{words}: {one.get(name)}, then {other.get(name)}"
        first, second = one["adapter"], other["adapter"]
        for name in ("engine_version", "adapter_version"):
            if first[name] != second[name]:
                yield f"{name.replace('_', ' ')}: {first[name]}, then {second[name]}"
        for each in fewer_claims(one["claims"], other["claims"]):
            yield f"claimed no longer: {each}"
        for each in fewer_claims(other["claims"], one["claims"]):
            yield f"claimed newly: {each}"
        yield from self.partial

    def _change(self, name: str) -> Change | None:
        old, new = self.before.records.get(name), self.after.records.get(name)
        if old is None or new is None:
            lacking = self.before if old is None else self.after
            unknown = lacking.partial or not self._chosen_alike
            kind = "unknown" if unknown else "added" if old is None else "gone"
            return Change(name, kind, _words(old), _words(new))
        if _comparable(old) == _comparable(new):
            return None
        was, now = (MEANINGS[Outcome(each["outcome"])].rank for each in (old, new))
        better = now < was and MEANINGS[Outcome(new["outcome"])].judged
        worse = now > was or (now == was and _does_more_harm(old, new))
        if {name, _root(new if worse else old)} & self._intermittent:
            return Change(name, "intermittent", _words(old), _words(new))
        kind = "regression" if worse else "fixed" if better else "changed"
        return Change(name, kind, _words(old), _words(new))


def _who(results: Results) -> tuple[object, object]:
    return results.header["adapter"]["name"], results.header["revision"]


def _choice(results: Results) -> str:
    shard = results.header.get("shard")
    return (
        "has another selection" if shard is None else f"is part {shard['number']} of {shard['of']}"
    )


def _share(results: Results) -> Share:
    return share_of(results.records.values(), results.header["selected"])


def _root(record: Record) -> str | None:
    """Return the id of the case that blocks one."""
    blocked = record["outcome"] == Outcome.BLOCKED
    return blocking(record["message"]) if blocked else None


def _comparable(record: Record) -> tuple[object, ...]:
    """Return what distinguishes two verdicts: outcome, reading, and of failures the message."""
    meaning = MEANINGS[Outcome(record["outcome"])]
    message = record["message"] if meaning.fails or meaning.strict else ""
    return record["outcome"], record["hazard"], record["seen"], alike(message)


def _does_more_harm(old: Record, new: Record) -> bool:
    """Return whether a failure turned into one of a worse hazard, as a refusal into wrong rows."""
    if old["hazard"] is None or new["hazard"] is None:
        return False
    return HAZARDS.index(new["hazard"]) < HAZARDS.index(old["hazard"])


def _words(record: Record | None) -> str:
    if record is None:
        return ""
    outcome, message = record["outcome"], record["message"]
    return f"{outcome}: {message}" if message else str(outcome)
