"""Cases of column mapping whose physical names are the logical names of other columns.

Covers "Column Mapping". A reader that looks anything up by logical name finds another column
there instead of nothing: statistics, partition values, nested fields, columns of data files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import Filter, all_of, compare, is_null
from generators.golden.cases.publish import describe, filtered, projected, publish
from generators.golden.cases.table import DataFile, GoldenTable, add, feature_protocol
from generators.golden.chapters.tables.column_mapping import MAPPED_PROTOCOL, mapped_table
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.oracle.delta_schema import (
    ID_KEY,
    PHYSICAL_NAME_KEY,
    Field,
    Struct,
    array,
    assign_column_mapping,
    field,
    map_of,
    map_structs,
    struct,
)

MAPPING: Final = Chapter("column-mapping")

_TURNED: Final = {
    name: other
    for names in (("a", "b", "c"), ("p", "q"), ("u", "v", "w"), ("x", "y", "z"), ("k", "l", "m"))
    for name, other in zip(names, (*names[1:], names[0]), strict=True)
}
"""Logical name to physical name, which is the logical name of another column beside it.

No name occurs twice in a schema: the text of 2025 wants physical names that are unique.
"""


def _turned(columns: Struct) -> Struct:
    """Give every column, nested ones too, an id and the physical name of another column."""
    counter = 0

    def mapped(column: Field) -> Field:
        nonlocal counter
        counter += 1
        metadata = {ID_KEY: counter, PHYSICAL_NAME_KEY: _TURNED.get(column.name, column.name)}
        return replace(column, metadata=metadata, type=map_structs(column.type, turned))

    def turned(of: Struct) -> Struct:
        return Struct(tuple(mapped(each) for each in of))

    return turned(columns)


def _table(
    case: CaseWriter,
    mode: str,
    columns: Struct,
    more: Mapping[str, str] | None = None,
    **options: Any,
) -> GoldenTable:
    properties = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "20"}
    properties |= more or {}
    return GoldenTable.of(
        case, _turned(columns), protocol=MAPPED_PROTOCOL, properties=properties, **options
    )


_FLAT = struct(a="long", b="long", c="long", p="string", q="string")

_FLAT_PROBES: Mapping[str, Filter] = {
    "a": compare("a", "<", 10, "long"),
    "b": all_of(compare("b", ">=", 100, "long"), compare("b", "<", 200, "long")),
    "c": compare("c", ">", 1000, "long"),
    "c-null": is_null("c"),
    "p": compare("p", "=", "left", "string"),
    "q": compare("q", "=", "left", "string"),
}

_BY_NAME: Final = {"name": "CM-030", "id": "CM-026"}
"""Mode to what says by which names partition values and statistics are found."""


def _flat(case: CaseWriter, mode: str, parsed: bool) -> None:
    structs = {"delta.checkpoint.writeStatsAsStruct": "true"}
    more = {**structs, "delta.checkpoint.writeStatsAsJson": "false"} if parsed else {}
    table = _table(case, mode, _FLAT, more, partition_columns=("p", "q"))
    table.create()
    for number, (p, q) in enumerate((("left", "right"), ("right", "left"), (None, "left"))):
        rows: list[dict[str, Any]] = [
            {"a": number, "b": 100 + number, "c": 1000 + number},
            {"a": number + 5, "b": 105 + number, "c": None if number else 1005},
        ]
        table.append(rows, partition={"p": p, "q": q})
    if parsed:
        style = CheckpointStyle(stats_json=False, stats_parsed=True)
        table.checkpoint(version=3, style=style, hint=False)
    publish(case, table, versions=[], log_info={"lastCheckpointVersion": 3} if parsed else None)
    for slug, probe in _FLAT_PROBES.items():
        title = "Another column's bounds skip no file"
        filtered(case, table, f"filter-{slug}", probe, title, requirement=_BY_NAME[mode])
    projected(case, table, "project-b", ["b"], "A column is read by its physical name alone")
    title = "So is a partition column"
    projected(case, table, "project-q", ["q"], title, requirement=_BY_NAME[mode])


_NAMES: Final = ("xyz", "uvw", "klm")


def _inner(names: str) -> Struct:
    return struct(*(field(name, "integer") for name in names))


_DEEP = struct(a=_inner("xyz"), b=array(_inner("uvw")), c=map_of("string", _inner("klm")))


def _deep(case: CaseWriter, mode: str) -> None:
    table = _table(case, mode, _DEEP)
    table.create()
    for n in (0, 10):
        of = {names: dict(zip(names, (n, 100 + n, None), strict=True)) for names in _NAMES}
        row = {"a": of["xyz"], "b": [of["uvw"], None], "c": {"key": of["klm"]}}
        table.append([row])
    publish(case, table, versions=[])
    probes = {
        "a": compare("a.x", "<", 10, "integer"),
        "b": compare("a.y", ">", 105, "integer"),
        "c": is_null("a.z"),
    }
    for slug, probe in probes.items():
        title = "A nested field has bounds of its own"
        filtered(case, table, f"filter-{slug}", probe, title, requirement=_BY_NAME[mode])


_found = {"name": "CM-029 CM-030", "id": "CM-025 CM-026"}
for _mode, _requirements in _found.items():
    for _slug, _parsed in (("", False), ("-parsed-statistics", True)):
        MAPPING.define(
            f"turned-names-{_mode}{_slug}",
            "Names that belong to other columns mislead no lookup",
            _requirements,
            partial(_flat, mode=_mode, parsed=_parsed),
        )
    MAPPING.define(
        f"turned-nested-names-{_mode}",
        "Nested names that belong to other fields mislead no lookup",
        _requirements,
        partial(_deep, mode=_mode),
    )


def _elsewhere(of: Struct) -> Struct:
    """Give the last field of a struct, and of the structs in it, another physical name."""
    *others, last = (replace(each, type=map_structs(each.type, _elsewhere)) for each in of)
    name = f"{last.physical_name}-before"
    return struct(*others, replace(last, metadata={**last.metadata, PHYSICAL_NAME_KEY: name}))


@MAPPING.case("name-missing-id-there", "CM-029 CM-031 CM-032")
def _id_there(case: CaseWriter) -> None:
    """In mode name a column is null where its id alone is in a file."""
    columns = struct(field("id", "long"), field("n", "integer"), field("text", "string"))
    table = mapped_table(case, columns)
    rows = [{"id": n, "n": n * 10, "text": f"earlier {n}"} for n in range(3)]
    written = table.file(rows, written_as=_elsewhere(table.schema), statistics={"numRecords": 3})
    known = tuple({**row, "text": None} for row in rows)
    table.create(add(table.register(DataFile(written.body, known, table.schema))))
    table.append([{"id": 9, "n": 90, "text": "own"}])
    publish(case, table)
    title = "Another column of the file is not what is asked for"
    filtered(case, table, "filter-text", is_null("text"), title, requirement="CM-031")
    projected(case, table, "project-text", ["text"], title, requirement="CM-032")


_PAIRED = struct(field("a", "string"), field("b", "string"))


@MAPPING.case("nested-name-missing-id-there", "CM-029 CM-031 CM-032")
def _nested_id_there(case: CaseWriter) -> None:
    """In mode name a nested field is null where its id alone is in a file."""
    columns = struct(
        field("s", _PAIRED),
        field("l", array(_PAIRED)),
        field("m", map_of("string", _PAIRED)),
        field("id", "long"),
    )
    table = mapped_table(case, columns)
    *nested, number = table.schema
    before = struct(
        *(replace(each, type=map_structs(each.type, _elsewhere)) for each in nested), number
    )

    def rows(b: str | None) -> list[dict[str, Any]]:
        pair = {"a": "in a", "b": b}
        return [{"s": pair, "l": [pair], "m": {"key": pair}, "id": n} for n in (1, 2)]

    written = table.file(rows("earlier"), written_as=before, statistics={"numRecords": 2})
    table.create(add(table.register(DataFile(written.body, tuple(rows(None)), table.schema))))
    table.append(rows("own"))
    publish(case, table)
    title = "Another field of the file is not what is asked for"
    projected(case, table, "project-s", ["s"], title, requirement="CM-032")


@MAPPING.case("physical-names-in-both-cases", "CM-029 CM-030")
def _both_cases(case: CaseWriter) -> None:
    """Physical names that differ by letter case are two, or refused."""
    table = mapped_table(case, struct(a="long", b="string", c="long"))
    table.schema = Struct(
        tuple(
            replace(each, metadata={**each.metadata, PHYSICAL_NAME_KEY: name})
            for each, name in zip(table.schema, ("x", "y", "X"), strict=True)
        )
    )
    table.create(add(table.file([{"a": 1, "b": "one", "c": 10}, {"a": 2, "b": None, "c": 20}])))
    describe(case, table)
    refused = Accepted(
        "refused",
        "names of columns are the same in Delta where the case of letters alone differs",
        refusal=Refusal("invalid_table", "load", "CM-003"),
    )
    for slug, title, asked in (
        ("read-latest", "Each column has its own values", None),
        ("filter", "Each has its own bounds", compare("c", ">", 10, "long")),
    ):
        rows = [row for row in table.rows() if asked is None or asked.keeps(row)]
        own = Accepted("two-names", "protocol: a column has the name that its metadata says", rows)
        parameters = {} if asked is None else {"filter": asked.tree, "predicate": asked.sql}
        case.contest_read(title, table.schema, own, refused, slug=slug, parameters=parameters)


def _generated(case: CaseWriter, mode: str) -> None:
    protocol = feature_protocol(["columnMapping"], ["generatedColumns"])
    table = mapped_table(case, struct(id="long"), mode=mode, protocol=protocol)
    table.create(add(table.file([{"id": 1}])))
    rule = {"delta.generationExpression": "id * 2"}
    table.schema, highest = assign_column_mapping(
        table.schema.with_fields(field("g", "long", metadata=rule)), case.info.id, start=2
    )
    table.properties["delta.columnMapping.maxColumnId"] = str(highest)
    table.commit(table.metadata(), add(table.file([{"id": 2, "g": 4}])), operation="ADD COLUMNS")
    describe(case, table)
    title = "Readers compute no value that a file lacks"
    case.read("read-latest", table.schema, table.rows(), title=title)


for _mode, _judged in (("name", "CM-031"), ("id", "CM-028")):
    MAPPING.define(
        f"generated-absent-{_mode}",
        f"A generated column that a file lacks is null in mode {_mode}",
        f"{_judged} GEN-001",
        partial(_generated, mode=_mode),
        since="2025",
    )
