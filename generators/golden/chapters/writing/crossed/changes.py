"""Cases of writing: every change of rows, under every feature that governs files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import SAME_ID, UPSERT, Recipe
from generators.golden.chapters.writing.starts import KEYED, TRACKED, TRIPLE, keyed, plus, triples
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import MergeClause

TRACKING: Final = Chapter("row-tracking", since="2025")
FEED: Final = Chapter("change-data-files", since="2025")
MAPPING: Final = Chapter("column-mapping", since="2025")
CLOCK: Final = Chapter("in-commit-timestamps", since="2025")
VECTORS: Final = Chapter("deletion-vectors", since="2025")
FILES: Final = Chapter("add-file-and-remove-file")

_TRACKED: Final = " ".join(TRACKED)


def _every_change(features: str, properties: Mapping[str, str], case: CaseWriter) -> None:
    """Append, delete twice from one file, update, overwrite a part, checkpoint, append."""
    recipe = Recipe.active(
        KEYED, *features.split(), partition_columns=("part",), properties=properties
    ).append(keyed(*range(10)))
    recipe.delete(compare("id", "=", 2, "long")).delete(is_in("id", [4, 5], "long"))
    recipe.append(keyed(20, 21)).update({"id": 100}, compare("id", "=", 6, "long"))
    recipe.overwrite([{"id": 50, "part": "b"}], compare("part", "=", "b", "string"))
    recipe.checkpoint().append(keyed(30)).delete(compare("id", "=", 8, "long")).publish(case)


_CHANGED: Final[tuple[tuple[Chapter, str, str, str, str, Mapping[str, str]], ...]] = (
    (VECTORS, "", "Every change is carried out on a table with vectors", "deletionVectors",
     "DV-002 DVDESC-022 DVD-017 DVD-018 DVD-019 REM-014 DATA-005", {}),
    (FEED, "", "Every change is carried out on a table with a change feed", "changeDataFeed",
     "CDC-012 CDC-013 CDFF-004 CDFF-005", {}),
    (FEED, "-with-vectors", "A change feed goes together with vectors",
     "changeDataFeed deletionVectors", "CDC-012 CDC-013 CDFF-004 DVD-019", {}),
    (CLOCK, "", "Every commit carries a time later than the one before", "inCommitTimestamp",
     "ICT-005 ICT-002 ICT-006 ICT-008 ICT-009", {}),
    (TRACKING, "", "Every change is carried out on a table with row tracking", _TRACKED,
     "RT-002 RT-028 RT-029 RT-032 RT-036 RT-037 RT-039 RT-040 RT-042 RT-047", {}),
    (TRACKING, "-with-vectors", "Row tracking goes together with vectors",
     f"{_TRACKED} deletionVectors", "RT-002 RT-028 RT-029 RT-030 RT-031 RT-039", {}),
    (MAPPING, "-by-name", "Every change is carried out on a table mapped by name",
     "columnMapping", "CM-007 CM-013 CM-015 CM-016 CM-017 CM-018 CM-019", {}),
    (MAPPING, "-by-id", "Every change is carried out on a table mapped by id", "columnMapping",
     "CM-007 CM-013 CM-015 CM-016 CM-017 CM-018 CM-019", {"delta.columnMapping.mode": "id"}),
)  # fmt: skip
"""Chapter, end of the name, title, features, requirements, further properties."""

for _chapter, _slug, _title, _features, _ids, _properties in _CHANGED:
    _build = partial(_every_change, _features, _properties)
    _chapter.define(f"write-changes{_slug}", _title, _ids, _build)


_SUM: Final = node("+", column("target", "n"), column("source", "n"))

_TWICE: Final = node("*", column("source", "n"), literal("integer", 2))


def _merged(features: str, case: CaseWriter) -> None:
    """Append, merge with every clause, optimize, update by what a row has, delete, optimize."""
    recipe = Recipe.active(TRIPLE, *features.split())
    recipe.append(triples(*range(1, 7))).append(triples(*range(7, 10)))
    null: dict[str, Any] = {"id": None, "n": 1, "name": "null"}
    recipe.merge(
        [*triples(2, 3, 8, 20), null],
        SAME_ID,
        MergeClause("matched", "delete", node("is_null", column("source", "n"))),
        MergeClause("matched", "update", None, {"n": _SUM}),
        MergeClause("not_matched", "insert", None, {"id": column("source", "id"), "n": _TWICE}),
        MergeClause(
            "not_matched_by_source",
            "delete",
            node("=", column("target", "n"), literal("integer", 50)),
        ),
    )
    recipe.run("optimize").update({"n": plus("n", 5)}, compare("id", "<", 7, "long"))
    recipe.delete(compare("id", "=", 6, "long")).append(triples(30)).run("optimize")
    # What a merge writes is looked at where nothing rewrites it.
    recipe.merge([*triples(9), *triples(31)], SAME_ID, *UPSERT).publish(case)


_MERGED: Final = (
    (FILES, "", "A merge and an optimize leave the rows that they have to", "",
     "DATA-004 DATA-005 FA-005 FA-021"),
    (VECTORS, "", "A merge and an optimize go together with vectors", "deletionVectors",
     "DV-002 DVDESC-022 DVD-005 DVD-017 DVD-018 DVD-019"),
    (FEED, "", "The feed tells what a merge did, and nothing of an optimize", "changeDataFeed",
     "CDC-012 CDC-013 CDFF-004 FA-017"),
    (FEED, "-with-vectors", "The feed of a merge and an optimize goes together with vectors",
     "changeDataFeed deletionVectors", "CDC-012 CDC-013 CDFF-004 FA-017 DVD-019"),
    (TRACKING, "", "Rows keep their ids through a merge and an optimize", _TRACKED,
     "RT-013 RT-047 RT-048 RT-050 RT-052"),
    (TRACKING, "-with-vectors", "Rows keep their ids through a merge by vectors",
     f"{_TRACKED} deletionVectors", "RT-013 RT-030 RT-047 RT-048 RT-050 RT-052"),
    (TRACKING, "-with-feed", "Rows keep their ids where a feed tells of a merge",
     f"{_TRACKED} changeDataFeed", "RT-047 RT-048 RT-050 RT-052 CDC-012"),
    (MAPPING, "", "A merge and an optimize of a mapped table", "columnMapping",
     "CM-007 CM-013 CM-014 CM-015 CM-017"),
    (CLOCK, "", "A merge and an optimize carry later times each", "inCommitTimestamp",
     "ICT-005 ICT-004 ICT-006 ICT-008"),
)  # fmt: skip
"""Chapter, end of the name, title, features, requirements."""

for _chapter, _slug, _title, _features, _ids in _MERGED:
    _chapter.define(f"write-merge{_slug}", _title, _ids, partial(_merged, _features))
