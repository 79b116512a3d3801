"""Cases of partitioning: every type as a partition column, odd texts, nulls, misleading names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
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
from generators.golden.cases.publish import describe, filtered, projected, publish
from generators.golden.cases.table import GoldenTable, add, feature_protocol
from generators.golden.chapters.files.types import local, utc
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import column, node

VALUES = Chapter("partition-value-serialization")


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition column type, its values, and those that a filter is tried on.

    The order of numbers around one that is tried is not that of their texts.
    """

    slug: str
    type: str
    values: Sequence[Any]
    requirements: str
    probes: Sequence[Any]
    protocol: Mapping[str, Any] | None = None


_PARTITIONS = (
    _Partition("string", "string", ("a", "B", "\u00e9", "0"), "PART-001 PART-003", ("a", "\u00e9")),
    _Partition("boolean", "boolean", (True, False), "PART-013", (True, False)),
    _Partition("byte", "byte", (-128, -9, 9, 127), "PART-004", (9,)),
    _Partition("short", "short", (-(2**15), -9, 9, 2**15 - 1), "PART-004", (-9,)),
    _Partition("integer", "integer", (-(2**31), 0, 9, 2**31 - 1), "PART-004", (9,)),
    _Partition("long", "long", (-(2**63), 2**53 + 1, 2**63 - 1), "PART-004", (2**53 + 1,)),
    _Partition("float", "float", (-1.5, 2.25, 1.0e10), "PART-004", (2.25,)),
    _Partition("double", "double", (-1.5, 2.1, 1.0e300, 5e-324), "PART-004", (2.1, 1.0e300)),
    _Partition(
        "decimal",
        "decimal(10,2)",
        (Decimal("-0.05"), Decimal("0.00"), Decimal("9.50"), Decimal("10000000.99")),
        "PART-004",
        (Decimal("9.50"), Decimal("-0.05")),
    ),
    _Partition(
        "decimal-38",
        "decimal(38,0)",
        (Decimal(-(2**64) - 1), Decimal(2**64 + 1), Decimal(10**38 - 1)),
        "PART-004 SCH-010",
        (Decimal(2**64 + 1),),
    ),
    _Partition(
        "date",
        "date",
        (date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)),
        "PART-005",
        (date(2024, 2, 29),),
    ),
    _Partition(
        "timestamp-iso",
        "timestamp",
        (
            utc(1969, 12, 31, 23, 59, 59, 999999),
            utc(2024, 1, 1),
            utc(2024, 1, 1, 0, 0, 0, 123456),
            utc(2024, 1, 1, 0, 0, 0, 123457),
        ),
        "PART-008 PART-010",
        (utc(2024, 1, 1, 0, 0, 0, 123456), utc(2024, 1, 1)),
    ),
    _Partition(
        "timestamp-ntz",
        "timestamp_ntz",
        (
            local(1, 1, 1),
            local(1969, 12, 31, 23, 20, 57, 657658),
            local(2024, 1, 1),
            local(2024, 1, 1, 0, 0, 0, 120000),
        ),
        "PART-011 PART-012",
        (local(1969, 12, 31, 23, 20, 57, 657658), local(2024, 1, 1)),
        feature_protocol(["timestampNtz"]),
    ),
)


def _partition_case(partition: _Partition, case: CaseWriter) -> None:
    schema = struct(id="long", p=partition.type, note="string")
    protocol = partition.protocol or {"minReaderVersion": 1, "minWriterVersion": 2}
    table = GoldenTable.created(case, schema, partition_columns=["p"], protocol=protocol)
    adds = [
        add(table.file([{"id": n, "note": f"row {n}"}], partition={"p": value}))
        for n, value in enumerate(partition.values)
    ]
    table.commit(*adds)
    table.append([{"id": 100, "note": None}], partition={"p": None})
    publish(case, table)
    projected(case, table, "project-partition", ["p"], "The partition column is read alone")
    filtered(case, table, "filter-null", is_null("p"), "The null partition is found")
    filtered(case, table, "filter-not-null", is_not_null("p"), "The others are not null")
    for number, probe in enumerate(partition.probes):
        for slug, op in (("equal", "="), ("unequal", "<>"), ("above", ">")):
            kept = compare("p", op, probe, partition.type)
            title = f"A filter {op} keeps the right partitions"
            filtered(case, table, f"filter-{slug}-{number}", kept, title)
    both = all_of(compare("p", "=", partition.probes[0], partition.type), is_not_null("note"))
    filtered(case, table, "filter-both", both, "Partition and data filters work together")


