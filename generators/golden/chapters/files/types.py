"""Cases of every data type: primitives at their extremes, nested types, physical encodings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_not_null, is_null
from generators.golden.cases.publish import filtered, projected, publish
from generators.golden.cases.table import GoldenTable, feature_protocol
from generators.materialise.data.data_files import ExtraColumn, FileLayout
from generators.oracle.delta_schema import Struct, array, decimal, field, map_of, struct

MAPPINGS = Chapter("parquet-type-mappings")
SCHEMAS = Chapter("schema-serialization-format")


def utc(*parts: int) -> datetime:
    """Return a UTC instant."""
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def local(*parts: int) -> datetime:
    """Return a local date and time, for columns of type timestamp_ntz."""
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001  the type has no zone


@dataclass(frozen=True, slots=True)
class _Primitive:
    """A primitive type with the values that a table of it holds and a filter that splits them."""

    slug: str
    type: str
    values: Sequence[Any]
    requirements: str
    pivot: Any = None
    protocol: Mapping[str, Any] | None = None


PRIMITIVES = (
    _Primitive("boolean", "boolean", (True, False), "SCH-011 PQ-002", pivot=True),
    _Primitive("byte", "byte", (-128, -1, 0, 1, 127), "SCH-006 PQ-003", 0),
    _Primitive("short", "short", (-(2**15), -1, 0, 2**15 - 1), "SCH-005 PQ-004", 0),
    _Primitive("integer", "integer", (-(2**31), -1, 0, 2**31 - 1), "SCH-004 PQ-005", 0),
    _Primitive(
        "long", "long", (-(2**63), -(2**53) - 1, -1, 0, 2**53 + 1, 2**63 - 1), "SCH-003 PQ-006", 0
    ),
    _Primitive(
        "float",
        "float",
        (
            -3.4028234663852886e38,
            -0.0,
            1.401298464324817e-45,
            0.5,
            3.4028234663852886e38,
            math.inf,
            -math.inf,
            math.nan,
        ),
        "SCH-007 PQ-010",
        0.5,
    ),
    _Primitive(
        "double",
        "double",
        (
            -1.7976931348623157e308,
            -0.0,
            5e-324,
            0.1,
            1.7976931348623157e308,
            math.inf,
            -math.inf,
            math.nan,
        ),
        "SCH-008 PQ-011",
        0.1,
    ),
    _Primitive(
        "decimal-int32",
        "decimal(9,2)",
        (Decimal("-9999999.99"), Decimal("0.00"), Decimal("0.01"), Decimal("9999999.99")),
        "SCH-009 PQ-012",
        Decimal("0.01"),
    ),
    _Primitive(
        "decimal-10-0",
        "decimal(10,0)",
        (Decimal(-(10**10) + 1), Decimal(0), Decimal(5), Decimal(10**10 - 1)),
        "SCH-009 PQ-012",
        Decimal(5),
    ),
    _Primitive(
        "decimal-int64",
        "decimal(18,0)",
        (Decimal(-(10**18) + 1), Decimal(-1), Decimal(0), Decimal(10**18 - 1)),
        "SCH-009 PQ-012",
        Decimal(0),
    ),
    _Primitive(
        "decimal-38",
        "decimal(38,0)",
        (Decimal(-(10**38) + 1), Decimal(2**64), Decimal(-(2**64)), Decimal(10**38 - 1)),
        "SCH-009 SCH-010 PQ-012",
        Decimal(2**64),
    ),
    _Primitive(
        "decimal-38-38",
        "decimal(38,38)",
        (Decimal("-0." + "9" * 38), Decimal("0E-38"), Decimal("0." + "0" * 37 + "1")),
        "SCH-009 SCH-010 PQ-012",
    ),
    _Primitive(
        "string",
        "string",
        ("", " ", "a", "\u00e9\u0301", "\U0001f33c", "tab\tand 'quote'", "x" * 100),
        "SCH-002 PQ-013",
        "a",
    ),
    _Primitive(
        "binary", "binary", (b"", b"\x00", b"\xff\xfe", bytes(range(256))), "SCH-012 PQ-014"
    ),
    _Primitive(
        "date",
        "date",
        (
            date(1, 1, 1),
            date(1582, 10, 15),
            date(1969, 12, 31),
            date(1970, 1, 1),
            date(9999, 12, 31),
        ),
        "SCH-013 PQ-007",
        date(1970, 1, 1),
    ),
    _Primitive(
        "timestamp",
        "timestamp",
        (
            utc(1, 1, 1),
            utc(1969, 12, 31, 23, 59, 59, 999999),
            utc(1970, 1, 1),
            utc(2024, 3, 10, 2, 30),
            utc(9999, 12, 31, 23, 59, 59, 999999),
        ),
        "SCH-014 SCH-015 PQ-008",
        utc(1970, 1, 1),
    ),
    _Primitive(
        "timestamp-ntz",
        "timestamp_ntz",
        (
            local(1, 1, 1),
            local(1969, 12, 31, 23, 20, 57, 657658),
            local(1970, 1, 1),
            local(2024, 3, 10, 2, 30),
            local(9999, 12, 31, 23, 59, 59, 999999),
        ),
        "NTZ-001 SCH-017 SCH-019 PQ-009",
        local(1970, 1, 1),
        # A required column counts as an invariant with some writers.
        feature_protocol(["timestampNtz"], ["invariants"]),
    ),
)


def _primitive_case(primitive: _Primitive, case: CaseWriter) -> None:
    schema = struct(
        field("id", "long", nullable=False),
        field("value", primitive.type),
        field("present", primitive.type, nullable=False),
    )
    rows = [
        {"id": index, "value": value, "present": value}
        for index, value in enumerate(primitive.values)
    ]
    null = {"id": len(rows), "value": None, "present": primitive.values[0]}
    protocol = primitive.protocol or {"minReaderVersion": 1, "minWriterVersion": 2}
    table = GoldenTable.created(case, schema, rows, protocol=protocol)
    table.append([null])
    publish(case, table)
    filtered(case, table, "filter-null", is_null("value"), "Only the null row is null")
    filtered(case, table, "filter-not-null", is_not_null("value"), "Every other row is not null")
    if primitive.pivot is not None:
        for slug, op in (("equal", "="), ("above", ">"), ("below", "<=")):
            kept = compare("value", op, primitive.pivot, primitive.type)
            filtered(case, table, f"filter-{slug}", kept, f"Values {op} the pivot are kept")
    projected(case, table, "project-value", ["value"], "The column can be read alone")


for _primitive in PRIMITIVES:
    MAPPINGS.define(
        f"{_primitive.slug}-extremes",
        f"A {_primitive.slug} column keeps its extreme values and nulls",
        _primitive.requirements,
        partial(_primitive_case, _primitive),
    )


def _nested(
    case: CaseWriter, schema: Struct, files: Sequence[Sequence[Mapping[str, Any]]]
) -> GoldenTable:
    table = GoldenTable.created(case, schema)
    for rows in files:
        table.append(rows)
    return table


@MAPPINGS.case("array-nesting", "SCH-029 SCH-030 SCH-031 PQ-015")
def _arrays(case: CaseWriter) -> None:
    """Arrays keep nulls, emptiness and nesting."""
    schema = struct(
        id="long",
        numbers=array("integer"),
        dense=array("string", contains_null=False),
        matrix=array(array("double")),
        points=array(struct(x="integer", y="string")),
    )
    full = {
        "id": 1,
        "numbers": [1, None, 3],
        "dense": ["a", ""],
        "matrix": [[1.5], [], None, [2.5, None]],
        "points": [{"x": 1, "y": "a"}, {"x": None, "y": None}, None],
    }
    empty: dict[str, Any] = {"id": 2, "numbers": [], "dense": [], "matrix": [], "points": []}
    table = _nested(case, schema, [[full, empty], [{"id": 3}]])
    publish(case, table)
    filtered(case, table, "filter-null", is_null("numbers"), "A null array is not an empty one")
    projected(case, table, "project-points", ["points"], "An array of structs is read alone")


@MAPPINGS.case("map-nesting", "SCH-032 SCH-033 SCH-034 SCH-035 PQ-016")
def _maps(case: CaseWriter) -> None:
    """Maps keep null values, emptiness and nesting."""
    schema = struct(
        id="long",
        counts=map_of("string", "long"),
        dense=map_of("integer", "string", value_contains_null=False),
        deep=map_of("string", map_of("date", array("integer"))),
        records=map_of("long", struct(a="boolean", b="binary")),
    )
    full = {
        "id": 1,
        "counts": {"a": 1, "": None, "\u00fc": 2**40},
        "dense": {-1: "x", 0: ""},
        "deep": {"k": {date(2020, 2, 29): [1, None]}, "empty": {}, "null": None},
        "records": {7: {"a": True, "b": b"\x01"}, 8: None},
    }
    empty: dict[str, Any] = {"id": 2, "counts": {}, "dense": {}, "deep": {}, "records": {}}
    table = _nested(case, schema, [[full, empty], [{"id": 3}]])
    publish(case, table)
    projected(case, table, "project-counts", ["counts"], "A map is read alone")


@MAPPINGS.case("struct-nesting", "SCH-021 SCH-022 PQ-017")
def _structs(case: CaseWriter) -> None:
    """Structs keep null members and null themselves."""
    schema = struct(id="long", outer=struct(a="integer", b=struct(c="string", d="decimal(5,2)")))
    rows: list[dict[str, Any]] = [
        {"id": 1, "outer": {"a": 1, "b": {"c": "x", "d": Decimal("1.25")}}},
        {"id": 2, "outer": {"a": None, "b": None}},
        {"id": 3, "outer": {"a": None, "b": {"c": None, "d": None}}},
        {"id": 4, "outer": None},
    ]
    table = _nested(case, schema, [rows[:2], rows[2:]])
    publish(case, table)
    deep = compare("outer.b.c", "=", "x", "string")
    filtered(case, table, "filter-deep", deep, "A filter on a nested leaf keeps its row")
    filtered(case, table, "filter-leaf-null", is_null("outer.a"), "A leaf of a null struct is null")


@MAPPINGS.case("mixed-deep-nesting", "PQ-015 PQ-016 PQ-017")
def _deep(case: CaseWriter) -> None:
    """A column of all nested kinds reads whole."""
    leaf = struct(tags=array("string"), when="timestamp")
    schema = struct(id="long", tree=array(map_of("string", array(leaf))))
    when = utc(2024, 2, 29, 12, 0, 0, 1)
    rows: list[dict[str, Any]] = [
        {"id": 1, "tree": [{"k": [{"tags": ["a", None], "when": when}, None]}, {}, None]},
        {"id": 2, "tree": None},
    ]
    publish(case, _nested(case, schema, [rows]))


@MAPPINGS.case("timestamp-int96", "PQ-008 PQ-001")
def _int96(case: CaseWriter) -> None:
    """Timestamps stored as INT96 read as microseconds."""
    table = GoldenTable.created(case, struct(id="long", at="timestamp"))
    old: list[dict[str, Any]] = [
        {"id": 1, "at": utc(1900, 1, 1)},
        {"id": 2, "at": utc(1969, 12, 31, 23, 59, 59, 999999)},
        {"id": 3, "at": utc(2024, 6, 1, 12, 34, 56, 789012)},
        {"id": 4, "at": None},
    ]
    table.append(old, layout=FileLayout(int96=True))
    table.append([{"id": 5, "at": utc(2024, 6, 1, 12, 34, 56, 789012)}])
    publish(case, table)
    same = compare("at", "=", utc(2024, 6, 1, 12, 34, 56, 789012), "timestamp")
    filtered(case, table, "filter-equal", same, "Both encodings hold the same instant")


@MAPPINGS.case("timestamp-int96-far", "PQ-008 PQ-001")
def _int96_far(case: CaseWriter) -> None:
    """INT96 beyond nanosecond range reads right."""
    table = GoldenTable.created(case, struct(id="long", at="timestamp"))
    far = [
        {"id": 1, "at": utc(1, 1, 1)},
        {"id": 2, "at": utc(1500, 6, 1)},
        {"id": 3, "at": utc(9999, 12, 31, 23, 59, 59, 999999)},
    ]
    table.append(far, layout=FileLayout(int96=True), statistics=False)
    table.append(far)
    publish(case, table)


@MAPPINGS.case("decimal-encodings", "PQ-012 PQ-001")
def _decimal_encodings(case: CaseWriter) -> None:
    """A decimal reads the same from every physical type."""
    schema = struct(id="long", small="decimal(7,3)", large="decimal(16,4)")
    table = GoldenTable.created(case, schema)
    for start, short in ((0, True), (10, False)):
        rows: list[dict[str, Any]] = [
            {"id": start + 1, "small": Decimal("-1234.567"), "large": Decimal("123456789012.3456")},
            {"id": start + 2, "small": Decimal("0.001"), "large": Decimal("-0.0001")},
            {"id": start + 3, "small": None, "large": None},
        ]
        table.append(rows, layout=FileLayout(short_decimals=short))
    publish(case, table)
    least = compare("small", "=", Decimal("0.001"), "decimal(7,3)")
    filtered(case, table, "filter-equal", least, "Both encodings hold the same number")


_CODECS = ("none", "snappy", "gzip", "lz4", "zstd")


@MAPPINGS.case("codecs-mixed", "PROP-005", since="upstream")
def _codecs(case: CaseWriter) -> None:
    """Files of one table may use different codecs."""
    table = GoldenTable.created(case, struct(id="long", codec="string"))
    for index, codec in enumerate(_CODECS):
        rows = [{"id": 10 * index + step, "codec": codec} for step in range(3)]
        layout = FileLayout(compression=codec)  # type: ignore[arg-type]
        table.append(rows, layout=layout)
    publish(case, table)


@MAPPINGS.case("row-groups-and-order", "PQ-001 DATA-001")
def _physical_order(case: CaseWriter) -> None:
    """Column order and row groups of a file do not matter."""
    table = GoldenTable.created(case, struct(id="long", name="string", score="double"))
    rows = [{"id": n, "name": f"n{n}", "score": n / 4} for n in range(20)]
    turned = FileLayout(order=("score", "id", "name"), row_group_rows=3, dictionary=False)
    table.append(rows, layout=turned)
    table.append([{"id": 99, "name": "z", "score": -1.0}])
    publish(case, table)
    some = compare("score", ">=", 4.0, "double")
    filtered(case, table, "filter-score", some, "A filter works across row groups")


@MAPPINGS.case("extra-file-columns", "WCON-005 CDC-019")
def _extra_columns(case: CaseWriter) -> None:
    """Columns of a file outside the schema are ignored."""
    table = GoldenTable.created(case, struct(id="long", name="string"))
    rows: list[dict[str, Any]] = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    extra = (
        ExtraColumn("_change_type", pa.array(["insert", "insert"])),
        ExtraColumn("leftover", pa.array([1.5, 2.5])),
    )
    table.append(rows, layout=FileLayout(extra=extra))
    case.judged |= dict.fromkeys(("read-latest", "read-v0", "read-v1"), "SNAP-007")
    publish(case, table)


@SCHEMAS.case("all-types-in-one", "SCH-001 SCH-038 PQ-001")
def _all_types(case: CaseWriter) -> None:
    """A table of every type reads row by row."""
    schema = struct(
        s="string",
        l="long",
        i="integer",
        h="short",
        b="byte",
        f="float",
        d="double",
        m=decimal(10, 2),
        u=decimal(1, 0),
        o="boolean",
        x="binary",
        y="date",
        t="timestamp",
        a=array("integer"),
        p=map_of("string", "integer"),
        n=struct(q="string"),
    )
    row = {
        "s": "text", "l": 1, "i": 2, "h": 3, "b": 4, "f": 0.25, "d": 0.5, "m": Decimal("7.25"),
        "u": Decimal(-9), "o": True, "x": b"\x01\x02", "y": date(2020, 1, 1),
        "t": utc(2020, 1, 1, 1, 1, 1, 1), "a": [1, 2], "p": {"k": 1}, "n": {"q": "v"},
    }  # fmt: skip
    table = GoldenTable.created(case, schema, [row])
    table.append([{}])
    publish(case, table)
    for name in schema.names:
        projected(case, table, f"project-{name}", [name], f"Column {name} is read alone")


@SCHEMAS.case("column-metadata-kept", "SCH-026 SCH-036")
def _column_metadata(case: CaseWriter) -> None:
    """Unknown column metadata does not disturb a reader."""
    metadata = {"comment": "the key", "custom": {"nested": [1, 2]}, "maxLength": 10}
    schema = struct(
        field("id", "long", metadata=metadata),
        field("code", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(10)"}),
    )
    table = GoldenTable.created(case, schema, [{"id": 1, "code": "abc"}, {"id": 2, "code": None}])
    publish(case, table)


@SCHEMAS.case("column-names-odd", "SCH-023")
def _odd_names(case: CaseWriter) -> None:
    """Column names of legal odd characters read back."""
    names = ("UPPER", "with-dash", "with.dot", "\u00e9l\u00e8ve", "x%20x", "`tick`", "_c", "a/b")
    schema = struct(*(field(name, "integer") for name in names))
    table = GoldenTable.created(case, schema, [{name: n for n, name in enumerate(names)}, {}])
    publish(case, table)


@SCHEMAS.case("empty-table", "SNAP-004 WCON-002")
def _empty(case: CaseWriter) -> None:
    """A table without files reads as no rows with its schema."""
    schema = struct(field("id", "long", nullable=False), field("p", "string"))
    table = GoldenTable.created(case, schema, partition_columns=["p"])
    publish(case, table)
    filtered(case, table, "filter", compare("id", ">", 0, "long"), "A filter keeps nothing")
    projected(case, table, "project-partition", ["p"], "The partition column is still there")
