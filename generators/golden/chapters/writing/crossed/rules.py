"""Cases of writing: rules hold on top of every checkpoint, and for every operation.

A rule stands in the metadata, so that a checkpoint of it, a vector or another operation changes
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Computed, Recipe, pairs
from generators.golden.chapters.writing.starts import (
    FIRST_ROW,
    Step,
    appending,
    refused_or_generated,
    ruled,
)
from generators.oracle import delta_schema as of
from generators.oracle.delta_schema import Struct, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import CheckpointKind

CHECKS: Final = Chapter("check-constraints", since="2025")
GENERATED: Final = Chapter("generated-columns", since="2025")
INVARIANTS: Final = Chapter("column-invariants")
APPEND_ONLY: Final = Chapter("append-only-tables")
SCHEMA: Final = Chapter("schema-serialization-format")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule of a table, rows that obey it, and a step that breaks it."""

    chapter: Chapter
    row: str
    requirements: str
    breach: str
    broken: Step
    schema: Struct = PAIR
    rows: tuple[dict[str, Any], ...] = tuple(pairs(1, 2))
    properties: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    contested: Sequence[tuple[str, str, Refusal | None]] = ()
    """Outcomes that are accepted, where it need not be refused."""

    @property
    def title(self) -> str:
        """What has to become of the step."""
        return f"{self.breach} is {'not stored' if self.contested else 'refused'}"

    def publish(self, recipe: Recipe, case: CaseWriter) -> None:
        """Break the rule of a table, and write the case."""
        self.broken(recipe)
        if self.contested:
            recipe.publish(case, contested=self.contested)
        else:
            recipe.publish(case, refusal=Refusal("constraint", "commit", self.row))

    def start(self, *more: str) -> Recipe:
        """Return a table that has the rule and rows, and supports further features."""
        return Recipe(self.schema, (), self.properties, (*self.features, *more)).append(self.rows)


_CHECKED: Final = _Rule(
    CHECKS,
    "CHK-006",
    "CHK-006 CHK-005",
    "A row that breaks a constraint",
    appending(id=0, name="x"),
    properties={"delta.constraints.positive": "id > 0"},
    features=("checkConstraints",),
)

_GENERATED: Final = _Rule(
    GENERATED,
    "GEN-004",
    "GEN-004",
    "A value that is not generated",
    lambda recipe: recipe.append([{"x": 2, "y": 5}], [{"x": 2, "y": 4}]),
    ruled("delta.generationExpression", "x * 2"),
    ({"x": 1, "y": 2},),
    features=("generatedColumns",),
    contested=refused_or_generated(),
)


_TWICE: Final = Computed(node("*", column("x"), literal("long", 2)))

_RULES: Final = (
    _Rule(
        APPEND_ONLY,
        "APP-002",
        "APP-002",
        "A delete from an append-only table",
        lambda recipe: recipe.delete(FIRST_ROW),
        properties={"delta.appendOnly": "true"},
    ),
    _CHECKED,
    _Rule(
        INVARIANTS,
        "INV-005",
        "INV-005 INV-007",
        "A row that breaks an invariant",
        appending(x=2, y=3),
        ruled("delta.invariants", '{"expression":{"expression":"y > 3"}}'),
        ({"x": 1, "y": 4},),
        features=("invariants",),
    ),
    _GENERATED,
    _Rule(
        SCHEMA,
        "SCH-025",
        "SCH-025",
        "A null where there is none",
        appending(id=None, name="x"),
        struct(of.field("id", "long", nullable=False), of.field("name", "string")),
    ),
)


def _after_checkpoint(rule: _Rule, kind: CheckpointKind | None, case: CaseWriter) -> None:
    """Give a table with a checkpoint of its rule, and break the rule."""
    recipe = rule.start(*(("v2Checkpoint",) if kind == "v2-json" else ()))
    recipe.checkpoint(kind, int(kind == "v2-json")).given()
    rule.publish(recipe, case)


_KINDS: Final[tuple[tuple[str, CheckpointKind | None, str], ...]] = (
    ("checkpoint", None, "a checkpoint"),
    ("v2-checkpoint", "v2-json", "a V2 checkpoint"),
)

