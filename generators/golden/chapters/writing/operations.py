"""Cases of writing: recipes of updates that compute, merges, and operations that move rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare, is_in, is_null
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Computed, Recipe, pairs
from generators.materialise.builder import TableBuilder
from generators.materialise.data.deletion_vectors import decode_uuid_name, vector_file_name
from generators.materialise.log.files import LOG_DIRECTORY, commit_name, read_commit, write_commit
from generators.materialise.log.protocols import Protocol
from generators.oracle.delta_schema import field, struct
from generators.oracle.filters import column, node
from generators.oracle.literals import literal
from generators.oracle.operations import MergeClause

FILES: Final = Chapter("add-file-and-remove-file")
VECTORS: Final = Chapter("deletion-vectors", since="2025")
FEED: Final = Chapter("change-data-files", since="2025")
CLOCK: Final = Chapter("in-commit-timestamps", since="2025")
TRACKING: Final = Chapter("row-tracking", since="2025")
MAPPING: Final = Chapter("column-mapping", since="2025")
CHECKS: Final = Chapter("check-constraints", since="2025")
APPEND_ONLY: Final = Chapter("append-only-tables")
COMPACTION: Final = Chapter("log-compaction-files", since="2025")
CLEANUP: Final = Chapter("metadata-cleanup", since="2025")
VACUUM: Final = Chapter("vacuum-protocol-check", since="2025")
DESIGN: Final = Chapter("deletion-vectors-design", since="2025")

_TRIPLE: Final = struct(id="long", n="integer", name="string")
_LONG_AGO: Final = 1_500_000_000_000
"""2017-07-14, in ms since the epoch: whatever may expire has expired since."""
_AHEAD: Final = 4_102_444_800_000
"""2100-01-01, in ms since the epoch: nothing of then expires."""

_SUM: Final = node("+", column("target", "n"), column("source", "n"))
_TWICE: Final = node("*", column("source", "n"), literal("integer", 2))


def _triples(*numbers: int) -> list[dict[str, Any]]:
    return [{"id": n, "n": None if n % 5 == 3 else n * 10, "name": f"n{n}"} for n in numbers]


def _plus(name: str, value: int, of: str = "integer") -> Computed:
    return Computed(node("+", column(name), literal(of, value)))


@FILES.case("write-update-computed", "DATA-004 DATA-005 FA-021")
def _update_computed(case: CaseWriter) -> None:
    """An update computes from the row as it was."""
    recipe = Recipe(_TRIPLE).append(_triples(1, 2, 3)).append(_triples(4, 5))
    recipe.update({"n": _plus("n", 1)}, compare("id", "<=", 4, "long"))
    recipe.update({"n": Computed(node("*", column("n"), column("n"))), "name": "squared"})
    recipe.update({"id": _plus("id", 100, "long"), "n": 7}, is_null("n")).publish(case)


@FILES.case("write-update-computed-types", "DATA-004 FA-021")
def _update_computed_types(case: CaseWriter) -> None:
    """An update computes values of every numeric type."""
    kinds = ("byte", "short", "integer", "long", "float", "double")
    schema = struct(*(field(kind, kind) for kind in kinds))
    rows: list[dict[str, Any]] = [dict.fromkeys(kinds, number) for number in (1, 2, None)]
    for row in rows[:2]:
        row |= {kind: row[kind] + 0.5 for kind in ("float", "double")}
    recipe = Recipe(schema).append(rows)
    recipe.update({kind: _plus(kind, 3, kind) for kind in kinds[:4]})
    recipe.update({k: Computed(node("*", column(k), column(k))) for k in kinds[4:]})
    recipe.publish(case)


def _changes(properties: Mapping[str, str], features: tuple[str, ...], case: CaseWriter) -> None:
    """Append, merge with every clause, optimize, update by what a row has, delete, optimize."""
    recipe = Recipe(_TRIPLE, (), properties, features)
    recipe.append(_triples(*range(1, 7))).append(_triples(*range(7, 10)))
    null: dict[str, Any] = {"id": None, "n": 1, "name": "null"}
    recipe.merge(
        [*_triples(2, 3, 8, 20), null],
        SAME_ID,
        MergeClause("matched", "delete", node("is_null", column("source", "n"))),
        MergeClause("matched", "update", None, {"n": _SUM}),
        MergeClause("not_matched", "insert", None, {"id": column("source", "id"), "n": _TWICE}),
        MergeClause(
            "not_matched_by_source",
            "delete",
            node("=", column("target", "n"), literal("integer", 50)),
        ),
    )
    recipe.keep("optimize").update({"n": _plus("n", 5)}, compare("id", "<", 7, "long"))
    recipe.delete(compare("id", "=", 6, "long")).append(_triples(30)).keep("optimize")
    # What a merge writes is looked at where nothing rewrites it.
    recipe.merge([*_triples(9), *_triples(31)], SAME_ID, *UPSERT).publish(case)


_VECTORS: Final = {"delta.enableDeletionVectors": "true"}
_FEED: Final = {"delta.enableChangeDataFeed": "true"}
_TRACKING: Final = {"delta.enableRowTracking": "true"}
_TRACKED: Final = ("rowTracking", "domainMetadata")

for _chapter, _name, _title, _properties, _asked, _ids in (
    (
        FILES,
        "write-merge",
        "A merge and an optimize leave the rows that they have to",
        {},
        (),
        "DATA-004 DATA-005 FA-005 FA-021",
    ),
    (
        VECTORS,
        "write-merge",
        "A merge and an optimize go together with vectors",
        _VECTORS,
        ("deletionVectors",),
        "DV-002 DVDESC-022 DVD-005 DVD-017 DVD-018 DVD-019",
    ),
    (
        FEED,
        "write-merge",
        "The feed tells what a merge did, and nothing of an optimize",
        _FEED,
        ("changeDataFeed",),
        "CDC-012 CDC-013 CDFF-004 FA-017",
    ),
    (
        FEED,
        "write-merge-with-vectors",
        "The feed of a merge and an optimize goes together with vectors",
        {**_FEED, **_VECTORS},
        ("changeDataFeed", "deletionVectors"),
        "CDC-012 CDC-013 CDFF-004 FA-017 DVD-019",
    ),
    (
        TRACKING,
        "write-merge",
        "Rows keep their ids through a merge and an optimize",
        _TRACKING,
        _TRACKED,
        "RT-013 RT-047 RT-048 RT-050 RT-052",
    ),
    (
        TRACKING,
        "write-merge-with-vectors",
        "Rows keep their ids through a merge by vectors",
        {**_TRACKING, **_VECTORS},
        (*_TRACKED, "deletionVectors"),
        "RT-013 RT-030 RT-047 RT-048 RT-050 RT-052",
    ),
    (
        TRACKING,
        "write-merge-with-feed",
        "Rows keep their ids where a feed tells of a merge",
        {**_TRACKING, **_FEED},
        (*_TRACKED, "changeDataFeed"),
        "RT-047 RT-048 RT-050 RT-052 CDC-012",
    ),
    (
        MAPPING,
        "write-merge",
        "A merge and an optimize of a mapped table",
        {"delta.columnMapping.mode": "name"},
        ("columnMapping",),
        "CM-007 CM-013 CM-014 CM-015 CM-017",
    ),
    (
        CLOCK,
        "write-merge",
        "A merge and an optimize carry later times each",
        {"delta.enableInCommitTimestamps": "true"},
        ("inCommitTimestamp",),
        "ICT-005 ICT-004 ICT-006 ICT-008",
    ),
):
    _chapter.define(_name, _title, _ids, partial(_changes, _properties, _asked))


def _merged_under_vectors(
    parts: tuple[str, ...], properties: Mapping[str, str], asked: tuple[str, ...], case: CaseWriter
) -> None:
    """Delete rows of each file, and merge into the same files by one clause and by several."""
    recipe = Recipe(_TRIPLE, parts, {**_VECTORS, **properties}, ("deletionVectors", *asked))
    first, second = _triples(*range(1, 9)), _triples(*range(11, 15))
    named = "part" if parts else None
    recipe.append([{**row, "name": named or row["name"]} for row in first])
    recipe.append([{**row, "name": named or row["name"]} for row in second])
    recipe.delete(is_in("id", [2, 5, 12], "long"))
    null = node("is_null", column("source", "n"))
    # What is deleted matches nothing, and is inserted.
    recipe.merge(
        _triples(1, 3, 5, 13, 20),
        SAME_ID,
        MergeClause("matched", "delete", null),
        MergeClause("matched", "update", None, {"n": column("source", "n")}),
        MergeClause("not_matched", "insert"),
    )
    recipe.merge(_triples(4, 11), SAME_ID, MergeClause("matched", "delete"))
    update = MergeClause("matched", "update", None, {"n": literal("integer", 7)})
    recipe.merge(_triples(6, 14), SAME_ID, update).append(_triples(30)).publish(case)


for _slug, _words, _parts, _properties, _asked in (
    ("", "", (), {}, ()),
    ("-partitions", " in partitions", ("name",), {}, ()),
    ("-mapped", " under mapping", (), {"delta.columnMapping.mode": "name"}, ("columnMapping",)),
):
    VECTORS.define(
        f"write-merge-after-delete{_slug}",
        f"A merge keeps the rows deleted that a vector had{_words}",
        "DVD-017 DVD-018 DV-002 DVDESC-022",
        partial(_merged_under_vectors, _parts, _properties, _asked),
    )


@FILES.case("write-merge-partitions", "DATA-004 FA-021 ADD-004")
def _merge_partitions(case: CaseWriter) -> None:
    """A merge moves rows between partitions."""
    rows = [{"id": number, "part": "ab"[number % 2]} for number in range(4)]
    recipe = Recipe(struct(id="long", part="string"), ("part",)).append(rows)
    moved: list[dict[str, Any]] = [
        {"id": 1, "part": "c"},
        {"id": 2, "part": None},
        {"id": 9, "part": "b"},
    ]
    recipe.merge(moved, SAME_ID, *UPSERT).publish(case)


@FILES.case("write-merge-many", "DATA-004 FA-021")
def _merge_many(case: CaseWriter) -> None:
    """A merge changes many rows of a file by several clauses."""
    recipe = Recipe(_TRIPLE).append(_triples(*range(1, 13))).append(_triples(20, 21))
    recipe.merge(
        [{"id": number, "n": number * 1000, "name": "new"} for number in (11, 2, 7, 5, 30, 4, 20)],
        SAME_ID,
        MergeClause("matched", "update", node("=", column("target", "id"), literal("long", 7))),
        MergeClause("matched", "update", None, {"n": column("source", "n")}),
        MergeClause("not_matched", "insert"),
        MergeClause("not_matched_by_source", "update", None, {"name": literal("string", "left")}),
    )
    recipe.delete(compare("id", "=", 12, "long")).publish(case)


@FILES.case("write-merge-nothing", "DATA-004 FA-021")
def _merge_nothing(case: CaseWriter) -> None:
    """A merge that matches nothing changes no rows."""
    recipe = Recipe(PAIR).append([*pairs(1, 2), {"id": None, "name": "null"}])
    source: list[dict[str, Any]] = [{"id": 7, "name": "x"}, {"id": None, "name": "y"}]
    recipe.merge(source, SAME_ID, MergeClause("matched", "delete")).publish(case)


@APPEND_ONLY.case("write-merge-insert", "APP-002")
def _merge_insert(case: CaseWriter) -> None:
    """A merge that only inserts goes into an append-only table."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"}).append(pairs(1, 2))
    recipe.merge(pairs(2, 3), SAME_ID, MergeClause("not_matched", "insert")).publish(case)


