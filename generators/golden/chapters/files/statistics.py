"""Cases of statistics: whatever they say or fail to say, a filter never loses a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import (
    Filter,
    all_of,
    any_of,
    compare,
    is_in,
    is_not_null,
    is_null,
    negate,
    starts_with,
)
from generators.golden.cases.publish import describe, filtered, publish
from generators.golden.cases.table import GoldenTable, add
from generators.golden.chapters.files.types import utc
from generators.oracle.delta_schema import Struct, field, struct, type_of
from generators.oracle.filters import column, node
from generators.oracle.literals import literal

STATISTICS = Chapter("per-file-statistics")

_NUMBERS = struct(id="long", v="integer")


def _probes(case: CaseWriter, table: GoldenTable, probes: Mapping[str, Filter]) -> None:
    for slug, probe in probes.items():
        filtered(case, table, f"filter-{slug}", probe, "A filter answers as a full scan would")


_INTEGER_PROBES: Mapping[str, Filter] = {
    "equal": compare("v", "=", 5, "integer"),
    "unequal": compare("v", "<>", 5, "integer"),
    "below": compare("v", "<", 5, "integer"),
    "above": compare("v", ">", 5, "integer"),
    "null": is_null("v"),
    "not-null": is_not_null("v"),
    "null-safe": compare("v", "<=>", 5, "integer"),
    "null-safe-null": compare("v", "<=>", None, "integer"),
    "in": is_in("v", [1, 9], "integer"),
    "not-in": negate(is_in("v", [1, 9], "integer")),
    "in-with-null": is_in("v", [1, None], "integer"),
    "and": all_of(compare("v", ">", 1, "integer"), compare("id", "<", 20, "long")),
    "or": any_of(compare("v", "=", 9, "integer"), is_null("v")),
    "not-below": negate(compare("v", "<", 5, "integer")),
    "not-and": negate(all_of(compare("v", ">", 1, "integer"), is_not_null("v"))),
    "nothing": compare("v", ">", 1000, "integer"),
}


def _integer_table(case: CaseWriter, statistics: Any) -> GoldenTable:
    table = GoldenTable.created(case, _NUMBERS)
    for start, values in ((0, (1, 2, 3)), (10, (4, 5, 6)), (20, (7, 8, 9)), (30, (None, 5, None))):
        rows = [{"id": start + n, "v": value} for n, value in enumerate(values)]
        table.append(rows, statistics=statistics)
    table.append([{"id": number, "v": None} for number in (90, 91, 92)], statistics=statistics)
    return table


_SHAPES: Mapping[str, tuple[str, str, Any]] = {
    "exact": ("Filters over exact statistics lose no row", "STAT-006 STAT-008 STAT-012", True),
    "absent": ("Files without statistics are always read", "ADD-010 STAT-006", False),
    "empty-object": ("Empty statistics say nothing", "ADD-010 STAT-007", "{}"),
    "null-bounds": (
        "Bounds that are null say nothing",
        "STAT-007 STAT-014",
        '{"minValues":{"id":null,"v":null},"maxValues":{"id":null,"v":null},"nullCount":null}',
    ),
    "count-only": ("A record count alone prunes nothing", "STAT-001 STAT-007", '{"numRecords":3}'),
    "unknown-columns": (
        "Statistics of unknown columns are ignored",
        "STAT-007 PROTO-009",
        '{"minValues":{"zz":1},"maxValues":{"zz":1},"nullCount":{"zz":0},"future":[1]}',
    ),
}


def _shape(case: CaseWriter, statistics: Any) -> None:
    table = _integer_table(case, statistics)
    publish(case, table, versions=[])
    _probes(case, table, _INTEGER_PROBES)
    kept = [row for row in table.rows() if row["v"] not in (1, None)]
    answers = [
        Accepted("unknown", "SQL: whether it is among them is unknown", rows=[]),
        Accepted("two-valued", "a null in the list is passed over", rows=kept),
    ]
    _contest(case, "not-in-with-null", negate(is_in("v", [1, None], "integer")), answers, _NUMBERS)


def _contest(
    case: CaseWriter, slug: str, probe: Filter, answers: Sequence[Accepted], schema: Struct
) -> None:
    """Ask what the text of the protocol does not decide: it speaks of no logic of filters."""
    case.contest_read(
        "A filter answers by the logic of the engine",
        schema,
        *answers,
        slug=f"filter-{slug}",
        parameters={"filter": probe.tree, "predicate": probe.sql},
    )


_KINDS = struct(id="long", b="byte", i="integer", d="decimal(9,2)")

_OTHER_TYPES: Mapping[str, Filter] = {
    "long-in-byte": compare("b", "=", 5, "long"),
    "beyond-byte": compare("b", "<", 300, "long"),
    "below-byte": compare("b", ">", -300, "integer"),
    "byte-in-integer": compare("i", ">=", 6, "byte"),
    "beyond-integer": compare("i", "<>", 2**40, "long"),
    "long-in-decimal": compare("d", ">", 5, "long"),
    "integer-in-decimal": compare("d", "=", 7, "integer"),
    "finer-decimal": compare("d", "<", Decimal("5.255"), "decimal(10,3)"),
    "wider-decimal": compare("d", "<=", Decimal("12345678901.5"), "decimal(20,1)"),
    "decimal-in-integer": compare("i", "<", Decimal("5.5"), "decimal(5,1)"),
    "decimal-in-long": compare("id", ">", Decimal("19.5"), "decimal(5,1)"),
    "in-longs": is_in("b", [5, 300, None], "long"),
    "null": compare("b", "=", None, "long"),
    "not-null": negate(compare("d", "<", None, "integer")),
    "unequal-null": compare("b", "<>", None, "long"),
    "unequal-null-or": any_of(compare("i", "<>", None, "integer"), compare("b", ">", 100, "long")),
}


@STATISTICS.case("literals-of-other-types", "STAT-006 STAT-012")
def _literals(case: CaseWriter) -> None:
    """Filters compare numbers of different types as numbers."""
    table = GoldenTable.created(case, _KINDS)
    for start, values in (
        (0, (1, 2, 3)),
        (10, (4, 5, 6)),
        (20, (7, 8, 127)),
        (30, (None, 5, -128)),
    ):
        rows = [
            {
                "id": start + number,
                "b": value,
                "i": None if value is None else value * 2,
                "d": None if value is None else Decimal(value) + Decimal("0.25") * (number % 2),
            }
            for number, value in enumerate(values)
        ]
        table.append(rows)
    publish(case, table, versions=[])
    _probes(case, table, _OTHER_TYPES)


_FLAGS = struct(id="long", flag="boolean", s=struct(n="integer", t="string"), x="double")
_FLAG = Filter(column("flag"), "flag")
_FIVE = literal(type_of("long"), 5)
_FIVE_BELOW = Filter(node("<", _FIVE, column("id")), "5 < id")
_TRUE = Filter(node("=", _FIVE, _FIVE), "5 = 5")
_FALSE = Filter(node("<>", _FIVE, _FIVE), "5 <> 5")

_ODD_FORMS: Mapping[str, Filter] = {
    "flag": _FLAG,
    "not-flag": negate(_FLAG),
    "flag-known": any_of(_FLAG, negate(_FLAG)),
    "flag-and-bound": all_of(_FLAG, compare("id", ">=", 10, "long")),
    "literal-first": _FIVE_BELOW,
    "literal-first-not": negate(_FIVE_BELOW),
    "literal-from": Filter(node(">=", _FIVE, column("id")), "5 >= id"),
    "literal-equal": Filter(node("=", _FIVE, column("id")), "5 = id"),
    "true-and": all_of(_TRUE, _FLAG),
    "false-or": any_of(_FALSE, _FLAG),
    "not-true-or": any_of(negate(_TRUE), compare("x", "<", 0.0, "double")),
    "null-literal": any_of(Filter(node("is_null", _FIVE), "5 IS NULL"), _FLAG),
    "known-literal": all_of(Filter(node("is_not_null", _FIVE), "5 IS NOT NULL"), _FLAG),
    "nested-equal": compare("s.n", "=", 11, "integer"),
    "nested-prefix": starts_with("s.t", "t1"),
    "nested-null": is_null("s.n"),
    "nested-null-safe": compare("s.n", "<=>", 11, "integer"),
    "not-null-safe": negate(compare("s.n", "<=>", 11, "integer")),
    "not-null-safe-null": negate(compare("s.n", "<=>", None, "integer")),
    "columns": Filter(node("<", column("id"), column("s", "n")), "id < s.n"),
    "decimal-in-double": compare("x", ">", Decimal("0.5"), "decimal(3,1)"),
    "long-in-double": compare("x", "<=", 2, "long"),
}


@STATISTICS.case("filters-of-odd-forms", "STAT-006 STAT-008 STAT-012")
def _odd_forms(case: CaseWriter) -> None:
    """A filter of any form answers as a full scan would."""
    table = GoldenTable.created(case, _FLAGS)
    for start, flags in (
        (0, (True, True)),
        (4, (False, False)),
        (10, (None, None)),
        (14, (True, False)),
        (20, (None, False)),
    ):
        rows: list[dict[str, Any]] = [
            {
                "id": start + number,
                "flag": flag,
                "s": {"n": None if start == 4 else start + 1, "t": f"t{start + number}"},
                "x": (start - 8) / 4,
            }
            for number, flag in enumerate(flags)
        ]
        table.append(rows)
    publish(case, table, versions=[])
    _probes(case, table, _ODD_FORMS)


@STATISTICS.case("filters-negated", "STAT-006 STAT-012")
def _negated(case: CaseWriter) -> None:
    """A negated comparison keeps the files that it is true of."""
    table = GoldenTable.created(case, _NUMBERS)
    for start, values in ((0, (4, 4)), (10, (5, 5)), (20, (6, 6)), (30, (4, 6)), (40, (5, None))):
        table.append([{"id": start + number, "v": value} for number, value in enumerate(values)])
    publish(case, table, versions=[])
    for slug, sign in (
        ("less", "<"), ("most", "<="), ("more", ">"), ("least", ">="), ("equal", "="),
        ("other", "<>"), ("same", "<=>"),
    ):  # fmt: skip
        probe = negate(compare("v", sign, 5, "integer"))
        filtered(case, table, f"filter-not-{slug}", probe, "The files with such a row are read")


_BROKEN: Mapping[str, tuple[str, str]] = {
    "empty-text": ("Statistics that are an empty text lose no row", ""),
    "not-json": ("Statistics that are no JSON lose no row", "{numRecords"),
    "wrong-types": (
        "Statistics of wrong types lose no row",
        '{"numRecords":"many","minValues":{"v":"x"},"maxValues":{"v":true},"nullCount":{"v":"y"}}',
    ),
}


def _broken(case: CaseWriter, statistics: str) -> None:
    table = _integer_table(case, statistics)
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "ADD-010")
    for slug, probe in (("read-latest", None), *_INTEGER_PROBES.items()):
        rows = [row for row in table.rows() if probe is None or probe.keeps(row)]
        parameters = {} if probe is None else {"filter": probe.tree, "predicate": probe.sql}
        case.contest_read(
            "The rows are whole, or the broken text is reported",
            _NUMBERS,
            Accepted("rows", "statistics are an aid to skipping", rows=rows),
            Accepted("refused", "an action with broken statistics", refusal=refusal),
            slug=slug if probe is None else f"filter-{slug}",
            parameters=parameters,
        )


for _name, (_title, _statistics) in _BROKEN.items():
    STATISTICS.define(
        f"shape-{_name}", _title, "ADD-010 STAT-006", partial(_broken, statistics=_statistics)
    )


for _name, (_title, _requirements, _statistics) in _SHAPES.items():
    STATISTICS.define(
        f"shape-{_name}", _title, _requirements, partial(_shape, statistics=_statistics)
    )


@STATISTICS.case("one-bound-alone", "STAT-006 STAT-007 STAT-013")
def _one_bound(case: CaseWriter) -> None:
    """A bound that is there says nothing of the one that is not."""
    table = GoldenTable.created(case, _NUMBERS)
    for start, kind in enumerate(("minValues", "maxValues") * 2):
        values = [10 * start + n for n in (1, 5, 9)]
        end = values[0 if kind == "minValues" else -1]
        rows = [{"id": value, "v": value} for value in values]
        bounds = {kind: {"id": end, "v": end}, "nullCount": {"id": 0, "v": 0}}
        table.append(rows, statistics={"numRecords": 3, **bounds})
    publish(case, table, versions=[])
    for value in (5, 15, 25, 35):
        for slug, sign in (("at", "="), ("below", "<"), ("above", ">")):
            probe = compare("v", sign, value, "integer")
            filtered(case, table, f"filter-{slug}-{value}", probe, "No row is lost")


@STATISTICS.case("all-types", "STAT-006 STAT-007 STAT-012")
def _all_types(case: CaseWriter) -> None:
    """Statistics of every type keep their rows."""
    kinds: dict[str, tuple[str, list[Any]]] = {
        "b": ("byte", [-3, 0, 3]),
        "h": ("short", [-300, 0, 300]),
        "l": ("long", [-(2**60), 0, 2**60]),
        "f": ("float", [-1.5, 0.25, 2.5]),
        "d": ("double", [-1.0e300, 0.1, 1.0e300]),
        "m": ("decimal(18,2)", [Decimal("-1.10"), Decimal("0.00"), Decimal("99999999.99")]),
        "s": ("string", ["Abc", "abc", "\u00e9"]),
        "y": ("date", [date(1900, 1, 1), date(1970, 1, 1), date(2100, 1, 1)]),
        "t": ("timestamp", [utc(1900, 1, 1), utc(1970, 1, 1), utc(2100, 1, 1)]),
        "o": ("boolean", [False, True, True]),
        "x": ("binary", [b"\x00", b"a", b"\xff"]),
    }
    schema = struct(*(field(name, kind) for name, (kind, _) in kinds.items()))
    table = GoldenTable.created(case, schema)
    for number in range(3):
        table.append([{name: values[number] for name, (_, values) in kinds.items()}])
    publish(case, table, versions=[])
    for name, (kind, values) in kinds.items():
        probes = {
            f"{name}-equal": compare(name, "=", values[1], kind),
            f"{name}-below": compare(name, "<", values[1], kind),
            f"{name}-above": compare(name, ">=", values[1], kind),
        }
        _probes(case, table, probes)


@STATISTICS.case("string-truncated", "STAT-015 STAT-006")
def _strings(case: CaseWriter) -> None:
    """Truncated string bounds lose no row."""
    table = GoldenTable.created(case, struct(id="long", s="string"))
    texts = (
        "a" * 40,
        "a" * 32 + "\u00e9" + "z" * 8,
        "a" * 31 + "\U0001f33c" * 4,
        "a" * 32 + "\U0010ffff" * 3,
        "a" * 31 + "\ufffd" * 5,
        "b",
    )
    for number, text in enumerate(texts):
        table.append([{"id": number, "s": text}])
    publish(case, table, versions=[])
    for number, text in enumerate(texts):
        probes = {
            f"equal-{number}": compare("s", "=", text, "string"),
            f"from-{number}": compare("s", ">=", text, "string"),
        }
        _probes(case, table, probes)
    _probes(case, table, {"prefix": starts_with("s", "a" * 32)})


@STATISTICS.case("string-cut-off", "STAT-015 STAT-006")
def _cut_off(case: CaseWriter) -> None:
    """Whether a cut bound may lie below values is open."""
    schema = struct(id="long", s="string")
    table = GoldenTable.created(case, schema)
    texts = ("a" * 31 + "bcd", "a" * 40, "b" * 40)
    for number, text in enumerate(texts):
        # As the text has it: the first 32 characters, of the greatest value too.
        statistics = {
            "numRecords": 1,
            "minValues": {"id": number, "s": text[:32]},
            "maxValues": {"id": number, "s": text[:32]},
            "nullCount": {"id": 0, "s": 0},
        }
        table.append([{"id": number, "s": text}], statistics=statistics)
    publish(case, table, versions=[])
    probes = {
        "equal": compare("s", "=", texts[0], "string"),
        "above": compare("s", ">", "b" * 35, "string"),
        "prefix": starts_with("s", "a" * 36),
    }
    for slug, probe in probes.items():
        kept = [row for row in table.rows() if probe.keeps(row)]
        case.contest_read(
            "A maximum that is cut off stands for more, or is a writer's fault",
            schema,
            Accepted("kept", "bounds of strings are cut off, the greatest too", rows=kept),
            Accepted("skipped", "maxValues is larger than every value of the file", rows=[]),
            slug=f"filter-{slug}",
            parameters={"filter": dict(probe.tree), "predicate": probe.sql},
        )


@STATISTICS.case("timestamp-truncated", "STAT-016 STAT-006")
def _timestamps(case: CaseWriter) -> None:
    """Bounds cut to milliseconds lose no microsecond."""
    table = GoldenTable.created(case, struct(id="long", t="timestamp"))
    fine = utc(2024, 1, 1, 0, 0, 0, 123456)
    early = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    table.append([{"id": 1, "t": fine}])
    table.append([{"id": 2, "t": early}])
    table.append([{"id": 3, "t": None}])
    publish(case, table, versions=[])
    probes = {
        "equal": compare("t", "=", fine, "timestamp"),
        "above-millisecond": compare("t", ">", utc(2024, 1, 1, 0, 0, 0, 123000), "timestamp"),
        "from-microsecond": compare("t", ">=", fine, "timestamp"),
        "unequal-millisecond": compare("t", "<>", utc(2024, 1, 1, 0, 0, 0, 123000), "timestamp"),
        "early-equal": compare("t", "=", early, "timestamp"),
        "early-above": compare("t", ">", utc(1969, 12, 31, 23, 59, 59, 999000), "timestamp"),
    }
    _probes(case, table, probes)


@STATISTICS.case("nan-beside-finite-bounds", "STAT-006 STAT-012")
def _nan(case: CaseWriter) -> None:
    """NaN is found beside bounds that leave it out."""
    schema = struct(id="long", d="double")
    table = GoldenTable.created(case, schema)
    table.append([{"id": 1, "d": 1.0}, {"id": 2, "d": math.nan}])
    table.append([{"id": 3, "d": math.inf}, {"id": 4, "d": -math.inf}])
    table.append([{"id": 5, "d": 2.5}, {"id": 6, "d": None}])
    publish(case, table, versions=[])
    _probes(case, table, {"small": compare("d", "<", 0.0, "double")})
    # Where NaN stands among numbers, and whether bounds speak of it, no clause says.
    found, infinite = {"id": 2, "d": math.nan}, {"id": 3, "d": math.inf}
    answers = [
        Accepted("nan-above", "Spark: NaN is above all numbers", rows=[found, infinite]),
        Accepted("nan-apart", "IEEE 754: NaN compares with nothing", rows=[infinite]),
    ]
    _contest(case, "huge", compare("d", ">", 1.0e300, "double"), answers, schema)
    answers = [
        Accepted("equal", "Spark: NaN is equal to NaN", rows=[found]),
        Accepted("unequal", "IEEE 754: NaN compares with nothing", rows=[]),
    ]
    _contest(case, "nan", compare("d", "=", math.nan, "double"), answers, schema)
    others = [infinite, {"id": 4, "d": -math.inf}, {"id": 5, "d": 2.5}]
    answers = [
        Accepted(
            "found", "NaN is unequal to a number, and no bound speaks of it", [found, *others]
        ),
        Accepted("skipped", "equal bounds say that every value is the same", rows=others),
    ]
    _contest(case, "unequal", compare("d", "<>", 1.0, "double"), answers, schema)


@STATISTICS.case("booleans-without-bounds", "STAT-007 CKSCH-005")
def _booleans(case: CaseWriter) -> None:
    """A boolean column needs no bounds to be filtered."""
    schema = struct(flag="boolean", at="timestamp", amount="decimal(10,2)")
    table = GoldenTable.created(case, schema)
    for flag in (True, False, None):
        table.append([{"flag": flag, "at": utc(2024, 1, 1), "amount": Decimal("1.00")}])
    publish(case, table, versions=[])
    probes = {
        "true": compare("flag", "=", True, "boolean"),  # noqa: FBT003  a boolean value, not a flag
        "false": compare("flag", "=", False, "boolean"),  # noqa: FBT003  a boolean value, not a flag
        "null": is_null("flag"),
    }
    _probes(case, table, probes)


@STATISTICS.case("nested-columns", "STAT-007 STAT-006")
def _nested(case: CaseWriter) -> None:
    """Statistics of nested fields keep their rows."""
    table = GoldenTable.created(case, struct(id="long", s=struct(a="integer", b="string")))
    for number, value in enumerate(({"a": 1, "b": "x"}, {"a": 2, "b": None}, None)):
        table.append([{"id": number, "s": value}])
    publish(case, table, versions=[])
    probes = {
        "leaf": compare("s.a", "=", 2, "integer"),
        "leaf-null": is_null("s.b"),
        "struct-null": is_null("s"),
        "struct-not-null": is_not_null("s"),
    }
    _probes(case, table, probes)


@STATISTICS.case("structs-of-nulls", "STAT-007 STAT-006")
def _structs_of_nulls(case: CaseWriter) -> None:
    """A struct of nulls is not taken for a null."""
    table = GoldenTable.created(case, struct(id="long", s=struct(a="integer", b="string")))
    for number, value in enumerate(({"a": None, "b": None}, None, {"a": None, "b": "x"})):
        table.append([{"id": number, "s": value}])
    publish(case, table, versions=[])
    _probes(case, table, {"null": is_null("s"), "not-null": is_not_null("s")})


@STATISTICS.case("partition-and-data", "STAT-006 PART-003 ADD-005")
def _partitioned(case: CaseWriter) -> None:
    """Partition columns need no statistics."""
    schema = struct(field("id", "long"), field("p", "integer", nullable=False))
    table = GoldenTable.created(case, schema, partition_columns=["p"])
    for p in range(3):
        table.append([{"id": 10 * p + n} for n in range(3)], partition={"p": p})
    publish(case, table, versions=[])
    probes = {
        "partition": compare("p", "=", 1, "integer"),
        "data": compare("id", ">", 11, "long"),
        "both": all_of(compare("p", ">", 0, "integer"), compare("id", "<", 21, "long")),
        "either": any_of(compare("p", "=", 0, "integer"), compare("id", "=", 22, "long")),
        "never-null": is_null("p"),
    }
    _probes(case, table, probes)


@STATISTICS.case("extended-year-bound", "STAT-006")
def _extended(case: CaseWriter) -> None:
    """A bound beyond year 9999 loses no row."""
    table = GoldenTable.created(case, struct(id="long", t="timestamp"))
    odd = {
        "numRecords": 1,
        "minValues": {"t": "2024-01-01T00:00:00.000Z"},
        "maxValues": {"t": "+48690-07-02T16:00:00.000Z"},
        "nullCount": {"t": 0},
    }
    table.commit(
        add(table.file([{"id": 1, "t": utc(2024, 1, 1)}], statistics=odd)),
        add(table.file([{"id": 2, "t": utc(2024, 6, 1)}])),
        add(table.file([{"id": 3, "t": utc(2023, 1, 1)}], statistics=False)),
    )
    publish(case, table, versions=[])
    probes = {
        "from": compare("t", ">=", utc(2024, 1, 1), "timestamp"),
        "below": compare("t", "<", utc(2024, 3, 1), "timestamp"),
    }
    _probes(case, table, probes)


@STATISTICS.case("bounds-with-offsets", "STAT-006 STAT-012")
def _offsets(case: CaseWriter) -> None:
    """Bounds of instants are the same in every offset."""
    table = GoldenTable.created(case, struct(id="long", t="timestamp"))
    moments = (utc(2024, 1, 1, 20), utc(2024, 1, 2, 4), utc(2024, 1, 2, 12))
    texts = (
        "2024-01-01T12:00:00.000-08:00",
        "2024-01-02T09:30:00.000+05:30",
        "2024-01-02T12:00:00.000Z",
    )
    for number, (moment, text) in enumerate(zip(moments, texts, strict=True)):
        bound = {"t": text}
        given = {"numRecords": 1, "minValues": bound, "maxValues": bound, "nullCount": {"t": 0}}
        table.append([{"id": number, "t": moment}], statistics=given)
    publish(case, table, versions=[])
    probes = {}
    for number, moment in enumerate(moments):
        probes[f"equal-{number}"] = compare("t", "=", moment, "timestamp")
        probes[f"from-{number}"] = compare("t", ">=", moment, "timestamp")
        probes[f"to-{number}"] = compare("t", "<=", moment, "timestamp")
    _probes(case, table, probes)


@STATISTICS.case("decimal-beyond-double", "STAT-012 STAT-006")
def _decimals(case: CaseWriter) -> None:
    """Decimal bounds are compared exactly."""
    table = GoldenTable.created(case, struct(id="long", m="decimal(38,0)"))
    values = [Decimal(10**30), Decimal(10**30 + 1), Decimal(10**30 - 1)]
    for number, value in enumerate(values):
        table.append([{"id": number, "m": value}])
    publish(case, table, versions=[])
    probes = {
        f"{slug}-{number}": compare("m", op, value, "decimal(38,0)")
        for number, value in enumerate(values)
        for slug, op in (("equal", "="), ("above", ">"), ("below", "<"))
    }
    _probes(case, table, probes)
