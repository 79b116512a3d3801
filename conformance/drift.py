"""What a new text of the protocol changes for the requirements and for the cases.

Serves every section. The registry keeps a digest of the sentence behind each requirement. A
requirement has drifted when the new text holds its sentence no more: the clause was reworded,
moved into another sentence or taken away, and a person has to look. That a sentence is still
there says nothing about sentences that were added beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.citations import CitationError, cited_in_project
from conformance.clauses import ClauseIndex
from conformance.corpus import default_corpus_path
from conformance.coverage import measure
from conformance.registry import REVISIONS, Registry, RegistryError, Requirement, load_registry
from conformance.terminal import emit, warn

__all__ = ["Drift", "Drifted", "find_drift", "render_drift", "run_drift_cli"]

_SAME: Final = 0
_CHANGED: Final = 1
_UNUSABLE: Final = 2


@dataclass(frozen=True, slots=True)
class Drifted:
    """A requirement whose sentence the new text does not hold.

    Attributes:
        requirement: the row.
        cases: the cases that name it.

    """

    requirement: Requirement
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """What a new text means for the registry.

    Attributes:
        revision: the text that the registry was compared by.
        drifted: requirements whose sentence is gone, in registry order.
        kept: how many requirements have their sentence still.
        unpinned: requirements of the revision without a digest; nothing can be said of them.

    """

    revision: str
    drifted: tuple[Drifted, ...]
    kept: int
    unpinned: tuple[Requirement, ...]


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
            :data:`conformance.registry.REVISIONS`.

    Raises:
        ValueError: the revision is not one.

    """
    if revision not in REVISIONS:
        raise ValueError(f"{revision!r} is not one of {', '.join(REVISIONS)}")
    rows = [row for row in registry if revision in row.revisions and row.retired is None]
    pinned = {row.id: row.clause_digest[revision] for row in rows if revision in row.clause_digest}
    missing = ClauseIndex.of(text).missing(pinned.values())
    named = cases or {}
    drifted = tuple(
        Drifted(row, tuple(named.get(row.id, ()))) for row in rows if pinned.get(row.id) in missing
    )
    unpinned = tuple(row for row in rows if row.id not in pinned)
    return Drift(revision, drifted, len(pinned) - len(drifted), unpinned)


def render_drift(drift: Drift) -> str:
    """Write the drift for a terminal: a line for each requirement, its cases below it."""
    cases = {case for item in drift.drifted for case in item.cases}
    summary = (
        f"{len(drift.drifted)} requirements of {drift.revision} have lost their sentence and "
        f"{drift.kept} have kept it; {len(cases)} cases are affected; "
        f"{len(drift.unpinned)} requirements are not pinned to a sentence."
    )
    lines = [summary]
    for item in drift.drifted:
        row = item.requirement
        lines += ["", f"{row.id}  {row.section}  ({row.place})", f"  {row.statement}"]
        lines += [f"  - {case}" for case in item.cases]
    return "\n".join(lines) + "\n"


def run_drift_cli(argv: Sequence[str]) -> int:
    """Run ``delta-tck drift PROTOCOL.md``.

    Returns:
        0 when every sentence is still there; 1 when some are not; 2 when the text, the registry
        or the cases cannot be read.

    """
    arguments = _parser().parse_args(argv)
    try:
        registry = load_registry()
        text = arguments.text.read_text(encoding="utf-8")
        citations = cited_in_project(arguments.project, arguments.corpus)
        coverage = measure(registry, citations)
    except (OSError, UnicodeDecodeError, RegistryError, CitationError) as error:
        warn(f"delta-tck drift: {error}")
        return _UNUSABLE
    cases = {row.id: coverage.cases_of(row.id) for row in coverage.requirements}
    drift = find_drift(text, registry, cases, arguments.revision)
    if not drift.kept:
        warn(
            f"delta-tck drift: {arguments.text} holds no sentence of {arguments.revision}; "
            "is it the protocol?"
        )
        return _UNUSABLE
    emit(sys.stdout, render_drift(drift))
    return _CHANGED if drift.drifted else _SAME


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck drift",
        description="Name the requirements and cases that a new text of the protocol affects.",
    )
    project = Path(__file__).parent.parent
    parser.add_argument("text", type=Path, help="the new text of the protocol")
    parser.add_argument(
        "--revision", choices=REVISIONS, default="2025", help="text to compare by; default: 2025"
    )
    parser.add_argument("--project", type=Path, default=project, help="folder of the packages")
    parser.add_argument(
        "--corpus", type=Path, default=default_corpus_path(), help="folder of the golden cases"
    )
    return parser
