"""What is known of a case: what it asks, which requirement it judges, and why an answer counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from conformance.explain.defects import Defect, load_defects
from conformance.explain.sources import SourceLine, builder_of
from conformance.golden.cases import Contested, Expected, ExpectedError, Spec
from conformance.items.items import Item
from conformance.judging.messages import describe_expected
from conformance.requirements.registry import SELECTIONS, Registry


@dataclass(frozen=True, slots=True)
class ItemExplained:
    """All that is known of a case.

    Attributes:
        item: the case.
        judges: selection of ``--tck-revision`` to the requirement that is judged under it.
        statements: requirement to what it says, of every requirement that is judged or named.
        levels: requirement to its level and role.
        steps: the requirement that each step of a recipe judges in the latest of its revisions.
        defects: what is planted in its table, or asked for.
        expects: what has to be answered; empty for what is no golden case.
        builder: who builds its table; ``None`` where an engine or a tool does.
    """

    item: Item
    judges: dict[str, str]
    statements: dict[str, str]
    levels: dict[str, tuple[str, str]]
    steps: tuple[str, ...]
    defects: tuple[Defect, ...]
    expects: str
    builder: SourceLine | None

    def as_document(self) -> dict[str, Any]:
        """Return it as JSON."""
        item = self.item
        return {
            "id": item.id,
            "title": item.title,
            "source": item.source,
            "chapter": item.chapter,
            "question": item.judged.question,
            "asked": item.judged.asked,
            "features": sorted(item.features),
            "expects": self.expects,
            "builder": str(self.builder) if self.builder else None,
            "judges": dict(self.judges),
            "steps": list(self.steps),
            "touches": list(item.requirements),
            "requirements": {
                name: {"statement": self.statements[name], "level": level, "role": role}
                for name, (level, role) in self.levels.items()
            },
            "defects": [
                {
                    "name": each.name,
                    "statement": each.statement,
                    "reader": each.reader,
                    "writer": each.writer,
                }
                for each in self.defects
            ],
        }


def explain_item(item: Item, registry: Registry, spec: Spec | None) -> ItemExplained:
    """Gather what is known of a case; ``spec`` is what it asks, of a golden one."""
    judges = {each: name for each in SELECTIONS if (name := item.requirement(each)) is not None}
    latest = next(reversed(judges), "upstream")
    steps = tuple(str(step.in_revision(latest)) for step in item.steps)
    names = [*dict.fromkeys((*judges.values(), *steps, *item.requirements))]
    known = [name for name in names if name in registry]
    return ItemExplained(
        item,
        judges,
        {name: " ".join(registry[name].statement.split()) for name in known},
        {name: (registry[name].level, registry[name].role) for name in known},
        steps,
        tuple(_defects(item.id)),
        _expected(spec) if spec else "",
        builder_of(item.id),
    )


def _expected(spec: Spec) -> str:
    match spec.expectation:
        case Expected() as expected:
            return describe_expected(spec.type, expected)
        case ExpectedError(kind, stage):
            return f"a refusal ({kind}) no later than {stage}"
        case Contested(accepted):
            return "one of " + "; ".join(f"{each.name} ({each.source})" for each in accepted)


def _defects(identity: str) -> Iterable[Defect]:
    case = identity.rpartition("/")[0]
    for defect in load_defects():
        mutations = [f"mutations/{each}" for each in defect.mutations]
        if case in (*defect.golden, *mutations, *defect.recipes):
            yield defect
