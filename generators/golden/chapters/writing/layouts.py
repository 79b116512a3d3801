"""Cases of writing: recipes of clustered tables, of Iceberg, of void columns, of conversion.

And what vacuum, restore, checkpoints and the change feed may not lose.
"""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Computed, Recipe, pairs
from generators.golden.chapters.files.types import utc
from generators.golden.chapters.writing.operations import old_files, removed_files
from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import read_commit, write_commit
from generators.oracle.delta_schema import DataType, Struct, array, field, map_of, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import SetComment

CLUSTERED: Final = Chapter("clustered-table", since="2025")
FIRST: Final = Chapter("iceberg-compatibility-v1", since="2025")
SECOND: Final = Chapter("iceberg-compatibility-v2", since="2025")
VOID: Final = Chapter("void-type", since="upstream")
DATA: Final = Chapter("data-files")
FILES: Final = Chapter("add-file-and-remove-file")
DESIGN: Final = Chapter("deletion-vectors-design", since="2025")
FEED: Final = Chapter("change-data-files", since="2025")
CLOCK: Final = Chapter("in-commit-timestamps", since="2025")
CHECKPOINTS: Final = Chapter("checkpoints", since="2025")
TRACKING: Final = Chapter("row-tracking", since="2025")

_MAPPED: Final = {"delta.columnMapping.mode": "name"}
_ENABLED: Final = {"delta.enableDeletionVectors": "true"}
_WEEK: Final = {"delta.deletedFileRetentionDuration": "interval 7 days"}
_AGES: Final = {"delta.deletedFileRetentionDuration": "interval 100000 days"}
_NO_STATISTICS: Final = {"delta.dataSkippingNumIndexedCols": "0"}


def _indexed(*steps: str) -> list[tuple[str, str, Refusal | None]]:
    """Return what becomes of a clustered table whose property asks for statistics of no column.

    Args:
        steps: operations that may be refused.
    """
    return [
        ("carried-out", "whatever the property says, clustering columns have statistics", None),
        (
            "refused",
            "the property, of no text of the protocol, leaves the columns without statistics",
            Refusal("invalid_table", "commit", "CLUS-009", of=steps),
        ),
    ]


def _clustered(properties: dict[str, str], features: tuple[str, ...], case: CaseWriter) -> None:
    recipe = Recipe(PAIR, (), properties, features, clustering_columns=("name",))
    recipe.append(pairs(1, 5, 3)).append(pairs(4, 2)).keep("optimize")
    recipe.update({"id": Computed(node("+", column("id"), literal("long", 10)))})
    recipe.delete(compare("id", "=", 13, "long"))
    recipe.publish(case, contested=_indexed("create", "append"))


CLUSTERED.define(
    "write-changes",
    "Every file of a clustered table has statistics of its columns",
    "CLUS-006 CLUS-009",
    partial(_clustered, _NO_STATISTICS, ()),
)
CLUSTERED.define(
    "write-changes-mapped",
    "The columns of a clustered table are kept by physical name",
    "CLUS-006 CLUS-009 CM-035",
    partial(_clustered, {**_NO_STATISTICS, **_MAPPED}, ("columnMapping",)),
    since="upstream",
)


@CLUSTERED.case("write-cluster-later", "CLUS-009 CLUS-010")
def _cluster_later(case: CaseWriter) -> None:
    """Files that are there get statistics of a clustering column."""
    recipe = Recipe(PAIR, (), _NO_STATISTICS).append(pairs(1, 2)).append(pairs(3))
    recipe.keep("cluster_by", columns=["id"]).append(pairs(4))
    recipe.keep("cluster_by", columns=["name", "id"]).append(pairs(5))
    recipe.publish(case, contested=_indexed("cluster_by"))


@CLUSTERED.case("write-far-column", "CLUS-009")
def _far_clusters(case: CaseWriter) -> None:
    """A clustering column has statistics, wherever it stands among others."""
    fillers = (field(f"c{number}", "integer") for number in range(1, 33))
    schema = Struct((field("id", "long"), *fillers, field("name", "string")))
    recipe = Recipe(schema, clustering_columns=("name",)).append(pairs(1, 2))
    recipe.delete(compare("id", "=", 1, "long")).append(pairs(3))
    recipe.publish(case, contested=_indexed("create"))


