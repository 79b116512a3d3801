"""Cases of writing: features that come and go.

A feature is taken out of the protocol when nothing of it is left; the text of 2025 knows no
removal, so that a refusal is right as well.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import FEATURE_DROPPED, PAIR, Recipe, pairs
from generators.golden.chapters.writing.given import go_over
from generators.golden.chapters.writing.starts import MAPPED, TRACKED, WITH_TRACKING
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import array, struct

FEATURES: Final = Chapter("table-features", since="2025")

_TRACKED: Final = ("rowTracking", WITH_TRACKING, TRACKED)

_DROP: Final = ("drop_feature",)


@FEATURES.case("write-unknown-feature-later", "TF-002 TF-003 TF-015")
def _unknown_later(case: CaseWriter) -> None:
    """A writer goes by the latest protocol, not by that of a checkpoint."""
    recipe = Recipe(PAIR, protocol=Protocol(1, 7, None, ("appendOnly",))).append(pairs(1, 2))
    recipe.checkpoint().append(pairs(3)).given().append(pairs(4))
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "TF-003"))
    go_over(case, Protocol(1, 7, None, ("appendOnly", "fromAnotherWorld")))


@FEATURES.case("write-drop-feature", "TF-016")
def _drop_feature(case: CaseWriter) -> None:
    """A feature of which nothing is left is dropped, or kept."""
    recipe = Recipe(PAIR, features=("changeDataFeed", "vacuumProtocolCheck")).append(pairs(1))
    recipe.run("drop_feature", feature="vacuumProtocolCheck")
    recipe.publish(case, contested=FEATURE_DROPPED)


def _drop_traces(
    feature: str,
    properties: dict[str, str],
    asked: tuple[str, ...],
    case: CaseWriter,
    *,
    given: bool = False,
) -> None:
    recipe = Recipe(PAIR, (), properties, asked).append(pairs(1, 2)).append(pairs(3))
    if given:
        recipe.given()
    recipe.run("drop_feature", feature=feature).append(pairs(4))
    recipe.delete(compare("id", "=", 2, "long"))
    recipe.publish(case, contested=FEATURE_DROPPED)


@FEATURES.case("write-drop-columnmapping-renamed", "TF-016")
def _drop_mapping(case: CaseWriter) -> None:
    """A drop of column mapping keeps renamed columns, or is refused."""
    recipe = Recipe.active(PAIR, "columnMapping").append(pairs(1, 2))
    recipe.rename_column("name", "label").append([{"id": 3, "label": "c"}])
    recipe.run("drop_feature", feature="columnMapping")
    blocked = Refusal("constraint", "commit", "TF-016", of=_DROP)
    in_the_way = ("in-the-way", "upstream: files know the column by another name", blocked)
    recipe.publish(case, contested=[*FEATURE_DROPPED, in_the_way])


for _feature, _properties, _asked in (
    ("inCommitTimestamp", {"delta.enableInCommitTimestamps": "true"}, ()),
    ("deletionVectors", {"delta.enableDeletionVectors": "true"}, ()),
    _TRACKED,
    ("domainMetadata", {}, ("domainMetadata",)),
    ("v2Checkpoint", {}, ("v2Checkpoint",)),
):
    FEATURES.define(
        f"write-drop-{_feature.lower()}",
        f"A drop of {_feature} leaves nothing of it, or is refused",
        "TF-016",
        partial(_drop_traces, _feature, _properties, _asked),
    )


FEATURES.define(
    "write-drop-rowtracking-given",
    "A drop of rowTracking leaves no given row ids, or is refused",
    "TF-016",
    partial(_drop_traces, *_TRACKED, given=True),
)


FEATURES.define(
    "write-drop-rowtracking-changes",
    "A drop of rowTracking changes no rows, or is refused",
    "TF-016 CDC-012",
    partial(
        _drop_traces,
        _TRACKED[0],
        {**_TRACKED[1], "delta.enableChangeDataFeed": "true"},
        (*_TRACKED[2], "changeDataFeed"),
        given=True,
    ),
)


@FEATURES.case("write-drop-rowtracking-restored", "TF-016 RT-037 RT-039")
def _drop_restored(case: CaseWriter) -> None:
    """Row ids from before a drop are given to no other row after a restore."""
    recipe = Recipe.active(PAIR, *TRACKED).append(pairs(1, 2, 3)).append(pairs(4, 5))
    recipe.run("drop_feature", feature="rowTracking").append(pairs(6))
    recipe.restore(2).append(pairs(7, 8)).publish(case, contested=FEATURE_DROPPED)


_BLOCKED: Final = Refusal("constraint", "commit", "TF-016", of=_DROP)


def _in_the_way(trace: str) -> tuple[str, str, Refusal]:
    """Return the reading that a trace, which only a user may take away, blocks the drop."""
    return "in-the-way", f"upstream: {trace}", _BLOCKED


def _with_vectors() -> Recipe:
    recipe = Recipe.active(PAIR, "deletionVectors").append(pairs(*range(6)))
    return recipe.append(pairs(7)).delete_by_vectors(compare("id", "=", 2, "long"))


@FEATURES.case("write-drop-deletionvectors-live", "TF-016")
def _drop_live_vectors(case: CaseWriter) -> None:
    """A drop of deletionVectors leaves no file with a vector, or is refused."""
    recipe = _with_vectors().given().run("drop_feature", feature="deletionVectors")
    recipe.publish(case, contested=[*FEATURE_DROPPED, _in_the_way("a file has a vector")])


@FEATURES.case("write-drop-columnmapping", "TF-016")
def _drop_later_mapping(case: CaseWriter) -> None:
    """A drop of column mapping leaves nothing of it, or is refused."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).run("enable_feature", feature="columnMapping")
    recipe.set_properties(MAPPED).append(pairs(3)).run("drop_feature", feature="columnMapping")
    recipe.append(pairs(4)).delete(compare("id", "=", 2, "long"))
    recipe.publish(case, contested=FEATURE_DROPPED)


