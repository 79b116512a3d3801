"""What an audit finds, and how a check is registered.

A check is a function, decorated with what it looks at and with the requirements that it can report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from conformance.base.terminal import shortened
from conformance.requirements.general import general_of
from conformance.requirements.registry import load_registry
from reference_impl.errors import LimitExceeded, PlaceRefused
from reference_impl.shown import shown_location

Severity: TypeAlias = Literal["error", "warning", "info"]
"""``error``: a clause that binds is broken. ``warning``: advice is not taken, or the clause is
contested. ``info``: legal, but worth knowing."""

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")

_BY_LEVEL: Final[dict[str, Severity]] = {
    "MUST": "error",
    "DEF": "error",
    "SHOULD": "warning",
    "MAY": "info",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing at one place that a requirement speaks about.

    Attributes:
        requirement: id out of the requirement registry.
        severity: see :data:`Severity`.
        place: file of the table, relative to its root, with line or row where that helps.
        message: what is there and what the clause wants.
        hint: what a person can do about it; empty when there is nothing to add.
        count: how often the same is found, here and at other places.
        places: the first of those places, this one among them; empty when there is no other.
        limit: name of the limit that kept the audit from looking further; empty when none did.
            Then nothing is said against the table.
    """

    requirement: str
    severity: Severity
    place: str
    message: str
    hint: str = ""
    count: int = 1
    places: tuple[str, ...] = ()
    limit: str = ""


Findings: TypeAlias = Iterator[Finding]

_Subject = TypeVar("_Subject", contravariant=True)  # noqa: PLC0105  a subject is only taken in

Stage: TypeAlias = Literal[
    "log", "commit", "definition", "add", "change", "version", "files", "checksum", "repeated",
    "checkpoint parts", "checkpoint", "checkpoint content",
]  # fmt: skip
"""When checks run. ``log``: once, on its files. ``commit``: on each step; ``definition``, of
protocol, metaData and domains, and ``add``, of live files: on checkpoints without commits as well;
``change``: on each step, with the files that it names. ``version``: on the latest one; ``files``:
on its data files. ``repeated``: on what a summary says otherwise of some.
``checkpoint``: on each complete one, ``checkpoint content`` if it can be read;
``checkpoint parts``: on incomplete ones as well."""


@dataclass(frozen=True, slots=True)
class Check(Generic[_Subject]):
    """A check function and the requirements that its findings can name.

    Attributes:
        stage: when it runs.
        run: takes the subject, yields findings, raises nothing on a bad table.
        requirements: every id that a finding of it can carry.
        screen: says which rows of file actions the check has to see, see
            :mod:`conformance.audit.screens`; all of them for ``None``.
        whole: has to see all files of a version at once, and not those of some paths.
    """

    stage: Stage
    run: Callable[[_Subject], Findings]
    requirements: tuple[str, ...]
    screen: Callable[[Any], Any] | None
    whole: bool


def check(
    stage: Stage,
    *requirements: str,
    screen: Callable[[Any], Any] | None = None,
    whole: bool = False,
) -> Callable[[Callable[[_Subject], Findings]], Check[_Subject]]:
    """Make a check of a function; see :class:`Check`. Spaces separate the ids of requirements."""
    ids = tuple(" ".join(requirements).split())
    return lambda run: Check(stage, run, ids, screen, whole)


def checks_in(*modules: ModuleType) -> tuple[Check[Any], ...]:
    """Return the checks that modules define, in their order."""
    return tuple(
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, Check) and each.run.__module__ == module.__name__
    )


def severity_of(requirement: str) -> Severity:
    """Return the severity that the registry's level of a requirement amounts to."""
    row = load_registry()[requirement]
    severity = _BY_LEVEL[row.level]
    return "warning" if severity == "error" and row.contested else severity


