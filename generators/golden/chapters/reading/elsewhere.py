"""Cases of rules in the places where a reader meets them less often.

Each rule has a case of its own that shows it plainly. Here it holds in every type, in nested
columns, under column mapping, and in every form of checkpoint and compaction.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import is_null
from generators.golden.cases.publish import filtered, pin_times, publish
from generators.golden.cases.summarise import SUMMARIES, Summarise, classic, multi_part
from generators.golden.cases.table import (
    DataFile,
    GoldenTable,
    add,
    domain,
    feature_protocol,
    legacy_protocol,
    remove,
)
from generators.golden.chapters.files.changes import FEED, ask_changes, change_file, each_row
from generators.golden.chapters.files.deletion_vectors import numbered, store, with_vector
from generators.golden.chapters.log.checkpoints import grown
from generators.golden.chapters.log.reconciliation import domain_spec
from generators.golden.chapters.tables.column_mapping import mapped_table
from generators.golden.chapters.tables.row_tracking import Tracked
from generators.materialise.data.data_files import FileLayout
from generators.materialise.log.files import LOG_DIRECTORY, drop_commits
from generators.oracle.delta_schema import (
    ID_KEY,
    PHYSICAL_NAME_KEY,
    Field,
    Struct,
    assign_column_mapping,
    decimal,
    field,
    struct,
)

VALUES: Final = Chapter("partition-value-serialization")
ACTIONS: Final = Chapter("add-file-and-remove-file")
HINTS: Final = Chapter("last-checkpoint-file")
CHECKPOINTS: Final = Chapter("checkpoints")
ORDER: Final = Chapter("action-reconciliation")
DOMAINS: Final = Chapter("domain-metadata", since="2025")
DEFAULTS: Final = Chapter("default-columns", since="2025")
MAPPING: Final = Chapter("column-mapping", features=("columnMapping",))
VECTORS: Final = Chapter("deletion-vectors", since="2025", features=("deletionVectors",))
CHANGES: Final = Chapter("change-data-files", since="2025", features=("deletionVectors",))

Rows: TypeAlias = list[dict[str, Any]]

_PAIR: Final = struct(field("id", "long"), field("name", "string"))
_AFTER: Final = {name: SUMMARIES[name] for name in ("classic", "v2-json-sidecars", "compaction")}
"""Forms of summaries that a case is asked after."""


def _fields(of: Field) -> list[Field]:
    """Return the fields of a struct column."""
    if not isinstance(of.type, Struct):
        raise TypeError(f"{of.name} is no struct")
    return [*of.type]


def _summary_features(name: str) -> dict[str, Any]:
    """Return what a case says of itself that has a summary of a form."""
    if name == "v2-json-sidecars":
        return {"since": "2025", "features": ("v2Checkpoint",)}
    return {"since": "2025" if name == "compaction" else None}


def _protocol(name: str, *writers: str) -> dict[str, Any]:
    """Return the protocol of a table that has a summary of a form."""
    readers = ["v2Checkpoint"] if name == "v2-json-sidecars" else []
    if readers or writers:
        return feature_protocol(readers, writers)
    return legacy_protocol(1, 2)


# An empty text is null, whatever the type and wherever it is read from.

_TYPES: Final[dict[str, tuple[Any, Any]]] = {
    "byte": ("byte", 1),
    "short": ("short", 2),
    "long": ("long", 3),
    "float": ("float", 0.5),
    "double": ("double", 0.25),
    "boolean": ("boolean", True),
    "decimal": (decimal(5, 2), Decimal("1.25")),
    "date": ("date", date(2020, 2, 29)),
    "timestamp": ("timestamp", datetime.fromisoformat("2020-02-29T01:02:03+00:00")),
}


def _empty_texts(case: CaseWriter, form: str, summarise: Summarise | None) -> None:
    columns = struct(field("id", "long"), *(field(f"p_{n}", of) for n, (of, _) in _TYPES.items()))
    names = tuple(f"p_{name}" for name in _TYPES)
    if form == "mapped":
        table = mapped_table(case, columns, partition_columns=names)
    else:
        table = GoldenTable(
            case.delta,
            columns,
            seed=case.info.id,
            partition_columns=names,
            protocol=_protocol(form),
        )
    table.create()
    physical = [table.schema[name].physical_name for name in names]
    empty = table.file([{"id": 1}], partitionValues=dict.fromkeys(physical, ""))
    full = table.file(
        [{"id": 2}], partition={f"p_{name}": value for name, (_, value) in _TYPES.items()}
    )
    table.commit(add(empty), add(full))
    if summarise is not None:
        summarise(table, 1)
    table.commit(add(table.file([{"id": 3}], partitionValues=dict.fromkeys(physical, ""))))
    publish(case, table, files=False)
    for name in ("p_long", "p_boolean", "p_date"):
        probe = is_null(name)
        filtered(case, table, f"filter-{name[2:]}", probe, "The empty text counts as null")


for _form, _summarise in {"commits": None, "mapped": None, **_AFTER}.items():
    VALUES.define(
        f"empty-string-of-every-type-{_form}",
        "An empty text is null for every type that has no empty value",
        "PART-002",
        partial(_empty_texts, form=_form, summarise=_summarise),
        **({"features": ("columnMapping",)} if _form == "mapped" else _summary_features(_form)),
    )


# A remove finds its file, however the path is spelled.


def _lower(case: CaseWriter, name: str, spelled: str) -> None:
    """Write an escaped path in lower case in a file of the log."""
    place = case.delta / LOG_DIRECTORY / name
    text = place.read_text("utf-8")
    if spelled not in text:
        raise ValueError(f"{name} has no {spelled}")
    place.write_text(text.replace(spelled, spelled.lower()), "utf-8")


def _respelled(case: CaseWriter, form: str, summarise: Summarise | None) -> None:
    table = GoldenTable(case.delta, _PAIR, seed=case.info.id, protocol=_protocol(form))
    paths = ("é a.parquet", "ü+%.parquet", "plain.parquet")
    files = [table.file([{"id": n, "name": path}], path=path) for n, path in enumerate(paths)]
    table.create(*map(add, files))
    table.commit(add(table.file([{"id": 9, "name": "more"}])))
    if form != "compaction" and summarise is not None:
        summarise(table, 1)
    table.commit(remove(files[0]), remove(files[1]), operation="DELETE")
    written = [f"{2:020}.json"]
    if form == "compaction" and summarise is not None:
        summarise(table, 2)
        written += [f"{1:020}.{2:020}.compacted.json"]
    for name in written:
        for file in files[:2]:
            _lower(case, name, file.path)
    case.judged = {"read-latest": "REM-002", "read-v2": "REM-002"}
    publish(case, table)


for _form, _summarise in {"commits": None, **_AFTER}.items():
    ACTIONS.define(
        f"removed-in-lower-case-{_form}",
        "A remove may write the letters of escapes in another case",
        "REM-002 ADD-003 REC-006",
        partial(_respelled, form=_form, summarise=_summarise),
        **_summary_features(_form),
    )


@VECTORS.case(
    "removed-in-lower-case",
    "A remove with a vector may spell its escapes otherwise",
    "REM-002 ADD-003 REC-006",
)
def _respelled_vector(case: CaseWriter) -> None:
    table = GoldenTable(
        case.delta,
        _PAIR,
        seed=case.info.id,
        protocol=feature_protocol(["deletionVectors"]),
        properties={"delta.enableDeletionVectors": "true"},
    )
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
    case.judged = {"read-latest": "REM-002"}
    publish(case, table)


# Defaults are for writers, wherever a column lies.


def _defaults(case: CaseWriter, *, mapped: bool) -> None:
    inner = field("b", "string", metadata={"CURRENT_DEFAULT": "'preset'"})
    fields = (
        field("id", "long"),
        field("s", struct(field("a", "integer"), inner)),
        field("d", "date", metadata={"CURRENT_DEFAULT": "current_date()"}),
        field("p", "string", metadata={"CURRENT_DEFAULT": "'x'"}),
    )
    highest = 0
    columns = struct(*fields)
    if mapped:
        columns, highest = assign_column_mapping(columns, case.info.id)
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": str(highest),
    }
    readers = ["columnMapping"] if mapped else []
    table = GoldenTable(
        case.delta,
        columns,
        seed=case.info.id,
        partition_columns=("p",),
        protocol=feature_protocol(readers, ["allowColumnDefaults"]),
        properties=properties if mapped else {},
    )
    table.create()
    known, nested, _, part = table.schema
    older = struct(known, replace(nested, type=struct(*_fields(nested)[:1])), part)
    first: Rows = [{"id": 1, "s": {"a": 1}}]
    table.commit(add(table.file(first, partition={"p": None}, written_as=older)))
    second: Rows = [{"id": 2, "s": {"a": 2, "b": None}, "d": None}, {"id": 3, "s": None, "d": None}]
    table.commit(add(table.file(second, partition={"p": None})))
    third: Rows = [{"id": 4, "s": {"a": 4, "b": "own"}, "d": date(2020, 1, 1)}]
    table.commit(add(table.file(third, partition={"p": "y"})))
    publish(case, table, files=False)
    for slug, name in (("nested", "s.b"), ("date", "d"), ("partition", "p")):
        title = "A null is no default, for a filter as well"
        filtered(case, table, f"filter-{slug}", is_null(name), title)


DEFAULTS.define(
    "defaults-of-every-column",
    "Defaults of nested and partition columns never show in a read",
    "DFT-004 DFT-001",
    partial(_defaults, mapped=False),
)
DEFAULTS.define(
    "defaults-of-mapped-columns",
    "Defaults of mapped columns never show in a read",
    "DFT-004 DFT-001",
    partial(_defaults, mapped=True),
    features=("columnMapping",),
)


# Column mapping goes by the mode, deep in a column and under feature lists as well.


def _crossed(schema: Struct, key: str) -> Struct:
    """Exchange a key of the metadata of the last two columns."""
    first, second, third = schema
    return struct(
        first,
        replace(second, metadata={**second.metadata, key: third.metadata[key]}),
        replace(third, metadata={**third.metadata, key: second.metadata[key]}),
    )


_TWINS: Final = struct(field("id", "long"), field("a", "string"), field("b", "string"))


def _by_mode(case: CaseWriter, mode: str, protocol: dict[str, Any]) -> None:
    table = mapped_table(case, _TWINS, mode=mode, protocol=protocol)
    table.create()
    if mode == "none":
        plain = struct(*(Field(each.name, each.type) for each in table.schema))
        written = plain
    else:
        written = _crossed(table.schema, PHYSICAL_NAME_KEY if mode == "id" else ID_KEY)
    rows = [{"id": n, "a": f"a{n}", "b": f"b{n}"} for n in range(2)]
    file = table.file(rows, written_as=written, statistics={"numRecords": 2})
    table.commit(add(table.register(DataFile(file.body, tuple(rows), table.schema))))
    case.judged = {"read-latest": "CM-023"}
    publish(case, table)


for _mode, _words in {
    "none": "Left-over ids and names mean nothing in mode none",
    "name": "In mode name ids of a file mean nothing",
    "id": "In mode id names of a file mean nothing",
}.items():
    MAPPING.define(
        f"mode-{_mode}-alone-feature",
        f"{_words}, under lists",
        "CM-023 CM-024" if _mode == "none" else "CM-023",
        partial(_by_mode, mode=_mode, protocol=feature_protocol(["columnMapping"])),
        since="2025",
    )


@MAPPING.case(
    "id-mode-nested-id-missing",
    "In mode id a nested column whose id is absent is null",
    "CM-028",
)
def _nested_missing(case: CaseWriter) -> None:
    inner = struct(field("a", "integer"), field("b", "string"))
    table = mapped_table(case, struct(field("id", "long"), field("s", inner)), mode="id")
    number, nested = table.schema
    first, second = _fields(nested)
    other = replace(second, metadata={**second.metadata, ID_KEY: 9})
    table.properties["delta.columnMapping.maxColumnId"] = "9"
    before = struct(number, replace(nested, type=struct(first, other)))
    rows = [{"id": 1, "s": {"a": 1, "b": "of a column of before"}}]
    written = table.file(rows, written_as=before, statistics={"numRecords": 1})
    expected = ({"id": 1, "s": {"a": 1, "b": None}},)
    file = table.register(DataFile(written.body, expected, table.schema))
    table.create(add(file), add(table.file([{"id": 2, "s": {"a": 2, "b": "b"}}])))
    publish(case, table)


# A vector counts rows of the file, whatever is asked.


@VECTORS.case(
    "row-groups-of-tracked-rows",
    "Vectors and row ids count on from row group to row group",
    "DVDESC-021 RT-024",
    features=("deletionVectors",),
)
def _tracked_groups(case: CaseWriter) -> None:
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
    return GoldenTable(
        case.delta,
        _PAIR,
        seed=case.info.id,
        protocol=feature_protocol(["deletionVectors"], ["changeDataFeed"]),
        properties={**FEED, "delta.enableDeletionVectors": "true"},
    )


@CHANGES.case(
    "row-groups-of-deleted-rows",
    "Changes count the rows of a vector on from row group to row group",
    "DVDESC-021 CDC-004 REM-014",
)
def _feed_groups(case: CaseWriter) -> None:
    table = _feed_with_vectors(case)
    file = table.file(numbered(30), layout=FileLayout(row_group_rows=8))
    gone = (3, 8, 17, 29)
    (vector,) = store(table, gone)
    table.create(add(file, deletionVector=vector))
    table.commit(remove(file, deletionVector=vector), operation="DELETE")
    publish(case, table)
    pin_times(case, table)
    left = [row for index, row in enumerate(file.rows) if index not in gone]
    changes = [*each_row("insert", 0, left), *each_row("delete", 1, left)]
    case.judged = {"changes-all": "DVDESC-021"}
    ask_changes(case, table, "changes-all", 0, None, changes, "Deleted rows neither come nor go")


@CHANGES.case(
    "updated-by-vector",
    "Change files tell the changes of a commit with vectors as well",
    "CDC-003 CDFF-008",
)
def _updated_by_vector(case: CaseWriter) -> None:
    table = _feed_with_vectors(case)
    file = table.file(numbered(4))
    table.create(add(file))
    (vector,) = store(table, [1])
    old, new = file.rows[1], {"id": 1, "name": "updated"}
    cdc = change_file(table, [old, new], ["update_preimage", "update_postimage"])
    table.commit(*with_vector(file, vector), add(table.file([new])), cdc, operation="UPDATE")
    publish(case, table)
    pin_times(case, table)
    changes = [
        *each_row("insert", 0, file.rows),
        ("update_preimage", 1, old),
        ("update_postimage", 1, new),
    ]
    case.judged = {"changes-all": "CDC-003", "changes-1-1": "CDC-003"}
    ask_changes(case, table, "changes-all", 0, None, changes, "An update has both its images")
    ask_changes(case, table, "changes-1-1", 1, 1, changes, "It has them alone")


# What a summary says is gone may come again, and what follows it is in order.


def _set_again(case: CaseWriter, form: str, summarise: Summarise) -> None:
    table = GoldenTable(
        case.delta, _PAIR, seed=case.info.id, protocol=_protocol(form, "domainMetadata")
    )
    table.create(domain("app.again", '{"x":1,"y":2}'), domain("app.kept", '{"k":1}'))
    table.commit(add(table.file([{"id": 1, "name": "a"}])), domain("app.late", "0", removed=True))
    table.commit(domain("app.again", '{"x":1,"y":2}', removed=True))
    if form != "compaction":
        summarise(table, 2)
    table.commit(domain("app.again", '{"z":3}'), domain("app.late", "[]"))
    if form == "compaction":
        summarise(table, 3)
    table.commit(add(table.file([{"id": 2, "name": "b"}])))
    case.judged = {
        "domain-app-again": "REC-017",
        "domain-app-late": "REC-017",
        "domain-app-again-v2": "REC-016",
        "domain-app-kept": "DOM-012",
    }
    publish(case, table)
    domain_spec(case, "app.again", '{"z":3}')
    domain_spec(case, "app.again", None, 2)
    domain_spec(case, "app.late", "[]")
    domain_spec(case, "app.kept", '{"k":1}')


for _form, _summarise in _AFTER.items():
    DOMAINS.define(
        f"set-again-after-{_form}",
        "A domain that is gone and set again is there as set last",
        "REC-017 REC-014 REC-016 DOM-012",
        partial(_set_again, form=_form, summarise=_summarise),
        features=("v2Checkpoint",) if _form == "v2-json-sidecars" else (),
    )


def _in_order(case: CaseWriter, form: str, summarise: Summarise) -> None:
    table = GoldenTable(case.delta, _PAIR, seed=case.info.id, protocol=_protocol(form))
    files = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(4)]
    table.create(add(files[0]))
    table.commit(add(files[1]))
    summarise(table, 1)
    table.commit(remove(files[0]), add(files[2]), operation="WRITE")
    table.commit(add(files[0]), remove(files[2]), operation="RESTORE")
    table.commit(add(files[3]), remove(files[1]), operation="WRITE")
    table.commit(add(files[1]), remove(files[3]), operation="RESTORE")
    case.judged = {"read-latest": "REC-001", "read-v5": "REC-001", "files-latest": "REC-001"}
    publish(case, table)


for _form, _summarise in _AFTER.items():
    ORDER.define(
        f"in-order-after-{_form}",
        "Commits after a summary are replayed in ascending order",
        "REC-001 REC-018 REC-006",
        partial(_in_order, form=_form, summarise=_summarise),
        **_summary_features(_form),
    )


def _flagged(case: CaseWriter, form: str, summarise: Summarise) -> None:
    table = GoldenTable(case.delta, _PAIR, seed=case.info.id, protocol=_protocol(form))
    old = [table.file([{"id": n, "name": f"n{n}"}]) for n in range(3)]
    table.create(*map(add, old))
    merged = table.file([*old[0].rows, *old[1].rows], dataChange=False)
    gone = [remove(file, dataChange=False) for file in old[:2]]
    table.commit(add(merged), *gone, operation="OPTIMIZE")
    summarise(table, 1)
    if form != "compaction":
        drop_commits(table.root, 1)
    table.commit(add(table.file([{"id": 9, "name": "n9"}])))
    case.judged = {"read-latest": "CKC-027", "files-latest": "CKC-027"}
    publish(case, table, versions=[1, 2])


for _form, _summarise in _AFTER.items():
    CHECKPOINTS.define(
        f"rearranged-files-in-{_form}",
        "Files that bring no data are live and dead all the same",
        "CKC-027 REC-018",
        partial(_flagged, form=_form, summarise=_summarise),
        **_summary_features(_form),
    )


def _newer(case: CaseWriter, summarise: Summarise, newer: Summarise, **options: Any) -> None:
    table = grown(case, 7, **options)
    summarise(table, 2)
    hint = case.delta / LOG_DIRECTORY / "_last_checkpoint"
    if not hint.is_file():
        raise ValueError("the first checkpoint has no hint")
    text = hint.read_bytes()
    newer(table, 4)
    hint.write_bytes(text)
    # The commits between both are gone, so that the hint alone leads nowhere.
    drop_commits(table.root, 4)
    case.judged = {"read-latest": "LAST-003", "files-latest": "LAST-003"}
    publish(case, table, versions=[4, 5, 6], log_info={"lastCheckpointVersion": 4})


HINTS.define(
    "stale-before-parts",
    "A reader goes beyond a hint to a newer checkpoint of parts",
    "LAST-003 CKPT-021",
    partial(_newer, summarise=classic, newer=multi_part),
)
HINTS.define(
    "stale-of-v2",
    "A reader goes beyond a hint to a V2 checkpoint",
    "LAST-003",
    partial(
        _newer,
        summarise=SUMMARIES["v2-parquet"],
        newer=SUMMARIES["v2-json-sidecars"],
        protocol=feature_protocol(["v2Checkpoint"]),
    ),
    since="2025",
    features=("v2Checkpoint",),
)

CHAPTERS = (
    VALUES,
    ACTIONS,
    HINTS,
    CHECKPOINTS,
    ORDER,
    DOMAINS,
    DEFAULTS,
    MAPPING,
    VECTORS,
    CHANGES,
)
