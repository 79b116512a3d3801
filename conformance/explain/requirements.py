"""What is known of a requirement: the clause, who obeys it, what shows it, and what proves it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from conformance.base.home import PROJECT
from conformance.explain.defects import Defect, load_defects
from conformance.explain.sources import SourceLine, builder_of, lines_naming
from conformance.golden.corpus import Corpus, default_corpus_path, load_corpus
from conformance.items.generated import Plan
from conformance.items.items import golden_items
from conformance.items.recipes import generated_recipes
from conformance.questions import QUESTIONS
from conformance.requirements.citations import Citation, cited_in_cases, cited_in_project
from conformance.requirements.clauses import quotes
from conformance.requirements.coverage import Coverage, measure
from conformance.requirements.gaps import EXCEPTIONS, read_gaps
from conformance.requirements.proofs import Proof, proofs_of, reason_unproved
from conformance.requirements.registry import SELECTIONS, Registry, Requirement
from generators.oracle.operations import OPERATIONS
from generators.spec_files import spec_files

_TEXT: Final = "https://github.com/delta-io/delta/blob/master/PROTOCOL.md"
_REVISIONS: Final = frozenset({"upstream", "2025", "2021"})
_DRAFT: Final = "RFC draft: "
ANCHORS: Final[Mapping[str, str]] = {
    "Add File and Remove File: add": "add-file-and-remove-file",
    "Add File and Remove File: remove": "add-file-and-remove-file",
    "Allowed combinations for checkpoint spec and checkpoint file naming": (
        "allowed-combinations-for-checkpoint-spec---checkpoint-file-naming"
    ),
    "Checkpoints (content)": "checkpoints-1",
    "Data Files (writer requirements)": "data-files-1",
    "Delta Log Entries (writer requirements)": "delta-log-entries-1",
    "Version Checksum: Reader Requirements": "reader-requirements",
    "Version Checksum: Writer Requirements": "writer-requirements",
}
"""Sections that are not called as their headings are, as several have one, or part of one."""

BY_DEFAULT: Final = frozenset(
    {name for each in QUESTIONS.values() for name in each.default}
    | {each.judges for each in OPERATIONS.values() if each.judges}
)
"""What questions and operations judge in cases that do not name it."""


@dataclass(frozen=True, slots=True)
class RequirementExplained:
    """All that is known of a requirement.

    Attributes:
        row: the requirement.
        quotes: text to the sentence, as far as a text was given that holds it.
        binds_in: the selections of ``--tck-revision`` under which it binds.
        code: where the reference implementation obeys it.
        cases: kind to what judges it: golden questions, recipes, mutations, audit checks.
        builders: who builds the tables of those questions and recipes.
        steps: recipe and number of each step that judges it.
        unjudged: why nothing judges it, where the kit says so.
        named: how many cases name it and judge another requirement.
        proofs: wrong implementations and faults that a case caught by its name.
        unproved: why there is none of them, where the kit says so.
        tests: where the kit's own tests name it; empty in a wheel, which has none.
        defects: defects that it is the ruling of.
    """

    row: Requirement
    quotes: Mapping[str, str]
    binds_in: tuple[str, ...]
    code: tuple[SourceLine, ...]
    cases: Mapping[str, tuple[str, ...]]
    builders: tuple[SourceLine, ...]
    steps: tuple[str, ...]
    unjudged: str | None
    named: int
    proofs: tuple[Proof, ...]
    unproved: str | None
    tests: tuple[SourceLine, ...]
    defects: tuple[Defect, ...]

    @property
    def link(self) -> str | None:
        """Where the section stands; ``None`` for what is no part of the protocol's text."""
        section = self.row.section
        if _REVISIONS.isdisjoint(self.row.revisions) or section.startswith(_DRAFT):
            return None
        kept = re.sub(r"[^\w\- ]", "", section.lower()).replace(" ", "-")
        return f"{_TEXT}#{ANCHORS.get(section, kept)}"

    def as_document(self) -> dict[str, Any]:
        """Return it as JSON."""
        row = self.row
        return {
            "id": row.id,
            "chapter": row.chapter,
            "section": row.section,
            "link": self.link,
            "role": row.role,
            "level": row.level,
            "feature": row.feature,
            "revisions": list(row.revisions),
            "binds_in": list(self.binds_in),
            "statement": " ".join(row.statement.split()),
            "quotes": dict(self.quotes),
            "clause_digest": dict(row.clause_digest),
            "ruling": row.ruling,
            "contested": [{"name": each.name, "source": each.source} for each in row.contested],
            "retired": row.retired,
            "superseded_by": row.superseded_by,
            "noticed_by": list(row.notice),
            "code": [asdict(each) for each in self.code],
            "cases": {kind: list(found) for kind, found in self.cases.items()},
            "builders": [asdict(each) for each in self.builders],
            "steps": list(self.steps),
            "unjudged": self.unjudged,
            "named_by_other_cases": self.named,
            "proofs": [{"kind": p.kind, "id": p.id, "case": p.case} for p in self.proofs],
            "unproved": self.unproved,
            "tests": [asdict(each) for each in self.tests],
            "defects": [each.name for each in self.defects],
        }


