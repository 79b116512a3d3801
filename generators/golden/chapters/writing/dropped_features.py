"""Cases of writing: features that come and go, and what columns keep as they are altered.

Serves "Table Features", "Default Columns" and "Column Metadata". A feature is taken
out of the protocol when nothing of it is left; the text of 2025 knows no removal, so that a refusal
is right as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.writing.operations import go_over
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import Field, array, field, map_of, struct
from generators.oracle.operations import SetComment

FEATURES: Final = Chapter("table-features", since="2025")
DEFAULTS: Final = Chapter("default-columns", since="2025")
SCHEMA: Final = Chapter("schema-serialization-format")
MAPPING: Final = Chapter("column-mapping", since="2025")
WIDENING: Final = Chapter("type-widening", since="upstream")
VERSIONS: Final = Chapter("version-requirements")

_MAPPED: Final = {"delta.columnMapping.mode": "name"}
_TRACKED: Final = (
    "rowTracking",
    {"delta.enableRowTracking": "true"},
    ("rowTracking", "domainMetadata"),
)

_DROP: Final = ("drop_feature",)
_READINGS: Final = (
    ("removed", "upstream, Spark: nothing of the feature is left", None),
    (
        "kept",
        "text of 2025: a feature is never removed",
        Refusal("unsupported", "commit", "TF-016", of=_DROP),
    ),
)
"""What becomes of a feature that is dropped, by the readings of the text."""


@FEATURES.case("write-unknown-feature-later", "TF-003 TF-015")
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
    recipe.keep("drop_feature", feature="vacuumProtocolCheck")
    recipe.publish(case, contested=_READINGS)


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
    recipe.keep("drop_feature", feature=feature).append(pairs(4))
    recipe.delete(compare("id", "=", 2, "long"))
    recipe.publish(case, contested=_READINGS)


@FEATURES.case("write-drop-columnmapping-renamed", "TF-016")
def _drop_mapping(case: CaseWriter) -> None:
    """A drop of column mapping keeps renamed columns, or is refused."""
    recipe = Recipe(PAIR, (), _MAPPED, ("columnMapping",)).append(pairs(1, 2))
    recipe.rename_column("name", "label").append([{"id": 3, "label": "c"}])
    recipe.keep("drop_feature", feature="columnMapping")
    blocked = Refusal("constraint", "commit", "TF-016", of=_DROP)
    in_the_way = ("in-the-way", "upstream: files know the column by another name", blocked)
    recipe.publish(case, contested=[*_READINGS, in_the_way])


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
    feature, properties, asked = _TRACKED
    recipe = Recipe(PAIR, (), properties, asked).append(pairs(1, 2, 3)).append(pairs(4, 5))
    recipe.keep("drop_feature", feature=feature).append(pairs(6))
    recipe.restore(2).append(pairs(7, 8)).publish(case, contested=_READINGS)


_BLOCKED: Final = Refusal("constraint", "commit", "TF-016", of=_DROP)


def _in_the_way(trace: str) -> tuple[str, str, Refusal]:
    """Return the reading that a trace, which only a user may take away, blocks the drop."""
    return "in-the-way", f"upstream: {trace}", _BLOCKED


_VECTORS: Final = {"delta.enableDeletionVectors": "true"}


def _with_vectors() -> Recipe:
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(*range(6)))
    return recipe.append(pairs(7)).delete_by_vectors(compare("id", "=", 2, "long"))


@FEATURES.case("write-drop-deletionvectors-live", "TF-016")
def _drop_live_vectors(case: CaseWriter) -> None:
    """A drop of deletionVectors leaves no file with a vector, or is refused."""
    recipe = _with_vectors().given().keep("drop_feature", feature="deletionVectors")
    recipe.publish(case, contested=[*_READINGS, _in_the_way("a file has a vector")])


@FEATURES.case("write-drop-columnmapping", "TF-016")
def _drop_later_mapping(case: CaseWriter) -> None:
    """A drop of column mapping leaves nothing of it, or is refused."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).keep("enable_feature", feature="columnMapping")
    recipe.set_properties(_MAPPED).append(pairs(3)).keep("drop_feature", feature="columnMapping")
    recipe.append(pairs(4)).delete(compare("id", "=", 2, "long"))
    recipe.publish(case, contested=_READINGS)


