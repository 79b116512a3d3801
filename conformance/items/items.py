"""Items: what a run judges one by one, wherever it comes from.

A golden spec, a generated history in one layout and a mutation of a log are alike to selection,
baseline, results and summary: something with an id, requirements and a way to be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, TypeAlias

from conformance.base.outcomes import Verdict
from conformance.golden.cases import Case, Spec
from conformance.golden.corpus import Corpus
from conformance.judging.judge import Judge
from conformance.judging.verdicts import named_instead
from conformance.requirements.judged import Judged, binds, judged_of, judged_step
from conformance.requirements.registry import SELECTIONS, load_registry
from generators.histories.groups import Drawn
from generators.materialise.layouts import Layout
from generators.oracle.operations import History

Source: TypeAlias = Literal["golden", "generated", "mutations"]
"""Where an item comes from; each has one test module in :mod:`conformance.plugin.suite`."""

ALL_REVISIONS = frozenset(SELECTIONS)
"""The revisions that a run can select."""


class HistoryItem(Protocol):
    """What is judged by a history, and can be judged by a smaller one."""

    @property
    def id(self) -> str:
        """The id of the item."""

    @property
    def drawn(self) -> Drawn:
        """The history that the item is about."""

    @property
    def layout(self) -> Layout | None:
        """How the kit lays it out, ``None`` where the implementation writes it."""

    def judge_history(self, judge: Judge, history: History) -> Verdict:
        """Judge by another history than the item's own."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to judge.

    Attributes:
        id: permanent; for a golden spec ``<chapter>/<case>/<slug>``.
        source: where it comes from.
        chapter: slug of the protocol chapter that it belongs to.
        title: what holds, in the present tense.
        requirements: ids that it touches.
        features: table features of the table.
        revisions: protocol revisions under which its table applies.
        judge: takes the verdict.
        judged: the one requirement that it holds an implementation to.
        history: judges by other histories, where the item is about one.
        steps: what the steps of a recipe are held to, each by itself.
        instead: returns ids that a verdict may name in place of the judged one; who selects by
            requirement alone asks, for a table has to be looked at.
    """

    id: str
    source: Source
    chapter: str
    title: str
    requirements: tuple[str, ...]
    features: frozenset[str]
    revisions: frozenset[str]
    judge: Callable[[Judge], Verdict]
    judged: Judged
    history: HistoryItem | None = None
    steps: tuple[Judged, ...] = ()
    instead: Callable[[], tuple[str, ...]] = tuple

    def requirement(self, revision: str) -> str | None:
        """Return the requirement that is judged under a revision; ``None`` where none is."""
        return self.judged.in_revision(revision) if revision in self.revisions else None

    def requirements_judged(self, revision: str) -> frozenset[str]:
        """Return what a verdict may name under a revision, of the item and of steps of it."""
        whole = self.requirement(revision)
        if whole is None:
            return frozenset()
        steps = (step.in_revision(revision) for step in self.steps)
        rows = load_registry()
        asked = self.judged.asked
        other = (
            name
            for name in self.instead()
            if binds(rows[name], asked) and rows[name].holds_in(revision)
        )
        return frozenset({whole, *other, *(name for name in steps if name is not None)})


class TakesVerdict(Protocol):
    """Takes the verdict on a spec as :meth:`Judge.judge` does."""

    def __call__(self, judge: Judge, /, case: Case, spec: Spec) -> Verdict:
        """Return the verdict."""
        ...


def golden_items(
    corpus: Corpus, special: Mapping[str, TakesVerdict] | None = None
) -> Iterator[Item]:
    """Return an item for every spec of a corpus.

    Args:
        corpus: the golden tables.
        special: types of specs that no adapter is asked, and what takes their verdict.
    """
    for case in corpus.cases:
        for spec in case.specs:
            judged_by: TakesVerdict = (special or {}).get(spec.type, Judge.judge)
            yield Item(
                spec.id,
                "golden",
                case.chapter,
                spec.title,
                spec.requirements,
                case.features,
                case.revisions,
                partial(judged_by, case=case, spec=spec),
                judged_of(spec, case),
                steps=_steps(spec),
                instead=partial(named_instead, spec, case),
            )


def _steps(spec: Spec) -> tuple[Judged, ...]:
    if spec.type != "write":
        return ()
    said = spec.parameters.get("judged", {})
    steps = enumerate(spec.parameters["operations"])
    return tuple(judged_step(step["operation"], said.get(str(at))) for at, step in steps)