@CLUSTERED.case("write-cluster-empty", "CLUS-003 CLUS-006 CLUS-009")
def _cluster_empty(case: CaseWriter) -> None:
    """A table without files is clustered, and again once it has none left."""
    recipe = Recipe(PAIR).keep("cluster_by", columns=["name"]).append(pairs(1, 2)).delete()
    recipe.keep("cluster_by", columns=["id"]).append(pairs(3)).publish(case)


@CLUSTERED.case("write-cluster-vectors", "CLUS-009 CLUS-010 STAT-005")
def _clustered_vectors(case: CaseWriter) -> None:
    """Statistics that a file with a vector gets are no tight ones."""
    properties = {**_NO_STATISTICS, "delta.enableDeletionVectors": "true"}
    recipe = Recipe(PAIR, (), properties, ("deletionVectors",)).append(pairs(*range(9)))
    recipe.append([*pairs(20, 21), {"id": None, "name": "null"}])
    recipe.delete(is_in("id", [0, 8, 21], "long")).keep("cluster_by", columns=["id"])
    recipe.append(pairs(31, 30)).delete(is_in("id", [20, 31], "long"))
    recipe.keep("optimize", cluster=True).publish(case, contested=_indexed("cluster_by"))


@CLUSTERED.case("write-restore-before-column", "CLUS-006 CLUS-009")
def _restored_clusters(case: CaseWriter) -> None:
    """After a restore the clustering columns are columns of the table."""
    recipe = Recipe(PAIR, clustering_columns=("id",)).append(pairs(1, 2))
    recipe.add_column(field("later", "string")).append([{"id": 3, "name": "c", "later": "x"}])
    recipe.keep("cluster_by", columns=["later"])
    recipe.restore(1).append(pairs(4)).publish(case)


