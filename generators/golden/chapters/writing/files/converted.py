"""Cases of writing: Parquet files that were there become a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.golden.chapters.files.types import utc
from generators.oracle.delta_schema import Struct, array, field, map_of, struct

FILES: Final = Chapter("add-file-and-remove-file")
TRACKING: Final = Chapter("row-tracking", since="2025")


@FILES.case("write-convert", "ADD-004 DATA-004 STAT-012")
def _convert(case: CaseWriter) -> None:
    """A folder of Parquet files becomes a table."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.convert().append(pairs(4)).delete(compare("id", "=", 2, "long")).publish(case)


@FILES.case("write-convert-partitions", "ADD-004 PART-003 DATA-004")
def _convert_partitions(case: CaseWriter) -> None:
    """The folders of partitions tell their values as files become a table."""
    schema = struct(
        field("id", "long", nullable=False),
        field("day", "date"),
        field("part", "string"),
        field("kind", "integer", nullable=False),
    )
    rows: list[dict[str, Any]] = [
        {"id": 1, "day": date(2024, 2, 29), "part": "a b", "kind": 0},
        {"id": 2, "day": None, "part": "c", "kind": 7},
        {"id": 3, "day": date(1969, 12, 31), "part": None, "kind": 7},
    ]
    recipe = Recipe(schema, ("day", "part", "kind")).append(rows).given().convert()
    recipe.append([{"id": 4, "day": None, "part": None, "kind": 0}])
    recipe.delete(compare("part", "=", "c", "string")).publish(case)


@FILES.case("write-convert-hidden", "ADD-004 DATA-001")
def _convert_hidden(case: CaseWriter) -> None:
    """What a hidden folder holds is no part of a converted table."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.convert().append(pairs(4)).publish(case)
    hidden = case.delta / "_temporary"
    hidden.mkdir()
    for path in sorted(case.delta.glob("*.parquet"))[:1]:
        (hidden / f"other-{path.name}").write_bytes(path.read_bytes())


@TRACKING.case("write-convert", "RT-028 RT-036 RT-045 TF-007")
def _convert_tracked(case: CaseWriter) -> None:
    """Rows of files that become a table which tracks rows are tracked."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.convert({"delta.enableRowTracking": "true"}).append(pairs(4))
    recipe.update({"name": "x"}, compare("id", "=", 2, "long")).publish(case)


def _converted(schema: Struct, rows: Sequence[dict[str, Any]], case: CaseWriter) -> None:
    recipe = Recipe(schema, tuple(schema.names[1:])).append(rows).given().convert()
    recipe.append([{**dict.fromkeys(schema.names), "id": 90}])
    recipe.delete(compare("id", "=", 0, "long")).publish(case)


FILES.define(
    "write-convert-odd-folders",
    "Escaped folder names give the values of converted files",
    "ADD-003 ADD-004 PART-003",
    partial(
        _converted,
        struct(id="long", p="string", n="long"),
        [
            {"id": number, "p": value, "n": None if number % 2 else number}
            for number, value in enumerate(("a b", "50%", "x/y", "é", "c:d", "u=v", None, "%41"))
        ],
    ),
)


FILES.define(
    "write-convert-odd-types",
    "Folder names give values of every type of converted files",
    "ADD-003 ADD-004 PART-003",
    partial(
        _converted,
        struct(id="long", t="timestamp", d="decimal(9,2)", x="double", b="boolean", s="short"),
        [
            {
                "id": 0,
                "t": utc(1969, 12, 31, 23, 59, 59, 999999),
                "d": Decimal("-0.01"),
                "x": -0.5,
                "b": False,
                "s": -(2**15),
            },
            {
                "id": 1,
                "t": utc(2024, 2, 29, 12, 30),
                "d": Decimal("1234567.89"),
                "x": 1e300,
                "b": True,
                "s": 2**15 - 1,
            },
            {"id": 2, "t": None, "d": None, "x": None, "b": None, "s": None},
        ],
    ),
    since="2025",
)


@FILES.case("write-convert-nested", "STAT-007 STAT-012 ADD-004")
def _convert_nested(case: CaseWriter) -> None:
    """Files of nested columns, and of columns without values, become a table."""
    schema = struct(
        id="long",
        s=struct(n="integer", t="string"),
        a=array("long"),
        m=map_of("string", "double"),
        none="string",
        x="float",
    )
    rows: list[dict[str, Any]] = [
        {"id": n, "s": s, "a": a, "m": m, "none": None, "x": x}
        for n, s, a, m, x in (
            (1, {"n": 5, "t": "b"}, [1, None], {"k": 0.5}, 1.5),
            (2, {"n": None, "t": "a"}, [], {}, math.nan),
            (3, None, None, None, None),
        )
    ]
    recipe = Recipe(schema).append(rows[:2]).append(rows[2:]).given().convert()
    recipe.append([{**rows[0], "id": 4, "none": "x"}])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@FILES.case("write-convert-lacking-columns", "STAT-007 STAT-012 ADD-004")
def _convert_lacking(case: CaseWriter) -> None:
    """Files that lack columns of the table's schema are converted."""
    recipe = Recipe(PAIR).append(pairs(1, 2))
    recipe.add_column(field("x", "long")).add_column(field("y", "string"))
    recipe.append([{"id": 3, "name": "n3", "x": 7, "y": None}]).given().convert()
    recipe.append([{"id": 4, "name": None, "x": None, "y": "b"}])
    recipe.update({"x": 8}, compare("id", "=", 2, "long"))
    recipe.delete(is_null("x")).checkpoint().publish(case)
