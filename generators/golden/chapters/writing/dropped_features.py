"""Cases of writing: features that are dropped from a table, and what they leave.

Serves "Table Features". A feature is taken out of the protocol when nothing of it is left; the text
of 2025 knows no removal, so that a refusal is right as well.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import Recipe
from generators.oracle.delta_schema import field, struct

__all__ = ["CHAPTERS"]

FEATURES: Final = Chapter("table-features", since="2025")

_PAIR: Final = struct(field("id", "long"), field("name", "string"))
_MAPPED: Final = {"delta.columnMapping.mode": "name"}


def _pairs(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"n{number}"} for number in numbers]


@FEATURES.case(
    "write-drop-feature",
    "A feature of which nothing is left is dropped, or kept",
    "TF-016",
    features=("vacuumProtocolCheck",),
)
def _drop_feature(case: CaseWriter) -> None:
    recipe = Recipe(_PAIR, features=("changeDataFeed", "vacuumProtocolCheck")).append(_pairs(1))
    recipe.keep("drop_feature", feature="vacuumProtocolCheck")
    refused = Refusal("unsupported", "commit", "TF-016")
    recipe.publish(
        case,
        contested=[
            ("removed", "upstream, Spark: nothing of the feature is left", None),
            ("kept", "text of 2025: a feature is never removed", refused),
        ],
    )


def _drop_traces(
    feature: str,
    properties: dict[str, str],
    asked: tuple[str, ...],
    case: CaseWriter,
    *,
    given: bool = False,
) -> None:
    recipe = Recipe(_PAIR, (), properties, asked).append(_pairs(1, 2)).append(_pairs(3))
    if given:
        recipe.given()
    recipe.keep("drop_feature", feature=feature).append(_pairs(4))
    recipe.delete(compare("id", "=", 2, "long"))
    refused = Refusal("unsupported", "commit", "TF-016")
    recipe.publish(
        case,
        contested=[
            ("removed", "upstream, Spark: nothing of the feature is left", None),
            ("kept", "text of 2025: a feature is never removed", refused),
        ],
    )


@FEATURES.case(
    "write-drop-columnmapping-renamed",
    "A drop of column mapping keeps renamed columns, or is refused",
    "TF-016",
    features=("columnMapping",),
)
def _drop_mapping(case: CaseWriter) -> None:
    recipe = Recipe(_PAIR, (), _MAPPED, ("columnMapping",)).append(_pairs(1, 2))
    recipe.rename_column("name", "label").append([{"id": 3, "label": "c"}])
    recipe.keep("drop_feature", feature="columnMapping")
    refused = Refusal("unsupported", "commit", "TF-016")
    blocked = Refusal("constraint", "commit", "TF-016")
    recipe.publish(
        case,
        contested=[
            ("removed", "upstream, Spark: nothing of the feature is left", None),
            ("kept", "text of 2025: a feature is never removed", refused),
            ("in-the-way", "upstream: files know the column by another name", blocked),
        ],
    )


for _feature, _properties, _asked in (
    ("inCommitTimestamp", {"delta.enableInCommitTimestamps": "true"}, ()),
    ("deletionVectors", {"delta.enableDeletionVectors": "true"}, ()),
    ("rowTracking", {"delta.enableRowTracking": "true"}, ("rowTracking", "domainMetadata")),
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
    partial(
        _drop_traces,
        "rowTracking",
        {"delta.enableRowTracking": "true"},
        ("rowTracking", "domainMetadata"),
        given=True,
    ),
)

CHAPTERS = (FEATURES,)
