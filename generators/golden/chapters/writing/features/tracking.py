"""Cases of writing: row ids and commit versions stay with their rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.writing.starts import MAPPED, TRACKED, WITH_TRACKING, Step
from generators.oracle import delta_schema as of
from generators.oracle.delta_schema import field, struct

TRACKING: Final = Chapter("row-tracking", since="2025")


@TRACKING.case("write-enable", "RT-045 RT-046 RT-013 RT-042 RT-047 RT-048")
def _enable_tracking(case: CaseWriter) -> None:
    """Rows that are there get ids as row tracking is enabled."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3))
    recipe.run("enable_feature", feature="rowTracking")
    recipe.set_properties({"delta.enableRowTracking": "true"})
    recipe.append(pairs(4)).update({"name": "x"}, compare("id", "=", 2, "long")).publish(case)


@TRACKING.case("write-supported", "RT-002 RT-004 RT-028 RT-039")
def _supported(case: CaseWriter) -> None:
    """Files have no hidden columns where row tracking is supported alone."""
    recipe = Recipe(PAIR, features=TRACKED).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.update({"name": "x"}, compare("id", "<=", 2, "long"))
    recipe.delete(compare("id", "=", 3, "long")).run("optimize").append(pairs(5)).publish(case)


@TRACKING.case("write-supported-replaced", "RT-002 RT-028 RT-040 RT-004")
def _supported_replaced(case: CaseWriter) -> None:
    """A replace assigns ids and versions where tracking is supported alone."""
    recipe = Recipe(PAIR, features=TRACKED).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.replace(PAIR, (), pairs(5, 6)).append(pairs(7)).restore(1)
    recipe.overwrite(pairs(8)).publish(case)


@TRACKING.case("write-created", "RT-042")
def _created(case: CaseWriter) -> None:
    """A table that tracks rows from the start names its hidden columns."""
    Recipe.active(PAIR, *TRACKED).set_transaction("app", 1).publish(case)


def _replaced(properties: Mapping[str, str], features: tuple[str, ...], case: CaseWriter) -> None:
    recipe = Recipe.active(PAIR, *TRACKED, *features, properties=properties).append(pairs(1, 2, 3))
    other = struct(field("key", "string"), field("id", "long"))
    recipe.replace(other, [], [{"key": "a", "id": 7}, {"key": "b", "id": 8}])
    recipe.update({"key": "c"}, compare("id", "=", 8, "long"))
    recipe.replace(other, ["key"], []).append([{"key": "d", "id": 9}]).publish(case)


for _slug, _mapping in (
    ("", {}),
    ("-mapped", MAPPED),
    ("-mapped-by-id", {"delta.columnMapping.mode": "id"}),
):
    TRACKING.define(
        f"write-replace{_slug}",
        f"A {'mapped ' if _mapping else ''}table that is replaced names its hidden columns"
        + (", mode id" if _slug.endswith("id") else ""),
        "RT-042 RT-047 RT-048 RT-036",
        partial(_replaced, _mapping, ("columnMapping",) if _mapping else ()),
    )


@TRACKING.case("write-disabled", "RT-002 RT-004 RT-028 RT-039")
def _disabled(case: CaseWriter) -> None:
    """Files have no hidden columns once row tracking is off again."""
    recipe = Recipe.active(PAIR, *TRACKED).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.update({"name": "x"}, compare("id", "=", 1, "long"))
    recipe.set_properties({"delta.enableRowTracking": "false"})
    recipe.update({"name": "y"}, compare("id", "<=", 2, "long")).run("optimize")
    recipe.append(pairs(5)).publish(case)


@TRACKING.case("write-disabled-merged", "RT-004 RT-002 RT-028 RT-039")
def _disabled_merged(case: CaseWriter) -> None:
    """What a merge, an overwrite or a restore writes has no hidden columns."""
    recipe = Recipe.active(PAIR, *TRACKED).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.set_properties({"delta.enableRowTracking": "false"})
    recipe.merge([{"id": 2, "name": "x"}, {"id": 5, "name": "y"}], SAME_ID, *UPSERT)
    recipe.overwrite(pairs(6), compare("id", ">", 3, "long"))
    recipe.delete(compare("id", "=", 3, "long")).overwrite(pairs(7, 8)).restore(4)
    recipe.publish(case)


_HIDDEN: Final = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_version",
}


def _hidden(name: str, case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), _HIDDEN, TRACKED).append(pairs(1, 2)).given()
    recipe.add_existing_column_refused(field(name, "long"))
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "RT-043"))


for _slug, _column in (("row-ids", "_row_id"), ("versions", "_version")):
    TRACKING.define(
        f"write-column-of-{_slug}",
        "No column of the table has the name of a hidden one",
        "RT-043",
        partial(_hidden, _column),
    )


