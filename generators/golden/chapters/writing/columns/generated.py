"""Cases of writing: generated columns hold what their expressions give."""

from __future__ import annotations

from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import SAME_ID, UPSERT, Computed, Recipe
from generators.golden.chapters.writing.starts import (
    DOUBLED,
    FIRST_ROW,
    Step,
    refused_or_generated,
    ruled,
)
from generators.oracle import delta_schema as of
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import SetComment

GENERATED: Final = Chapter("generated-columns", since="2025")


@GENERATED.case("write-generated", "GEN-004 GEN-005")
def _generated(case: CaseWriter) -> None:
    """A value that is left out is generated."""
    doubled = {"delta.generationExpression": "x * 2"}
    schema = struct(field("x", "long"), field("y", "long", metadata=doubled))
    recipe = Recipe(schema, features=("generatedColumns",))
    recipe.append([{"x": 1}, {"x": None}], [{"x": 1, "y": 2}, {"x": None, "y": None}])
    recipe.append([{"x": 5, "y": 10}]).publish(case)


@GENERATED.case("write-kept-by-nullable", "SCH-037 GEN-004")
def _generated_nullable(case: CaseWriter) -> None:
    """An expression stays when its column may be null from now on."""
    doubled = {"delta.generationExpression": "x * 2"}
    schema = struct(field("x", "long"), field("y", "long", nullable=False, metadata=doubled))
    recipe = Recipe(schema, features=("generatedColumns",)).append([{"x": 1, "y": 2}])
    recipe.set_nullable("y", nullable=True).do(SetComment("y", "twice x"))
    recipe.append([{"x": None, "y": None}]).publish(case)


@GENERATED.case("write-fitting", "GEN-004 GEN-005")
def _generated_fitting(case: CaseWriter) -> None:
    """Values that the expression gives are written."""
    recipe = Recipe.active(DOUBLED, "generatedColumns")
    recipe.append([{"x": 1, "y": 2}, {"x": None, "y": None}]).publish(case)


@GENERATED.case("write-null-results", "GEN-005 GEN-004")
def _generated_nulls(case: CaseWriter) -> None:
    """A null that the expression gives is written by every operation."""
    recipe = Recipe.active(DOUBLED, "generatedColumns")
    recipe.append([{"x": 1, "y": 2}, {"x": None, "y": None}])
    recipe.overwrite([{"x": None, "y": None}, {"x": 3, "y": 6}])
    recipe.append([{"x": None, "y": None}]).publish(case)


@GENERATED.case("write-null-results-of-changes", "GEN-005 GEN-004")
def _generated_null_changes(case: CaseWriter) -> None:
    """An update and a merge write a null that the expression gives."""
    recipe = Recipe(DOUBLED.with_fields(field("id", "long")), features=("generatedColumns",))
    recipe.append([{"x": n, "y": 2 * n, "id": n} for n in range(4)])
    recipe.update({"x": None, "y": None}, compare("id", "=", 1, "long"))
    rows = [{"x": None, "y": None, "id": n} for n in (2, 7)]
    recipe.merge(rows, SAME_ID, *UPSERT).publish(case)


def _generated_broken(x: int | None, y: int | None, case: CaseWriter) -> None:
    recipe = Recipe.active(DOUBLED, "generatedColumns").append([{"x": 1, "y": 2}])
    fitting = {"x": 3, "y": 6}
    generated = {"x": x, "y": None if x is None else 2 * x}
    recipe.append([fitting, {"x": x, "y": y}], [fitting, generated])
    recipe.publish(case, contested=refused_or_generated())


for _slug, _given, _what in (
    ("write-other-value", (2, 5), "A value that the expression does not give"),
    ("write-other-value-null", (2, None), "A null that the expression does not give"),
    ("write-other-value-unknown", (None, 5), "A value where the expression gives null"),
):
    GENERATED.define(
        _slug, f"{_what} is not stored", "GEN-004", partial(_generated_broken, *_given)
    )


_SOURCED: Final = struct(
    of.field("id", "long"), *ruled("delta.generationExpression", "x * 2").fields
)


def _by_constant(recipe: Recipe) -> Recipe:
    return recipe.update({"x": 7}, FIRST_ROW, {"y": Computed(literal("long", 14))})


def _by_value(recipe: Recipe) -> Recipe:
    more = node("+", column("x"), literal("long", 5))
    twice = Computed(node("*", more, literal("long", 2)))
    return recipe.update({"x": Computed(more)}, None, {"y": twice})


def _by_merge(recipe: Recipe) -> Recipe:
    source = [{"id": 1, "x": 7}, {"id": 5, "x": 8}]
    stored = [{**row, "y": row["x"] * 2} for row in source]
    return recipe.merge(source, SAME_ID, *UPSERT, stored=stored)


def _source_changed(change: Step, case: CaseWriter, *, recorded: bool = False) -> None:
    recipe = Recipe(_SOURCED, features=("generatedColumns",))
    if recorded:
        features = ("generatedColumns", "changeDataFeed")
        recipe = Recipe.active(_SOURCED, *features, partition_columns=("y",))
    recipe.append([{"id": n, "x": n, "y": 2 * n} for n in (1, 2)])
    change(recipe).publish(
        case,
        contested=[
            ("generated", "the value is generated again", None),
            (
                "refused",
                "what is there would not be what the expression gives",
                Refusal("constraint", "commit", "GEN-004"),
            ),
        ],
    )


_SOURCES: Final[tuple[tuple[str, str, Step], ...]] = (
    ("update", "An update", _by_constant),
    ("computed-update", "A computed update", _by_value),
    ("merge", "A merge", _by_merge),
)

for _slug, _phrase, _step in _SOURCES:
    GENERATED.define(
        f"write-source-{_slug}",
        f"{_phrase} of its source leaves no stale generated value",
        "GEN-004 GEN-005",
        partial(_source_changed, _step),
    )
    GENERATED.define(
        f"write-source-partition-{_slug}",
        f"{_phrase} of its source moves a row to its partition",
        "GEN-004 GEN-005 CDC-012",
        partial(_source_changed, _step, recorded=True),
    )