@CLUSTERED.case("write-restore-before-clustered", "CLUS-006")
def _restored_unclustered(case: CaseWriter) -> None:
    """A table is restored to a version before it was clustered."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).keep("cluster_by", columns=["name"])
    recipe.append(pairs(3)).restore(1).append(pairs(4)).publish(case)


@CLUSTERED.case("write-merge", "CLUS-006 CLUS-009")
def _merged_clusters(case: CaseWriter) -> None:
    """A merge and an overwrite write statistics of clustering columns."""
    recipe = Recipe(PAIR, clustering_columns=("name",)).append(pairs(1, 5, 3))
    recipe.merge(pairs(5, 9), SAME_ID, *UPSERT)
    recipe.overwrite(pairs(7), compare("id", ">", 5, "long")).append(pairs(8)).publish(case)


@CLUSTERED.case("write-partitioned", "CLUS-004")
def _partitioned(case: CaseWriter) -> None:
    """A partitioned table is not clustered."""
    recipe = Recipe(PAIR, ("name",)).append(pairs(1)).keep("cluster_by", columns=["id"])
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "CLUS-004"))


_EVENTS: Final = struct(part="string", id="long", at="timestamp", day="date")


def _event(number: int) -> dict[str, Any]:
    moment = utc(2024, 1, 1, 0, 0, 0, number)
    return {"part": "ab"[number % 2], "id": number, "at": moment, "day": date(2024, 1, number)}


def _compatible(version: int, case: CaseWriter, mode: str = "name") -> None:
    properties = {"delta.columnMapping.mode": mode, f"delta.enableIcebergCompatV{version}": "true"}
    recipe = Recipe(_EVENTS, ("part",), properties, ("columnMapping", f"icebergCompatV{version}"))
    recipe.append([_event(number) for number in range(1, 7)])
    recipe.update({"id": 100}, compare("id", "=", 2, "long"))
    recipe.delete(compare("id", "=", 5, "long")).append([_event(9)]).keep("optimize").publish(case)


FIRST.define(
    "write-changes",
    "Files have the partition values and count their rows",
    "ICE1-007 ICE1-008 ICE1-009",
    partial(_compatible, 1),
)
FIRST.define(
    "write-changes-by-id",
    "Files have the partition values where columns are found by ids",
    "ICE1-008 ICE1-007 ICE1-009",
    partial(_compatible, 1, mode="id"),
)
SECOND.define(
    "write-changes",
    "Files have the partition values and count their rows",
    "ICE2-015 ICE2-016",
    partial(_compatible, 2),
)


def _merged(version: int, case: CaseWriter) -> None:
    properties = {**_MAPPED, f"delta.enableIcebergCompatV{version}": "true"}
    recipe = Recipe(_EVENTS, ("part",), properties, ("columnMapping", f"icebergCompatV{version}"))
    recipe.append([_event(number) for number in range(1, 7)])
    recipe.merge([_event(number) for number in (2, 8)], SAME_ID, *UPSERT)
    recipe.overwrite([_event(9)], compare("part", "=", "b", "string"))
    recipe.append([_event(10)]).restore(1).publish(case)


for _chapter, _version, _ids in (
    (FIRST, 1, "ICE1-007 ICE1-008 ICE1-009"),
    (SECOND, 2, "ICE2-015 ICE2-016 ICE2-017"),
):
    _chapter.define(
        "write-merge",
        "What a merge and an overwrite write has the partition values",
        _ids,
        partial(_merged, _version),
    )


@FIRST.case("write-enable-later", "ICE1-005 ICE1-007")
def _enable_later(case: CaseWriter) -> None:
    """Files that are there have the partition values once it is enabled."""
    recipe = Recipe(_EVENTS, ("part",), _MAPPED, ("columnMapping",))
    recipe.append([_event(number) for number in range(1, 5)])
    recipe.keep("enable_feature", feature="icebergCompatV1")
    recipe.set_properties({"delta.enableIcebergCompatV1": "true"}).append([_event(7)]).publish(case)


@SECOND.case("write-enable-later", "ICE2-005 ICE2-015 ICE2-016")
def _enable_second_later(case: CaseWriter) -> None:
    """Files that are there are read as before once it is enabled."""
    properties = {**_MAPPED, "delta.enableDeletionVectors": "true"}
    recipe = Recipe(_EVENTS, ("part",), properties, ("columnMapping", "deletionVectors"))
    recipe.append([_event(number) for number in range(1, 7)])
    recipe.delete(compare("id", "=", 3, "long"))
    recipe.set_properties({"delta.enableDeletionVectors": "false"})
    recipe.keep("enable_feature", feature="icebergCompatV2")
    recipe.set_properties({"delta.enableIcebergCompatV2": "true"}).append([_event(7)])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


def _excluded(
    version: int, schema: Struct, more: dict[str, str], requirement: str, case: CaseWriter
) -> None:
    asked = {f"delta.enableIcebergCompatV{version}": "true", **more}
    recipe = Recipe(schema, properties={"team": "tables"}).append([])
    refused = Refusal("invalid_table", "commit", requirement)
    if more:
        recipe.set_properties_refused(asked).publish(case, refusal=refused)
        return
    recipe.set_properties(asked).publish(
        case,
        contested=[
            ("refused", "the feature needs column mapping", refused),
            ("inert", "a property alone, of a feature that is not listed, binds nobody", None),
        ],
    )


def _with(of: str | DataType) -> Struct:
    return struct(id="long", c=of)


_VECTORS: Final = {"delta.enableDeletionVectors": "true"}
for _chapter, _version, _name, _title, _schema, _more, _id in (
    (FIRST, 1, "unmapped", "It is not enabled without column mapping", PAIR, {}, "ICE1-005"),
    (FIRST, 1, "vectors", "It is not enabled with vectors", PAIR, _VECTORS, "ICE1-006"),
    (FIRST, 1, "array", "A table with an array is refused", _with(array("long")), {}, "ICE1-010"),
    (
        FIRST,
        1,
        "map",
        "A table with a map is refused",
        _with(map_of("string", "long")),
        {},
        "ICE1-010",
    ),
    (SECOND, 2, "unmapped", "It is not enabled without column mapping", PAIR, {}, "ICE2-005"),
    (SECOND, 2, "vectors", "It is not enabled with active vectors", PAIR, _VECTORS, "ICE2-014"),
    (
        SECOND,
        2,
        "first",
        "It is not enabled beside the first version",
        PAIR,
        {"delta.enableIcebergCompatV1": "true"},
        "ICE2-013",
    ),
):
    _asked = {} if _name == "unmapped" else _MAPPED
    _chapter.define(
        f"write-refused-{_name}",
        _title,
        _id,
        partial(_excluded, _version, _schema, {**_asked, **_more}, _id),
        features=("columnMapping",),
    )


@SECOND.case("write-nested", "ICE2-006 ICE2-007 ICE2-008 ICE2-021 ICE2-022", since="upstream")
def _nested(case: CaseWriter) -> None:
    """Elements, keys and values have ids of their own."""
    schema = struct(
        id="long", l=array(array("integer")), m=map_of("integer", struct(s=array("string")))
    )
    properties = {**_MAPPED, "delta.enableIcebergCompatV2": "true"}
    recipe = Recipe(schema, (), properties, ("columnMapping", "icebergCompatV2"))
    recipe.append([{"id": 1, "l": [[1, None], []], "m": {7: {"s": ["x"]}}}])
    recipe.add_column(field("later", array("long"))).append(
        [{"id": 2, "l": None, "m": None, "later": [1]}]
    )
    recipe.publish(case)


@SECOND.case("write-nested-ids", "ICE2-007 ICE2-006 ICE2-012", since="2025")
def _nested_ids(case: CaseWriter) -> None:
    """Ids inside of columns are those of no column and of no other part."""
    schema = struct(id="long", l=array("integer"), n="long")
    properties = {**_MAPPED, "delta.enableIcebergCompatV2": "true"}
    recipe = Recipe(schema, (), properties, ("columnMapping", "icebergCompatV2"))
    recipe.append([{"id": 1, "l": [1, None], "n": 2}])
    recipe.add_column(field("m", map_of("string", array("long"))))
    recipe.append([{"id": 2, "l": None, "n": None, "m": {"k": [1]}}])
    recipe.update({"n": 3}, compare("id", "=", 2, "long")).keep("optimize")
    recipe.merge([{"id": 1, "l": [7], "n": 1, "m": None}], SAME_ID, *UPSERT).publish(case)


_VOID_COLUMN: Final = struct(id="long", v="void", s=struct(a="long"))


@VOID.case("write-void", "VOID-001")
def _void(case: CaseWriter) -> None:
    """void columns are in no file, and take a type later on."""
    rows: list[dict[str, Any]] = [
        {"id": 1, "v": None, "s": {"a": 1}},
        {"id": 2, "v": None, "s": None},
    ]
    recipe = Recipe(_VOID_COLUMN).append(rows).append([{**rows[1], "id": 3}])
    recipe.delete(compare("id", "=", 2, "long")).change_type("v", "string")
    recipe.append([{"id": 4, "v": "x", "s": None}]).publish(case)


@VOID.case("write-void-within", "VOID-001 VOID-002")
def _void_within(case: CaseWriter) -> None:
    """void fields of structs are in no file."""
    outer = struct(v="void", a="long", deep=struct(v="void", b="string", w="void"))
    inner = {"v": None, "b": "x", "w": None}
    recipe = Recipe(struct(id="long", s=outer, plain=struct(a="long")))
    recipe.append(
        [
            {"id": 1, "s": {"v": None, "a": 1, "deep": inner}, "plain": {"a": 5}},
            {"id": 2, "s": None, "plain": None},
            {"id": 3, "s": {"v": None, "a": None, "deep": None}, "plain": {"a": None}},
        ]
    )
    recipe.append(
        [{"id": 4, "s": {"v": None, "a": 4, "deep": {**inner, "b": None}}, "plain": None}]
    )
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


for _name, _title, _schema, _id in (
    ("array", "Rows are refused where an array has void in it", _with(array("void")), "VOID-003"),
    (
        "map",
        "Rows are refused where a map has void in it",
        _with(map_of("string", "void")),
        "VOID-003",
    ),
    (
        "struct",
        "Rows are refused where a struct has only void fields",
        _with(struct(v="void")),
        "VOID-004",
    ),
    ("all", "Rows are refused where every column is void", struct(id="void"), "VOID-005"),
):

    def _no_file(schema: Struct, requirement: str, case: CaseWriter) -> None:
        value = None if requirement == "VOID-005" else 1
        row: dict[str, Any] = dict.fromkeys(schema.names)
        recipe = Recipe(schema).append([row | {"id": value}])
        recipe.publish(case, refusal=Refusal("constraint", "commit", requirement))

    VOID.define(f"write-{_name}", _title, f"{_id} VOID-002", partial(_no_file, _schema, _id))


@DATA.case("write-underscored-partition", "DATA-001")
def _underscored_partition(case: CaseWriter) -> None:
    """A partition column may begin with an underscore."""
    schema = struct(id="long", _part="string")
    recipe = Recipe(schema, ("_part",)).append([{"id": 1, "_part": "a"}, {"id": 2, "_part": None}])
    recipe.append([{"id": 3, "_part": "_a"}]).delete(compare("id", "=", 2, "long")).publish(case)


@FILES.case("write-convert", "ADD-004 DATA-004 STAT-012")
def _convert(case: CaseWriter) -> None:
    """A folder of Parquet files becomes a table."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.convert().append(pairs(4)).delete(compare("id", "=", 2, "long")).publish(case)


