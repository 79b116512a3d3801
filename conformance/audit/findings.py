"""What an audit finds, and how a check is registered.

Serves every section of the protocol. A check is a plain function with the requirements that it
can report; tables of checks stand at the end of the modules that hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from conformance.registry import load_registry
from reference_impl.errors import PlaceRefused

__all__ = [
    "SEVERITIES",
    "Check",
    "Finding",
    "Findings",
    "Severity",
    "finding",
    "not_followed",
    "severity_of",
]

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

    """

    requirement: str
    severity: Severity
    place: str
    message: str
    hint: str = ""


Findings: TypeAlias = Iterator[Finding]

_Subject = TypeVar("_Subject", contravariant=True)  # noqa: PLC0105  a subject is only taken in


@dataclass(frozen=True, slots=True)
class Check(Generic[_Subject]):
    """A check function and the requirements that its findings can name.

    Attributes:
        run: takes the subject, yields findings, raises nothing on a bad table.
        requirements: every id that a finding of it can carry.

    """

    run: Callable[[_Subject], Findings]
    requirements: tuple[str, ...]


def severity_of(requirement: str) -> Severity:
    """Give the severity that the registry's level of a requirement amounts to."""
    row = load_registry()[requirement]
    severity = _BY_LEVEL[row.level]
    return "warning" if severity == "error" and row.contested else severity


def finding(
    requirement: str,
    place: str,
    message: str,
    hint: str = "",
    *,
    severity: Severity | None = None,
) -> Finding:
    """Make a finding, by default with the severity that the registry gives its requirement."""
    return Finding(requirement, severity or severity_of(requirement), place, message, hint)


def not_followed(error: PlaceRefused, place: str) -> Finding:
    """Say that a file was not looked at, because its path is not followed."""
    message = f"the file was not looked at: {error.message}"
    return finding("ADD-002", place, message, error.hint or "", severity="warning")