@APPEND_ONLY.case("write-merge", "APP-002 WVER-001")
def _merge_append_only(case: CaseWriter) -> None:
    """An append-only table refuses a merge that changes rows."""
    recipe = Recipe(PAIR, (), {"delta.appendOnly": "true"}).append(pairs(1, 2))
    recipe.merge(pairs(2, 3), SAME_ID, *UPSERT)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "APP-002"))


_NAMED: Final = {"delta.constraints.named": "name <> 'bad'"}


def _broken_match(case: CaseWriter, name: str | None) -> None:
    recipe = Recipe(PAIR, (), _NAMED, ("checkConstraints",)).append(pairs(1, 2))
    recipe.merge([*pairs(3), {"id": 2, "name": name}], SAME_ID, *UPSERT)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-006"))


@CHECKS.case("write-broken-merge", "CHK-005 CHK-006")
def _broken_merge(case: CaseWriter) -> None:
    """A merge to a row that breaks is refused."""
    properties = {"delta.constraints.positive": "id > 0"}
    recipe = Recipe(PAIR, (), properties, ("checkConstraints",)).append(pairs(1, 2))
    recipe.merge(pairs(2, -3), SAME_ID, *UPSERT)
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-006"))


for _slug, _title, _to in (
    ("merge-match", "A merge that changes a row to one that breaks is refused", "bad"),
    ("merge-match-null", "A merge to a row of which nothing is known is refused", None),
):
    CHECKS.define(
        f"write-broken-{_slug}", _title, "CHK-005 CHK-006", partial(_broken_match, name=_to)
    )