def finding(  # noqa: PLR0913  each keyword is one fact about what is found
    requirement: str,
    place: str,
    message: str,
    hint: str = "",
    *,
    severity: Severity | None = None,
    sure: bool = True,
    count: int = 1,
    limit: str = "",
) -> Finding:
    """Make a finding, by default with the severity that the registry gives its requirement.

    It is a warning where it is not ``sure`` that the requirement is broken.
    """
    found = severity or (severity_of(requirement) if sure else "warning")
    return Finding(requirement, found, place, message, hint, count, limit=limit)


def unchecked(requirement: str, place: str, error: LimitExceeded) -> Finding:
    """Make the finding for what a limit kept from being checked against a requirement.

    Raises:
        LimitExceeded: the limit is that on time, which ends the audit.
    """
    if error.limit == "seconds":
        raise error
    message = f"not checked: {error.message}"
    hint = "raise the limit to check it" if error.allowed is not None else error.hint or ""
    return Finding(requirement, "warning", place, message, hint, limit=error.limit)


PLACES: Final = 100
"""Places that are kept of what is found again and again."""

_DISTINCT: Final = 20_000
"""Findings of one requirement and severity that are kept; the rest is counted."""


_MAX_CHARACTERS: Final = 10_000
"""Characters of a place and of a message; no system opens a file of a longer name."""


def merge_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Put findings that differ by their place alone into one, and bound how many there are.

    Gives them in the order of their first places, and what they name without its secrets. Memory is
    bounded whatever the table holds.
    """
    kept: dict[tuple[str, ...], Finding] = {}
    places: dict[tuple[str, ...], dict[str, None]] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    distinct: Counter[tuple[str, str]] = Counter()
    for found in findings:
        kind = (found.requirement, found.severity)
        key = (*kind, found.message, found.hint, found.limit)
        if key not in kept:
            distinct[kind] += 1
            if distinct[kind] > _DISTINCT:
                message = f"more findings of {found.requirement} than are listed"
                found = replace(found, message=message, hint="")  # noqa: PLW2901  as if found so
                key = (*kind, message, "", found.limit)
            kept.setdefault(key, found)
        known = places.setdefault(key, {})
        if found.place in known:
            continue  # two checks see the same
        for place in found.places or (found.place,):
            if len(known) < PLACES:
                known[place] = None
        counts[key] += found.count
    return [
        replace(
            found,
            place=_shown(found.place),
            message=_shown(found.message),
            hint=_shown(found.hint),
            count=counts[key],
            places=tuple(map(_shown, places[key])) if len(places[key]) > 1 else (),
        )
        for key, found in kept.items()
    ]


def _shown(text: str) -> str:
    """Return what a finding says without secrets, and no longer than a person reads."""
    return shortened(shown_location(text), _MAX_CHARACTERS)


PART_IS_BROKEN: Final = "is a part of it, and is broken"
"""What is said of a requirement that is broken in general, after the part."""


def gathered(findings: Iterable[Finding], revision: str | None) -> list[Finding]:
    """Merge findings, the gravest first, and name what a broken part breaks in general.

    Args:
        findings: of an audit.
        revision: general requirements are named that are in force in it; all for ``None``.
    """
    found = merge_findings(findings)
    named = {each.requirement for each in found if each.severity != "info"}
    grave = [each for each in found if each.severity == "error" and not each.limit]
    for row, part in general_of(each.requirement for each in grave):
        if row not in named and (revision is None or load_registry()[row].holds_in(revision)):
            places = (each.places or (each.place,) for each in grave if each.requirement == part)
            found.append(finding(row, min(map(min, places)), f"{part} {PART_IS_BROKEN}"))
    return sorted(found, key=lambda each: SEVERITIES.index(each.severity))


def not_followed(error: PlaceRefused, place: str) -> Finding:
    """Say that a file was not looked at, because its path is not followed."""
    message = f"the file was not looked at: {error.message}"
    return finding("ADD-002", place, message, error.hint or "", severity="warning")
