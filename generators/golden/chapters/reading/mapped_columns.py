"""Cases of mapped and missing columns that are nested, partitions or twins of others.

Covers "Column Mapping", "Default Columns" and "Table Features".
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, Final, TypeAlias

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import is_null
from generators.golden.cases.publish import describe, filtered, publish
from generators.golden.cases.table import DataFile, GoldenTable, add, feature_protocol
from generators.golden.chapters.tables.column_mapping import mapped_table, unmapped
from generators.oracle.delta_schema import ID_KEY, PHYSICAL_NAME_KEY, Field, Struct, field, struct

DEFAULTS: Final = Chapter("default-columns", since="2025")
MAPPING: Final = Chapter("column-mapping")
FEATURES: Final = Chapter("table-features", since="2025")

Rows: TypeAlias = list[dict[str, Any]]


def _fields(of: Field) -> list[Field]:
    """Return the fields of a struct column."""
    if not isinstance(of.type, Struct):
        raise TypeError(f"{of.name} is no struct")
    return [*of.type]


def _defaults(case: CaseWriter, *, mapped: bool) -> None:
    inner = field("b", "string", metadata={"CURRENT_DEFAULT": "'preset'"})
    columns = struct(
        field("id", "long"),
        field("s", struct(field("a", "integer"), inner)),
        field("d", "date", metadata={"CURRENT_DEFAULT": "current_date()"}),
        field("p", "string", metadata={"CURRENT_DEFAULT": "'x'"}),
    )
    if mapped:
        protocol = feature_protocol(["columnMapping"], ["allowColumnDefaults"])
        table = mapped_table(case, columns, protocol=protocol)
    else:
        protocol = feature_protocol([], ["allowColumnDefaults"])
        table = GoldenTable.of(case, columns, partition_columns=("p",), protocol=protocol)
    table.create()
    known, nested, _, last = table.schema
    older = struct(known, replace(nested, type=struct(*_fields(nested)[:1])), last)
    rows: list[Rows] = [
        [{"id": 1, "s": {"a": 1}}],
        [{"id": 2, "s": {"a": 2, "b": None}, "d": None}],
        [{"id": 4, "s": {"a": 4, "b": "own"}, "d": date(2020, 1, 1)}],
    ]
    for some, value, written in zip(rows, (None, None, "y"), (older, None, None), strict=True):
        partition = None if mapped else {"p": value}
        held = [{**row, "p": value} for row in some] if mapped else some
        table.append(held, partition=partition, written_as=written)
    publish(case, table, files=False)
    for slug, name in (("date", "d"), ("last", "p")):
        title = "A null is no default, for a filter as well"
        filtered(case, table, f"filter-{slug}", is_null(name), title)


for _name, _words in {"every-column": "nested and partition", "mapped-columns": "mapped"}.items():
    DEFAULTS.define(
        f"defaults-of-{_name}",
        f"Defaults of {_words} columns never show in a read",
        "DFT-004 DFT-001",
        partial(_defaults, mapped=_name == "mapped-columns"),
    )


def _crossed(schema: Struct, key: str) -> Struct:
    """Exchange a key of the metadata of the last two columns."""
    first, second, third = schema
    return struct(
        first,
        replace(second, metadata={**second.metadata, key: third.metadata[key]}),
        replace(third, metadata={**third.metadata, key: second.metadata[key]}),
    )


_TWINS: Final = struct(id="long", a="string", b="string")


def _by_mode(case: CaseWriter, mode: str, protocol: dict[str, Any]) -> None:
    table = mapped_table(case, _TWINS, mode=mode, protocol=protocol)
    table.create()
    if mode == "none":
        written = unmapped(table.schema)
    else:
        written = _crossed(table.schema, PHYSICAL_NAME_KEY if mode == "id" else ID_KEY)
    rows = [{"id": n, "a": f"a{n}", "b": f"b{n}"} for n in range(2)]
    file = table.file(rows, written_as=written, statistics={"numRecords": 2})
    table.commit(add(table.register(DataFile(file.body, tuple(rows), table.schema))))
    case.judged = {"read-latest": "CM-023"}
    publish(case, table)


for _mode, _words in {
    "none": "Left-over ids and names mean nothing in mode none",
    "name": "In mode name ids of a file mean nothing",
    "id": "In mode id names of a file mean nothing",
}.items():
    MAPPING.define(
        f"mode-{_mode}-alone-feature",
        f"{_words}, with the feature",
        "CM-023 CM-024" if _mode == "none" else "CM-023",
        partial(_by_mode, mode=_mode, protocol=feature_protocol(["columnMapping"])),
        since="2025",
    )


@MAPPING.case("id-mode-nested-id-missing", "CM-028")
def _nested_missing(case: CaseWriter) -> None:
    """In mode id a nested column whose id is absent is null."""
    table = mapped_table(case, struct(id="long", s=struct(a="integer", b="string")), mode="id")
    number, nested = table.schema
    first, second = _fields(nested)
    other = replace(second, metadata={**second.metadata, ID_KEY: 9})
    table.properties["delta.columnMapping.maxColumnId"] = "9"
    before = struct(number, replace(nested, type=struct(first, other)))
    rows = [{"id": 1, "s": {"a": 1, "b": "of a column of before"}}]
    written = table.file(rows, written_as=before, statistics={"numRecords": 1})
    expected = ({"id": 1, "s": {"a": 1, "b": None}},)
    file = table.register(DataFile(written.body, expected, table.schema))
    table.create(add(file), add(table.file([{"id": 2, "s": {"a": 2, "b": "b"}}])))
    publish(case, table)


@FEATURES.case("mapping-unlisted", "CM-006 CM-011")
def _unlisted(case: CaseWriter) -> None:
    """Column mapping that no list has is without effect, or refused."""
    table = mapped_table(case, _TWINS, protocol=feature_protocol(["deletionVectors"]))
    table.create()
    rows = [{"id": n, "a": f"a{n}", "b": f"b{n}"} for n in range(2)]
    file = table.file(rows, written_as=unmapped(table.schema))
    table.commit(add(table.register(DataFile(file.body, tuple(rows), table.schema))))
    describe(case, table)
    case.contest_read(
        "By display names, or not at all",
        table.schema,
        Accepted("read", "protocol: without its feature a mode has no effect", rows=rows),
        Accepted(
            "refused",
            "who turns the mapping on has to list it, and the table breaks that",
            refusal=Refusal("invalid_table", "load", "CM-011"),
        ),
    )
