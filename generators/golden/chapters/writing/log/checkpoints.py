"""Cases of writing: checkpoints of every kind hold what the log said until then."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from generators.golden.cases.case import CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.feed import FEED
from generators.golden.cases.filters import compare, is_in
from generators.golden.cases.recipes import PAIR, SAME_ID, UPSERT, Recipe, pairs
from generators.golden.chapters.files.deletion_vectors import WITH_VECTORS
from generators.golden.chapters.writing.given import described_files
from generators.golden.chapters.writing.starts import EVERY, KEYED, WITH_TRACKING, every, keyed
from generators.materialise.log.files import read_commit, write_commit
from generators.oracle.delta_schema import field, struct
from generators.oracle.operations import CheckpointKind

CHECKPOINTS: Final = Chapter("checkpoints", since="2025")

_KEPT: Final = {"delta.deletedFileRetentionDuration": "interval 7 days"}
"""How long removed files stay is the user's to say; a checkpoint has their tombstones as long."""


@CHECKPOINTS.case(
    "write-checkpoint",
    "CKPT-001 CKPT-005 CKPT-006 CKPT-007 CKPT-031 CKC-002 CKC-003 CKC-004 CKC-005 CKC-012",
    since="2021",
)
def _checkpoint(case: CaseWriter) -> None:
    """A checkpoint holds the state and no more."""
    recipe = Recipe(KEYED, ("part",), _KEPT).append(
        [{"id": 1, "part": "a"}, {"id": 2, "part": None}]
    )
    recipe.append([{"id": 3, "part": "b/c"}]).delete(compare("id", "=", 1, "long")).checkpoint()
    recipe.append([{"id": 4, "part": "a"}]).publish(case)


@CHECKPOINTS.case("write-checkpoint-empty", "CKPT-001 CKPT-005 CKC-002 CKC-003", since="2021")
def _checkpoint_empty(case: CaseWriter) -> None:
    """A table without files is checkpointed."""
    Recipe(PAIR).checkpoint().append(pairs(1)).publish(case)


@CHECKPOINTS.case("write-checkpoint-uncounted", "CKPT-005 CKC-004")
def _checkpoint_uncounted(case: CaseWriter) -> None:
    """Live files without statistics are in a checkpoint too."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given().append(pairs(4))
    recipe.checkpoint().delete(compare("id", "=", 4, "long")).checkpoint().append(pairs(5))
    recipe.publish(case)
    lines = read_commit(case.delta, 1)
    for line in lines:
        line.get("add", {}).pop("stats", None)
    write_commit(case.delta, 1, lines)


@CHECKPOINTS.case("write-checkpoint-nested", "CKPT-005 CKC-004 CKC-018", since="2021")
def _checkpoint_types(case: CaseWriter) -> None:
    """Statistics of every type survive a checkpoint."""
    recipe = Recipe(EVERY).append([every(number) for number in range(3)]).checkpoint()
    recipe.delete(compare("id", "=", 1, "long")).checkpoint().publish(case)


@CHECKPOINTS.case(
    "write-checkpoint-given",
    "CKPT-001 CKPT-005 CKPT-006 CKPT-007 CKC-002 CKC-003 CKC-004 CKC-005 CKC-012",
    since="2021",
)
def _checkpoint_given(case: CaseWriter) -> None:
    """Another writer's log is checkpointed."""
    recipe = Recipe(KEYED, ("part",)).append([{"id": 1, "part": "a"}, {"id": 2, "part": None}])
    recipe.delete(compare("id", "=", 1, "long")).set_transaction("app", 3).given()
    recipe.checkpoint().publish(case)


_V2: Final = ("v2Checkpoint", "domainMetadata")


def _everything(recipe: Recipe) -> Recipe:
    """Give a table something of every action that a checkpoint keeps."""
    recipe.append(keyed(1, 2, 3)).append(keyed(4)).delete(compare("id", "=", 2, "long"))
    return recipe.set_transaction("app", 3).set_transaction("other", 1)


