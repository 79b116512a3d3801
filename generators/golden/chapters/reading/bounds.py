"""Cases of bounds at the ends of every type, where arithmetic that is nearly right loses rows.

Covers "Per-file Statistics". Every file has exact bounds; each probe asks for a value that only
an exact comparison in the column's own type finds.
"""

from __future__ import annotations

import math
import struct as packing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, Final

from generators.golden.cases.case import Accepted, CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in, is_not_null, is_null, negate
from generators.golden.cases.publish import filtered, publish
from generators.golden.cases.table import GoldenTable, feature_protocol
from generators.golden.chapters.files.types import local, utc
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.oracle.delta_schema import struct

BOUNDS: Final = Chapter("per-file-statistics")
PARTITIONS: Final = Chapter("partition-value-serialization")


def _single(value: float) -> float:
    """Return the value that a column of type float holds."""
    return float(packing.unpack("<f", packing.pack("<f", value))[0])


@dataclass(frozen=True, slots=True)
class _Ends:
    """A type and values of it that lie close together or far out, one file each.

    Attributes:
        type: the Delta type.
        values: the values, each asked for by equality and order.
        features: reader features that the type needs.
    """

    type: str
    values: Sequence[Any]
    features: tuple[str, ...] = ()


_ENDS: Final[Mapping[str, _Ends]] = {
    "byte": _Ends("byte", (-128, -1, 0, 127)),
    "short": _Ends("short", (-(2**15), -129, 128, 2**15 - 1)),
    "integer": _Ends("integer", (-(2**31), -(2**24) - 1, 2**24 + 1, 2**31 - 1)),
    "long": _Ends("long", (-(2**63), -(2**62) - 1, 2**53, 2**53 + 1, 2**62 + 1, 2**63 - 1)),
    "float": _Ends("float", (_single(-3.4e38), _single(0.1), _single(1 / 3), _single(1.2e-38))),
    "double": _Ends("double", (-1.7e308, 0.1, 0.1 + 2**-56, 5e-324, 1.7e308)),
    "decimal": _Ends(
        "decimal(38,18)",
        (
            Decimal("-99999999999999999999.999999999999999999"),
            Decimal("0.100000000000000001"),
            Decimal("0.100000000000000002"),
            Decimal("99999999999999999999.999999999999999999"),
        ),
    ),
    "date": _Ends(
        "date", (date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(9999, 12, 31))
    ),
    "timestamp": _Ends(
        "timestamp",
        (
            utc(1, 1, 2),
            utc(1582, 10, 4, 23, 59, 59, 999999),
            utc(1969, 12, 31, 23, 59, 59, 999999),
            utc(1970, 1, 1, 0, 0, 0, 1),
            utc(9999, 12, 30),
        ),
    ),
    "timestamp-ntz": _Ends(
        "timestamp_ntz",
        (
            local(1, 1, 2),
            local(1582, 10, 4, 23, 59, 59, 999999),
            local(1969, 12, 31, 23, 59, 59, 999999),
            local(9999, 12, 30),
        ),
        ("timestampNtz",),
    ),
}


def _table(case: CaseWriter, ends: _Ends) -> GoldenTable:
    schema = struct(id="long", v=ends.type)
    options: dict[str, Any] = {}
    if ends.features:
        options["protocol"] = feature_protocol(ends.features)
    return GoldenTable.created(case, schema, **options)


def _ends(case: CaseWriter, ends: _Ends) -> None:
    table = _table(case, ends)
    for number, value in enumerate(ends.values):
        table.append([{"id": number, "v": value}])
    table.append([{"id": 90, "v": None}, {"id": 91, "v": ends.values[0]}])
    at = table.version - 1
    table.checkpoint(version=at, style=CheckpointStyle(stats_parsed=True), hint=False)
    publish(case, table, versions=[], log_info={"lastCheckpointVersion": at})
    for number, value in enumerate(ends.values):
        for slug, operator in (("equal", "="), ("below", "<"), ("above", ">"), ("unequal", "<>")):
            probe = compare("v", operator, value, ends.type)
            title = "Bounds are compared exactly, in the type of their column"
            filtered(case, table, f"{slug}-{number}", probe, title)
    title = "A file with a null among its values is not all null"
    filtered(case, table, "null", is_null("v"), title)
    filtered(case, table, "not-null", is_not_null("v"), title)


def _spread(case: CaseWriter, ends: _Ends) -> None:
    table = _table(case, ends)
    values = sorted(ends.values)
    for number, pair in enumerate(pairwise(values)):
        table.append([{"id": 10 * number + n, "v": value} for n, value in enumerate(pair)])
    publish(case, table, versions=[])
    for number in (0, 1, len(values) - 1):
        value, title = values[number], "A file whose bound is asked for holds another value, too"
        probes = {
            "unequal": compare("v", "<>", value, ends.type),
            "from": compare("v", ">=", value, ends.type),
            "to": compare("v", "<=", value, ends.type),
            "not-in": negate(is_in("v", [value], ends.type)),
        }
        for slug, probe in probes.items():
            filtered(case, table, f"{slug}-{number}", probe, title)


