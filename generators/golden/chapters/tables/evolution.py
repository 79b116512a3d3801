"""Cases of features that change types: widening, timestamps without zone and void."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.publish import describe, earlier_spec, filtered, publish
from generators.golden.cases.table import GoldenTable, add, feature_protocol
from generators.golden.chapters.files.types import local, utc
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.oracle.delta_schema import Field, Struct, array, field, map_of, struct

WIDENING = Chapter("type-widening", since="upstream")
ZONELESS = Chapter("timestamp-ntz", since="2025")
VOID = Chapter("void-type")


@dataclass(frozen=True, slots=True)
class _Widening:
    """A type change: values written before and after it, and a filter across both."""

    before: str
    after: str
    old: Sequence[Any]
    new: Sequence[Any]
    pivot: Any


_WIDENINGS = {
    "byte-to-short": _Widening("byte", "short", (-128, 127), (-(2**15), 2**15 - 1), 100),
    "byte-to-integer": _Widening("byte", "integer", (-128, 127), (2**31 - 1,), 100),
    "short-to-integer": _Widening("short", "integer", (-(2**15), 5), (2**31 - 1,), 100),
    "integer-to-long": _Widening("integer", "long", (-(2**31), 5), (2**63 - 1,), 100),
    "byte-to-long": _Widening("byte", "long", (-1, 5), (2**40,), 100),
    "float-to-double": _Widening("float", "double", (0.5, -1.5), (0.1, 1.0e300), 0.25),
    "integer-to-double": _Widening("integer", "double", (7, -7), (0.5,), 0.25),
    "short-to-long": _Widening("short", "long", (-(2**15), 5), (2**63 - 1,), 100),
    "byte-to-double": _Widening("byte", "double", (127, -128), (0.5,), 0.25),
    "short-to-double": _Widening("short", "double", (7, -7), (0.5,), 0.25),
    "date-to-timestamp-ntz": _Widening(
        "date",
        "timestamp_ntz",
        (date(1, 1, 1), date(2024, 2, 29)),
        (local(2024, 2, 29, 12),),
        local(2024, 1, 1),
    ),
    "decimal-precision": _Widening(
        "decimal(6,2)",
        "decimal(10,2)",
        (Decimal("1234.56"), Decimal("-0.01")),
        (Decimal("99999999.99"),),
        Decimal("1.00"),
    ),
    "decimal-scale": _Widening(
        "decimal(6,2)",
        "decimal(10,4)",
        (Decimal("1234.56"),),
        (Decimal("123456.7891"),),
        Decimal("2000.0000"),
    ),
    "integer-to-decimal": _Widening(
        "integer", "decimal(12,2)", (2**31 - 1, -5), (Decimal("9999999999.99"),), Decimal("1.00")
    ),
    "byte-to-decimal": _Widening(
        "byte", "decimal(10,0)", (127, -128), (Decimal(10**10 - 1),), Decimal(1)
    ),
    "short-to-decimal": _Widening(
        "short", "decimal(11,1)", (2**15 - 1, -5), (Decimal("9999999999.9"),), Decimal("1.0")
    ),
    "long-to-decimal": _Widening(
        "long", "decimal(20,0)", (2**63 - 1, -5), (Decimal(10**20 - 1),), Decimal(1)
    ),
}


def _change(before: str, after: str, path: str | None = None) -> dict[str, Any]:
    record = {"fromType": before, "toType": after}
    if path is not None:
        record["fieldPath"] = path
    return {"delta.typeChanges": [record]}


def _widening_table(case: CaseWriter, schema: Struct, **options: Any) -> GoldenTable:
    features = ["typeWidening"]
    if "timestamp_ntz" in options.pop("kinds", ()):
        features.append("timestampNtz")
    return GoldenTable.of(
        case,
        schema,
        protocol=feature_protocol(features),
        properties={"delta.enableTypeWidening": "true"},
        **options,
    )


def _widened(case: CaseWriter, change: _Widening) -> None:
    table = _widening_table(case, struct(id="long", v=change.before), kinds=(change.after,))
    table.create()
    table.append([{"id": n, "v": value} for n, value in enumerate((*change.old, None))])
    metadata = _change(change.before, change.after)
    table.schema = struct(field("id", "long"), field("v", change.after, metadata=metadata))
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.append([{"id": 10 + n, "v": value} for n, value in enumerate(change.new)])
    publish(case, table)
    for slug, op in (("above", ">"), ("below", "<")):
        probe = compare("v", op, change.pivot, change.after)
        filtered(case, table, f"filter-{slug}", probe, "A filter spans files of both types")
    same = compare("v", "=", table.rows()[0]["v"], change.after)
    filtered(case, table, "filter-equal", same, "An old value is found by its new type")
    filtered(case, table, "filter-null", is_null("v"), "Nulls stay null")


for _name, _widening in _WIDENINGS.items():
    WIDENING.define(
        _name,
        f"Values of {_widening.before} read as {_widening.after} after the change",
        "TW-004 TW-012" + (" TW-005" if "decimal" in _widening.after else ""),
        partial(_widened, change=_widening),
    )


_FINE: Final = 2**24 + 1
"""The first integer that no float of 32 bits holds."""

_ENDS: Final[Mapping[str, Sequence[tuple[str, str, Sequence[Any]]]]] = {
    "integers": [
        ("byte", "short", (-128, 127, -1, 0)),
        ("byte", "integer", (-128, 127, -1, 0)),
        ("byte", "long", (-128, 127, -1, 0)),
        ("short", "integer", (-(2**15), 2**15 - 1, -1, 128)),
        ("short", "long", (-(2**15), 2**15 - 1, -1, 128)),
        ("integer", "long", (-(2**31), 2**31 - 1, -1, 2**16)),
    ],
    "doubles": [
        ("byte", "double", (-128, 127)),
        ("short", "double", (-(2**15), 2**15 - 1)),
        ("integer", "double", (-(2**31), 2**31 - 1, 1 - 2**31, _FINE, -_FINE)),
        ("float", "double", (-3.4028234663852886e38, 2.0**-149, 0.10000000149011612, 2.0**24)),
    ],
    "decimals": [
        ("byte", "decimal(38,28)", (-128, 127)),
        ("short", "decimal(10,0)", (-(2**15), 2**15 - 1)),
        ("integer", "decimal(10,0)", (-(2**31), 2**31 - 1, _FINE)),
        ("integer", "decimal(38,28)", (-(2**31), 2**31 - 1, _FINE)),
        ("long", "decimal(20,0)", (-(2**63), 2**63 - 1, 2**53 + 1, -(2**53) - 1)),
        ("long", "decimal(38,18)", (-(2**63), 2**63 - 1, 2**53 + 1, -(2**53) - 1)),
        ("decimal(9,2)", "decimal(18,2)", (Decimal("-9999999.99"), Decimal("0.01"))),
        ("decimal(18,0)", "decimal(38,20)", (Decimal(1 - 10**18), Decimal(2**53 + 1))),
        ("decimal(20,10)", "decimal(38,28)", (Decimal("-9999999999.9999999999"), Decimal("1e-10"))),
    ],
}
"""Kind of the new type to changes, each with the old values that an inexact way would change."""


def _ends(case: CaseWriter, kind: str) -> None:
    changes = {f"v{number}": each for number, each in enumerate(_ENDS[kind])}
    before = struct(
        field("id", "long"), *(field(name, old) for name, (old, _, _) in changes.items())
    )
    table = _widening_table(case, before)
    rows = [
        {"id": n, **{name: of[n] for name, (_, _, of) in changes.items() if n < len(of)}}
        for n in range(max(len(of) for _, _, of in changes.values()))
    ]
    table.create(add(table.file(rows)))
    columns = [
        field(name, new, metadata=_change(old, new)) for name, (old, new, _) in changes.items()
    ]
    table.schema = struct(field("id", "long"), *columns)
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.append([{"id": 90}])
    publish(case, table, versions=[])
    for name in changes:
        for row in [row for row in table.rows() if row[name] is not None]:
            probe = compare(name, "=", row[name], changes[name][1])
            title = "A filter finds the value, whole"
            filtered(case, table, f"filter-{name}-{row['id']}", probe, title)


for _kind in _ENDS:
    WIDENING.define(
        f"ends-in-{_kind}",
        f"Values at the ends of their types keep all digits as {_kind}",
        "TW-012 " + ("TW-005" if _kind == "decimals" else "TW-004"),
        partial(_ends, kind=_kind),
    )


_DAY: Final = date(2024, 2, 29)
_INSIDE: Final[Sequence[tuple[str, str, Any, Any]]] = (
    ("byte", "integer", 127, 2**20),
    ("short", "long", -(2**15), 2**40),
    ("integer", "long", 2**31 - 1, 2**40),
    ("float", "double", 0.5, 0.1),
    ("date", "timestamp_ntz", _DAY, local(2024, 2, 29, 1)),
)
"""Changes of types within others, each with an old value and one that only the new type holds."""


def _holding(before: str, after: str, *, changed: bool) -> Struct:
    """Return columns that hold a type within each other type; ``changed`` once it was widened."""
    held = after if changed else before

    def metadata(*paths: str) -> dict[str, Any]:
        records = [{"fromType": before, "toType": after, "fieldPath": path} for path in paths]
        return {"delta.typeChanges": records} if changed else {}

    inner = struct(field("a", held, metadata=_change(before, after) if changed else {}))
    return struct(
        field("l", array(array(held)), metadata=metadata("element.element")),
        field("m", map_of(held, held), metadata=metadata("key", "value")),
        field("s", inner),
        field("ls", array(inner)),
        field("ms", map_of("string", inner)),
    )


def _held(value: Any) -> dict[str, Any]:
    """Return a value within each of the columns."""
    of = {"a": value}
    return {"l": [[value, None]], "m": {value: value}, "s": of, "ls": [of], "ms": {"k": of}}


@WIDENING.case("nested-types", "TW-006 TW-008 TW-012")
def _nested(case: CaseWriter) -> None:
    """Elements, keys and values are widened as well."""

    def columns(*, changed: bool) -> Struct:
        held = (_holding(old, new, changed=changed) for old, new, _, _ in _INSIDE)
        return struct(*(field(f"c{at}", each) for at, each in enumerate(held)))

    table = _widening_table(case, columns(changed=False), kinds=("timestamp_ntz",))
    table.create()
    table.append([{f"c{at}": _held(value) for at, (_, _, value, _) in enumerate(_INSIDE)}, {}])
    table.schema = columns(changed=True)
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.append([{f"c{at}": _held(value) for at, (_, _, _, value) in enumerate(_INSIDE)}])
    publish(case, table)


@WIDENING.case("partition-column", "TW-012 PART-004")
def _partition(case: CaseWriter) -> None:
    """Partition values read as the widened type."""
    table = _widening_table(case, struct(id="long", p="integer"), partition_columns=["p"])
    table.create(add(table.file([{"id": 1}], partition={"p": 5})))
    metadata = _change("integer", "long")
    table.schema = struct(field("id", "long"), field("p", "long", metadata=metadata))
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.append([{"id": 2}], partition={"p": 2**40})
    publish(case, table)
    above = compare("p", ">", 4, "long")
    filtered(case, table, "filter", above, "A filter spans values of both types")


@WIDENING.case("checkpoint-statistics", "TW-012 CKC-021")
def _statistics(case: CaseWriter) -> None:
    """Parsed statistics of the new type prune old files right."""
    table = _widening_table(case, struct(id="long", v="integer"))
    table.create(add(table.file([{"id": 1, "v": 7}])))
    metadata = _change("integer", "long")
    table.schema = struct(field("id", "long"), field("v", "long", metadata=metadata))
    table.commit(table.metadata(), add(table.file([{"id": 2, "v": 2**40}])))
    table.checkpoint(version=1, style=CheckpointStyle(stats_parsed=True), hint=False)
    table.append([{"id": 3, "v": -(2**40)}])
    publish(case, table, log_info={"lastCheckpointVersion": 1})
    for slug, op in (("above", ">"), ("below", "<")):
        probe = compare("v", op, 6, "long")
        filtered(case, table, f"filter-{slug}", probe, "A filter spans files of both types")


@WIDENING.case("twice", "TW-007 TW-009 TW-012")
def _twice(case: CaseWriter) -> None:
    """A column may be widened more than once."""
    table = _widening_table(case, struct(v="byte"))
    table.create(add(table.file([{"v": 1}])))
    changes: list[dict[str, Any]] = []
    for old, new, value in (("byte", "short", 300), ("short", "long", 2**40)):
        changes.append({"fromType": old, "toType": new})
        table.schema = struct(field("v", new, metadata={"delta.typeChanges": list(changes)}))
        table.commit(table.metadata(), operation="CHANGE COLUMN")
        table.append([{"v": value}])
    publish(case, table)


_CHANGED = _change("string", "boolean")
_BEFORE_A_WIDENING = {
    "delta.typeChanges": [
        {"fromType": "string", "toType": "byte"},
        {"fromType": "byte", "toType": "integer"},
    ]
}
_UNSUPPORTED = {
    "unsupported-change": field("v", "boolean", metadata=_CHANGED),
    "unsupported-change-inside": field("v", struct(field("w", "boolean", metadata=_CHANGED))),
    "unsupported-change-of-elements": field(
        "v", array("boolean"), metadata=_change("string", "boolean", "element")
    ),
    "unsupported-change-to-narrower": field("v", "integer", metadata=_change("long", "integer")),
    "unsupported-change-first": field("v", "integer", metadata=_BEFORE_A_WIDENING),
}
"""Columns whose recorded changes are not all of the list."""


def _unsupported(case: CaseWriter, column: Field) -> None:
    table = _widening_table(case, struct(id="long"))
    table.create(add(table.file([{"id": 1}])))
    describe(case, table)
    table.schema = struct(field("id", "long"), column)
    table.commit(table.metadata())
    refusal = Refusal("invalid_table", "read", "TW-013", code="DELTA_UNSUPPORTED_TYPE_CHANGE")
    case.refuse("read", "read-latest", refusal, title="The table is refused")
    earlier_spec(case, table, 0)


for _name, _column in _UNSUPPORTED.items():
    WIDENING.define(
        _name,
        "A recorded change that no list allows is refused",
        "TW-003 TW-013",
        partial(_unsupported, column=_column),
    )


# Timestamps without zone.


@ZONELESS.case("beside-timestamp", "NTZ-001 SCH-017 SCH-018 SCH-019")
def _beside(case: CaseWriter) -> None:
    """The two timestamp types stay apart."""
    schema = struct(z="timestamp", n="timestamp_ntz")
    table = GoldenTable.of(case, schema, protocol=feature_protocol(["timestampNtz"]))
    moment = (2024, 3, 31, 2, 30, 0, 5)
    table.create(add(table.file([{"z": utc(*moment), "n": local(*moment)}, {}])))
    table.checkpoint(version=0, style=CheckpointStyle(stats_parsed=True), hint=False)
    table.append([{"z": utc(1900, 1, 1), "n": local(1900, 1, 1)}])
    publish(case, table, log_info={"lastCheckpointVersion": 0})
    for name, value in (("z", utc(*moment)), ("n", local(*moment))):
        kind = "timestamp" if name == "z" else "timestamp_ntz"
        probe = compare(name, "=", value, kind)
        filtered(case, table, f"filter-{name}", probe, "A filter finds the microsecond")


@ZONELESS.case("nested", "NTZ-001 PQ-009")
def _nested_ntz(case: CaseWriter) -> None:
    """The type may be nested."""
    schema = struct(
        l=array("timestamp_ntz"), s=struct(t="timestamp_ntz"), m=map_of("string", "timestamp_ntz")
    )
    table = GoldenTable.of(case, schema, protocol=feature_protocol(["timestampNtz"]))
    when = local(2024, 1, 1, 1, 2, 3, 4)
    table.create(add(table.file([{"l": [when, None], "s": {"t": when}, "m": {"k": when}}, {}])))
    publish(case, table)


@ZONELESS.case("without-feature", "NTZ-002")
def _unlisted(case: CaseWriter) -> None:
    """The type without its feature is refused or read."""
    schema = struct(id="long", n="timestamp_ntz")
    table = GoldenTable.created(case, schema, [{"id": 1, "n": local(2024, 1, 1)}])
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "NTZ-002")
    case.contest_read(
        "The table is refused or read",
        schema,
        Accepted("refused", "the type needs its feature", refusal=refusal),
        Accepted("read", "a reader that knows the type reads it", rows=table.rows()),
    )


@ZONELESS.case("old-feature-name", "NTZ-002 FEAT-003", features=())
def _old_name(case: CaseWriter) -> None:
    """The feature's old name is unknown or understood."""
    schema = struct(id="long", n="timestamp_ntz")
    protocol = feature_protocol(["timestampWithoutTimezone"])
    table = GoldenTable.created(
        case, schema, [{"id": 1, "n": local(2024, 1, 1)}], protocol=protocol
    )
    describe(case, table)
    refusal = Refusal("unsupported", "load", "TF-001")
    case.contest_read(
        "The table is refused or read",
        schema,
        Accepted("refused", "the name is not that of the text", refusal=refusal),
        Accepted("read", "early writers left the name in live tables", rows=table.rows()),
    )


