"""Cases of writing: recipes of checkpoints, compactions, cleaning, clustering and catalogs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, Recipe, pairs
from generators.materialise.builder import TableBuilder
from generators.materialise.data.deletion_vectors import z85_encode
from generators.materialise.log.files import read_commit, write_commit
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import Struct, struct
from generators.oracle.operations import CheckpointKind

CHECKPOINTS: Final = Chapter("checkpoints", since="2025")
STRUCTS: Final = Chapter("checkpoint-schema", since="2025")
COMPACTION: Final = Chapter("log-compaction-files", since="2025")
FILES: Final = Chapter("add-file-and-remove-file")
VECTORS: Final = Chapter("deletion-vectors-design", since="2025")
CLUSTERED: Final = Chapter("clustered-table", since="2025")
FIRST: Final = Chapter("iceberg-compatibility-v1", since="2025")
SECOND: Final = Chapter("iceberg-compatibility-v2", since="2025")
WIDENING: Final = Chapter("type-widening", since="upstream")
METADATA: Final = Chapter("change-metadata")
CATALOG: Final = Chapter("catalog-managed-tables", since="upstream")

_KEYED: Final = struct(id="long", part="string")
_V2: Final = ("v2Checkpoint", "domainMetadata")
_VECTORS: Final = {"delta.enableDeletionVectors": "true"}
_KEPT: Final = {"delta.deletedFileRetentionDuration": "interval 7 days"}
"""Without it nobody knows which tombstones a checkpoint has to have."""
_LONG_AGO: Final = 1_500_000_000_000
"""2017-07-14, in ms since the epoch: whatever may expire has expired since."""


def _keyed(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": number, "part": "ab"[number % 2]} for number in numbers]


def _everything(recipe: Recipe) -> Recipe:
    """Give a table something of every action that a checkpoint keeps."""
    recipe.append(_keyed(1, 2, 3)).append(_keyed(4)).delete(compare("id", "=", 2, "long"))
    return recipe.set_transaction("app", 3).set_transaction("other", 1)


def _checkpointed(kind: CheckpointKind, sidecars: int, case: CaseWriter) -> None:
    recipe = _everything(Recipe(_KEYED, ("part",), _KEPT, _V2))
    recipe.append([{"id": 6, "part": None}])
    recipe.set_domain("mine", '{"a":1}').set_domain("gone", "x").set_domain("gone", None)
    recipe.checkpoint(kind, sidecars).append(_keyed(5)).delete(compare("id", "=", 4, "long"))
    recipe.checkpoint(kind, sidecars).publish(case, needs=("checkpoint.kind",))


_KINDS: Final[Mapping[str, tuple[CheckpointKind, int, str]]] = {
    "json": ("v2-json", 0, "A V2 checkpoint in JSON has the files in itself"),
    "json-sidecars": ("v2-json", 2, "A V2 checkpoint in JSON has its files in sidecars"),
    "parquet": ("v2-parquet", 0, "A V2 checkpoint in Parquet has the files in itself"),
    "parquet-sidecars": ("v2-parquet", 2, "A V2 checkpoint in Parquet has its files in sidecars"),
}
_OF_V2: Final = (
    "CKPT-013 CKPT-014 CKPT-015 CKPT-V2-001 CKPT-V2-002 CKC-002 CKC-003 CKC-004 CKC-005 CKC-006 "
    "CKC-007 CKC-012 CKC-014 CKC-024 CKC-025 CKSCH-008 CKSCH-009"
)
_OF_SIDECARS: Final = "CKPT-V2-003 CKPT-V2-004 SIDE-001 SIDE-002 SIDE-003 SIDE-004"


@CHECKPOINTS.case("write-restored", "CKPT-005 CKPT-006 CKC-004 REC-006")
def _restored(case: CaseWriter) -> None:
    """A file that comes again is no tombstone of the checkpoint any more."""
    recipe = Recipe(_KEYED, ("part",)).append(_keyed(1, 2)).append(_keyed(3))
    recipe.delete(compare("id", "=", 3, "long")).restore(2).checkpoint()
    recipe.append(_keyed(4)).publish(case)


for _name, (_kind, _sidecars, _title) in _KINDS.items():
    CHECKPOINTS.define(
        f"write-v2-{_name}",
        _title,
        f"{_OF_V2} {_OF_SIDECARS}" if _sidecars else _OF_V2,
        partial(_checkpointed, _kind, _sidecars),
    )


@CHECKPOINTS.case(
    "write-v2-policy",
    "CKPT-005 CKPT-V2-001 CKC-002 CKC-003 CKC-004 CKC-005 CKC-006 CKC-007 CKC-009 CKSCH-009",
)
def _policy(case: CaseWriter) -> None:
    """A table asks for V2 checkpoints, and a checkpoint keeps every action."""
    properties = {"delta.checkpointPolicy": "v2", **_KEPT}
    recipe = _everything(Recipe(_KEYED, ("part",), properties, _V2))
    recipe.set_domain("mine", '{"a":1}').checkpoint().append(_keyed(5)).checkpoint().publish(case)


@CHECKPOINTS.case(
    "write-everything",
    "CKPT-005 CKC-002 CKC-004 CKC-005 CKC-006 CKC-007 CKC-014 CKC-024 CKC-025 RT-031 "
    "CKPT-V1-001 CKPT-V1-002 CKSCH-008 CKSCH-009",
)
def _all_actions(case: CaseWriter) -> None:
    """A checkpoint keeps vectors, row ids, domains and transactions."""
    features = ("deletionVectors", "rowTracking", "domainMetadata", "changeDataFeed")
    properties = {
        **_VECTORS,
        "delta.enableRowTracking": "true",
        "delta.enableChangeDataFeed": "true",
        **_KEPT,
    }
    recipe = _everything(Recipe(_KEYED, ("part",), properties, features))
    recipe.update({"id": 30}, compare("id", "=", 3, "long")).set_domain("unknown.to.all", "{}")
    recipe.checkpoint().append(_keyed(5)).publish(case)


def _in_parts(properties: Mapping[str, str], features: tuple[str, ...], case: CaseWriter) -> None:
    recipe = Recipe(_KEYED, (), {**properties, **_KEPT}, features)
    for number in range(0, 12, 2):
        recipe.append(_keyed(number, number + 1))
    recipe.delete(is_in("id", [1, 4, 6, 7], "long")).set_transaction("app", 1)
    # Whoever tries again, comes to the same parts.
    recipe.checkpoint("multi-part", parts=3).checkpoint("multi-part", parts=3)
    recipe.append(_keyed(20)).checkpoint("multi-part", parts=2)
    recipe.publish(case, needs=("checkpoint.kind",))


for _name, _title, _properties, _listed, _more in (
    ("multi-part", "Parts of a checkpoint have the files by their paths", {}, (), "CKPT-N-005"),
    (
        "multi-part-vectors",
        "Parts of a checkpoint have the files by paths and vectors",
        _VECTORS,
        ("deletionVectors",),
        "CKPT-N-004",
    ),
):
    CHECKPOINTS.define(
        f"write-{_name}",
        _title,
        f"CKPT-021 CKPT-022 CKPT-023 CKPT-024 CKPT-N-003 {_more} CKPT-N-007 CKC-002 CKC-003 "
        "CKC-004 CKC-012 CKPT-V1-001 CKPT-V1-002",
        partial(_in_parts, _properties, _listed),
    )


@CHECKPOINTS.case("write-multi-part-beside-v2", "CKPT-N-009 CKPT-026")
def _no_parts(case: CaseWriter) -> None:
    """A table that supports V2 checkpoints gets none in several parts."""
    recipe = Recipe(PAIR, (), {}, _V2).append(pairs(1)).append(pairs(2))
    recipe.checkpoint("multi-part", parts=2)
    refusal = Refusal("constraint", "commit", "CKPT-N-009")
    recipe.publish(case, refusal=refusal, needs=("checkpoint.kind",))


def _statistics(as_struct: str, as_json: str, case: CaseWriter) -> None:
    properties = {
        "delta.checkpoint.writeStatsAsStruct": as_struct,
        "delta.checkpoint.writeStatsAsJson": as_json,
    }
    # The properties bind from writer version 3 on.
    recipe = (
        Recipe(_KEYED, ("part",), properties, ("checkConstraints",))
        .append(_keyed(1, 2, 3))
        .checkpoint()
    )
    recipe.append([{"id": None, "part": None}]).checkpoint()
    recipe.delete(compare("id", "=", 3, "long")).checkpoint().publish(case)


for _name, _title, _struct, _json, _ids in (
    (
        "both-statistics",
        "A checkpoint has statistics in both forms where both are asked for",
        "true",
        "true",
        "CKC-015 CKC-018 CKC-021",
    ),
    (
        "json-statistics",
        "A checkpoint has statistics as text where that is asked for alone",
        "false",
        "true",
        "CKC-018 CKC-023",
    ),
    (
        "no-statistics",
        "A checkpoint that is asked for no statistics keeps the files",
        "false",
        "false",
        "CKC-004 CKC-020 CKC-023",
    ),
):
    STRUCTS.define(f"write-{_name}", _title, _ids, partial(_statistics, _struct, _json))


@STRUCTS.case("write-exact-statistics", "CKPT-005 CKC-020 CKC-021 STAT-012")
def _exact(case: CaseWriter) -> None:
    """Bounds of decimals and longs keep all their digits in a checkpoint."""
    properties = {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    schema = struct(id="long", d="decimal(38,2)", n="long")
    values = ("123456789012345678901234567890123456.78", "-98765432109876543210.01", "0.01")
    longs = (2**63 - 1, -(2**53) - 1, 2**53 + 1)
    recipe = Recipe(schema, (), properties, ("checkConstraints",))
    for number, value in enumerate(values):
        recipe.append([{"id": number, "d": Decimal(value), "n": longs[number]}])
    recipe.checkpoint().delete(compare("id", "=", 1, "long")).checkpoint().publish(case)


@STRUCTS.case("write-lists-of-lower-versions", "CKSCH-011")
def _lower_lists(case: CaseWriter) -> None:
    """Feature lists are null in a checkpoint of lower versions."""
    recipe = Recipe(PAIR, (), {"delta.columnMapping.mode": "name"}, protocol=Protocol(2, 5))
    recipe.append(pairs(1)).given().append(pairs(2)).checkpoint().append(pairs(3)).publish(case)


@STRUCTS.case("write-empty-lists", "CKSCH-008", since="2025")
def _empty_lists(case: CaseWriter) -> None:
    """Feature lists without features are in a checkpoint, and are empty."""
    recipe = Recipe(PAIR, protocol=Protocol(3, 7, (), ())).append(pairs(1)).given()
    recipe.append(pairs(2)).checkpoint().append(pairs(3)).publish(case)


@STRUCTS.case("write-mapped-statistics", "CKSCH-012 CKSCH-013 CKC-015 CKC-016 CKC-021")
def _mapped_statistics(case: CaseWriter) -> None:
    """Parsed values have physical names and the types of columns."""
    properties = {"delta.checkpoint.writeStatsAsStruct": "true", "delta.columnMapping.mode": "name"}
    schema = struct(id="long", s=struct(a="integer"), p="integer")
    rows = [{"id": n, "s": {"a": -n}, "p": n % 2} for n in range(4)]
    recipe = Recipe(schema, ("p",), properties, ("columnMapping", "checkConstraints"))
    recipe.append(rows).append([{"id": None, "s": None, "p": None}]).checkpoint()
    recipe.rename_column("id", "key").rename_column("p", "part")
    recipe.append([{"key": 9, "s": {"a": 9}, "part": 9}]).checkpoint().publish(case)


@COMPACTION.case("write-compaction-removes", "COMP-002 COMP-004 COMP-006 COMP-007 COMP-008")
def _compaction(case: CaseWriter) -> None:
    """A log compaction keeps tombstones, progress and domains."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).append(pairs(1, 2)).append(pairs(3))
    recipe.delete(is_in("id", [1, 3], "long")).set_transaction("app", 1).set_transaction("app", 2)
    recipe.set_domain("mine", "a").set_domain("mine", "b")
    recipe.keep("compact_log", version=False, start=2, end=7).append(pairs(9)).publish(case)


