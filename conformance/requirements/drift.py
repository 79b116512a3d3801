"""What a new text of the protocol changes for requirements, cases and proofs.

The registry keeps a digest of the sentence behind each requirement. A requirement has drifted when
the new text holds its sentence no more: the clause was reworded, moved into another sentence or
taken away, and a person has to look. Against an old text the sentences with an obligation are
named, too, that the old one has not.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.base.commands import NOT_ALONE
from conformance.base.faults import CorpusError
from conformance.base.home import PROJECT
from conformance.base.terminal import emit, warn
from conformance.base.untrusted import DocumentError
from conformance.golden.corpus import load_corpus
from conformance.requirements.citations import CitationError, cited_in_project
from conformance.requirements.clauses import ClauseIndex, read_protocol, sentences
from conformance.requirements.coverage import measure
from conformance.requirements.proofs import proofs_of
from conformance.requirements.registry import (
    REVISIONS,
    Registry,
    RegistryError,
    Requirement,
    load_registry,
)

_STATUS_UNCHANGED: Final = 0
_STATUS_CHANGED: Final = 1
_UNUSABLE: Final = 2


@dataclass(frozen=True, slots=True)
class Drifted:
    """A requirement whose sentence the new text does not hold.

    Attributes:
        requirement: the row.
        cases: the cases that judge it.
        proofs: the wrong implementations and faults that prove it.
    """

    requirement: Requirement
    cases: tuple[str, ...]
    proofs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drift:
    """What a new text means for the registry.

    Attributes:
        revision: what the registry was compared by: a revision, or the old text.
        drifted: requirements whose sentence is gone, in registry order.
        kept: how many requirements have their sentence still.
        unpinned: requirements of the revision without a digest; nothing can be said of them.
        added: sentences of the new text with an obligation, which the old one lacks.
    """

    revision: str
    drifted: tuple[Drifted, ...]
    kept: int
    unpinned: tuple[Requirement, ...]
    added: tuple[str, ...] = ()


_DUTY: Final = re.compile(
    r"\b(must|shall|should|required?|requires|cannot|may not|not allowed|recommended)\b",
    re.IGNORECASE,
)


def find_change(
    old: str, new: str, registry: Registry, cases: Mapping[str, Iterable[str]] | None = None
) -> Drift:
    """Compare two texts of the protocol: what of the old one the new one does not hold.

    A requirement is compared by those of its digests that the old text holds, whichever revision
    they were taken from.

    Args:
        old: the whole old text, Markdown or plain.
        new: the whole new text.
        registry: the requirements.
        cases: requirement id to the cases that judge it.
    """
    rows = [row for row in registry if row.retired is None]
    digests = {value for row in rows for value in row.clause_digest.values()}
    held = digests - ClauseIndex.of(old).missing(digests)
    missing = ClauseIndex.of(new).missing(held)
    pinned = {row.id: held & {*row.clause_digest.values()} for row in rows}
    drifted = _drifted([row for row in rows if pinned[row.id] and pinned[row.id] <= missing], cases)
    kept = sum(bool(found) for found in pinned.values()) - len(drifted)
    before = sentences(old)
    added = tuple(
        text for value, text in sentences(new).items() if value not in before and _DUTY.search(text)
    )
    return Drift("the old text", drifted, kept, (), added)


def _drifted(
    rows: Iterable[Requirement], cases: Mapping[str, Iterable[str]] | None
) -> tuple[Drifted, ...]:
    named = cases or {}
    return tuple(
        Drifted(row, tuple(named.get(row.id, ())), tuple(each.id for each in proofs_of(row.id)))
        for row in rows
    )


def find_drift(
    text: str,
    registry: Registry,
    cases: Mapping[str, Iterable[str]] | None = None,
    revision: str = "2025",
) -> Drift:
    """Compare the registry with a new text of the protocol.

    Args:
        text: the whole new text, Markdown or plain.
        registry: the requirements.
        cases: requirement id to the cases that name it.
        revision: the text whose digests are compared, out of
            :data:`conformance.requirements.registry.REVISIONS`.

    Raises:
        ValueError: the revision is not one.
    """
    if revision not in REVISIONS:
        raise ValueError(f"{revision!r} is not one of {', '.join(REVISIONS)}")
    rows = [row for row in registry if revision in row.revisions and row.retired is None]
    pinned = {row.id: row.clause_digest[revision] for row in rows if revision in row.clause_digest}
    missing = ClauseIndex.of(text).missing(pinned.values())
    drifted = _drifted([row for row in rows if pinned.get(row.id) in missing], cases)
    unpinned = tuple(row for row in rows if row.id not in pinned)
    return Drift(revision, drifted, len(pinned) - len(drifted), unpinned)


def render_drift(drift: Drift) -> str:
    """Write the drift for a terminal: a line for each requirement, its cases below it."""
    cases = {case for item in drift.drifted for case in item.cases}
    proofs = {proof for item in drift.drifted for proof in item.proofs}
    summary = (
        f"{len(drift.drifted)} requirements of {drift.revision} have lost their sentence and "
        f"{drift.kept} have kept it; {len(cases)} cases and {len(proofs)} proofs are affected; "
    )
    summary += (
        f"{len(drift.added)} new sentences state an obligation."
        if drift.added
        else f"{len(drift.unpinned)} requirements are not pinned to a sentence."
    )
    lines = [summary]
    for item in drift.drifted:
        row = item.requirement
        lines += ["", f"{row.id}  {row.section}  ({row.place})", f"  {row.statement}"]
        lines += [f"  - {case}" for case in item.cases]
        lines += [f"  - proof {proof}" for proof in item.proofs]
    lines += ["", *(f"new: {text}" for text in drift.added)] if drift.added else []
    return "\n".join(lines) + "\n"


def run_drift_cli(argv: Sequence[str]) -> int:
    """Run ``delta-tck drift [OLD] NEW``.

    Returns:
        0 when every sentence is still there; 1 when some are not; 2 when the text, the registry
        or the cases cannot be read.
    """
    arguments = _parser().parse_args(argv)
    try:
        registry = load_registry()
        texts = [read_protocol(path) for path in arguments.texts]
        corpus = load_corpus(arguments.corpus, validate=arguments.corpus is not None)
        citations = cited_in_project(arguments.project, corpus.cases)
        coverage = measure(registry, citations)
    except (DocumentError, RegistryError, CorpusError, CitationError) as error:
        warn(f"delta-tck drift: {error}")
        return _UNUSABLE
    cases = {row.id: coverage.cases_of(row.id) for row in coverage.requirements}
    if len(texts) > 2:
        warn("delta-tck drift: an old text and a new one, or a new one alone")
        return _UNUSABLE
    drift = (
        find_change(texts[0], texts[1], registry, cases)
        if len(texts) == 2
        else find_drift(texts[0], registry, cases, arguments.revision)
    )
    if not drift.kept:
        warn(
            f"delta-tck drift: {arguments.texts[-1]} holds no sentence of {drift.revision}; "
            "is it the protocol?"
        )
        return _UNUSABLE
    emit(sys.stdout, render_drift(drift))
    return _STATUS_CHANGED if drift.drifted or drift.added else _STATUS_UNCHANGED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck drift",
        description="Name the requirements, cases and proofs that a new text affects.",
    )
    parser.add_argument(
        "texts", type=Path, nargs="+", metavar="TEXT", help="the old text, where given, and the new"
    )
    parser.add_argument(
        "--revision",
        choices=REVISIONS,
        default="2025",
        help="what to compare by without an old text; default: 2025",
    )
    parser.add_argument("--project", type=Path, default=PROJECT, help="folder of the packages")
    parser.add_argument(
        "--corpus", type=Path, help="folder of the golden cases; default: those shipped"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
