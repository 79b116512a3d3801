"""Cases of deletion vectors: every storage, every boundary, the life of a vector."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import Filter, compare, is_not_null, is_null
from generators.golden.cases.publish import (
    aggregated,
    describe,
    filtered,
    projected,
    publish,
    read_spec,
)
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.summarise import AS_STRUCT
from generators.golden.cases.table import DataFile, GoldenTable, add, feature_protocol, remove
from generators.materialise.data.data_files import FileLayout
from generators.materialise.data.deletion_vectors import (
    StoredVector,
    inline_descriptor,
    write_vector_file,
)
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.materialise.log.files import drop_commits, json_text
from generators.oracle.delta_schema import Struct, field, mapped_by, struct

VECTORS = Chapter("deletion-vectors", since="2025")

VECTOR_PROTOCOL = feature_protocol(["deletionVectors"])
WITH_VECTORS = {"delta.enableDeletionVectors": "true"}


def numbered(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Return rows of consecutive ids."""
    return [{"id": n, "name": f"n{n}"} for n in range(start, start + count)]


def vector_table(case: CaseWriter, schema: Struct = PAIR, **options: Any) -> GoldenTable:
    """Return an empty table that supports and enables deletion vectors."""
    options = {"protocol": VECTOR_PROTOCOL, "properties": WITH_VECTORS, **options}
    return GoldenTable.of(case, schema, **options)


def store(table: GoldenTable, *vectors: Sequence[int], prefix: str = "") -> list[dict[str, Any]]:
    """Store vectors in one file of their own; returns their descriptors, known to the ledger."""
    identity = uuid.UUID(table.unique_name("vector"))
    stored = [StoredVector(rows) for rows in vectors]
    descriptors = write_vector_file(table.root, identity, stored, prefix=prefix)
    return [
        table.register_vector(descriptor, rows)
        for descriptor, rows in zip(descriptors, vectors, strict=True)
    ]


def inline(table: GoldenTable, rows: Sequence[int]) -> dict[str, Any]:
    """Return the descriptor of a vector inside the log, known to the ledger."""
    return table.register_vector(inline_descriptor(rows), rows)


def with_vector(file: DataFile, vector: Mapping[str, Any], old: Any = ...) -> list[dict[str, Any]]:
    """Return the two actions that put a vector on a live file."""
    return [remove(file, deletionVector=old), add(file, deletionVector=dict(vector))]


def _probe(case: CaseWriter, table: GoldenTable) -> None:
    """Ask for the rows in the ways that have gone wrong: filter, projection, both counts."""
    below: Filter = compare("id", "<", 4, "long")
    filtered(case, table, "filter-below", below, "A filter sees undeleted rows only")
    filtered(case, table, "filter-null", is_null("name"), "So does a test for null")
    projected(case, table, "project-name", ["name"], "A projection drops the deleted rows too")


# Storage types.


@VECTORS.case("inline", "DVDESC-004 DVDESC-005 DVDESC-017 DVDESC-020")
def _inline_case(case: CaseWriter) -> None:
    """A vector inside the log deletes its rows."""
    table = vector_table(case)
    file = table.file(numbered(10))
    table.create(add(file), add(table.file(numbered(3, 100))))
    table.commit(*with_vector(file, inline(table, [0, 3, 9])), operation="DELETE")
    case.judged["files-latest"] = "DVDESC-013"
    publish(case, table)
    _probe(case, table)


@VECTORS.case("inline-like-paths", "DVDESC-017 DVDESC-005 DVDESC-013 DVDESC-020")
def _inline_like_paths(case: CaseWriter) -> None:
    """A vector inside the log is no path, whatever letters it has."""
    table = vector_table(case)
    rows = [0, 1, 4, 31, 33, 36, 38, 44, 47, 50, 56, 58]
    vector, other = inline(table, rows), inline(table, [2])
    if not {*"/:+%"} <= {*vector["pathOrInlineDv"]}:
        raise ValueError("the vector has no letters of paths")
    first, second = table.file(numbered(60)), table.file(numbered(5, 100))
    table.create(add(first), add(second))
    table.commit(*with_vector(first, vector), *with_vector(second, other), operation="DELETE")
    slugs = ("read-latest", "read-v1", "count", "filter-below", "filter-null", "project-name")
    case.judged = {"files-latest": "DVDESC-013", **dict.fromkeys(slugs, "DVDESC-017")}
    publish(case, table)
    _probe(case, table)
    aggregated(case, table, "count", ["id"], "So do counts and extremes")