for _name, _of in _ENDS.items():
    for _slug, _title, _build in (
        ("ends", f"Bounds at the ends of type {_of.type} lose no row", _ends),
        ("spread", f"Files of several {_of.type} values are found by either bound", _spread),
    ):
        BOUNDS.define(f"{_slug}-of-{_name}", _title, "STAT-012 STAT-006", partial(_build, ends=_of))


@BOUNDS.case("float-shortest-bounds", "STAT-012 STAT-006")
def _shortest(case: CaseWriter) -> None:
    """A bound of a float column is a float, however few digits spell it."""
    table = GoldenTable.created(case, struct(id="long", v="float"))
    spelled = (0.1, 0.7, -0.3, 16777216.0, 1.1e-38)
    for number, text in enumerate(spelled):
        statistics = {
            "numRecords": 1,
            "minValues": {"id": number, "v": text},
            "maxValues": {"id": number, "v": text},
            "nullCount": {"id": 0, "v": 0},
        }
        table.append([{"id": number, "v": _single(text)}], statistics=statistics)
    publish(case, table, versions=[])
    for number, text in enumerate(spelled):
        title = "No other float is meant by these digits"
        for slug, operator in (("equal", "="), ("from", ">="), ("to", "<=")):
            probe = compare("v", operator, _single(text), "float")
            filtered(case, table, f"{slug}-{number}", probe, title)


_ORDERED: Final[Mapping[tuple[str, float], tuple[int, ...]]] = {
    ("=", 1): (1,),
    ("=", -1): (0,),
    (">=", 1): (1, 2),
    (">=", -1): (0, 1, 2),
    ("<=", 1): (0, 1),
    ("<=", -1): (0,),
    ("<>", 1): (0, 2),
    ("<>", -1): (1, 2),
}
"""Which of the rows -0.0, 0.0 and 1.0 an operator keeps beside a signed zero, if -0 is below +0."""


def _zeros(case: CaseWriter, partitions: Sequence[str]) -> None:
    schema = struct(id="long", f="float", d="double")
    table = GoldenTable.created(case, schema, partition_columns=partitions)
    for number, value in enumerate((-0.0, 0.0, 1.0)):
        values = {"f": value, "d": value}
        held = {} if partitions else values
        table.append([{"id": number, **held}], partition=values if partitions else None)
    publish(case, table, versions=[])
    rows = table.rows()
    words = {"=": "equal", ">=": "from", "<=": "to", "<>": "unequal"}
    for name, kind in (("f", "float"), ("d", "double")):
        for (operator, sign), ordered in _ORDERED.items():
            probe = compare(name, operator, math.copysign(0.0, sign), kind)
            kept = [row for row in rows if probe.keeps(row)]
            apart = [rows[number] for number in ordered]
            slug = f"{name}-{words[operator]}-{'plus' if sign > 0 else 'minus'}"
            if apart == kept:
                title = f"Zeros of column {name} are kept, equal or in order"
                filtered(case, table, slug, probe, title)
                continue
            case.contest_read(
                f"Zeros of column {name} are one value, or two in order",
                schema,
                Accepted("equal", "IEEE 754: the zeros compare equal", rows=kept),
                Accepted("apart", "IEEE 754 totalOrder: -0 below +0", rows=apart),
                slug=slug,
                parameters={"filter": dict(probe.tree), "predicate": probe.sql},
            )


for _name, _chapter, _columns in (
    ("negative-zero", BOUNDS, ()),
    ("negative-zero-of-partitions", PARTITIONS, ("f", "d")),
):
    _chapter.define(
        _name,
        f"Whether both zeros are one value to {'partitions' if _columns else 'bounds'} is open",
        "PART-004" if _columns else "STAT-012 STAT-006",
        partial(_zeros, partitions=_columns),
    )


@BOUNDS.case("one-value-per-file", "STAT-012 STAT-006")
def _constant(case: CaseWriter) -> None:
    """A file of one value is skipped for no other question."""
    table = GoldenTable.created(case, struct(id="long", v="integer", s="string"))
    for number, (value, text) in enumerate(((5, "same"), (6, "other"))):
        rows: list[dict[str, Any]] = [{"id": 10 * number, "v": value, "s": text}]
        rows.append({"id": 10 * number + 1, "v": None, "s": None})
        table.append(rows)
    publish(case, table, versions=[])
    probes = {
        "unequal": compare("v", "<>", 5, "integer"),
        "not-equal": negate(compare("v", "=", 5, "integer")),
        "not-in": negate(is_in("v", [5], "integer")),
        "null-safe": compare("v", "<=>", None, "integer"),
        "not-null-safe": negate(compare("v", "<=>", 5, "integer")),
        "text-unequal": compare("s", "<>", "same", "string"),
        "text-not-null-safe": negate(compare("s", "<=>", "same", "string")),
    }
    for slug, probe in probes.items():
        filtered(case, table, slug, probe, "Nulls and other values are found beside one value")
