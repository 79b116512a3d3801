"""Cases of writing: what columns keep while the table is altered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.recipes import Recipe
from generators.golden.chapters.writing.starts import (
    INVARIANT,
    MAPPED,
    broken_rule,
    refused_or_generated,
)
from generators.oracle.delta_schema import array, field, map_of, struct
from generators.oracle.operations import SetComment

MAPPING: Final = Chapter("column-mapping", since="2025")
SCHEMA: Final = Chapter("schema-serialization-format")
WIDENING: Final = Chapter("type-widening", since="upstream")
INVARIANTS: Final = Chapter("column-invariants")
GENERATED: Final = Chapter("generated-columns", since="2025")


def _within(
    properties: Mapping[str, str],
    features: tuple[str, ...],
    change: Callable[[Recipe], Recipe],
    case: CaseWriter,
) -> None:
    notes: Mapping[str, Any] = {"comment": "within", "scale": 7}
    schema = struct(
        field("id", "long", metadata=notes),
        field("s", struct(field("a", struct(field("b", "long", metadata=notes)), metadata=notes))),
        field("l", array(struct(field("c", "string", metadata=notes)))),
        field("m", map_of("string", struct(field("d", "double", metadata=notes)))),
        field("n", "integer", nullable=False, metadata=notes),
    )
    row = {"id": 1, "s": {"a": {"b": 2}}, "l": [{"c": "x"}], "m": {"k": {"d": 0.5}}, "n": 3}
    change(Recipe(schema, (), properties, features).append([row])).publish(case)


for _chapter, _within_name, _title, _properties, _features, _change in (
    (
        MAPPING,
        "rename",
        "What is said of inner columns stays when others are renamed",
        MAPPED,
        ("columnMapping",),
        lambda recipe: recipe.rename_column("s", "t").drop_column("n"),
    ),
    (
        SCHEMA,
        "settings",
        "What is said of inner columns stays when others are moved and set",
        {},
        (),
        lambda recipe: (
            recipe.reorder_columns("n", "m", "l", "s", "id")
            .set_nullable("n", nullable=True)
            .do(SetComment("id", "the key"))
            .set_properties({"team": "a"})
        ),
    ),
    (
        WIDENING,
        "widen",
        "What is said of inner columns stays when another is widened",
        {"delta.enableTypeWidening": "true"},
        ("typeWidening",),
        lambda recipe: recipe.change_type("n", "long"),
    ),
):
    _chapter.define(
        f"write-kept-within-by-{_within_name}",
        _title,
        "SCH-037",
        partial(_within, _properties, _features, _change),
    )


def _rule_stays(key: str, rule: str, requirement: str, case: CaseWriter) -> None:
    schema = struct(field("x", "long"), field("y", "long", metadata={key: rule}))
    feature = "invariants" if key == "delta.invariants" else "generatedColumns"
    recipe = Recipe(schema, features=(feature,)).append([{"x": 2, "y": 4}])
    recipe.add_column(field("later", "string")).append([{"x": 3, "y": 6, "later": "a"}])
    broken = {"x": 4, "y": 3, "later": "b"}
    if feature == "generatedColumns":
        recipe.append([broken], [{**broken, "y": 8}])
        recipe.publish(case, contested=refused_or_generated())
        return
    recipe.append([broken]).publish(case, refusal=broken_rule(requirement))


for _chapter, _key, _rule, _ids_of in (
    (INVARIANTS, "delta.invariants", INVARIANT, "INV-005 INV-007"),
    (GENERATED, "delta.generationExpression", "x * 2", "GEN-004"),
):
    _chapter.define(
        "write-broken-later",
        "A rule of a column holds as before when another is added",
        f"{_ids_of} SCH-037",
        partial(_rule_stays, _key, _rule, _ids_of.split()[0]),
    )
