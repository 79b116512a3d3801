"""Prove a breach: a case fails the wrong implementation by the name of what it breaks.

A case proves it when the judge fails the wrong implementation by that name, as a run with
``--tck-requirement`` would report it, and does not fail the right one.
"""

from __future__ import annotations

import atexit
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from breaches.model import Breach
from breaches.seams import Wrong
from conformance.audit import AuditError, audit
from conformance.audit.findings import severity_of
from conformance.base.outcomes import Outcome, Verdict
from conformance.golden.corpus import load_corpus
from conformance.items.items import Item, golden_items
from conformance.items.mutated import mutated_items
from conformance.judging.judge import Judge
from conformance.judging.tables import TableStore
from conformance.requirements.levels import at_level
from conformance.requirements.proofs import Proof
from conformance.requirements.registry import load_registry
from generators.mutations import MUTATIONS

_OTHERS = 6
"""Items that are tried of those that do not name the row."""

_ID = re.compile(r"[A-Z][A-Z0-9-]*-[0-9]{3}")


@dataclass(frozen=True, slots=True)
class Task:
    """Something to prove.

    Attributes:
        id: slug of the breach or fault.
        requirement: what it breaks.
        kind: reader, writer or fault.
        run: tries items, first the one that is named; gives the id of the one that shows it.
        offered: it proves the row where it does, and is no fault of the kit where it does not.
    """

    id: str
    requirement: str
    kind: str
    run: Callable[[str | None], str | None]
    offered: bool = False

    def prove(self, known: str | None = None) -> Proof | None:
        """Return the proof, where there is one; ``known`` is the case of the last time."""
        case = self.run(known)
        return None if case is None else Proof(self.requirement, self.kind, self.id, case)


@cache
def items() -> tuple[Item, ...]:
    corpus = load_corpus(validate=False)
    return (*golden_items(corpus), *mutated_items(load_registry(), audited=False))


@cache
def by_id() -> dict[str, Item]:
    return {item.id: item for item in items()}


def revision_of(requirement: str, item: Item | None = None) -> str:
    """Return the revision to judge by: 2025 where the row holds there, and an item is known."""
    row = load_registry()[requirement]
    held = [each for each in ("2025", "upstream", "2021") if row.holds_in(each)]
    asked = (each for each in held if item is not None and item.requirement(each) is not None)
    return next(asked, held[0])


def candidates(breach: Breach, known: str | None = None) -> Iterator[Item]:
    """Return the items that a run of this requirement selects, the likeliest first."""
    if known in by_id():
        yield by_id()[known]
    reads = breach.kind == "reader"

    def named_in(item: Item) -> str | None:
        return item.requirement(revision_of(breach.breaks, item))

    able = [
        item
        for item in items()
        if (item.judged.asked == "reader") is reads
        and item.id != known
        and fnmatchcase(item.id, breach.case)
        and named_in(item) is not None
    ]
    judged = [item for item in able if named_in(item) == breach.breaks]
    yield from judged
    if reads:
        return
    named = [i for i in able if breach.breaks in i.requirements and i not in judged]
    yield from named
    # Whatever is written is audited; where nothing names the row, a few stand for all.
    tried = {item.id for item in (*judged, *named)}
    others = [item for item in able if item.id not in tried]
    yield from others[:: max(1, len(others) // _OTHERS)]


@cache
def _store() -> TableStore:
    store = TableStore()
    atexit.register(store.close)
    return store


def judged(item: Item, breach: Breach | None, revision: str) -> Verdict:
    """Judge a wrong implementation, or the right one, by one item."""
    adapter = Wrong(None if breach is None else breach.how)
    judge = Judge(adapter, adapter.describe().claims, _store(), roots={item.id}, revision=revision)
    name = item.requirement(revision)
    assert name is not None
    return at_level(item.judge(judge), name, item.judged.asked, load_registry(), revision)


def names(verdict: Verdict, requirement: str) -> bool:
    """Return whether a verdict fails by a name: as what is broken, or as one of the findings."""
    if verdict.outcome is not Outcome.FAIL:
        return False
    found = {_ID.match(detail) for detail in verdict.details}
    return requirement in (verdict.requirement, *(m[0] for m in found if m))


@cache
def _right(name: str, revision: str) -> bool:
    verdict = judged(by_id()[name], None, revision)
    return verdict.outcome in (Outcome.PASS, Outcome.OPEN)


def killer(breach: Breach, known: str | None = None) -> str | None:
    """Return the first item that shows a breach by its name, and that the right one passes."""
    for item in candidates(breach, known):
        revision = revision_of(breach.breaks, item)
        try:
            verdict = judged(item, breach, revision)
        except Exception as error:  # a fault of the breach proves nothing
            raise RuntimeError(f"{breach.id} on {item.id}: {error}") from error
        if names(verdict, breach.breaks) and _right(item.id, revision):
            return item.id
    return None


def breach_tasks(table: Iterable[Breach]) -> Iterator[Task]:
    for breach in table:
        yield Task(
            breach.id,
            breach.breaks,
            breach.kind,
            lambda known, breach=breach: killer(breach, known),  # type: ignore[misc]
        )


def mutation_tasks() -> Iterator[Task]:
    """Return what the mutations of the kit plant, for the rows that an audit has to name."""
    registry = load_registry()
    for mutation in MUTATIONS:
        if mutation.noticed_by not in ("audit", "both"):
            continue
        for name in mutation.requirements:
            if registry[name].role != "reader" and registry[name].retired is None:
                yield Task(
                    f"mutation-{mutation.id}",
                    name,
                    "fault",
                    lambda _known, mutation=mutation, name=name: _planted(mutation, name),  # type: ignore[misc]
                    offered=True,
                )


def _planted(mutation: Any, name: str) -> str | None:
    with _store().new_table() as root:
        mutation.build(root)
        return f"mutations/{mutation.id}/audit" if found_at(root, name) else None


def found_at(root: Path, requirement: str) -> bool:
    """Return whether the audit reports a requirement: as an error, where it is one that binds.

    A warning makes no run fail.
    """
    enough = {"error"} if severity_of(requirement) == "error" else {"error", "warning"}
    try:
        found = audit(str(root), revision=revision_of(requirement))
    except AuditError:
        return False
    return any(each.requirement == requirement and each.severity in enough for each in found)


_HOME = Path(__file__).parent.parent


def sources() -> Iterator[Path]:
    """Return the files that say what is broken, and how."""
    for pattern in ("breaches/**/*.py", "faults/*.py", "faults/data/*.yaml"):
        yield from sorted(_HOME.glob(pattern))


def digest_of(proofs: Sequence[Proof]) -> str:
    """Return the digest of the table of breaches and of the cases that the proofs name."""
    found = hashlib.sha256()
    for path in sources():
        found.update(path.relative_to(_HOME).as_posix().encode())
        found.update(path.read_bytes())
    corpus = load_corpus(validate=False)
    cases = {proof.case.rpartition("/")[0] for proof in proofs}
    for case in corpus.cases:
        if case.id in cases:
            for path in sorted(case.table.parent.rglob("*.json")):
                found.update(path.read_bytes())
    for proof in sorted(proofs):
        found.update(repr(proof).encode())
    return found.hexdigest()
