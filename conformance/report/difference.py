"""Tell two results files apart, case by case.

Totals hide regressions, so only cases whose outcome or message changed are named. Two files are
comparable when they judge one implementation by one revision; another corpus is said, because
cases that one of them lacks prove nothing about the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.faults import KitError
from conformance.outcomes import Outcome
from conformance.results import Results

__all__ = ["Change", "DifferentRunsError", "changes_between"]

_STAMPS = ("implementation", "revision")
_GOOD = frozenset({Outcome.PASS, Outcome.UNSUPPORTED, Outcome.OPEN})


class DifferentRunsError(KitError):
    """Two results files say nothing about each other."""


@dataclass(frozen=True, slots=True)
class Change:
    """One case that two runs judge differently.

    Attributes:
        id: the case.
        kind: ``regression``, ``fixed``, ``changed``, ``added`` or ``gone``.
        before: outcome and message of the first run; empty when it lacks the case.
        after: the same of the second run.

    """

    id: str
    kind: str
    before: str
    after: str


def changes_between(before: Results, after: Results) -> Iterator[Change]:
    """Give the cases on which two runs differ, by id.

    Raises:
        DifferentRunsError: the runs are of different implementations or revisions.

    """
    for name, one, other in zip(_STAMPS, _stamp(before), _stamp(after), strict=True):
        if one != other:
            raise DifferentRunsError(f"the runs differ in {name}: {one} and {other}")
    for identity in sorted(before.records.keys() | after.records.keys()):
        old, new = before.records.get(identity), after.records.get(identity)
        if old is None and new is not None:
            yield Change(identity, "added", "", _words(new["outcome"], new["message"]))
        elif new is None and old is not None:
            yield Change(identity, "gone", _words(old["outcome"], old["message"]), "")
        elif old is not None and new is not None:
            first = _words(old["outcome"], old["message"])
            second = _words(new["outcome"], new["message"])
            if first != second:
                yield Change(identity, _kind(old["outcome"], new["outcome"]), first, second)


def _stamp(results: Results) -> tuple[object, object]:
    adapter = results.header.get("adapter") or {}
    return adapter.get("name"), results.header.get("revision")


def _kind(old: str, new: str) -> str:
    was_good, is_good = old in _GOOD, new in _GOOD
    if was_good and not is_good:
        return "regression"
    return "fixed" if is_good and not was_good else "changed"


def _words(outcome: str, message: str) -> str:
    return f"{outcome}: {message}" if message else outcome