@COMPACTION.case("write-compaction-rearranged", "COMP-004 COMP-006")
def _compacted_rearranged(case: CaseWriter) -> None:
    """A log compaction keeps no file that its range moved or removed last."""
    recipe = Recipe(PAIR).append(pairs(1)).append(pairs(2)).keep("optimize").append(pairs(3))
    recipe.delete(compare("id", "=", 3, "long"))
    recipe.keep("compact_log", version=False, start=1, end=5).append(pairs(9)).publish(case)


@COMPACTION.case("write-compaction-domain-removed", "COMP-004 COMP-002")
def _compacted_removal(case: CaseWriter) -> None:
    """A log compaction keeps the removal of a domain of before its range."""
    recipe = Recipe(PAIR, features=("domainMetadata",)).set_domain("mine", "a").append(pairs(1))
    recipe.set_domain("mine", None).append(pairs(2))
    recipe.keep("compact_log", version=False, start=2, end=4).append(pairs(9)).publish(case)


def _aged(case: CaseWriter) -> Callable[[TableBuilder], list[str]]:
    """Make every file of the table old, and return the data files that are live."""

    def live(builder: TableBuilder) -> list[str]:
        for path in case.delta.rglob("*"):
            if path.is_file():
                case.file_time(path.relative_to(case.delta).as_posix(), _LONG_AGO)
        return sorted({path for path, _ in builder.states[builder.version].adds})

    return live