@CHECKS.case("write-broken-update-null", "CHK-005 CHK-006")
def _broken_null(case: CaseWriter) -> None:
    """An update to a row of which nothing is known is refused."""
    recipe = Recipe(PAIR, (), _NAMED, ("checkConstraints",)).append(pairs(1, 2))
    recipe.update({"name": None}, compare("id", "=", 2, "long"))
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-006"))


@CHECKS.case("write-broken-computed", "CHK-005 CHK-006")
def _broken_computed(case: CaseWriter) -> None:
    """An update that computes a row that breaks is refused."""
    properties = {"delta.constraints.small": "n < 100"}
    recipe = Recipe(_TRIPLE, (), properties, ("checkConstraints",)).append(_triples(1, 2))
    recipe.update({"n": _plus("n", 85)})
    recipe.publish(case, refusal=Refusal("constraint", "commit", "CHK-006"))


@FILES.case("write-optimize-partitions", "DATA-004 FA-017 FA-021 ADD-004")
def _optimize_partitions(case: CaseWriter) -> None:
    """An optimize moves rows within their partition."""
    recipe = Recipe(struct(id="long", part="string"), ("part",))
    for start in (0, 10, 20):
        recipe.append(
            [{"id": start + at, "part": part} for at, part in enumerate(("a", "b", None))]
        )
    recipe.keep("optimize").delete(compare("id", "=", 10, "long")).publish(case)