@FILES.case("write-convert-partitions", "ADD-004 PART-003 DATA-004")
def _convert_partitions(case: CaseWriter) -> None:
    """The folders of partitions tell their values as files become a table."""
    schema = struct(
        field("id", "long", nullable=False),
        field("day", "date"),
        field("part", "string"),
        field("kind", "integer", nullable=False),
    )
    rows: list[dict[str, Any]] = [
        {"id": 1, "day": date(2024, 2, 29), "part": "a b", "kind": 0},
        {"id": 2, "day": None, "part": "c", "kind": 7},
        {"id": 3, "day": date(1969, 12, 31), "part": None, "kind": 7},
    ]
    recipe = Recipe(schema, ("day", "part", "kind")).append(rows).given().convert()
    recipe.append([{"id": 4, "day": None, "part": None, "kind": 0}])
    recipe.delete(compare("part", "=", "c", "string")).publish(case)


@FILES.case("write-convert-hidden", "ADD-004 DATA-001")
def _convert_hidden(case: CaseWriter) -> None:
    """What a hidden folder holds is no part of a converted table."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.convert().append(pairs(4)).publish(case)
    hidden = case.delta / "_temporary"
    hidden.mkdir()
    for path in sorted(case.delta.glob("*.parquet"))[:1]:
        (hidden / f"other-{path.name}").write_bytes(path.read_bytes())


@TRACKING.case("write-convert", "RT-028 RT-036 RT-045 TF-007")
def _convert_tracked(case: CaseWriter) -> None:
    """Rows of files that become a table which tracks rows are tracked."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.convert({"delta.enableRowTracking": "true"}).append(pairs(4))
    recipe.update({"name": "x"}, compare("id", "=", 2, "long")).publish(case)