@TRACKING.case("write-restore", "RT-030 RT-047 RT-048")
def _restore_tracked(case: CaseWriter) -> None:
    """Rows that a restore brings back have their ids of then."""
    recipe = Recipe.active(PAIR, *TRACKED).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.delete(is_in("id", [2, 4], "long")).update({"name": "x"}).restore(2)
    recipe.append(pairs(5)).publish(case)


@TRACKING.case("write-restore-untracked", "RT-030")
def _restore_untracked(case: CaseWriter) -> None:
    """Files keep their row ids when a version from before them is restored."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3))
    recipe.run("enable_feature", feature="rowTracking").set_properties(WITH_TRACKING)
    recipe.delete(compare("id", "=", 1, "long")).delete(compare("id", "=", 3, "long"))
    recipe.restore(2).publish(case)


@TRACKING.case("write-restore-then-append", "RT-039 RT-037 RT-036")
def _row_ids(case: CaseWriter) -> None:
    """Row ids that a restore takes back are given to no other row."""
    recipe = Recipe.active(PAIR, *TRACKED).append(pairs(1, 2)).append(pairs(3, 4, 5))
    recipe.restore(1).append(pairs(6)).restore(2).append(pairs(7, 8))
    recipe.run("optimize").append(pairs(9)).publish(case)


@TRACKING.case("write-suspended", "RT-008", since="upstream")
def _suspended(case: CaseWriter) -> None:
    """Files have no row ids while row tracking is suspended."""
    recipe = Recipe(PAIR, (), {"delta.rowTrackingSuspended": "true"}, TRACKED)
    recipe.append(pairs(1, 2)).append(pairs(3)).delete(compare("id", "=", 1, "long"))
    recipe.append(pairs(4)).run("optimize").publish(case)


@TRACKING.case("write-everything-gone", "RT-039 RT-037")
def _emptied(case: CaseWriter) -> None:
    """Row ids go on after the rows of the table are gone."""
    recipe = Recipe.active(PAIR, *TRACKED).append(pairs(1, 2, 3)).delete()
    recipe.checkpoint().append(pairs(4)).overwrite(pairs(5)).append(pairs(6)).publish(case)


@TRACKING.case("write-everything-gone-then-merge", "RT-039 RT-037")
def _emptied_then_merged(case: CaseWriter) -> None:
    """What a merge inserts into an emptied table has new row ids."""
    recipe = Recipe.active(PAIR, *TRACKED).append(pairs(1, 2, 3)).delete()
    recipe.merge(pairs(4, 5), SAME_ID, *UPSERT).delete().checkpoint()
    recipe.merge(pairs(6), SAME_ID, *UPSERT).publish(case)


@TRACKING.case("write-enable-behind-a-checkpoint", "RT-045 RT-046 RT-042 RT-047")
def _enable_behind_a_checkpoint(case: CaseWriter) -> None:
    """Files of a checkpoint get row ids as row tracking is enabled."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).checkpoint().append(pairs(4))
    recipe.run("enable_feature", feature="rowTracking").set_properties(WITH_TRACKING)
    recipe.append(pairs(5)).publish(case)


@TRACKING.case("write-enable-with-vectors", "RT-045 RT-046 RT-042 RT-047")
def _tracked_vectors(case: CaseWriter) -> None:
    """Files with vectors get row ids as row tracking is enabled."""
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(5)))
    recipe.append(pairs(9)).delete_by_vectors(is_in("id", [1, 4], "long"))
    recipe.run("enable_feature", feature="rowTracking").set_properties(WITH_TRACKING)
    recipe.append(pairs(10)).update({"name": "x"}, compare("id", "=", 2, "long")).publish(case)


def _onto_hidden(step: Step, case: CaseWriter) -> None:
    features = ("rowTracking", "domainMetadata", "columnMapping")
    recipe = Recipe(PAIR, (), {**_HIDDEN, **MAPPED}, features).append(pairs(1, 2)).given()
    step(recipe).publish(case, refusal=Refusal("invalid_table", "commit", "RT-043"))


for _slug, _phrase, _step in (
    (
        "rename-to-row-ids",
        "A column is not renamed to",
        lambda recipe: recipe.rename_column("name", "_row_id"),
    ),
    (
        "rename-to-versions",
        "A column is not renamed to",
        lambda recipe: recipe.rename_column("name", "_version"),
    ),
    (
        "replace-by-row-ids",
        "A table is not replaced by one with",
        lambda recipe: recipe.replace(
            struct(of.field("id", "long"), of.field("_row_id", "long")), (), []
        ),
    ),
):
    TRACKING.define(
        f"write-{_slug}",
        f"{_phrase} the name of a hidden column",
        "RT-043",
        partial(_onto_hidden, _step),
    )