@VECTORS.case("inline-without-padding", "DVDESC-004 DVDESC-005 DVDESC-009 DV-005")
def _inline_whole(case: CaseWriter) -> None:
    """A vector inside the log may fill its last word."""
    table = vector_table(case)
    file = table.create_with(numbered(10))
    vector = inline(table, [0, 3])
    if vector["sizeInBytes"] % 4:
        raise ValueError("the vector has padding")
    table.commit(*with_vector(file, vector), operation="DELETE")
    case.judged["read-latest"] = "DV-005"
    publish(case, table)


@VECTORS.case("null-of-deleted-row", "SNAP-007 DVDESC-020 SCH-025")
def _null_deleted(case: CaseWriter) -> None:
    # Some writers take a column without nulls for an invariant.
    """A null in a deleted row breaks no rule of its column."""
    protocol = feature_protocol(["deletionVectors"], ["invariants"])
    schema = PAIR.with_fields(field("s", struct(a="long")))
    table = vector_table(case, schema, protocol=protocol)

    def filled(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "s": {"a": row["id"]}} for row in rows]

    gone = {"id": 3, "name": None, "s": {"a": None}}
    file = table.create_with([*filled(numbered(3)), gone, *filled(numbered(2, 4))])
    table.commit(*with_vector(file, inline(table, [3])), operation="DELETE")
    table.schema = struct(
        field("id", "long"),
        field("name", "string", nullable=False),
        field("s", struct(field("a", "long", nullable=False))),
    )
    table.commit(table.metadata())
    table.append(filled(numbered(2, 10)))
    publish(case, table)
    _probe(case, table)


@VECTORS.case("relative", "DVDESC-002 DVDESC-016 DVDESC-020 DVFILE-001 DVFMT-010 DVSTO-002 DV-005")
def _relative(case: CaseWriter) -> None:
    """A vector in a file beside the data deletes its rows."""
    table = vector_table(case)
    file = table.create_with(numbered(10))
    table.commit(*with_vector(file, store(table, [1, 2, 5])[0]), operation="DELETE")
    case.judged |= {"files-latest": "DVDESC-014", "read-v1": "DV-005"}
    publish(case, table)
    _probe(case, table)


@VECTORS.case("vectors-of-one-file", "DVDESC-014 DVDESC-020 DVSTO-001 REC-010")
def _of_one_file(case: CaseWriter) -> None:
    """Two vectors in one file are two vectors."""
    table = vector_table(case)
    file = table.create_with(numbered(10))
    one, other = store(table, [1, 2], [1, 2, 5])
    table.commit(*with_vector(file, one), operation="DELETE")
    table.commit(*with_vector(file, other, one), operation="DELETE")
    case.judged = dict.fromkeys(("files-latest", "read-latest", "read-v2"), "DVDESC-014")
    publish(case, table)


@VECTORS.case("relative-with-prefix", "DVDESC-003 DVDESC-016 DVDESC-018")
def _prefixed(case: CaseWriter) -> None:
    """A random prefix is part of the vector file's path."""
    table = vector_table(case)
    file = table.create_with(numbered(10))
    for prefix, rows in (("ab", [1]), ("Zz9.a", [1, 4]), ("", [1, 4, 7])):
        old = next(iter(table.states[table.version].adds.values())).get("deletionVector", ...)
        table.commit(*with_vector(file, store(table, rows, prefix=prefix)[0], old))
    publish(case, table)