@FEATURES.case("write-drop-columnmapping-dropped", "TF-016")
def _drop_mapping_of_dropped(case: CaseWriter) -> None:
    """After a drop of column mapping a dropped column stays away."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).keep("enable_feature", feature="columnMapping")
    recipe.set_properties(_MAPPED).drop_column("name")
    recipe.keep("drop_feature", feature="columnMapping")
    recipe.publish(case, contested=[*_READINGS, _in_the_way("files still have the column")])


@FEATURES.case("write-drop-typewidening", "TF-016")
def _drop_widening(case: CaseWriter) -> None:
    """A drop of typeWidening leaves no file of narrow values, or is refused."""
    schema = struct(id="long", v="byte")
    recipe = Recipe(schema, (), {"delta.enableTypeWidening": "true"}, ("typeWidening",))
    recipe.append([{"id": 1, "v": 1}]).change_type("v", "integer").append([{"id": 2, "v": 300}])
    recipe.keep("drop_feature", feature="typeWidening").append([{"id": 3, "v": 70_000}])
    recipe.delete(compare("id", "=", 2, "long")).publish(case, contested=_READINGS)


@FEATURES.case("write-drop-icebergcompatv2", "TF-016")
def _drop_iceberg(case: CaseWriter) -> None:
    """A drop of icebergCompatV2 leaves nothing of it, or is refused."""
    schema = struct(id="long", l=array("long"))
    properties = {**_MAPPED, "delta.enableIcebergCompatV2": "true"}
    recipe = Recipe(schema, (), properties, ("columnMapping", "icebergCompatV2"))
    recipe.append([{"id": 1, "l": [1, None]}]).keep("drop_feature", feature="icebergCompatV2")
    recipe.append([{"id": 2, "l": [2]}]).publish(case, contested=_READINGS)


@FEATURES.case("write-drop-clustering", "TF-016")
def _drop_clustering(case: CaseWriter) -> None:
    """A drop of clustering leaves nothing of it, or is refused."""
    recipe = Recipe(PAIR, clustering_columns=("id",)).append(pairs(1, 2)).append(pairs(3))
    recipe.keep("optimize", cluster=True).keep("drop_feature", feature="clustering")
    recipe.append(pairs(4)).delete(compare("id", "=", 2, "long"))
    recipe.publish(case, contested=_READINGS)


@FEATURES.case("write-drop-domainmetadata-held", "TF-016")
def _drop_domains(case: CaseWriter) -> None:
    """A drop of domainMetadata leaves no domain, or is refused."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1)).set_domain("mine", "{}")
    recipe.keep("drop_feature", feature="domainMetadata")
    recipe.publish(case, contested=[*_READINGS, _in_the_way("a user keeps a domain")])


