"""Cases of row tracking: ids and commit versions, default and materialised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED, ask_changes
from generators.golden.cases.filters import Filter, compare
from generators.golden.cases.publish import commit_times, describe, filtered, publish, publish_cut
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.summarise import SUMMARIES
from generators.golden.cases.table import (
    DataFile,
    GoldenTable,
    add,
    domain,
    feature_protocol,
    legacy_protocol,
    pairs,
    remove,
    writer_protocol,
)
from generators.golden.chapters.files.deletion_vectors import store
from generators.materialise.data.data_files import ExtraColumn, FileLayout
from generators.oracle.delta_schema import mapped_by, struct

TRACKING = Chapter("row-tracking", since="2025")

_ROW_ID = "_row-id-col-7f3a"
_COMMIT_VERSION = "_row-commit-version-col-7f3a"
_NAMED_BY = (
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)
TRACKED_PROPERTIES = {
    "delta.enableRowTracking": "true",
    _NAMED_BY[0]: _ROW_ID,
    _NAMED_BY[1]: _COMMIT_VERSION,
}
_WRITERS = ("domainMetadata", "rowTracking")
_PROTOCOL = writer_protocol(_WRITERS)
TRACKED_ROWS = struct(id="long", name="string", _row_id="long", _row_commit_version="long")


def high_water_mark(highest: int) -> dict[str, Any]:
    """Return the action that records a highest id."""
    return domain("delta.rowTracking", f'{{"rowIdHighWaterMark":{highest}}}')


class Tracked:
    """A table with row tracking and what each of its files says of its rows' ids."""

    def __init__(self, case: CaseWriter, **options: Any) -> None:
        options = {"protocol": _PROTOCOL, "properties": TRACKED_PROPERTIES, **options}
        self.table = GoldenTable.of(case, PAIR, **options)
        self.next_id = 0
        self.hidden = (_ROW_ID, _COMMIT_VERSION)
        self.materialised: dict[str, tuple[Sequence[int | None], Sequence[int | None]]] = {}

    def file(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        ids: Sequence[int | None] | None = None,
        versions: Sequence[int | None] | None = None,
        row_group_rows: int | None = None,
        **options: Any,
    ) -> DataFile:
        """Write a file with fresh row ids, and with materialised ids and versions where given."""
        extra = []
        if ids is not None:
            extra.append(ExtraColumn(self.hidden[0], pa.array(ids, pa.int64())))
        if versions is not None:
            extra.append(ExtraColumn(self.hidden[1], pa.array(versions, pa.int64())))
        file = self.table.file(
            rows,
            layout=FileLayout(extra=tuple(extra), row_group_rows=row_group_rows),
            baseRowId=self.next_id,
            defaultRowCommitVersion=self.table.version + 1,
            **options,
        )
        self.next_id += len(rows)
        nothing = [None] * len(rows)
        self.materialised[file.path] = (ids or nothing, versions or nothing)
        return file

    @classmethod
    def created(
        cls,
        case: CaseWriter,
        rows: Sequence[Mapping[str, Any]],
        *,
        row_group_rows: int | None = None,
        **options: Any,
    ) -> tuple[Tracked, DataFile]:
        """Start a table and commit version 0 with a file of some rows, which is given too."""
        tracked = cls(case, **options)
        file = tracked.file(rows, row_group_rows=row_group_rows)
        tracked.table.create(add(file), tracked.mark())
        return tracked, file

    def mark(self) -> dict[str, Any]:
        """Return the action that records the highest id given out."""
        return high_water_mark(self.next_id - 1)

    def rows(self, version: int) -> list[dict[str, Any]]:
        """Return the rows of a version with their ids and commit versions."""
        found = []
        for file, deleted in self.table.live(version):
            ids, versions = self.materialised[file.path]
            for index, row in enumerate(file.rows):
                if index in deleted:
                    continue
                fresh = file.body["baseRowId"] + index
                default = file.body["defaultRowCommitVersion"]
                own = versions[index]
                found.append(
                    {
                        **row,
                        "_row_id": fresh if ids[index] is None else ids[index],
                        "_row_commit_version": default if own is None else own,
                    }
                )
        return found

    def publish(self, case: CaseWriter, *versions: int) -> None:
        """Publish the table, and the row ids of some versions."""
        publish(case, self.table)
        self.ask(case, versions)

    def ask(self, case: CaseWriter, versions: Sequence[int]) -> None:
        """Write the row id specs of some versions."""
        for version in versions:
            case.row_spec(
                "row_ids",
                f"row-ids-v{version}",
                TRACKED_ROWS,
                self.rows(version),
                title=f"Rows of version {version} have their ids and versions",
                parameters={"version": version},
            )

    def ask_filtered(self, case: CaseWriter, kept: Filter) -> None:
        """Write a row id spec of the rows of the newest version that a filter keeps."""
        case.row_spec(
            "row_ids",
            "row-ids-filtered",
            TRACKED_ROWS,
            [row for row in self.rows(self.table.version) if kept.keeps(row)],
            title="Rows keep their ids where a filter leaves others out",
            parameters={"filter": kept.tree, "predicate": kept.sql},
            needs=["scan.filter"],
        )