for _partition in _PARTITIONS:
    VALUES.define(
        f"{_partition.slug}-column",
        f"A table partitioned by {_partition.slug} reads and filters right",
        _partition.requirements,
        partial(_partition_case, _partition),
        since="2025" if "PART-008" in _partition.requirements else None,
    )

_ODD_TEXTS = (
    "A/A", "B B", "a:b", "a%b", "%20", "%25", "a%2Fb", "\u00e9", "(x)", "[y]", "a+b", "it's",
    'say "x"', "a=b", "a&b", "#hash", "what?", "back\\slash", "tab\there", "\U0001f33c",
    " lead", "trail ", "null", "__HIVE_DEFAULT_PARTITION__", "line\nbreak", " ",
)  # fmt: skip


def _odd_table(case: CaseWriter) -> GoldenTable:
    table = GoldenTable.created(case, struct(id="long", p="string"), partition_columns=["p"])
    table.commit(
        *(
            add(table.file([{"id": number}], partition={"p": text}))
            for number, text in enumerate(_ODD_TEXTS)
        )
    )
    return table


@VALUES.case("string-odd-texts", "PART-003 DATA-003 ADD-003")
def _odd(case: CaseWriter) -> None:
    """Partition texts are taken as they stand in the log."""
    table = _odd_table(case)
    publish(case, table)
    for number, text in enumerate(_ODD_TEXTS):
        kept = compare("p", "=", text, "string")
        filtered(case, table, f"filter-{number}", kept, f"Text number {number} is found by value")
    several = is_in("p", _ODD_TEXTS[:6], "string")
    filtered(case, table, "filter-in", several, "A list of odd texts finds each of them")


@VALUES.case("null-below-a-value", "DATA-003 PART-003")
def _null_below_a_value(case: CaseWriter) -> None:
    """A null of the log is null, whatever the folder of the file is called."""
    table = GoldenTable.created(case, struct(id="long", p="string"), partition_columns=["p"])
    for number, folder in enumerate(("p=a", "p=null", "q=b/p=a")):
        path = f"{folder}/part-{number}.parquet"
        table.append([{"id": number}], partition={"p": None}, path=path)
    case.judged |= dict.fromkeys(("read-latest", "filter-null"), "DATA-003")
    publish(case, table)
    filtered(case, table, "filter-null", is_null("p"), "All of them are null")


@VALUES.case("string-odd-checkpoint", "PART-003 CKPT-005 CKC-001")
def _odd_checkpoint(case: CaseWriter) -> None:
    """Odd partition texts survive a checkpoint."""
    table = _odd_table(case)
    table.checkpoint(version=table.version, hint=False)
    table.append([{"id": 100}], partition={"p": "after"})
    publish(case, table, log_info={"lastCheckpointVersion": 1})
    for slug, text in (("percent", "%20"), ("slash", "A/A"), ("space", "B B")):
        kept = compare("p", "=", text, "string")
        filtered(case, table, f"filter-{slug}", kept, "An odd text is found by value")


@VALUES.case("null-values", "ADD-005 PART-001", since="2025")
def _nulls(case: CaseWriter) -> None:
    """A null partition value reads as null for every type."""
    types = {"s": "string", "i": "integer", "d": "date", "t": "timestamp", "b": "boolean"}
    schema = struct(field("id", "long"), *(field(name, kind) for name, kind in types.items()))
    table = GoldenTable.created(case, schema, partition_columns=list(types))
    table.append([{"id": 1}])
    full = {"s": "x", "i": 1, "d": date(2020, 1, 1), "t": utc(2020, 1, 1), "b": True}
    table.append([{"id": 2}], partition=full)
    table.checkpoint(version=table.version, hint=False)
    table.append([{"id": 3}])
    publish(case, table, log_info={"lastCheckpointVersion": 2})
    for name in types:
        filtered(case, table, f"filter-{name}", is_null(name), f"Nulls of {name} are found")


_FLAG = Filter(column("flag"), "flag")
_ODD_FORMS: Mapping[str, Filter] = {
    "flag": _FLAG,
    "not-flag": negate(_FLAG),
    "flag-known": any_of(_FLAG, negate(_FLAG)),
    "not-both": negate(all_of(_FLAG, compare("id", "<", 3, "long"))),
    "not-either": negate(any_of(_FLAG, compare("s", "=", "ab", "string"))),
    "prefix": starts_with("s", "a"),
    "not-prefix": negate(starts_with("s", "a")),
    "unequal": compare("s", "<>", "ab", "string"),
    "not-in": negate(is_in("n", [1, 7], "integer")),
    "not-null-safe": negate(compare("n", "<=>", 1, "integer")),
    "not-null-safe-null": negate(compare("flag", "<=>", None, "boolean")),
    "columns": Filter(node("<", column("n"), column("id")), "n < id"),
    "partition-or-data": any_of(compare("n", "=", 7, "integer"), compare("id", "=", 1, "long")),
}