@DESIGN.case("write-purge", "DVD-005 DVD-006 FA-017")
def _purge(case: CaseWriter) -> None:
    """A purge rewrites files with vectors into files without."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(*range(6)))
    recipe.append(pairs(*range(10, 13))).delete(is_in("id", [1, 2, 11], "long"))
    recipe.keep("optimize", purge=True).delete(compare("id", "=", 3, "long"))
    recipe.keep("optimize", purge=True).publish(case)


@FILES.case("write-restore", "DATA-004 FA-021 META-011")
def _restore(case: CaseWriter) -> None:
    """A restore brings rows and properties of then back."""
    recipe = Recipe(PAIR, (), {"team": "a"}).append(pairs(1, 2)).append(pairs(3))
    recipe.set_properties({"team": "b"}).delete(compare("id", "=", 2, "long"))
    recipe.restore(2).append(pairs(4)).restore(1).publish(case)


@DESIGN.case("write-restore-before-vectors", "DVD-013 DVD-014")
def _restore_across(case: CaseWriter) -> None:
    """A restore to before vectors keeps the protocol."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).keep("enable_feature", feature="deletionVectors")
    recipe.set_properties(_VECTORS).delete(compare("id", "=", 2, "long"))
    recipe.restore(1).append(pairs(4)).restore(4).publish(case)


