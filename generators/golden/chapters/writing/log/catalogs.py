"""Cases of writing: tables that a catalog manages, without their catalog."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.writing.given import aged

CATALOG: Final = Chapter("catalog-managed-tables", since="upstream")

_MANAGED: Final = ("catalogManaged", "inCommitTimestamp")

_UNMANAGED: Final[Mapping[str, tuple[str, str, str]]] = {
    "append": ("Rows are not appended past the catalog", "CAT-011", "CAT-016"),
    "delete": ("Rows are not deleted past the catalog", "CAT-016", "CAT-011"),
    "optimize": ("Files are not moved unless the catalog permits it", "CAT-021", "CAT-011"),
    "vacuum": ("Files are not vacuumed unless the catalog permits it", "CAT-020", "CAT-016"),
    "cleanup": ("The log is not cleaned unless the catalog permits it", "CAT-019", "CAT-016"),
}


def _past_the_catalog(operation: str, requirement: str, case: CaseWriter) -> None:
    recipe = Recipe.active(PAIR, *_MANAGED).append(pairs(1, 2)).append(pairs(3))
    recipe.delete(compare("id", "=", 1, "long")).given()
    match operation:
        case "append":
            recipe.append(pairs(9))
        case "delete":
            recipe.delete(compare("id", "=", 2, "long"))
        case "optimize":
            recipe.run("optimize")
        case _:
            recipe.run(operation, kept=aged(case))
    recipe.publish(case, refusal=Refusal("unsupported", "commit", requirement), managed=True)


for _name, (_title, _id, _other) in _UNMANAGED.items():
    CATALOG.define(
        f"write-{_name}", _title, f"{_id} {_other}", partial(_past_the_catalog, _name, _id)
    )
