"""Cases of writing: statistics of files bound the values that are there."""

from __future__ import annotations

import math
from typing import Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.recipes import PAIR, Recipe
from generators.golden.chapters.files.types import utc
from generators.oracle.delta_schema import struct

STATISTICS: Final = Chapter("per-file-statistics")

_TEXTS: Final = ("a" * 40, "\u00e9" * 33, "\U0001f600" * 33, "\U0010ffff" * 33, "z" * 32, "")


@STATISTICS.case("write-long-strings", "STAT-012 STAT-013")
def _long_strings(case: CaseWriter) -> None:
    """Bounds of long strings still bound them."""
    recipe = Recipe(PAIR)
    for number, text in enumerate(_TEXTS):
        recipe.append([{"id": number, "name": text}, {"id": number, "name": None}])
    recipe.delete(compare("name", "=", _TEXTS[1], "string")).publish(case)


_CUT: Final = (
    "ab" * 20,
    "az" + "a" * 38,
    "\ud7ff" * 33,
    "a" * 31 + "\U0010ffff" * 5,
    "x" * 31 + "yz",
    "ca" * 20,
)


@STATISTICS.case("write-cut-strings", "STAT-012")
def _cut_strings(case: CaseWriter) -> None:
    """Bounds of strings that are cut hold whatever stands there."""
    recipe = Recipe(PAIR)
    for number, text in enumerate(_CUT):
        recipe.append([{"id": number, "name": text}, {"id": number, "name": text[:32]}])
    recipe.delete(compare("name", "=", _CUT[0], "string")).publish(case)


@STATISTICS.case("write-odd-numbers", "STAT-012")
def _odd_numbers(case: CaseWriter) -> None:
    """NaN, infinities and zeros keep bounds sound."""
    values = (math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, None)
    recipe = Recipe(struct(id="long", f="float", d="double"))
    for number, value in enumerate(values):
        single = 0.0 if value == 5e-324 else value
        recipe.append([{"id": number, "f": single, "d": value}, {"id": number, "f": 1.0, "d": 1.0}])
    recipe.publish(case)


@STATISTICS.case("write-instants", "STAT-012")
def _instants(case: CaseWriter) -> None:
    """Bounds of instants hold below the millisecond."""
    moments = (utc(1969, 12, 31, 23, 59, 59, 999999), utc(2024, 2, 29, 0, 0, 0, 1))
    recipe = Recipe(struct(id="long", t="timestamp"))
    for number, moment in enumerate(moments):
        recipe.append([{"id": number, "t": moment}])
    recipe.delete(compare("t", "=", moments[0], "timestamp")).publish(case)


@STATISTICS.case("write-nulls", "STAT-008 STAT-012")
def _nulls(case: CaseWriter) -> None:
    """Columns of nothing but nulls are counted."""
    rows = [{"id": number, "name": None} for number in range(3)]
    Recipe(PAIR).append(rows).delete(compare("id", "=", 1, "long")).publish(case)
