"""Cases of writing: what later operations may not lose, and operations over other features.

Serves "Row Tracking", "Identity Columns", "Column Mapping", "Log Compaction Files", "Checkpoints",
"Type Widening", "Append-only Tables" and "Add File and Remove File". A high-water mark only rises,
a summary keeps all that its range holds, and an operation keeps the promises of every feature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any, Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs, unasked
from generators.golden.chapters.files.types import local, utc
from generators.golden.chapters.writing.operations import old_files, removed_files
from generators.materialise.log.files import LOG_DIRECTORY, read_commit, write_commit
from generators.oracle.delta_schema import Struct, array, field, map_of, struct

TRACKING: Final = Chapter("row-tracking", since="2025")
IDENTITY: Final = Chapter("identity-columns")
MAPPING: Final = Chapter("column-mapping", since="2025")
COMPACTION: Final = Chapter("log-compaction-files", since="2025")
CHECKPOINTS: Final = Chapter("checkpoints")
CHECKS: Final = Chapter("check-constraints", since="2025")
WIDENING: Final = Chapter("type-widening", since="upstream")
APPEND_ONLY: Final = Chapter("append-only-tables")
FILES: Final = Chapter("add-file-and-remove-file")
ZONELESS: Final = Chapter("timestamp-ntz", since="2025")
PARTITIONS: Final = Chapter("partition-value-serialization")
CLUSTERED: Final = Chapter("clustered-table", since="2025")
CHECKSUMS: Final = Chapter("version-checksum-file", since="2025")
PROPERTIES: Final = Chapter("table-properties", since="upstream")
METADATA: Final = Chapter("change-metadata")
FEED: Final = Chapter("change-data-files", since="2025")
CLOCK: Final = Chapter("in-commit-timestamps", since="2025")
DOMAINS: Final = Chapter("domain-metadata", since="2025")
TRANSACTIONS: Final = Chapter("transaction-identifiers")

_TRACKED: Final = ("rowTracking", "domainMetadata")
_TRACKING: Final = {"delta.enableRowTracking": "true"}
_VECTORS: Final = {"delta.enableDeletionVectors": "true"}
_MAPPED: Final = {"delta.columnMapping.mode": "name"}


@TRACKING.case("write-restore-then-append", "RT-039 RT-037 RT-036")
def _row_ids(case: CaseWriter) -> None:
    """Row ids that a restore takes back are given to no other row."""
    recipe = Recipe(PAIR, (), _TRACKING, _TRACKED).append(pairs(1, 2)).append(pairs(3, 4, 5))
    recipe.restore(1).append(pairs(6)).restore(2).append(pairs(7, 8))
    recipe.keep("optimize").append(pairs(9)).publish(case)


@TRACKING.case("write-suspended", "RT-008", since="upstream")
def _suspended(case: CaseWriter) -> None:
    """Files have no row ids while row tracking is suspended."""
    recipe = Recipe(PAIR, (), {"delta.rowTrackingSuspended": "true"}, _TRACKED)
    recipe.append(pairs(1, 2)).append(pairs(3)).delete(compare("id", "=", 1, "long"))
    recipe.append(pairs(4)).keep("optimize").publish(case)


@TRACKING.case("write-everything-gone", "RT-039 RT-037")
def _emptied(case: CaseWriter) -> None:
    """Row ids go on after the rows of the table are gone."""
    recipe = Recipe(PAIR, (), _TRACKING, _TRACKED).append(pairs(1, 2, 3)).delete()
    recipe.checkpoint().append(pairs(4)).overwrite(pairs(5)).append(pairs(6)).publish(case)


@MAPPING.case("write-restore-then-add", "CM-022 CM-004")
def _column_ids(case: CaseWriter) -> None:
    """The id of a column that a restore takes back is given to no other."""
    recipe = Recipe(PAIR, (), _MAPPED, ("columnMapping",)).append(pairs(1))
    recipe.add_column(field("first", "string")).append([{**pairs(2)[0], "first": "x"}])
    recipe.restore(1).add_column(field("second", "string"))
    recipe.append([{**pairs(3)[0], "second": "y"}]).drop_column("second")
    recipe.add_column(field("third", "long")).append([{**pairs(4)[0], "third": 4}]).publish(case)


def _identities(start: int, step: int, case: CaseWriter) -> None:
    metadata = {
        "delta.identity.start": start,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": False,
    }
    schema = struct(field("id", "long", metadata=metadata), field("name", "string"))
    recipe = Recipe(schema, features=("identityColumns",))
    recipe.append_numbered("id", {"name": "a"}).append_numbered("id", {"name": "b"}, {"name": "c"})
    recipe.restore(1).append_numbered("id", {"name": "d"})
    if abs(step) == 1:
        # The version has no mark yet.
        recipe.restore(0).append_numbered("id", {"name": "e"})
    recipe.publish(case)


for _slug, _start, _step in (("", 10, 10), ("-by-one", 1, 1), ("-down-by-one", -1, -1)):
    IDENTITY.define(
        f"write-restore-then-append{_slug}",
        "Values that a restore takes back are given to no other row",
        "IDN-014 IDN-016",
        partial(_identities, _start, _step),
    )


@COMPACTION.case("write-compaction-of-everything", "COMP-004 COMP-007 COMP-008 COMP-002")
def _compacted(case: CaseWriter) -> None:
    """A log compaction keeps every kind of action of its range."""
    features = ("deletionVectors", "domainMetadata")
    recipe = Recipe(PAIR, (), _VECTORS, features).append(pairs(*range(8))).append(pairs(20, 21))
    recipe.set_transaction("app", 9).set_domain("mine", "before").set_domain("gone", "x")
    recipe.delete(is_in("id", [1, 3], "long")).set_transaction("app", 3)
    recipe.set_properties({"team": "a", "kept": "1"}).add_column(field("later", "string"))
    recipe.set_domain("mine", "after").set_domain("gone", None)
    recipe.delete(is_in("id", [5, 20, 21], "long")).unset_properties("team")
    recipe.append([{**pairs(30)[0], "later": "x"}])
    recipe.keep("compact_log", version=False, start=2, end=10)
    recipe.delete(compare("id", "=", 6, "long")).publish(case)


@COMPACTION.case("write-compaction-of-features", "COMP-004", features=("vacuumProtocolCheck",))
def _compacted_features(case: CaseWriter) -> None:
    """A log compaction keeps the protocol that its range brings."""
    recipe = Recipe(PAIR, features=("appendOnly",)).append(pairs(1)).append(pairs(2))
    recipe.keep("enable_feature", feature="vacuumProtocolCheck").append(pairs(3))
    recipe.keep("compact_log", version=False, start=1, end=4).append(pairs(4)).publish(case)


@COMPACTION.case("write-compaction-of-vectors", "COMP-004 COMP-006 COMP-007")
def _compacted_vectors(case: CaseWriter) -> None:
    """A log compaction keeps vectors, row ids and tombstones with theirs."""
    recipe = Recipe(PAIR, (), {**_VECTORS, **_TRACKING}, ("deletionVectors", *_TRACKED))
    recipe.append(pairs(*range(6))).append(pairs(20, 21, 22))
    recipe.delete(is_in("id", [1, 20], "long")).delete(is_in("id", [3, 21], "long"))
    recipe.delete(is_in("id", [4, 22], "long")).append(pairs(30))
    recipe.keep("compact_log", version=False, start=3, end=6)
    recipe.delete(compare("id", "=", 5, "long")).publish(case)


def _described(case: CaseWriter) -> None:
    """Give the table a name and a description, and its files tags and a clustering provider."""
    for path in (case.delta / LOG_DIRECTORY).glob("*.json"):
        lines = read_commit(case.delta, int(path.stem))
        for line in lines:
            if "metaData" in line:
                line["metaData"] |= {"name": "people", "description": "who is where"}
            if "add" in line:
                line["add"] |= {"tags": {"team": "a"}, "clusteringProvider": "fromAnotherWorld"}
            if "remove" in line:
                line["remove"].pop("deletionTimestamp", None)
        write_commit(case.delta, int(path.stem), lines)


@COMPACTION.case("write-compaction-given", "COMP-004 COMP-007")
def _compacted_given(case: CaseWriter) -> None:
    """A log compaction repeats what another writer said of files."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).append(pairs(4))
    recipe.delete(compare("id", "=", 3, "long")).given()
    recipe.keep("compact_log", version=False, start=1, end=3)
    recipe.keep("compact_log", version=False, start=3, end=4).append(pairs(5))
    # A tombstone of no time has no place in a checkpoint, or keeps having none.
    recipe.checkpoint().publish(case)
    _described(case)


