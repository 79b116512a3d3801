"""Cases of writing: identity columns count on, and their marks never fall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import SAME_ID, Recipe
from generators.golden.chapters.writing.starts import broken_rule, ids, numbered
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import MergeClause, SetComment

IDENTITY: Final = Chapter("identity-columns")

_LISTED: Final = ("identityColumns",)


def _counted(start: int, step: int, case: CaseWriter) -> None:
    recipe = Recipe(numbered(start, step), features=_LISTED)
    recipe.append_numbered("k", *ids(1, 2, 3)).append_numbered("k", *ids(4))
    recipe.delete(compare("id", "=", 4, "long")).append_numbered("k", *ids(5, 6))
    recipe.checkpoint().append_numbered("k", *ids(7)).publish(case)


@IDENTITY.case("write-behind-a-cut-log", "IDN-012 IDN-014 IDN-016")
def _cut(case: CaseWriter) -> None:
    """A mark that a checkpoint alone holds is counted on from."""
    # Rows of higher values were deleted.
    recipe = Recipe(numbered(1, 2, highWaterMark=9), features=_LISTED)
    recipe.append([{"k": 1, "id": 1}, {"k": 3, "id": 2}]).checkpoint().given(cut=True)
    recipe.append_numbered("k", *ids(3)).delete(compare("id", "=", 3, "long"))
    recipe.append_numbered("k", *ids(4, 5)).publish(case)


for _name, _title, _start, _step in (
    ("up", "Values of an identity column grow past the high water mark", 1, 1),
    ("down", "Values of an identity column fall where its step is negative", 10, -5),
    ("wide", "Values of an identity column keep to start and step", -3, 7),
):
    IDENTITY.define(
        f"write-{_name}",
        _title,
        "IDN-012 IDN-013 IDN-014 IDN-016",
        partial(_counted, _start, _step),
    )


@IDENTITY.case("write-given", "IDN-012 IDN-013 IDN-014 IDN-016")
def _going_on(case: CaseWriter) -> None:
    """Values go on from the mark that another writer left."""
    recipe = Recipe(numbered(10, -5, highWaterMark=0), features=_LISTED)
    recipe.append([{"k": 10, "id": 1}, {"k": 0, "id": 2}]).given()
    recipe.append_numbered("k", *ids(3)).append_numbered("k", *ids(4, 5)).publish(case)


@IDENTITY.case("write-no-rows", "IDN-014 IDN-016")
def _none_counted(case: CaseWriter) -> None:
    """Appending no rows uses up no identity values."""
    recipe = Recipe(numbered(5, 5), features=_LISTED).append_numbered("k")
    recipe.append_numbered("k", *ids(1)).append_numbered("k")
    recipe.append_numbered("k", *ids(2, 3)).publish(case)


def _mark_kept(change: Callable[[Recipe], Recipe], case: CaseWriter) -> None:
    recipe = Recipe.active(numbered(1, 1, highWaterMark=2), *_LISTED, "columnMapping")
    recipe.append([{"k": 1, "id": 1}, {"k": 2, "id": 2}]).given()
    # An append would write the mark again.
    change(recipe).publish(case)


for _name, _title, _change in (
    ("rename", "A column that is renamed", lambda recipe: recipe.rename_column("k", "key")),
    ("comment", "A column that gets a comment", lambda r: r.do(SetComment("k", "the key"))),
):
    IDENTITY.define(
        f"write-mark-kept-by-{_name}",
        f"{_title} keeps the mark of its identity values",
        "SCH-037 IDN-016",
        partial(_mark_kept, _change),
        since="2025",
    )


@IDENTITY.case("write-explicit", "IDN-010")
def _explicit(case: CaseWriter) -> None:
    """Users give values where the column lets them."""
    recipe = Recipe(numbered(1, 1, allowExplicitInsert=True), features=_LISTED)
    recipe.append([{"k": 1000, "id": 1}]).append([{"k": -7, "id": 2}]).publish(case)


@IDENTITY.case("write-explicit-beyond-marks", "IDN-008 IDN-009 IDN-010")
def _beyond_marks(case: CaseWriter) -> None:
    """The marks of identity columns go with values that users give."""
    up, down = (
        numbered(start, step, allowExplicitInsert=True, highWaterMark=mark)["k"]
        for start, step, mark in ((1, 1, 3), (10, -5, 0))
    )
    recipe = Recipe(struct(up, replace(down, name="d"), field("id", "long")), features=_LISTED)
    recipe.append([{"k": 3, "d": 0, "id": 1}]).given()
    recipe.append([{"k": 1000, "d": -7, "id": 2}, {"k": 20, "d": 5, "id": 3}])
    # What is not beyond them leaves them where they are.
    recipe.append([{"k": -4, "d": 90, "id": 4}]).publish(case)


@IDENTITY.case("write-explicit-refused", "IDN-011")
def _explicit_refused(case: CaseWriter) -> None:
    """Users give no values where the column does not let them."""
    recipe = Recipe(numbered(1, 1), features=_LISTED)
    recipe.append_numbered("k", *ids(1)).append([{"k": 1000, "id": 2}])
    recipe.publish(case, refusal=broken_rule("IDN-011"))


@IDENTITY.case("write-add-column", "IDN-012 IDN-014 SCH-037")
def _beside_identity(case: CaseWriter) -> None:
    """Identity values go on when a column is added."""
    recipe = Recipe(numbered(10, 10), features=_LISTED).append_numbered("k", *ids(1, 2))
    recipe.add_column(field("later", "string"))
    recipe.append_numbered("k", {"id": 3, "later": "x"}).publish(case)


@IDENTITY.case("write-merge-same-values", "IDN-011 IDN-012")
def _merged_identity(case: CaseWriter) -> None:
    """A merge may give rows the identity values that they have."""
    recipe = Recipe(numbered(1, 1, highWaterMark=2), features=_LISTED)
    recipe.append([{"k": 1, "id": 1}, {"k": 2, "id": 2}]).given()
    on = node("=", column("target", "k"), column("source", "k"))
    recipe.merge([{"k": 1, "id": 100}], on, MergeClause("matched", "update"))
    recipe.publish(
        case,
        contested=[
            ("carried-out", "the clause speaks of inserts", None),
            ("refused", "users give no values of the column at all", broken_rule("IDN-011")),
        ],
    )


@IDENTITY.case("write-merge-updates", "IDN-012 FA-021")
def _merged_updates(case: CaseWriter) -> None:
    """Rows that a merge changes keep their identity values."""
    recipe = Recipe(numbered(3, 4), features=_LISTED).append_numbered("k", *ids(1, 2, 3))
    on = node("=", column("target", "id"), column("source", "id"))
    value = {"id": node("+", column("target", "id"), literal("long", 10))}
    clauses = [MergeClause("not_matched_by_source", "update", None, value)]
    clauses.append(MergeClause("not_matched", "insert"))
    recipe.merge_numbered("k", ids(4), on, *clauses).publish(case)


@IDENTITY.case("write-merge", "IDN-012 IDN-013 IDN-014 IDN-016")
def _merged_numbers(case: CaseWriter) -> None:
    """Rows that a merge or an overwrite brings get values past the mark."""
    third = node("=", column("target", "id"), literal("long", 3))
    recipe = Recipe(numbered(3, 4), features=_LISTED).append_numbered("k", *ids(1, 2, 3))
    recipe.merge_numbered(
        "k",
        ids(4, 5),
        SAME_ID,
        MergeClause("matched", "delete"),
        MergeClause("not_matched", "insert"),
        MergeClause("not_matched_by_source", "delete", third),
    )
    recipe.append_numbered("k", *ids(6))
    recipe.overwrite_numbered("k", ids(7, 8), compare("id", ">", 5, "long"))
    recipe.merge_numbered("k", ids(9), SAME_ID, MergeClause("not_matched", "insert"))
    recipe.overwrite_numbered("k", ids(10)).append_numbered("k", *ids(11)).publish(case)


def _overflowing(start: int, step: int, case: CaseWriter) -> None:
    recipe = Recipe(numbered(start, step), features=_LISTED)
    recipe.append_numbered("k", *ids(1)).append_refused(ids(2, 3, 4))
    recipe.publish(case, refusal=broken_rule("IDN-015"))


for _name, _start, _step in (("up", 2**63 - 2, 1), ("down", -(2**63) + 3, -2)):
    IDENTITY.define(
        f"write-overflow-{_name}",
        "Rows are refused whose identity values would be no longs",
        "IDN-015",
        partial(_overflowing, _start, _step),
    )


def _identities(start: int, step: int, case: CaseWriter) -> None:
    metadata = {
        "delta.identity.start": start,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": False,
    }
    schema = struct(field("id", "long", metadata=metadata), field("name", "string"))
    recipe = Recipe(schema, features=("identityColumns",))
    recipe.append_numbered("id", {"name": "a"}).append_numbered("id", {"name": "b"}, {"name": "c"})
    recipe.restore(1).append_numbered("id", {"name": "d"})
    if abs(step) == 1:
        # The version has no mark yet.
        recipe.restore(0).append_numbered("id", {"name": "e"})
    recipe.publish(case)


for _slug, _start, _step in (("", 10, 10), ("-by-one", 1, 1), ("-down-by-one", -1, -1)):
    IDENTITY.define(
        f"write-restore-then-append{_slug}",
        "Values that a restore takes back are given to no other row",
        "IDN-014 IDN-016",
        partial(_identities, _start, _step),
    )
