"""Cases of how a data file lays out what the schema says: order, names, units, pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_not_null, is_null
from generators.golden.cases.publish import describe, filtered, projected, publish
from generators.golden.cases.table import EPOCH, DataFile, GoldenTable, add
from generators.golden.chapters.files.types import utc
from generators.materialise.data.arrow_rows import arrow_table, library_footer
from generators.materialise.data.data_files import FileLayout
from generators.materialise.data.legacy_parquet import relabel_lists_and_maps
from generators.oracle.delta_schema import Struct, array, field, map_of, struct

MAPPINGS = Chapter("parquet-type-mappings")
SCHEMAS = Chapter("schema-serialization-format")
PROPERTIES = Chapter("table-properties", since="upstream")


def _foreign(
    table: GoldenTable,
    data: pa.Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    footer: pa.Schema | None = None,
    row_group_size: int | None = None,
    **options: Any,
) -> DataFile:
    """Write a file with the Parquet library's own options and take it into the ledger.

    ``footer`` is what the library takes the columns for, and keeps in the footer.
    """
    name = f"part-{table.unique_name('foreign')}.parquet"
    options = {"store_schema": False, **options}
    with pq.ParquetWriter(table.root / name, data.schema, **options) as writer:
        writer.write_table(data, row_group_size)
        if footer is not None:
            writer.add_key_value_metadata(library_footer(footer))
    body = {
        "path": name,
        "partitionValues": {},
        "size": (table.root / name).stat().st_size,
        "modificationTime": EPOCH,
        "dataChange": True,
    }
    return table.register(DataFile(body, tuple(rows), table.schema))


@SCHEMAS.case("nested-order-differs", "CM-024 SCH-022 SCH-023 PQ-017")
def _nested_order(case: CaseWriter) -> None:
    """Nested fields of a file are matched by name, not by place."""
    schema = struct(
        id="long",
        s=struct(a="integer", b="integer", c="string"),
        l=array(struct(x="integer", y="integer")),
    )
    turned = struct(
        l=array(struct(y="integer", x="integer")),
        s=struct(c="string", b="integer", a="integer"),
        id="long",
    )
    table = GoldenTable.created(case, schema)
    for number, written in enumerate((schema, turned)):
        row = {"id": number, "s": {"a": 1, "b": 2, "c": "x"}, "l": [{"x": 3, "y": 4}]}
        table.append([row], written_as=written, statistics=False)
    publish(case, table)
    kept = compare("s.a", "=", 1, "integer")
    filtered(case, table, "filter-nested", kept, "A filter meets the right leaf")


@SCHEMAS.case("nested-extra-and-missing", "WCON-003 WCON-004 SCH-022")
def _nested_extra(case: CaseWriter) -> None:
    """Nested fields may be extra in a file or missing from it."""
    schema = struct(
        id="long",
        s=struct(a="integer", b="string"),
        m=map_of("string", struct(k="integer", new="integer")),
    )
    extra = struct(
        id="long",
        s=struct(front="double", a="integer", b="string"),
        m=map_of("string", struct(old="string", k="integer")),
    )
    table = GoldenTable.created(case, schema)
    rows = {"id": 1, "s": {"front": 0.5, "a": 1, "b": "x"}, "m": {"key": {"old": "o", "k": 2}}}
    table.append([rows], written_as=extra, statistics=False)
    lone: list[dict[str, Any]] = [{"id": 2, "s": {"b": "y"}}, {"id": 3, "s": None}]
    table.append(lone, written_as=struct(id="long", s=struct(b="string")), statistics=False)
    publish(case, table)
    filtered(case, table, "filter-null", is_null("s.a"), "A missing leaf is null")
    filtered(case, table, "filter-struct", is_not_null("s"), "Its struct is not")


@SCHEMAS.case("not-null-below-null", "SCH-025 PQ-017")
def _not_null_below_null(case: CaseWriter) -> None:
    """A field that is not null may be absent where its parent is null."""

    def nested(*, nullable: bool) -> Struct:
        inner = struct(field("a", "integer", nullable=nullable), field("b", "string"))
        outer = struct(field("s", inner, nullable=nullable), field("n", "long"))
        return struct(id="long", o=outer, l=array(inner), m=map_of("string", inner))

    table = GoldenTable.of(case, nested(nullable=False))
    one = {"a": 1, "b": None}
    rows: list[dict[str, Any]] = [
        {"id": 1, "o": None, "l": None, "m": None},
        {"id": 2, "o": {"s": one, "n": None}, "l": [None, one], "m": {"x": None, "y": one}},
        {"id": 3, "o": None, "l": [], "m": {}},
    ]
    table.create(
        add(table.file(rows[:1])),
        # Writers often declare every field of a file optional.
        add(table.file(rows[1:], written_as=nested(nullable=True), statistics=False)),
    )
    publish(case, table)
    filtered(case, table, "filter-null", is_null("o.s.a"), "It is null below a null parent")


@SCHEMAS.case("column-added-later", "WCON-003 WCON-004 META-002")
def _added(case: CaseWriter) -> None:
    """An added column is null in older files, filters and all."""
    schema = struct(id="long")
    table = GoldenTable.created(case, schema, [{"id": 1}, {"id": 2}])
    table.schema = schema.with_fields(field("c", "string"), field("d", array("date")))
    table.commit(table.metadata(), operation="ADD COLUMNS")
    table.append([{"id": 3, "c": "x", "d": []}, {"id": 4, "c": None}])
    publish(case, table)
    filtered(case, table, "filter-null", is_null("c"), "Rows of old files are null")
    filtered(case, table, "filter-not-null", is_not_null("c"), "Only the new value is not")
    unequal = compare("c", "<>", "y", "string")
    filtered(case, table, "filter-unequal", unequal, "Null is not unequal to anything")
    projected(case, table, "project-new", ["c"], "The new column is read alone")


@MAPPINGS.case("list-element-names", "PQ-015 PQ-001")
def _inner_names(case: CaseWriter) -> None:
    """The inner names of lists in a file do not matter."""
    schema = struct(id="long", l=array("integer"), d=array(array(struct(x="string"))))
    table = GoldenTable.created(case, schema)
    for number, compliant in enumerate((True, False)):
        rows: list[dict[str, Any]] = [
            {"id": 10 * number, "l": [1, None], "d": [[{"x": "a"}], []]},
            {"id": 10 * number + 1, "l": None, "d": None},
        ]
        renamed = pa.schema(
            [
                pa.field("id", pa.int64()),
                pa.field("l", pa.list_(pa.field("item", pa.int32()))),
                pa.field(
                    "d",
                    pa.list_(
                        pa.field(
                            "item",
                            pa.list_(pa.field("item", pa.struct([pa.field("x", pa.string())]))),
                        )
                    ),
                ),
            ]
        )
        data = arrow_table(schema, rows) if compliant else pa.Table.from_pylist(rows, renamed)
        table.commit(add(_foreign(table, data, rows, use_compliant_nested_type=compliant)))
    publish(case, table)


_LIBRARY = struct(
    id="long",
    s="string",
    b="binary",
    l=array("string"),
    f=array("integer"),
    t=struct(x="string", y=array("integer")),
    m=map_of("string", "string"),
)


def _library_rows(start: int) -> list[dict[str, Any]]:
    return [
        {
            "id": start,
            "s": "a",
            "b": b"\x00\xff",
            "l": ["x", None, "x"],
            "f": [1, 2],
            "t": {"x": "a", "y": [7]},
            "m": {"k": "v", "n": None},
        },
        {"id": start + 1, "s": None, "b": None, "l": [], "f": [3, None], "t": None, "m": {}},
        {
            "id": start + 2,
            "s": "a",
            "b": b"",
            "l": None,
            "f": [5, 6],
            "t": {"x": None, "y": []},
            "m": None,
        },
    ]


def _publish_library(case: CaseWriter, table: GoldenTable) -> None:
    publish(case, table)
    filtered(case, table, "filter", compare("s", "=", "a", "string"), "A filter reads both files")
    projected(case, table, "project", ["l", "t"], "Nested columns are read alone")


@MAPPINGS.case("schema-of-a-library", "PQ-012 PQ-015 PQ-016 PQ-017")
def _own_types(case: CaseWriter) -> None:
    """Types of its own that a library keeps in a footer change nothing."""
    words = pa.dictionary(pa.int32(), pa.string())
    own = pa.schema(
        {
            "id": pa.int64(),
            "s": words,
            "b": pa.large_binary(),
            "l": pa.large_list(words),
            "f": pa.list_(pa.int32(), 2),
            "t": pa.struct({"x": words, "y": pa.large_list(pa.int32())}),
            "m": pa.map_(pa.large_string(), pa.large_string()),
        }
    )
    table = GoldenTable.created(case, _LIBRARY)
    plain = _library_rows(0)
    table.commit(add(_foreign(table, arrow_table(_LIBRARY, plain), plain)))
    rows = _library_rows(10)
    pairs = [{**row, "m": None if row["m"] is None else [*row["m"].items()]} for row in rows]
    data = pa.Table.from_pylist(pairs, own)
    table.commit(add(_foreign(table, data, rows, store_schema=True)))
    _publish_library(case, table)


@MAPPINGS.case("views-of-a-library", "PQ-006 PQ-012 PQ-015 PQ-016 PQ-017")
def _views(case: CaseWriter) -> None:
    """Views, durations and extension types of a library change nothing."""
    own = pa.schema(
        {
            "id": pa.duration("us"),
            "s": pa.string_view(),
            "b": pa.binary_view(),
            "l": pa.list_(pa.field("element", pa.json_())),
            "f": pa.list_(pa.field("element", pa.int32())),
            "t": pa.struct({"x": pa.string_view(), "y": pa.list_(pa.int32())}),
            "m": pa.map_(pa.string_view(), pa.json_()),
        }
    )
    table = GoldenTable.created(case, _LIBRARY)
    for start, footer in ((0, None), (10, own)):
        rows = _library_rows(start)
        table.commit(add(_foreign(table, arrow_table(_LIBRARY, rows), rows, footer=footer)))
    _publish_library(case, table)


@MAPPINGS.case("list-two-levels", "PQ-015 PQ-001")
def _two_levels(case: CaseWriter) -> None:
    """Lists of two levels read like those of three."""
    dense = struct(
        id="long", l=array("integer", contains_null=False), s=array("string", contains_null=False)
    )
    table = GoldenTable.created(case, struct(id="long", l=array("integer"), s=array("string")))
    for start, old in ((0, False), (10, True)):
        rows: list[dict[str, Any]] = [
            {"id": start, "l": [1, 2, 3], "s": ["a", ""]},
            {"id": start + 1, "l": [], "s": ["b"]},
            {"id": start + 2, "l": None, "s": None},
        ]
        file = _foreign(table, arrow_table(dense, rows), rows)
        place = table.root / file.path
        if old:
            relabel_lists_and_maps(place, lists="two-level", legacy_maps=False)
        table.commit(add(file, size=place.stat().st_size))
    publish(case, table)
    projected(case, table, "project-list", ["s"], "A list of two levels is read alone")


@MAPPINGS.case("older-lists-and-maps", "PQ-015 PQ-016 PQ-001")
def _older(case: CaseWriter) -> None:
    """Groups of lists and maps have the names that older writers gave them."""
    table = GoldenTable.created(
        case, struct(id="long", l=array("integer"), m=map_of("string", "integer"))
    )
    layouts = (
        FileLayout(),
        FileLayout(lists="bag"),
        FileLayout(lists="array-in-list"),
        FileLayout(legacy_maps=True),
    )
    for number, layout in enumerate(layouts):
        rows: list[dict[str, Any]] = [
            {"id": 10 * number, "l": [1, None], "m": {"a": 1, "b": None}},
            {"id": 10 * number + 1, "l": [], "m": {}},
            {"id": 10 * number + 2, "l": None, "m": None},
        ]
        table.append(rows, layout=layout)
    publish(case, table)


@MAPPINGS.case("timestamp-units", "PQ-008 SCH-014")
def _units(case: CaseWriter) -> None:
    """Timestamps of other units than microseconds are contested."""
    schema = struct(id="long", at="timestamp")
    table = GoldenTable.created(case, schema)
    whole: list[dict[str, Any]] = [
        {"id": 1, "at": utc(2024, 1, 1, 1, 2, 3, 123000)},
        {"id": 2, "at": None},
    ]
    for unit in ("ms", "ns"):
        target = pa.schema([pa.field("id", pa.int64()), pa.field("at", pa.timestamp(unit, "UTC"))])
        data = arrow_table(schema, whole).cast(target)
        table.commit(add(_foreign(table, data, whole, version="2.6")))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "PQ-008")
    for version, unit in ((1, "ms"), (2, "ns")):
        case.contest_read(
            "The instants are read, or the unit is refused",
            schema,
            Accepted("instants", "the instants are the same", rows=table.rows(version)),
            Accepted("refused", "timestamps are stored in microseconds", refusal=refusal),
            slug=f"read-{unit}",
            version=version,
        )


@PROPERTIES.case("data-page-versions", "PROP-008")
def _pages(case: CaseWriter) -> None:
    """Files of data page versions 1 and 2 may be mixed."""
    schema = struct(id="long", s="string", l=array("integer"))
    table = GoldenTable.created(case, schema, properties={"delta.parquet.format.version": "2.12.0"})
    for number, version in enumerate(("1.0", "2.0")):
        rows: list[dict[str, Any]] = [
            {"id": 100 * number + n, "s": f"s{n % 3}" if n % 4 else None, "l": [n, None]}
            for n in range(20)
        ]
        data = arrow_table(schema, rows)
        options: dict[str, Any] = {"data_page_version": version, "compression": "zstd"}
        file = _foreign(table, data, rows, row_group_size=7, **options)
        table.commit(add(file))
    publish(case, table)
    kept = compare("s", "=", "s1", "string")
    filtered(case, table, "filter", kept, "A filter reads both versions")


@PROPERTIES.case("encodings", "PROP-005 PQ-001")
def _encodings(case: CaseWriter) -> None:
    """Encodings and footers of a file do not matter."""
    schema = struct(id="long", s="string", d="double")
    table = GoldenTable.created(case, schema)
    rows: list[dict[str, Any]] = [{"id": n, "s": f"prefix-{n}", "d": n / 8} for n in range(30)]
    data = arrow_table(schema, rows)
    encodings: tuple[dict[str, Any], ...] = (
        {"use_dictionary": True, "write_page_index": True},
        {
            "use_dictionary": False,
            "column_encoding": {"id": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "d": "PLAIN"},
        },
        {"use_dictionary": False, "write_statistics": False, "compression": "none"},
    )
    for options in encodings:
        table.commit(add(_foreign(table, data, rows, **options)))
    publish(case, table)
    kept = compare("id", ">=", 28, "long")
    filtered(case, table, "filter", kept, "A filter reads every encoding")


@PROPERTIES.case("rare-encoding", "PROP-005 PQ-001")
def _rare_encoding(case: CaseWriter) -> None:
    """An encoding that few files have is read or refused."""
    schema = struct(id="long", d="double")
    table = GoldenTable.of(case, schema)
    rows: list[dict[str, Any]] = [{"id": n, "d": n / 8} for n in range(30)]
    options: dict[str, Any] = {
        "use_dictionary": False,
        "column_encoding": {"d": "BYTE_STREAM_SPLIT"},
    }
    table.create(add(_foreign(table, arrow_table(schema, rows), rows, **options)))
    describe(case, table)
    refusal = Refusal("unsupported", "read", "PQ-001")
    case.contest_read(
        "The values are read, or the file is refused",
        schema,
        Accepted("rows", "data files are Parquet, whose encodings these are", rows=rows),
        Accepted("refused", "the text names no encodings to support", refusal=refusal),
        hazard="silent wrong data",
    )


@SCHEMAS.case("not-null-columns", "SCH-025 SCH-031")
def _not_null(case: CaseWriter) -> None:
    """Columns that are not nullable read with their schema."""
    schema = struct(
        field("id", "long", nullable=False),
        field("s", struct(field("a", "integer", nullable=False)), nullable=False),
        field("l", array("string", contains_null=False), nullable=False),
        field("m", map_of("string", "long", value_contains_null=False)),
    )
    table = GoldenTable.of(case, schema)
    row = {"id": 1, "s": {"a": 1}, "l": ["x"], "m": {"k": 1}}
    table.create(add(table.file([row])))
    # Many writers leave every column of a file optional, whatever the table says.
    loose = struct(id="long", s=struct(a="integer"), l=array("string"), m=map_of("string", "long"))
    table.commit(add(table.file([{**row, "id": 2}], written_as=loose)))
    publish(case, table)
