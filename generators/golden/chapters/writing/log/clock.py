"""Cases of writing: commit timestamps rise, whatever the clock says."""

from __future__ import annotations

from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import FEATURE_DROPPED, PAIR, Recipe, pairs
from generators.golden.chapters.writing.starts import AHEAD
from generators.oracle.delta_schema import field, struct
from generators.oracle.operations import SetComment

CLOCK: Final = Chapter("in-commit-timestamps", since="2025")

_TIMED: Final = {"delta.enableInCommitTimestamps": "true"}

_OFF: Final = dict.fromkeys(_TIMED, "false")


@CLOCK.case("write-behind", "ICT-008 ICT-009")
def _behind(case: CaseWriter) -> None:
    """A commit carries a later time than the one before under any clock."""
    recipe = Recipe.active(PAIR, "inCommitTimestamp", start=AHEAD).append(pairs(1))
    recipe.given().append(pairs(2)).delete(compare("id", "=", 1, "long")).append(pairs(3, 4))
    recipe.run("optimize").update({"name": "x"}, compare("id", "=", 2, "long"))
    recipe.overwrite(pairs(7), compare("id", ">=", 3, "long")).restore(4).publish(case)


@CLOCK.case("write-alter", "ICT-005 ICT-006 ICT-007 ICT-009")
def _altered(case: CaseWriter) -> None:
    """Changes of columns and properties and a restore carry later times."""
    recipe = Recipe.active(PAIR, "inCommitTimestamp").append(pairs(1))
    recipe.add_column(field("later", "string")).set_properties({"team": "tables"})
    recipe.append([{"id": 2, "name": "n2", "later": "x"}]).restore(1).append(pairs(3))
    recipe.set_transaction("app", 1).publish(case)


@CLOCK.case("write-settings-course", "ICT-006 ICT-007 ICT-009")
def _settings(case: CaseWriter) -> None:
    """Commits of settings and a replacement begin with their time."""
    features = ("inCommitTimestamp", "domainMetadata")
    recipe = Recipe(PAIR, (), _TIMED, features).append(pairs(1, 2))
    recipe.set_transaction("app", 1).set_domain("app.d", "1").do(SetComment("name", "of one"))
    recipe.set_domain("app.d", "2").delete(compare("id", "=", 1, "long"))
    recipe.replace(struct(id="long"), (), [{"id": 7}]).append([{"id": 8}]).publish(case)


@CLOCK.case("write-enable", "ICT-005 ICT-010 ICT-011 ICT-012")
def _enable(case: CaseWriter) -> None:
    """A table tells since when its commits carry their time, again if anew."""
    recipe = Recipe(PAIR).append(pairs(1)).run("enable_feature", feature="inCommitTimestamp")
    recipe.set_properties(_TIMED).append(pairs(2)).append(pairs(3)).set_properties(_OFF)
    recipe.append(pairs(4)).set_properties(_TIMED).append(pairs(5)).publish(case)


@CLOCK.case("write-enable-behind", "ICT-012 ICT-010 ICT-011")
def _enable_behind(case: CaseWriter) -> None:
    """The first time of a commit is above that of the file before it."""
    recipe = Recipe(PAIR, features=("inCommitTimestamp",)).append(pairs(1)).given()
    for version in (0, 1):
        case.file_time(f"_delta_log/{version:020d}.json", AHEAD + version)
    recipe.set_properties(_TIMED).append(pairs(2)).publish(case)


@CLOCK.case("write-enable-behind-checkpoint", "ICT-012 ICT-010 ICT-011")
def _enable_behind_checkpoint(case: CaseWriter) -> None:
    """The first time is above that of the file before it behind a checkpoint."""
    recipe = Recipe(PAIR, features=("inCommitTimestamp",)).append(pairs(1)).checkpoint().given()
    for version in (0, 1):
        case.file_time(f"_delta_log/{version:020d}.json", AHEAD + version)
    recipe.set_properties(_TIMED).append(pairs(2)).publish(case)


@CLOCK.case("write-enable-again-behind", "ICT-012 ICT-010 ICT-011")
def _enable_again_behind(case: CaseWriter) -> None:
    """Times turned on again begin above the file before, and stay restored."""
    recipe = Recipe.active(PAIR, "inCommitTimestamp").append(pairs(1))
    recipe.set_properties(_OFF).append(pairs(2)).given()
    for version in (2, 3):
        case.file_time(f"_delta_log/{version:020d}.json", AHEAD + version)
    recipe.set_properties(_TIMED).append(pairs(3)).restore(1).publish(case)


