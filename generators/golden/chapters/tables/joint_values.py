"""Cases of values that two features decide at once: variants, types, partitions, vectors.

Covers the sections whose rules are asked about; :mod:`generators.golden.chapters.crossed.layouts`
says what such a case is like. What the layout of the log decides is asked in those layouts, and
all else once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa

from generators.golden.cases.case import CaseWriter
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED, ask_changes, change_file, each_row, feed_table
from generators.golden.cases.filters import Filter, compare, is_in
from generators.golden.cases.publish import commit_times, describe
from generators.golden.cases.summarise import LAYOUTS, Layout
from generators.golden.cases.table import (
    EPOCH,
    DataFile,
    GoldenTable,
    add,
    feature_protocol,
    remove,
)
from generators.golden.chapters.crossed.layouts import AT, annotated
from generators.golden.chapters.files.deletion_vectors import (
    WITH_VECTORS,
    inline,
    store,
    with_vector,
)
from generators.golden.chapters.files.types import local, utc
from generators.golden.chapters.tables.row_tracking import TRACKED_ROWS, Tracked
from generators.materialise.data import variants as encoded
from generators.materialise.data.data_files import ExtraColumn, FileLayout, write_parquet
from generators.oracle.delta_schema import (
    ID_KEY,
    PHYSICAL_NAME_KEY,
    Struct,
    array,
    field,
    map_of,
    mapped_by,
    struct,
)
from generators.oracle.operations import widened_field

VECTORS: Final = Chapter("deletion-vectors", since="2025")
VALUES: Final = Chapter("partition-value-serialization", since="2025")
CHANGES: Final = Chapter("add-cdc-file", since="2025")
DEFAULTS: Final = Chapter("default-columns", since="2025")
MAPPING: Final = Chapter("column-mapping", since="2025")
TRACKING: Final = Chapter("row-tracking", since="2025")
WIDENING: Final = Chapter("type-widening", since="upstream")
SHREDDING: Final = Chapter("variant-shredding", since="upstream")


def _readers(mode: str, *names: str) -> list[str]:
    return [*names, *(["columnMapping"] if mode else [])]


# Vectors that a summary of the log holds, of files that differ in their partition.


def _kept(case: CaseWriter, layout: Layout) -> None:
    schema = struct(id="long", l=array("long"), m=map_of("string", "long"), p="string")
    table = GoldenTable.of(
        case,
        schema,
        partition_columns=["p"],
        protocol=feature_protocol(["deletionVectors", *layout.readers]),
        properties={**WITH_VECTORS, **layout.properties},
    )
    names = ("within", "stored", "moved", "lacking", "nested")
    files = {
        name: table.file(
            [{"id": n, "l": [n], "m": {"of": n}} for n in range(first, first + 3)],
            partition={"p": name},
        )
        for first, name in zip(range(0, 50, 10), names, strict=True)
    }
    table.create(*map(add, files.values()))
    within, (stored,) = inline(table, [1]), store(table, [0], prefix="ab")
    table.commit(
        *with_vector(files["within"], within),
        *with_vector(files["stored"], stored),
        *with_vector(files["moved"], within),
        *with_vector(files["lacking"], within),
        *with_vector(files["nested"], stored),
        operation="DELETE",
    )
    again = table.file(files["moved"].rows, partition={"p": "moved"})
    table.commit(
        remove(files["moved"], deletionVector=within, dataChange=False),
        add(again, deletionVector=within, dataChange=False),
        operation="OPTIMIZE",
    )
    table.schema = schema.with_fields(field("late", "long"))
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.commit(table.metadata(description="of no account"), operation="SET TBLPROPERTIES")
    layout.lay(table, AT)
    describe(case, table)
    for name, judged, columns, title in (
        ("within", "DVDESC-020", ["id"], "Rows that a vector within the log marks are gone"),
        ("stored", "DVDESC-020", ["id"], "Rows that a vector of a file marks are gone"),
        ("moved", "CKC-027", ["id"], "A file with a vector counts that brings no data"),
        ("lacking", "DVDESC-020", ["late"], "Rows are gone of which no column is read"),
        ("nested", "SNAP-007", ["id", "l", "m"], "Rows that are left keep their own lists"),
    ):
        _read(case, table, name, judged, columns, compare("p", "=", name, "string"), title)


def _read(  # noqa: PLR0913, PLR0917  a sentence: what, called what, shows what, of which rows
    case: CaseWriter,
    table: GoldenTable,
    slug: str,
    judged: str,
    columns: Sequence[str],
    kept: Filter | None,
    title: str,
) -> None:
    schema, rows = table.schema_at(table.version), table.rows()
    case.read(slug, schema, rows, title=title, columns=columns, filter=kept, requirement=judged)


for _layout in ("commits", "classic", "parts", "v2-json", "compaction"):
    VECTORS.define(
        f"crossed-{_layout}",
        f"Vectors are kept where the log is summed up: {_layout}",
        "DVDESC-020 DV-005 CKC-027 SNAP-007",
        partial(_kept, layout=LAYOUTS[_layout]),
    )


# Partition values that have a spelling of their own.


def _spelt(case: CaseWriter, mode: str, layout: Layout) -> None:
    plain = struct(id="long", f="double", t="timestamp", n="timestamp_ntz")
    schema, properties = mapped_by(mode, plain, case.info.id)
    table = GoldenTable.of(
        case,
        schema,
        partition_columns=["f", "t", "n"],
        protocol=feature_protocol([*_readers(mode, "timestampNtz"), *layout.readers]),
        properties={**properties, **layout.properties},
    )
    values: Sequence[tuple[Any, Any, Any]] = (
        (math.nan, None, None),
        (-math.inf, None, None),
        (1.5, utc(2024, 2, 29, 23, 30, 15), local(2024, 2, 29, 0, 30, 15)),
        (None, utc(1969, 12, 31, 23, 59, 59, 500_000), local(1969, 12, 31, 23, 59, 59, 500_000)),
    )
    for number, row in enumerate(values):
        partition = dict(zip(("f", "t", "n"), row, strict=True))
        action = add(table.file([{"id": number}], partition=partition))
        (table.commit if number else table.create)(action)
    table.commit(table.metadata(description="of no account"), operation="SET TBLPROPERTIES")
    layout.lay(table, AT)
    describe(case, table)
    title = "A partition value is read as it is spelt"
    for slug, columns in (("numbers", ["id", "f"]), ("times", ["id", "t"]), ("local", ["id", "n"])):
        _read(case, table, slug, "CM-030" if mode else "SNAP-007", columns, None, title)


for _layout in ("classic", "parts", "v2-json", "v2-parquet", "compaction"):
    VALUES.define(
        f"crossed-{_layout}",
        f"Partition values of every kind: {_layout}",
        "PART-004 SNAP-007",
        partial(_spelt, mode="", layout=LAYOUTS[_layout]),
    )
VALUES.define(
    "crossed-name-commits",
    "Partition values of every kind, mapped by name",
    "PART-004 CM-030",
    partial(_spelt, mode="name", layout=LAYOUTS["commits"]),
)


@MAPPING.case("partition-column-in-file-id", "DATA-003 CM-026")
def _held_by_id(case: CaseWriter) -> None:
    """What a file holds under the id of a partition column does not count."""
    schema, properties = mapped_by("id", struct(id="long", p="string"), case.info.id)
    table = GoldenTable.of(
        case,
        schema,
        partition_columns=["p"],
        protocol=feature_protocol(["columnMapping"]),
        properties=properties,
    )
    number = schema["p"].metadata[ID_KEY]
    for at, value in enumerate(("x", None)):
        held = ExtraColumn(schema["p"].physical_name, pa.array(["in the file"]), number)
        file = table.file([{"id": at}], partition={"p": value}, layout=FileLayout(extra=(held,)))
        (table.commit if at else table.create)(add(file))
    describe(case, table)
    title = "A partition value is that of the log"
    _read(case, table, "read-latest", "DATA-003", ["id", "p"], None, title)


# Changes of files that are older than a type or a column, and of change files.


def _ask(
    case: CaseWriter,
    table: GoldenTable,
    judged: str,
    *asked: tuple[str, int, str, Sequence[Mapping[str, Any]]],
) -> None:
    """Ask for the changes of versions: what each is called, its number, their kind and rows."""
    describe(case, table)
    commit_times(case, table)
    for slug, version, kind, rows in asked:
        title = "Changes are rows of the table as it is then"
        changes = each_row(kind, version, rows)
        ask_changes(case, table, slug, version, version, changes, title, requirement=judged)


def _of_old_files(
    case: CaseWriter,
    table: GoldenTable,
    judged: str,
    rows: Sequence[Mapping[str, Any]],
    *schemas: Struct,
) -> None:
    """Remove a file that is older than some schemas, and restore it."""
    file = table.file(rows)
    held = table.create(add(file))
    for schema in schemas:
        table.schema = schema
        held = table.commit(table.metadata(), operation="CHANGE COLUMN")
    gone = table.commit(remove(file), operation="DELETE")
    back = table.commit(add(file), operation="RESTORE")
    shown = table.rows(held)
    _ask(case, table, judged, ("gone", gone, "delete", shown), ("back", back, "insert", shown))


@WIDENING.case("crossed-changes", "TW-012")
def _widened_changes(case: CaseWriter) -> None:
    """Changes of a file of before are of the type of now."""
    table = feed_table(
        case,
        struct(id="long", v="integer"),
        protocol=feature_protocol(["typeWidening"], ["changeDataFeed"]),
        properties={**FEED, "delta.enableTypeWidening": "true"},
    )
    known, narrow = table.schema
    wide = widened_field(narrow, known.type)
    rows = [{"id": 1, "v": 7}, {"id": 2, "v": -1}]
    _of_old_files(case, table, "TW-012", rows, struct(known, wide))


@DEFAULTS.case("crossed-changes", "DFT-004")
def _default_changes(case: CaseWriter) -> None:
    """A default is no value of changes of a file that lacks the column."""
    table = feed_table(
        case,
        struct(id="long"),
        protocol=feature_protocol([], ["changeDataFeed", "allowColumnDefaults"]),
    )
    known, plain = field("id", "long"), field("d", "string")
    preset = annotated(plain, "CURRENT_DEFAULT", "'preset'")
    rows = [{"id": 1}, {"id": 2}]
    _of_old_files(case, table, "DFT-004", rows, struct(known, plain), struct(known, preset))


@CHANGES.case("local-times", "CDC-003 CDC-004 SCH-018")
def _local_changes(case: CaseWriter) -> None:
    """Times without zone are in changes what they are in files."""
    table = feed_table(
        case,
        struct(id="long", n="timestamp_ntz"),
        protocol=feature_protocol(["timestampNtz"], ["changeDataFeed"]),
    )
    rows = [{"id": 1, "n": local(2024, 2, 29, 0, 30)}, {"id": 2, "n": local(1969, 12, 31, 23, 59)}]
    table.create(add(table.file(rows)))
    listed = change_file(table, rows, ["insert"] * len(rows))
    table.commit(add(table.file(rows)), listed)
    _ask(case, table, "CDC-003", ("listed", 1, "insert", rows))


# Variants: whole and shredded, under mapping, vectors and partitions, at the top and in structs,
# arrays and maps.

_METADATA: Final = b"\x01\x00\x00"
_SHREDDED: Final = pa.struct(
    [
        pa.field("metadata", pa.binary(), nullable=False),
        pa.field("value", pa.binary()),
        pa.field("typed_value", pa.int64()),
    ]
)


def _variant(number: int) -> dict[str, Any]:
    return {"metadata": _METADATA, "value": encoded.primitive(3, number.to_bytes(1, "little"))}


def _variants(case: CaseWriter, mode: str) -> None:
    plain = struct(
        id="long",
        v="variant",
        w="variant",
        s=struct(x="variant"),
        l=array("variant"),
        m=map_of("string", "variant"),
        p="integer",
    )
    schema, properties = mapped_by(mode, plain, case.info.id)
    if mode:
        # What one column is called elsewhere is the name of the other.
        other = {"v": "w", "w": "v"}
        schema = Struct(
            tuple(
                annotated(f, PHYSICAL_NAME_KEY, other.get(f.name, f.physical_name)) for f in schema
            )
        )
    table = GoldenTable.of(
        case,
        schema,
        partition_columns=["p"],
        protocol=feature_protocol(
            _readers(mode, "variantType", "variantShredding", "deletionVectors"),
            ["changeDataFeed"],
        ),
        properties={
            "delta.enableVariantShredding": "true", **FEED, **WITH_VECTORS, **properties,
        },
    )  # fmt: skip

    def file(first: int, p: int | None, kinds: Sequence[str] = ()) -> DataFile:
        """Write a file of shredded values; with ``kinds`` of changes it is one of changes."""
        ids = range(first, first + 3)

        def stored(start: int) -> pa.Array[Any]:
            parts = [{"metadata": _METADATA, "typed_value": n + start} for n in ids]
            return pa.array(parts, _SHREDDED)

        columns: dict[str, pa.Array[Any]] = {
            "id": pa.array(ids, pa.int64()),
            "v": stored(0),
            "w": stored(30),
        }
        (inner,) = schema["s"].type.fields  # type: ignore[union-attr]
        columns["s"] = pa.StructArray.from_arrays(
            [stored(60)], fields=[_of_file(inner, _SHREDDED, mode)]
        )
        columns["l"] = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), stored(90))
        columns["m"] = pa.MapArray.from_arrays([0, 1, 2, 3], ["k"] * 3, stored(100))
        names = [_of_file(schema[name], held.type, mode) for name, held in columns.items()]
        data = pa.Table.from_arrays([*columns.values()], schema=pa.schema(names))
        if kinds:
            data = data.append_column("_change_type", pa.array(kinds))
        path = f"{'_change_data/' if kinds else ''}part-{table.unique_name('variant')}.parquet"
        (table.root / path).parent.mkdir(exist_ok=True)
        rows = [
            {
                "id": n,
                "v": _variant(n),
                "w": _variant(n + 30),
                "s": {"x": _variant(n + 60)},
                "l": [_variant(n + 90)],
                "m": {"k": _variant(n + 100)},
                "p": p,
            }
            for n in ids
        ]
        body = {
            "path": path,
            "partitionValues": {schema["p"].physical_name: None if p is None else str(p)},
            "size": write_parquet(table.root / path, data),
            "stats": '{"numRecords":3}',
            "modificationTime": EPOCH,
            "dataChange": True,
        }
        return table.register(DataFile(body, tuple(rows), schema))

    one, two = file(0, 1), file(10, None)
    table.create(add(one), add(two))
    listed = file(20, 1, ["insert"] * 3)
    cdc = {k: listed.body[k] for k in ("path", "partitionValues", "size")} | {"dataChange": False}
    table.commit(add(file(20, 1)), {"cdc": cdc})
    table.commit(*with_vector(one, inline(table, [0])), operation="DELETE")
    names = {"": "SHRED-006", "id": "CM-025", "name": "CM-029"}[mode]
    added = ("added", 0, "insert", [*one.rows, *two.rows])
    _ask(case, table, names, added, ("listed", 1, "insert", listed.rows))
    kept = is_in("id", [11, 12], "long")
    _read(case, table, "columns", names, ["id", "v", "w"], kept, "Shredded variants are found")
    title = "So are those inside of structs, arrays and maps"
    _read(case, table, "nested", "SHRED-006", ["id", "s", "l", "m"], kept, title)
    title, kept = "Rows that a vector marks are gone", compare("id", "<", 10, "long")
    columns = ["id"] if mode else ["id", "v"]
    _read(case, table, "vectors", "DVDESC-020", columns, kept, title)


def _of_file(column: Any, held: pa.DataType, mode: str) -> pa.Field[Any]:
    """Return a column of a file, with the name and id that it has there."""
    if not mode:
        return pa.field(column.name, held)
    number = {"PARQUET:field_id": str(column.metadata[ID_KEY])}
    return pa.field(column.physical_name, held, metadata=number)


for _mode in ("", "name", "id"):
    SHREDDING.define(
        f"crossed-{_mode or 'plain'}",
        f"Shredded variants under vectors{f', mapped by {_mode}' if _mode else ''}",
        "SHRED-006 DVDESC-020" + {"": "", "id": " CM-025", "name": " CM-029"}[_mode],
        partial(_variants, mode=_mode),
    )


# Row ids of partitions.


@TRACKING.case("crossed-partitions", "RT-023 RT-025")
def _partitioned_ids(case: CaseWriter) -> None:
    """Rows of a partition have the ids that their files hold."""
    tracked = Tracked(case, partition_columns=["name"])
    table = tracked.table
    first = tracked.file([{"id": 1}, {"id": 2}], partition={"name": "a"})
    table.create(add(first), tracked.mark())
    moved = tracked.file([{"id": 2}, {"id": 1}], partition={"name": "b"}, ids=[1, 0])
    table.commit(remove(first), add(moved), tracked.mark(), operation="UPDATE")
    copied = tracked.file([{"id": 3}, {"id": 4}], partition={"name": None}, versions=[0, 0])
    table.commit(add(copied), tracked.mark())
    describe(case, table)
    for slug, held, judged in (("ids", [1, 2], "RT-023"), ("versions", [3, 4], "RT-025")):
        kept = is_in("id", held, "long")
        case.row_spec(
            "row_ids",
            slug,
            TRACKED_ROWS,
            [row for row in tracked.rows(table.version) if kept.keeps(row)],
            title="Rows of a partition have the ids and versions of their file",
            parameters={"filter": kept.tree, "predicate": kept.sql},
            needs=["scan.filter"],
            requirement=judged,
        )