@VECTORS.case("one-name-under-two-prefixes", "DVDESC-014 DVDESC-003 DVDESC-016 REC-010")
def _two_prefixes(case: CaseWriter) -> None:
    """A prefix is part of what tells vectors apart."""
    table = vector_table(case)
    file = table.create_with(numbered(10))
    identity = uuid.UUID(table.unique_name("vector"))
    vectors = []
    for prefix, rows in (("ab", [1]), ("cd", [1, 4])):
        (stored,) = write_vector_file(table.root, identity, [StoredVector(rows)], prefix=prefix)
        vectors.append(table.register_vector(stored, rows))
    table.commit(*with_vector(file, vectors[0]), operation="DELETE")
    table.commit(*with_vector(file, vectors[1], vectors[0]), operation="DELETE")
    case.judged = dict.fromkeys(("files-latest", "read-latest", "read-v2"), "DVDESC-014")
    publish(case, table)


def _in_partitions(case: CaseWriter, rows: int, *values: str) -> tuple[GoldenTable, list[DataFile]]:
    """Return a table with one file of some rows in each of its partitions."""
    table = vector_table(case, struct(id="long", p="string"), partition_columns=["p"])
    files = [
        table.file([{"id": 10 * n + i} for i in range(rows)], partition={"p": value})
        for n, value in enumerate(values)
    ]
    table.create(*(add(file) for file in files))
    return table, files


@VECTORS.case("several-in-one-file", "DVFILE-002 DVFILE-003 DVDESC-007 DVSTO-001 DVDESC-020")
def _several(case: CaseWriter) -> None:
    """One file may hold the vectors of several data files."""
    table, files = _in_partitions(case, 5, "p 0", "p 1", "p 2")
    vectors = store(table, [0], [1, 2], [0, 1, 2, 3, 4])
    actions = [each for pair in zip(files, vectors, strict=True) for each in with_vector(*pair)]
    table.commit(*actions, operation="DELETE")
    case.judged["project-partition"] = "DVDESC-020"
    publish(case, table)
    kept = compare("p", "=", "p 1", "string")
    filtered(case, table, "filter-partition", kept, "A partition keeps its own deletions")
    projected(case, table, "project-partition", ["p"], "Partition values repeat per live row")


@VECTORS.case("relative-of-partitions", "DVDESC-016 DVFILE-001 DV-005")
def _of_partitions(case: CaseWriter) -> None:
    """Vector files are found from the table root, wherever the data lies."""
    table, files = _in_partitions(case, 4, "p0", "p1")
    for file, prefix in zip(files, ("", "Zz9.a"), strict=True):
        table.commit(*with_vector(file, store(table, [1, 3], prefix=prefix)[0]))
    case.judged |= dict.fromkeys(("read-latest", "read-v1", "read-v2"), "DVDESC-016")
    publish(case, table)


@VECTORS.case("table-root-odd-name", "SNAP-006", root="a b%20c")
def _odd_root(case: CaseWriter) -> None:
    """Vector files are found below an odd root."""
    table = vector_table(case)
    file = table.create_with(numbered(4))
    table.commit(*with_vector(file, store(table, [2], prefix="xy")[0]))
    publish(case, table)


# Which rows.

_ROW_SETS: Mapping[str, tuple[str, int, Sequence[int]]] = {
    "first-row-only": ("A vector shorter than its file leaves the rest", 100, [0]),
    "last-row-only": ("The last row alone can be deleted", 100, [99]),
    "all-but-last": ("All rows but the last can be deleted", 100, range(99)),
    "all-rows": ("A file of which all rows are deleted gives none", 50, range(50)),
    "no-rows": ("An empty vector deletes nothing", 10, []),
    "every-second": ("Scattered rows are deleted each", 200, range(0, 200, 2)),
}


def _row_set(case: CaseWriter, count: int, rows: Sequence[int]) -> None:
    table = vector_table(case)
    file = table.create_with(numbered(count))
    table.commit(*with_vector(file, store(table, rows)[0]), operation="DELETE")
    publish(case, table)
    _probe(case, table)


for _name, (_title, _count, _rows) in _ROW_SETS.items():
    VECTORS.define(
        _name, _title, "DVDESC-020 DVFMT-001 DVD-020", partial(_row_set, count=_count, rows=_rows)
    )