@TRACKING.case("default-ids", "RT-024 RT-026 RT-005")
def _default(case: CaseWriter) -> None:
    """Without materialised ids a row's id is its position."""
    tracked, _ = Tracked.created(case, pairs(0, 3))
    tracked.table.commit(add(tracked.file(pairs(10, 2))), add(tracked.file([])), tracked.mark())
    case.judged["row-ids-v1"] = "RT-026"
    tracked.publish(case, 0, 1)
    tracked.ask_filtered(case, compare("id", ">=", 2, "long"))


@TRACKING.case("recommitted", "RT-026 RT-024 RT-030")
def _recommitted(case: CaseWriter) -> None:
    """A file that is committed again keeps its ids and version."""
    tracked, file = Tracked.created(case, pairs(0, 3))
    tracked.table.commit(add(file, dataChange=False, tags={"round": "2"}))
    case.judged["row-ids-v1"] = "RT-026"
    tracked.publish(case, 0, 1)


@TRACKING.case("last-ids", "RT-024 RT-026 RT-005")
def _last(case: CaseWriter) -> None:
    """Row ids reach to the end of 64 bits."""
    tracked = Tracked(case)
    tracked.next_id = 2**63 - 3
    tracked.table.create(add(tracked.file(pairs(0, 3))), tracked.mark())
    tracked.publish(case, 0)


@TRACKING.case("materialised-ids", "RT-015 RT-016 RT-017 RT-021 RT-022 RT-023 RT-025 RT-033 RT-043")
def _materialised(case: CaseWriter) -> None:
    """Materialised ids and versions come before default ones."""
    tracked, first = Tracked.created(case, pairs(0, 4))
    table = tracked.table
    updated = [{"id": 0, "name": "changed"}, *pairs(1, 3), {"id": 50, "name": "inserted"}]
    rewritten = tracked.file(updated, ids=[0, 1, 2, 3, None], versions=[None, 0, 0, 0, None])
    table.commit(remove(first), add(rewritten), tracked.mark(), operation="MERGE")
    case.judged["row-ids-v1"] = "RT-025"
    publish(case, table)
    title = "A filtered read shows no hidden column"
    filtered(case, table, "filter-id", compare("id", ">", 0, "long"), title)
    tracked.ask(case, [0, 1])


@TRACKING.case("hidden-from-changes", "RT-017")
def _hidden_from_changes(case: CaseWriter) -> None:
    """The change feed shows no hidden column."""
    tracked, _ = Tracked.created(
        case,
        pairs(0, 2),
        protocol=writer_protocol(("changeDataFeed", *_WRITERS)),
        properties={**TRACKED_PROPERTIES, **FEED},
    )
    table, rows = tracked.table, pairs(10, 2)
    table.commit(add(tracked.file(rows, ids=[None] * 2, versions=[None] * 2)), tracked.mark())
    describe(case, table)
    commit_times(case, table)
    changes = [("insert", 1, row) for row in rows]
    title = "Rows come without what a file keeps of their ids"
    ask_changes(case, table, "changes-1-1", 1, 1, changes, title, requirement="RT-017")