@FEATURES.case("write-drop-domainmetadata-gone", "TF-016")
def _drop_removed_domains(case: CaseWriter) -> None:
    """domainMetadata is dropped once every domain is removed, or kept."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1)).set_domain("mine", "{}")
    recipe.set_domain("mine", None).keep("drop_feature", feature="domainMetadata")
    recipe.append(pairs(2)).publish(case, contested=_READINGS)


@FEATURES.case("write-drop-domainmetadata-needed", "TF-016 RT-007")
def _drop_needed(case: CaseWriter) -> None:
    """A feature that another one of the table needs is not dropped."""
    recipe = Recipe(PAIR, features=("rowTracking", "domainMetadata")).append(pairs(1))
    recipe.keep("drop_feature", feature="domainMetadata")
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "TF-016"))


@FEATURES.case("write-drop-checkconstraints-held", "TF-016 CHK-001")
def _drop_checks(case: CaseWriter) -> None:
    """A drop of checkConstraints leaves no constraint, or is refused."""
    recipe = Recipe(PAIR, (), {"delta.constraints.positive": "id > 0"}, ("checkConstraints",))
    recipe.append(pairs(1)).keep("drop_feature", feature="checkConstraints")
    recipe.publish(case, contested=[*_READINGS, _in_the_way("the table has a constraint")])


@FEATURES.case("write-drop-v2checkpoint-policy", "TF-016")
def _drop_policy(case: CaseWriter) -> None:
    """A drop of v2Checkpoint leaves none of its checkpoints, or is refused."""
    recipe = Recipe(PAIR, (), {"delta.checkpointPolicy": "v2"}, ("v2Checkpoint",))
    recipe.append(pairs(1, 2)).checkpoint().keep("drop_feature", feature="v2Checkpoint")
    recipe.publish(case, contested=[*_READINGS, _in_the_way("the table asks for V2 checkpoints")])


@FEATURES.case("write-drop-implied", "TF-016 TF-012")
def _drop_implied(case: CaseWriter) -> None:
    """A drop from versions without lists keeps what they imply."""
    properties = {"delta.constraints.positive": "id > 0"}
    recipe = Recipe(PAIR, (), properties, protocol=Protocol(1, 4)).append(pairs(1, 2)).given()
    recipe.keep("drop_feature", feature="changeDataFeed").append(pairs(3))
    recipe.publish(case, contested=_READINGS)


@FEATURES.case("write-enable-several", "TF-016 TF-015")
def _enable_several(case: CaseWriter) -> None:
    """A feature that is enabled takes no other out."""
    recipe = Recipe(PAIR).append(pairs(1))
    for name in ("checkConstraints", "changeDataFeed", "appendOnly", "domainMetadata"):
        recipe.keep("enable_feature", feature=name)
    recipe.append(pairs(2)).publish(case)


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
    recipe = Recipe(schema, (), _MAPPED, ("columnMapping", _PRESET)).append([{"id": 1, "n": 5}])
    recipe.append([{"id": 2}], [{"id": 2, "n": 7}]).publish(case)


@DEFAULTS.case("write-set-default-again", "DFT-005")
def _default_again(case: CaseWriter) -> None:
    """A row gets the default that was set last."""
    recipe = Recipe(PAIR, features=(_PRESET,)).append([{"id": 1}])
    for number, name in ((2, "first"), (3, "second")):
        recipe.keep("set_default", column="name", expression=f"'{name}'")
        recipe.append([{"id": number}], [{"id": number, "name": name}])
    recipe.publish(case)


def _default_kept(
    properties: dict[str, str],
    features: tuple[str, ...],
    change: Callable[[Recipe], Recipe],
    column: Field,
    case: CaseWriter,
) -> None:
    """Alter a column that has a default, and leave its value out."""
    recipe = Recipe(struct(field("id", "long"), column), (), properties, (*features, _PRESET))
    recipe.append([{"id": 1, column.name: 5}])
    name = change(recipe).now.names[1]
    recipe.append([{"id": 2}], [{"id": 2, name: 7}]).publish(case)


for _name, _title, _properties, _features, _column, _change in (
    (
        "rename",
        "A column that is renamed keeps its default",
        _MAPPED,
        ("columnMapping",),
        _SEVEN,
        lambda recipe: recipe.rename_column("n", "m"),
    ),
    (
        "nullable",
        "A column that may have nulls from now on keeps its default",
        {},
        (),
        replace(_SEVEN, nullable=False),
        lambda recipe: recipe.set_nullable("n", nullable=True),
    ),
    (
        "comment",
        "A column that gets a comment keeps its default",
        {},
        (),
        _SEVEN,
        lambda recipe: recipe.do(SetComment("n", "a number")),
    ),
    (
        "widen",
        "A column that gets a wider type keeps its default",
        {"delta.enableTypeWidening": "true"},
        ("typeWidening",),
        _SEVEN,
        lambda recipe: recipe.change_type("n", "long"),
    ),
):
    DEFAULTS.define(
        f"write-kept-by-{_name}",
        _title,
        "SCH-037 DFT-005",
        partial(_default_kept, _properties, _features, _change, _column),
    )


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
        _MAPPED,
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


def _kept_by_version(
    version: int,
    properties: Mapping[str, str],
    metadata: Mapping[str, Any],
    row: str,
    case: CaseWriter,
) -> None:
    schema = struct(
        field("id", "long", metadata=metadata if version == _INVARIANTS else {}),
        field("x", "long", metadata={} if version == _INVARIANTS else metadata),
    )
    recipe = Recipe(schema, (), properties, protocol=Protocol(1, version))
    recipe.append([{"id": 1, "x": 2}]).given().add_column(field("n", "long"))
    recipe.set_properties({"team": "a"}).append([{"id": 2, "x": 4, "n": 1}])
    recipe.append([{"id": -1, "x": 5, "n": 1}])
    recipe.publish(case, refusal=Refusal("constraint", "commit", row))


_INVARIANTS: Final = 2
"""The writer version that brings invariants."""

for _version, _properties, _metadata, _row in (
    (2, {}, {"delta.invariants": '{"expression":{"expression":"id > 0"}}'}, "WVER-001"),
    (3, {"delta.constraints.c": "id > 0"}, {}, "WVER-002"),
    (4, {}, {"delta.generationExpression": "id * 2"}, "WVER-003"),
):
    VERSIONS.define(
        f"write-kept-{_version}",
        f"What version {_version} holds rows to stays when a table is altered",
        _row,
        partial(_kept_by_version, _version, _properties, _metadata, _row),
    )