@VECTORS.case("row-groups", "DVDESC-021 DVDESC-020")
def _row_groups(case: CaseWriter) -> None:
    """Row indexes count through all row groups of a file."""
    table = vector_table(case)
    layout = FileLayout(row_group_rows=7, page_bytes=64, dictionary=False)
    file = table.create_with(numbered(40), layout=layout)
    table.commit(*with_vector(file, store(table, [0, 6, 7, 13, 14, 21, 39])[0]), operation="DELETE")
    publish(case, table)
    _probe(case, table)
    late = compare("id", ">=", 21, "long")
    filtered(case, table, "filter-late", late, "Skipped row groups do not shift the indexes")


# Life of a vector.


@VECTORS.case("life-cycle", "REC-009 REC-010 FA-013 DVDESC-013 DVDESC-014 DVD-018")
def _life(case: CaseWriter) -> None:
    """Vectors are set, grown, shrunk and taken off again."""
    table = vector_table(case)
    file = table.create_with(numbered(6))
    first, second = store(table, [1], [1, 3])
    table.commit(*with_vector(file, first), operation="DELETE")
    table.commit(*with_vector(file, second, first), operation="DELETE")
    table.commit(*with_vector(file, first, second), operation="RESTORE")
    table.commit(remove(file, deletionVector=first), add(file), operation="RESTORE")
    table.commit(remove(file), operation="DELETE")
    publish(case, table)


@VECTORS.case("life-cycle-checkpoint", "REC-009 REC-010 CKC-004 CKC-005 ADD-012")
def _life_checkpoint(case: CaseWriter) -> None:
    """A checkpoint keeps each vector with its file."""
    table = vector_table(case)
    file, plain = table.file(numbered(6)), table.file(numbered(3, 50))
    table.create(add(file), add(plain))
    first, second = store(table, [1], [1, 3])
    table.commit(*with_vector(file, first))
    table.commit(*with_vector(file, second, first))
    table.checkpoint(version=2, style=CheckpointStyle(stats_parsed=True), hint=False)
    table.commit(*with_vector(plain, inline(table, [0])))
    drop_commits(table.root, 2)
    # Of the two files one has a vector, so that the checkpoint has null for the other.
    case.judged |= {"read-latest": "REC-010", "read-v2": "ADD-012"}
    publish(case, table, versions=[2, 3], log_info={"lastCheckpointVersion": 2})
    _probe(case, table)


@VECTORS.case("remove-without-vector", "REC-010 FA-002 REM-014")
def _bare_remove(case: CaseWriter) -> None:
    """A remove of the bare file leaves the one with a vector."""
    table = vector_table(case)
    file = table.file(numbered(6))
    vector = store(table, [2])[0]
    table.create(add(file, deletionVector=vector))
    table.commit(remove(file))
    table.commit(remove(file, deletionVector=vector))
    publish(case, table)


@VECTORS.case("property-off", "DV-004 DV-002")
def _property_off(case: CaseWriter) -> None:
    """Vectors count when the property is off or gone."""
    table = vector_table(case)
    file = table.create_with(numbered(6))
    table.commit(*with_vector(file, store(table, [0, 1])[0]))
    table.properties = {"delta.enableDeletionVectors": "false"}
    table.commit(table.metadata())
    table.properties = {}
    table.commit(table.metadata())
    publish(case, table)
    case.judged["filter"] = "DV-004"
    below: Filter = compare("id", "<", 4, "long")
    filtered(case, table, "filter", below, "A filter sees none of them either")


@VECTORS.case("property-off-inline", "DV-004")
def _property_off_inline(case: CaseWriter) -> None:
    """Vectors inside the log count when the property is off or gone."""
    table = vector_table(case)
    file = table.create_with(numbered(6))
    table.commit(*with_vector(file, inline(table, [0, 1])))
    for properties in ({"delta.enableDeletionVectors": "false"}, {}):
        table.properties = properties
        table.commit(table.metadata())
    publish(case, table, versions=[2, 3], files=False)


@VECTORS.case("null-descriptor", "ADD-012 REM-013")
def _null(case: CaseWriter) -> None:
    """A null vector in an action is no vector."""
    table = vector_table(case)
    files = [table.file(numbered(2, n)) for n in (0, 10)]
    table.create(*(add(file, deletionVector=None) for file in files))
    table.commit(remove(files[0], deletionVector=None))
    case.judged["read-v1"] = "REM-013"
    publish(case, table, files=False)