def _checkpointed(kind: CheckpointKind, sidecars: int, case: CaseWriter) -> None:
    recipe = _everything(Recipe(KEYED, ("part",), _KEPT, _V2))
    recipe.append([{"id": 6, "part": None}])
    recipe.set_domain("mine", '{"a":1}').set_domain("gone", "x").set_domain("gone", None)
    recipe.checkpoint(kind, sidecars).append(keyed(5)).delete(compare("id", "=", 4, "long"))
    recipe.checkpoint(kind, sidecars).publish(case, needs=("checkpoint.kind",))


_KINDS: Final[Mapping[str, tuple[CheckpointKind, int, str]]] = {
    "json": ("v2-json", 0, "A V2 checkpoint in JSON has the files in itself"),
    "json-sidecars": ("v2-json", 2, "A V2 checkpoint in JSON has its files in sidecars"),
    "parquet": ("v2-parquet", 0, "A V2 checkpoint in Parquet has the files in itself"),
    "parquet-sidecars": ("v2-parquet", 2, "A V2 checkpoint in Parquet has its files in sidecars"),
}

_OF_V2: Final = (
    "CKPT-013 CKPT-014 CKPT-015 CKPT-V2-001 CKPT-V2-002 CKC-002 CKC-003 CKC-004 CKC-005 CKC-006 "
    "CKC-007 CKC-008 CKC-012 CKC-014 CKC-024 CKC-025 CKSCH-008 CKSCH-009"
)

_OF_SIDECARS: Final = "CKPT-V2-003 CKPT-V2-004 SIDE-001 SIDE-002 SIDE-003 SIDE-004"


@CHECKPOINTS.case("write-restored", "CKPT-005 CKPT-006 CKC-004 REC-006")
def _restored(case: CaseWriter) -> None:
    """A file that comes again is no tombstone of the checkpoint any more."""
    recipe = Recipe(KEYED, ("part",)).append(keyed(1, 2)).append(keyed(3))
    recipe.delete(compare("id", "=", 3, "long")).restore(2).checkpoint()
    recipe.append(keyed(4)).publish(case)


for _name, (_kind, _sidecars, _title) in _KINDS.items():
    CHECKPOINTS.define(
        f"write-v2-{_name}",
        _title,
        f"{_OF_V2} {_OF_SIDECARS}" if _sidecars else _OF_V2,
        partial(_checkpointed, _kind, _sidecars),
    )


@CHECKPOINTS.case(
    "write-v2-classic",
    f"CKPT-N-011 CKPT-018 CKPT-020 CKPT-V2-001 CKPT-V2-002 CKPT-005 CKC-008 {_OF_SIDECARS}",
)
def _for_old_clients(case: CaseWriter) -> None:
    """A V2 checkpoint with a classic name has what the one by UUID has."""
    recipe = _everything(Recipe(KEYED, ("part",), _KEPT, _V2)).set_domain("mine", '{"a":1}')
    recipe.set_domain("gone", "x").set_domain("gone", None)
    recipe.checkpoint("v2-json").checkpoint("v2-classic").append(keyed(5))
    recipe.delete(compare("id", "=", 4, "long")).checkpoint("v2-classic", 2)
    recipe.checkpoint("v2-parquet", 2).append(keyed(6))
    recipe.publish(case, needs=("checkpoint.kind",))


@CHECKPOINTS.case(
    "write-v2-policy",
    "CKPT-005 CKPT-V2-001 CKC-002 CKC-003 CKC-004 CKC-005 CKC-006 CKC-007 CKC-009 CKSCH-009",
)
def _policy(case: CaseWriter) -> None:
    """A table asks for V2 checkpoints, and a checkpoint keeps every action."""
    recipe = _everything(Recipe.active(KEYED, *_V2, partition_columns=("part",), properties=_KEPT))
    recipe.set_domain("mine", '{"a":1}').checkpoint().append(keyed(5)).checkpoint().publish(case)


