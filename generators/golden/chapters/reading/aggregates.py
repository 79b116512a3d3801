"""Cases of counts and extremes, which engines like to answer from the log alone.

Covers "Per-file Statistics" and the sections whose state the answer depends on. What the log says
of a file may be absent, cut, merely enclosing, of deleted rows or of an earlier column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.publish import aggregated, publish
from generators.golden.cases.table import GoldenTable, add, feature_protocol, remove
from generators.golden.chapters.files.deletion_vectors import (
    inline,
    store,
    vector_table,
    with_vector,
)
from generators.golden.chapters.files.types import local, utc
from generators.golden.chapters.tables.column_mapping import mapped_table, renamed
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.oracle.delta_schema import Struct, assign_column_mapping, field, struct

STATISTICS: Final = Chapter("per-file-statistics")
VECTORS: Final = Chapter("deletion-vectors", since="2025")
SPECIFICATION: Final = Chapter("table-specification")
MAPPING: Final = Chapter("column-mapping")
WIDENING: Final = Chapter("type-widening", since="upstream")

_NUMBERS: Final = struct(id="long", v="long")
_EXTREMES: Final = "The number of rows and the extremes are those of the rows"


def _asked(
    case: CaseWriter,
    table: GoldenTable,
    columns: Sequence[str],
    judged: str = "SNAP-007",
    counted: str = "SNAP-007",
) -> None:
    """Ask for rows and aggregates of the newest version: engines answer a bare count otherwise."""
    case.judged |= {"aggregate-latest": judged, "aggregate-count": counted}
    publish(case, table, versions=[])
    aggregated(case, table, "aggregate-latest", columns, _EXTREMES)
    aggregated(case, table, "aggregate-count", [], _EXTREMES)


def _rows(*values: Any, start: int = 0) -> list[dict[str, Any]]:
    return [{"id": start + n, "v": value} for n, value in enumerate(values)]


_TYPES: Final[Mapping[str, tuple[str, Sequence[Any]]]] = {
    "long": ("long", (2**53 + 1, -(2**63), 2**53, 2**63 - 1)),
    "decimal": ("decimal(38,2)", tuple(map(Decimal, ("1.10", "-9.99", f"{10**35}.01", "0.00")))),
    "text": ("string", ("Zebra", "apple", "école", "\U0001f600")),
    "date": ("date", (date(2024, 2, 29), date(1582, 10, 4), date(1969, 12, 31), date(9999, 1, 1))),
    "time": ("timestamp", (utc(2024, 2, 29), utc(1969, 12, 31, 23), utc(1, 1, 2), utc(9999, 1, 1))),
    "double": ("double", (0.1, -1.5e300, 5e-324, 1.5)),
    "truth": ("boolean", (False, False, True, False)),
    "byte": ("byte", (-128, 127, 0, 1)),
}


@STATISTICS.case("aggregates", "SNAP-007 STAT-012")
def _of_every_type(case: CaseWriter) -> None:
    """Counts and extremes are those of the rows, in every type."""
    schema = Struct((*struct(id="long"), *struct(**{n: t for n, (t, _) in _TYPES.items()})))
    table = GoldenTable.created(case, schema)
    values = [{name: of[n] for name, (_, of) in _TYPES.items()} for n in range(4)]
    rows = [{"id": n, **each} for n, each in enumerate(values)]
    table.commit(add(table.file(rows[:1])), add(table.file(rows[1:3])))
    table.append(rows[3:])
    _asked(case, table, ["id", *_TYPES])
    aggregated(case, table, "aggregate-v1", list(_TYPES), _EXTREMES, version=1)


@STATISTICS.case("aggregates-of-files-without-statistics", "SNAP-007 STAT-001")
def _without_statistics(case: CaseWriter) -> None:
    """A file without statistics counts, and one without bounds has extremes."""
    table = GoldenTable.created(case, _NUMBERS, _rows(5, 6))
    table.append(_rows(1, 9, start=10), statistics=False)
    table.append(_rows(0, start=20), statistics={"numRecords": 1})
    bounds = {"numRecords": 1, "minValues": {"id": 30}, "maxValues": {"id": 30}}
    table.append(_rows(99, start=30), statistics=bounds)
    _asked(case, table, ["id", "v"])


@STATISTICS.case("aggregates-of-nulls", "SNAP-007 STAT-008")
def _of_nulls(case: CaseWriter) -> None:
    """Nulls count as rows and are no extremes."""
    table = GoldenTable.created(case, struct(id="long", v="long", none="string"))
    for start, values in ((0, (None, None)), (10, (7, None)), (20, (None,))):
        table.append([{**row, "none": None} for row in _rows(*values, start=start)])
    _asked(case, table, ["v", "none"])


@STATISTICS.case("aggregates-of-cut-texts", "SNAP-007 STAT-015", since="2025")
def _of_cut_texts(case: CaseWriter) -> None:
    """Bounds that are cut off are no extremes."""
    table = GoldenTable.created(case, struct(id="long", v="string"))
    long = ["a" * 40 + end for end in "bc"]
    stats = {
        "numRecords": 2,
        "minValues": {"id": 0, "v": "a" * 32},
        "maxValues": {"id": 1, "v": "a" * 32 + "\ufffd"},
        "nullCount": {"id": 0, "v": 0},
    }
    table.append(_rows(*long), statistics=stats)
    _asked(case, table, ["v"])


@STATISTICS.case("aggregates-of-cut-times", "SNAP-007 STAT-016", since="2025")
def _of_cut_times(case: CaseWriter) -> None:
    """The last microseconds of an extreme are not in the bounds."""
    table = GoldenTable.created(case, struct(id="long", v="timestamp"))
    first, last = utc(2024, 1, 1, 0, 0, 0, 1), utc(2024, 1, 2, 3, 4, 5, 678999)
    stats = {
        "numRecords": 2,
        "minValues": {"id": 0, "v": "2024-01-01T00:00:00.000Z"},
        "maxValues": {"id": 1, "v": "2024-01-02T03:04:05.678Z"},
        "nullCount": {"id": 0, "v": 0},
    }
    table.append(_rows(first, last), statistics=stats)
    _asked(case, table, ["v"])


@STATISTICS.case("aggregates-of-wide-bounds", "DVD-021 STAT-013", since="2025")
def _of_wide_bounds(case: CaseWriter) -> None:
    """Bounds that merely enclose are no extremes."""
    table = GoldenTable.created(case, _NUMBERS, _rows(5))
    stats = {
        "numRecords": 2,
        "tightBounds": False,
        "minValues": {"id": 0, "v": -1000},
        "maxValues": {"id": 1000, "v": 1000},
        "nullCount": {"id": 0, "v": 0},
    }
    table.append(_rows(1, 2, start=10), statistics=stats)
    _asked(case, table, ["id", "v"], "DVD-021")


@VECTORS.case("aggregates-after-vectors", "DVD-021 DVDESC-020 STAT-002")
def _after_vectors(case: CaseWriter) -> None:
    """Deleted rows do not count and are no extremes."""
    table = vector_table(case, _NUMBERS)
    first, second = table.file(_rows(-9, 1, 2, 99)), table.file(_rows(3, 4, start=10))
    table.create(add(first), add(second))
    table.commit(*with_vector(first, store(table, [0, 3])[0]), operation="DELETE")
    _asked(case, table, ["id", "v"], "DVD-021", "DVDESC-020")
    case.judged["aggregate-id"] = "DVD-021"
    aggregated(case, table, "aggregate-id", ["id"], _EXTREMES)
    aggregated(case, table, "aggregate-v0", ["id", "v"], _EXTREMES, version=0)


@VECTORS.case("aggregates-of-every-vector", "DVDESC-020 DVD-021 DV-005")
def _every_vector(case: CaseWriter) -> None:
    """Deleted rows do not count, wherever their vector is."""
    table = vector_table(case, _NUMBERS)
    files = [table.file(_rows(-n, n, 10 * n, start=10 * n)) for n in (1, 2, 3)]
    table.create(*map(add, files))
    vectors = [inline(table, [0]), *store(table, [2]), *store(table, [0, 2], prefix="ab")]
    for file, vector in zip(files, vectors, strict=True):
        table.commit(*with_vector(file, vector), operation="DELETE")
        case.judged[f"aggregate-v{table.version}"] = "DVDESC-020"
    _asked(case, table, ["id", "v"], "DVD-021", "DVDESC-020")
    for version in table.versions:
        aggregated(case, table, f"aggregate-v{version}", ["id", "v"], _EXTREMES, version=version)


@VECTORS.case("aggregates-of-deleted-files", "DVDESC-020 DVD-021 STAT-014")
def _all_deleted(case: CaseWriter) -> None:
    """A file of which every row is deleted has no rows and no extremes."""
    table = vector_table(case, _NUMBERS)
    first, second = table.file(_rows(-9, 99)), table.file(_rows(3, None, start=10))
    table.create(add(first), add(second))
    gone, left = store(table, [0, 1], [0])
    table.commit(*with_vector(first, gone), *with_vector(second, left), operation="DELETE")
    at = table.version
    table.checkpoint(version=at, style=CheckpointStyle(stats_parsed=True), hint=False)
    _asked(case, table, ["id", "v"], "DVD-021", "DVDESC-020")


@SPECIFICATION.case("aggregates-of-partitions", "SNAP-007 PART-001")
def _of_partitions(case: CaseWriter) -> None:
    """Partition values are ordered by their type, and null is none of them."""
    schema = struct(id="long", p="integer", d="date")
    table = GoldenTable.of(case, schema, partition_columns=("p", "d"))
    table.create()
    days = (date(2023, 12, 31), date(2024, 1, 1), None)
    for n, (number, day) in enumerate(zip((9, 10, None), days, strict=True)):
        table.append([{"id": n}], partition={"p": number, "d": day})
    table.append([], partition={"p": 999, "d": date(2030, 1, 1)})
    _asked(case, table, ["p", "d"])


@SPECIFICATION.case("aggregates-of-removed-files", "SNAP-007 REC-018 REC-011")
def _of_removed_files(case: CaseWriter) -> None:
    """Removed files do not count, after a checkpoint either."""
    table = GoldenTable.created(case, _NUMBERS)
    files = [table.file(_rows(n, start=10 * n)) for n in range(4)]
    table.commit(*map(add, files))
    table.commit(remove(files[0]), operation="DELETE")
    at = table.version
    table.checkpoint(version=at, hint=False)
    table.commit(remove(files[3]), operation="DELETE")
    _asked(case, table, ["id", "v"])
    aggregated(case, table, "aggregate-v1", ["id", "v"], _EXTREMES, version=1)


@SPECIFICATION.case("aggregates-of-removed-partitions", "REC-011 SNAP-007")
def _of_removed_partitions(case: CaseWriter) -> None:
    """Extremes of partition values are those of live files, below zero too."""
    schema = struct(id="long", p="integer", v="double")
    table = GoldenTable.of(case, schema, partition_columns=("p",))
    table.create()
    for start, number in enumerate((-99, -5, -7, 4)):
        rows = [{"id": -10 - start, "v": -0.5 - start}, {"id": -20 - start, "v": -8.0}]
        table.append(rows, partition={"p": number})
    first, *_, last = (each for each, _ in table.live(table.version))
    table.commit(remove(first), operation="DELETE")
    at = table.version
    table.checkpoint(version=at, hint=False)
    table.commit(remove(last), operation="DELETE")
    case.judged |= {"aggregate-p": "REC-011", "aggregate-v5": "REC-011"}
    _asked(case, table, ["id", "v"])
    aggregated(case, table, "aggregate-p", ["p"], _EXTREMES)
    aggregated(case, table, f"aggregate-v{at}", ["p"], _EXTREMES, version=at)


@SPECIFICATION.case("aggregates-of-nothing", "SNAP-007")
def _of_nothing(case: CaseWriter) -> None:
    """A table without rows has none, and no extremes."""
    table = GoldenTable.created(case, _NUMBERS, _rows(1))
    file = table.file([])
    table.commit(add(file), *(remove(each) for each, _ in table.live(0)), operation="DELETE")
    of_empty_file = table.version
    table.commit(remove(file), operation="DELETE")
    _asked(case, table, ["id", "v"])
    aggregated(case, table, "aggregate-v1", ["id", "v"], _EXTREMES, version=of_empty_file)
    aggregated(case, table, "aggregate-v0", ["id", "v"], _EXTREMES, version=0)


@SPECIFICATION.case("aggregates-of-typed-statistics", "SNAP-007 CKSCH-004")
def _of_typed_statistics(case: CaseWriter) -> None:
    """Statistics that a checkpoint has by type alone belong to the files."""
    schema = struct(id="long", v="decimal(20,3)", t="timestamp", s="string")
    properties = {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    table = GoldenTable.created(case, schema, properties=properties)
    for n, amount in enumerate(("-1.001", "12345678901234567.891")):
        moment = utc(2024, 1, 1 + n, 0, 0, 0, 999)
        table.append([{"id": n, "v": Decimal(amount), "t": moment, "s": "é" * 40}])
    at = table.version
    style = CheckpointStyle(stats_json=False, stats_parsed=True)
    table.checkpoint(version=at, style=style, hint=False)
    _asked(case, table, ["id", "v", "t", "s"])


@SPECIFICATION.case("aggregates-of-a-new-column", "SNAP-007 META-002")
def _of_a_new_column(case: CaseWriter) -> None:
    """Files from before a column have rows, and no extremes of it."""
    table = GoldenTable.created(case, struct(id="long"), [{"id": 1}, {"id": 2}])
    table.schema = _NUMBERS
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.append(_rows(-5, 5, start=10))
    _asked(case, table, ["id", "v"])


@MAPPING.case("aggregates-of-renamed-columns", "CM-030 CM-008 CM-029")
def _of_renamed_columns(case: CaseWriter) -> None:
    """Swapped, dropped and re-added columns keep extremes of their own."""
    table = mapped_table(case, struct(id="long", a="long", b="long", c="long"))
    table.create(add(table.file([{"id": 1, "a": 1, "b": 100, "c": -7}])))
    table.schema = renamed(table.schema, {"a": "b", "b": "a"}).without("c")
    table.commit(table.metadata(), operation="RENAME COLUMN")
    table.append([{"id": 2, "a": 200, "b": 2}])
    grown = table.schema.with_fields(field("c", "long"))
    table.schema, highest = assign_column_mapping(grown, case.info.id, start=5)
    table.properties["delta.columnMapping.maxColumnId"] = str(highest)
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.append([{"id": 3, "a": 300, "b": 3, "c": 5}])
    _asked(case, table, ["id", "a", "b", "c"], "CM-030")
    aggregated(case, table, "aggregate-v0", ["a", "b", "c"], _EXTREMES, version=0)


@WIDENING.case("aggregates-of-widened-columns", "TW-012")
def _of_widened_columns(case: CaseWriter) -> None:
    """Extremes of files from before a wider type are values of that type."""
    wider = {"integer": "long", "float": "double", "date": "timestamp_ntz"}
    columns = dict(zip("ijk", wider, strict=True))
    protocol = feature_protocol(["typeWidening", "timestampNtz"])
    properties = {"delta.enableTypeWidening": "true"}
    schema = struct(id="long", **columns)
    table = GoldenTable.created(case, schema, protocol=protocol, properties=properties)
    table.append([{"id": n, "i": n - 5, "j": 0.5 * n, "k": date(2024, 1, 1 + n)} for n in range(2)])
    changed = [
        field(
            name, wider[of], metadata={"delta.typeChanges": [{"fromType": of, "toType": wider[of]}]}
        )
        for name, of in columns.items()
    ]
    table.schema = struct(field("id", "long"), *changed)
    table.commit(table.metadata(), operation="CHANGE COLUMN")
    table.append([{"id": 9, "i": 2**40, "j": 0.1, "k": local(2024, 1, 1, 0, 0, 0, 500)}])
    _asked(case, table, ["i", "j", "k"], "TW-012")
    aggregated(case, table, "aggregate-v1", ["i", "j", "k"], _EXTREMES, version=1)