@VECTORS.case("null-and-absent", "ADD-012 REM-013")
def _null_and_absent(case: CaseWriter) -> None:
    """Null and absent vectors of adds and removes are one and the same."""
    table = vector_table(case)
    null, absent, kept = (table.file(numbered(2, n)) for n in (0, 10, 20))
    table.create(add(null, deletionVector=None), add(absent), add(kept))
    table.commit(remove(null), operation="DELETE")
    table.commit(remove(absent, deletionVector=None), operation="DELETE")
    case.judged |= dict.fromkeys(("read-v2", "read-latest"), "REM-013")
    publish(case, table, files=False)


@VECTORS.case("marked-after-null", "REM-013 REC-010")
def _marked_after_null(case: CaseWriter) -> None:
    """A remove whose vector is null leaves an add of its path with one."""
    table = vector_table(case)
    files = [table.file(numbered(4, n)) for n in (0, 10)]
    table.create(*(add(file) for file in files))
    for file, old in zip(files, (None, ...), strict=True):
        table.commit(*with_vector(file, store(table, [1])[0], old), operation="DELETE")
    case.judged |= dict.fromkeys(("read-v1", "read-latest"), "REM-013")
    publish(case, table, versions=[1, 2], files=False)


@VECTORS.case("taken-off-by-null", "ADD-012 REM-013 DVDESC-020")
def _taken_off(case: CaseWriter) -> None:
    """A null vector in a later add takes the former off."""
    table = vector_table(case)
    file = table.create_with(numbered(4))
    vector = store(table, [1, 2])[0]
    table.commit(*with_vector(file, vector), operation="DELETE")
    back = [remove(file, deletionVector=vector), add(file, deletionVector=None)]
    table.commit(*back, operation="RESTORE")
    table.commit(remove(file, deletionVector=None), operation="DELETE")
    case.judged |= {"read-v1": "DVDESC-020", "read-v3": "REM-013", "read-latest": "REM-013"}
    publish(case, table, files=False)


@VECTORS.case(
    "wide-bounds", "STAT-002 STAT-005 STAT-006 STAT-009 STAT-010 STAT-011 STAT-013 DVD-022"
)
def _wide(case: CaseWriter) -> None:
    """Filters under wide bounds lose no row."""
    table = vector_table(case, struct(id="long", v="integer"))
    rows = [{"id": n, "v": None if n % 2 else n} for n in range(8)]
    stats = {
        "numRecords": 8,
        "tightBounds": False,
        "minValues": {"id": -100, "v": -100},
        "maxValues": {"id": 100, "v": 100},
        "nullCount": {"id": 0, "v": 4},
    }
    file = table.create_with(rows)
    vector = store(table, [0, 2, 4])[0]
    wide = table.register(
        DataFile({**file.body, "stats": json_text(stats)}, file.rows, file.schema)
    )
    table.commit(remove(file), add(wide, deletionVector=vector))
    publish(case, table)
    probes = {
        "null": is_null("v"),
        "six": compare("v", "=", 6, "integer"),
        "deleted": compare("v", "<", 3, "integer"),
        "beyond": compare("id", ">", 7, "long"),
        "never-null": is_null("id"),
        "never-null-not": is_not_null("id"),
    }
    for slug, probe in probes.items():
        filtered(case, table, f"filter-{slug}", probe, "A filter answers as a full scan would")