@FILES.case("write-empty-append", "WCON-002 ADD-005")
def _empty_partitioned(case: CaseWriter) -> None:
    """Appending no rows leaves no file without values of partitions."""
    recipe = Recipe(struct(id="long", part="string"), ("part",)).append([{"id": 1, "part": "a"}])
    recipe.append([]).append([{"id": 2, "part": None}]).publish(case)


@FILES.case("write-unknown-beside", "DATA-005 FA-021")
def _unknown_beside(case: CaseWriter) -> None:
    """A row for which a filter is null stays where the others match."""
    known = compare("id", ">=", 1, "long")
    recipe = Recipe(PAIR).append([*pairs(1, 2), {"id": None, "name": "unknown"}])
    recipe.update({"name": "changed"}, known).overwrite(pairs(5, 6), known)
    recipe.append([{"id": None, "name": "too"}, *pairs(7)]).delete(known).publish(case)


_ALL_KEPT: Final = {
    "delta.enableChangeDataFeed": "true",
    "delta.enableRowTracking": "true",
    **_ENABLED,
    "delta.columnMapping.mode": "name",
}


@CHECKPOINTS.case("write-changes-after", "CKPT-005 REM-007 REM-014 RT-030 CDC-012 DVD-018")
def _changes_after(case: CaseWriter) -> None:
    """Changes of files of a checkpoint keep what it says of them."""
    schema = struct(id="long", part="string", name="string")
    features = ("changeDataFeed", "rowTracking", "domainMetadata", "deletionVectors")
    recipe = Recipe(schema, ("part",), _ALL_KEPT, (*features, "columnMapping"))
    for start in (0, 10):
        rows = [{"id": start + n, "part": "ab"[n % 2], "name": f"n{n}"} for n in range(6)]
        recipe.append(rows).delete(compare("id", "=", start + 1, "long")).checkpoint()
    recipe.delete(is_in("id", [0, 3], "long")).update({"name": "x"}, compare("id", "=", 2, "long"))
    source = [{"id": 4, "part": "b", "name": "m"}, {"id": 99, "part": "c", "name": None}]
    recipe.merge(source, SAME_ID, *UPSERT).checkpoint().keep("optimize")
    recipe.delete(compare("part", "=", "a", "string")).checkpoint().publish(case)