@FEATURES.case("write-drop-columnmapping-dropped", "TF-016")
def _drop_mapping_of_dropped(case: CaseWriter) -> None:
    """After a drop of column mapping a dropped column stays away."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).run("enable_feature", feature="columnMapping")
    recipe.set_properties(MAPPED).drop_column("name")
    recipe.run("drop_feature", feature="columnMapping")
    recipe.publish(case, contested=[*FEATURE_DROPPED, _in_the_way("files still have the column")])


@FEATURES.case("write-drop-typewidening", "TF-016")
def _drop_widening(case: CaseWriter) -> None:
    """A drop of typeWidening leaves no file of narrow values, or is refused."""
    schema = struct(id="long", v="byte")
    recipe = Recipe.active(schema, "typeWidening")
    recipe.append([{"id": 1, "v": 1}]).change_type("v", "integer").append([{"id": 2, "v": 300}])
    recipe.run("drop_feature", feature="typeWidening").append([{"id": 3, "v": 70_000}])
    recipe.delete(compare("id", "=", 2, "long")).publish(case, contested=FEATURE_DROPPED)


@FEATURES.case("write-drop-icebergcompatv2", "TF-016")
def _drop_iceberg(case: CaseWriter) -> None:
    """A drop of icebergCompatV2 leaves nothing of it, or is refused."""
    schema = struct(id="long", l=array("long"))
    recipe = Recipe.active(schema, "columnMapping", "icebergCompatV2")
    recipe.append([{"id": 1, "l": [1, None]}]).run("drop_feature", feature="icebergCompatV2")
    recipe.append([{"id": 2, "l": [2]}]).publish(case, contested=FEATURE_DROPPED)


@FEATURES.case("write-drop-clustering", "TF-016")
def _drop_clustering(case: CaseWriter) -> None:
    """A drop of clustering leaves nothing of it, or is refused."""
    recipe = Recipe(PAIR, clustering_columns=("id",)).append(pairs(1, 2)).append(pairs(3))
    recipe.run("optimize", cluster=True).run("drop_feature", feature="clustering")
    recipe.append(pairs(4)).delete(compare("id", "=", 2, "long"))
    recipe.publish(case, contested=FEATURE_DROPPED)


@FEATURES.case("write-drop-domainmetadata-held", "TF-016")
def _drop_domains(case: CaseWriter) -> None:
    """A drop of domainMetadata leaves no domain, or is refused."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1)).set_domain("mine", "{}")
    recipe.run("drop_feature", feature="domainMetadata")
    recipe.publish(case, contested=[*FEATURE_DROPPED, _in_the_way("a user keeps a domain")])


