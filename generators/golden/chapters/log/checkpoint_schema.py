"""Cases of what a checkpoint's Parquet file looks like: columns, statistics, row groups."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_null
from generators.golden.cases.publish import filtered, publish, publish_cut
from generators.golden.cases.table import GoldenTable, add, remove, txn
from generators.golden.chapters.files.types import utc
from generators.golden.chapters.log.checkpoints import (
    checkpoint_at,
    checkpoint_rows,
    grown,
    store_checkpoint,
)
from generators.materialise.log.files import drop_commits
from generators.oracle.delta_schema import array, field, map_of, struct

SCHEMA = Chapter("checkpoint-schema")


def _styled(case: CaseWriter, **style: Any) -> None:
    table = GoldenTable.of(
        case,
        struct(id="long", at="timestamp", p="integer", deep=struct(x="string", y="date")),
        partition_columns=["p"],
        properties={
            "delta.checkpoint.writeStatsAsJson": str(style.get("stats_json", True)).lower(),
            "delta.checkpoint.writeStatsAsStruct": str(style.get("stats_parsed", False)).lower(),
        },
        protocol={"minReaderVersion": 1, "minWriterVersion": 3},
    )
    table.create(txn("app", 1))
    for number in range(4):
        row = {"id": number, "at": utc(2024, 1, 1 + number), "deep": {"x": f"s{number}"}}
        table.append([row], partition={"p": number % 2})
    table.commit(remove(table.live(4)[0][0]))
    checkpoint_at(table, table.version, **style)
    table.append([{"id": 9, "at": utc(2025, 1, 1)}], partition={"p": None})
    publish_cut(case, table, 5)
    probes = {
        "id": compare("id", ">", 1, "long"),
        "time": compare("at", "<", utc(2024, 1, 3), "timestamp"),
        "partition": compare("p", "=", 1, "integer"),
        "nested": compare("deep.x", "=", "s2", "string"),
        "nested-null": is_null("deep.y"),
    }
    for slug, probe in probes.items():
        filtered(case, table, f"filter-{slug}", probe, "A filter answers as a full scan would")


@SCHEMA.case("statistics-json", "CKC-018 CKC-019")
def _json_stats(case: CaseWriter) -> None:
    """A checkpoint with JSON statistics answers filters."""
    _styled(case)


@SCHEMA.case("statistics-struct", "CKC-020 CKC-021 CKC-015 CKSCH-004")
def _struct_stats(case: CaseWriter) -> None:
    """A checkpoint with parsed statistics only answers filters."""
    _styled(case, stats_json=False, stats_parsed=True)


@SCHEMA.case("statistics-both", "CKC-018 CKC-021 CKC-016")
def _both_stats(case: CaseWriter) -> None:
    """A checkpoint with both kinds of statistics answers filters."""
    _styled(case, stats_parsed=True)


@SCHEMA.case("statistics-none", "CKC-020 CKC-023")
def _no_stats(case: CaseWriter) -> None:
    """A checkpoint without statistics answers filters."""
    _styled(case, stats_json=False)


@SCHEMA.case("small-row-groups", "CKC-001 CKC-010")
def _row_groups(case: CaseWriter) -> None:
    """Row groups of a checkpoint do not matter."""
    _styled(case, row_group_rows=1)


@SCHEMA.case("absent-columns", "CKC-011")
def _absent(case: CaseWriter) -> None:
    """Action columns that a checkpoint lacks count as null."""
    table = grown(case, 6, progress=False)
    checkpoint_at(table, 3, omit=frozenset({"txn", "domainMetadata", "remove"}))
    publish_cut(case, table, 3)


@SCHEMA.case("without-tombstones", "CKPT-008 CKC-005")
def _no_tombstones(case: CaseWriter) -> None:
    """A checkpoint may leave expired tombstones out."""
    table = grown(case, 8)
    checkpoint_at(table, 6, tombstones=False)
    publish(case, table, log_info={"lastCheckpointVersion": 6})


@SCHEMA.case("data-change-either-way", "CKC-004 CKC-027 ADD-008")
def _data_change(case: CaseWriter) -> None:
    """dataChange in a checkpoint does not affect a read."""
    table = grown(case, 6)
    held = checkpoint_rows(table.states[4])
    rows = held.to_pylist()
    for number, row in enumerate(rows):
        if row["add"] is not None:
            row["add"]["dataChange"] = number % 2 == 0
    store_checkpoint(table, 4, pa.Table.from_pylist(rows, held.schema))
    publish_cut(case, table, 4)


@SCHEMA.case("rows-in-reverse", "REC-012 REC-013 REC-018")
def _reversed(case: CaseWriter) -> None:
    """The rows of a checkpoint may have any order."""
    table = grown(case, 6)
    held = checkpoint_rows(table.states[4])
    store_checkpoint(table, 4, held.take(pa.array(range(held.num_rows)[::-1])))
    case.judged = {"snapshot-v4": "REC-012", "snapshot-latest": "REC-013"}
    publish_cut(case, table, 4)


@SCHEMA.case("data-change-of-removes", "CKC-027 ADD-008 REM-004")
def _data_change_of_removes(case: CaseWriter) -> None:
    """A file that is removed without a change of data is gone."""
    table = grown(case, 3)
    old = [file for file, _ in table.live(2)]
    rows = table.rows(2)
    table.commit(
        *(remove(file, dataChange=False) for file in old),
        add(table.file(rows), dataChange=False),
        operation="OPTIMIZE",
    )
    case.judged = dict.fromkeys(("files-latest", "read-latest"), "CKC-027")
    publish(case, table)


@SCHEMA.case("unknown-columns", "PROTO-008 PROTO-009 CKC-010")
def _unknown(case: CaseWriter) -> None:
    """Columns and fields of files that a checkpoint adds are ignored."""
    table = grown(case, 6)
    rows = checkpoint_rows(table.states[4])
    future = pa.array([{"x": number} for number in range(rows.num_rows)])
    rows = rows.append_column("futureAction", future).append_column("note", future.field("x"))
    at = rows.schema.get_field_index("add")
    kept = rows["add"].combine_chunks()
    fields = [*kept.type, pa.field("future", future.type)]
    wider = pa.StructArray.from_arrays(
        [*(kept.field(n) for n in range(kept.type.num_fields)), future],
        fields=fields,
        mask=kept.is_null(),
    )
    rows = rows.set_column(at, "add", wider)
    store_checkpoint(table, 4, rows)
    case.judged |= {"read-v4": "PROTO-009", "files-latest": "PROTO-009"}
    publish_cut(case, table, 4)


def _own_types(case: CaseWriter, types: Mapping[pa.DataType, pa.DataType]) -> None:
    table = grown(case, 6)

    def own(of: Any) -> Any:
        if pa.types.is_struct(of):
            return pa.struct([each.with_type(own(each.type)) for each in of])
        if pa.types.is_map(of):
            return pa.map_(own(of.key_type), own(of.item_type))
        if pa.types.is_list(of):
            return pa.large_list(own(of.value_type))
        return types.get(of, of)

    rows = checkpoint_rows(table.states[4])
    footer = pa.schema([each.with_type(own(each.type)) for each in rows.schema])
    store_checkpoint(table, 4, rows, footer=footer)
    publish_cut(case, table, 4)


for _name, _title, _types in (
    (
        "schema-of-a-library",
        "Types that a library keeps in a checkpoint's footer change nothing",
        {pa.string(): pa.large_string()},
    ),
    (
        "views-of-a-library",
        "Views and durations in a checkpoint's footer change nothing",
        {pa.string(): pa.string_view(), pa.int64(): pa.duration("ms")},
    ),
):
    SCHEMA.define(_name, _title, "CKC-010 CKPT-005", partial(_own_types, types=_types))


@SCHEMA.case("required-leaves", "CKC-010 ADD-012")
def _required(case: CaseWriter) -> None:
    """Required leaves below null groups read as null groups."""
    table = grown(case, 6)
    loose = checkpoint_rows(table.states[4])
    strict = {
        "add": {"path", "partitionValues", "size", "modificationTime", "dataChange"},
        "remove": {"path", "dataChange"},
        "metaData": {"id", "format", "schemaString", "partitionColumns", "configuration"},
        "protocol": {"minReaderVersion", "minWriterVersion"},
        "txn": {"appId", "version"},
        "deletionVector": {"storageType", "pathOrInlineDv", "sizeInBytes", "cardinality"},
    }

    def tightened(part: Any) -> Any:
        if not pa.types.is_struct(part.type):
            return part
        inner = [
            tightened(each).with_nullable(each.name not in strict.get(part.name, ()))
            for each in part.type
        ]
        return pa.field(part.name, pa.struct(inner))

    schema = pa.schema([tightened(each) for each in loose.schema])
    store_checkpoint(table, 4, pa.Table.from_pylist(loose.to_pylist(), schema))
    publish_cut(case, table, 4)


@SCHEMA.case("not-null-partition-parsed", "CKC-016 CKC-015")
def _not_null_partition(case: CaseWriter) -> None:
    """Parsed values of a not-null partition column read."""
    schema = struct(field("id", "long"), field("p", "integer", nullable=False))
    table = GoldenTable.of(case, schema, partition_columns=["p"])
    first = table.create_with([{"id": 1}], partition={"p": 1})
    table.commit(remove(first), add(table.file([{"id": 2}], partition={"p": 2})))
    checkpoint_at(table, 1, stats_parsed=True)
    drop_commits(table.root, 1)
    table.append([{"id": 3}], partition={"p": 3})
    publish(case, table, versions=[1, 2], log_info={"lastCheckpointVersion": 1})


@SCHEMA.case("columns-without-bounds", "CKSCH-005 CKC-021")
def _no_bounds(case: CaseWriter) -> None:
    """Types without bounds do not disturb parsed statistics."""
    schema = struct(
        flag="boolean", raw="binary", list=array("integer"), map=map_of("string", "integer")
    )
    table = GoldenTable.created(case, schema)
    table.append([{"flag": True, "raw": b"x", "list": [1], "map": {"k": 1}}, {}])
    checkpoint_at(table, 1, stats_parsed=True)
    table.append([{"flag": False}])
    publish_cut(case, table, 1)
    kept = compare("flag", "=", True, "boolean")  # noqa: FBT003  a boolean value, not a flag
    filtered(case, table, "filter-flag", kept, "A filter on a column without bounds works")