_DROPPED: Final = (
    ("carried-out", "a table may be clustered by no column any more", None),
    (
        "refused",
        "the column clusters the table, and no clause has a writer drop it",
        Refusal("constraint", "commit", "CLUS-006"),
    ),
)


@CLUSTERED.case("write-drop-column", "CLUS-006 CLUS-007")
def _drop_clustering(case: CaseWriter) -> None:
    """A column that is dropped clusters nothing any more."""
    features = ("clustering", "domainMetadata", "columnMapping")
    recipe = Recipe(PAIR, (), _MAPPED, features, clustering_columns=("name",))
    recipe.append(pairs(1, 5, 3)).drop_column("name").publish(case, contested=_DROPPED)


@DESIGN.case("write-manifest", "DVD-010")
def _manifest(case: CaseWriter) -> None:
    """A manifest of a table with vectors is refused."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(1, 2, 3))
    recipe.delete_by_vectors(compare("id", "=", 2, "long")).given()
    recipe.keep("generate_manifest", version=False)
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "DVD-010"))


@FEED.case("write-overwrite-where", "CDC-012 CDC-001")
def _overwrite_where(case: CaseWriter) -> None:
    """Rows that an overwrite of some leaves in their file are no changes."""
    recipe = Recipe(PAIR, (), {"delta.enableChangeDataFeed": "true"}, ("changeDataFeed",))
    recipe.append(pairs(1, 2, 3)).append(pairs(4, 5))
    recipe.overwrite(pairs(3, 7), compare("id", ">=", 3, "long")).append(pairs(8)).publish(case)


@FEED.case("write-whole-files", "CDC-012")
def _whole_files(case: CaseWriter) -> None:
    """A delete records the rows of a file that goes whole beside others."""
    recipe = Recipe(PAIR, (), {"delta.enableChangeDataFeed": "true"}, ("changeDataFeed",))
    recipe.append(pairs(1, 2)).append(pairs(3, 4)).given()
    recipe.delete(is_in("id", [1, 2, 3], "long")).append(pairs(5)).publish(case)


@CLOCK.case("write-enabled-then-restored", "ICT-010 ICT-011")
def _provenance(case: CaseWriter) -> None:
    """A restore and a replacement keep since when commits have times."""
    recipe = Recipe(PAIR).append(pairs(1)).keep("enable_feature", feature="inCommitTimestamp")
    recipe.set_properties({"delta.enableInCommitTimestamps": "true"}).append(pairs(2))
    recipe.set_properties({"team": "tables"}).append(pairs(3)).restore(4).append(pairs(4))
    other = struct(field("key", "string"), field("id", "long"))
    recipe.replace(other, (), [{"key": "a", "id": 1}]).publish(case)


@CLOCK.case("write-enabled-then-altered", "ICT-010 ICT-011 SCH-037")
def _altered(case: CaseWriter) -> None:
    """Changes of columns keep since when commits have times."""
    recipe = Recipe(PAIR).append(pairs(1)).keep("enable_feature", feature="inCommitTimestamp")
    recipe.set_properties({"delta.enableInCommitTimestamps": "true"}).append(pairs(2))
    recipe.add_column(field("later", "string")).do(SetComment("name", "of a person"))
    recipe.append([{**pairs(3)[0], "later": "x"}]).publish(case)


@DESIGN.case("write-vacuum-retained-vectors", "DVD-003")
def _retained_vectors(case: CaseWriter) -> None:
    """A vacuum keeps a vector that was replaced a moment ago."""
    recipe = Recipe(PAIR, (), _ENABLED, ("deletionVectors",)).append(pairs(1, 2, 3, 4))
    recipe.delete_by_vectors(compare("id", "=", 2, "long")).given()
    recipe.delete(compare("id", "=", 3, "long"))
    recipe.keep("vacuum", version=False, kept=old_files(case)).append(pairs(5)).publish(case)


@FILES.case("write-vacuum-encoded-paths", "FA-008 SNAP-005 ADD-003")
def _encoded_paths(case: CaseWriter) -> None:
    """A vacuum knows live files whose paths have escapes in the log."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).append(pairs(4))
    recipe.delete(compare("id", "=", 3, "long")).given()

    def kept(builder: TableBuilder) -> list[str]:
        for version, name in ((1, "a b.parquet"), (3, "p=x%20y/ä#1.parquet")):
            lines = read_commit(case.delta, version)
            body = next(line["add"] for line in lines if "add" in line)
            place = case.delta / name
            place.parent.mkdir(exist_ok=True)
            (case.delta / body["path"]).rename(place)
            body["path"] = quote(name)
            write_commit(case.delta, version, lines)
        old_files(case)(builder)
        return ["a b.parquet", "p=x%20y/ä#1.parquet"]

    recipe.keep("vacuum", version=False, kept=kept, gone=removed_files).publish(case)