@DESIGN.case("write-restore-across-upgrade", "DVD-013")
def _restore_back_again(case: CaseWriter) -> None:
    """A restore goes to before vectors and back again."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).keep("enable_feature", feature="deletionVectors")
    recipe.set_properties(_VECTORS).delete(compare("id", "=", 2, "long")).append(pairs(4))
    recipe.restore(1).delete(compare("id", "=", 3, "long")).restore(5).publish(case)


@TRACKING.case("write-restore", "RT-030 RT-047 RT-048")
def _restore_tracked(case: CaseWriter) -> None:
    """Rows that a restore brings back have their ids of then."""
    recipe = Recipe(PAIR, (), _TRACKING, _TRACKED).append(pairs(1, 2, 3)).append(pairs(4))
    recipe.delete(is_in("id", [2, 4], "long")).update({"name": "x"}).restore(2)
    recipe.append(pairs(5)).publish(case)


def old_files(case: CaseWriter) -> Callable[[TableBuilder], list[str]]:
    """Make every file of the table old, and return those that the last version needs."""

    def kept(builder: TableBuilder) -> list[str]:
        adds = builder.states[builder.version].adds
        root = case.delta
        files = [unquote(path) for path, _ in adds]
        bins = _vector_files(builder, builder.version)
        for path in root.rglob("*"):
            if path.is_file():
                case.file_time(path.relative_to(root).as_posix(), _LONG_AGO)
        return sorted([*files, *bins])

    return kept


def _vector_files(builder: TableBuilder, version: int) -> set[str]:
    """Return the vector files, without a folder of their own, that a version needs."""
    vectors = [body.get("deletionVector") for body in builder.states[version].adds.values()]
    return {
        vector_file_name(decode_uuid_name(each["pathOrInlineDv"])[1])
        for each in vectors
        if each is not None and each["storageType"] == "u"
    }


def removed_files(builder: TableBuilder) -> list[str]:
    """Return the data files that the last version does not need any more."""
    live = {path for path, _ in builder.states[builder.version].adds}
    ever = {path for version in range(builder.version) for path, _ in builder.states[version].adds}
    return sorted(map(unquote, ever - live))


@FILES.case("write-vacuum", "FA-008")
def _vacuum(case: CaseWriter) -> None:
    """A vacuum deletes what has expired, and nothing that is live."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).append(pairs(4)).append(pairs(5))
    recipe.delete(is_in("id", [2, 4], "long")).given()
    recipe.keep("vacuum", version=False, kept=old_files(case), gone=removed_files).publish(case)


@FILES.case("write-vacuum-fresh", "FA-008")
def _vacuum_fresh(case: CaseWriter) -> None:
    """A vacuum keeps the files of every version that is not old."""
    recipe = Recipe(PAIR).append(pairs(1, 2, 3)).delete(compare("id", "=", 2, "long"))
    recipe.overwrite(pairs(7)).keep("vacuum", version=False).publish(case)