@FILES.case("write-vacuum-retained", "FA-008")
def _retained(case: CaseWriter) -> None:
    """A vacuum keeps an old file that went a moment ago."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4)).given()
    recipe.delete(is_in("id", [2, 4], "long"))
    recipe.keep("vacuum", version=False, kept=_aged(case)).append(pairs(5)).publish(case)


@VECTORS.case("write-restore-vectors", "SNAP-008 DVD-014 DVD-017")
def _restore(case: CaseWriter) -> None:
    """A restore brings the vectors of then back."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.delete(compare("id", "=", 1, "long")).delete(is_in("id", [2, 4], "long"))
    recipe.restore(2).delete(compare("id", "=", 3, "long")).restore(3).publish(case)


def _in_one_file(root: Path, version: int) -> None:
    """Store the vector that a version brings in the file of the one that it replaces."""
    lines = read_commit(root, version)
    old = next(line["remove"]["deletionVector"] for line in lines if "remove" in line)
    new = next(line["add"]["deletionVector"] for line in lines if "add" in line)
    files = {
        z85_encode(UUID(path.stem.removeprefix("deletion_vector_")).bytes): path
        for path in root.glob("deletion_vector_*.bin")
    }
    first, second = (files[each["pathOrInlineDv"]] for each in (old, new))
    new |= {"pathOrInlineDv": old["pathOrInlineDv"], "offset": first.stat().st_size}
    # The byte that both begin with is the version of the format.
    first.write_bytes(first.read_bytes() + second.read_bytes()[1:])
    second.unlink()
    write_commit(root, version, lines)