@VALUES.case("filters-of-odd-forms", "PART-001 PART-013")
def _odd_forms(case: CaseWriter) -> None:
    """Partition columns are filtered as a full scan would, in any form."""
    schema = struct(id="long", flag="boolean", s="string", n="integer")
    table = GoldenTable.created(case, schema, partition_columns=["flag", "s", "n"])
    for number, (flag, text, count) in enumerate(
        (
            (True, "ab", 1),
            (False, "b", 7),
            (None, None, None),
            (True, None, 3),
            (False, "a", None),
            (None, "ab", 1),
        )
    ):
        rows = [{"id": number * 2}, {"id": number * 2 + 1}]
        table.append(rows, partition={"flag": flag, "s": text, "n": count})
    publish(case, table, versions=[])
    for slug, kept in _ODD_FORMS.items():
        filtered(case, table, f"filter-{slug}", kept, f"Rows are found by {kept.sql}")


@VALUES.case("empty-string-typed", "PART-002")
def _empty_typed(case: CaseWriter) -> None:
    """An empty text is null for a type without empty value."""
    schema = struct(id="long", i="integer", d="date")
    table = GoldenTable.created(case, schema, partition_columns=["i", "d"])
    empty = table.file([{"id": 1}], partitionValues={"i": "", "d": ""})
    table.commit(
        add(empty), add(table.file([{"id": 2}], partition={"i": 5, "d": date(2020, 1, 1)}))
    )
    publish(case, table, files=False)
    filtered(case, table, "filter-null", is_null("i"), "The empty text counts as null")
    filtered(case, table, "filter-equal", compare("i", "=", 5, "integer"), "A value is found")


@VALUES.case("empty-string-text", "PART-002")
def _empty_text(case: CaseWriter) -> None:
    """An empty text of a string column is null by the text."""
    schema = struct(id="long", p="string")
    table = GoldenTable.created(case, schema, partition_columns=["p"])
    empty = table.file([{"id": 1}], path="empty/part-0.parquet", partitionValues={"p": ""})
    table.commit(add(empty), add(table.file([{"id": 2}], partition={"p": "x"})))
    describe(case, table)
    rows = table.rows()
    as_text = [{**row, "p": row["p"] or ""} for row in rows]
    case.contest_read(
        "The row with the empty text reads as null or as empty",
        schema,
        Accepted("null", "protocol: an empty string translates to null", rows=rows),
        Accepted("empty", "Spark reads an existing empty string as it stands", rows=as_text),
    )
    case.judged["filter-x"] = "SNAP-007"
    filtered(case, table, "filter-x", compare("p", "=", "x", "string"), "A real value is found")


_SPELLINGS = (
    ("1970-01-01 00:00:00", utc(1970, 1, 1)),
    ("1970-01-01 00:00:00.123456", utc(1970, 1, 1, 0, 0, 0, 123456)),
    ("2024-06-01T12:00:00.000001Z", utc(2024, 6, 1, 12, 0, 0, 1)),
    ("2024-06-01T12:00:00Z", utc(2024, 6, 1, 12)),
)


@VALUES.case("timestamp-spellings", "PART-008 PART-010", since="2025")
def _timestamp_spellings(case: CaseWriter) -> None:
    """Timestamps with a zone read as the instant they name."""
    table = GoldenTable.created(case, struct(id="long", t="timestamp"), partition_columns=["t"])
    for number, (text, value) in enumerate(_SPELLINGS):
        if text.endswith("Z"):
            file = table.file([{"id": number}], partition={"t": value}, partitionValues={"t": text})
            table.commit(add(file))
    publish(case, table, files=False)
    probe = compare("t", "=", utc(2024, 6, 1, 12, 0, 0, 1), "timestamp")
    filtered(case, table, "filter-equal", probe, "A filter finds the microsecond")