@CHECKPOINTS.case("write-v2-many-partition-columns", "CKPT-005 CKPT-V2-001 SUM-001 SUM-008")
def _many(case: CaseWriter) -> None:
    """A hint sums a list of more than ten texts by the order of their paths."""
    names = [f"p{number}" for number in range(11)]
    schema = struct(field("id", "long"), *(field(name, "string") for name in names))
    recipe = Recipe.active(schema, "v2Checkpoint", partition_columns=tuple(names))
    rows = [{"id": number, **dict.fromkeys(names, "a")} for number in (1, 2)]
    recipe.append(rows[:1]).checkpoint().append(rows[1:]).publish(case)


@CHECKPOINTS.case(
    "write-everything",
    "CKPT-005 CKC-002 CKC-004 CKC-005 CKC-006 CKC-007 CKC-014 CKC-024 CKC-025 RT-031 "
    "CKPT-V1-001 CKPT-V1-002 CKSCH-008 CKSCH-009",
)
def _all_actions(case: CaseWriter) -> None:
    """A checkpoint keeps vectors, row ids, domains and transactions."""
    recipe = _everything(
        Recipe.active(
            KEYED,
            "deletionVectors",
            "rowTracking",
            "domainMetadata",
            "changeDataFeed",
            partition_columns=("part",),
            properties=_KEPT,
        )
    )
    recipe.update({"id": 30}, compare("id", "=", 3, "long")).set_domain("unknown.to.all", "{}")
    recipe.checkpoint().append(keyed(5)).publish(case)


def _in_parts(features: tuple[str, ...], case: CaseWriter) -> None:
    recipe = Recipe.active(KEYED, *features, properties=_KEPT)
    for number in range(0, 12, 2):
        recipe.append(keyed(number, number + 1))
    recipe.delete(is_in("id", [1, 4, 6, 7], "long")).set_transaction("app", 1)
    # A second attempt writes the same parts.
    recipe.checkpoint("multi-part", parts=3).checkpoint("multi-part", parts=3)
    recipe.append(keyed(20)).checkpoint("multi-part", parts=2)
    recipe.publish(case, needs=("checkpoint.kind",))


_IN_PARTS: Final[tuple[tuple[str, str, tuple[str, ...], str], ...]] = (
    ("", "Parts of a checkpoint have the files by their paths", (), "CKPT-N-005"),
    ("-vectors", "Parts of a checkpoint have the files by paths and vectors",
     ("deletionVectors",), "CKPT-N-004"),
)  # fmt: skip
"""End of the name, title, features, requirement."""

for _slug, _title, _listed, _more in _IN_PARTS:
    CHECKPOINTS.define(
        f"write-multi-part{_slug}",
        _title,
        f"CKPT-021 CKPT-022 CKPT-023 CKPT-024 CKPT-N-003 {_more} CKPT-N-007 CKC-002 CKC-003 "
        "CKC-004 CKC-012 CKPT-V1-001 CKPT-V1-002",
        partial(_in_parts, _listed),
    )


@CHECKPOINTS.case("write-multi-part-beside-v2", "CKPT-N-009 CKPT-026")
def _no_parts(case: CaseWriter) -> None:
    """A table that supports V2 checkpoints gets none in several parts."""
    recipe = Recipe(PAIR, (), {}, _V2).append(pairs(1)).append(pairs(2))
    recipe.checkpoint("multi-part", parts=2)
    refusal = Refusal("constraint", "commit", "CKPT-N-009")
    recipe.publish(case, refusal=refusal, needs=("checkpoint.kind",))


_AGES: Final = {"delta.deletedFileRetentionDuration": "interval 100000 days"}


