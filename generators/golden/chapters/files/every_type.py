"""Cases that ask for values of every type in every way: changes, row ids, extremes, old versions.

Covers "Change Data Files", "Row IDs", "Partition Value Serialization" and "Per-file Statistics".
Readers often have a way of their own to each of these, which loses what the plain one keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED, ask_changes, change_file, each_row
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import aggregated, commit_times, describe, filtered, read_spec
from generators.golden.cases.table import (
    EPOCH,
    DataFile,
    GoldenTable,
    add,
    feature_protocol,
    remove,
)
from generators.golden.chapters.files.types import PRIMITIVES
from generators.golden.chapters.log.time_travel import travel
from generators.golden.chapters.tables.row_tracking import TRACKED_PROPERTIES, high_water_mark
from generators.oracle.delta_schema import Struct, array, field, map_of, struct

FILES: Final = Chapter("change-data-files")

_TYPES: Final = {each.slug.replace("-", "_"): each for each in PRIMITIVES}
_PROTOCOL: Final = feature_protocol(
    ["timestampNtz"], ["changeDataFeed", "domainMetadata", "rowTracking"]
)
_NESTED: Final = struct(
    numbers=array("integer"), place=struct(x="integer", y="string"), named=map_of("string", "long")
)
_WITHIN: Final[Sequence[dict[str, Any]]] = (
    {"numbers": [1, None], "place": {"x": 1, "y": None}, "named": [("a", None), ("B", 2)]},
    {"numbers": [], "place": {"x": None, "y": "y"}, "named": []},
    {"numbers": None, "place": None, "named": None},
)
_WITHOUT_EXTREMES: Final = ("float", "double", "binary", "string")
"""Types whose order or bounds leave a freedom: NaN, signed zeros, and texts that are cut."""


def _columns() -> list[dict[str, Any]]:
    """Return rows with the values of every type in turn, and with nulls."""
    count = max(len(each.values) for each in PRIMITIVES) + 1
    return [
        {name: (*each.values, None)[n % (len(each.values) + 1)] for name, each in _TYPES.items()}
        | _WITHIN[n % len(_WITHIN)]
        for n in range(count)
    ]


def _partitions() -> list[dict[str, Any]]:
    """Return values of every type that partitions have: the first, the second and the last.

    Binary ones have cases of their own, which many engines fail.
    """
    held = {
        name: [value for value in each.values if value != ""]
        for name, each in _TYPES.items()
        if each.type != "binary"
    }
    return [{n: values[at] for n, values in held.items()} for at in (0, 1, -1)]


def _asked(case: CaseWriter, *, partitioned: bool) -> None:
    given = _partitions() if partitioned else _columns()
    typed = struct(**{name: each.type for name, each in _TYPES.items() if name in given[0]})
    schema = Struct((*struct(id="long"), *typed, *(() if partitioned else _NESTED)))
    table = GoldenTable.of(
        case,
        schema,
        protocol=_PROTOCOL,
        partition_columns=list(given[0]) if partitioned else [],
        properties={**FEED, **TRACKED_PROPERTIES},
    )

    def written(rows: Sequence[Mapping[str, Any]]) -> DataFile:
        base = rows[0]["id"]
        return table.file(
            rows,
            path=f"of-{base}.parquet",
            partition=_of_partition(rows, partitioned=partitioned),
            baseRowId=base,
            defaultRowCommitVersion=table.version + 1,
        )

    count = len(given)
    before, after = (
        [{"id": n, **each} for n, each in enumerate(given, start)] for start in (0, count)
    )
    # Rows of one file, and of its partition if there are any.
    old, new = ([[row] for row in rows] if partitioned else [rows] for rows in (before, after))
    first = [*map(written, old)]
    table.create(*map(add, first), high_water_mark(count - 1))
    second = [*map(written, new)]
    kinds = ("update_preimage", "update_postimage")
    feeds = [
        change_file(
            table,
            [*was, *becomes],
            [kind for kind in kinds for _ in was],
            partition=_of_partition(was, partitioned=partitioned),
        )
        for was, becomes in zip(old, new, strict=True)
    ]
    table.commit(*map(remove, first), *map(add, second), *feeds, high_water_mark(2 * count - 1))
    table.commit(*map(remove, second), operation="DELETE")
    describe(case, table)
    commit_times(case, table)
    changed = [
        change
        for kind, rows in zip(kinds, (before, after), strict=True)
        for change in each_row(kind, 1, rows)
    ]
    ask_changes(case, table, "changes-1-1", 1, 1, changed, "Values are those of the change files")
    gone = each_row("delete", 2, after)
    case.judged["changes-2-2"] = "CDC-004"
    ask_changes(case, table, "changes-2-2", 2, 2, gone, "Values are those of the files removed")
    asked = ("read-v0", "filter-v0", "row-ids-v0", "aggregate-v0")
    case.judged |= dict.fromkeys(asked, "SNAP-007")
    read_spec(case, table, 0)
    travel(case, table, "v0", EPOCH, 0)
    filtered(
        case, table, "filter-v0", compare("id", ">=", 0, "long"), "Filtered ones, too", version=0
    )
    tracked = [{**row, "_row_id": row["id"], "_row_commit_version": 0} for row in before]
    case.row_spec(
        "row_ids",
        "row-ids-v0",
        schema.with_fields(field("_row_id", "long"), field("_row_commit_version", "long")),
        tracked,
        title="Values beside row ids are those of the files",
        parameters={"version": 0},
    )
    extremes = [n for n, each in _TYPES.items() if each.type not in _WITHOUT_EXTREMES]
    title = "Extremes are those of the rows, in every type"
    aggregated(case, table, "aggregate-v0", extremes, title, version=0)


def _of_partition(rows: Sequence[Mapping[str, Any]], *, partitioned: bool) -> dict[str, Any] | None:
    return {name: value for name, value in rows[0].items() if name != "id"} if partitioned else None


for _name, _partitioned, _title in (
    ("files-of-every-type", False, "Values of every type are the same in every question"),
    ("partitions-of-every-type", True, "Partition values of every type are, too"),
):
    FILES.define(
        _name,
        _title,
        "CDC-003 CDFF-006 CDC-004 CDC-007 PART-004" if _partitioned else "CDC-003 CDFF-006 CDC-004",
        partial(_asked, partitioned=_partitioned),
        since="2025",
    )