@CHECKPOINTS.case("write-checkpoint-named", "CKPT-005 CKC-003 CKC-004")
def _checkpointed_given(case: CaseWriter) -> None:
    """A checkpoint repeats what another writer said of table and files."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.checkpoint().append(pairs(4)).checkpoint().publish(case)
    _described(case)


@WIDENING.case("write-widen-twice", "TW-009 TW-012")
def _twice(case: CaseWriter) -> None:
    """Every change of a column's type stays on record."""
    schema = struct(id="long", v="byte")
    recipe = Recipe(schema, (), {"delta.enableTypeWidening": "true"}, ("typeWidening",))
    recipe.append([{"id": 1, "v": 1}]).change_type("v", "short").append([{"id": 2, "v": 300}])
    recipe.change_type("v", "integer").append([{"id": 3, "v": 70_000}])
    recipe.add_column(field("later", "string")).set_properties({"team": "a"})
    recipe.change_type("v", "long").append([{"id": 4, "v": 2**40, "later": "x"}])
    recipe.checkpoint().publish(case)


@APPEND_ONLY.case("write-optimize", "APP-002 APP-003 FA-017")
def _rearranged(case: CaseWriter) -> None:
    """An append-only table may be rearranged."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"})
    recipe.append(pairs(1, 2)).append(pairs(3)).append(pairs(4))
    recipe.keep("optimize").append(pairs(5)).publish(case)


@FILES.case("write-vacuum-odd-names", "FA-008 ADD-003")
def _vacuum(case: CaseWriter) -> None:
    """A vacuum keeps live files in folders whose names are escaped."""
    schema = struct(id="long", part="string")
    parts = ("a b", "50%", "x/y", "é", "c:d", "q?r", "s#t", "u=v")
    rows = [{"id": number, "part": part} for number, part in enumerate(parts)]
    recipe = Recipe(schema, ("part",)).append(rows).append([{"id": 90, "part": "50%"}])
    recipe.delete(compare("id", "=", 90, "long")).given()
    recipe.keep("vacuum", version=False, kept=old_files(case), gone=removed_files).publish(case)


@FILES.case("write-vacuum-long-retention", "FA-008 SNAP-005")
def _retained(case: CaseWriter) -> None:
    """A vacuum keeps what the table promises to keep for longer."""
    properties = {"delta.deletedFileRetentionDuration": "interval 100000 days"}
    recipe = Recipe(PAIR, (), properties).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.delete(is_in("id", [2, 4], "long")).given()

    def kept(builder: Any) -> list[str]:
        return sorted({*old_files(case)(builder), *removed_files(builder)})

    recipe.keep("vacuum", version=False, kept=kept).publish(case)


@ZONELESS.case("write-data", "NTZ-001 NTZ-002")
def _zoneless(case: CaseWriter) -> None:
    """Timestamps without zone are written as they are, within columns, too."""
    of = "timestamp_ntz"
    schema = struct(id="long", t=of, s=struct(t=of), l=array(of), m=map_of("string", of))
    values = (local(1, 1, 2), local(1969, 12, 31, 23, 59, 59, 999999), local(9999, 12, 30), None)
    rows = [{"t": each, "s": {"t": each}, "l": [each], "m": {"k": each}} for each in values]
    recipe = Recipe(schema, (), {}, ("timestampNtz",))
    recipe.append([{"id": n, **row} for n, row in enumerate(rows)])
    recipe.update({"t": local(2024, 2, 29, 12, 0, 0, 1)}, compare("id", "=", 0, "long"))
    recipe.delete(compare("t", "<", local(1970, 1, 1), "timestamp_ntz")).checkpoint().publish(case)


def _unlisted(operation: str, case: CaseWriter) -> None:
    spelled = "timestamp_ntz"
    wanted = field("t", array(spelled) if operation == "add-within" else spelled)
    value = local(2024, 2, 29, 12, 0, 0, 1)
    if operation == "create":
        Recipe(struct(field("id", "long"), wanted), rows=[{"id": 1, "t": value}]).publish(
            case, contested=unasked("NTZ-002")
        )
        return
    recipe = Recipe(struct(id="long")).append([{"id": 1}]).given()
    if operation == "replace":
        recipe.replace(struct(field("id", "long"), wanted), (), [{"id": 2, "t": value}])
    else:
        recipe.add_column(wanted)
    recipe.publish(case, contested=unasked("NTZ-002"))


for _operation, _title in (
    ("create", "A table is created with"),
    ("add", "A table gets"),
    ("add-within", "A table gets a list with"),
    ("replace", "A table is made one with"),
):
    ZONELESS.define(
        f"write-{_operation}-unlisted",
        f"{_title} a column that needs a feature",
        "NTZ-002",
        partial(_unlisted, _operation),
        features=("timestampNtz",),
    )


_PRECISE: Final[Mapping[str, tuple[str, Sequence[Any]]]] = {
    "double": ("PART-004", (0.1, 0.1 + 2**-56, 1 / 3, -5e-7, 1e22, 123456789.125)),
    "float": ("PART-004", (0.5, -(2.0**-149), 16777216.0, 3.4028234663852886e38)),
    "decimal(38,18)": (
        "PART-004",
        (Decimal("0.000000000000000001"), Decimal("-12345678901234567890.5")),
    ),
    "long": ("PART-004", (2**63 - 1, -(2**63), 2**53 + 1)),
    "date": ("PART-005", (date(1, 1, 1), date(1582, 10, 4), date(9999, 12, 31))),
}


def _precise(kind: str, values: Sequence[Any], case: CaseWriter) -> None:
    recipe = Recipe(struct(id="long", p=kind), ("p",))
    rows = [{"id": n, "p": value} for n, value in enumerate(values)]
    recipe.append(rows).append([{"id": 90, "p": None}])
    recipe.delete(compare("p", "=", values[0], kind)).publish(case)


for _kind, (_requirement, _values) in _PRECISE.items():
    _slug = _kind.partition("(")[0]
    PARTITIONS.define(
        f"write-precise-{_slug}",
        f"Partition values of type {_slug} keep all their digits",
        _requirement,
        partial(_precise, _kind, _values),
    )


def _converted(schema: Struct, rows: Sequence[dict[str, Any]], case: CaseWriter) -> None:
    recipe = Recipe(schema, tuple(schema.names[1:])).append(rows).given().convert()
    recipe.append([{**dict.fromkeys(schema.names), "id": 90}])
    recipe.delete(compare("id", "=", 0, "long")).publish(case)


FILES.define(
    "write-convert-odd-folders",
    "Escaped folder names give the values of converted files",
    "ADD-003 ADD-004 PART-003",
    partial(
        _converted,
        struct(id="long", p="string", n="long"),
        [
            {"id": number, "p": value, "n": None if number % 2 else number}
            for number, value in enumerate(("a b", "50%", "x/y", "é", "c:d", "u=v", None, "%41"))
        ],
    ),
)

FILES.define(
    "write-convert-odd-types",
    "Folder names give values of every type of converted files",
    "ADD-003 ADD-004 PART-003",
    partial(
        _converted,
        struct(id="long", t="timestamp", d="decimal(9,2)", x="double", b="boolean", s="short"),
        [
            {
                "id": 0,
                "t": utc(1969, 12, 31, 23, 59, 59, 999999),
                "d": Decimal("-0.01"),
                "x": -0.5,
                "b": False,
                "s": -(2**15),
            },
            {
                "id": 1,
                "t": utc(2024, 2, 29, 12, 30),
                "d": Decimal("1234567.89"),
                "x": 1e300,
                "b": True,
                "s": 2**15 - 1,
            },
            {"id": 2, "t": None, "d": None, "x": None, "b": None, "s": None},
        ],
    ),
)


@FILES.case("write-convert-nested", "ADD-004 STAT-012")
def _convert_nested(case: CaseWriter) -> None:
    """Files of nested columns, and of columns without values, become a table."""
    schema = struct(
        id="long",
        s=struct(n="integer", t="string"),
        a=array("long"),
        m=map_of("string", "double"),
        none="string",
        x="float",
    )
    rows: list[dict[str, Any]] = [
        {"id": n, "s": s, "a": a, "m": m, "none": None, "x": x}
        for n, s, a, m, x in (
            (1, {"n": 5, "t": "b"}, [1, None], {"k": 0.5}, 1.5),
            (2, {"n": None, "t": "a"}, [], {}, math.nan),
            (3, None, None, None, None),
        )
    ]
    recipe = Recipe(schema).append(rows[:2]).append(rows[2:]).given().convert()
    recipe.append([{**rows[0], "id": 4, "none": "x"}])
    recipe.delete(compare("id", "=", 2, "long")).publish(case)


@CLUSTERED.case("write-replace-without-column", "CLUS-006")
def _replaced_clusters(case: CaseWriter) -> None:
    """A table that is replaced is not clustered by a column that it lacks."""
    recipe = Recipe(PAIR, clustering_columns=("name",)).append(pairs(1, 2))
    other = struct(id="long", x="double")
    recipe.replace(other, [], [{"id": 7, "x": 0.5}]).append([{"id": 8, "x": None}]).publish(case)


@CHECKSUMS.case(
    "write-each", "CRC-036 CRC-037 CRC-004 CRC-009 CRC-010 CRC-011 CRC-014 CRC-015 CRC-016"
)
def _summed(case: CaseWriter) -> None:
    """Every version of a writer has a checksum of its own."""
    properties = {**_VECTORS, "delta.enableInCommitTimestamps": "true"}
    features = ("deletionVectors", "domainMetadata", "inCommitTimestamp")
    recipe = Recipe(PAIR, (), properties, features).append(pairs(*range(6))).append(pairs(6, 7))
    recipe.set_transaction("app", 1).set_domain("mine", "{}").delete(is_in("id", [1, 6], "long"))
    recipe.set_transaction("app", 2).delete(compare("id", "=", 2, "long")).set_domain("mine", None)
    recipe.set_properties({"team": "tables"}).keep("optimize").append(pairs(8)).restore(2)
    recipe.set_domain("other", "1").add_column(field("later", "string"))
    recipe.overwrite([{"id": 9, "name": "n9", "later": None}]).publish(case)


def _codec(codec: str, case: CaseWriter) -> None:
    # The table is given: a writer may refuse to name a property that it does not know.
    recipe = Recipe(PAIR, (), {"delta.parquet.compression.codec": codec}).append(pairs(1, 2))
    recipe.given().append(pairs(3)).overwrite(pairs(4)).publish(case)


for _slug, _codec_name in (
    ("gzip", "gzip"),
    ("snappy", "snappy"),
    ("uncompressed", "uncompressed"),
    ("lz4", "lz4_raw"),
    ("mixed", "Gzip"),
):
    PROPERTIES.define(
        f"write-codec-{_slug}",
        f"New files have the codec that a table names, {_codec_name}",
        "PROP-003 PROP-001 PROP-005" if _slug == "mixed" else "PROP-001 PROP-005",
        partial(_codec, _codec_name),
    )


@PROPERTIES.case("write-page-version", "PROP-006 PROP-008")
def _page_version(case: CaseWriter) -> None:
    """A table that asks for data pages of version 2 is written."""
    recipe = Recipe(PAIR, (), {"delta.parquet.format.version": "2.12.0"}).append(pairs(1, 2))
    recipe.given().append(pairs(3)).overwrite(pairs(4)).publish(case)


@CHECKPOINTS.case("write-v2-json-vectors", "CKC-004 CKPT-V2-001 CKPT-V2-003 SIDE-002 RT-031")
def _json_vectors(case: CaseWriter) -> None:
    """A V2 checkpoint in JSON has the vectors and the row ids of its files."""
    features = ("deletionVectors", "v2Checkpoint", "rowTracking", "domainMetadata")
    recipe = Recipe(PAIR, (), {**_VECTORS, **_TRACKING}, features).append(pairs(*range(8)))
    recipe.append(pairs(20, 21))
    recipe.delete(is_in("id", [1, 3, 20], "long")).checkpoint("v2-json").append(pairs(30))
    recipe.delete(is_in("id", [5, 21], "long")).checkpoint("v2-json", 2)
    recipe.append(pairs(31)).publish(case, needs=("checkpoint.kind",))


@CHECKPOINTS.case("write-v2-json-structs", "CKC-004 CKPT-V2-001 CKPT-V2-003")
def _json_structs(case: CaseWriter) -> None:
    """A V2 checkpoint in JSON has the files of a table with parsed columns."""
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"}
    recipe = Recipe(struct(id="long", part="string"), ("part",), properties, ("v2Checkpoint",))
    recipe.append([{"id": n, "part": "ab"[n % 2]} for n in range(4)]).checkpoint("v2-json", 1)
    recipe.append([{"id": 9, "part": None}]).delete(compare("id", "=", 2, "long"))
    recipe.checkpoint("v2-json", 2).append([{"id": 10, "part": "a"}])
    recipe.publish(case, needs=("checkpoint.kind",))


_FEED: Final = {"delta.enableChangeDataFeed": "true"}


@FEED.case("write-enabled-later", "CDC-012 CDC-013")
def _recorded_later(case: CaseWriter) -> None:
    """Changes are recorded once the feed is enabled, on a table of before."""
    recipe = Recipe(PAIR, features=("changeDataFeed",)).append(pairs(*range(6)))
    recipe.update({"name": "x"}, compare("id", "=", 0, "long")).set_properties(_FEED)
    recipe.update({"name": "y"}, compare("id", "=", 1, "long"))
    recipe.merge([*pairs(9), {"id": 2, "name": "z"}], SAME_ID, *UPSERT)
    recipe.delete(compare("id", "=", 3, "long")).checkpoint()
    recipe.update({"name": "w"}, compare("id", ">=", 4, "long")).publish(case)


def _recorded(properties: Mapping[str, str], features: tuple[str, ...], case: CaseWriter) -> None:
    """Change rows, and move them between partitions."""
    schema = struct(field("id", "long"), field("part", "string"))
    recipe = Recipe(schema, ("part",), {**_FEED, **properties}, ("changeDataFeed", *features))
    recipe.append([{"id": n, "part": "ab"[n % 2]} for n in range(8)])
    recipe.update({"part": "c"}, is_in("id", [1, 5], "long"))
    recipe.update({"part": None, "id": 20}, compare("id", "=", 2, "long"))
    moved: list[dict[str, Any]] = [{"id": 3, "part": "d"}, {"id": 9, "part": "a"}]
    recipe.merge(moved, SAME_ID, *UPSERT)
    recipe.update({"id": 50}, compare("id", "=", 5, "long"))
    recipe.delete(compare("id", "=", 7, "long")).publish(case)


for _slug, _title, _properties, _features, _ids in (
    ("partitions", "Rows that leave a partition are recorded as they were", {}, (), "CDC-012"),
    (
        "partitions-with-vectors",
        "Rows that leave a partition by vectors are recorded as they were",
        _VECTORS,
        ("deletionVectors",),
        "CDC-012",
    ),
    (
        "mapped-by-name",
        "The feed of a table mapped by name has its columns",
        _MAPPED,
        ("columnMapping",),
        "CDC-012 CM-013",
    ),
    (
        "mapped-by-id",
        "The feed of a table mapped by id has its columns",
        {"delta.columnMapping.mode": "id"},
        ("columnMapping",),
        "CDC-012 CM-013",
    ),
):
    FEED.define(f"write-{_slug}", _title, _ids, partial(_recorded, _properties, _features))


@CHECKS.case("write-add-broken-vectors", "CHK-009 CHK-010", features=("deletionVectors",))
def _broken_beside_deleted(case: CaseWriter) -> None:
    """A constraint that a row beside deleted ones breaks is not added."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(1, -2, 3))
    recipe.delete_by_vectors(compare("id", "=", 3, "long")).given()
    recipe.keep("add_constraint", name="rule", expression="id > 0")
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-009"))


