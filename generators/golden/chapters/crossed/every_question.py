"""Cases that ask the same tables in every way: filtered, projected, counted, by time, by change.

Covers the sections whose rules are asked about. A reader that keeps a rule in a plain read may
have a way of its own to each other question, which loses it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED, ask_changes, change_file, each_row
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import (
    aggregated,
    commit_times,
    describe,
    files_spec,
    filtered,
    projected,
)
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
from generators.golden.chapters.crossed.layouts import annotated
from generators.golden.chapters.files.deletion_vectors import (
    WITH_VECTORS,
    inline,
    store,
    with_vector,
)
from generators.golden.chapters.files.types import local
from generators.golden.chapters.log.time_travel import travel
from generators.golden.chapters.tables.row_tracking import TRACKED_PROPERTIES, high_water_mark
from generators.oracle.delta_schema import (
    PHYSICAL_NAME_KEY,
    Struct,
    array,
    map_of,
    mapped_by,
    struct,
)
from generators.oracle.delta_schema import field as column

_EARLIER: Final = 1
"""The version that is asked for beside the newest one."""

_TRACKED: Final = struct(_row_id="long", _row_commit_version="long")


class Asked:
    """A table with row ids and a change feed, and how it is asked about."""

    def __init__(  # noqa: PLR0913, PLR0917  what such a table is made of
        self,
        case: CaseWriter,
        schema: Struct,
        readers: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        partitions: Sequence[str] = (),
        writers: Sequence[str] = (),
    ) -> None:
        """Start a table whose column ``id`` holds the id of each row."""
        self.case = case
        self.partitions = partitions
        writers = ["changeDataFeed", "domainMetadata", "rowTracking", *writers]
        self.table = GoldenTable.of(
            case,
            schema,
            partition_columns=partitions,
            protocol=feature_protocol(readers, writers),
            properties={**FEED, **TRACKED_PROPERTIES, **(properties or {})},
        )
        self.highest = -1
        self.changes: list[tuple[str, int, Mapping[str, Any]]] = []

    def file(self, *rows: Mapping[str, Any], **options: Any) -> DataFile:
        """Write a file of rows of consecutive ids, which the next commit adds."""
        self.highest = max(self.highest, rows[-1]["id"])
        return self.table.file(
            rows, baseRowId=rows[0]["id"], defaultRowCommitVersion=self.table.version + 1, **options
        )

    def commit(self, *actions: dict[str, Any], **options: Any) -> None:
        """Commit actions, and the highest row id; what changes is what goes and what comes."""
        table = self.table
        before = {row["id"]: row for row in table.rows()} if table.states else {}
        actions = (*actions, high_water_mark(self.highest))
        if not table.states:
            table.create(*actions)
            return
        table.commit(*actions, **options)
        after = {row["id"]: row for row in table.rows()}
        gone = [row for n, row in before.items() if n not in after]
        come = [row for n, row in after.items() if n not in before]
        self.changes += each_row("delete", table.version, gone)
        self.changes += each_row("insert", table.version, come)

    def delete(self, vectors: Sequence[tuple[DataFile, Mapping[str, Any], set[int]]]) -> None:
        """Commit vectors, with files of the changes: what each deletes of a file."""
        feeds = [
            change_file(
                self.table,
                [file.rows[n] for n in sorted(rows)],
                ["delete"] * len(rows),
                partition={name: file.rows[0][name] for name in self.partitions},
            )
            for file, _, rows in vectors
        ]
        marked = [each for file, vector, _ in vectors for each in with_vector(file, vector)]
        self.commit(*marked, *feeds, operation="DELETE")

    def ask(  # noqa: PLR0913  how each question is judged
        self,
        judged: str,
        extremes: Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        first_change: int = _EARLIER,
        layout: Layout | None = None,
        valued: str | None = None,
        listed: str = "REC-018",
    ) -> None:
        """Ask each question, judged by a row.

        Args:
            judged: the row.
            extremes: columns whose extremes are asked for.
            columns: columns that are read alone: those of the extremes by default.
            first_change: version that changes are asked from.
            layout: of the log about the earlier version.
            valued: the row of partition values and statistics, where that is another one.
            listed: the row of the list of live files.
        """
        case, table = self.case, self.table
        if layout is not None:
            layout.write(table, _EARLIER)
        describe(case, table)
        commit_times(case, table)
        title = "Every question is answered by the same rows"
        rule = {"requirement": judged}
        by_value = {"requirement": valued or judged}
        for earlier, slug in ((0, "first"), (_EARLIER, "earlier")):
            travel(case, table, slug, EPOCH + MINUTE * earlier, earlier)
        kept = compare("id", ">=", 0, "long")
        filtered(case, table, "filter-earlier", kept, title, version=_EARLIER, **rule)
        projected(case, table, "columns", [*(columns or extremes)], title, **rule)
        for version in (None, _EARLIER):
            slug = "latest" if version is None else "earlier"
            aggregated(
                case, table, f"extremes-{slug}", extremes, title, version=version, **by_value
            )
            self._tracked(f"row-ids-{slug}", version, judged, title)
        files_spec(case, table, _EARLIER, requirement=listed)
        ask_changes(
            case, table, "changes", first_change, table.version, self.changes, title, **rule
        )

    def _tracked(self, slug: str, version: int | None, judged: str, title: str) -> None:
        number = self.table.version if version is None else version
        since = {
            row["id"]: file.body["defaultRowCommitVersion"]
            for file, _ in self.table.live(number)
            for row in file.rows
        }
        rows = [
            {**row, "_row_id": row["id"], "_row_commit_version": since[row["id"]]}
            for row in self.table.rows(number)
        ]
        self.case.row_spec(
            "row_ids",
            slug,
            self.table.schema_at(number).with_fields(*_TRACKED),
            rows,
            title=title,
            parameters={},
            version=version,
            requirement=judged,
        )


VECTORS: Final = Chapter("deletion-vectors", since="2025")
MAPPING: Final = Chapter("column-mapping", since="2025")
VALUES: Final = Chapter("partition-value-serialization", since="2025")
FILES: Final = Chapter("data-files", since="2025")
PATHS: Final = Chapter("add-file-and-remove-file", since="2025")
WIDENING: Final = Chapter("type-widening", since="upstream")
DEFAULTS: Final = Chapter("default-columns", since="2025")
VARIANTS: Final = Chapter("variant-type", since="upstream")
ORDER: Final = Chapter("action-reconciliation", since="2025")
VACUUM: Final = Chapter("vacuum-protocol-check", since="2025")
CHECKSUM: Final = Chapter("version-checksum-file", since="2025")
HINT: Final = Chapter("last-checkpoint-file", since="2025")

_NUMBERS: Final = struct(id="long", v="long", p="string")


def _number(n: int) -> dict[str, Any]:
    return {"id": n, "v": 100 - n}


def _numbers(start: int, count: int = 4) -> list[dict[str, Any]]:
    return [_number(n) for n in range(start, start + count)]


def _vectors(case: CaseWriter, *, mapped: bool) -> None:
    schema, mapping = mapped_by("name" if mapped else "", _NUMBERS, case.info.id)
    # Physical names are those displayed, as in a table that was mapped later.
    schema = Struct(tuple(annotated(f, PHYSICAL_NAME_KEY, f.name) if mapped else f for f in schema))
    asked = Asked(
        case,
        schema,
        ["deletionVectors", *(["columnMapping"] if mapped else [])],
        {**WITH_VECTORS, **mapping},
        ["p"],
    )
    one, two, gone = (
        asked.file(*_numbers(n), partition={"p": p}) for n, p in ((0, "x"), (10, None), (20, "x"))
    )
    five = asked.file(*_numbers(24), partition={"p": "x"})
    table = asked.table
    unlike = add(five, deletionVector=inline(table, [1]))
    asked.commit(add(one), add(two), add(gone), unlike)
    stored, within = store(table, [0, 3], [1]), inline(table, [0, 3])
    asked.delete([(one, stored[0], {0, 3}), (two, within, {0, 3}), (gone, stored[1], {1})])
    three, four = (asked.file(*_numbers(n), partition={"p": "y"}) for n in (30, 40))
    asked.commit(
        remove(gone, deletionVector=stored[1]),
        add(three, deletionVector=store(table, [0, 3])[0]),
        add(four, deletionVector=inline(table, [0, 3])),
    )
    asked.ask("DVDESC-020", ["id", "v"])


for _name, _mapped in (("", False), ("-mapped", True)):
    VECTORS.define(
        f"every-question{_name}",
        "Deleted rows are in no answer" + " of a mapped table" * _mapped,
        "DVDESC-020 DVD-021",
        partial(_vectors, mapped=_mapped),
    )

_NESTED: Final = struct(
    id="long",
    v="long",
    s=struct(x="long", y=struct(z="string")),
    l=array(struct(e="long")),
    m=map_of("string", struct(f="string")),
    p="string",
    q="integer",
)


def _mapping(case: CaseWriter, mode: str) -> None:
    schema, mapping = mapped_by(mode, _NESTED, case.info.id)
    asked = Asked(case, schema, ["columnMapping"], mapping, ["p", "q"])

    def file(n: int, p: str | None, q: int | None) -> DataFile:
        rows = [
            {
                **_number(each),
                "s": {"x": each, "y": {"z": f"z{each}"}},
                "l": [{"e": each}],
                "m": {"key": {"f": f"f{each}"}},
            }
            for each in range(n, n + 2)
        ]
        return asked.file(*rows, partition={"p": p, "q": q})

    first = file(0, "x", 7)
    asked.commit(add(first), add(file(10, "y", -7)))
    asked.commit(add(file(20, "z", 9)))
    asked.commit(remove(first), add(file(30, None, 8)))
    by_name, valued = ("CM-025", "CM-026") if mode == "id" else ("CM-029", "CM-030")
    asked.ask(by_name, ["id", "v", "p", "q"], columns=["v", "s", "l", "m"], valued=valued)


for _mode in ("name", "id"):
    MAPPING.define(
        f"every-question-{_mode}",
        f"Columns are found by the mode whatever is asked: mode {_mode}",
        "CM-025 CM-026" if _mode == "id" else "CM-029 CM-030",
        partial(_mapping, mode=_mode),
    )


@MAPPING.case("every-question-id-swapped", "CM-025")
def _swapped(case: CaseWriter) -> None:
    """In mode id the names in files play no part, whatever is asked."""
    schema, mapping = mapped_by("id", struct(id="long", v="long", w="long"), case.info.id)
    asked = Asked(case, schema, ["columnMapping"], mapping)
    number, v, w = schema
    crossed = Struct(
        (
            number,
            annotated(v, PHYSICAL_NAME_KEY, w.physical_name),
            annotated(w, PHYSICAL_NAME_KEY, v.physical_name),
        )
    )

    def file(start: int) -> DataFile:
        rows = [{**each, "w": 1000 + each["id"]} for each in _numbers(start, 2)]
        written = asked.file(*rows, written_as=crossed, statistics=False)
        return asked.table.register(DataFile(written.body, written.rows, schema))

    first = file(0)
    asked.commit(add(first), add(file(10)))
    asked.commit(add(file(20)))
    asked.commit(remove(first), add(file(30)))
    asked.ask("CM-025", ["id", "v", "w"])


def _partitioned(case: CaseWriter, judged: str, *, misled: bool) -> None:
    asked = Asked(case, struct(id="long", v="long", p="string", q="integer"), (), {}, ["p", "q"])

    def file(n: int, p: str | None, q: int | None) -> DataFile:
        path = f"p=a/q=-{n}/f{n}.parquet" if misled else None
        return asked.file(*_numbers(n, 2), partition={"p": p, "q": q}, path=path)

    first = file(0, "b", 5)
    second = add(file(10, "c", 6) if misled else file(10, None, None))
    if not misled:
        # Whether an empty text is null is contested, and asked elsewhere.
        second["add"]["partitionValues"] = {"p": None, "q": ""}
    asked.commit(add(first), second, add(file(20, "c", -5)))
    asked.commit(add(file(30, "d", 7) if misled else file(30, None, None)))
    asked.commit(remove(first), add(file(40, "d", 6)))
    asked.ask(judged, ["p", "q"])


VALUES.define(
    "every-question",
    "Empty values of numbers are null whatever is asked",
    "PART-002",
    partial(_partitioned, judged="PART-002", misled=False),
)
FILES.define(
    "every-question",
    "Partition values are those of the log whatever is asked",
    "DATA-003",
    partial(_partitioned, judged="DATA-003", misled=True),
)


@PATHS.case("every-question", "ADD-003 ADD-002")
def _paths(case: CaseWriter) -> None:
    """Files of odd paths are read whatever is asked."""
    asked = Asked(case, struct(id="long", v="long"))
    paths = (
        "a b/c%20d.parquet",
        "deep/er/still/100%.parquet",
        "p=1+2/ü#?.parquet",
        "x;y,z/é.parquet",
    )
    written = iter(enumerate(paths))

    def file() -> DataFile:
        number, path = next(written)
        return asked.file(*_numbers(10 * number, 2), path=path)

    first = file()
    asked.commit(add(first), add(file()))
    asked.commit(add(file()))
    asked.commit(remove(first), add(file()))
    asked.ask("ADD-003", ["id", "v"])


@WIDENING.case("every-question", "TW-012")
def _widened(case: CaseWriter) -> None:
    """Values from before a wider type are read whatever is asked."""
    before = struct(id="long", v="integer", d="date", p="short")
    wider = {"v": ("integer", "long"), "d": ("date", "timestamp_ntz"), "p": ("short", "integer")}
    properties = {"delta.enableTypeWidening": "true"}
    asked = Asked(case, before, ["typeWidening", "timestampNtz"], properties, ["p"])

    def file(n: int, p: int) -> DataFile:
        day = local(2024, 2, 29)
        early = asked.table.schema["d"].type == before["d"].type
        rows = [{**_number(each), "d": day.date() if early else day} for each in (n, n + 1)]
        return asked.file(*rows, partition={"p": p})

    first = file(0, 7)
    asked.commit(add(first), add(file(10, -7)))
    asked.table.schema = struct(
        column("id", "long"),
        *(
            column(n, to, metadata={"delta.typeChanges": [{"fromType": of, "toType": to}]})
            for n, (of, to) in wider.items()
        ),
    )
    asked.commit(asked.table.metadata(), operation="CHANGE COLUMN")
    asked.commit(remove(first), add(file(20, 2**20)))
    asked.ask("TW-012", ["v", "d", "p"])


@DEFAULTS.case("every-question", "DFT-004")
def _defaults(case: CaseWriter) -> None:
    """A column that a file lacks is null, whatever is asked."""
    asked = Asked(case, struct(id="long"), writers=["allowColumnDefaults"])

    def file(n: int) -> DataFile:
        names = [each.name for each in asked.table.schema]
        return asked.file(*(dict.fromkeys(names, each) for each in (n, n + 1)))

    first = file(10)
    asked.commit(add(first), add(file(20)))
    asked.table.schema = struct(id="long", v="long")
    asked.commit(asked.table.metadata(), add(file(30)), operation="ADD COLUMNS")
    asked.table.schema = struct(
        column("id", "long"), column("v", "long", metadata={"CURRENT_DEFAULT": "5"})
    )
    asked.commit(asked.table.metadata(), add(file(40)), remove(first))
    # Feeds over a range whose schema changes are contested, and asked elsewhere.
    asked.ask("DFT-004", ["v"], first_change=2)


@VARIANTS.case("every-question", "VAR-005 VAR-004")
def _variants(case: CaseWriter) -> None:
    """Variants are read whatever is asked."""
    asked = Asked(case, struct(id="long", v="variant", p="string"), ["variantType"], {}, ["p"])

    def file(n: int, p: str) -> DataFile:
        values = ({"metadata": b"\x01\x00\x00", "value": bytes([12, n])}, None)
        rows = [{"id": n + at, "v": value} for at, value in enumerate(values)]
        return asked.file(*rows, partition={"p": p})

    first = file(0, "x")
    asked.commit(add(first), add(file(10, "y")))
    asked.commit(add(file(20, "y")))
    asked.commit(remove(first), add(file(30, "x")))
    asked.ask("VAR-005", ["id"], columns=["v", "p"])


def _removing(case: CaseWriter, layout: Layout, judged: str) -> GoldenTable:
    asked = Asked(case, struct(id="long", v="long"), layout.readers, layout.properties)
    first, second, third = (asked.file(*_numbers(n, 2)) for n in (0, 10, 20))
    asked.commit(add(first), add(second), add(third))
    asked.commit(remove(first), add(asked.file(*_numbers(30, 2))))
    asked.commit(remove(second), add(asked.file(*_numbers(40, 2))))
    asked.ask(judged, ["id", "v"], layout=layout, listed=judged)
    return asked.table


def _laid_out(case: CaseWriter, layout: Layout) -> None:
    _removing(case, layout, "REC-018")


@ORDER.case("every-question-compaction-of-removals", "COMP-012 COMP-007 REC-018")
def _removed(case: CaseWriter) -> None:
    """A file that a compaction removes is in no answer."""
    # Of the commits that remove files of version 0, which is not in its range.
    layout = Layout(lambda table, _: table.compact_log(1, 2))
    table = _removing(case, layout, "COMP-012")
    kept, title = compare("id", "<", 30, "long"), "Rows of files that stay are found"
    filtered(case, table, "filter-latest", kept, title, requirement="COMP-012")


for _layout, _how in LAYOUTS.items():
    if _layout not in ("commits", "all"):
        ORDER.define(
            f"every-question-{_layout}",
            f"Live files are those of the summary and of later commits: {_layout}",
            "REC-018",
            partial(_laid_out, layout=_how),
        )


def _read_all_the_same(
    case: CaseWriter, readers: Sequence[str], judged: str, layout: Layout = LAYOUTS["classic"]
) -> None:
    asked = Asked(case, struct(id="long", v="long"), readers)
    first = asked.file(*_numbers(0, 2))
    asked.commit(add(first), add(asked.file(*_numbers(10, 2))))
    asked.commit(add(asked.file(*_numbers(20, 2))))
    asked.commit(remove(first), add(asked.file(*_numbers(30, 2))))
    asked.ask(judged, ["id", "v"], layout=layout, listed=judged)


@HINT.case("every-question", "LAST-004")
def _without_hint(case: CaseWriter) -> None:
    """Every question is answered without a last checkpoint file."""
    layout = Layout(lambda table, version: table.checkpoint(version=version, hint=False))
    _read_all_the_same(case, (), "LAST-004", layout)


for _chapter, _title, _readers, _judged in (
    (VACUUM, "A check of vacuum changes no answer", ("vacuumProtocolCheck",), "VPC-003"),
    (CHECKSUM, "Every question is answered without checksums", (), "CRC-042"),
):
    _chapter.define(
        "every-question",
        _title,
        _judged,
        partial(_read_all_the_same, readers=_readers, judged=_judged),
    )