@VALUES.case("timestamp-without-zone", "PART-006 PART-007 PART-009", since="2025")
def _timestamp_zoneless(case: CaseWriter) -> None:
    """A timestamp text without zone leaves its zone open."""
    schema = struct(id="long", t="timestamp")
    table = GoldenTable.created(case, schema, partition_columns=["t"])
    for number, (text, value) in enumerate(_SPELLINGS):
        if not text.endswith("Z"):
            file = table.file([{"id": number}], partition={"t": value}, partitionValues={"t": text})
            table.commit(add(file))
    describe(case, table)
    case.contest_read(
        "The zone of the writing system is not recorded",
        schema,
        Accepted("utc", "kernel readers take the text as UTC", rows=table.rows()),
        open=True,
    )
    projected(case, table, "project-id", ["id"], "The other columns read all the same")


_FLOATS = (
    ("NaN", math.nan),
    ("Infinity", math.inf),
    ("-Infinity", -math.inf),
    ("1.0E10", 1.0e10),
    ("-0.0", -0.0),
)


@VALUES.case("double-special-texts", "PART-004")
def _special_floats(case: CaseWriter) -> None:
    """NaN, infinities and exponents read as numbers."""
    table = GoldenTable.created(case, struct(id="long", p="double"), partition_columns=["p"])
    for number, (text, value) in enumerate(_FLOATS):
        file = table.file([{"id": number}], partition={"p": value}, partitionValues={"p": text})
        table.commit(add(file))
    publish(case, table, files=False)
    least = compare("p", "<", -0.5, "double")
    filtered(case, table, "filter-negative", least, "Only negative infinity is below")


@VALUES.case("decimal-short-scale", "PART-004")
def _decimal_scale(case: CaseWriter) -> None:
    """A decimal text of a shorter scale keeps its value."""
    table = GoldenTable.created(case, struct(id="long", p="decimal(10,2)"), partition_columns=["p"])
    for number, (text, value) in enumerate((("1.5", "1.50"), ("2", "2.00"), ("-0.05", "-0.05"))):
        file = table.file(
            [{"id": number}], partition={"p": Decimal(value)}, partitionValues={"p": text}
        )
        table.commit(add(file))
    publish(case, table, files=False)


@VALUES.case("binary-escapes", "PART-014")
def _binary(case: CaseWriter) -> None:
    """A binary partition value is a string of escaped bytes."""
    table = GoldenTable.created(case, struct(id="long", p="binary"), partition_columns=["p"])
    plain = table.file([{"id": 1}], path="b/1.parquet", partition={"p": b"Hello"})
    low = table.file([{"id": 2}], path="b/2.parquet", partition={"p": b"\x01\x02"})
    table.commit(add(plain), add(low))
    publish(case, table)
    kept = compare("p", "=", b"Hello", "binary")
    filtered(case, table, "filter-equal", kept, "A binary partition value is found")


@VALUES.case("binary-high-byte", "PART-014")
def _binary_high(case: CaseWriter) -> None:
    """An escaped byte above 127 is one byte by the text."""
    schema = struct(id="long", p="binary")
    table = GoldenTable.of(case, schema, partition_columns=["p"])
    table.create(add(table.file([{"id": 3}], path="b/3.parquet", partition={"p": b"\xff"})))
    describe(case, table)
    case.contest_read(
        "A byte above 127 reads as itself or as its UTF-8 form",
        schema,
        Accepted("byte", "protocol: the escape stands for one byte", rows=table.rows()),
        Accepted(
            "utf8",
            "Spark stores the UTF-8 bytes of the text",
            rows=[{"id": 3, "p": "\u00ff".encode()}],
        ),
    )


@VALUES.case("keys-in-any-order", "ADD-005 PART-001")
def _keys_in_any_order(case: CaseWriter) -> None:
    """Partition values are found by their keys, whatever their order."""
    schema = struct(id="long", p="string", q="string")
    table = GoldenTable.created(case, schema, partition_columns=["p", "q"])
    for number, keys in enumerate(("pq", "qp", "pq", "qp")):
        values = {key: f"{key}{number}" for key in keys}
        file = table.file([{"id": number}], partition=values, partitionValues=values)
        table.commit(add(file))
    table.checkpoint(version=2)
    publish(case, table, versions=[1, 2, 4])
    kept = compare("q", "=", "q1", "string")
    filtered(case, table, "filter-second", kept, "A partition is found by its key")


@VALUES.case("column-order", "META-009 DATA-002")
def _column_order(case: CaseWriter) -> None:
    """Partition columns keep their place in the schema."""
    schema = struct(p="integer", id="long", q="string", name="string")
    table = GoldenTable.created(case, schema, partition_columns=["q", "p"])
    for p, q in ((1, "x"), (1, "y"), (2, "x")):
        rows = [{"id": 10 * p + n, "name": f"{q}{n}"} for n in range(2)]
        table.append(rows, partition={"p": p, "q": q})
    publish(case, table)
    either = any_of(compare("p", "=", 2, "integer"), compare("q", "=", "y", "string"))
    filtered(case, table, "filter-either", either, "A filter over both partition columns works")
    filtered(case, table, "filter-neither", negate(either), "So does its negation")
    mixed = any_of(compare("p", "=", 2, "integer"), compare("id", "=", 10, "long"))
    filtered(case, table, "filter-mixed", mixed, "So does one with a data column")


