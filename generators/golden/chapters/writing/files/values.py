"""Cases of writing: data files and partition values of every type."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import all_of, compare, is_null
from generators.golden.cases.recipes import Recipe
from generators.golden.chapters.files.types import local, utc
from generators.golden.chapters.writing.starts import EVERY, KEYED, every
from generators.oracle.delta_schema import Struct, array, field, map_of, struct

VALUES: Final = Chapter("partition-value-serialization")
DATA: Final = Chapter("data-files")

_TYPES: Final[Mapping[str, tuple[str, tuple[Any, ...], str]]] = {
    "string": ("string", ("a", "B", "\u00e9"), "PART-003"),
    "boolean": ("boolean", (True, False), "PART-013"),
    "byte": ("byte", (-128, 127), "PART-004"),
    "short": ("short", (-(2**15), 2**15 - 1), "PART-004"),
    "integer": ("integer", (-(2**31), 2**31 - 1), "PART-004"),
    "long": ("long", (-(2**63), 2**53 + 1, 2**63 - 1), "PART-004"),
    "float": ("float", (-1.5, 0.25), "PART-004"),
    "double": ("double", (-1.5, 0.1, 1.0e300), "PART-004"),
    "special-float": ("float", (math.inf, -math.inf, math.nan, 2.0**100), "PART-004"),
    "special-double": ("double", (math.inf, -math.inf, math.nan, 1.0e-300), "PART-004"),
    "decimal": ("decimal(10,2)", (Decimal("-0.05"), Decimal("99999999.99")), "PART-004"),
    "date": ("date", (date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)), "PART-005"),
    "timestamp": (
        "timestamp",
        (utc(1969, 12, 31, 23, 59, 59, 999999), utc(2024, 2, 29, 12, 30)),
        "PART-008 PART-010",
    ),
    "timestamp-ntz": (
        "timestamp_ntz",
        (local(1969, 12, 31, 23, 59, 59, 999999), local(2024, 2, 29, 12, 30)),
        "PART-011",
    ),
    "binary": ("binary", (b"\x00\x01", b"abc"), "PART-014"),
}


def _one_each(spelled: str, values: tuple[Any, ...]) -> tuple[Recipe, list[dict[str, Any]]]:
    """Append a row to each partition, and return the rows as well."""
    rows = [{"id": number, "part": value} for number, value in enumerate((*values, None))]
    features = ("timestampNtz",) if spelled == "timestamp_ntz" else ()
    schema = struct(id="long", part=spelled)
    return Recipe(schema, ("part",), features=features).append(rows), rows


def _partitioned_by(spelled: str, values: tuple[Any, ...], case: CaseWriter) -> None:
    recipe, rows = _one_each(spelled, values)
    recipe.append(rows[:1])
    recipe.delete(compare("id", "=", len(values) - 1, "long")).publish(case)


def _chosen_by(spelled: str, values: tuple[Any, ...], case: CaseWriter) -> None:
    recipe, rows = _one_each(spelled, values)
    recipe.update({"id": 10}, compare("part", "=", values[0], spelled))
    recipe.append(rows).delete(compare("part", ">", values[0], spelled))
    recipe.delete(compare("part", "=", values[0], spelled)).publish(case)


for _name, (_spelled, _values, _requirements) in _TYPES.items():
    _since = "2025" if "PART-008" in _requirements else None
    VALUES.define(
        f"write-{_name}",
        f"A table partitioned by {_spelled} is written and read back",
        f"{_requirements} PART-001 DATA-004",
        partial(_partitioned_by, _spelled, _values),
        since=_since,
    )
    if not _name.startswith("special-") and _spelled not in ("binary", "boolean"):
        VALUES.define(
            f"write-chosen-by-{_name}",
            f"Rows are chosen by a partition value of type {_spelled}",
            f"{_requirements} SNAP-008 DATA-004",
            partial(_chosen_by, _spelled, _values[:2]),
            since=_since,
        )


@VALUES.case("write-empty-string", "PART-002 PART-001")
def _empty_string(case: CaseWriter) -> None:
    """An empty string partition value becomes null."""
    rows: list[dict[str, Any]] = [
        {"id": 1, "part": ""},
        {"id": 2, "part": None},
        {"id": 3, "part": " "},
    ]
    Recipe(KEYED, ("part",)).append(rows).publish(case)


@VALUES.case("write-two-columns", "PART-001 PART-004 DATA-004")
def _two_columns(case: CaseWriter) -> None:
    """Two partition columns with nulls in each."""
    schema = struct(id="long", a="string", b="integer")
    rows: list[dict[str, Any]] = [
        {"id": 4 * number + at, "a": a, "b": b}
        for number, a in enumerate(("x", None))
        for at, b in enumerate((1, None))
    ]
    recipe = Recipe(schema, ("b", "a")).append(rows).append(rows)
    recipe.delete(all_of(is_null("a"), compare("b", "=", 1, "integer"))).publish(case)


@DATA.case("write-every-type", "DATA-004 STAT-012 PQ-001")
def _every_type(case: CaseWriter) -> None:
    """Rows of every primitive type are written."""
    empty: dict[str, Any] = dict.fromkeys(EVERY.names) | {"id": 99}
    recipe = Recipe(EVERY).append([every(number) for number in range(5)]).append([empty])
    recipe.delete(compare("id", "=", 3, "long")).publish(case)


_NESTED: Final[Struct] = struct(
    id="long",
    s=struct(a="integer", inner=struct(b="string")),
    l=array("string"),
    m=map_of("string", "long"),
    deep=array(struct(k="string", v=array("integer"))),
)


@DATA.case("write-nested", "DATA-004 PQ-015 PQ-016 PQ-017")
def _nested(case: CaseWriter) -> None:
    """Nested rows with nulls at every level are written."""
    rows: list[dict[str, Any]] = [
        {
            "id": 1,
            "s": {"a": 1, "inner": {"b": "x"}},
            "l": ["a", None, ""],
            "m": {"k": 1, "z": None},
            "deep": [{"k": "a", "v": [1, None]}, None, {"k": None, "v": None}],
        },
        {"id": 2, "s": None, "l": None, "m": None, "deep": None},
        {"id": 3, "s": {"a": None, "inner": None}, "l": [], "m": {}, "deep": []},
    ]
    recipe = Recipe(_NESTED).append(rows).append(rows[1:])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@DATA.case("write-nested-times", "SCH-015")
def _nested_times(case: CaseWriter) -> None:
    """Timestamps within structs, lists and maps are instants."""
    inner = (("s", struct(t="timestamp")), ("l", array("timestamp")))
    fields = (*inner, ("m", map_of("string", "timestamp")))
    recipe = Recipe(struct(field("id", "long"), *(field(name, of) for name, of in fields)))
    at = utc(2024, 3, 1, 12)
    recipe.append([{"id": 1, "s": {"t": at}, "l": [at, None], "m": {"k": at}}]).publish(case)


@DATA.case("write-append-types", "DATA-004 STAT-012")
def _append_types(case: CaseWriter) -> None:
    """An append of every type fits another writer's files."""
    recipe = Recipe(EVERY).append([every(1)]).given()
    recipe.append([every(2), every(3)]).publish(case)