@TRACKING.case("write-enable-with-vectors", "RT-045 RT-046 RT-047")
def _tracked_vectors(case: CaseWriter) -> None:
    """Files with vectors get row ids as row tracking is enabled."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(*range(5)))
    recipe.append(pairs(9)).delete_by_vectors(is_in("id", [1, 4], "long"))
    recipe.keep("enable_feature", feature="rowTracking").set_properties(_TRACKING)
    recipe.append(pairs(10)).update({"name": "x"}, compare("id", "=", 2, "long")).publish(case)


@CLUSTERED.case("write-mapped", "CLUS-006 CM-035", since="upstream")
def _clustered_mapped(case: CaseWriter) -> None:
    """Clustering columns are named by what files call them."""
    recipe = Recipe(PAIR, (), _MAPPED, ("columnMapping",), clustering_columns=("name",))
    recipe.append(pairs(1, 5, 3)).rename_column("name", "label")
    recipe.append([{"id": 7, "label": "x"}]).keep("cluster_by", columns=["id", "label"])
    recipe.append([{"id": 8, "label": None}]).publish(case)


@WIDENING.case("write-widen-checkpointed", "TW-009 TW-012 CKC-004 CKC-021")
def _widened_twice(case: CaseWriter) -> None:
    """A column of a checkpointed table is widened, its typed bounds, too."""
    properties = {
        "delta.enableTypeWidening": "true",
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    schema = struct(field("id", "long"), field("v", "short"))
    recipe = Recipe(schema, (), properties, ("typeWidening", "checkConstraints"))
    recipe.append([{"id": 1, "v": 1}, {"id": 2, "v": 300}]).checkpoint().given()
    recipe.change_type("v", "integer").append([{"id": 3, "v": 70_000}]).checkpoint()
    recipe.change_type("v", "long").append([{"id": 4, "v": 2**40}])
    recipe.delete(compare("id", "=", 1, "long")).checkpoint().publish(case)


@CLOCK.case("write-behind-alter", "ICT-008 ICT-009")
def _altered_behind(case: CaseWriter) -> None:
    """A commit of any operation carries a later time than the one before."""
    ahead = 4_102_444_800_000  # 2100-01-01, in ms since the epoch
    timed = {"delta.enableInCommitTimestamps": "true"}
    recipe = Recipe(PAIR, (), timed, ("inCommitTimestamp", "domainMetadata"), start=ahead)
    recipe.append(pairs(1)).given().set_properties({"team": "a"}).set_transaction("app", 1)
    recipe.add_column(field("later", "string")).set_domain("mine", "{}")
    recipe.append([{"id": 2, "name": "b", "later": "x"}]).keep("optimize")
    recipe.delete(compare("id", "=", 1, "long")).restore(1).publish(case)


@CHECKSUMS.case("write-others-kept", "CRC-039 CRC-001")
def _sums_of_others(case: CaseWriter) -> None:
    """Checksums that another writer left stay as they are."""
    recipe = Recipe(PAIR, summed=True).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.append(pairs(4)).delete(compare("id", "=", 1, "long")).checkpoint().keep("optimize")
    recipe.append(pairs(5)).publish(case)


@DOMAINS.case("write-domains-by-case", "DOM-014")
def _domains_by_case(case: CaseWriter) -> None:
    """Domains whose names differ by case are two."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).set_domain("mine", "a")
    recipe.set_domain("Mine", "b").append(pairs(1)).checkpoint().set_domain("mine", None)
    recipe.append(pairs(2)).checkpoint().publish(case)


@TRANSACTIONS.case("write-progress-by-case", "TXN-004 CKC-006")
def _progress_by_case(case: CaseWriter) -> None:
    """Applications whose names differ by case are two."""
    recipe = Recipe(PAIR).set_transaction("app", 5).set_transaction("App", 2).append(pairs(1))
    recipe.checkpoint().set_transaction("APP", 1).append(pairs(2)).checkpoint().publish(case)