def _wide_nulls(case: CaseWriter, style: CheckpointStyle | None = None) -> None:
    schema = struct(id="long", v="integer")
    forms = {} if style is None or style.stats_json else AS_STRUCT
    table = vector_table(case, schema, properties={**WITH_VECTORS, **forms})
    file = table.create_with([{"id": n, "v": None if n % 2 else n} for n in range(8)])
    # Two of the four rows that are left are null, and the count is that of the whole file.
    wide = table.register(
        DataFile(
            {
                **file.body,
                "stats": json_text(
                    {"numRecords": 8, "tightBounds": False, "nullCount": {"id": 0, "v": 4}}
                ),
            },
            file.rows,
            file.schema,
        )
    )
    table.commit(remove(file), add(wide, deletionVector=store(table, [0, 1, 2, 3])[0]))
    if style is not None:
        table.checkpoint(version=1, style=style, hint=False)
        drop_commits(table.root, 1)
    publish(case, table, versions=None if style is None else [1])
    probes = {
        "null": is_null("v"),
        "not-null": is_not_null("v"),
        "six": compare("v", "=", 6, "integer"),
    }
    for slug, probe in probes.items():
        filtered(case, table, f"filter-{slug}", probe, "A filter answers as a full scan would")


for _slug, _style in {
    "": None,
    "-in-checkpoint": CheckpointStyle(),
    "-in-checkpoint-as-struct": CheckpointStyle(stats_json=False, stats_parsed=True),
}.items():
    VECTORS.define(
        f"wide-null-counts{_slug}",
        "As many nulls as rows are left do not mean that only nulls are left",
        "DVD-022",
        partial(_wide_nulls, style=_style),
    )


@VECTORS.case("restored-row-outside-bounds", "STAT-012 STAT-013")
def _restored(case: CaseWriter) -> None:
    """Bounds that a vector tightened do not outlive it."""
    table = vector_table(case, struct(x="long"))
    file = table.create_with([{"x": 0}, {"x": 10}])
    low, high = store(table, [0], [1])
    table.commit(remove(file), add(file, deletionVector=low))
    table.commit(remove(file, deletionVector=low), add(file, deletionVector=high))
    publish(case, table)
    kept = compare("x", "<", 5, "long")
    filtered(case, table, "filter-restored", kept, "The restored row is found")


@VECTORS.case("mapped-and-partitioned", "DVDESC-020 CM-029 CM-030")
def _mapped(case: CaseWriter) -> None:
    """Vectors work under column mapping and partitions."""
    plain = struct(id="long", p="string", name="string")
    schema, mapping = mapped_by("name", plain, case.info.id)
    table = vector_table(
        case,
        schema,
        partition_columns=["p"],
        properties={**WITH_VECTORS, **mapping},
        protocol=feature_protocol(["columnMapping", "deletionVectors"]),
    )
    file = table.create_with(numbered(4), partition={"p": "x"})
    table.commit(*with_vector(file, store(table, [1, 2])[0]))
    publish(case, table)
    _probe(case, table)


@VECTORS.case("unlisted-feature", "DV-001")
def _unlisted(case: CaseWriter) -> None:
    """A vector under a protocol that knows none is invalid."""
    table = vector_table(case, protocol={"minReaderVersion": 1, "minWriterVersion": 2})
    table.commit(*with_vector(table.create_with(numbered(4)), inline(table, [0])))
    describe(case, table)
    refusal = Refusal("invalid_table", "read", "DV-001")
    case.contest_read(
        "The vector is refused, applied or unknown",
        PAIR,
        Accepted("refused", "vectors need the feature in both lists", refusal=refusal),
        Accepted("applied", "an existing vector is applied", rows=table.rows()),
        Accepted("ignored", "an unknown field is ignored", rows=numbered(4)),
    )
    read_spec(case, table, 0)


@VECTORS.case("live-with-two-vectors", "REC-021 FA-012 FA-019")
def _two_live(case: CaseWriter) -> None:
    """One path live under two vectors is contradictory."""
    table = vector_table(case)
    file = table.file(numbered(4))
    first, second = store(table, [0], [1])
    table.create(add(file, deletionVector=first))
    table.commit(add(file, deletionVector=second))
    describe(case, table)
    rows = numbered(4)
    refusal = Refusal("invalid_table", "read", "FA-019")
    case.contest_read(
        "The log is refused, or one of its readings is given",
        PAIR,
        Accepted("refused", "a path is live once", refusal=refusal),
        Accepted("newest", "the newest vector of a path counts", rows=[rows[0], *rows[2:]]),
        Accepted("both", "both logical files are live", rows=table.rows()),
    )
    read_spec(case, table, 0)
