"""Cases of the change data feed: change files, and changes inferred from adds and removes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pyarrow as pa

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import (
    FEED,
    ask_changes,
    change_file,
    contest_changes,
    each_row,
    either_changes,
    feed_table,
)
from generators.golden.cases.publish import publish, publish_timed
from generators.golden.cases.table import (
    EPOCH,
    MINUTE,
    DataFile,
    GoldenTable,
    add,
    feature_protocol,
    legacy_protocol,
    pairs,
    remove,
)
from generators.golden.chapters.files.deletion_vectors import store
from generators.materialise.data.arrow_rows import Row
from generators.materialise.data.data_files import ExtraColumn, FileLayout
from generators.oracle.delta_schema import struct

FILES = Chapter("change-data-files")
ACTIONS = Chapter("add-cdc-file")


@ACTIONS.case("inferred", "CDC-004 CDFF-005 CDC-014 CDC-015 CDC-017", since="2025")
def _inferred(case: CaseWriter) -> None:
    """Without change files adds are inserts, removes deletes."""
    table = feed_table(case)
    first, second = table.file(pairs(0)), table.file(pairs(10))
    table.create(add(first))
    table.commit(add(second))
    table.commit(remove(first), operation="DELETE")
    rewritten = table.file([{"id": 10, "name": "new"}])
    table.commit(remove(second), add(rewritten), operation="WRITE")
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, first.rows),
        *each_row("insert", 1, second.rows),
        *each_row("delete", 2, first.rows),
        *each_row("delete", 3, second.rows),
        *each_row("insert", 3, rewritten.rows),
    ]
    ask_changes(case, table, "changes-all", 0, None, changes, "All changes are given")
    ask_changes(case, table, "changes-1-2", 1, 2, changes, "A range has both its ends")
    ask_changes(case, table, "changes-3-3", 3, 3, changes, "A range may be one version")


@ACTIONS.case("before-checkpoint", "CDC-004 CDC-014 CDC-015", since="2025")
def _before_checkpoint(case: CaseWriter) -> None:
    """Changes are read from commits before the last checkpoint."""
    table = feed_table(case)
    files = [table.file(pairs(10 * number)) for number in range(3)]
    table.create(add(files[0]))
    for file in files[1:]:
        table.commit(add(file))
    table.checkpoint(version=2)
    table.commit(table.metadata(), operation="SET TBLPROPERTIES")
    publish_timed(case, table, log_info={"lastCheckpointVersion": 2})
    changes = [row for number in range(3) for row in each_row("insert", number, files[number].rows)]
    ask_changes(case, table, "changes-all", 0, None, changes, "All changes are given")
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "A range may end before it")
    ask_changes(case, table, "changes-3-3", 3, 3, changes, "A version may change no rows")


@ACTIONS.case("inferred-odd-paths", "REM-002 CDC-004 CDC-015 ADD-003", since="2025")
def _inferred_odd(case: CaseWriter) -> None:
    """Deletes are read from files whose odd paths removes name."""
    table = feed_table(case)
    paths = ("a%20b/one.parquet", "é two.parquet", "a b/one.parquet", "Ã© two.parquet")
    files = [table.file(pairs(10 * n), path=path) for n, path in enumerate(paths)]
    table.create(*map(add, files))
    table.commit(*map(remove, files[:2]), operation="DELETE")
    case.judged["changes-1-1"] = "REM-002"
    publish_timed(case, table)
    changes = [
        *(change for file in files for change in each_row("insert", 0, file.rows)),
        *(change for file in files[:2] for change in each_row("delete", 1, file.rows)),
    ]
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "The files that are gone are read")


def _ask_update_and_delete(
    case: CaseWriter, table: GoldenTable, first: DataFile, old: Row, new: Row
) -> None:
    """Ask for the changes of a table whose versions insert rows, update one and delete it."""
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, first.rows),
        ("update_preimage", 1, old),
        ("update_postimage", 1, new),
        ("delete", 2, new),
    ]
    ask_changes(case, table, "changes-all", 0, None, changes, "Copied rows are no changes")
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "An update has both its images")


@FILES.case("files-win", "CDC-003 CDFF-006 CDFF-007 CDFF-008 CDFF-009", since="2025")
def _files_win(case: CaseWriter) -> None:
    """Change files alone tell the changes of their version."""
    table = feed_table(case)
    first = table.create_with(pairs(0, 3))
    old, new = {"id": 1, "name": "n1"}, {"id": 1, "name": "updated"}
    rewritten = table.file([pairs(0)[0], new, pairs(2)[0]])
    cdc = change_file(table, [old, new], ["update_preimage", "update_postimage"])
    table.commit(remove(first), add(rewritten), cdc, operation="UPDATE")
    last = table.file(rewritten.rows[:1] + rewritten.rows[2:])
    gone = change_file(table, [new], ["delete"])
    table.commit(remove(rewritten), add(last), gone, operation="DELETE")
    _ask_update_and_delete(case, table, first, old, new)


@FILES.case("files-win-after-the-feed", "CDC-003 CDFF-006 CDFF-009", since="2025")
def _files_win_after_the_feed(case: CaseWriter) -> None:
    """Change files tell the changes of a version though the feed is off now."""
    table = feed_table(case)
    first = table.create_with(pairs(0, 3))
    kept, old, last = first.rows
    new = {**old, "name": "updated"}
    cdc = change_file(table, [old, new], ["update_preimage", "update_postimage"])
    table.commit(remove(first), add(table.file([kept, new, last])), cdc, operation="UPDATE")
    table.properties["delta.enableChangeDataFeed"] = "false"
    table.commit(table.metadata(), operation="SET TBLPROPERTIES")
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, first.rows),
        ("update_preimage", 1, old),
        ("update_postimage", 1, new),
    ]
    ask_changes(case, table, "changes-0-1", 0, 1, changes, "Copied rows are no changes")
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "An update has both its images")


@FILES.case("in-any-order", "FA-015 CDC-003 CDFF-006", since="2025")
def _any_order(case: CaseWriter) -> None:
    """Change files tell the changes wherever in a commit they are named."""
    table = feed_table(case)
    first = table.create_with(pairs(0, 3))
    kept, old, last = first.rows
    new = {**old, "name": "updated"}
    rewritten, rest = table.file([kept, new, last]), table.file([kept, last])
    cdc = change_file(table, [old, new], ["update_preimage", "update_postimage"])
    info: Any = {"commitInfo": {"timestamp": EPOCH + MINUTE, "operation": "UPDATE"}}
    table.commit(cdc, info, remove(first), add(rewritten), with_info=False)
    gone = change_file(table, [new], ["delete"])
    later: Any = {"commitInfo": {"timestamp": EPOCH + 2 * MINUTE, "operation": "DELETE"}}
    table.commit(remove(rewritten), later, gone, add(rest), with_info=False)
    case.judged |= dict.fromkeys(("changes-all", "changes-1-1"), "FA-015")
    _ask_update_and_delete(case, table, first, old, new)


@FILES.case("files-beside-removes-alone", "CDC-003 CDFF-006 CDFF-009", since="2025")
def _removes_alone(case: CaseWriter) -> None:
    """Change files alone tell the changes of a version that adds no file."""
    table = feed_table(case)
    first, second = table.file(pairs(0, 3)), table.file(pairs(10, 2))
    table.create(add(first), add(second))
    gone = change_file(table, second.rows, ["delete"] * len(second.rows))
    table.commit(remove(second), gone, operation="DELETE")
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, [*first.rows, *second.rows]),
        *each_row("delete", 1, second.rows),
    ]
    ask_changes(case, table, "changes-all", 0, None, changes, "Deletes come once")
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "Deletes come once")


@FILES.case("every-kind", "CDC-003 CDFF-007 CDFF-008 CDFF-009", since="2025")
def _every_kind(case: CaseWriter) -> None:
    """A change file has changes of every kind."""
    table = feed_table(case)
    first = table.create_with(pairs(0, 3))
    kept, old, gone = first.rows
    new, more = {**old, "name": "updated"}, {"id": 9, "name": "more"}
    kinds = ("insert", "update_preimage", "update_postimage", "delete")
    stored = dict(zip(kinds, (more, old, new, gone), strict=True))
    merged = add(table.file([kept, new, more]))
    table.commit(remove(first), merged, change_file(table, [*stored.values()], kinds))
    last = pairs(20)
    table.commit(add(table.file(last)), change_file(table, last, ["insert", "insert"]))
    publish_timed(case, table)
    changes = [*each_row("insert", 0, first.rows), *each_row("insert", 2, last)]
    changes += ((kind, 1, row) for kind, row in stored.items())
    ask_changes(case, table, "changes-all", 0, None, changes, "Kinds are those of the file")
    ask_changes(case, table, "changes-2-2", 2, 2, changes, "Inserts of a change file come once")


@ACTIONS.case("partitioned", "CDC-006 CDC-007 CDFF-002", since="2025")
def _partitioned(case: CaseWriter) -> None:
    """Change files have partition values of their own."""
    table = feed_table(case, struct(id="long", p="string"), partition_columns=["p"])
    first = table.create_with([{"id": 1}, {"id": 2}], partition={"p": "a b"})
    kept = table.file([{"id": 1}], partition={"p": "a b"})
    cdc = change_file(
        table, [{"id": 2}], ["delete"], partition={"p": "a b"}, prefix="_change_data/p=a b/cdc"
    )
    table.commit(remove(first), add(kept), cdc, operation="DELETE")
    publish_timed(case, table)
    changes = [*each_row("insert", 0, first.rows), ("delete", 1, {"id": 2, "p": "a b"})]
    ask_changes(case, table, "changes-all", 0, None, changes, "Changes have their partition values")


def _one_deleted(
    case: CaseWriter, title: str, prefix: str = "_change_data/cdc", **fields: Any
) -> None:
    """Delete one row of two by a change file of a place; ``fields`` are more of its action."""
    table = feed_table(case)
    first = table.create_with([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    kept = table.file(first.rows[:1])
    cdc = change_file(table, first.rows[1:], ["delete"], prefix=prefix)
    cdc["cdc"] |= fields
    table.commit(remove(first), add(kept), cdc, operation="DELETE")
    publish_timed(case, table)
    changes = [*each_row("insert", 0, first.rows), ("delete", 1, first.rows[1])]
    ask_changes(case, table, "changes-all", 0, None, changes, title)


@ACTIONS.case("escaped-twice", "CDC-006", since="2025")
def _escaped_twice(case: CaseWriter) -> None:
    """Paths of change files are decoded once."""
    _one_deleted(case, "Odd paths lead to change files", "_change_data/50%25+%2541/cdc")


@ACTIONS.case("escaped-letters", "CDC-006", since="2025")
def _escaped_letters(case: CaseWriter) -> None:
    """Escapes in paths of change files are bytes of UTF-8."""
    _one_deleted(case, "Odd letters lead to change files", "_change_data/é 日/cdc")


@ACTIONS.case("escaped-names", "CDC-006", since="2025")
def _escaped_names(case: CaseWriter) -> None:
    """Names of change files are decoded as their directories are."""
    _one_deleted(case, "Odd names lead to change files", "_change_data/é 50%25+%2541")


@ACTIONS.case("unknown-fields", "PROTO-009", since="2025")
def _unknown_fields(case: CaseWriter) -> None:
    """Unknown fields of a cdc action are ignored."""
    case.judged["changes-all"] = "PROTO-009"
    more: dict[str, Any] = {"futureField": {"a": [1, {"b": None}]}, "zzz": 1}
    _one_deleted(case, "Changes are those of the file", **more)


@ACTIONS.case("rearrangement", "CDC-004 CKC-027 FA-017 FA-018", since="2025")
def _rearranged(case: CaseWriter) -> None:
    """A commit that only rearranges has no changes."""
    table = feed_table(case)
    parts = [table.file(pairs(10 * n, 1)) for n in range(3)]
    table.create(*(add(part) for part in parts))
    whole = table.file([row for part in parts for row in part.rows])
    table.commit(
        add(whole, dataChange=False),
        *(remove(part, dataChange=False) for part in parts),
        operation="OPTIMIZE",
    )
    more = table.file(pairs(90, 1))
    table.commit(add(more))
    publish_timed(case, table)
    moved = [
        *(change for part in parts for change in each_row("delete", 1, part.rows)),
        *each_row("insert", 1, whole.rows),
    ]
    changes = [
        *(change for part in parts for change in each_row("insert", 0, part.rows)),
        *each_row("insert", 2, more.rows),
    ]
    answers = [
        ("none", "actions whose dataChange is false may be passed over", changes),
        ("rows", "all rows of adds and removes are changes", [*changes, *moved]),
    ]
    either_changes(
        case, table, "changes-all", 0, None, answers, "Version 1 brings no change, or a move"
    )
    either_changes(case, table, "changes-1-1", 1, 1, answers, "Alone it brings the same")


def _changed_vectors(deleted: Sequence[Sequence[int]], case: CaseWriter) -> None:
    """Delete rows of a file by one vector after another, and bring all of them back."""
    protocol = feature_protocol(["deletionVectors"], ["changeDataFeed"])
    properties = {**FEED, "delta.enableDeletionVectors": "true"}
    table = feed_table(case, protocol=protocol, properties=properties)
    file = table.create_with(pairs(0, 5))
    kinds = list(dict.fromkeys(map(tuple, deleted)))
    stored = dict(zip(kinds, store(table, *kinds), strict=True))
    for old, new in pairwise([None, *[stored[tuple(rows)] for rows in deleted], None]):
        gone = {} if old is None else {"deletionVector": old}
        come = {} if new is None else {"deletionVector": new}
        table.commit(remove(file, **gone), add(file, **come))
    publish_timed(case, table)
    vectors = ((), *deleted, ())
    left = [[row for at, row in enumerate(file.rows) if at not in gone] for gone in vectors]
    changes = [*each_row("insert", 0, file.rows)]
    whole = [*changes]
    for version, (before, after) in enumerate(pairwise(left), 1):
        went = [row for row in before if row not in after]
        came = [row for row in after if row not in before]
        changes += [*each_row("delete", version, went), *each_row("insert", version, came)]
        whole += [*each_row("delete", version, before), *each_row("insert", version, after)]
    answers = [
        ("difference", "the rows that the two logical files differ in", changes),
        ("rows", "all rows of adds and removes are changes", whole),
    ]
    title = "A pair gives its difference, or all its rows"
    case.judged["changes-all"] = "CDC-004"
    either_changes(case, table, "changes-all", 0, None, answers, title)
    for version in range(1, len(left)):
        either_changes(
            case, table, f"changes-{version}-{version}", version, version, answers, title
        )


for _name, _title, _deleted in (
    ("pairs", "A changed vector changes just the rows it differs in", ([1], [1, 3], [1])),
    ("of-no-row", "A vector that deletes no row changes none", ([], [2], [])),
):
    ACTIONS.define(
        f"vector-{_name}", _title, "DVD-008 CDC-004 FA-013", partial(_changed_vectors, _deleted)
    )


_BARE = (
    "the rows of a removed file are deleted, and their values stand in the action that added it",
    "the values of a remove are optional, and no clause says where else a change reader finds them",
)


@ACTIONS.case("remove-without-values", "CDC-004", since="2025")
def _remove_without_values(case: CaseWriter) -> None:
    """A remove that lacks partition values deletes rows that have them."""
    table = feed_table(case, struct(id="long", p="string"), partition_columns=["p"])
    first = table.file([{"id": 1}, {"id": 2}], partition={"p": "a b"})
    second = table.file([{"id": 3}], partition={"p": None})
    third = table.file([{"id": 4}], partition={"p": "c"})
    table.create(add(second), add(third))
    table.commit(add(first))
    bare = {"extendedFileMetadata": None, "partitionValues": None, "size": None}
    table.commit(remove(first, **bare), remove(second, **bare), remove(third), operation="DELETE")
    publish_timed(case, table)
    given = [
        *each_row("insert", 0, [*second.rows, *third.rows]),
        *each_row("insert", 1, first.rows),
    ]
    gone = each_row("delete", 2, [*first.rows, *second.rows, *third.rows])
    title = "Values are those that files were added with, or it is refused"
    for slug, start, end in (("changes-all", 0, None), ("changes-2-2", 2, 2)):
        contest_changes(case, table, start, [*given, *gone], _BARE, title, slug=slug, end=end)


@ACTIONS.case("remove-with-vector", "DVD-008 CDC-004 REM-014 ADD-012 REM-013 DV-004")
def _remove_with_vector(case: CaseWriter) -> None:
    """Removing a file deletes the rows that its vector left."""
    protocol = feature_protocol(["deletionVectors"], ["changeDataFeed"])
    properties = {**FEED, "delta.enableDeletionVectors": "true"}
    table = feed_table(case, protocol=protocol, properties=properties)
    file = table.file(pairs(0, 4))
    vector = store(table, [0, 1])[0]
    last = table.file(pairs(20, 3))
    of_last = store(table, [1])[0]
    table.create(add(file, deletionVector=vector), add(last, deletionVector=of_last))
    table.commit(remove(file, deletionVector=vector), operation="DELETE")
    bare = table.file(pairs(10))
    table.commit(add(bare, deletionVector=None))
    table.commit(remove(bare, deletionVector=None), operation="DELETE")
    table.properties = {**table.properties, "delta.enableDeletionVectors": "false"}
    table.commit(table.metadata(), operation="SET TBLPROPERTIES")
    table.commit(remove(last, deletionVector=of_last), operation="DELETE")
    publish_timed(case, table)
    left, more = file.rows[2:], [*last.rows[:1], *last.rows[2:]]
    changes = [*each_row("insert", 0, [*left, *more]), *each_row("delete", 1, left)]
    changes += [*each_row("insert", 2, bare.rows), *each_row("delete", 3, bare.rows)]
    changes += each_row("delete", 5, more)
    case.judged["changes-all"] = "DVD-008"
    ask_changes(case, table, "changes-all", 0, None, changes, "Deleted rows neither come nor go")
    for version, row, title in (
        (2, "ADD-012", "An added null vector is no vector"),
        (3, "REM-013", "A removed null vector is no vector"),
        (5, "DV-004", "A vector counts though the property is off"),
    ):
        slug = f"changes-{version}-{version}"
        case.judged[slug] = row
        ask_changes(case, table, slug, version, version, changes, title)


@ACTIONS.case("change-type-column-hidden", "CDC-018 CDC-019 CDC-002", since="2025")
def _hidden(case: CaseWriter) -> None:
    """A _change_type column in a data file is not read."""
    table = feed_table(case)
    layout = FileLayout(extra=(ExtraColumn("_change_type", pa.array(["insert", None])),))
    table.create(add(table.file(pairs(0), layout=layout)))
    table.append(pairs(10))
    publish(case, table)


@ACTIONS.case("data-files-with-types", "CDC-002 CDC-003 CDC-004 CDC-018", since="2025")
def _files_with_types(case: CaseWriter) -> None:
    """A data file tells changes where a cdc names it, and nowhere else."""
    table = feed_table(case)
    first = table.create_with(pairs(0, 1))
    new, more = {"id": 0, "name": "updated"}, {"id": 5, "name": "more"}
    kinds = ("update_postimage", "insert")
    both, alone = (
        table.file(rows, layout=FileLayout(extra=(ExtraColumn("_change_type", pa.array(kinds)),)))
        for rows in ([new, more], pairs(20))
    )
    named = {"path": both.path, "partitionValues": {}, "size": both.body["size"]}
    old = change_file(table, first.rows, ["update_preimage"])
    table.commit(remove(first), add(both), old, {"cdc": {**named, "dataChange": False}})
    table.commit(add(alone))
    table.commit(remove(both), operation="DELETE")
    # An update may set what is there already.
    same = [alone.rows[0]] * 2
    table.commit(change_file(table, same, ["update_preimage", "update_postimage"]))
    publish_timed(case, table, versions=[1], files=False)
    recorded = [
        ("update_preimage", 1, first.rows[0]),
        *zip(kinds, (1, 1), (new, more), strict=True),
    ]
    inferred = [*each_row("insert", 2, alone.rows), *each_row("delete", 3, both.rows)]
    title = "A data file that a cdc names tells its changes"
    ask_changes(case, table, "changes-1-1", 1, 1, recorded, title)
    title = "Rows of added files are inserts, whatever the file calls them"
    ask_changes(case, table, "changes-2-3", 2, 3, inferred, title, requirement="CDC-004")
    kept = [("update_preimage", 4, same[0]), ("update_postimage", 4, same[0])]
    ask_changes(case, table, "changes-4-4", 4, 4, kept, "A version may have change files alone")


@ACTIONS.case("actions-ignored-by-reads", "CDC-005 CDC-008 CDC-009 FA-014", since="2025")
def _ordinary(case: CaseWriter) -> None:
    """cdc actions do not disturb an ordinary read."""
    table = feed_table(case)
    table.create(add(table.file(pairs(0))), change_file(table, pairs(50), ["insert", "insert"]))
    missing = {
        "path": "_change_data/never-written.parquet",
        "partitionValues": {},
        "size": 1,
        "dataChange": False,
        "tags": None,
    }
    table.commit({"cdc": missing})
    publish(case, table)


_OFF = (
    "a version without cdc actions is read from its adds and removes, whatever the property says",
    "Spark: what was not recorded is not given",
)


@ACTIONS.case("off-in-between", "CDC-004 CDC-011", since="2025")
def _off(case: CaseWriter) -> None:
    """Versions from while the feed was off are contested."""
    table = feed_table(case)
    files = [table.file(pairs(10 * number)) for number in range(4)]
    table.create(add(files[0]))
    table.properties = {}
    table.commit(table.metadata(), operation="SET TBLPROPERTIES")
    table.commit(add(files[1]))
    table.commit(remove(files[0]), operation="DELETE")
    table.properties = dict(FEED)
    table.commit(table.metadata(), operation="SET TBLPROPERTIES")
    table.commit(add(files[2]))
    table.commit(remove(files[1]), add(files[3]))
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, files[0].rows),
        *each_row("insert", 2, files[1].rows),
        *each_row("delete", 3, files[0].rows),
        *each_row("insert", 5, files[2].rows),
        *each_row("delete", 6, files[1].rows),
        *each_row("insert", 6, files[3].rows),
    ]
    contest_changes(case, table, 0, changes, _OFF, "A range over them is read or refused")
    contest_changes(case, table, 2, changes, _OFF, "A range that begins with one too")
    ask_changes(case, table, "changes-5-6", 5, 6, changes, "A range after them is read")
    ask_changes(case, table, "changes-0-0", 0, 0, changes, "A range before them is read")


@ACTIONS.case("never-on", "CDC-004 CDC-013", since="2025")
def _never(case: CaseWriter) -> None:
    """A table that never had the feed on is contested."""
    table = feed_table(case, protocol=legacy_protocol(1, 2), properties={})
    first, second = table.file(pairs(0)), table.file(pairs(10))
    table.create(add(first))
    table.commit(remove(first), add(second))
    publish_timed(case, table)
    changes = [
        *each_row("insert", 0, first.rows),
        *each_row("delete", 1, first.rows),
        *each_row("insert", 1, second.rows),
    ]
    contest_changes(case, table, 0, changes, _OFF, "Its changes are read or refused")