@TRACKING.case("row-groups", "RT-024 RT-023 RT-026")
def _row_groups(case: CaseWriter) -> None:
    """Default ids count through all row groups of a file."""
    tracked, first = Tracked.created(case, pairs(0, 17), row_group_rows=5)
    tracked.table.commit(add(tracked.file(pairs(50, 3))), tracked.mark())
    ids = [None if number % 4 else number for number in range(17)]
    moved = tracked.file(pairs(0, 17), ids=ids, row_group_rows=7)
    tracked.table.commit(remove(first), add(moved), tracked.mark())
    tracked.publish(case, 0, 1, 2)
    tracked.ask_filtered(case, compare("id", ">", 9, "long"))


@TRACKING.case("one-column-materialised", "RT-022 RT-023 RT-026")
def _one_column(case: CaseWriter) -> None:
    """A materialised column that would be null may be absent."""
    tracked, first = Tracked.created(case, pairs(0, 2))
    moved = tracked.file(pairs(0, 2), ids=[1, 0])
    tracked.table.commit(remove(first), add(moved), tracked.mark())
    tracked.publish(case, 0, 1)


def _thirds(values: Sequence[int], rest: int = 0) -> list[int | None]:
    """Return the values, but null for those whose place leaves a rest when divided by three."""
    return [None if at % 3 == rest else value for at, value in enumerate(values)]


@TRACKING.case("ids-of-some-rows", "RT-023 RT-022 RT-024")
def _some_ids(case: CaseWriter) -> None:
    """A row has its materialised id whatever the other rows of its file have."""
    tracked, first = Tracked.created(case, pairs(0, 20))
    moved = tracked.file(pairs(0, 20), ids=_thirds(range(20)), row_group_rows=7)
    tracked.table.commit(remove(first), add(moved), tracked.mark())
    late = tracked.file(pairs(0, 20), ids=[*[None] * 12, *range(12, 20)])
    tracked.table.commit(remove(moved), add(late), tracked.mark())
    case.judged = dict.fromkeys(("row-ids-v1", "row-ids-v2"), "RT-023")
    tracked.publish(case, 1, 2)


@TRACKING.case("versions-alone-materialised", "RT-025 RT-022 RT-026")
def _versions_alone(case: CaseWriter) -> None:
    """A row has its materialised version in a file that has no ids."""
    tracked, _ = Tracked.created(case, pairs(50, 3))
    table = tracked.table
    table.commit(add(tracked.file(pairs(60, 3))), tracked.mark())
    every = tracked.file(pairs(0, 12), versions=[at % 2 for at in range(12)])
    some = tracked.file(pairs(20, 20), versions=_thirds([0, 1] * 10), row_group_rows=7)
    table.commit(add(every), add(some), tracked.mark())
    late = tracked.file(pairs(80, 20), versions=[*[None] * 12, *[0, 1, 2, 1] * 2])
    table.commit(add(late), tracked.mark())
    case.judged = dict.fromkeys(("row-ids-v2", "row-ids-v3"), "RT-025")
    tracked.publish(case, 2, 3)


@TRACKING.case("versions-of-some-rows", "RT-025 RT-022 RT-026")
def _some_versions(case: CaseWriter) -> None:
    """A row has its materialised version whether or not it has an id."""
    tracked, _ = Tracked.created(case, pairs(50, 3))
    for number in range(1, 3):
        # What is materialised is what the ids are anyhow: the versions alone may be wrong.
        fresh = range(tracked.next_id, tracked.next_id + 20)
        ids: Sequence[int | None] = [None] * 20 if number == 1 else _thirds(fresh)
        versions = _thirds([0] * 20, rest=1)
        file = tracked.file(pairs(100 * number, 20), ids=ids, versions=versions, row_group_rows=7)
        tracked.table.commit(add(file), tracked.mark())
    case.judged = dict.fromkeys(("row-ids-v1", "row-ids-v2"), "RT-025")
    tracked.publish(case, 1, 2)


@TRACKING.case("null-versions", "RT-026 RT-022 RT-025")
def _null_versions(case: CaseWriter) -> None:
    """A row whose materialised version is null has that of its file."""
    tracked, _ = Tracked.created(case, pairs(50, 3))
    table = tracked.table
    # What is null in every row comes from no writer that leaves such columns out.
    null = tracked.file(pairs(0, 12), versions=[None] * 12, row_group_rows=5)
    table.commit(add(null), tracked.mark())
    both = tracked.file(pairs(20, 6), ids=[None] * 6, versions=[None] * 6)
    table.commit(add(both), tracked.mark())
    case.judged = dict.fromkeys(("row-ids-v1", "row-ids-v2"), "RT-026")
    tracked.publish(case, 1, 2)