@DESIGN.case("write-vacuum", "DVD-001 DVD-003 DVD-004")
def _vacuum_vectors(case: CaseWriter) -> None:
    """A vacuum keeps the data files and the vectors of live files."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(1, 2, 3, 4))
    recipe.append(pairs(5)).delete_by_vectors(is_in("id", [2, 3], "long"))
    recipe.delete(compare("id", "=", 5, "long")).given()
    recipe.keep("vacuum", version=False, kept=old_files(case), gone=removed_files).publish(case)


@DESIGN.case("write-vacuum-partitioned-vectors", "DVD-004 DVD-001 DVD-003")
def _vacuum_partitioned_vectors(case: CaseWriter) -> None:
    """A vacuum after a checkpoint keeps live files with escaped paths."""
    schema = struct(id="long", p="string")
    rows = [{"id": n, "p": "a b/100%" if n % 2 else "plain"} for n in range(8)]
    # Who vacuums may clean the log up as well, where that has expired.
    properties = {**_VECTORS, "delta.logRetentionDuration": "interval 5000 weeks"}
    recipe = Recipe(schema, ("p",), properties, ("deletionVectors",)).append(rows)
    recipe.append([{"id": 9, "p": "a b/100%"}]).delete_by_vectors(is_in("id", [1, 2], "long"))
    recipe.delete(compare("id", "=", 9, "long")).checkpoint().given()
    recipe.keep("vacuum", version=False, kept=old_files(case), gone=removed_files).publish(case)


def _removed_vectors(builder: TableBuilder) -> list[str]:
    """Return the vector files that the last version does not need any more."""
    ever = {name for version in range(builder.version) for name in _vector_files(builder, version)}
    return sorted(ever - _vector_files(builder, builder.version))


@DESIGN.case("write-vacuum-old-vectors", "DVD-002")
def _vacuum_old_vectors(case: CaseWriter) -> None:
    """A vacuum deletes the vector files that no version needs any more."""
    recipe = Recipe(PAIR, (), _VECTORS, ("deletionVectors",)).append(pairs(1, 2, 3, 4))
    recipe.delete_by_vectors(compare("id", "=", 2, "long"))
    recipe.delete_by_vectors(compare("id", "=", 3, "long")).given()
    recipe.keep("vacuum", version=False, kept=old_files(case), gone=_removed_vectors).publish(case)


@VACUUM.case("write-unknown-feature", "VPC-002")
def _vacuum_unknown(case: CaseWriter) -> None:
    """A vacuum of a table with an unknown writer feature is refused."""
    protocol = Protocol(3, 7, ("vacuumProtocolCheck",), ("fromAnotherWorld", "vacuumProtocolCheck"))
    recipe = Recipe(PAIR, protocol=protocol).append(pairs(1)).append(pairs(2))
    recipe.delete(compare("id", "=", 1, "long")).given()
    recipe.keep("vacuum", version=False, kept=lambda b: [*old_files(case)(b), *removed_files(b)])
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "VPC-002"))


_GUARDED: Final = ("deletionVectors", "vacuumProtocolCheck")


@VACUUM.case("write-unknown-feature-vectors", "VPC-002", features=_GUARDED)
def _vacuum_unknown_vectors(case: CaseWriter) -> None:
    """A vacuum that is refused deletes no vector file either."""
    protocol = Protocol(3, 7, _GUARDED, (*_GUARDED, "fromAnotherWorld"))
    recipe = Recipe(PAIR, (), _VECTORS, protocol=protocol).append(pairs(1, 2, 3, 4))
    recipe.append(pairs(9)).delete(compare("id", "=", 9, "long"))
    recipe.delete_by_vectors(compare("id", "=", 2, "long"))
    recipe.delete_by_vectors(compare("id", "=", 3, "long")).given()

    def kept(builder: TableBuilder) -> list[str]:
        return [*old_files(case)(builder), *removed_files(builder), *_removed_vectors(builder)]

    recipe.keep("vacuum", version=False, kept=kept)
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "VPC-002"))


@VACUUM.case("write-unknown-feature-later", "VPC-002")
def _vacuum_unknown_later(case: CaseWriter) -> None:
    """A vacuum goes by the latest protocol, not by that of a checkpoint."""
    known = ("vacuumProtocolCheck",)
    recipe = Recipe(PAIR, protocol=Protocol(3, 7, known, known)).append(pairs(1)).append(pairs(2))
    recipe.checkpoint().delete(compare("id", "=", 1, "long")).given()
    recipe.keep("vacuum", version=False, kept=lambda b: [*old_files(case)(b), *removed_files(b)])
    recipe.publish(case, refusal=Refusal("unsupported", "commit", "VPC-002"))
    go_over(case, Protocol(3, 7, known, (*known, "fromAnotherWorld")))


def go_over(case: CaseWriter, protocol: Protocol) -> None:
    """Have the last commit of a table change its protocol."""
    version = max(int(path.stem) for path in (case.delta / LOG_DIRECTORY).glob("*.json"))
    first, *others = read_commit(case.delta, version)
    write_commit(case.delta, version, [first, {"protocol": protocol.body()}, *others])
    case.redescribe(protocol=protocol.body())


@COMPACTION.case("write-compaction", "COMP-002 COMP-004")
def _compaction(case: CaseWriter) -> None:
    """A log compaction changes no version."""
    recipe = Recipe(PAIR)
    for number in range(4):
        recipe.append(pairs(number, number + 10))
    recipe.delete(compare("id", "=", 2, "long"))
    recipe.keep("compact_log", version=False, start=1, end=4).append(pairs(50)).publish(case)


@COMPACTION.case("write-compaction-of-a-cut-log", "COMP-002 COMP-004")
def _compaction_cut(case: CaseWriter) -> None:
    """A log compaction needs the commits of its range, and none before them."""
    recipe = Recipe(PAIR).append(pairs(1)).append(pairs(2)).checkpoint().append(pairs(3))
    recipe.append(pairs(4)).given()

    def kept(builder: TableBuilder) -> list[str]:
        old_files(case)(builder)
        return [f"{LOG_DIRECTORY}/{commit_name(version)}" for version in (2, 3, 4)]

    recipe.keep("cleanup", version=False, kept=kept, gone=[])
    recipe.keep("compact_log", version=False, start=3, end=4).append(pairs(50)).publish(case)


@CLEANUP.case("write-cleanup", "CLEAN-012 CKPT-011", since="upstream")
def _cleanup(case: CaseWriter) -> None:
    """A cleanup keeps the commit of the checkpoint that it cuts at."""
    recipe = Recipe(PAIR)
    for number in range(5):
        recipe.append(pairs(number))
    recipe.checkpoint().append(pairs(9)).given()

    def kept(builder: TableBuilder) -> list[str]:
        old_files(case)(builder)
        return [f"{LOG_DIRECTORY}/{commit_name(version)}" for version in (5, 6)]

    recipe.keep("cleanup", version=False, kept=kept, gone=[]).publish(case)


@CLEANUP.case("write-cleanup-nothing", "CLEAN-013 CKPT-011")
def _cleanup_nothing(case: CaseWriter) -> None:
    """A cleanup deletes nothing of a log whose one checkpoint lacks a part."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).checkpoint("multi-part").append(pairs(3)).given()

    def kept(builder: TableBuilder) -> list[str]:
        log = case.delta / LOG_DIRECTORY
        for path in (log / "_last_checkpoint", *log.glob("*.0000000002.0000000002.parquet")):
            path.unlink()
        old_files(case)(builder)
        return [f"{LOG_DIRECTORY}/{commit_name(v)}" for v in range(builder.version + 1)]

    recipe.keep("cleanup", version=False, kept=kept, gone=[]).append(pairs(10)).publish(case)