@DATA.case("write-underscored-partition", "DATA-001")
def _underscored_partition(case: CaseWriter) -> None:
    """A partition column may begin with an underscore."""
    schema = struct(id="long", _part="string")
    recipe = Recipe(schema, ("_part",)).append([{"id": 1, "_part": "a"}, {"id": 2, "_part": None}])
    recipe.append([{"id": 3, "_part": "_a"}]).delete(compare("id", "=", 2, "long")).publish(case)


_PRECISE: Final[Mapping[str, tuple[str, Sequence[Any]]]] = {
    "double": ("PART-004", (0.1, 0.1 + 2**-56, 1 / 3, -5e-7, 1e22, 123456789.125)),
    "float": ("PART-004", (0.5, -(2.0**-149), 16777216.0, 3.4028234663852886e38)),
    "decimal(38,18)": (
        "PART-004",
        (Decimal("0.000000000000000001"), Decimal("-12345678901234567890.5")),
    ),
    "long": ("PART-004", (2**63 - 1, -(2**63), 2**53 + 1)),
    "date": ("PART-005", (date(1, 1, 1), date(1582, 10, 4), date(9999, 12, 31))),
}


def _precise(kind: str, values: Sequence[Any], case: CaseWriter) -> None:
    recipe = Recipe(struct(id="long", p=kind), ("p",))
    rows = [{"id": n, "p": value} for n, value in enumerate(values)]
    recipe.append(rows).append([{"id": 90, "p": None}])
    recipe.delete(compare("p", "=", values[0], kind)).publish(case)


for _kind, (_requirement, _exact) in _PRECISE.items():
    _slug = _kind.partition("(")[0]
    VALUES.define(
        f"write-precise-{_slug}",
        f"Partition values of type {_slug} keep all their digits",
        _requirement,
        partial(_precise, _kind, _exact),
    )