@TRACKING.case("ids-under-vectors", "RT-024 DVDESC-021 RT-030 DV-004")
def _vectors(case: CaseWriter) -> None:
    """A deleted row keeps its place in the numbering, and stays deleted."""
    protocol = feature_protocol(["deletionVectors"], ["domainMetadata", "rowTracking"])
    properties = {**TRACKED_PROPERTIES, "delta.enableDeletionVectors": "true"}
    tracked, file = Tracked.created(case, pairs(0, 5), protocol=protocol, properties=properties)
    vector = store(tracked.table, [0, 2])[0]
    kept = {key: file.body[key] for key in ("baseRowId", "defaultRowCommitVersion")}
    tracked.table.commit(remove(file, **kept), add(file, deletionVector=vector), operation="DELETE")
    tracked.table.properties = {**TRACKED_PROPERTIES, "delta.enableDeletionVectors": "false"}
    tracked.table.commit(tracked.table.metadata())
    case.judged["row-ids-v2"] = "DV-004"
    tracked.publish(case, 0, 1, 2)
    tracked.ask_filtered(case, compare("id", ">", 3, "long"))


@TRACKING.case("ids-in-columns-of-any-name", "RT-023 RT-025 RT-017 RT-044")
def _any_name(case: CaseWriter) -> None:
    """Hidden columns have the names that the properties give them."""
    hidden = ("ids_of_rows", "versions_of_rows")
    names = dict(zip(_NAMED_BY, hidden, strict=True))
    tracked = Tracked(case, properties={**TRACKED_PROPERTIES, **names})
    tracked.hidden = hidden
    table = tracked.table
    first = tracked.file(pairs(0, 3))
    table.create(add(first), tracked.mark())
    moved = tracked.file(pairs(0, 3), ids=[2, None, 0], versions=[0, 0, None])
    table.commit(remove(first), add(moved), tracked.mark(), operation="OPTIMIZE")
    tracked.publish(case, 0, 1)


@TRACKING.case("materialised-names-replaced", "RT-023 RT-025 META-002")
def _other_names(case: CaseWriter) -> None:
    """A replaced table finds hidden columns by the names of its own metadata."""
    tracked, first = Tracked.created(case, pairs(0, 3))
    table = tracked.table
    moved = tracked.file(pairs(0, 3), ids=[2, 1, 0], versions=[0, 0, 0])
    table.commit(remove(first), add(moved), tracked.mark(), operation="OPTIMIZE")
    table.checkpoint(version=1)
    tracked.hidden = ("ids_since", "versions_since")
    table.properties = {**TRACKED_PROPERTIES, **dict(zip(_NAMED_BY, tracked.hidden, strict=True))}
    second = tracked.file(pairs(10, 3))
    table.commit(
        table.metadata(), remove(moved), add(second), tracked.mark(), operation="REPLACE TABLE"
    )
    again = tracked.file(pairs(10, 3), ids=[7, None, 6], versions=[2, 2, None])
    table.commit(remove(second), add(again), tracked.mark(), operation="OPTIMIZE")
    case.judged["row-ids-v1"] = "RT-025"
    publish(case, table)
    tracked.ask(case, [1, 2, 3])


def _mapped(case: CaseWriter, mode: str) -> None:
    protocol = feature_protocol(["columnMapping"], ["domainMetadata", "rowTracking"])
    schema, mapping = mapped_by(mode, PAIR, case.info.id)
    tracked = Tracked(case, protocol=protocol, properties={**TRACKED_PROPERTIES, **mapping})
    table = tracked.table
    table.schema = schema
    first = tracked.file(pairs(0, 3))
    table.create(add(first), tracked.mark())
    moved = tracked.file(pairs(0, 3), ids=[0, 1, 2], versions=[0, 0, 0])
    table.commit(remove(first), add(moved), tracked.mark(), operation="OPTIMIZE")
    tracked.publish(case, 0, 1)


