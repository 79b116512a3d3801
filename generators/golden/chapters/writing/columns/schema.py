"""Cases of writing: columns are added, moved and described, and nulls are refused."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.writing.starts import (
    DESCRIBED,
    STRICT,
    STRICT_PAIR,
    Step,
    appending,
    broken_rule,
)
from generators.oracle import delta_schema as of
from generators.oracle.delta_schema import array, field, map_of, struct
from generators.oracle.operations import SetComment

SCHEMA: Final = Chapter("schema-serialization-format")


@SCHEMA.case("write-not-null", "SCH-025")
def _not_null(case: CaseWriter) -> None:
    """Rows without nulls go into a column that has none."""
    Recipe(STRICT_PAIR).append(pairs(1, 2)).publish(case)


_WITHIN: Final = struct(
    id="long",
    s=struct(field("a", "long", nullable=False), field("b", "long")),
    l=array("long", contains_null=False),
    m=map_of("string", "long", value_contains_null=False),
)

_FULL: Final[dict[str, Any]] = {"id": 1, "s": {"a": 1, "b": None}, "l": [1, 2], "m": {"k": 1}}

_NONE: Final[dict[str, Any]] = {"id": 2, "s": {"a": 2, "b": None}, "l": None, "m": None}
"""Null in place of what has none inside, but for the struct: no clause has a writer take that."""


@SCHEMA.case("write-not-null-within", "SCH-025 SCH-031 SCH-035")
def _not_null_within(case: CaseWriter) -> None:
    """Rows without nulls go into structs, arrays and maps that have none."""
    recipe = Recipe(_WITHIN).append([_FULL, _NONE, {**_FULL, "id": 3, "l": [], "m": {}}])
    recipe.append([{**_NONE, "id": 4}]).delete(compare("id", "=", 4, "long")).publish(case)


def _null_within(name: str, value: Any, requirement: str, case: CaseWriter) -> None:
    recipe = Recipe(_WITHIN).append([_FULL]).append([_NONE, {**_FULL, "id": 3, name: value}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", requirement))


_NULLS: Final[tuple[tuple[str, Any, str], ...]] = (
    ("s", {"a": None, "b": 1}, "SCH-025"),
    ("l", [1, None], "SCH-031"),
)
"""Of null values of maps no sentence speaks."""

for _place, _nulls, _id in _NULLS:
    SCHEMA.define(
        f"write-null-within-{_place}",
        "A null is refused within a column that has none",
        _id,
        partial(_null_within, _place, _nulls, _id),
    )


@SCHEMA.case("write-null-refused", "SCH-025")
def _null_refused(case: CaseWriter) -> None:
    """A null in a column that has none is refused."""
    recipe = Recipe(STRICT_PAIR).append(pairs(1)).append([{"id": None, "name": "x"}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", "SCH-025"))


@SCHEMA.case("write-add-column", "SCH-037 SCH-025")
def _add_column(case: CaseWriter) -> None:
    """Rows of before have null in a column that is added."""
    recipe = Recipe(DESCRIBED).append(pairs(1, 2))
    recipe.add_column(field("n", "integer", metadata={"comment": "new"}))
    recipe.append([{"id": 3, "name": "x", "n": 3}]).append([{"id": 4, "name": "y", "n": None}])
    recipe.delete(compare("id", "=", 1, "long")).publish(case)


@SCHEMA.case("write-reorder", "SCH-037")
def _reorder(case: CaseWriter) -> None:
    """Columns in another order are the same columns."""
    recipe = Recipe(DESCRIBED).append(pairs(1, 2)).reorder_columns("name", "id").append(pairs(3))
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@SCHEMA.case("write-comment", "SCH-037")
def _comment(case: CaseWriter) -> None:
    """A comment is set, and other metadata of columns stay."""
    recipe = Recipe(DESCRIBED).append(pairs(1)).do(SetComment("name", "of a customer"))
    recipe.append(pairs(2)).publish(case)


@SCHEMA.case("write-add-taken-name", "SCH-028", since="upstream")
def _add_taken(case: CaseWriter) -> None:
    """A column whose name is taken is not added."""
    recipe = Recipe(PAIR).append(pairs(1)).add_existing_column_refused(field("NAME", "string"))
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "SCH-028"))


@SCHEMA.case("write-nullable", "SCH-025")
def _nullable(case: CaseWriter) -> None:
    """A column that had no nulls may be let have some."""
    strict = struct(field("id", "long", nullable=False), field("name", "string"))
    recipe = Recipe(strict).append(pairs(1))
    recipe.set_nullable("id", nullable=True)
    recipe.append([{"id": None, "name": "x"}]).publish(case)


@SCHEMA.case("write-not-null-refused", "SCH-025")
def _not_null_refused(case: CaseWriter) -> None:
    """A column with nulls is not declared to have none."""
    # A file without nulls comes before the one that has some, and after it.
    recipe = Recipe(PAIR).append(pairs(1)).append([{"id": None, "name": "x"}]).append(pairs(2))
    recipe.set_nullable("id", nullable=False)
    recipe.publish(case, refusal=broken_rule("SCH-025"))


@SCHEMA.case("write-null-refused-later", "SCH-025")
def _null_refused_later(case: CaseWriter) -> None:
    """A change of columns lets no null into a column that has none."""
    recipe = Recipe(STRICT).append(pairs(1)).add_column(field("n", "integer"))
    recipe.do(SetComment("name", "of a customer")).set_properties({"team": "a"})
    recipe.append([{"id": 2, "name": "x", "n": 3}]).append([{"id": None, "name": "y", "n": 4}])
    recipe.publish(case, refusal=broken_rule("SCH-025"))


_INNER: Final = struct(
    id="long",
    s=struct(field("a", "long", metadata={"comment": "inside", "scale": 7})),
    l=array(struct(field("b", "string", metadata={"comment": "within"}))),
)


@SCHEMA.case("write-add-column-beside-nested", "SCH-037")
def _beside_nested(case: CaseWriter) -> None:
    """What is said of columns within others stays when a column is added."""
    row = {"id": 1, "s": {"a": 2}, "l": [{"b": "x"}]}
    recipe = Recipe(_INNER).append([row]).add_column(field("n", "integer"))
    recipe.append([{**row, "id": 2, "n": 3}]).publish(case)


@SCHEMA.case("write-drop-not-null-commented", "SCH-037")
def _drop_not_null_commented(case: CaseWriter) -> None:
    """What is said of a column stays when it may have nulls from now on."""
    held = {"comment": "the key", "scale": 7}
    schema = struct(field("id", "long", nullable=False, metadata=held), *PAIR.fields[1:])
    recipe = Recipe(schema).append(pairs(1)).set_nullable("id", nullable=True)
    recipe.append([{"id": None, "name": "x"}]).publish(case)


@SCHEMA.case("write-rename-taken-name", "SCH-028", since="upstream", features=("columnMapping",))
def _rename_taken(case: CaseWriter) -> None:
    """A column is not renamed to a name that is taken."""
    recipe = Recipe.active(PAIR, "columnMapping").append(pairs(1))
    recipe.run("rename_column", column="name", name="ID")
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "SCH-028"))


_STRICT_PART: Final = struct(of.field("id", "long"), of.field("part", "string", nullable=False))


def _null_partition(change: Step, case: CaseWriter) -> None:
    recipe = Recipe(_STRICT_PART, ("part",)).append([{"id": 1, "part": "a"}])
    change(recipe).publish(case, refusal=Refusal("constraint", "commit", "SCH-025"))


for _slug, _phrase, _broken in (
    ("", "A null", appending(id=2, part=None)),
    ("-update", "An update to a null", lambda recipe: recipe.update({"part": None})),
    (
        "-merge",
        "A merge that brings a null",
        lambda recipe: recipe.merge([{"id": 2, "part": None}], SAME_ID, *UPSERT),
    ),
    ("-overwrite", "An overwrite with a null", lambda r: r.overwrite([{"id": 2, "part": None}])),
):
    SCHEMA.define(
        f"write-null-refused-partition{_slug}",
        f"{_phrase} in a strict partition column is refused",
        "SCH-025",
        partial(_null_partition, _broken),
    )
