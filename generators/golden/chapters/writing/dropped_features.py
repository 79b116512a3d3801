"""Cases of writing: features that are dropped from a table, and what they leave.

Serves "Table Features". A feature is taken out of the protocol when nothing of it is left; the text
of 2025 knows no removal, so that a refusal is right as well.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, Recipe, pairs

__all__ = ["CHAPTERS"]

FEATURES: Final = Chapter("table-features", since="2025")

_MAPPED: Final = {"delta.columnMapping.mode": "name"}
_TRACKED: Final = (
    "rowTracking",
    {"delta.enableRowTracking": "true"},
    ("rowTracking", "domainMetadata"),
)

_READINGS: Final = (
    ("removed", "upstream, Spark: nothing of the feature is left", None),
    (
        "kept",
        "text of 2025: a feature is never removed",
        Refusal("unsupported", "commit", "TF-016"),
    ),
)
"""What becomes of a feature that is dropped, by the readings of the text."""


@FEATURES.case(
    "write-drop-feature",
    "A feature of which nothing is left is dropped, or kept",
    "TF-016",
    features=("vacuumProtocolCheck",),
)
def _drop_feature(case: CaseWriter) -> None:
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


@FEATURES.case(
    "write-drop-columnmapping-renamed",
    "A drop of column mapping keeps renamed columns, or is refused",
    "TF-016",
    features=("columnMapping",),
)
def _drop_mapping(case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), _MAPPED, ("columnMapping",)).append(pairs(1, 2))
    recipe.rename_column("name", "label").append([{"id": 3, "label": "c"}])
    recipe.keep("drop_feature", feature="columnMapping")
    blocked = Refusal("constraint", "commit", "TF-016")
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
        features=tuple(n for n in (_feature,) if n in {"deletionVectors", "v2Checkpoint"}),
    )

FEATURES.define(
    "write-drop-rowtracking-given",
    "A drop of rowTracking leaves no given row ids, or is refused",
    "TF-016",
    partial(_drop_traces, *_TRACKED, given=True),
)

CHAPTERS = (FEATURES,)
