"""Coverage in both directions: requirements without a case, cases without a requirement.

A requirement is covered when a case judges it: a golden table that is read judges one requirement
of readers and says nothing about writers, an audit check judges what writers leave on disk and says
nothing about readers. The figures keep apart what only an audit check covers, and what is only
named by cases that judge another one.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from conformance.base.commands import NOT_ALONE
from conformance.base.faults import CorpusError
from conformance.base.home import PROJECT
from conformance.base.terminal import emit, warn
from conformance.golden.corpus import load_corpus
from conformance.requirements.citations import Citation, CitationError, Kind, cited_in_project
from conformance.requirements.gaps import EXCEPTIONS, faults_of, read_gaps, render_gaps
from conformance.requirements.proofs import load_proofs
from conformance.requirements.registry import (
    LEVELS,
    SELECTIONS,
    Registry,
    RegistryError,
    Requirement,
    load_registry,
)

_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_READING: Final[frozenset[Kind]] = frozenset({"golden", "mutation"})
_WRITING: Final[frozenset[Kind]] = frozenset({"recipe", "mutation", "audit"})
_JUDGED_BY: Final[Mapping[str, frozenset[Kind]]] = {
    "reader": _READING,
    "file": _READING | _WRITING,
    "writer": _WRITING,
    "checkpoint-writer": _WRITING,
    "vacuum": _WRITING,
    "cleanup": _WRITING,
}
_OK: Final = 0
_GAPS: Final = 1
_UNUSABLE: Final = 2


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of some requirements are covered.

    Attributes:
        total: requirements.
        covered: those that anything names.
        audit_only: those of the covered ones that only audit checks name.
    """

    total: int
    covered: int
    audit_only: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """What is covered by what.

    Attributes:
        requirements: the requirements looked at, in registry order.
        cited: requirement id to the cases that judge it, by kind.
        named_only: ids that are named only by cases that judge another one.
        cases: how many cases of each kind there are.
        unknown: case and id, for ids that no requirement has.
        retired: case and id, for requirements that are no longer judged.
        nameless: cases that name no requirement.
        proved: ids for which a wrong implementation or a planted fault made a case fail by name.
    """

    requirements: tuple[Requirement, ...]
    cited: Mapping[str, Mapping[Kind, tuple[str, ...]]]
    named_only: frozenset[str]
    cases: Mapping[Kind, int]
    unknown: tuple[tuple[str, str], ...]
    retired: tuple[tuple[str, str], ...]
    nameless: tuple[str, ...]
    proved: frozenset[str] = frozenset()

    def cases_of(self, requirement: str) -> tuple[str, ...]:
        """Return the cases that judge a requirement, kind by kind."""
        by_kind = self.cited.get(requirement, {})
        return tuple(case for kind in _KINDS for case in by_kind.get(kind, ()))

    def uncovered(self, level: str = "MUST") -> tuple[Requirement, ...]:
        """Return the requirements of a level that nothing names."""
        rows = (row for row in self.requirements if row.level == level)
        return tuple(row for row in rows if row.id not in self.cited)

    def proved_rows(self, chapter: str | None) -> tuple[Requirement, ...]:
        """Return the MUST requirements with a proof, of a chapter or of all."""
        rows = (row for row in self.requirements if row.level == "MUST")
        return tuple(r for r in rows if r.id in self.proved and chapter in (None, r.chapter))

    def tally(self, level: str, chapter: str | None = None) -> Tally:
        """Count the requirements of a level, in one chapter or in all."""
        rows = [r for r in self.requirements if r.level == level and chapter in (None, r.chapter)]
        kinds = [self.cited[row.id].keys() for row in rows if row.id in self.cited]
        return Tally(len(rows), len(kinds), sum(found == {"audit"} for found in kinds))

    @property
    def faults(self) -> list[str]:
        """Sentences about cases that name nothing, nothing known, or nothing that binds."""
        return [
            *(f"{case} names no requirement" for case in self.nameless),
            *(
                f"{case} names {name}, which no requirement has as its id"
                for case, name in self.unknown
            ),
            *(f"{case} names {name}, which is retired" for case, name in self.retired),
        ]


def measure(
    registry: Registry,
    citations: Iterable[Citation],
    revision: str | None = None,
    proved: Collection[str] = (),
) -> Coverage:
    """Compute the coverage.

    Args:
        registry: the requirements.
        citations: the cases.
        revision: a selection out of the registry's ``SELECTIONS``; all requirements
            that are not retired when ``None``.
        proved: ids that have a proof.

    Raises:
        ValueError: the revision is not a selection.
    """
    rows = (
        tuple(row for row in registry if row.retired is None)
        if revision is None
        else registry.for_revision(revision)
    )
    looked_at = {row.id for row in rows}
    cited: dict[str, dict[Kind, list[str]]] = {}
    cases: dict[Kind, int] = dict.fromkeys(_KINDS, 0)
    unknown: list[tuple[str, str]] = []
    retired: list[tuple[str, str]] = []
    nameless: list[str] = []
    named: set[str] = set()
    for citation in citations:
        cases[citation.kind] += 1
        if not citation.requirements:
            nameless.append(citation.case)
        judged = citation.judges(registry, revision)
        for name in dict.fromkeys((*citation.requirements, *sorted(judged))):
            if name not in registry:
                unknown.append((citation.case, name))
            elif registry[name].retired is not None:
                retired.append((citation.case, name))
            elif name not in looked_at:
                continue
            elif name not in judged or citation.kind not in _JUDGED_BY[registry[name].role]:
                named.add(name)
            else:
                by_kind = cited.setdefault(name, defaultdict(list))
                by_kind[citation.kind].append(citation.case)
    frozen = {
        name: {kind: tuple(found) for kind, found in by_kind.items()}
        for name, by_kind in cited.items()
    }
    return Coverage(
        rows,
        frozen,
        frozenset(named - frozen.keys()),
        cases,
        tuple(unknown),
        tuple(retired),
        tuple(nameless),
        frozenset(proved) & looked_at,
    )