@CHECKPOINTS.case("write-changes-after", "CKPT-005 REM-007 REM-014 RT-030 CDC-012 DVD-018")
def _changes_after(case: CaseWriter) -> None:
    """Changes of files of a checkpoint keep what it says of them."""
    schema = struct(id="long", part="string", name="string")
    features = ("changeDataFeed", "rowTracking", "domainMetadata", "deletionVectors")
    recipe = Recipe.active(schema, *features, "columnMapping", partition_columns=("part",))
    for start in (0, 10):
        rows = [{"id": start + n, "part": "ab"[n % 2], "name": f"n{n}"} for n in range(6)]
        recipe.append(rows).delete(compare("id", "=", start + 1, "long")).checkpoint()
    recipe.delete(is_in("id", [0, 3], "long")).update({"name": "x"}, compare("id", "=", 2, "long"))
    source = [{"id": 4, "part": "b", "name": "m"}, {"id": 99, "part": "c", "name": None}]
    recipe.merge(source, SAME_ID, *UPSERT).checkpoint().run("optimize")
    recipe.delete(compare("part", "=", "a", "string")).checkpoint().publish(case)


@CHECKPOINTS.case("write-long-retention", "CKC-005 CKPT-007")
def _long_retention(case: CaseWriter) -> None:
    """A checkpoint keeps tombstones for as long as the table promises."""
    recipe = Recipe(PAIR, (), _AGES).append(pairs(1, 2)).append(pairs(3))
    recipe.delete(is_in("id", [1, 2], "long")).given()
    recipe.append(pairs(4)).run("optimize").checkpoint().append(pairs(5)).publish(case)


@CHECKPOINTS.case("write-replaced-vectors", "CKC-005 CKC-018 CKPT-007")
def _replaced_vectors(case: CaseWriter) -> None:
    """A checkpoint has tombstones of vectors that a live file had."""
    recipe = Recipe.active(PAIR, "deletionVectors", properties=_KEPT).append(pairs(*range(6)))
    recipe.delete(compare("id", "=", 1, "long")).delete(compare("id", "=", 2, "long"))
    recipe.checkpoint().append(pairs(9)).publish(case)


@CHECKPOINTS.case("write-lower-progress", "CKC-006")
def _lower_progress(case: CaseWriter) -> None:
    """A checkpoint has the newest progress of an application, if lower."""
    recipe = Recipe(PAIR).append(pairs(1)).set_transaction("app", 7).set_transaction("app", 3)
    recipe.given().append(pairs(2)).checkpoint().append(pairs(3)).publish(case)


def _changes(kind: CheckpointKind, sidecars: int, case: CaseWriter) -> None:
    features = ("v2Checkpoint", "changeDataFeed") if kind != "multi-part" else ("changeDataFeed",)
    recipe = Recipe(KEYED, ("part",), FEED, features).append(keyed(1, 2, 3))
    parts = 2 if kind == "multi-part" else 0
    recipe.update({"id": 30}, compare("id", "=", 3, "long")).checkpoint(kind, sidecars, parts)
    recipe.delete(compare("id", "=", 1, "long")).checkpoint(kind, sidecars, parts)
    recipe.append(keyed(5)).publish(case, needs=("checkpoint.kind",))


for _name, (_kind, _sidecars, _title) in {**_KINDS, "parts": ("multi-part", 0, "")}.items():
    CHECKPOINTS.define(
        f"write-changes-{_name}",
        "A checkpoint of a version that records changes has no change files",
        "CKC-014 CKC-004 CKPT-005",
        partial(_changes, _kind, _sidecars),
    )


@CHECKPOINTS.case("write-checkpoint-named", "CKPT-005 CKC-003 CKC-004", since="2021")
def _checkpointed_given(case: CaseWriter) -> None:
    """A checkpoint repeats what another writer said of table and files."""
    recipe = Recipe(PAIR).append(pairs(1, 2)).append(pairs(3)).given()
    recipe.checkpoint().append(pairs(4)).checkpoint().publish(case)
    described_files(case)