@VECTORS.case("write-restore-one-vector-file", "REM-014 DVD-013 DVDESC-014")
def _restore_by_offset(case: CaseWriter) -> None:
    """A restore distinguishes two vectors of one file by their offsets."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.delete_by_vectors(compare("id", "=", 1, "long"))
    recipe.delete_by_vectors(is_in("id", [2, 4], "long")).given()
    recipe.restore(2).append(pairs(8)).publish(case)
    _in_one_file(case.delta, 3)


@VECTORS.case("write-restore-inline", "REM-014 DVD-013 DVD-014 DVDESC-017")
def _restore_inline(case: CaseWriter) -> None:
    """A restore brings a vector inside the log back."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.delete_by_vectors(compare("id", "=", 1, "long"), "inline").append(pairs(7)).given()
    recipe.delete(is_in("id", [0, 4], "long")).restore(2).append(pairs(8)).publish(case)


@VECTORS.case("write-restore-uncounted", "DVDESC-022 DVD-013 DVD-017")
def _restore_uncounted(case: CaseWriter) -> None:
    """A file restored with its vector tells its rows."""
    properties = {**_VECTORS, "delta.checkpoint.writeStatsAsJson": "false"}
    recipe = Recipe(PAIR, (), properties, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.delete(is_in("id", [2, 4], "long")).checkpoint().delete(is_in("id", [0, 5], "long"))
    recipe.restore(2).delete(compare("id", "=", 3, "long")).publish(case)


@VECTORS.case("write-without-bounds", "DVDESC-022 STAT-002")
def _unbounded(case: CaseWriter) -> None:
    """Files are counted where the table has statistics of no column."""
    properties = {**_VECTORS, "delta.dataSkippingNumIndexedCols": "0"}
    recipe = Recipe(PAIR, (), properties, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.delete(compare("id", "=", 1, "long")).delete(is_in("id", [2, 4], "long")).publish(case)


@VECTORS.case("write-uncounted", "DVDESC-022 STAT-002")
def _uncounted(case: CaseWriter) -> None:
    """A file without statistics is counted once rows of it are deleted."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(*range(6))).given()
    recipe.delete(compare("id", "=", 1, "long")).update(
        {"name": "x"}, compare("id", "=", 3, "long")
    )
    recipe.publish(case)
    lines = read_commit(case.delta, 1)
    for line in lines:
        line.get("add", {}).pop("stats", None)
    write_commit(case.delta, 1, lines)


_DATED: Final = struct(
    id="long", at="timestamp", local="timestamp_ntz", day="date", price="decimal(9,2)"
)


@VECTORS.case("write-restore-parsed", "DVDESC-022 DVD-013 DVD-017 STAT-013")
def _restore_parsed(case: CaseWriter) -> None:
    """A file restored from a checkpoint keeps its bounds of times."""
    properties = {
        **_VECTORS,
        "delta.checkpoint.writeStatsAsJson": "false",
        "delta.checkpoint.writeStatsAsStruct": "true",
    }
    moment = datetime(2024, 2, 29, 23, 59, 58, 123_000, UTC)
    rows = [
        {
            "id": number,
            "at": moment + timedelta(hours=number),
            "local": moment.replace(tzinfo=None) - timedelta(days=number),
            "day": moment.date() + timedelta(days=number),
            "price": Decimal("-1.25") * number,
        }
        for number in range(6)
    ]
    recipe = Recipe(_DATED, (), properties, ("deletionVectors", "timestampNtz")).append(rows)
    recipe.delete(is_in("id", [2, 4], "long")).checkpoint().delete(is_in("id", [0, 5], "long"))
    recipe.restore(2).delete(compare("id", "=", 3, "long")).publish(case)


CLUSTERING: Final = '{"clusteringColumns":[["id"]]}'
_ANOTHER: Final = "fromAnotherWorld"


def by_another(case: CaseWriter, *versions: int) -> Callable[[TableBuilder], bool]:
    """Name an unknown implementation as the clustering provider of the files of versions."""

    def clustered(_: TableBuilder) -> bool:
        for version in versions:
            lines = read_commit(case.delta, version)
            for line in lines:
                if "add" in line:
                    line["add"]["clusteringProvider"] = _ANOTHER
            write_commit(case.delta, version, lines)
        return True

    return clustered


@CLUSTERED.case("write-append", "CLUS-006 CLUS-009")
def _append_clustered(case: CaseWriter) -> None:
    """Rows that are appended have statistics of the clustering columns."""
    properties = {"delta.dataSkippingNumIndexedCols": "1"}
    recipe = Recipe(PAIR, (), properties, clustering_columns=("name",)).append(pairs(1, 2))
    recipe.append([{"id": 3, "name": None}])
    recipe.publish(
        case,
        contested=[
            ("carried-out", "whatever the property says, the columns have statistics", None),
            (
                "refused",
                "the property, of no text of the protocol, leaves them without statistics",
                Refusal("invalid_table", "commit", "CLUS-009", of=("create", "append")),
            ),
        ],
    )


@CLUSTERED.case("write-cluster-run", "CLUS-009 CLUS-011 CLUS-012")
def _cluster_run(case: CaseWriter) -> None:
    """A run clusters what nobody has, tells who did, and leaves others alone."""
    recipe = Recipe(PAIR, (), {}, ("clustering", "domainMetadata"))
    recipe.set_domain("delta.clustering", CLUSTERING).append(pairs(7, 3, 5))
    recipe.append(pairs(9, 1)).append(pairs(8, 2)).given()
    recipe.keep("optimize", cluster=by_another(case, 2)).append(pairs(4)).publish(case)


@CLUSTERED.case("write-cluster-run-vectors", "CLUS-012", features=("deletionVectors",))
def _cluster_run_vectors(case: CaseWriter) -> None:
    """A run leaves a file of another alone though rows of it are deleted."""
    recipe = Recipe(PAIR, (), _VECTORS, ("clustering", "domainMetadata", "deletionVectors"))
    recipe.set_domain("delta.clustering", CLUSTERING).append(pairs(7, 3, 5)).append(pairs(9, 1))
    recipe.delete_by_vectors(compare("id", "=", 3, "long")).append(pairs(8, 2)).given()
    recipe.keep("optimize", cluster=by_another(case, 2, 4)).append(pairs(4)).publish(case)


_MAPPED: Final = {"delta.columnMapping.mode": "name"}


def _compatible(version: int, **more: str) -> tuple[dict[str, str], tuple[str, ...]]:
    return {**_MAPPED, f"delta.enableIcebergCompatV{version}": "true", **more}, (
        "columnMapping",
        f"icebergCompatV{version}",
    )


def _replaced(
    version: int, requirement: str, more: dict[str, str], of: str, case: CaseWriter
) -> None:
    recipe = Recipe(_KEYED, ("part",), *_compatible(version, **more)).append(_keyed(1, 2))
    recipe.replace(struct(id="long", day=of), ["day"], [])
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", requirement))


_OTHERS: Final[tuple[tuple[str, dict[str, str], str], ...]] = (
    ("", {}, "string"),
    ("-typed", {}, "date"),
    ("-by-id", {"delta.columnMapping.mode": "id"}, "long"),
)
for _chapter, _version, _id in ((FIRST, 1, "ICE1-011"), (SECOND, 2, "ICE2-019")):
    for _name, _extra, _of in _OTHERS:
        _chapter.define(
            f"write-replace-partitions{_name}",
            "A table is not replaced by one with partition columns of other names",
            _id,
            partial(_replaced, _version, _id, _extra, _of),
        )


def _replaced_alike(version: int, case: CaseWriter) -> None:
    recipe = Recipe(_KEYED, ("part",), *_compatible(version)).append(_keyed(1, 2))
    other = struct(part="integer", n="double")
    recipe.replace(other, ["part"], [{"part": 1, "n": 0.5}, {"part": None, "n": None}])
    recipe.append([{"part": 2, "n": 1.5}]).publish(case)


for _chapter, _version, _id in ((FIRST, 1, "ICE1-012"), (SECOND, 2, "ICE2-020")):
    _chapter.define(
        "write-replace-alike",
        "A table is replaced by one with a partition column of the same name",
        _id,
        partial(_replaced_alike, _version),
    )


@METADATA.case("write-replace", "META-011 DATA-004 FA-021")
def _replace(case: CaseWriter) -> None:
    """A table that is replaced has new columns and rows, and its properties."""
    recipe = Recipe(_KEYED, ("part",), {"custom.team": "a"}).append(_keyed(1, 2, 3))
    recipe.replace(PAIR, [], pairs(7, 8)).append(pairs(9)).checkpoint()
    recipe.replace(struct(part="string", x="double"), ["part"], [])
    recipe.append([{"part": None, "x": 1.5}]).publish(case)


def _widened(schema: Struct, column: str, spelled: str, case: CaseWriter) -> None:
    properties, features = _compatible(2, **{"delta.enableTypeWidening": "true"})
    recipe = Recipe(schema, (), properties, (*features, "typeWidening")).append([{"id": 1, "n": 1}])
    recipe.change_type(column, spelled)
    recipe.publish(case, refusal=Refusal("invalid_table", "commit", "ICE2-023"))


@WIDENING.case("write-iceberg-allowed", "ICE2-023 TW-003")
def _widened_for_iceberg(case: CaseWriter) -> None:
    """Changes of types that Iceberg knows are carried out."""
    properties, features = _compatible(2, **{"delta.enableTypeWidening": "true"})
    schema = struct(id="long", n="integer", f="float", d="decimal(9,2)")
    recipe = Recipe(schema, (), properties, (*features, "typeWidening"))
    recipe.append([{"id": 1, "n": -1, "f": 0.5, "d": Decimal("1.25")}])
    recipe.change_type("n", "long").change_type("f", "double").change_type("d", "decimal(12,2)")
    recipe.append([{"id": 2, "n": 2**40, "f": 0.1, "d": Decimal("-1234567890.25")}])
    recipe.delete(compare("id", "=", 1, "long")).publish(case)


for _name, _from, _to in (("double", "integer", "double"), ("decimal", "integer", "decimal(12,2)")):
    WIDENING.define(
        f"write-iceberg-{_name}",
        f"A change from {_from} to {_name} is refused where Iceberg knows none",
        "ICE2-023 TW-003",
        partial(_widened, struct(id="long", n=_from), "n", _to),
    )


_MANAGED: Final = ("catalogManaged", "inCommitTimestamp")
_UNMANAGED: Final[Mapping[str, tuple[str, str, str]]] = {
    "append": ("Rows are not appended past the catalog", "CAT-011", "CAT-016"),
    "delete": ("Rows are not deleted past the catalog", "CAT-016", "CAT-011"),
    "optimize": ("Files are not moved unless the catalog permits it", "CAT-021", "CAT-011"),
    "vacuum": ("Files are not vacuumed unless the catalog permits it", "CAT-020", "CAT-016"),
    "cleanup": ("The log is not cleaned unless the catalog permits it", "CAT-019", "CAT-016"),
}


def _past_the_catalog(operation: str, requirement: str, case: CaseWriter) -> None:
    properties = {"delta.enableInCommitTimestamps": "true"}
    recipe = Recipe(PAIR, (), properties, _MANAGED).append(pairs(1, 2)).append(pairs(3))
    recipe.delete(compare("id", "=", 1, "long")).given()
    match operation:
        case "append":
            recipe.append(pairs(9))
        case "delete":
            recipe.delete(compare("id", "=", 2, "long"))
        case "optimize":
            recipe.keep("optimize")
        case _:
            recipe.keep(operation, version=False, kept=_aged(case))
    recipe.publish(case, refusal=Refusal("unsupported", "commit", requirement), managed=True)


for _name, (_title, _id, _other) in _UNMANAGED.items():
    CATALOG.define(
        f"write-{_name}", _title, f"{_id} {_other}", partial(_past_the_catalog, _name, _id)
    )
