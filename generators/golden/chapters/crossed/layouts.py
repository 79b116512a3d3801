"""Cases of several features at once, in every layout of the log.

Covers the sections whose rules are asked about. Each rule has a case that shows it alone; here the
features meet, the log changes before and after what a reader starts from, and whatever a reader
might take in place of what it must holds another value: physical names are names of other columns,
files have columns too many, and file times run backwards. Each question is about the rows
and columns that its rule decides, so that who breaks another one passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import Filter, all_of, compare
from generators.golden.cases.publish import aggregated, describe, files_spec, snapshot_spec
from generators.golden.cases.summarise import LAYOUTS, Layout
from generators.golden.cases.table import DataFile, GoldenTable, add, feature_protocol, remove
from generators.golden.chapters.files.deletion_vectors import (
    WITH_VECTORS,
    inline,
    store,
    with_vector,
)
from generators.golden.chapters.tables.column_mapping import renamed
from generators.materialise.data.data_files import ExtraColumn, FileLayout
from generators.materialise.data.statistics import dump_statistics, file_statistics
from generators.oracle.delta_schema import (
    ID_KEY,
    PHYSICAL_NAME_KEY,
    Field,
    Struct,
    array,
    map_of,
    map_structs,
    mapped_by,
    struct,
)

MAPPING: Final = Chapter("column-mapping", since="2025")

AT: Final = 3
"""The version that layouts are about."""


@dataclass(frozen=True, slots=True)
class LaidOutTable:
    """What is asked of a table in a layout: of its newest version, and of an earlier one."""

    case: CaseWriter
    table: GoldenTable
    earlier: int

    @classmethod
    def of(cls, case: CaseWriter, table: GoldenTable, layout: Layout, at: int = AT) -> LaidOutTable:
        """Lay out the log of a whole table, and describe it."""
        earlier = layout.lay(table, at)
        describe(case, table)
        return cls(case, table, earlier)

    @property
    def asked(self) -> Sequence[tuple[int | None, str]]:
        """The versions that are asked for, ``None`` for the newest, and what each is called."""
        return ((None, "latest"), (self.earlier, f"v{self.earlier}"))

    def read(  # noqa: PLR0913  one argument per field of the format
        self,
        slug: str,
        judged: str,
        columns: Sequence[str] | None,
        kept: Filter,
        title: str,
        *,
        earlier: str | None = None,
    ) -> None:
        """Ask for columns, or all, of the rows that a filter keeps.

        ``earlier`` is the row that the earlier version shows, where it is another.
        """
        for version, place in self.asked:
            number = self.table.version if version is None else version
            self.case.read(
                f"{slug}-{place}",
                self.table.schema_at(number),
                self.table.rows(number),
                title=title,
                columns=columns,
                filter=kept,
                version=version,
                requirement=judged if version is None else earlier or judged,
            )

    def count(self, judged: str, title: str) -> None:
        """Ask for the number of rows, which no column decides."""
        for version, place in self.asked:
            aggregated(
                self.case, self.table, f"count-{place}", [], title,
                version=version, requirement=judged,
            )  # fmt: skip

    def state(self) -> None:
        """Ask for the live files, and for protocol and metadata."""
        for version, _ in self.asked:
            files_spec(self.case, self.table, version, requirement="REC-018")
            snapshot_spec(self.case, self.table, version, requirement="REC-013")


# Names: what a column is called elsewhere is the name of another one.

_TRIPLES: Final = ("abc", "xyz", "def", "ghi")
CYCLE: Final = {
    one: other for of in _TRIPLES for one, other in zip(of, of[1:] + of[0], strict=True)
}
_NAMES: Final = {**CYCLE, "p": "q", "q": "p", "u": "v", "v": "u"}
_COLUMNS: Final = struct(
    id="long", k="integer", u="long", v="long", a="string", b="string", c="string",
    s=struct(x="string", y="string", z="string"),
    l=array(struct(d="string", e="string", f="string")),
    m=map_of("string", struct(g="string", h="string", i="string")),
    p="string", q="string",
)  # fmt: skip
_DATA: Final = ("k", "a", "b", "c", "s", "l", "m")
KEPT: Final = compare("k", ">=", 0, "integer")


def _inside(schema: Struct, change: Callable[[Struct], Struct]) -> Struct:
    """Change every struct of a schema, the schema itself as well."""
    inner = partial(_inside, change=change)
    return change(Struct(tuple(replace(f, type=map_structs(f.type, inner)) for f in schema)))


def annotated(column: Field, key: str, value: Any) -> Field:
    """Return a column with an entry of metadata more, or another one."""
    return replace(column, metadata={**column.metadata, key: value})


def _misnamed(of: Struct) -> Struct:
    """Name columns physically as others are displayed."""
    return Struct(
        tuple(
            annotated(f, PHYSICAL_NAME_KEY, _NAMES.get(f.name, f.metadata[PHYSICAL_NAME_KEY]))
            for f in of
        )
    )


def _as_filed(of: Struct, mode: str) -> Struct:
    """Return columns as files have them: what the mode does not go by is that of another one."""
    if mode == "id":
        named = {f.physical_name: CYCLE.get(f.physical_name, f.physical_name) for f in of}
        return Struct(tuple(annotated(f, PHYSICAL_NAME_KEY, named[f.physical_name]) for f in of))
    ids = {f.physical_name: f.metadata[ID_KEY] for f in of}
    return Struct(
        tuple(annotated(f, ID_KEY, ids[CYCLE.get(f.physical_name, f.physical_name)]) for f in of)
    )


class Mapped:
    """A mapped table whose names mislead."""

    def __init__(
        self,
        case: CaseWriter,
        mode: str,
        layout: Layout,
        features: tuple[Sequence[str], Sequence[str]],
        properties: Mapping[str, str],
    ) -> None:
        schema, mapping = mapped_by(mode, _COLUMNS, case.info.id)
        self.mode = mode
        self.table = GoldenTable.of(
            case,
            _inside(schema, _misnamed),
            partition_columns=["p", "q"],
            protocol=feature_protocol(
                ["columnMapping", *features[0], *layout.readers], features[1]
            ),
            properties={**mapping, **layout.properties, **properties},
        )

    def file(
        self,
        first: int,
        marks: Sequence[int],
        p: str | None,
        q: str | None,
        kinds: Sequence[str] | None = None,
    ) -> DataFile:
        """Write a file of rows that go by physical names.

        With ``kinds`` of changes it is a file of changes.
        """
        table = self.table
        extra = [ExtraColumn("k", pa.array([7] * len(marks), pa.int32()))]
        if kinds is not None:
            extra.append(ExtraColumn("_change_type", pa.array(kinds)))
        place = "" if kinds is None else "_change_data/"
        shown = {f.physical_name: f.name for f in table.schema}
        rows = [
            {
                "id": n,
                "k": mark,
                "u": n,
                "v": 1000 + n,
                **{shown[name]: f"{name}{n}" for name in "abc"},
                "s": {name: f"{name}{n}" for name in "xyz"},
                "l": [{name: f"{name}{n}" for name in "def"}],
                "m": {"key": {name: f"{name}{n}" for name in "ghi"}},
            }
            for n, mark in enumerate(marks, first)
        ]
        written = _inside(table.schema, partial(_as_filed, mode=self.mode))
        counted = [f for f in table.schema if f.name not in table.partition_columns]
        file = table.file(
            rows,
            partition={"p": p, "q": q},
            path=f"{place}{table.unique_name('file')}.parquet",
            layout=FileLayout(order=tuple(f.name for f in reversed(counted)), extra=tuple(extra)),
            statistics=dump_statistics(file_statistics(counted, rows)),
            written_as=written,
        )
        return table.register(DataFile(file.body, file.rows, table.schema))

    def rename(self) -> None:
        """Give each name to the next column."""
        self.table.schema = renamed(self.table.schema, CYCLE)
        self.table.commit(self.table.metadata(), operation="RENAME COLUMN")


def _mapped(case: CaseWriter, mode: str, layout: Layout) -> None:
    mapped = Mapped(case, mode, layout, (["deletionVectors"], []), WITH_VECTORS)
    table = mapped.table
    one = mapped.file(0, (-1, 0, 1, -2), "x", "y")
    table.create(add(one))
    two, stays = mapped.file(10, (2, -3, 3), "y", "x"), mapped.file(30, (-5, 6), "x", "y")
    table.commit(add(two), add(stays))
    mapped.rename()
    first, second = store(table, [0], [0, 3])
    third = inline(table, [1])
    marked = (*with_vector(one, first), *with_vector(two, third), *with_vector(stays, first))
    table.commit(*marked, operation="DELETE")
    table.commit(*with_vector(one, second, first), operation="DELETE")
    mapped.rename()
    three = mapped.file(20, (-4, 4, 5), None, "x")
    table.commit(add(three), remove(two, deletionVector=third), add(two))
    (fourth,) = store(table, [0])
    table.commit(*with_vector(three, fourth), operation="DELETE")
    asked = LaidOutTable.of(case, table, layout)
    names, values = ("CM-025", "CM-026") if mode == "id" else ("CM-029", "CM-030")
    asked.read("columns", names, _DATA, KEPT, "Columns are found as the mode says")
    kept = all_of(KEPT, compare("p", "=", "x", "string"))
    title = "Partition values are found by physical name"
    asked.read("partition", values, ["id", "k", "p", "q"], kept, title)
    # Files have these columns under their physical names in either mode.
    for name, op, least in (("u", "<", 12), ("v", ">=", 1011)):
        kept = all_of(KEPT, compare(name, op, least, "long"))
        title = "Bounds are found by physical name"
        asked.read(f"bounds-{name}", values, ["id", "k", "u", "v"], kept, title)
    asked.count("DVDESC-020", "Deleted rows do not count")
    asked.state()


for _layout, _how in LAYOUTS.items():
    for _mode in ("name", "id"):
        MAPPING.define(
            f"crossed-{_mode}-{_layout}",
            f"Misleading names mislead nobody: mode {_mode}, {_layout}",
            "CM-025 CM-026 REC-013 REC-018 DVDESC-020"
            if _mode == "id"
            else "CM-029 CM-030 REC-013 REC-018 DVDESC-020",
            partial(_mapped, mode=_mode, layout=_how),
        )