# Void.


@VOID.case("top-level-column", "SCH-020 VOID-002 PQ-018")
def _void(case: CaseWriter) -> None:
    """A void column reads as nulls or is left out."""
    schema = struct(id="long", v="void", name="string")
    table = GoldenTable.created(case, schema, [{"id": 1, "name": "a"}, {"id": 2, "name": None}])
    describe(case, table)
    rows: list[dict[str, Any]] = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    case.contest(
        "read",
        "read-latest",
        [
            Accepted(
                "dropped", "2025: dropping is preferred", rows=rows, schema=schema.without("v")
            ),
            Accepted("null", "upstream: void reads as all null", rows=rows, schema=schema),
        ],
        title="The column is left out, or null throughout",
        requirement="VOID-002",
    )
    case.read(
        "project-others",
        schema,
        rows,
        title="The other columns read whatever becomes of void",
        columns=["id", "name"],
        requirement="VOID-002",
        requirements=["VOID-002", "SCH-020"],
    )


@VOID.case("later-typed", "VOID-007 META-002", since="upstream")
def _void_typed(case: CaseWriter) -> None:
    """A void column may become a real one."""
    table = GoldenTable.created(case, struct(id="long", v="void"), [{"id": 1}])
    table.schema = struct(id="long", v="string")
    table.commit(table.metadata(), add(table.file([{"id": 2, "v": "real"}])))
    describe(case, table)
    rows: list[dict[str, Any]] = [{"id": 1, "v": None}, {"id": 2, "v": "real"}]
    case.read("read-latest", table.schema, rows, title="Old rows have null in the column")


@WIDENING.case("without-feature", "TW-001")
def _widening_unlisted(case: CaseWriter) -> None:
    """Widened files without the feature are contested."""
    table = GoldenTable.created(case, struct(v="integer"), [{"v": 7}])
    table.schema = struct(v="long")
    table.commit(table.metadata(), add(table.file([{"v": 2**40}])))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "TW-001")
    refused = Accepted("refused", "the change needs the feature", refusal=refusal)
    read = Accepted("read", "a reader may widen all the same", rows=table.rows())
    case.contest_read("The table is refused or read", table.schema, refused, read)