for _name, _mode, _title in (
    ("ids-under-mapping", "name", "Ids work under column mapping"),
    ("ids-under-mapping-by-id", "id", "Hidden columns have no field ids, and are found by name"),
):
    TRACKING.define(_name, _title, "RT-023 RT-024 RT-044", partial(_mapped, mode=_mode))


def _checkpointed(case: CaseWriter, form: str, readers: Sequence[str]) -> None:
    protocol = feature_protocol(readers, _WRITERS) if readers else _PROTOCOL
    tracked, _ = Tracked.created(case, pairs(0, 3), protocol=protocol)
    table = tracked.table
    table.commit(add(tracked.file(pairs(10, 2))), tracked.mark())
    SUMMARIES[form](table, 1)
    table.commit(add(tracked.file(pairs(20, 2))), tracked.mark())
    case.judged |= {"row-ids-v1": "RT-026", "row-ids-v2": "RT-024"}
    publish_cut(case, table, 1)
    tracked.ask(case, [1, 2])


for _name, _form, _readers in (
    ("ids-in-checkpoint", "classic", ()),
    ("ids-in-parts", "multi-part", ()),
    ("ids-in-sidecars", "v2-json-sidecars", ("v2Checkpoint",)),
):
    TRACKING.define(
        _name,
        "A checkpoint keeps base ids and default versions",
        "RT-024 RT-026 RT-031 CKSCH-003",
        partial(_checkpointed, form=_form, readers=_readers),
    )


@TRACKING.case("ids-of-many-rows", "RT-024 RT-026")
def _many_rows(case: CaseWriter) -> None:
    """Row ids count on beyond the first batch of a reader."""
    asked = {0, 65_535, 65_536, 69_999}
    rows = [{"id": n if n in asked else -1, "name": None} for n in range(70_000)]
    tracked, _ = Tracked.created(case, rows)
    describe(case, tracked.table)
    tracked.ask_filtered(case, compare("id", ">=", 0, "long"))


@TRACKING.case("ids-in-compaction", "RT-031 COMP-012")
def _compaction(case: CaseWriter) -> None:
    """A log compaction keeps base ids and default versions."""
    tracked, first = Tracked.created(case, pairs(0, 3))
    table = tracked.table
    table.commit(add(tracked.file(pairs(10, 2))), tracked.mark())
    moved = tracked.file(pairs(0, 3), ids=[0, 1, None], versions=[0, None, 0])
    table.commit(remove(first), add(moved), tracked.mark(), operation="OPTIMIZE")
    table.commit(add(tracked.file(pairs(20, 2))), tracked.mark())
    table.compact_log(1, 2)
    publish(case, table, versions=[2, 3])
    tracked.ask(case, [2, 3])


@TRACKING.case("materialised-in-partitions", "RT-023 RT-022 RT-024 RT-031")
def _partitions(case: CaseWriter) -> None:
    """Materialised ids are of any size, and hold after a checkpoint."""
    tracked = Tracked(case, partition_columns=("name",))
    tracked.next_id = 2**33
    table = tracked.table
    rows, value = [{"id": n} for n in range(6)], {"name": "a b"}
    first = tracked.file(rows, partition=value)
    table.create(add(first), tracked.mark())
    moved = tracked.file(rows, partition=value, ids=_thirds(range(2**33, 2**33 + 6)))
    table.commit(remove(first), add(moved), tracked.mark(), operation="OPTIMIZE")
    table.checkpoint(version=1, hint=False)
    table.commit(add(tracked.file(rows[:2], partition={"name": None})), tracked.mark())
    asked = "row-ids-v1", "row-ids-v2", "row-ids-latest"
    case.judged = dict.fromkeys(asked, "RT-023")
    publish_cut(case, table, 1)
    tracked.ask(case, [1, 2])
    title = "Rows of the latest version have their ids and versions"
    case.row_spec("row_ids", asked[-1], TRACKED_ROWS, tracked.rows(2), title=title, parameters={})


