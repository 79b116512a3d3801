"""Cases of the change data feed: change files, and changes inferred from adds and removes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from generators.delta_schema import Struct, field, struct
from generators.golden.case import CaseWriter
from generators.golden.catalog import Chapter
from generators.golden.chapters.deletion_vectors import store
from generators.golden.chapters.types import utc
from generators.golden.publish import pin_times, publish
from generators.golden.table import (
    EPOCH,
    MINUTE,
    GoldenTable,
    add,
    feature_protocol,
    legacy_protocol,
    remove,
)
from generators.materialise.data_files import ExtraColumn, FileLayout

__all__ = ["CHAPTERS"]

FILES = Chapter("change-data-files")
ACTIONS = Chapter("add-cdc-file")

_PAIR = struct(field("id", "long"), field("name", "string"))
_PROPERTY = {"delta.enableChangeDataFeed": "true"}

_Change = tuple[str, int, Mapping[str, Any]]


def _table(case: CaseWriter, schema: Struct = _PAIR, **options: Any) -> GoldenTable:
    options = {"protocol": legacy_protocol(1, 4), "properties": _PROPERTY, **options}
    return GoldenTable(case.delta, schema, seed=case.info.id, **options)


def _rows(start: int, count: int = 2) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"n{n}"} for n in range(start, start + count)]


def _change_schema(schema: Struct) -> Struct:
    return schema.with_fields(
        field("_change_type", "string"),
        field("_commit_version", "long"),
        field("_commit_timestamp", "timestamp"),
    )


def _instant(version: int) -> Any:
    seconds = (EPOCH + MINUTE * version) // 1000
    days, rest = divmod(seconds - 1_699_920_000, 86_400)  # from 2023-11-14T00:00:00Z
    return utc(2023, 11, 14 + days, rest // 3600, rest // 60 % 60, rest % 60)


def _ask(  # noqa: PLR0913, PLR0917  a sentence: what, called what, from, to, gives what
    case: CaseWriter,
    table: GoldenTable,
    slug: str,
    start: int,
    end: int | None,
    changes: Sequence[_Change],
    title: str,
) -> None:
    """Write a changes spec; ``changes`` are (kind, version, row)."""
    rows = [
        {**row, "_change_type": kind, "_commit_version": v, "_commit_timestamp": _instant(v)}
        for kind, v, row in changes
        if v >= start and (end is None or v <= end)
    ]
    parameters: dict[str, Any] = {"start": start}
    if end is not None:
        parameters["end"] = end
    case.row_spec(
        "changes", slug, _change_schema(table.schema), rows, title=title, parameters=parameters
    )


def _each(kind: str, version: int, rows: Sequence[Mapping[str, Any]]) -> list[_Change]:
    return [(kind, version, row) for row in rows]


def _change_file(
    table: GoldenTable,
    rows: Sequence[Mapping[str, Any]],
    kinds: Sequence[str],
    *,
    partition: Mapping[str, Any] | None = None,
    directory: str = "_change_data",
) -> dict[str, Any]:
    """Write a change data file and give its ``cdc`` action."""
    layout = FileLayout(extra=(ExtraColumn("_change_type", pa.array(kinds)),))
    path = f"{directory}/cdc-{table.unique_name('cdc')}.snappy.parquet"
    file = table.file(rows, path=path, layout=layout, partition=partition, statistics=False)
    body = {
        "path": file.path,
        "partitionValues": dict(file.body["partitionValues"]),
        "size": file.body["size"],
        "dataChange": False,
    }
    return {"cdc": body}


@ACTIONS.case(
    "inferred",
    "Without change files adds are inserts, removes deletes",
    "CDC-004 CDFF-005 CDC-014 CDC-015 CDC-017",
    since="2025",
)
def _inferred(case: CaseWriter) -> None:
    table = _table(case)
    first, second = table.file(_rows(0)), table.file(_rows(10))
    table.create(add(first))
    table.commit(add(second))
    table.commit(remove(first), operation="DELETE")
    rewritten = table.file([{"id": 10, "name": "new"}])
    table.commit(remove(second), add(rewritten), operation="WRITE")
    publish(case, table)
    pin_times(case, table)
    changes = [
        *_each("insert", 0, first.rows),
        *_each("insert", 1, second.rows),
        *_each("delete", 2, first.rows),
        *_each("delete", 3, second.rows),
        *_each("insert", 3, rewritten.rows),
    ]
    _ask(case, table, "changes-all", 0, None, changes, "All changes are given")
    _ask(case, table, "changes-1-2", 1, 2, changes, "A range has both its ends")
    _ask(case, table, "changes-3-3", 3, 3, changes, "A range may be one version")


@FILES.case(
    "files-win",
    "Change files alone tell the changes of their version",
    "CDC-003 CDFF-006 CDFF-007 CDFF-008 CDFF-009",
    since="2025",
)
def _files_win(case: CaseWriter) -> None:
    table = _table(case)
    first = table.file(_rows(0, 3))
    table.create(add(first))
    old, new = {"id": 1, "name": "n1"}, {"id": 1, "name": "updated"}
    rewritten = table.file([_rows(0)[0], new, _rows(2)[0]])
    cdc = _change_file(table, [old, new], ["update_preimage", "update_postimage"])
    table.commit(remove(first), add(rewritten), cdc, operation="UPDATE")
    last = table.file(rewritten.rows[:1] + rewritten.rows[2:])
    gone = _change_file(table, [new], ["delete"])
    table.commit(remove(rewritten), add(last), gone, operation="DELETE")
    publish(case, table)
    pin_times(case, table)
    changes = [
        *_each("insert", 0, first.rows),
        ("update_preimage", 1, old),
        ("update_postimage", 1, new),
        ("delete", 2, new),
    ]
    _ask(case, table, "changes-all", 0, None, changes, "Copied rows are no changes")
    _ask(case, table, "changes-1-1", 1, 1, changes, "An update has both its images")


@ACTIONS.case(
    "partitioned",
    "Change files have partition values of their own",
    "CDC-006 CDC-007 CDFF-002",
    since="2025",
)
def _partitioned(case: CaseWriter) -> None:
    schema = struct(field("id", "long"), field("p", "string"))
    table = _table(case, schema, partition_columns=["p"])
    first = table.file([{"id": 1}, {"id": 2}], partition={"p": "a b"})
    table.create(add(first))
    kept = table.file([{"id": 1}], partition={"p": "a b"})
    cdc = _change_file(
        table,
        [{"id": 2}],
        ["delete"],
        partition={"p": "a b"},
        directory="_change_data/p=a b",
    )
    table.commit(remove(first), add(kept), cdc, operation="DELETE")
    publish(case, table)
    pin_times(case, table)
    changes = [*_each("insert", 0, first.rows), ("delete", 1, {"id": 2, "p": "a b"})]
    _ask(case, table, "changes-all", 0, None, changes, "Changes have their partition values")


@ACTIONS.case(
    "rearrangement",
    "A commit that only rearranges has no changes",
    "CDC-004 FA-017 FA-018",
    since="2025",
)
def _rearranged(case: CaseWriter) -> None:
    table = _table(case)
    parts = [table.file(_rows(10 * n, 1)) for n in range(3)]
    table.create(*(add(part) for part in parts))
    whole = table.file([row for part in parts for row in part.rows])
    table.commit(
        add(whole, dataChange=False),
        *(remove(part, dataChange=False) for part in parts),
        operation="OPTIMIZE",
    )
    more = table.file(_rows(90, 1))
    table.commit(add(more))
    publish(case, table)
    pin_times(case, table)
    changes = [
        *(change for part in parts for change in _each("insert", 0, part.rows)),
        *_each("insert", 2, more.rows),
    ]
    _ask(case, table, "changes-all", 0, None, changes, "Version 1 brings no change")
    _ask(case, table, "changes-1-1", 1, 1, changes, "Alone it brings none either")


@ACTIONS.case(
    "vector-pairs",
    "A changed vector changes just the rows it differs in",
    "CDC-004 DVD-008 FA-013",
    since="2025",
    features=("deletionVectors",),
)
def _vector_pairs(case: CaseWriter) -> None:
    protocol = feature_protocol(["deletionVectors"], ["changeDataFeed"])
    properties = {**_PROPERTY, "delta.enableDeletionVectors": "true"}
    table = _table(case, protocol=protocol, properties=properties)
    file = table.file(_rows(0, 5))
    table.create(add(file))
    one, two = store(table, [1], [1, 3])
    table.commit(remove(file), add(file, deletionVector=one))
    table.commit(remove(file, deletionVector=one), add(file, deletionVector=two))
    table.commit(remove(file, deletionVector=two), add(file, deletionVector=one))
    table.commit(remove(file, deletionVector=one), add(file))
    publish(case, table)
    pin_times(case, table)
    row = file.rows
    changes = [
        *_each("insert", 0, row),
        ("delete", 1, row[1]),
        ("delete", 2, row[3]),
        ("insert", 3, row[3]),
        ("insert", 4, row[1]),
    ]
    _ask(case, table, "changes-all", 0, None, changes, "Each pair gives its difference")
    for version in range(1, 5):
        slug = f"changes-{version}-{version}"
        _ask(case, table, slug, version, version, changes, "One pair gives its difference")


@ACTIONS.case(
    "remove-with-vector",
    "Removing a file deletes the rows that its vector left",
    "CDC-004 REM-014",
    since="2025",
    features=("deletionVectors",),
)
def _remove_with_vector(case: CaseWriter) -> None:
    protocol = feature_protocol(["deletionVectors"], ["changeDataFeed"])
    table = _table(case, protocol=protocol)
    file = table.file(_rows(0, 4))
    vector = store(table, [0, 1])[0]
    table.create(add(file, deletionVector=vector))
    table.commit(remove(file, deletionVector=vector), operation="DELETE")
    publish(case, table)
    pin_times(case, table)
    left = file.rows[2:]
    changes = [*_each("insert", 0, left), *_each("delete", 1, left)]
    _ask(case, table, "changes-all", 0, None, changes, "Deleted rows neither come nor go")


@ACTIONS.case(
    "change-type-column-hidden",
    "A _change_type column in a data file is not read",
    "CDC-018 CDC-019 CDC-002",
    since="2025",
)
def _hidden(case: CaseWriter) -> None:
    table = _table(case)
    layout = FileLayout(extra=(ExtraColumn("_change_type", pa.array(["insert", None])),))
    table.create(add(table.file(_rows(0), layout=layout)))
    table.commit(add(table.file(_rows(10))))
    publish(case, table)


@ACTIONS.case(
    "actions-ignored-by-reads",
    "cdc actions do not disturb an ordinary read",
    "CDC-005 CDC-008 CDC-009 FA-014",
    since="2025",
)
def _ordinary(case: CaseWriter) -> None:
    table = _table(case)
    table.create(add(table.file(_rows(0))), _change_file(table, _rows(50), ["insert", "insert"]))
    missing = {
        "path": "_change_data/never-written.parquet",
        "partitionValues": {},
        "size": 1,
        "dataChange": False,
        "tags": None,
    }
    table.commit({"cdc": missing})
    publish(case, table)


CHAPTERS = (FILES, ACTIONS)