@VALUES.case("odd-column-names", "PART-001 ADD-005")
def _odd_columns(case: CaseWriter) -> None:
    """Partition columns of odd names read their values."""
    names = ("x%20x", "with.dot", "\u00e9", "UPPER")
    schema = struct(field("id", "long"), *(field(name, "string") for name in names))
    table = GoldenTable.created(case, schema, partition_columns=names)
    for number in range(2):
        values = {name: f"{name}-{number}" for name in names}
        table.append([{"id": number}], partition=values, path=f"files/{number}.parquet")
    publish(case, table)


@VALUES.case("all-columns-but-one", "PART-001 PART-004 PART-005 PART-013", since="2025")
def _many(case: CaseWriter) -> None:
    """Many partition columns of many types read together."""
    kinds: dict[str, tuple[str, Any]] = {
        "a": ("string", "x y"),
        "b": ("long", -5),
        "c": ("date", date(2024, 2, 29)),
        "d": ("boolean", False),
        "e": ("double", 2.5),
        "f": ("timestamp", utc(2024, 1, 1, 1, 1, 1, 500)),
        "g": ("decimal(5,1)", Decimal("10.0")),
    }
    schema = struct(*(field(name, kind) for name, (kind, _) in kinds.items()), field("id", "long"))
    table = GoldenTable.created(case, schema, partition_columns=list(kinds))
    values = {name: value for name, (_, value) in kinds.items()}
    table.append([{"id": 1}, {"id": 2}], partition=values, path="one.parquet")
    table.append([{"id": 3}], path="two.parquet")
    publish(case, table)
    for name, (kind, value) in kinds.items():
        kept = compare(name, "=", value, kind)
        filtered(case, table, f"filter-{name}", kept, f"A filter on {name} prunes right")


def _malformed(kind: str, text: str, requirement: str, case: CaseWriter) -> None:
    schema = struct(id="long", p=kind)
    table = GoldenTable.of(case, schema, partition_columns=["p"])
    table.create(add(table.file([{"id": 1}]), partitionValues={"p": text}))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", requirement)
    case.contest_read(
        "The value is refused or null",
        schema,
        Accepted("refused", "no value of the type is spelled like that", refusal=refusal),
        Accepted("null", "Spark reads what it cannot parse as null", rows=table.rows()),
    )


for _kind, _text, _requirement in (
    ("decimal(5,1)", "one", "PART-004"),
    ("double", "much", "PART-004"),
    ("date", "2023-02-29", "PART-005"),
    ("timestamp", "noon", "PART-006"),
    ("boolean", "maybe", "PART-013"),
):
    _name = _kind.partition("(")[0]
    VALUES.define(
        f"malformed-{_name}",
        f"A text that spells no {_name} is refused or null",
        _requirement,
        partial(_malformed, _kind, _text, _requirement),
    )


def _beyond(kind: str, text: str, case: CaseWriter) -> None:
    schema = struct(id="long", p=kind)
    table = GoldenTable.of(case, schema, partition_columns=["p"])
    table.create(add(table.file([{"id": 1}]), partitionValues={"p": text}))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "PART-004")
    infinite = Accepted(
        "infinite",
        "a number beyond the largest is infinite once it is rounded",
        rows=[{"id": 1, "p": math.inf}],
    )
    case.contest_read(
        "The value is refused or null, and a fraction may be infinite",
        schema,
        Accepted("refused", "the type has no such number", refusal=refusal),
        Accepted("null", "Spark reads what it cannot parse as null", rows=table.rows()),
        *([infinite] if kind in ("float", "double") else []),
    )


for _kind, _text in (
    ("byte", "128"),
    ("short", "-32769"),
    ("integer", "2147483648"),
    ("long", "9223372036854775808"),
    ("decimal(5,1)", "12345.6"),
    ("float", "1e39"),
    ("double", "1e309"),
):
    _name = _kind.partition("(")[0]
    VALUES.define(
        f"beyond-{_name}",
        f"A number beyond the range of {_name} is not cut to size",
        "PART-004",
        partial(_beyond, _kind, _text),
    )