for _rule in _RULES:
    for _slug, _kind, _named in _KINDS:
        _rule.chapter.define(
            f"write-refused-after-{_slug}",
            f"{_rule.title} after {_named}",
            _rule.requirements,
            partial(_after_checkpoint, _rule, _kind),
        )


_HOLDER: Final = struct(of.field("id", "long"), of.field("s", struct(a="long")))

_PLACED: Final[tuple[tuple[str, _Rule, tuple[str, ...]], ...]] = (
    (
        "write-broken-one-of-three",
        replace(
            _CHECKED,
            breach="A row that breaks one constraint of three",
            properties={
                "delta.constraints.a": "id < 100",
                "delta.constraints.b": "id > 0",
                "delta.constraints.c": "name is not null",
            },
        ),
        (),
    ),
    (
        "write-broken-within",
        replace(
            _CHECKED,
            breach="A field of a struct that breaks a constraint",
            broken=appending(id=2, s={"a": 0}),
            schema=_HOLDER,
            rows=({"id": 1, "s": {"a": 1}},),
            properties={"delta.constraints.positive": "s.a > 0"},
        ),
        (),
    ),
    (
        "write-broken-default",
        replace(
            _CHECKED,
            breach="A default that breaks a constraint",
            broken=lambda recipe: recipe.append_refused([{"x": 2}]),
            schema=ruled("CURRENT_DEFAULT", "0"),
            rows=({"x": 1, "y": 1},),
            properties={"delta.constraints.positive": "y > 0"},
            features=("checkConstraints", "allowColumnDefaults"),
        ),
        (),
    ),
    (
        "write-broken-generated",
        replace(
            _CHECKED,
            breach="A generated value that breaks a constraint",
            broken=lambda recipe: recipe.append_refused([{"x": -2}]),
            schema=ruled("delta.generationExpression", "x * 2"),
            rows=({"x": 1, "y": 2},),
            properties={"delta.constraints.positive": "y > 0"},
            features=("checkConstraints", "generatedColumns"),
        ),
        (),
    ),
    (
        "write-broken-partition",
        replace(_CHECKED, breach="A partition that breaks a constraint"),
        ("id",),
    ),
    (
        "write-other-value-partition",
        replace(_GENERATED, breach="A partition value that is not generated"),
        ("y",),
    ),
    (
        "write-other-value-replace",
        replace(
            _GENERATED,
            breach="A replacement with a value that is not generated",
            broken=lambda recipe: recipe.replace(
                recipe.schema, (), [{"x": 2, "y": 5}], [{"x": 2, "y": 4}]
            ),
        ),
        (),
    ),
    (
        "write-other-value-update",
        replace(
            _GENERATED,
            breach="An update to a value that is not generated",
            broken=lambda recipe: recipe.update(
                {"y": 5}, compare("x", "=", 1, "long"), {"y": _TWICE}
            ),
        ),
        (),
    ),
)
"""Case, rule and partition columns: rules of other places than a column of a file."""


def _placed(rule: _Rule, partitions: tuple[str, ...], case: CaseWriter) -> None:
    """Break a rule of a table that has rows which obey it."""
    recipe = Recipe(rule.schema, partitions, rule.properties, rule.features).append(rule.rows)
    rule.publish(recipe, case)


for _slug, _rule, _partitions in _PLACED:
    _rule.chapter.define(
        _slug,
        _rule.title,
        _rule.requirements,
        partial(_placed, _rule, _partitions),
    )


_CHANGES: Final[Mapping[str, Step]] = {
    "delete": lambda recipe: recipe.delete(FIRST_ROW),
    "update": lambda recipe: recipe.update({"name": "x"}, FIRST_ROW),
    "merge": lambda recipe: recipe.merge(pairs(2, 3), SAME_ID, *UPSERT),
    "overwrite": lambda recipe: recipe.overwrite(pairs(9), FIRST_ROW),
}


def _locked(change: str, case: CaseWriter) -> None:
    recipe = Recipe.active(PAIR, "appendOnly", "deletionVectors").append(pairs(1, 2, 3))
    _CHANGES[change](recipe)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


for _change in _CHANGES:
    APPEND_ONLY.define(
        f"write-{_change}-vectors",
        f"An append-only table with vectors has {_change} refused",
        "APP-002",
        partial(_locked, _change),
    )
