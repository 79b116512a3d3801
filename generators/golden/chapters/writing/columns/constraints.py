"""Cases of writing: constraints and invariants hold for every row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs, unasked
from generators.golden.chapters.writing.starts import (
    INVARIANT,
    TRIPLE,
    broken_rule,
    plus,
    ruled,
    triples,
)
from generators.oracle.delta_schema import struct

CHECKS: Final = Chapter("check-constraints", since="2025")
INVARIANTS: Final = Chapter("column-invariants")


@CHECKS.case("write-add-7", "CHK-007 TF-015")
def _add_7(case: CaseWriter) -> None:
    """At writer version 7 a constraint comes beside features that are listed."""
    recipe = Recipe.active(PAIR, "appendOnly")
    recipe.append(pairs(1)).run("enable_feature", feature="checkConstraints")
    recipe.run("add_constraint", name="positive", expression="id > 0").append(pairs(2))
    recipe.append(pairs(-3)).publish(case, refusal=broken_rule("CHK-006"))


@CHECKS.case("write-unknown-function", "CHK-005 CHK-006")
def _unknown_function(case: CaseWriter) -> None:
    """Rows are refused where nobody can tell whether they obey a constraint."""
    properties = {"delta.constraints.odd": "from_another_world(id) > 0"}
    recipe = (
        Recipe.active(PAIR, "checkConstraints", properties=properties).append(pairs(1, 2)).given()
    )
    recipe.append(pairs(3)).publish(case, refusal=Refusal("unsupported", "commit", "CHK-006"))


_BROKEN: Final = Refusal("constraint", "commit", "CHK-006")

_POSITIVE: Final = {"delta.constraints.positive": "id > 0"}


@CHECKS.case("write-fitting", "CHK-005 CHK-006")
def _fitting(case: CaseWriter) -> None:
    """Rows that obey a constraint are written."""
    recipe = (
        Recipe.active(PAIR, "checkConstraints", properties=_POSITIVE)
        .append(pairs(1, 2))
        .append(pairs(3))
    )
    recipe.update({"id": 9}, compare("id", "=", 1, "long")).publish(case)


def _broken_by(rows: list[dict[str, Any]], case: CaseWriter) -> None:
    recipe = (
        Recipe.active(PAIR, "checkConstraints", properties=_POSITIVE)
        .append(pairs(1, 2))
        .append(rows)
    )
    recipe.publish(case, refusal=_BROKEN)


for _name, _title, _rows in (
    ("false", "A row for which a constraint is false is refused", pairs(3, 0)),
    ("null", "A row for which a constraint is null is refused", [{"id": None, "name": "x"}]),
):
    CHECKS.define(f"write-{_name}", _title, "CHK-005 CHK-006", partial(_broken_by, _rows))


_ADDED: Final[dict[str, Any]] = {"name": "positive", "expression": "id > 0"}


@CHECKS.case("write-add", "CHK-007 CHK-009 CHK-005")
def _add_constraint(case: CaseWriter) -> None:
    """A constraint that every row obeys is added, held to, and dropped."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).run("add_constraint", **_ADDED)
    recipe.append(pairs(3)).run("drop_constraint", name="positive").append(pairs(-1))
    recipe.publish(case, contested=unasked("CHK-007", "add_constraint"))


@CHECKS.case("write-set-broken", "CHK-009 CHK-010")
def _set_broken(case: CaseWriter) -> None:
    """A constraint that a row breaks is not added as a property."""
    recipe = Recipe.active(PAIR, "checkConstraints").append(pairs(1, -2))
    recipe.set_properties_refused({"delta.constraints.positive": "id > 0"})
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-009"))