@CHECKPOINTS.case("write-long-retention", "CKC-005 CKPT-007")
def _long_retention(case: CaseWriter) -> None:
    """A checkpoint keeps tombstones for as long as the table promises."""
    recipe = Recipe(PAIR, (), _AGES).append(pairs(1, 2)).append(pairs(3))
    recipe.delete(is_in("id", [1, 2], "long")).given()
    recipe.append(pairs(4)).keep("optimize").checkpoint().append(pairs(5)).publish(case)


@CHECKPOINTS.case("write-replaced-vectors", "CKC-005 CKPT-007")
def _replaced_vectors(case: CaseWriter) -> None:
    """A checkpoint has tombstones of vectors that a live file had."""
    recipe = Recipe(PAIR, (), {**_ENABLED, **_WEEK}, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.delete(compare("id", "=", 1, "long")).delete(compare("id", "=", 2, "long"))
    recipe.checkpoint().append(pairs(9)).publish(case)


@CHECKPOINTS.case("write-lower-progress", "CKC-006")
def _lower_progress(case: CaseWriter) -> None:
    """A checkpoint has the newest progress of an application, if lower."""
    recipe = Recipe(PAIR).append(pairs(1)).set_transaction("app", 7).set_transaction("app", 3)
    recipe.given().append(pairs(2)).checkpoint().append(pairs(3)).publish(case)