def render_text(coverage: Coverage, registry: Registry) -> str:
    """Draw the figures as a table for a terminal."""
    rows = _table(coverage, registry)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([_summary(coverage), "", *lines]) + "\n"


def render_markdown(coverage: Coverage, registry: Registry) -> str:
    """Draw the figures as Markdown."""
    head, *rows = _table(coverage, registry)
    lines = [
        f"{_summary(coverage)}",
        "",
        "| " + " | ".join(head) + " |",
        "|--|" + "--:|" * (len(head) - 1),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def run_coverage_cli(argv: Sequence[str]) -> int:
    """Run ``delta-tck coverage``.

    Returns:
        0 when every MUST has a case or a listed exception and every case names requirements
        that exist; 1 when not; 2 when the registry or the cases cannot be read.
    """
    arguments = _parser().parse_args(argv)
    try:
        registry = load_registry()
        corpus = load_corpus(arguments.corpus, validate=arguments.corpus is not None)
        citations = list(cited_in_project(arguments.project, corpus.cases))
        coverage = measure(registry, citations, arguments.revision, load_proofs().all)
        everything = measure(registry, citations)
        gaps = read_gaps(arguments.exceptions)
    except (RegistryError, CorpusError, CitationError) as error:
        warn(f"delta-tck coverage: {error}")
        return _UNUSABLE
    uncovered = [row.id for row in everything.uncovered()]
    if arguments.prune:
        gaps = gaps.without(set(gaps.requirements) - set(uncovered))
        arguments.exceptions.write_text(render_gaps(gaps), encoding="utf-8")
    faults = everything.faults + faults_of(gaps, registry, uncovered)
    render = render_markdown if arguments.format == "markdown" else render_text
    emit(sys.stdout, render(coverage, registry))
    if arguments.list:
        emit(sys.stdout, "\n" + "".join(_line(row) for row in coverage.uncovered()))
    for fault in faults:
        warn(fault)
    return _GAPS if faults else _OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="delta-tck coverage",
        description="Say which requirements have cases, and fail when a gap is not accounted for.",
    )
    parser.add_argument(
        "--revision", choices=tuple(SELECTIONS), help="count what binds under it; default: all"
    )
    parser.add_argument("--format", choices=("text", "markdown"), default="text")
    parser.add_argument("--list", action="store_true", help="name the MUST rows without a case")
    parser.add_argument(
        "--prune", action="store_true", help="take covered rows out of the list of exceptions"
    )
    parser.add_argument("--project", type=Path, default=PROJECT, help="folder of the packages")
    parser.add_argument(
        "--corpus", type=Path, help="folder of the golden cases; default: those shipped"
    )
    parser.add_argument("--exceptions", type=Path, default=EXCEPTIONS)
    return parser


def _summary(coverage: Coverage) -> str:
    cases = ", ".join(f"{count} {kind}" for kind, count in coverage.cases.items())
    must = coverage.tally("MUST")
    named = sum(row.id in coverage.named_only for row in coverage.uncovered())
    proved = len(coverage.proved_rows(None))
    return (
        f"{must.covered} of {must.total} MUST requirements are cited by what judges them, "
        f"{must.audit_only} of them by an audit check alone, and {proved} are proved by a wrong "
        f"implementation or a planted fault; {named} more are named by cases "
        f"that judge another one ({cases})."
    )


def _table(coverage: Coverage, registry: Registry) -> list[list[str]]:
    head = ["Chapter", *LEVELS, "MUST missing", "MUST proved"]
    chapters = [
        [registry.title(chapter), *_cells(coverage, chapter)]
        for chapter in registry.chapters
        if any(row.chapter == chapter for row in coverage.requirements)
    ]
    return [head, *chapters, ["All", *_cells(coverage, None)]]


def _cells(coverage: Coverage, chapter: str | None) -> list[str]:
    tallies = [coverage.tally(level, chapter) for level in LEVELS]
    cells = [f"{tally.covered}/{tally.total}" if tally.total else "" for tally in tallies]
    proved = len(coverage.proved_rows(chapter))
    return [*cells, str(tallies[0].total - tallies[0].covered), str(proved)]


def _line(row: Requirement) -> str:
    return f"{row.id}  {row.role}  {row.statement}\n"


if __name__ == "__main__":
    raise SystemExit(NOT_ALONE)