@CLEANUP.case("write-cleanup-sidecars", "CLEAN-009")
def _cleanup_sidecars(case: CaseWriter) -> None:
    """A cleanup keeps the sidecars of the checkpoint that it cuts at."""
    recipe = Recipe(PAIR, (), {"delta.checkpointPolicy": "v2"}, ("v2Checkpoint",))
    for number in range(4):
        recipe.append(pairs(number))
    recipe.checkpoint("v2-parquet", 2).append(pairs(8)).checkpoint("v2-json", 2)
    recipe.append(pairs(9)).given()

    def kept(builder: TableBuilder) -> list[str]:
        old_files(case)(builder)
        log = case.delta / LOG_DIRECTORY
        newest = max(log.glob("*.checkpoint.*.json"))
        lines = [json.loads(line) for line in newest.read_text().splitlines()]
        sidecars = [line["sidecar"]["path"] for line in lines if "sidecar" in line]
        last = f"{LOG_DIRECTORY}/{commit_name(builder.version)}"
        return [last, *(f"{LOG_DIRECTORY}/_sidecars/{path}" for path in sidecars)]

    recipe.keep("cleanup", version=False, kept=kept, gone=[]).append(pairs(10)).publish(case)


@CLEANUP.case("write-cleanup-two-checkpoints", "CLEAN-009 CLEAN-012")
def _cleanup_two(case: CaseWriter) -> None:
    """A cleanup keeps the sidecars of every checkpoint that stays."""
    recipe = Recipe(PAIR, (), {"delta.checkpointPolicy": "v2"}, ("v2Checkpoint",))
    recipe.append(pairs(1)).append(pairs(2)).checkpoint("v2-parquet", 2).append(pairs(3))
    recipe.append(pairs(4)).checkpoint("v2-parquet", 2).append(pairs(5)).given()

    def kept(builder: TableBuilder) -> list[str]:
        old_files(case)(builder)
        log = case.delta / LOG_DIRECTORY
        for version in (3, 4, 5):  # of a time to come: the cutoff is before them
            case.file_time(f"{LOG_DIRECTORY}/{commit_name(version)}", _AHEAD + version)
        files = [*log.glob("*.parquet"), *log.glob("_sidecars/*")]
        stay = sorted(path.relative_to(case.delta).as_posix() for path in files)
        return [*(f"{LOG_DIRECTORY}/{commit_name(number)}" for number in (2, 3, 4, 5)), *stay]

    recipe.keep("cleanup", version=False, kept=kept, gone=[]).append(pairs(6)).publish(case)


@FEED.case("write-vacuum", "FA-008")
def _vacuum_changes(case: CaseWriter) -> None:
    """A vacuum keeps versions that are not old, changes and all."""
    recipe = Recipe(PAIR, (), {"delta.enableChangeDataFeed": "true"}).append(pairs(1, 2, 3))
    recipe.update({"name": "x"}, compare("id", "=", 2, "long"))
    recipe.delete(compare("id", "=", 3, "long"))
    recipe.keep("vacuum", version=False).append(pairs(4)).publish(case)