@CLOCK.case("write-enabled-then-restored", "ICT-010 ICT-011")
def _provenance(case: CaseWriter) -> None:
    """A restore and a replacement keep since when commits have times."""
    recipe = Recipe(PAIR).append(pairs(1)).run("enable_feature", feature="inCommitTimestamp")
    recipe.set_properties({"delta.enableInCommitTimestamps": "true"}).append(pairs(2))
    recipe.set_properties({"team": "tables"}).append(pairs(3)).restore(4).append(pairs(4))
    other = struct(field("key", "string"), field("id", "long"))
    recipe.replace(other, (), [{"key": "a", "id": 1}]).publish(case)


@CLOCK.case("write-enabled-then-altered", "ICT-010 ICT-011 SCH-037")
def _enabled_then_altered(case: CaseWriter) -> None:
    """Changes of columns keep since when commits have times."""
    recipe = Recipe(PAIR).append(pairs(1)).run("enable_feature", feature="inCommitTimestamp")
    recipe.set_properties({"delta.enableInCommitTimestamps": "true"}).append(pairs(2))
    recipe.add_column(field("later", "string")).do(SetComment("name", "of a person"))
    recipe.append([{**pairs(3)[0], "later": "x"}]).publish(case)


@CLOCK.case("write-behind-alter", "ICT-008 ICT-009")
def _altered_behind(case: CaseWriter) -> None:
    """A commit of any operation carries a later time than the one before."""
    ahead = 4_102_444_800_000  # 2100-01-01, in ms since the epoch
    recipe = Recipe.active(PAIR, "inCommitTimestamp", "domainMetadata", start=ahead)
    recipe.append(pairs(1)).given().set_properties({"team": "a"}).set_transaction("app", 1)
    recipe.add_column(field("later", "string")).set_domain("mine", "{}")
    recipe.append([{"id": 2, "name": "b", "later": "x"}]).run("optimize")
    recipe.delete(compare("id", "=", 1, "long")).restore(1).publish(case)


def _enabled_later(recipe: Recipe) -> Recipe:
    """Turn the times of commits on in a table that has commits without them."""
    recipe.append([{"id": 1, "name": "n1"}]).run("enable_feature", feature="inCommitTimestamp")
    return recipe.set_properties(_TIMED).append([{"id": 2, "name": "n2"}])


_KEEPING: Final = "ICT-005 ICT-006 ICT-007 ICT-009 ICT-010 ICT-011"


@CLOCK.case("write-enabled-then-columns", _KEEPING)
def _enabled_then_columns(case: CaseWriter) -> None:
    """Every change of columns keeps since when commits have times."""
    schema = struct(field("id", "long", nullable=False), field("name", "string"))
    recipe = _enabled_later(Recipe.active(schema, "columnMapping"))
    recipe.rename_column("name", "label").reorder_columns("label", "id")
    recipe.set_nullable("id", nullable=True).append([{"label": "n3", "id": None}])
    recipe.drop_column("label").add_column(field("later", "string"))
    recipe.append([{"id": 4, "later": "x"}]).update({"later": "y"}, compare("id", "=", 1, "long"))
    recipe.publish(case)


@CLOCK.case("write-enabled-then-settings", _KEEPING)
def _enabled_then_settings(case: CaseWriter) -> None:
    """Every change of rules and features keeps since when commits have times."""
    features = ("allowColumnDefaults", "checkConstraints", "clustering", "domainMetadata")
    recipe = _enabled_later(Recipe(PAIR, (), {"purpose": "a"}, features))
    recipe.run("add_constraint", name="small", expression="id < 100")
    recipe.run("add_constraint", name="positive", expression="id > 0")
    recipe.run("drop_constraint", name="small").unset_properties("purpose")
    recipe.run("set_default", column="name", expression="'none'")
    recipe.run("cluster_by", columns=["name"]).set_domain("mine", "{}")
    recipe.run("enable_feature", feature="appendOnly")
    recipe.append(pairs(3)).publish(case)


@CLOCK.case("write-enabled-then-dropped", _KEEPING)
def _enabled_then_dropped(case: CaseWriter) -> None:
    """Where a feature is dropped, it is kept since when commits have times."""
    recipe = _enabled_later(Recipe(PAIR, features=("changeDataFeed",)))
    recipe.run("drop_feature", feature="changeDataFeed").append(pairs(3))
    recipe.publish(case, contested=FEATURE_DROPPED)
