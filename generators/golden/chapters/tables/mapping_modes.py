"""Cases of what finds a column in each mapping mode: files whose names, ids or both are others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.publish import (
    aggregated,
    describe,
    filtered,
    projected,
    publish,
    read_spec,
)
from generators.golden.cases.table import DataFile, GoldenTable, add, pairs
from generators.golden.chapters.tables.column_mapping import (
    MAPPED_PROTOCOL,
    PLAIN,
    mapped_table,
    unmapped,
)
from generators.materialise.data.data_files import FileLayout
from generators.oracle.delta_schema import (
    ID_KEY,
    PHYSICAL_NAME_KEY,
    Field,
    Struct,
    array,
    map_of,
    map_structs,
    struct,
)

MODES = Chapter("column-mapping")


@MODES.case("name-mode-without-ids", "CM-032 CM-029")
def _without_ids(case: CaseWriter) -> None:
    """In mode name files need no field ids."""
    table = mapped_table(case)
    table.create(add(table.file(pairs(0), layout=FileLayout(field_ids=False))))
    publish(case, table)


def _with_ids(schema: Struct, ids: Mapping[str, int]) -> Struct:
    return Struct(
        tuple(replace(each, metadata={**each.metadata, ID_KEY: ids[each.name]}) for each in schema)
    )


@MODES.case("name-mode-wrong-ids", "CM-032")
def _wrong_ids(case: CaseWriter) -> None:
    """In mode name the ids of a file play no part."""
    table = mapped_table(case, struct(a="string", b="string"))
    wrong = _with_ids(table.schema, {"a": 2, "b": 1})
    table.create(add(table.file([{"a": "in a", "b": "in b"}], written_as=wrong)))
    publish(case, table)


@MODES.case("id-mode-names-swapped", "CM-025")
def _swapped_names(case: CaseWriter) -> None:
    """In mode id the names in a file play no part."""
    table = mapped_table(case, struct(a="string", b="string"), mode="id")
    a, b = table.schema
    crossed = struct(
        replace(a, metadata={**a.metadata, PHYSICAL_NAME_KEY: b.physical_name}),
        replace(b, metadata={**b.metadata, PHYSICAL_NAME_KEY: a.physical_name}),
    )
    rows: list[dict[str, Any]] = [{"a": "in a", "b": "in b"}, {"a": None, "b": "x"}]
    written = table.file(rows, written_as=crossed, statistics=False)
    # The file was written under crossed names; by id its columns are the table's own.
    table.create(add(table.register(DataFile(written.body, written.rows, table.schema))))
    publish(case, table)
    title = "Whatever is asked, the names in a file play no part"
    projected(case, table, "project-a", ["a"], title)
    filtered(case, table, "filter-b", compare("b", "=", "x", "string"), title)
    filtered(case, table, "filter-null", is_null("a"), title)
    aggregated(case, table, "aggregate", ["a", "b"], title, requirement="CM-025")


_PAIRED = struct(
    id="long",
    s=struct(a="string", b="string"),
    l=array(struct(a="string", b="string")),
    m=map_of("string", struct(a="string", b="string")),
    k=map_of(struct(a="string", b="string"), "long"),
    ll=array(array(struct(a="string", b="string"))),
    ss=struct(a=struct(a="string", b="string"), b=struct(a="string", b="string")),
)
_PAIRED_ROWS: list[dict[str, Any]] = [
    {"id": 1, "s": {"a": "in a", "b": "in b"}, "l": [{"a": "first", "b": None}]},
    {"id": 2, "s": {"a": None, "b": "x"}, "m": {"key": {"a": None, "b": "last"}}},
    {"id": 3, "k": [({"a": "key a", "b": "key b"}, 1)], "ll": [[{"a": "deep a", "b": "deep b"}]]},
    {"id": 4, "ss": {"a": {"a": "a.a", "b": "a.b"}, "b": {"a": "b.a", "b": None}}},
]


def _crossed_inside(schema: Struct, key: str) -> Struct:
    """Give nested fields what their sibling has under a key of column mapping."""

    def crossed(of: Struct) -> Struct:
        first, second = (replace(each, type=map_structs(each.type, crossed)) for each in of)
        ours, theirs = first.metadata[key], second.metadata[key]
        return struct(
            replace(first, metadata={**first.metadata, key: theirs}),
            replace(second, metadata={**second.metadata, key: ours}),
        )

    return Struct(tuple(replace(each, type=map_structs(each.type, crossed)) for each in schema))


def _crossed(case: CaseWriter, mode: str, key: str) -> None:
    table = mapped_table(case, _PAIRED, mode=mode)
    other = _crossed_inside(table.schema, key)
    written = table.file(_PAIRED_ROWS, written_as=other, statistics=False)
    table.create(add(table.register(DataFile(written.body, written.rows, table.schema))))
    publish(case, table)


@MODES.case("id-mode-nested-names-swapped", "CM-025")
def _swapped_inside(case: CaseWriter) -> None:
    """In mode id the names of nested fields play no part."""
    _crossed(case, "id", PHYSICAL_NAME_KEY)


@MODES.case("name-mode-nested-wrong-ids", "CM-032")
def _wrong_ids_inside(case: CaseWriter) -> None:
    """In mode name the ids of nested fields play no part."""
    _crossed(case, "name", ID_KEY)


@MODES.case("id-mode-missing-id-name-taken", "CM-028")
def _name_taken(case: CaseWriter) -> None:
    """In mode id a column whose id is absent is null, whatever has its name."""
    table = mapped_table(case, struct(id="long", name="string"), mode="id")
    number, name = table.schema
    before = struct(number, replace(name, metadata={**name.metadata, ID_KEY: 3}))
    table.properties["delta.columnMapping.maxColumnId"] = "3"
    written = table.file([{"id": 1, "name": "of a column of before"}], written_as=before)
    file = table.register(DataFile(written.body, ({"id": 1, "name": None},), table.schema))
    table.create(add(file), add(table.file([{"id": 2, "name": "b"}])))
    publish(case, table)


@MODES.case("id-mode-without-ids", "CM-027")
def _id_without(case: CaseWriter) -> None:
    """In mode id a file without ids gives nulls or is refused."""
    table = mapped_table(case, mode="id")
    table.create(add(table.file(pairs(0), layout=FileLayout(field_ids=False))))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "CM-027")
    case.contest_read(
        "The columns are null, or the file is refused",
        table.schema,
        Accepted("nulls", "protocol: null for each column", rows=[{}, {}]),
        Accepted("refused", "protocol: or refuse the file", refusal=refusal),
    )


@MODES.case("id-mode-without-ids-later", "CM-027 CM-025")
def _id_without_later(case: CaseWriter) -> None:
    """A file without ids in mode id, beside others, gives nulls or fails."""
    inner = struct(x="long")
    table = mapped_table(case, struct(id="long", s=inner, a=array(inner)), mode="id")
    first = {"id": 1, "s": {"x": 10}, "a": [{"x": 100}]}
    table.create(add(table.file([first])))
    bare = FileLayout(field_ids=False)
    lost = table.file([{"id": 2, "s": {"x": 20}, "a": []}], layout=bare)
    table.commit(add(lost))
    row = {"id": 3, "s": {"x": 30}, "a": [{"x": 300}]}
    named = unmapped(table.schema)
    plain = table.file([row], layout=bare, written_as=named, statistics=False)
    table.commit(add(plain))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "CM-027")
    case.contest_read(
        "The columns are null, or the file is refused",
        table.schema,
        Accepted("nulls", "protocol: null for each column", rows=[first, {}, {}]),
        Accepted("refused", "protocol: or refuse the file", refusal=refusal),
    )
    read_spec(case, table, 0, requirement="CM-025")


@MODES.case("id-mode-missing-id", "CM-028")
def _missing_id(case: CaseWriter) -> None:
    """In mode id a column whose id is absent is null."""
    table = mapped_table(case, mode="id")
    layout = FileLayout(omit=frozenset({"name"}))
    table.create(add(table.file(pairs(0), layout=layout)), add(table.file(pairs(10))))
    publish(case, table)


@MODES.case("mode-none-with-annotations", "CM-024 CM-023")
def _annotations(case: CaseWriter) -> None:
    """Left-over annotations mean nothing in mode none, nor without a mode."""
    table = mapped_table(case, mode="none")
    files = [table.file(pairs(10 * n), written_as=unmapped(table.schema)) for n in range(2)]
    first, second = (table.register(DataFile(f.body, f.rows, table.schema)) for f in files)
    table.create(add(first))
    del table.properties["delta.columnMapping.mode"]
    table.commit(table.metadata(), add(second))
    publish(case, table, versions=[])


@MODES.case("mode-none-wrong-ids", "CM-024 CM-023")
def _none_wrong_ids(case: CaseWriter) -> None:
    """In mode none the ids of a file play no part."""
    table = mapped_table(case, struct(a="string", b="string"), mode="none")
    wrong = struct(
        *(
            Field(each.name, each.type, metadata={PHYSICAL_NAME_KEY: each.name, ID_KEY: number})
            for number, each in zip((2, 1), table.schema, strict=True)
        )
    )
    file = table.file([{"a": "in a", "b": "in b"}], written_as=wrong)
    table.create(add(table.register(DataFile(file.body, file.rows, table.schema))))
    publish(case, table)


@MODES.case("mode-none-other-order", "CM-024")
def _other_order(case: CaseWriter) -> None:
    """In mode none a column is found by its name alone."""
    properties = {"delta.columnMapping.mode": "none"}
    table = GoldenTable.created(case, PLAIN, protocol=MAPPED_PROTOCOL, properties=properties)
    for number, fields in enumerate(([*PLAIN], [*PLAIN][::-1])):
        file = table.file(pairs(number), written_as=struct(*fields))
        table.commit(add(table.register(DataFile(file.body, file.rows, table.schema))))
    publish(case, table)