@TRACKING.case(
    "materialised-under-vectors", "RT-023 RT-022 DVDESC-021 RT-030", features=("deletionVectors",)
)
def _moved_under_vectors(case: CaseWriter) -> None:
    """A row keeps its materialised id when others of its file are deleted."""
    protocol = feature_protocol(["deletionVectors"], ["domainMetadata", "rowTracking"])
    properties = {**TRACKED_PROPERTIES, "delta.enableDeletionVectors": "true"}
    tracked = Tracked(case, protocol=protocol, properties=properties)
    table = tracked.table
    first = tracked.file(pairs(0, 9))
    table.create(add(first), tracked.mark())
    moved = tracked.file(pairs(0, 9), ids=_thirds(range(9)))
    table.commit(remove(first), add(moved), tracked.mark(), operation="OPTIMIZE")
    [vector] = store(table, [0, 1, 4])
    table.commit(remove(moved), add(moved, deletionVector=vector), operation="DELETE")
    table.compact_log(1, 2)
    case.judged = dict.fromkeys(("row-ids-v1", "row-ids-v2"), "RT-023")
    publish(case, table)
    tracked.ask(case, [1, 2])


@TRACKING.case("supported-not-enabled", "RT-001 RT-003")
def _supported(case: CaseWriter) -> None:
    """A table that only supports tracking reads normally."""
    tracked = Tracked(case, properties={}, protocol=legacy_protocol(1, 2))
    table = tracked.table
    # What was there before rows could be tracked has no ids.
    table.create(add(table.file(pairs(0, 2))))
    table.protocol = _PROTOCOL
    table.commit(table.protocol_action(), operation="UPGRADE PROTOCOL")
    table.commit(add(tracked.file(pairs(10, 2))), tracked.mark())
    publish(case, table)
    refusal = Refusal("unsupported", "read", "RT-003", code="DELTA_ROW_TRACKING_NOT_ENABLED")
    known = {0: (None, None), 1: (None, None), 10: (0, 2), 11: (1, 2)}
    names = ("_row_id", "_row_commit_version")
    rows = [{**row, **dict(zip(names, known[row["id"]], strict=True))} for row in table.rows()]
    bare = [{**row, **dict.fromkeys(names)} for row in table.rows()]
    case.contest(
        "row_ids",
        "row-ids-v2",
        [
            Accepted("refused", "ids are not there for every row", refusal=refusal),
            Accepted("some", "a file has the ids that its add gives", rows=rows),
            Accepted("null", "tracking is not enabled", rows=bare),
        ],
        title="Ids are given where there are some, or not at all",
        schema=TRACKED_ROWS,
        parameters={"version": 2},
    )


@TRACKING.case("supported-turned-off", "RT-001 RT-003")
def _turned_off(case: CaseWriter) -> None:
    """A table that says that its rows are not tracked reads normally."""
    off = {"delta.enableRowTracking": "false"}
    tracked = Tracked(case, properties=off, protocol=legacy_protocol(1, 2))
    table = tracked.table
    table.create(add(table.file(pairs(0, 2))))
    table.protocol = _PROTOCOL
    table.commit(table.protocol_action(), operation="UPGRADE PROTOCOL")
    table.commit(add(tracked.file(pairs(10, 2))), tracked.mark())
    case.judged["read-latest"] = "RT-003"
    publish(case, table)


@TRACKING.case("high-water-mark-spellings", "RT-034 RT-035")
def _spellings(case: CaseWriter) -> None:
    """Both spellings of the high water mark read."""
    tracked = Tracked(case)
    tracked.table.create(
        add(tracked.file(pairs(0, 2))), domain("delta.rowTracking", '{"highWaterMark":1}')
    )
    tracked.publish(case, 0)


@TRACKING.case("not-tracked", "RT-003 RT-005")
def _untracked(case: CaseWriter) -> None:
    """Ids of a table without tracking are refused or null."""
    table = GoldenTable.created(case, PAIR, pairs(0, 2))
    publish(case, table)
    refusal = Refusal("unsupported", "read", "RT-003", code="DELTA_ROW_TRACKING_NOT_ENABLED")
    nothing = {"_row_id": None, "_row_commit_version": None}
    accepted = [
        Accepted("refused", "there are no ids to give", refusal=refusal),
        Accepted(
            "null", "no id and no version is null", rows=[{**r, **nothing} for r in table.rows()]
        ),
    ]
    case.contest(
        "row_ids",
        "row-ids-v0",
        accepted,
        title="There are no ids to give",
        schema=TRACKED_ROWS,
        parameters={"version": 0},
    )
