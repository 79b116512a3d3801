"""Cases of writing: change data files hold what changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED as WITH_FEED
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import field, struct

FEED: Final = Chapter("change-data-files", since="2025")


@FEED.case("write-feed-unlisted", "CDC-013")
def _feed_unlisted(case: CaseWriter) -> None:
    """At writer version 7 the property alone has no change files written."""
    protocol = Protocol(1, 7, None, ("appendOnly",))
    recipe = Recipe(PAIR, (), WITH_FEED, protocol=protocol).append(pairs(1, 2, 3)).given()
    recipe.update({"name": "x"}, compare("id", "=", 1, "long"))
    recipe.delete(compare("id", "=", 2, "long"))
    refused = Refusal("unsupported", "commit", "CDC-013", of=("update", "delete"))
    recipe.publish(
        case,
        contested=[
            ("carried-out", "the property is that of a feature that is not listed", None),
            ("refused", "no clause has a writer change rows", refused),
        ],
    )


@FEED.case("write-overwrite-where", "CDC-012 CDC-001")
def _overwrite_where(case: CaseWriter) -> None:
    """Rows that an overwrite of some leaves in their file are no changes."""
    recipe = Recipe.active(PAIR, "changeDataFeed")
    recipe.append(pairs(1, 2, 3)).append(pairs(4, 5))
    recipe.overwrite(pairs(3, 7), compare("id", ">=", 3, "long")).append(pairs(8)).publish(case)


@FEED.case("write-whole-files", "CDC-012")
def _whole_files(case: CaseWriter) -> None:
    """A delete records the rows of a file that goes whole beside others."""
    recipe = Recipe.active(PAIR, "changeDataFeed")
    recipe.append(pairs(1, 2)).append(pairs(3, 4)).given()
    recipe.delete(is_in("id", [1, 2, 3], "long")).append(pairs(5)).publish(case)


@FEED.case("write-enabled-later", "CDC-012 CDC-013")
def _recorded_later(case: CaseWriter) -> None:
    """Changes are recorded once the feed is enabled, on a table of before."""
    recipe = Recipe(PAIR, features=("changeDataFeed",)).append(pairs(*range(6)))
    recipe.update({"name": "x"}, compare("id", "=", 0, "long")).set_properties(WITH_FEED)
    recipe.update({"name": "y"}, compare("id", "=", 1, "long"))
    recipe.merge([*pairs(9), {"id": 2, "name": "z"}], SAME_ID, *UPSERT)
    recipe.delete(compare("id", "=", 3, "long")).checkpoint()
    recipe.update({"name": "w"}, compare("id", ">=", 4, "long")).publish(case)


def _recorded(feature: str, properties: Mapping[str, str], case: CaseWriter) -> None:
    """Change rows, and move them between partitions."""
    schema = struct(field("id", "long"), field("part", "string"))
    features = ("changeDataFeed", *feature.split())
    recipe = Recipe.active(schema, *features, partition_columns=("part",), properties=properties)
    recipe.append([{"id": n, "part": "ab"[n % 2]} for n in range(8)])
    recipe.update({"part": "c"}, is_in("id", [1, 5], "long"))
    recipe.update({"part": None, "id": 20}, compare("id", "=", 2, "long"))
    moved: list[dict[str, Any]] = [{"id": 3, "part": "d"}, {"id": 9, "part": "a"}]
    recipe.merge(moved, SAME_ID, *UPSERT)
    recipe.update({"id": 50}, compare("id", "=", 5, "long"))
    recipe.delete(compare("id", "=", 7, "long")).publish(case)


_RECORDED: Final[tuple[tuple[str, str, str, Mapping[str, str], str], ...]] = (
    ("partitions", "Rows that leave a partition are recorded as they were", "", {}, "CDC-012"),
    ("partitions-with-vectors", "Rows that leave a partition by vectors are recorded as they were",
     "deletionVectors", {}, "CDC-012"),
    ("mapped-by-name", "The feed of a table mapped by name has its columns", "columnMapping", {},
     "CDC-012 CM-013"),
    ("mapped-by-id", "The feed of a table mapped by id has its columns", "columnMapping",
     {"delta.columnMapping.mode": "id"}, "CDC-012 CM-013"),
)  # fmt: skip
"""Name, title, feature beside that of the feed, further properties, requirements."""

for _slug, _title, _feature, _properties, _ids in _RECORDED:
    FEED.define(f"write-{_slug}", _title, _ids, partial(_recorded, _feature, _properties))
