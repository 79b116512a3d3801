"""Cases of deletion vectors and change feeds: odd paths, row groups, several files, partitions.

Covers "Deletion Vectors", "Add CDC File", "Change Data Files" and "Partition Value Serialization".
Each rule has a case of its own that shows it plainly; here a reader meets it beside others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED, ask_changes, change_file, each_row, feed_table
from generators.golden.cases.filters import is_null
from generators.golden.cases.publish import (
    file_entries,
    filtered,
    publish,
    publish_respelled,
    publish_timed,
)
from generators.golden.cases.summarise import SUMMARIES
from generators.golden.cases.table import DataFile, GoldenTable, add, feature_protocol, remove
from generators.golden.chapters.files.deletion_vectors import (
    numbered,
    store,
    vector_table,
    with_vector,
)
from generators.golden.chapters.tables.column_mapping import mapped_table
from generators.golden.chapters.tables.row_tracking import Tracked
from generators.materialise.data.data_files import FileLayout
from generators.materialise.log.files import LOG_DIRECTORY, drop_commits
from generators.oracle.delta_schema import field, struct

CDC: Final = Chapter("add-cdc-file", since="2025")
DATA: Final = Chapter("data-files")
VALUES: Final = Chapter("partition-value-serialization")
VECTORS: Final = Chapter("deletion-vectors", since="2025")
CHANGES: Final = Chapter("change-data-files", since="2025")
FEED_FILES: Final = Chapter("change-data-files", since="2025")


def _prefixed(case: CaseWriter, form: str) -> None:
    readers = ["deletionVectors", *(["v2Checkpoint"] if form.startswith("v2-") else [])]
    table = vector_table(case, protocol=feature_protocol(readers))
    table.create()
    files = [table.file(numbered(4, 10 * n)) for n in range(3)]
    table.commit(*map(add, files))
    places = zip(files, ("", "Zz9.a", "q"), strict=True)
    marked = [
        with_vector(file, store(table, [n], prefix=of)[0]) for n, (file, of) in enumerate(places)
    ]
    table.commit(*(each for pair in marked for each in pair), operation="DELETE")
    SUMMARIES[form](table, 2)
    if form != "compaction":
        drop_commits(table.root, 2)
    table.append(numbered(2, 90))
    case.judged = {f"read-{each}": "DVDESC-016" for each in ("latest", "v2", "v3")}
    publish(case, table, files=False, versions=[2, 3])


for _form in SUMMARIES:
    VECTORS.define(
        f"relative-in-{_form}",
        "The prefix of a vector file is part of its path in summaries too",
        "DVDESC-016 DVDESC-003",
        partial(_prefixed, form=_form),
    )


@VECTORS.case("removed-in-lower-case", "REM-002 ADD-003 REC-006")
def _respelled_vector(case: CaseWriter) -> None:
    """A remove with a vector may miss the file that it spells otherwise."""
    table = vector_table(case)
    files = [table.file(numbered(4, 10 * n), path=f"é {n}%.parquet") for n in range(2)]
    first, second = store(table, [1], [1, 3])
    table.create(*(add(file, deletionVector=first) for file in files))
    table.commit(*with_vector(files[0], second, first), remove(files[1], deletionVector=first))
    place = case.delta / LOG_DIRECTORY / f"{1:020}.json"
    lines = place.read_text("utf-8").splitlines(keepends=True)
    spelled = [
        line.replace(file.path, file.path.lower()) if line.startswith('{"remove"') else line
        for line, file in zip(lines, (files[0], files[0], files[0], files[1]), strict=True)
    ]
    place.write_text("".join(spelled), "utf-8")
    # As written, the first file is live under its newest vector or under both.
    before, after = (file_entries(table, version) for version in range(2))
    newest = [*after, *(each for each in before if each["path"] == files[1].path)]
    rows = table.rows(0)
    gone = [row for row in rows if row["id"] == 3]
    publish_respelled(
        case,
        table,
        [
            ("as-written-newest", [row for row in rows if row not in gone], newest),
            ("as-written-both", [*rows, *table.rows(1)], [*before, *after]),
        ],
        Refusal("invalid_table", "read", "FA-019"),
    )


@VECTORS.case("removed-odd-paths", "REM-002 ADD-003 REC-006 FA-019")
def _odd_with_vectors(case: CaseWriter) -> None:
    """Removes with vectors name odd paths as the adds of their files do."""
    table = vector_table(case)
    paths = ("a%20b/one.parquet", "é two.parquet", "a b/one.parquet", "Ã© two.parquet")
    files = [table.file(numbered(4, 10 * n), path=path) for n, path in enumerate(paths)]
    first, second = store(table, [1], [1, 3])
    table.create(*(add(file, deletionVector=first) for file in files))
    table.commit(*with_vector(files[0], second, first), remove(files[1], deletionVector=first))
    publish(case, table)


@VECTORS.case("row-groups-of-tracked-rows", "DVDESC-021 RT-024")
def _tracked_groups(case: CaseWriter) -> None:
    """Vectors and row ids count on from row group to row group."""
    protocol = feature_protocol(["deletionVectors"], ["domainMetadata", "rowTracking"])
    tracked = Tracked(case, protocol=protocol)
    table = tracked.table
    table.properties["delta.enableDeletionVectors"] = "true"
    file = tracked.file(numbered(30), row_group_rows=8)
    table.create(add(file), tracked.mark())
    (vector,) = store(table, [3, 8, 17, 29])
    table.commit(*with_vector(file, vector), operation="DELETE")
    case.judged = {"row-ids-v1": "DVDESC-021", "read-latest": "DVDESC-021"}
    publish(case, table)
    tracked.ask(case, [0, 1])


def _feed_with_vectors(case: CaseWriter) -> GoldenTable:
    return feed_table(
        case,
        protocol=feature_protocol(["deletionVectors"], ["changeDataFeed"]),
        properties={**FEED, "delta.enableDeletionVectors": "true"},
    )


@CHANGES.case("row-groups-of-deleted-rows", "DVDESC-021 CDC-004")
def _feed_groups(case: CaseWriter) -> None:
    """Changes count the rows of a vector on from row group to row group."""
    table = _feed_with_vectors(case)
    file = table.file(numbered(30), layout=FileLayout(row_group_rows=8))
    gone = (3, 8, 17, 29)
    (vector,) = store(table, gone)
    table.create(add(table.file(numbered(2, 50))))
    table.commit(add(file, deletionVector=vector))
    publish_timed(case, table)
    left = [row for index, row in enumerate(file.rows) if index not in gone]
    changes = each_row("insert", 1, left)
    case.judged = {"changes-1-1": "DVDESC-021"}
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "Deleted rows never come")


@CHANGES.case("updated-by-vector", "CDC-003 CDFF-008")
def _updated_by_vector(case: CaseWriter) -> None:
    """Change files tell the changes of a commit with vectors as well."""
    table = _feed_with_vectors(case)
    file = table.create_with(numbered(4))
    (vector,) = store(table, [1])
    old, new = file.rows[1], {"id": 1, "name": "updated"}
    cdc = change_file(table, [old, new], ["update_preimage", "update_postimage"])
    table.commit(*with_vector(file, vector), add(table.file([new])), cdc, operation="UPDATE")
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, file.rows),
        ("update_preimage", 1, old),
        ("update_postimage", 1, new),
    ]
    case.judged = {"changes-all": "CDC-003", "changes-1-1": "CDC-003"}
    ask_changes(case, table, "changes-all", 0, None, changes, "An update has both its images")
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "It has them alone")


def _partitioned(case: CaseWriter, mode: str | None) -> None:
    columns = struct(field("id", "long"), field("name", "string"), field("p", "integer"))
    if mode is None:
        table = feed_table(case, columns, partition_columns=["p"])
    else:
        table = mapped_table(
            case,
            columns,
            mode=mode,
            partition_columns=("p",),
            protocol=feature_protocol(["columnMapping"], ["changeDataFeed"]),
            properties=FEED,
        )
    parts: dict[int | None, DataFile] = {
        part: table.file(numbered(3, 10 * at), partition={"p": part})
        for at, part in enumerate((1, None))
    }
    table.create(*map(add, parts.values()))
    changes = [each for file in parts.values() for each in each_row("insert", 0, file.rows)]
    for version, part in enumerate((1, None), 1):
        kept, old, gone = parts[part].rows
        new = {**old, "name": "updated"}
        images = {"update_preimage": old, "update_postimage": new, "delete": gone}
        cdc = change_file(table, [*images.values()], [*images], partition={"p": part})
        rewritten = table.file([kept, new], partition={"p": part})
        table.commit(remove(parts[part]), add(rewritten), cdc, operation="MERGE")
        changes += ((kind, version, row) for kind, row in images.items())
    publish_timed(case, table, versions=[])
    ask_changes(case, table, "changes-all", 0, None, changes, "Copied rows are no changes")
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "Nor in a partition alone")


for _name, _words, _by in (
    ("partitioned", "table", None),
    ("mapped-by-name", "table mapped by name", "name"),
    ("mapped-by-id", "table mapped by id", "id"),
):
    FEED_FILES.define(
        f"files-win-{_name}",
        f"Change files win in the partitions of a {_words}",
        "CDC-003 CDFF-002 CDFF-008",
        partial(_partitioned, mode=_by),
    )


def _several_change_files(case: CaseWriter, judged: str, placed: Sequence[str]) -> None:
    """Delete a row of each partition in one version, by change files in these directories."""
    table = feed_table(case, struct(id="long", p="string"), partition_columns=["p"])
    values = ("a", "b", None)
    files = [table.file([{"id": n}, {"id": n + 10}], partition={"p": v})
             for n, v in enumerate(values)]  # fmt: skip
    table.create(*map(add, files))
    kept = [table.file(file.rows[:1], partition={"p": v})
            for file, v in zip(files, values, strict=True)]  # fmt: skip
    changed = [
        change_file(table, file.rows[1:], ["delete"], partition={"p": v}, prefix=f"{directory}/cdc")
        for file, v, directory in zip(files, values, placed, strict=True)
    ]
    table.commit(*map(remove, files), *map(add, kept), *changed, operation="DELETE")
    case.judged |= dict.fromkeys(("changes-all", "changes-1-1"), judged)
    publish_timed(case, table)
    gone = [change for file in files for change in each_row("delete", 1, file.rows[1:])]
    came = [change for file in files for change in each_row("insert", 0, file.rows)]
    ask_changes(case, table, "changes-all", 0, None, [*came, *gone], "All change files are read")
    ask_changes(case, table, "changes-1-1", 1, 1, gone, "They are all of the version's changes")


CDC.define(
    "several-files-in-a-version",
    "A version has the changes of all its change files",
    "CDC-003",
    partial(_several_change_files, judged="CDC-003", placed=["_change_data"] * 3),
)
DATA.define(
    "misleading-directories-of-changes",
    "Partition values of changes come from the log, not from names",
    "DATA-003",
    partial(
        _several_change_files, judged="DATA-003", placed=[f"_change_data/p={v}" for v in "bac"]
    ),
    since="2025",
)


@VALUES.case("empty-string-of-changes", "PART-002", since="2025")
def _empty_of_changes(case: CaseWriter) -> None:
    """An empty text is null in changes, and for timestamps without zone."""
    schema = struct(id="long", n="integer", t="timestamp_ntz")
    protocol = feature_protocol(["timestampNtz"], ["changeDataFeed"])
    table = feed_table(case, schema, partition_columns=["n", "t"], protocol=protocol)
    empty = {"n": "", "t": ""}
    first = table.file([{"id": 1}, {"id": 2}], partitionValues=empty)
    table.create(add(first))
    kept = table.file([{"id": 1}], partitionValues=empty)
    change = change_file(table, [{"id": 2}], ["delete"])
    change["cdc"]["partitionValues"] = empty
    table.commit(remove(first), add(kept), change, operation="DELETE")
    other = table.file([{"id": 3}], partitionValues=empty)
    table.commit(add(other))
    table.commit(remove(other), operation="DELETE")
    case.judged["changes-all"] = "PART-002"
    publish_timed(case, table)
    rows = [{"id": n, "n": None, "t": None} for n in (1, 2, 3)]
    changes = [*each_row("insert", 0, rows[:2]), *each_row("delete", 1, rows[1:2])]
    changes += [*each_row("insert", 2, rows[2:]), *each_row("delete", 3, rows[2:])]
    ask_changes(case, table, "changes-all", 0, None, changes, "Changes have null where it is empty")
    filtered(case, table, "filter-null", is_null("t"), "The empty text counts as null")
