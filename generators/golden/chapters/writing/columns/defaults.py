"""Cases of writing: columns that are not given get their defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.writing.starts import VARIANTS, broken_rule, variants
from generators.oracle.delta_schema import Field, field, struct
from generators.oracle.operations import MergeClause, SetComment

DEFAULTS: Final = Chapter("default-columns", since="2025")

_DEFAULT: Final = struct(
    field("id", "long"), field("name", "string", metadata={"CURRENT_DEFAULT": "'none'"})
)


@DEFAULTS.case("write-default", "DFT-005 DFT-006")
def _default(case: CaseWriter) -> None:
    """A row without a value gets the default, and null stays null."""
    recipe = Recipe(_DEFAULT, features=("allowColumnDefaults",)).append(pairs(1))
    recipe.append([{"id": 2}, {"id": 3}], [{"id": n, "name": "none"} for n in (2, 3)])
    recipe.append([{"id": 4, "name": None}]).publish(case)


@DEFAULTS.case("write-set-default", "DFT-005 DFT-006")
def _set_default(case: CaseWriter) -> None:
    """A default that is set, and unset, holds for rows to come."""
    recipe = Recipe(PAIR, features=("allowColumnDefaults",)).append([{"id": 1}])
    recipe.run("set_default", column="name", expression="'later'")
    recipe.append([{"id": 2}], [{"id": 2, "name": "later"}])
    recipe.run("set_default", column="name", expression=None).append([{"id": 3}]).publish(case)


@DEFAULTS.case("write-add-with-default", "DFT-008")
def _add_with_default(case: CaseWriter) -> None:
    """A column is not added together with a default."""
    recipe = Recipe(PAIR, features=("allowColumnDefaults",)).append(pairs(1))
    recipe.add_existing_column_refused(field("n", "integer", metadata={"CURRENT_DEFAULT": "1"}))
    recipe.publish(case, refusal=broken_rule("DFT-008"))


_PRESET: Final = "allowColumnDefaults"

_SEVEN: Final = field("n", "integer", metadata={"CURRENT_DEFAULT": "7"})


@DEFAULTS.case("write-overwrite-with-default", "DFT-005")
def _overwritten_default(case: CaseWriter) -> None:
    """A row that an overwrite brings without a value gets the default."""
    schema = struct(PAIR["id"], field("name", "string", metadata={"CURRENT_DEFAULT": "'none'"}))
    recipe = Recipe(schema, features=(_PRESET,)).append(pairs(1, 2))
    stored = [{"id": 1, "name": "none"}]
    recipe.overwrite([{"id": 1}], compare("id", "=", 1, "long"), stored)
    recipe.overwrite([{"id": 1}], None, stored).publish(case)


@DEFAULTS.case("write-default-expression", "DFT-005 DFT-003")
def _computed_default(case: CaseWriter) -> None:
    """A default may be computed."""
    seven = field("n", "integer", metadata={"CURRENT_DEFAULT": "2 * 3 + 1"})
    recipe = Recipe(struct(PAIR["id"], seven), features=(_PRESET,))
    recipe.append([{"id": 1}], [{"id": 1, "n": 7}]).publish(case)


@DEFAULTS.case("write-default-partition", "DFT-005 PART-001")
def _default_partition(case: CaseWriter) -> None:
    """A row without a partition value gets the default of its column."""
    part = field("part", "string", metadata={"CURRENT_DEFAULT": "'none'"})
    recipe = Recipe(struct(PAIR["id"], part), ("part",), features=(_PRESET,))
    recipe.append([{"id": 1, "part": "a"}])
    recipe.append([{"id": 2}], [{"id": 2, "part": "none"}]).publish(case)


@DEFAULTS.case("write-default-mapped", "DFT-005", features=("columnMapping",))
def _default_mapped(case: CaseWriter) -> None:
    """A mapped column has its default."""
    schema = struct(PAIR["id"], _SEVEN)
    recipe = Recipe.active(schema, "columnMapping", _PRESET).append([{"id": 1, "n": 5}])
    recipe.append([{"id": 2}], [{"id": 2, "n": 7}]).publish(case)


@DEFAULTS.case("write-set-default-again", "DFT-005")
def _default_again(case: CaseWriter) -> None:
    """A row gets the default that was set last."""
    recipe = Recipe(PAIR, features=(_PRESET,)).append([{"id": 1}])
    for number, name in ((2, "first"), (3, "second")):
        recipe.run("set_default", column="name", expression=f"'{name}'")
        recipe.append([{"id": number}], [{"id": number, "name": name}])
    recipe.publish(case)


def _default_kept(
    feature: str, change: Callable[[Recipe], Recipe], column: Field, case: CaseWriter
) -> None:
    """Alter a column that has a default, and leave its value out."""
    recipe = Recipe.active(struct(field("id", "long"), column), *feature.split(), _PRESET)
    recipe.append([{"id": 1, column.name: 5}])
    name = next(name for name in change(recipe).now.names if name != "id")
    recipe.append([{"id": 2}], [{"id": 2, name: 7}]).publish(case)


_KEPT_BY: Final[tuple[tuple[str, str, str, Field, Callable[[Recipe], Recipe]], ...]] = (
    ("rename", "A column that is renamed keeps its default", "columnMapping", _SEVEN,
     lambda recipe: recipe.rename_column("n", "m")),
    ("nullable", "A column that may have nulls from now on keeps its default", "",
     replace(_SEVEN, nullable=False), lambda recipe: recipe.set_nullable("n", nullable=True)),
    ("comment", "A column that gets a comment keeps its default", "", _SEVEN,
     lambda recipe: recipe.do(SetComment("n", "a number"))),
    ("widen", "A column that gets a wider type keeps its default", "typeWidening", _SEVEN,
     lambda recipe: recipe.change_type("n", "long")),
    ("reorder", "A column that moves keeps its default", "", _SEVEN,
     lambda recipe: recipe.reorder_columns("n", "id")),
    ("properties", "A column keeps its default as a property of the table is set", "", _SEVEN,
     lambda recipe: recipe.set_properties({"team": "tables"})),
)  # fmt: skip
"""Name, title, feature that the change needs, column, change."""

for _name, _title, _feature, _column, _change in _KEPT_BY:
    _build = partial(_default_kept, _feature, _change, _column)
    DEFAULTS.define(f"write-kept-by-{_name}", _title, "SCH-037 DFT-005", _build)


@DEFAULTS.case("write-merge-null", "DFT-006")
def _merge_null(case: CaseWriter) -> None:
    """A null that a merge brings is a value, and stays null."""
    plain, named = PAIR.fields
    schema = struct(plain, replace(named, metadata={"CURRENT_DEFAULT": "'none'"}))
    recipe = Recipe(schema, features=("allowColumnDefaults",)).append(pairs(1, 2))
    recipe.merge([{"id": 2, "name": None}, {"id": 5, "name": None}], SAME_ID, *UPSERT)
    recipe.publish(case)


@DEFAULTS.case("write-update-null", "DFT-006")
def _update_null(case: CaseWriter) -> None:
    """A null that a row has stays null where another column is set."""
    plain, named = PAIR.fields
    schema = struct(plain, replace(named, metadata={"CURRENT_DEFAULT": "'none'"}))
    recipe = Recipe(schema, features=("allowColumnDefaults",))
    recipe.append([{"id": 1, "name": None}, {"id": 2, "name": "b"}])
    recipe.update({"id": 9}, compare("id", "=", 1, "long")).publish(case)


@DEFAULTS.case("write-overwrite-null", "DFT-006")
def _overwrite_null(case: CaseWriter) -> None:
    """A null among rows that take the place of others stays null."""
    plain, named = PAIR.fields
    schema = struct(plain, replace(named, metadata={"CURRENT_DEFAULT": "'none'"}))
    recipe = Recipe(schema, features=("allowColumnDefaults",)).append(pairs(1, 2))
    recipe.overwrite([{"id": 2, "name": None}], compare("id", "=", 2, "long"))
    recipe.overwrite([{"id": 3, "name": None}, *pairs(4)])
    recipe.replace(schema, (), [{"id": 5, "name": None}]).append(pairs(6)).publish(case)


@DEFAULTS.case("write-merge-with-default", "DFT-005 CDC-012")
def _merge_default(case: CaseWriter) -> None:
    """A row that a merge inserts gets the default, in its record too."""
    plain, named = PAIR.fields
    schema = struct(plain, replace(named, metadata={"CURRENT_DEFAULT": "'none'"}))
    recipe = Recipe.active(schema, "allowColumnDefaults", "changeDataFeed")
    recipe.append(pairs(1, 2))
    clauses = (MergeClause("matched", "delete"), MergeClause("not_matched", "insert"))
    stored: list[dict[str, Any]] = [{"id": 5, "name": "none"}, {"id": 2, "name": None}]
    recipe.merge([{"id": 5}, {"id": 2}], SAME_ID, *clauses, stored=stored).publish(case)


@DEFAULTS.case("write-variant-default", "DFT-010")
def _variant_default(case: CaseWriter) -> None:
    """A variant that is left out is null; another default is refused, or set."""
    recipe = Recipe(VARIANTS, features=("variantType", "allowColumnDefaults"))
    recipe.append(variants(2)).append([{"id": 7}])
    recipe.run("set_default", column="v", expression="parse_json('1')")
    recipe.publish(
        case,
        contested=[
            ("refused", "Default Columns: variants default to null", broken_rule("DFT-010")),
            ("set", "Variant Data Type: a variant may have a default", None),
        ],
    )