@FEATURES.case("write-drop-domainmetadata-gone", "TF-016")
def _drop_removed_domains(case: CaseWriter) -> None:
    """domainMetadata is dropped once every domain is removed, or kept."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1)).set_domain("mine", "{}")
    recipe.set_domain("mine", None).run("drop_feature", feature="domainMetadata")
    recipe.append(pairs(2)).publish(case, contested=FEATURE_DROPPED)


@FEATURES.case("write-drop-domainmetadata-needed", "TF-016 RT-007")
def _drop_needed(case: CaseWriter) -> None:
    """A feature that another one of the table needs is not dropped."""
    recipe = Recipe(PAIR, features=("rowTracking", "domainMetadata")).append(pairs(1))
    recipe.run("drop_feature", feature="domainMetadata")
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "TF-016"))


@FEATURES.case("write-drop-checkconstraints-held", "TF-016 CHK-001")
def _drop_checks(case: CaseWriter) -> None:
    """A drop of checkConstraints leaves no constraint, or is refused."""
    recipe = Recipe(PAIR, (), {"delta.constraints.positive": "id > 0"}, ("checkConstraints",))
    recipe.append(pairs(1)).run("drop_feature", feature="checkConstraints")
    recipe.publish(case, contested=[*FEATURE_DROPPED, _in_the_way("the table has a constraint")])


@FEATURES.case("write-drop-v2checkpoint-policy", "TF-016")
def _drop_policy(case: CaseWriter) -> None:
    """A drop of v2Checkpoint leaves none of its checkpoints, or is refused."""
    recipe = Recipe.active(PAIR, "v2Checkpoint")
    recipe.append(pairs(1, 2)).checkpoint().run("drop_feature", feature="v2Checkpoint")
    recipe.publish(
        case, contested=[*FEATURE_DROPPED, _in_the_way("the table asks for V2 checkpoints")]
    )


@FEATURES.case("write-drop-implied", "TF-016 TF-012")
def _drop_implied(case: CaseWriter) -> None:
    """A drop from versions without lists keeps what they imply."""
    properties = {"delta.constraints.positive": "id > 0"}
    recipe = Recipe(PAIR, (), properties, protocol=Protocol(1, 4)).append(pairs(1, 2)).given()
    recipe.run("drop_feature", feature="changeDataFeed").append(pairs(3))
    recipe.publish(case, contested=FEATURE_DROPPED)


@FEATURES.case("write-enable-several", "TF-016 TF-015")
def _enable_several(case: CaseWriter) -> None:
    """A feature that is enabled takes no other out."""
    recipe = Recipe(PAIR).append(pairs(1))
    for name in ("checkConstraints", "changeDataFeed", "appendOnly", "domainMetadata"):
        recipe.run("enable_feature", feature=name)
    recipe.append(pairs(2)).publish(case)


_LISTED: Final = (
    ("listed", "Spark: what needs a feature lists it", None),
    (
        "apart",
        "a writer may add a feature, and need not do so by the way",
        Refusal("unsupported", "commit", "TF-016", of=("set_properties", "add_constraint")),
    ),
)
"""What becomes of a feature that something else needs, by what writers are allowed."""


@FEATURES.case("write-enable-by-property", "TF-016 TF-015")
def _enabled_by_property(case: CaseWriter) -> None:
    """A feature that a property or a constraint needs takes no other out."""
    recipe = Recipe(PAIR, features=("domainMetadata", "appendOnly")).append(pairs(1)).given()
    recipe.set_properties({"delta.enableChangeDataFeed": "true"}).append(pairs(2))
    recipe.set_properties({"delta.enableDeletionVectors": "true"})
    recipe.run("add_constraint", name="positive", expression="id > 0")
    recipe.append(pairs(3)).publish(case, contested=_LISTED)
