"""Cases of column mapping: columns found by physical name or id through renames and drops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.publish import (
    aggregated,
    describe,
    earlier_spec,
    filtered,
    projected,
    publish,
    read_spec,
)
from generators.golden.cases.table import (
    DataFile,
    GoldenTable,
    add,
    feature_protocol,
    legacy_protocol,
    writer_protocol,
)
from generators.materialise.data.data_files import FileLayout
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
    mapped_by,
    struct,
)

MAPPING = Chapter("column-mapping")

MAPPED_PROTOCOL = legacy_protocol(2, 5)
_FEATURE_PROTOCOL = feature_protocol(["columnMapping"])
_PLAIN = struct(id="long", name="string", p="string")


def mapped_table(  # noqa: PLR0913  what a mapped table is made of
    case: CaseWriter,
    schema: Struct = _PLAIN,
    *,
    mode: str = "name",
    partition_columns: tuple[str, ...] = (),
    protocol: Mapping[str, Any] = MAPPED_PROTOCOL,
    properties: Mapping[str, str] | None = None,
) -> GoldenTable:
    """Return a table with column mapping whose physical names differ from the logical ones."""
    mapped, mapping = mapped_by(mode, schema, case.info.id)
    return GoldenTable.of(
        case,
        mapped,
        partition_columns=partition_columns,
        protocol=protocol,
        properties={**mapping, **(properties or {})},
    )


def unmapped(schema: Struct) -> Struct:
    """Return a schema without the ids and physical names of its top-level columns."""
    return struct(*(Field(each.name, each.type) for each in schema))


def renamed(schema: Struct, names: Mapping[str, str]) -> Struct:
    """Return a schema with other display names; ids and physical names stay."""
    return Struct(tuple(replace(each, name=names.get(each.name, each.name)) for each in schema))


def _rows(start: int, count: int = 2) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"n{n}"} for n in range(start, start + count)]


def _basic(case: CaseWriter, mode: str, protocol: Mapping[str, Any]) -> None:
    table = mapped_table(case, mode=mode, partition_columns=("p",), protocol=protocol)
    table.create()
    for number, value in enumerate(("x", "y", None)):
        table.append(_rows(10 * number), partition={"p": value})
    table.checkpoint(version=3, style=CheckpointStyle(stats_parsed=True), hint=False)
    table.append(_rows(50), partition={"p": "x"})
    if "RVER-001" in case.info.requirements:
        case.judged["project-name"] = "RVER-001"
    publish(case, table, log_info={"lastCheckpointVersion": 3})
    probes = {
        "partition": compare("p", "=", "x", "string"),
        "partition-null": is_null("p"),
        "data": compare("id", ">", 10, "long"),
        "text": compare("name", "=", "n1", "string"),
    }
    by_name = "CM-026" if mode == "id" else "CM-030"
    for slug, probe in probes.items():
        title = "Statistics are found by physical name"
        filtered(case, table, f"filter-{slug}", probe, title, requirement=by_name)
    projected(case, table, "project-name", ["name"], "A mapped column is read alone")
    title = "So is a mapped partition column"
    projected(case, table, "project-partition", ["p"], title, requirement=by_name)


@MAPPING.case("name-mode", "CM-029 CM-030 CM-016 CM-017 CM-020 RVER-001 CKSCH-012 CKSCH-013")
def _name_mode(case: CaseWriter) -> None:
    """In mode name columns are found by physical name."""
    _basic(case, "name", MAPPED_PROTOCOL)


@MAPPING.case("id-mode", "CM-025 CM-026 CM-015 RVER-001 CKSCH-012 CKSCH-013")
def _id_mode(case: CaseWriter) -> None:
    """In mode id columns are found by field id."""
    _basic(case, "id", MAPPED_PROTOCOL)


@MAPPING.case("name-mode-feature", "CM-006 CM-029 PROTO-012", since="2025")
def _name_feature(case: CaseWriter) -> None:
    """Mode name works as a table feature."""
    _basic(case, "name", _FEATURE_PROTOCOL)


@MAPPING.case("id-mode-feature", "CM-006 CM-025", since="2025")
def _id_feature(case: CaseWriter) -> None:
    """Mode id works as a table feature."""
    _basic(case, "id", _FEATURE_PROTOCOL)


@MAPPING.case("two-seven", "CM-029 PROTO-011 PROTO-012 CM-006 RVER-001", since="2025")
def _two_seven(case: CaseWriter) -> None:
    """Reader version 2 with writer version 7 carries the mapping."""
    _basic(case, "name", writer_protocol(["columnMapping"], 2))


def _renames(case: CaseWriter, mode: str) -> None:
    table = mapped_table(case, mode=mode, partition_columns=("p",))
    table.create(add(table.file(_rows(0), partition={"p": "x"})))
    table.schema = renamed(table.schema, {"name": "label", "p": "part"})
    table.partition_columns = ("part",)
    table.commit(table.metadata(), operation="RENAME COLUMN")
    table.append([{"id": 9, "label": "new"}], partition={"part": "y"})
    table.schema = renamed(table.schema, {"label": "id", "id": "name"})
    table.commit(table.metadata(), operation="RENAME COLUMN")
    publish(case, table)
    kept = compare("part", "=", "x", "string")
    by_name = "CM-026" if mode == "id" else "CM-030"
    title = "A renamed partition column is filtered"
    filtered(case, table, "filter-partition", kept, title, requirement=by_name)
    swapped = compare("id", "=", "n1", "string")
    filtered(case, table, "filter-swapped", swapped, "A name that moved means its new column")


@MAPPING.case("renamed-name-mode", "CM-008 CM-014 CM-029 CM-030")
def _renamed_name(case: CaseWriter) -> None:
    """Renamed and swapped columns keep their data by name."""
    _renames(case, "name")


@MAPPING.case("renamed-id-mode", "CM-008 CM-014 CM-025 CM-026")
def _renamed_id(case: CaseWriter) -> None:
    """Renamed and swapped columns keep their data by id."""
    _renames(case, "id")


def _re_added(case: CaseWriter, mode: str) -> None:
    table = mapped_table(case, struct(id="long", c="string"), mode=mode)
    table.create(add(table.file([{"id": 1, "c": "old"}])))
    table.schema = table.schema.without("c")
    table.commit(table.metadata(), operation="DROP COLUMN")
    table.append([{"id": 2}])
    grown, highest = assign_column_mapping(
        table.schema.with_fields(field("c", "integer")), case.info.id, start=3
    )
    table.schema = grown
    table.properties["delta.columnMapping.maxColumnId"] = str(highest)
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.append([{"id": 3, "c": 7}])
    publish(case, table)
    filtered(case, table, "filter-null", is_null("c"), "The old data does not come back")


@MAPPING.case("dropped-and-re-added-name", "CM-018 CM-019 CM-031 CM-008")
def _re_added_name(case: CaseWriter) -> None:
    """A re-added column does not get dropped data by name."""
    _re_added(case, "name")


@MAPPING.case("dropped-and-re-added-id", "CM-018 CM-019 CM-028 CM-008")
def _re_added_id(case: CaseWriter) -> None:
    """A re-added column does not get dropped data by id."""
    _re_added(case, "id")


_DEEP = struct(
    id="long",
    s=struct(a="integer", b=struct(c="string")),
    l=array(struct(x="integer", y="string")),
    m=map_of("string", struct(k="double")),
)
_DEEP_ROW = {
    "id": 1,
    "s": {"a": 1, "b": {"c": "deep"}},
    "l": [{"x": 1, "y": "one"}, None],
    "m": {"key": {"k": 0.5}},
}


def _renamed_deep(schema: Struct) -> Struct:
    """Rename every nested field by adding an underscore."""

    def turned(column: Field) -> Field:
        return replace(column, name=f"{column.name}_", type=inner(column.type))

    def inner(kind: Any) -> Any:
        match kind:
            case Struct(fields):
                return Struct(tuple(turned(each) for each in fields))
            case _ if hasattr(kind, "element"):
                return replace(kind, element=inner(kind.element))
            case _ if hasattr(kind, "value"):
                return replace(kind, value=inner(kind.value))
            case _:
                return kind

    return Struct(tuple(turned(each) for each in schema))


def _nested(case: CaseWriter, mode: str) -> None:
    table = mapped_table(case, _DEEP, mode=mode)
    table.create(add(table.file([_DEEP_ROW, {"id": 2}])))
    table.schema = _renamed_deep(table.schema)
    table.commit(table.metadata(), operation="RENAME COLUMN")
    publish(case, table)
    kept = compare("s_.b_.c_", "=", "deep", "string")
    filtered(case, table, "filter-deep", kept, "A renamed nested leaf is filtered")


@MAPPING.case("nested-renamed-name", "CM-001 CM-029")
def _nested_name(case: CaseWriter) -> None:
    """Nested fields are found by physical name."""
    _nested(case, "name")


@MAPPING.case("nested-renamed-id", "CM-002 CM-025")
def _nested_id(case: CaseWriter) -> None:
    """Nested fields are found by field id."""
    _nested(case, "id")


@MAPPING.case("name-mode-without-ids", "CM-032 CM-029")
def _without_ids(case: CaseWriter) -> None:
    """In mode name files need no field ids."""
    table = mapped_table(case)
    table.create(add(table.file(_rows(0), layout=FileLayout(field_ids=False))))
    publish(case, table)


def _with_ids(schema: Struct, ids: Mapping[str, int]) -> Struct:
    return Struct(
        tuple(replace(each, metadata={**each.metadata, ID_KEY: ids[each.name]}) for each in schema)
    )


@MAPPING.case("name-mode-wrong-ids", "CM-032")
def _wrong_ids(case: CaseWriter) -> None:
    """In mode name the ids of a file play no part."""
    table = mapped_table(case, struct(a="string", b="string"))
    wrong = _with_ids(table.schema, {"a": 2, "b": 1})
    table.create(add(table.file([{"a": "in a", "b": "in b"}], written_as=wrong)))
    publish(case, table)


@MAPPING.case("id-mode-names-swapped", "CM-025")
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


@MAPPING.case("id-mode-nested-names-swapped", "CM-025")
def _swapped_inside(case: CaseWriter) -> None:
    """In mode id the names of nested fields play no part."""
    _crossed(case, "id", PHYSICAL_NAME_KEY)


@MAPPING.case("name-mode-nested-wrong-ids", "CM-032")
def _wrong_ids_inside(case: CaseWriter) -> None:
    """In mode name the ids of nested fields play no part."""
    _crossed(case, "name", ID_KEY)


@MAPPING.case("id-mode-missing-id-name-taken", "CM-028")
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


@MAPPING.case("id-mode-without-ids", "CM-027")
def _id_without(case: CaseWriter) -> None:
    """In mode id a file without ids gives nulls or is refused."""
    table = mapped_table(case, mode="id")
    table.create(add(table.file(_rows(0), layout=FileLayout(field_ids=False))))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "CM-027")
    case.contest_read(
        "The columns are null, or the file is refused",
        table.schema,
        Accepted("nulls", "protocol: null for each column", rows=[{}, {}]),
        Accepted("refused", "protocol: or refuse the file", refusal=refusal),
    )


@MAPPING.case("id-mode-without-ids-later", "CM-027 CM-025")
def _id_without_later(case: CaseWriter) -> None:
    """A file without ids in mode id, beside others, gives nulls or fails."""
    inner = struct(x="long")
    table = mapped_table(case, struct(id="long", s=inner, a=array(inner)), mode="id")
    first = {"id": 1, "s": {"x": 10}, "a": [{"x": 100}]}
    table.create(add(table.file([first])))
    lost = table.file([{"id": 2, "s": {"x": 20}, "a": []}], layout=FileLayout(field_ids=False))
    table.commit(add(lost))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "CM-027")
    case.contest_read(
        "The columns are null, or the file is refused",
        table.schema,
        Accepted("nulls", "protocol: null for each column", rows=[first, {}]),
        Accepted("refused", "protocol: or refuse the file", refusal=refusal),
    )
    read_spec(case, table, 0, requirement="CM-025")


@MAPPING.case("id-mode-missing-id", "CM-028")
def _missing_id(case: CaseWriter) -> None:
    """In mode id a column whose id is absent is null."""
    table = mapped_table(case, mode="id")
    layout = FileLayout(omit=frozenset({"name"}))
    table.create(add(table.file(_rows(0), layout=layout)), add(table.file(_rows(10))))
    publish(case, table)


@MAPPING.case("mode-none-with-annotations", "CM-024 CM-023")
def _annotations(case: CaseWriter) -> None:
    """Left-over annotations mean nothing in mode none, nor without a mode."""
    table = mapped_table(case, mode="none")
    files = [table.file(_rows(10 * n), written_as=unmapped(table.schema)) for n in range(2)]
    first, second = (table.register(DataFile(f.body, f.rows, table.schema)) for f in files)
    table.create(add(first))
    del table.properties["delta.columnMapping.mode"]
    table.commit(table.metadata(), add(second))
    publish(case, table, versions=[])


@MAPPING.case("mode-none-wrong-ids", "CM-024 CM-023")
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


@MAPPING.case("mode-none-other-order", "CM-024")
def _other_order(case: CaseWriter) -> None:
    """In mode none a column is found by its name alone."""
    properties = {"delta.columnMapping.mode": "none"}
    table = GoldenTable.created(case, _PLAIN, protocol=MAPPED_PROTOCOL, properties=properties)
    for number, fields in enumerate(([*_PLAIN], [*_PLAIN][::-1])):
        file = table.file(_rows(number), written_as=struct(*fields))
        table.commit(add(table.register(DataFile(file.body, file.rows, table.schema))))
    publish(case, table)


@MAPPING.case("mode-on-plain-protocol", "CM-006")
def _plain_protocol(case: CaseWriter) -> None:
    """A mapping mode under version 1 has no effect."""
    table = mapped_table(case, protocol=legacy_protocol(1, 2))
    file = table.file(_rows(0), written_as=unmapped(table.schema))
    table.create(add(table.register(DataFile(file.body, file.rows, table.schema))))
    publish(case, table)


@MAPPING.case("unknown-mode", "CM-005 CM-023")
def _unknown_mode(case: CaseWriter) -> None:
    """An unknown mapping mode is refused, or the columns are mapped."""
    table = mapped_table(case, mode="foo")
    table.create(add(table.file(_rows(0))))
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "CM-005", code="DELTA_MODE_NOT_SUPPORTED")
    case.contest_read(
        "By display names is for mode none and no mode alone",
        table.schema,
        Accepted("refused", "protocol: the mode is one of none, id and name", refusal=refusal),
        Accepted("mapped", "the mode is not none, and the columns are mapped", rows=table.rows()),
    )


@MAPPING.case("physical-name-missing", "CM-001")
def _no_physical(case: CaseWriter) -> None:
    """A mapped column without physical name is refused."""
    table = mapped_table(case)
    table.create(add(table.file(_rows(0))))
    describe(case, table)
    table.schema = table.schema.with_fields(field("bare", "long"))
    table.commit(table.metadata())
    # A reader may still open the table and show its schema.
    refusal = Refusal("invalid_table", "load", "CM-029")
    case.refuse("read", "read-latest", refusal, title="The new column has no mapping")
    earlier_spec(case, table, 0)


@MAPPING.case("physical-name-twice", "CM-003")
def _twice(case: CaseWriter) -> None:
    """Two columns of one physical name are contradictory."""
    table = mapped_table(case)
    table.create(add(table.file(_rows(0))))
    describe(case, table)
    first, second, *rest = table.schema
    clash = {**second.metadata, PHYSICAL_NAME_KEY: first.physical_name}
    table.schema = struct(first, replace(second, metadata=clash), *rest)
    table.commit(table.metadata())
    refused = Accepted(
        "refused",
        "one column of a file cannot be two of the table",
        refusal=Refusal("invalid_table", "load", "CM-003"),
    )
    # Which of the two columns has the values, or whether both have, is unknown.
    case.contest_read("Physical names are unique", table.schema, refused, open=True)
    earlier_spec(case, table, 0)


@MAPPING.case("odd-names", "CM-009")
def _odd_names(case: CaseWriter) -> None:
    """With mapping a name may have any character."""
    names = ("a b", "c,d;e", "{f}(g)", "h=i", "tab\there", "\u65e5\u672c", "dot.ted", "`x`")
    table = mapped_table(case, struct(*(field(name, "integer") for name in names)))
    table.create(add(table.file([{name: n for n, name in enumerate(names)}, {}])))
    publish(case, table)
    projected(case, table, "project-odd", ["a b", "h=i"], "Odd names can be projected")


@MAPPING.case("upgraded-table", "CM-010 CM-014 CM-024 CM-029")
def _upgraded(case: CaseWriter) -> None:
    """Files from before the mapping keep their names."""
    table = GoldenTable.created(case, _PLAIN, _rows(0))
    table.protocol = dict(MAPPED_PROTOCOL)
    table.schema = Struct(
        tuple(
            replace(each, metadata={ID_KEY: number, PHYSICAL_NAME_KEY: each.name})
            for number, each in enumerate(_PLAIN, start=1)
        )
    )
    table.properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    table.commit(table.protocol_action(), table.metadata(), operation="SET TBLPROPERTIES")
    table.schema = renamed(table.schema, {"name": "title"})
    table.commit(table.metadata(), operation="RENAME COLUMN")
    table.append([{"id": 5, "title": "t"}])
    publish(case, table)


def _upgraded_and_re_added(case: CaseWriter, *, within: bool) -> None:
    held = struct(c="string", d="long")
    columns = struct(id="long", s=held) if within else struct(field("id", "long"), *held)

    def row(number: int, c: str | None, d: int) -> dict[str, Any]:
        values = {"c": c, "d": d}
        return {"id": number, "s": values} if within else {"id": number, **values}

    def changed(change: Callable[[Struct], Struct]) -> Struct:
        """Change the struct that holds the column."""
        if not within:
            return change(table.schema)
        return Struct(
            tuple(replace(each, type=map_structs(each.type, change)) for each in table.schema)
        )

    table = GoldenTable.created(case, columns, [row(1, "old", 5), row(2, None, 6)])
    table.protocol = dict(MAPPED_PROTOCOL)
    table.schema, highest = assign_column_mapping(columns, case.info.id, keep_names=True)
    table.properties = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": str(highest),
    }
    table.commit(table.protocol_action(), table.metadata(), operation="SET TBLPROPERTIES")
    table.schema = changed(lambda of: of.without("c"))
    table.commit(table.metadata(), operation="DROP COLUMN")
    table.schema, highest = assign_column_mapping(
        changed(lambda of: of.with_fields(field("c", "string"))), case.info.id, start=highest + 1
    )
    table.properties["delta.columnMapping.maxColumnId"] = str(highest)
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.append([row(3, "new", 7)])
    name = "s" if within else "c"
    if within:
        case.judged |= dict.fromkeys(("read-latest", "filter-null"), "CM-031")
    publish(case, table)
    probe = is_null("s.c" if within else "c")
    filtered(case, table, "filter-null", probe, "The old data does not come back")
    projected(case, table, f"project-{name}", [name], "Nor where its column alone is read")


for _slug, _within in (("upgraded-and-re-added", False), ("upgraded-and-re-added-within", True)):
    MAPPING.define(
        _slug,
        "A re-added column gets nothing of files from before the mapping",
        "CM-018 CM-019 CM-031 CM-008",
        partial(_upgraded_and_re_added, within=_within),
    )


@MAPPING.case(
    "feature-for-writers-only", "TF-018 CM-006", since="2025", features=("columnMapping",)
)
def _writers_only(case: CaseWriter) -> None:
    """The feature listed for writers alone is contested."""
    table = mapped_table(case, protocol={**_FEATURE_PROTOCOL, "readerFeatures": []})
    table.create(add(table.file(_rows(0))))
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "TF-018")
    case.contest_read(
        "The mapping is honoured, refused or unknown to the reader",
        table.schema,
        Accepted("mapped", "Spark honours the mode all the same", rows=table.rows()),
        Accepted("refused", "a reader-writer feature is in both lists", refusal=refusal),
        Accepted("by-name", "the mode is not honoured for readers", rows=[{}, {}]),
    )
