"""Cases of column mapping: columns found by physical name or id through renames and drops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.publish import describe, earlier_spec, filtered, projected, publish
from generators.golden.cases.table import (
    DataFile,
    GoldenTable,
    add,
    feature_protocol,
    legacy_protocol,
    pairs,
    writer_protocol,
)
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
PLAIN = struct(id="long", name="string", p="string")


def mapped_table(  # noqa: PLR0913  what a mapped table is made of
    case: CaseWriter,
    schema: Struct = PLAIN,
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


def _basic(case: CaseWriter, mode: str, protocol: Mapping[str, Any]) -> None:
    table = mapped_table(case, mode=mode, partition_columns=("p",), protocol=protocol)
    table.create()
    for number, value in enumerate(("x", "y", None)):
        table.append(pairs(10 * number), partition={"p": value})
    table.checkpoint(version=3, style=CheckpointStyle(stats_parsed=True), hint=False)
    table.append(pairs(50), partition={"p": "x"})
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
    table.create(add(table.file(pairs(0), partition={"p": "x"})))
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


@MAPPING.case("mode-on-plain-protocol", "CM-006")
def _plain_protocol(case: CaseWriter) -> None:
    """A mapping mode under version 1 has no effect."""
    table = mapped_table(case, protocol=legacy_protocol(1, 2))
    file = table.file(pairs(0), written_as=unmapped(table.schema))
    table.create(add(table.register(DataFile(file.body, file.rows, table.schema))))
    publish(case, table)


@MAPPING.case("unknown-mode", "CM-005 CM-023")
def _unknown_mode(case: CaseWriter) -> None:
    """An unknown mapping mode is refused, or the columns are mapped."""
    table = mapped_table(case, mode="foo")
    table.create(add(table.file(pairs(0))))
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "CM-005", code="DELTA_MODE_NOT_SUPPORTED")
    case.contest_read(
        "By display names is for mode none and no mode alone",
        table.schema,
        Accepted("refused", "protocol: the mode is one of none, id and name", refusal=refusal),
        Accepted("mapped", "the mode is not none, and the columns are mapped", rows=table.rows()),
    )


@MAPPING.case("physical-name-missing", "CM-001 CM-029 CM-031")
def _no_physical(case: CaseWriter) -> None:
    """A new column without physical name is null, or refused."""
    table = mapped_table(case)
    table.create(add(table.file(pairs(0))))
    describe(case, table)
    table.schema = table.schema.with_fields(field("bare", "long"))
    table.commit(table.metadata())
    # No file has the column by any name. A reader may still show the schema of the table.
    refused = Accepted(
        "refused",
        "a column is found by its physical name, and this one has none",
        refusal=Refusal("invalid_table", "load", "CM-029"),
    )
    null = Accepted("null", "a column that no file has is null", rows=table.rows())
    case.contest_read("The new column has no mapping", table.schema, refused, null)
    earlier_spec(case, table, 0)


@MAPPING.case("physical-name-twice", "CM-003")
def _twice(case: CaseWriter) -> None:
    """Two columns of one physical name are contradictory."""
    table = mapped_table(case)
    table.create(add(table.file(pairs(0))))
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


@MAPPING.case("upgraded-table", "CM-010 CM-014 CM-024 CM-029 CM-023")
def _upgraded(case: CaseWriter) -> None:
    """Files from before the mapping keep their names."""
    table = GoldenTable.created(case, PLAIN, pairs(0))
    table.protocol = dict(MAPPED_PROTOCOL)
    table.schema = Struct(
        tuple(
            replace(each, metadata={ID_KEY: number, PHYSICAL_NAME_KEY: each.name})
            for number, each in enumerate(PLAIN, start=1)
        )
    )
    table.properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    table.commit(table.protocol_action(), table.metadata(), operation="SET TBLPROPERTIES")
    table.schema = renamed(table.schema, {"name": "title"})
    table.commit(table.metadata(), operation="RENAME COLUMN")
    table.append([{"id": 5, "title": "t"}])
    case.judged |= dict.fromkeys(("filter-title", "project-title", "read-v2"), "CM-023")
    publish(case, table)
    title = "The mode of before says nothing"
    filtered(case, table, "filter-title", compare("title", "=", "n1", "string"), title)
    projected(case, table, "project-title", ["title"], title)


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
    table.create(add(table.file(pairs(0))))
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "TF-018")
    case.contest_read(
        "The mapping is honoured, refused or unknown to the reader",
        table.schema,
        Accepted("mapped", "Spark honours the mode all the same", rows=table.rows()),
        Accepted("refused", "a reader-writer feature is in both lists", refusal=refusal),
        Accepted("by-name", "the mode is not honoured for readers", rows=[{}, {}]),
    )