@CHECKPOINTS.case("write-checkpoint-described-removes", "CKC-024 CKC-025 CKC-005")
def _described_removes(case: CaseWriter) -> None:
    """Statistics and tags of removes in commits are in no checkpoint."""
    recipe = Recipe(PAIR, (), _AGES).append(pairs(1, 2)).append(pairs(3))
    recipe.delete(compare("id", "=", 3, "long")).given()
    recipe.append(pairs(4)).checkpoint().publish(case)
    lines = read_commit(case.delta, 3)
    for body in (line["remove"] for line in lines if "remove" in line):
        body |= {"stats": '{"numRecords":1}', "tags": {"team": "a"}}
    write_commit(case.delta, 3, lines)


@CHECKPOINTS.case(
    "write-v2-json-vectors", "CKC-004 CKPT-V2-001 CKPT-V2-003 SIDE-002 RT-031", since="2021"
)
def _json_vectors(case: CaseWriter) -> None:
    """A V2 checkpoint in JSON has the vectors and the row ids of its files."""
    features = ("deletionVectors", "v2Checkpoint", "rowTracking", "domainMetadata")
    recipe = Recipe(PAIR, (), {**WITH_VECTORS, **WITH_TRACKING}, features).append(pairs(*range(8)))
    recipe.append(pairs(20, 21))
    recipe.delete(is_in("id", [1, 3, 20], "long")).checkpoint("v2-json").append(pairs(30))
    recipe.delete(is_in("id", [5, 21], "long")).checkpoint("v2-json", 2)
    recipe.append(pairs(31)).publish(case, needs=("checkpoint.kind",))


@CHECKPOINTS.case("write-v2-json-structs", "CKC-004 CKPT-V2-001 CKPT-V2-003", since="2021")
def _json_structs(case: CaseWriter) -> None:
    """A V2 checkpoint in JSON has the files of a table with parsed columns."""
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"}
    recipe = Recipe(struct(id="long", part="string"), ("part",), properties, ("v2Checkpoint",))
    recipe.append([{"id": n, "part": "ab"[n % 2]} for n in range(4)]).checkpoint("v2-json", 1)
    recipe.append([{"id": 9, "part": None}]).delete(compare("id", "=", 2, "long"))
    recipe.checkpoint("v2-json", 2).append([{"id": 10, "part": "a"}])
    recipe.publish(case, needs=("checkpoint.kind",))


def _behind_a_cut(kind: CheckpointKind | None, sidecars: int, parts: int, case: CaseWriter) -> None:
    features = ("domainMetadata", "deletionVectors", *(("v2Checkpoint",) if sidecars else ()))
    recipe = _everything(Recipe(KEYED, ("part",), {**_KEPT, **WITH_VECTORS}, features))
    recipe.set_domain("mine", '{"a":1}').set_domain("gone", "x").checkpoint().given(cut=True)
    recipe.append(keyed(5, 7, 8)).set_domain("gone", None).delete(compare("id", "=", 3, "long"))
    recipe.delete(compare("id", "=", 7, "long")).delete(compare("id", "=", 5, "long"))
    recipe.set_properties({"team": "tables"}).run("enable_feature", feature="appendOnly")
    recipe.set_transaction("app", 4).checkpoint(kind, sidecars, parts).append(keyed(6))
    recipe.publish(case, needs=() if kind is None else ("checkpoint.kind",))


_CUT: Final[tuple[tuple[str, str, CheckpointKind | None, int, int], ...]] = (
    ("classic", "A checkpoint of a cut log has what the one before it had", None, 0, 0),
    ("sidecars", "Sidecars of a cut log have what the checkpoint had", "v2-json", 2, 0),
    ("parts", "Parts of a cut log have what the checkpoint had", "multi-part", 0, 2),
)

for _name, _title, _kind_of_cut, _sidecars, _parts in _CUT:
    CHECKPOINTS.define(
        f"write-behind-a-cut-{_name}",
        _title,
        "CKPT-005 CKPT-006 CKPT-007 CKC-002 CKC-003 CKC-004 CKC-005 CKC-006 CKC-007 CKC-008",
        partial(_behind_a_cut, _kind_of_cut, _sidecars, _parts),
    )
