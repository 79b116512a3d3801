"""Cases of row ids, changes, times and values under several features, in every layout of the log.

Covers the sections whose rules are asked about; :mod:`generators.golden.chapters.crossed.layouts`
says what such a case is like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, Final

import pyarrow as pa

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED, ask_changes, each_row
from generators.golden.cases.filters import all_of, compare, is_in, is_null
from generators.golden.cases.publish import commit_times, describe
from generators.golden.cases.summarise import LAYOUTS, Layout
from generators.golden.cases.table import (
    EPOCH,
    MINUTE,
    DataFile,
    GoldenTable,
    add,
    feature_protocol,
    remove,
)
from generators.golden.chapters.crossed.layouts import (
    AT,
    CYCLE,
    KEPT,
    LaidOutTable,
    Mapped,
    annotated,
)
from generators.golden.chapters.files.deletion_vectors import (
    WITH_VECTORS,
    inline,
    store,
    with_vector,
)
from generators.golden.chapters.log.time_travel import stamped, travel
from generators.golden.chapters.tables.row_tracking import TRACKED_PROPERTIES, TRACKED_ROWS, Tracked
from generators.materialise.data.data_files import ExtraColumn, FileLayout
from generators.materialise.log.files import LOG_DIRECTORY, commit_name
from generators.oracle.delta_schema import (
    Struct,
    array,
    assign_column_mapping,
    field,
    map_structs,
    mapped_by,
    struct,
)

TRACKING: Final = Chapter("row-tracking", since="2025")
CHANGES: Final = Chapter("add-cdc-file", since="2025")
TIMES: Final = Chapter("in-commit-timestamps", since="2025")
WIDENING: Final = Chapter("type-widening", since="upstream")
DEFAULTS: Final = Chapter("default-columns", since="2025")
RECONCILED: Final = Chapter("action-reconciliation", since="2025")


def _crossed(
    chapter: Chapter,
    name: str,
    title: str,
    requirements: str,
    build: Callable[..., None],
    **options: Any,
) -> None:
    """Define a case for each layout."""
    for layout, how in LAYOUTS.items():
        chapter.define(
            f"{name}-{layout}",
            f"{title}: {layout}",
            requirements,
            partial(build, layout=how, **options),
        )


# Row ids: whichever of two sources a row does not have to go by says something else of it.


def _tracked(case: CaseWriter, mode: str, layout: Layout) -> None:
    readers = ["deletionVectors", *layout.readers, *(["columnMapping"] if mode else [])]
    tracked = Tracked(
        case,
        protocol=feature_protocol(readers, ["domainMetadata", "rowTracking"]),
        properties={**TRACKED_PROPERTIES, **WITH_VECTORS, **layout.properties},
    )
    table = tracked.table
    table.schema, mapping = mapped_by(mode, table.schema, case.info.id)
    table.properties |= mapping

    def file(name: str, **options: Any) -> DataFile:
        names = ("gone", name, name, name, "went", name)
        rows = [{"id": tracked.next_id + n, "name": each} for n, each in enumerate(names)]
        return tracked.file(rows, row_group_rows=2, **options)

    def fresh() -> list[int]:
        return [*range(tracked.next_id, tracked.next_id + 6)]

    table.create(add(file("begun")), tracked.mark())
    # Ids that no row has by its place.
    known = [tracked.next_id + n for n in (3, 0, 4, 1, 5, 2)]
    tracked.next_id += 6
    files = [file("ids", ids=known, versions=[1] * 6),
             file("versions", ids=fresh(), versions=[0] * 6)]  # fmt: skip
    table.commit(*map(add, files), tracked.mark())
    files += [file("no-ids", versions=[2] * 6), file("no-versions", ids=fresh())]
    table.commit(*map(add, files[2:]), tracked.mark())
    first, second = store(table, [0], [0, 4])
    third = inline(table, [0, 4])
    table.commit(*(a for f in files for a in with_vector(f, first)), operation="DELETE")
    table.commit(
        *with_vector(files[0], third, first), *with_vector(files[1], second, first),
        operation="DELETE",
    )  # fmt: skip
    table.commit(table.metadata(description="of no account"), operation="SET TBLPROPERTIES")
    table.commit(add(file("late")), tracked.mark())
    asked = LaidOutTable.of(case, table, layout)
    for name, judged in (
        ("ids", "RT-023"),
        ("versions", "RT-025"),
        ("no-ids", "RT-024"),
        ("no-versions", "RT-026"),
    ):
        kept = compare("name", "=", name, "string")
        for version, place in asked.asked:
            number = table.version if version is None else version
            case.row_spec(
                "row_ids",
                f"{name}-{place}",
                TRACKED_ROWS,
                [row for row in tracked.rows(number) if kept.keeps(row)],
                title="Rows have the ids and versions of the source that counts",
                parameters={"filter": kept.tree, "predicate": kept.sql},
                version=version,
                needs=["scan.filter"],
                requirement=judged,
            )
    kept = all_of(*(compare("name", "<>", name, "string") for name in ("gone", "went")))
    asked.read("plain", "RT-017", None, kept, "What is read without ids has none")
    asked.count("DVDESC-020", "Deleted rows do not count")


for _mode, _words in (("", "plain"), ("id", "mapped by id")):
    _crossed(
        TRACKING,
        f"crossed-{_mode or 'plain'}",
        f"Ids of rows under vectors, {_words}",
        "RT-023 RT-024 RT-025 RT-026 RT-017 DVDESC-020",
        _tracked,
        mode=_mode,
    )


# Changes.


def _changed(case: CaseWriter, mode: str, layout: Layout) -> None:
    features = (["deletionVectors"], ["changeDataFeed"])
    mapped = Mapped(case, mode, layout, features, {**FEED, **WITH_VECTORS})
    table = mapped.table
    one = mapped.file(0, (0, 1), "x", "y")
    table.create(add(one))
    table.commit(add(mapped.file(5, (9,), "y", "x")))
    mapped.rename()
    two = mapped.file(10, (2, 3, 4), "y", "x")
    table.commit(add(two))
    vector = inline(table, [2])
    three = mapped.file(20, (5, 6, 7), None, "y")
    table.commit(add(three, deletionVector=vector))
    old, new = mapped.file(10, (2,), "y", "x", ["delete"]), mapped.file(30, (8,), "y", "x")
    images = mapped.file(40, (1, 1), "y", "x", ["update_preimage", "update_postimage"])
    cdc = [
        {"cdc": {k: f.body[k] for k in ("path", "partitionValues", "size")} | {"dataChange": False}}
        for f in (old, images)
    ]
    table.commit(remove(two), add(new), *cdc, operation="MERGE")
    moved = mapped.file(20, (5, 6), None, "y")
    moves = (remove(three, deletionVector=vector, dataChange=False), add(moved, dataChange=False))
    table.commit(*moves, operation="OPTIMIZE")
    table.commit(remove(one), operation="DELETE")
    layout.lay(table, AT)
    describe(case, table)
    commit_times(case, table)
    gone = [{CYCLE.get(name, name): value for name, value in row.items()} for row in one.rows]
    changes = [
        *each_row("insert", 3, two.rows),
        *each_row("insert", 4, three.rows[:2]),
        *each_row("delete", 5, old.rows),
        ("update_preimage", 5, images.rows[0]),
        ("update_postimage", 5, images.rows[1]),
        # No data changes in version 6; whether a reader gives the rows that move is its own choice.
        *each_row("delete", 7, gone),
    ]
    found = "CM-025" if mode == "id" else "CM-029"
    for slug, at, judged, title in (
        ("added", 3, found, "Columns of changes are found as the mode says"),
        ("vector", 4, "DVD-008", "Deleted rows were never added"),
        ("told", 5, "CDC-003", "Change files are all that is read"),
        ("removed", 7, "CDC-004", "Rows of a removed file are deleted"),
    ):
        ask_changes(case, table, slug, at, at, changes, title, requirement=judged)


for _mode in ("name", "id"):
    _crossed(
        CHANGES,
        f"crossed-{_mode}",
        f"Changes under vectors and mode {_mode}",
        "CDC-003 CDC-004 DVD-008 " + ("CM-025" if _mode == "id" else "CM-029"),
        _changed,
        mode=_mode,
    )


# Types: bounds and partition values are of the type that a file was written with.

_NARROW: Final = struct(
    id="long", k="integer", v="integer", d="decimal(6,2)", f="float",
    s=struct(n="short"), l=array("short"), p="integer",
)  # fmt: skip
_WIDE: Final = {"v": "long", "d": "decimal(10,4)", "f": "double", "p": "long"}


def _change(old: str, new: str, **place: str) -> dict[str, Any]:
    return {"delta.typeChanges": [{"fromType": old, "toType": new, **place}]}


def _widened_schema(schema: Struct) -> Struct:
    """Return the schema with wider types, and what they were in the metadata."""
    found = {each.name: each for each in schema}
    for name, new in _WIDE.items():
        old = _NARROW[name].to_json()["type"]
        metadata = {**found[name].metadata, **_change(old, new)}
        found[name] = replace(found[name], type=field(name, new).type, metadata=metadata)

    def inner(of: Struct) -> Struct:
        within = _change("short", "integer")
        return Struct(
            tuple(
                replace(f, type=field(f.name, "integer").type, metadata={**f.metadata, **within})
                for f in of
            )
        )

    found["s"] = replace(found["s"], type=map_structs(found["s"].type, inner))
    elements = {**found["l"].metadata, **_change("short", "integer", fieldPath="element")}
    found["l"] = replace(found["l"], type=array("integer"), metadata=elements)
    return Struct(tuple(found.values()))


def _widened(case: CaseWriter, mode: str, layout: Layout) -> None:
    readers = ["typeWidening", "deletionVectors", *(["columnMapping"] if mode else [])]
    table = GoldenTable.of(
        case,
        _NARROW,
        partition_columns=["p"],
        protocol=feature_protocol([*readers, *layout.readers]),
        properties={"delta.enableTypeWidening": "true", **WITH_VECTORS, **layout.properties},
    )
    table.schema, mapping = mapped_by(mode, _NARROW, case.info.id)
    table.properties |= mapping

    def file(first: int, base: int, p: int | None) -> DataFile:
        rows = [
            {"id": n, "k": mark, "v": base + n, "d": Decimal(f"{n}.25"), "f": 0.1 if base else 0.5,
             "s": {"n": n}, "l": [n, None]}
            for n, mark in enumerate((-1, 0, 1), first)
        ]  # fmt: skip
        return table.file(rows, partition={"p": p})

    one, two = file(0, 0, 5), file(10, 0, None)
    table.create(add(one))
    table.commit(add(two))
    table.schema = _widened_schema(table.schema)
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    (first,) = store(table, [0])
    table.commit(*with_vector(one, first), operation="DELETE")
    three = file(20, 2**40, 2**41)
    table.commit(add(three))
    vector = inline(table, [0])
    table.commit(*with_vector(two, vector), operation="DELETE")
    table.commit(add(file(30, -(2**40), 5)))
    asked = LaidOutTable.of(case, table, layout)
    title = "Values are of the type of now"
    asked.read("columns", "TW-012", ["id", "k", "v", "d", "f", "s", "l"], KEPT, title)
    title = "Files of before are kept or left out by what they hold"
    for slug, op, value in (("high", ">", 2**33), ("low", "<=", 10)):
        kept = all_of(KEPT, compare("v", op, value, "long"))
        asked.read(slug, "TW-012", ["id", "k", "v"], kept, title)
    # How mapped partition values are found is another rule.
    if not mode:
        kept = all_of(KEPT, compare("p", "=", 5, "long"))
        asked.read("partition", "TW-012", ["id", "k", "p"], kept, title)
    asked.count("DVDESC-020", "Deleted rows do not count")


for _mode in ("", "name"):
    _crossed(
        WIDENING,
        f"crossed-{_mode or 'plain'}",
        f"Wider types {'mapped by name' if _mode else 'under vectors'}",
        "TW-012 DVDESC-020",
        _widened,
        mode=_mode,
    )


# What a file lacks.


def _filled(case: CaseWriter, mode: str, layout: Layout) -> None:
    readers = ["deletionVectors", *(["columnMapping"] if mode else [])]
    base = struct(id="long", k="integer", p="integer")
    table = GoldenTable.of(
        case,
        base,
        partition_columns=["p"],
        protocol=feature_protocol([*readers, *layout.readers], ["allowColumnDefaults"]),
        properties={**WITH_VECTORS, **layout.properties},
    )

    def become(schema: Struct) -> None:
        if mode:
            highest = int(table.properties.get("delta.columnMapping.maxColumnId", "0"))
            schema, highest = assign_column_mapping(schema, case.info.id, start=highest + 1)
            table.properties["delta.columnMapping.mode"] = mode
            table.properties["delta.columnMapping.maxColumnId"] = str(highest)
        table.schema = schema

    def file(first: int, p: str, **values: Any) -> DataFile:
        rows = [{"id": n, "k": mark, **values} for n, mark in enumerate((0, -1, 1), first)]
        # Where files go by physical names or ids, a column of that display name is no such column.
        extra = [ExtraColumn("e", pa.array([7, 8, 9], pa.int64()))] if mode else []
        stored, value = {table.schema["p"].physical_name: p}, int(p) if p else None
        # The directory says the same, so that nothing but the empty text is asked about.
        return table.file(
            rows,
            partition={"p": value},
            partitionValues=stored,
            layout=FileLayout(extra=tuple(extra)),
        )

    become(base)
    one = file(0, "")
    table.create(add(one))
    two = file(10, "1")
    become(table.schema.with_fields(field("d", "string")))
    table.commit(table.metadata(), add(two), operation="ADD COLUMNS")
    *others, last = table.schema
    table.schema = struct(*others, annotated(last, "CURRENT_DEFAULT", "'preset'"))
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    (first,) = store(table, [1])
    table.commit(*with_vector(one, first), operation="DELETE")
    table.commit(add(file(20, "2", d="own")))
    become(table.schema.with_fields(field("e", "long")))
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.commit(add(file(30, "", d=None, **({} if mode else {"e": 5}))))
    asked = LaidOutTable.of(case, table, layout)
    title = "A default is no value of rows that lack it"
    asked.read("default", "DFT-004", ["id", "k", "d"], KEPT, title)
    title = "An empty text is null"
    if not mode:
        asked.read("empty", "PART-002", ["id", "k", "p"], all_of(KEPT, is_null("p")), title)
    # The earlier version has no such column.
    case.read(
        "lacking-latest",
        table.schema,
        table.rows(),
        title="A column that files lack is null",
        columns=["id", "k", "e"],
        filter=KEPT,
        requirement={"": "SNAP-007", "name": "CM-031", "id": "CM-028"}[mode],
    )


for _mode, _judged in (("", "SNAP-007"), ("name", "CM-031"), ("id", "CM-028")):
    _crossed(
        DEFAULTS,
        f"crossed-{_mode or 'plain'}",
        f"What files lack is null{f', mode {_mode}' if _mode else ''}",
        f"DFT-004 PART-002 {_judged}",
        _filled,
        mode=_mode,
    )


# Files that come and go, with one vector and another.


def _replayed(case: CaseWriter, layout: Layout) -> None:
    table = GoldenTable.of(
        case,
        struct(id="long", k="integer"),
        protocol=feature_protocol(["deletionVectors", *layout.readers]),
        properties={**WITH_VECTORS, **layout.properties},
    )

    def file(k: int) -> DataFile:
        return table.file([{"id": 10 * k + n, "k": k} for n in range(4)])

    back, again, kept, inside, gone, dead, away = map(file, range(7))
    one, two, three, four = store(table, [0], [0, 1], [2], [2, 3])
    within, prefixed = inline(table, [1]), store(table, [1, 2], prefix="ab")[0]
    table.create(*map(add, (back, again, kept, inside, gone, dead, away)))
    table.commit(remove(back), *with_vector(again, one), *with_vector(inside, within),
                 add(kept, tags={"round": "1"}))  # fmt: skip
    table.commit(add(back), *with_vector(again, two, one), *with_vector(inside, prefixed, within),
                 remove(gone), remove(dead))  # fmt: skip
    table.commit(remove(again, deletionVector=two), add(again), add(kept, modificationTime=7),
                 *with_vector(inside, within, prefixed))  # fmt: skip
    table.commit(remove(back), *with_vector(again, one), add(gone), remove(kept),
                 remove(away))  # fmt: skip
    table.commit(*with_vector(gone, three), add(kept, tags={"round": "2"}), add(dead),
                 *with_vector(inside, prefixed, within))  # fmt: skip
    table.commit(add(back), remove(again), *with_vector(gone, four, three))
    asked = LaidOutTable.of(case, table, layout)
    for k, (slug, judged, whole) in enumerate(
        (
            ("back", "REC-008", range(4)),
            ("again", "REC-010", (3,)),
            ("kept", "REC-018", range(4)),
            ("inside", "DVDESC-013", (0, 3)),
            ("gone", "DVDESC-014", (0, 1)),
            ("dead", "REC-008", range(4)),
            ("away", "REC-018", range(4)),
        )
    ):
        # What a vector deletes is another rule.
        rows = is_in("id", [10 * k + n for n in whole], "long")
        title = "The newest action of file and vector counts"
        # Before it has a vector, the file is gone.
        earlier = "REC-018" if slug == "gone" else None
        asked.read(slug, judged, ["id", "k"], rows, title, earlier=earlier)
    asked.state()


_crossed(
    RECONCILED,
    "crossed",
    "Files come and go with vectors",
    "REC-008 REC-010 REC-018 REC-013 DVDESC-013 DVDESC-014",
    _replayed,
)


# Times: file times run backwards, and what writers say of the time is of no account.


def _timed(case: CaseWriter, layout: Layout) -> None:
    before, enabled = EPOCH + 7 * MINUTE, EPOCH + 100 * MINUTE
    properties = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(enabled),
        **layout.properties,
    }
    stamps: dict[int, int | None] = {0: None, 1: None}
    stamps |= {v: enabled + 10 * MINUTE * (v - 2) for v in range(2, 7)}
    table = stamped(case, stamps, properties=properties, enabled_at=2, readers=layout.readers)
    layout.lay(table, AT)
    describe(case, table)
    for version in table.versions:
        if version >= (AT if layout.cuts else 0):
            # Nor is it what commitInfo says.
            time = before + MINUTE * version if version < 2 else EPOCH + MINUTE * (90 - version)
            case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", time)
    for version in range(AT if layout.cuts else 0, 7):
        stamp = stamps[version]
        judged = "ICT-015" if stamp is None else "ICT-013"
        time = before + MINUTE * version if stamp is None else stamp
        for slug, at in ((f"v{version}", time), (f"v{version}-later", time + MINUTE // 2)):
            # A few instants between two versions stand for all.
            if at == time or version < 5:
                case.judged[f"at-{slug}"] = judged
                travel(case, table, slug, at, version)


_crossed(TIMES, "crossed", "Times are those of commits", "ICT-013 ICT-015", _timed)
