"""Cases of change feeds over a range in which the schema changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import (
    FEED,
    ask_changes,
    change_file,
    contest_changes,
    each_row,
    feed_table,
)
from generators.golden.cases.publish import commit_times, describe, publish_timed
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import (
    DataFile,
    GoldenTable,
    add,
    feature_protocol,
    legacy_protocol,
    pairs,
    remove,
)
from generators.golden.chapters.tables.column_mapping import mapped_table, renamed
from generators.oracle.delta_schema import array, field, map_of, mapped_by, struct

SCHEMAS = Chapter("add-cdc-file")

_SCHEMAS = (
    "the rows have the schema of the last version of the range",
    "an engine that reads a range in one schema only",
)


def _replaced(
    case: CaseWriter,
    table: GoldenTable,
    files: tuple[DataFile, DataFile],
    past: Sequence[Mapping[str, Any]],
    titles: tuple[str, str],
) -> None:
    """Replace the file of one schema by that of the next, and ask for both schemas and the last.

    Args:
        case: the case.
        table: version 0 has the old file, version 1 the new schema.
        files: the old one and the new one.
        past: rows of the old file in the new schema.
        titles: of the contested question over both schemas, and of that over the last.
    """
    old, new = files
    table.commit(remove(old), add(new))
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, past),
        *each_row("delete", 2, past),
        *each_row("insert", 2, new.rows),
    ]
    contest_changes(case, table, 0, changes, _SCHEMAS, titles[0])
    ask_changes(case, table, "changes-1-2", 1, 2, changes, titles[1])


def _more(
    case: CaseWriter, table: GoldenTable, old: DataFile, row: dict[str, Any], **options: Any
) -> None:
    """Add a column to a table of one file, and put a row of it in the place of the file.

    ``options`` say how the file of the row is written.
    """
    table.create(add(old))
    table.schema = table.schema.with_fields(field("more", "integer"))
    table.commit(table.metadata(), operation="ADD COLUMNS")
    _replaced(
        case,
        table,
        (old, table.file([{**row, "more": 7}], **options)),
        [{**row, "more": None} for row in old.rows],
        ("It is null in older changes, or refused", "A range with one schema is read"),
    )


@SCHEMAS.case("column-added-in-range", "CDC-004 CDC-014", since="2025")
def _added(case: CaseWriter) -> None:
    """A range over an added column is contested."""
    table = feed_table(case)
    _more(case, table, table.file(pairs(0)), {"id": 10, "name": "n10"})


@SCHEMAS.case("column-added-beside-partitions", "CDC-004 CDC-014", since="2025")
def _added_beside_partitions(case: CaseWriter) -> None:
    """A range over a column added to a partitioned table is contested."""
    table = feed_table(case, partition_columns=("name",))
    old = table.file([{"id": 1}, {"id": 2}], partition={"name": None})
    _more(case, table, old, {"id": 10}, partition={"name": "n10"})


@SCHEMAS.case("column-added-beside-nested", "CDC-004 CDC-014", since="2025")
def _added_beside_nested(case: CaseWriter) -> None:
    """A range over a column that is added beside nested ones is contested."""
    inner = struct(field("a", "long", nullable=False), field("b", "string"))
    schema = struct(
        field("id", "long", nullable=False),
        field("s", inner),
        field("l", array(inner, contains_null=False)),
        field("m", map_of("string", inner, value_contains_null=False)),
    )
    table = feed_table(case, schema)
    one = {"a": 1, "b": None}
    old = table.file(
        [
            {"id": 1, "s": one, "l": [one, {"a": 2, "b": "x"}], "m": {"k": one}},
            {"id": 2, "s": None, "l": None, "m": {}},
        ]
    )
    _more(case, table, old, {"id": 3, "s": one, "l": [], "m": None})


@SCHEMAS.case("column-renamed-in-range", "CDC-004", since="2025")
def _renamed(case: CaseWriter) -> None:
    """A range over a renamed column is contested."""
    schema, mapping = mapped_by("name", PAIR, case.info.id)
    properties = {**FEED, **mapping}
    table = feed_table(case, schema, protocol=legacy_protocol(2, 5), properties=properties)
    old = table.create_with(pairs(0))
    table.schema = renamed(schema, {"name": "title"})
    table.commit(table.metadata(), operation="RENAME COLUMN")
    new = table.file([{"id": 10, "title": "n10"}])
    _replaced(
        case,
        table,
        (old, new),
        [{"id": row["id"], "title": row["name"]} for row in old.rows],
        ("Older changes have the new name, or none", "A range after the renaming is read"),
    )


def _mapped_partitions(case: CaseWriter, mode: str) -> None:
    schema = struct(id="long", p="string", q="integer")
    table = mapped_table(case, schema, mode=mode, partition_columns=("p", "q"), properties=FEED)
    first = table.create_with([{"id": 1}, {"id": 2}], partition={"p": "a", "q": 7})
    kept = table.file([{"id": 1}], partition={"p": "a", "q": 7})
    cdc = change_file(table, [{"id": 2}], ["delete"], partition={"p": "a", "q": 7})
    table.commit(remove(first), add(kept), cdc, operation="DELETE")
    publish_timed(case, table)
    changes = [*each_row("insert", 0, first.rows), ("delete", 1, {"id": 2, "p": "a", "q": 7})]
    title = "Partition values of change files are found by physical name"
    row = "CM-026" if mode == "id" else "CM-030"
    ask_changes(case, table, "changes-all", 0, None, changes, title, requirement=row)
    ask_changes(case, table, "changes-1-1", 1, 1, changes, title, requirement=row)


@SCHEMAS.case("partitioned-by-name", "CM-030 CM-029 CDC-007 CDC-003", since="2025")
def _mapped_by_name(case: CaseWriter) -> None:
    """Change files of a table mapped by name find their partition values."""
    _mapped_partitions(case, "name")


@SCHEMAS.case("partitioned-by-id", "CM-026 CM-025 CDC-007 CDC-003", since="2025")
def _mapped_by_id(case: CaseWriter) -> None:
    """Change files of a table mapped by id find their partition values."""
    _mapped_partitions(case, "id")


@SCHEMAS.case("column-widened-in-range", "CDC-004")
def _widened(case: CaseWriter) -> None:
    """A range over a widened column is contested."""
    table = feed_table(
        case,
        struct(id="integer", name="string"),
        protocol=feature_protocol(["typeWidening"], ["changeDataFeed"]),
        properties={**FEED, "delta.enableTypeWidening": "true"},
    )
    old = table.create_with(pairs(0))
    change = {"fromType": "integer", "toType": "long"}
    wide = field("id", "long", metadata={"delta.typeChanges": [change]})
    table.schema = struct(wide, field("name", "string"))
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    new = table.file([{"id": 2**40, "name": "far"}])
    _replaced(
        case,
        table,
        (old, new),
        old.rows,
        ("Older changes have the wide type, or none", "A range after the widening is read"),
    )


@SCHEMAS.case("change-files-of-a-narrower-type", "TW-012 CDC-003")
def _narrower(case: CaseWriter) -> None:
    """Values of a narrower change file are widened."""
    table = feed_table(
        case,
        struct(id="integer", name="string"),
        protocol=feature_protocol(["typeWidening"], ["changeDataFeed"]),
        properties={**FEED, "delta.enableTypeWidening": "true"},
    )
    first = table.create_with(pairs(0, 3))
    gone = change_file(table, pairs(1, 1), ["delete"])
    kept = table.file([pairs(0)[0], pairs(2)[0]])
    change = {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    table.schema = struct(field("id", "long", metadata=change), field("name", "string"))
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.commit(remove(first), add(kept), gone, operation="DELETE")
    describe(case, table)
    commit_times(case, table)
    changes = [("delete", 2, pairs(1, 1)[0])]
    case.judged["changes-2-2"] = "TW-012"
    ask_changes(case, table, "changes-2-2", 2, 2, changes, "The rows of the file are wide")


@SCHEMAS.case("change-files-lack-a-column", "CDC-003 CDFF-006 WCON-004", since="2025")
def _lacking(case: CaseWriter) -> None:
    """A column that a change file lacks is null in its rows."""
    table = feed_table(case)
    first = table.create_with(pairs(0, 3))
    gone = change_file(table, pairs(1, 1), ["delete"])
    table.schema = table.schema.with_fields(field("more", "integer"))
    table.commit(table.metadata(), operation="ADD COLUMNS")
    kept = table.file([pairs(0)[0], pairs(2)[0]])
    table.commit(remove(first), add(kept), gone, operation="DELETE")
    publish_timed(case, table)
    changes = [("delete", 2, {**pairs(1, 1)[0], "more": None})]
    case.judged["changes-2-2"] = "WCON-004"
    ask_changes(case, table, "changes-2-2", 2, 2, changes, "The rows of the file have a null")