@CHECKS.case("write-add-broken-between", "CHK-009 CHK-010")
def _add_broken_between(case: CaseWriter) -> None:
    """A constraint that rows of one file among others break is not added."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3, -1)).append(pairs(4))
    recipe.run("add_constraint", **_ADDED)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-010"))


@CHECKS.case("write-add-after-vectors", "CHK-009 CHK-005", features=("deletionVectors",))
def _add_after_vectors(case: CaseWriter) -> None:
    """Rows that a vector deleted do not keep a constraint from being added."""
    recipe = Recipe.active(PAIR, "deletionVectors", "checkConstraints")
    recipe.append(pairs(1, -2, 3))
    recipe.delete(compare("id", "<", 0, "long")).run("add_constraint", **_ADDED)
    recipe.append(pairs(4)).publish(case)


@CHECKS.case("write-drop-one", "CHK-002 CHK-005 CHK-006")
def _drop_one(case: CaseWriter) -> None:
    """A constraint holds on where another one is dropped."""
    recipe = Recipe.active(PAIR, "checkConstraints").append(pairs(1, 2))
    recipe.run("add_constraint", **_ADDED)
    recipe.run("add_constraint", name="small", expression="id < 100").append(pairs(3))
    recipe.run("drop_constraint", name="positive").append(pairs(-1)).append(pairs(200))
    recipe.publish(case, refusal=_BROKEN)


@CHECKS.case("write-add-then-break", "CHK-005 CHK-006")
def _add_then_break(case: CaseWriter) -> None:
    """A row that breaks a constraint that was added is refused."""
    recipe = Recipe.active(PAIR, "checkConstraints").append(pairs(1, 2))
    recipe.run("add_constraint", **_ADDED)
    recipe.append(pairs(-3)).publish(case, refusal=_BROKEN)


@CHECKS.case("write-add-of-no-column", "CHK-004")
def _of_no_column(case: CaseWriter) -> None:
    """A constraint of a column that there is not is not added."""
    recipe = Recipe(PAIR).append(pairs(1, 2))
    recipe.run("add_constraint", name="positive", expression="nowhere > 0")
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-004"))


def _ruled_column(change: Callable[[Recipe], Recipe], case: CaseWriter) -> None:
    recipe = Recipe.active(
        PAIR,
        "columnMapping",
        "checkConstraints",
        properties={"delta.constraints.told": "name <> 'x'"},
    )
    recipe = change(recipe.append(pairs(1, 2)).given())
    recipe.publish(
        case,
        contested=[
            (
                "refused",
                "text: the columns of a constraint exist, so that one is in the way",
                Refusal("constraint", "commit", "CHK-004"),
            ),
            ("carried-out", "text: the constraint may follow its column, or go with it", None),
        ],
    )


for _name, _change in (
    ("rename", lambda recipe: recipe.rename_column("name", "label")),
    ("drop", lambda recipe: recipe.drop_column("name")),
):
    CHECKS.define(
        f"write-{_name}-ruled",
        f"A {_name} of a column leaves no constraint of it, or is refused",
        "CHK-004",
        partial(_ruled_column, _change),
        features=("columnMapping",),
    )


def _not_added(rows: list[dict[str, Any]], requirement: str, case: CaseWriter) -> None:
    recipe = Recipe(PAIR).append(rows).run("add_constraint", **_ADDED)
    recipe.publish(case, refusal=Refusal("constraint", "commit", requirement))


for _name, _title, _rows, _id in (
    ("false", "A constraint that a row breaks is not added", pairs(1, -2), "CHK-009"),
    (
        "null",
        "A constraint that is null for a row is not added",
        [{"id": None, "name": "x"}],
        "CHK-010",
    ),
):
    CHECKS.define(f"write-add-{_name}", _title, "CHK-009 CHK-010", partial(_not_added, _rows, _id))


def _not_added_to(recipe: Callable[[], Recipe], expression: str, case: CaseWriter) -> None:
    made = recipe().run("add_constraint", name="rule", expression=expression)
    made.publish(case, refusal=Refusal("constraint", "commit", "CHK-009"))


_PARTED: Final = struct(id="long", part="string")


for _name, _title, _table, _expression in (
    (
        "beside",
        "A constraint that a row of a later file breaks is not added",
        lambda: Recipe(PAIR).append(pairs(1)).append(pairs(-2)).append(pairs(3)),
        "id > 0",
    ),
    (
        "checkpointed",
        "A constraint that a row behind a checkpoint breaks is not added",
        lambda: Recipe(PAIR).append(pairs(-2)).checkpoint().append(pairs(3)),
        "id > 0",
    ),
    (
        "partition",
        "A constraint that a partition value breaks is not added",
        lambda: Recipe(_PARTED, ("part",)).append([{"id": n, "part": "ab"[n]} for n in (0, 1)]),
        "part <> 'b'",
    ),
    (
        "null",
        "A constraint that is null for a row of one file is not added",
        lambda: Recipe(PAIR).append(pairs(1)).append([{"id": None, "name": "x"}]).append(pairs(3)),
        "id > 0",
    ),
    (
        "null-partition",
        "A constraint that is null for a null partition value is not added",
        lambda: Recipe(_PARTED, ("part",)).append(
            [{"id": 1, "part": "a"}, {"id": 2, "part": None}]
        ),
        "part <> 'b'",
    ),
    (
        "renamed",
        "A constraint that a row of a renamed column breaks is not added",
        lambda: (
            Recipe.active(PAIR, "columnMapping").append(pairs(1, -2)).rename_column("id", "number")
        ),
        "number > 0",
    ),
):
    CHECKS.define(
        f"write-add-broken-{_name}",
        _title,
        "CHK-009 CHK-010",
        partial(_not_added_to, _table, _expression),
        features=("columnMapping",) if _name == "renamed" else (),
    )


@CHECKS.case("write-broken-update", "CHK-005 CHK-006")
def _broken_update(case: CaseWriter) -> None:
    """An update to a row that breaks is refused."""
    recipe = (
        Recipe.active(PAIR, "checkConstraints", properties=_POSITIVE)
        .append(pairs(1, 2))
        .update({"id": -1})
    )
    recipe.publish(case, refusal=_BROKEN)


@CHECKS.case("write-broken-overwrite", "CHK-005 CHK-006")
def _broken_overwrite(case: CaseWriter) -> None:
    """An overwrite with a row that breaks is refused."""
    recipe = (
        Recipe.active(PAIR, "checkConstraints", properties=_POSITIVE)
        .append(pairs(1, 2))
        .overwrite(pairs(-1))
    )
    recipe.publish(case, refusal=_BROKEN)


@INVARIANTS.case("write-fitting", "INV-005 INV-007")
def _invariant_fitting(case: CaseWriter) -> None:
    """Rows that obey an invariant are written."""
    recipe = Recipe.active(ruled("delta.invariants", INVARIANT), "invariants")
    recipe.append([{"x": 1, "y": 4}]).publish(case)


def _invariant_broken(value: int | None, case: CaseWriter) -> None:
    recipe = Recipe.active(ruled("delta.invariants", INVARIANT), "invariants")
    recipe.append([{"x": 1, "y": 4}]).append([{"x": 2, "y": value}])
    # The row of what breaks it comes first.
    recipe.publish(case, refusal=Refusal("constraint", "commit", case.info.requirements[0]))


for _name, _title, _value, _ids in (
    ("false", "A row for which an invariant is false is refused", 3, "INV-005 INV-007"),
    ("null", "A row for which an invariant is null is refused", None, "INV-006 INV-007"),
):
    INVARIANTS.define(f"write-{_name}", _title, _ids, partial(_invariant_broken, _value))


_NAMED: Final = {"delta.constraints.named": "name <> 'bad'"}


def _broken_match(case: CaseWriter, name: str | None) -> None:
    recipe = Recipe.active(PAIR, "checkConstraints", properties=_NAMED).append(pairs(1, 2))
    recipe.merge([*pairs(3), {"id": 2, "name": name}], SAME_ID, *UPSERT)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-006"))


@CHECKS.case("write-broken-merge", "CHK-005 CHK-006")
def _broken_merge(case: CaseWriter) -> None:
    """A merge to a row that breaks is refused."""
    properties = {"delta.constraints.positive": "id > 0"}
    recipe = Recipe.active(PAIR, "checkConstraints", properties=properties).append(pairs(1, 2))
    recipe.merge(pairs(2, -3), SAME_ID, *UPSERT)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-006"))


for _slug, _title, _to in (
    ("merge-match", "A merge that changes a row to one that breaks is refused", "bad"),
    ("merge-match-null", "A merge to a row of which nothing is known is refused", None),
):
    CHECKS.define(
        f"write-broken-{_slug}", _title, "CHK-005 CHK-006", partial(_broken_match, name=_to)
    )


@CHECKS.case("write-broken-update-null", "CHK-005 CHK-006")
def _broken_null(case: CaseWriter) -> None:
    """An update to a row of which nothing is known is refused."""
    recipe = Recipe.active(PAIR, "checkConstraints", properties=_NAMED).append(pairs(1, 2))
    recipe.update({"name": None}, compare("id", "=", 2, "long"))
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-006"))


@CHECKS.case("write-broken-computed", "CHK-005 CHK-006")
def _broken_computed(case: CaseWriter) -> None:
    """An update that computes a row that breaks is refused."""
    properties = {"delta.constraints.small": "n < 100"}
    recipe = Recipe.active(TRIPLE, "checkConstraints", properties=properties).append(triples(1, 2))
    recipe.update({"n": plus("n", 85)})
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-006"))


@CHECKS.case("write-add-broken-vectors", "CHK-009 CHK-010", features=("deletionVectors",))
def _broken_beside_deleted(case: CaseWriter) -> None:
    """A constraint that a row beside deleted ones breaks is not added."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(1, -2, 3))
    recipe.delete_by_vectors(compare("id", "=", 3, "long")).given()
    recipe.run("add_constraint", name="rule", expression="id > 0")
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-009"))