def explain_requirement(
    row: Requirement, registry: Registry, names: frozenset[str], texts: Mapping[str, str]
) -> RequirementExplained:
    """Gather what is known of a requirement.

    Args:
        row: the requirement.
        registry: all of them.
        names: all ids that are looked up, for which golden cases are read once.
        texts: name of a text of the protocol to the text, to quote from.

    Raises:
        conformance.base.faults.CorpusError: a case cannot be read.
    """
    quoted = {name: quotes(text, row.clause_digest.values()) for name, text in texts.items()}
    coverage = _coverage(registry, names)
    citations = _citations(names)
    judged = {case for kinds in coverage.cited.get(row.id, {}).values() for case in kinds}
    return RequirementExplained(
        row,
        {name: next(iter(each.values())) for name, each in quoted.items() if each},
        tuple(each for each in SELECTIONS if row.holds_in(each)),
        lines_naming(row.id, "reference_impl"),
        {str(kind): found for kind, found in coverage.cited.get(row.id, {}).items()},
        tuple(dict.fromkeys(place for case in sorted(judged) if (place := builder_of(case)))),
        tuple(_steps(row.id, names)),
        _unjudged().get(row.id),
        sum(row.id in each.requirements and each.case not in judged for each in citations),
        proofs_of(row.id),
        reason_unproved(row.id),
        lines_naming(row.id, "tests"),
        tuple(each for each in load_defects() if row.id in (each.requirement, each.breaks)),
    )


def _steps(name: str, names: frozenset[str]) -> Iterable[str]:
    for item in (*golden_items(corpus_naming(names)), *generated_recipes(Plan())):
        for number, step in enumerate(item.steps):
            if any(step.in_revision(each) == name for each in item.revisions):
                yield f"{item.id} step {number}"


@cache
def _unjudged() -> Mapping[str, str]:
    return read_gaps(EXCEPTIONS).reasons


@cache
def corpus_naming(names: frozenset[str]) -> Corpus:
    """Return the golden cases that have, or name, one of some ids.

    All are read where an id is judged by default: then no case has to name it.

    Raises:
        conformance.base.faults.CorpusError: they cannot be read.
    """
    root = default_corpus_path()
    sought = [os.fsencode(name) for name in names]

    def wanted(spec: str) -> bool:
        text = _text_of(root / spec.rpartition("/")[0])
        return spec in names or any(name in text for name in sought)

    return load_corpus(validate=False, wanted=wanted if names.isdisjoint(BY_DEFAULT) else None)


@cache
def _text_of(case: Path) -> bytes:
    return b"".join(each.read_bytes() for each in (case / "case.json", *spec_files(case)))


def _citations(names: frozenset[str]) -> tuple[Citation, ...]:
    return (*cited_in_cases(corpus_naming(names).cases), *_cited_elsewhere())


@cache
def _cited_elsewhere() -> tuple[Citation, ...]:
    return tuple(cited_in_project(PROJECT, ()))


@cache
def _coverage(registry: Registry, names: frozenset[str]) -> Coverage:
    return measure(registry, _citations(names))
