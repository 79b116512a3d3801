"""Cases of V2 checkpoints: every naming, format and spread of file actions."""

from __future__ import annotations

from functools import partial
from typing import Any

from generators.golden.cases.case import Accepted, CaseWriter, Refusal
from generators.golden.cases.catalog import Chapter
from generators.golden.cases.filters import compare
from generators.golden.cases.publish import describe, filtered, publish, publish_cut
from generators.golden.cases.recipes import PAIR
from generators.golden.cases.table import EPOCH, GoldenTable, add, domain, feature_protocol, remove
from generators.golden.chapters.files.deletion_vectors import store
from generators.golden.chapters.log.checkpoints import grown
from generators.golden.chapters.log.reconciliation import domain_spec, txn_spec
from generators.materialise.log.checkpoints import CheckpointStyle, Written, write_v2
from generators.materialise.log.files import (
    LOG_DIRECTORY,
    SIDECAR_DIRECTORY,
    drop_commits,
    json_text,
)
from generators.materialise.log.hints import write_last_checkpoint

V2 = Chapter("v2-checkpoint-feature", since="2025")
SIDECARS = Chapter("sidecar-files", since="2025")

V2_PROTOCOL = feature_protocol(["v2Checkpoint"], ["domainMetadata"])


def _table(case: CaseWriter, commits: int, **options: Any) -> GoldenTable:
    options = {"protocol": V2_PROTOCOL, "properties": {"delta.checkpointPolicy": "v2"}, **options}
    return grown(case, commits, **options)


def _write(
    table: GoldenTable,
    version: int,
    *,
    extension: str = "parquet",
    sidecars: int = 0,
    classic: bool = False,
    **style: Any,
) -> Written:
    return write_v2(
        table.root,
        version,
        table.states[version],
        identity=None if classic else table.unique_name("checkpoint"),
        extension=extension,
        sidecars=[f"{table.unique_name('sidecar')}.parquet" for _ in range(sidecars)],
        modified=EPOCH,
        style=CheckpointStyle(**style),
    )


def _shape(case: CaseWriter, *, hint: bool, **options: Any) -> None:
    table = _table(case, 9)
    table.commit(domain("app.d", "kept"))
    written = _write(table, 9, **options)
    if "sidecars" in options:
        case.judged["filter"] = "SCA-004"
    if hint:
        write_last_checkpoint(table.root, written)
    table.append([{"id": 99, "name": "after"}])
    drop_commits(table.root, 9)
    publish(
        case,
        table,
        versions=[9, 10],
        log_info={"lastCheckpointVersion": 9, "numCheckpointFiles": len(written.files)},
    )
    filtered(case, table, "filter", compare("id", ">", 5, "long"), "A filter loses no sidecar")
    domain_spec(case, "app.d", "kept", title="The domain is in the top level")
    txn_spec(case, "grower", 8, title="The transaction is in the top level")


_SHAPES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "parquet-embedded": ("A Parquet V2 checkpoint holds the files itself", "CKPT-013 CKPT-017", {}),
    "parquet-one-sidecar": (
        "A Parquet V2 checkpoint refers to one sidecar",
        "CKPT-017 SIDE-004 SIDE-005",
        {"sidecars": 1},
    ),
    "parquet-three-sidecars": (
        "A Parquet V2 checkpoint refers to several sidecars",
        "CKPT-017 SIDE-003 SIDE-005",
        {"sidecars": 3},
    ),
    "json-embedded": (
        "A JSON V2 checkpoint holds the files itself",
        "CKPT-016 CKPT-V2-005",
        {"extension": "json"},
    ),
    "json-sidecars": (
        "A JSON V2 checkpoint refers to sidecars",
        "CKPT-016 CKPT-V2-003 SIDE-005 SCA-005 SCA-006 CKM-002 CKM-003",
        {"extension": "json", "sidecars": 2},
    ),
    "classic-name-embedded": (
        "A V2 checkpoint may have the classic name",
        "CKPT-020 CKPT-N-013",
        {"classic": True},
    ),
    "classic-name-sidecars": (
        "A V2 checkpoint of the classic name may have sidecars",
        "CKPT-020 SIDE-005",
        {"classic": True, "sidecars": 2},
    ),
    "parquet-struct-statistics": (
        "Sidecars may carry parsed statistics only",
        "CKC-021 CKC-020 SIDE-005",
        {"sidecars": 2, "stats_json": False, "stats_parsed": True},
    ),
}


def _of_hint(*, hint: bool, sidecars: bool) -> str:
    if hint:
        return " LAST-002"
    # Without sidecars no row of a checkpoint's kind binds readers: that of the hint would be judged
    # alone, and be named wrongly where a reader does not read such a checkpoint.
    return " LAST-004" if sidecars else ""


for _name, (_title, _requirements, _options) in _SHAPES.items():
    for _suffix, _hint in (("", False), ("-hint", True)):
        if _hint and "sidecars" not in _options:
            continue
        V2.define(
            _name + _suffix,
            _title + (" (hint)" if _hint else ""),
            _requirements
            + (" SCA-004" if "sidecars" in _options else "")
            + " V2F-001"
            + _of_hint(hint=_hint, sidecars="sidecars" in _options),
            partial(_shape, hint=_hint, **_options),
        )


@V2.case("classic-v1-allowed", "CKPT-027 CKPT-020")
def _v1(case: CaseWriter) -> None:
    """A V1 checkpoint is allowed under the feature."""
    table = _table(case, 6)
    table.checkpoint(version=4)
    publish_cut(case, table, 4)


@V2.case("several-at-one-version", "CKPT-029")
def _several(case: CaseWriter) -> None:
    """Several V2 checkpoints of one version agree."""
    table = _table(case, 7)
    for extension, sidecars in (("parquet", 0), ("json", 2), ("parquet", 2)):
        _write(table, 5, extension=extension, sidecars=sidecars)
    table.checkpoint(version=5, hint=False)
    publish_cut(case, table, 5)


@V2.case("older-v2-newer-v1", "CKPT-003 CKPT-004")
def _both_specs(case: CaseWriter) -> None:
    """Checkpoints of both specs in one log are used."""
    table = _table(case, 9)
    _write(table, 3, sidecars=2)
    table.checkpoint(version=6, hint=False)
    publish_cut(case, table, 3, checkpoint=6)


@V2.case("newer-than-asked", "CKPT-004")
def _newer(case: CaseWriter) -> None:
    """Time travel does not start from a newer V2 checkpoint."""
    table = _table(case, 6)
    write_last_checkpoint(table.root, _write(table, 5, sidecars=2))
    publish(case, table, versions=[3, 4], log_info={"lastCheckpointVersion": 5})


def _vectors(case: CaseWriter, **style: Any) -> None:
    table = GoldenTable.of(
        case,
        PAIR,
        protocol=feature_protocol(["deletionVectors", "v2Checkpoint"]),
        properties={"delta.enableDeletionVectors": "true", "delta.checkpointPolicy": "v2"},
    )
    files = [table.file([{"id": 10 * n + i, "name": "x"} for i in range(4)]) for n in range(4)]
    table.create(*(add(file) for file in files))
    vectors = store(table, [0, 1], [3])
    table.commit(
        remove(files[0]),
        add(files[0], deletionVector=vectors[0]),
        remove(files[1]),
        add(files[1], deletionVector=vectors[1]),
        remove(files[2]),
    )
    _write(table, 1, **style)
    table.append([{"id": 99, "name": "after"}])
    publish_cut(case, table, 1)


for _name, _title, _style in (
    ("with-vectors", "Sidecars carry deletion vectors and tombstones", {"sidecars": 2}),
    ("json-with-vectors", "A checkpoint in JSON carries them as well", {"extension": "json"}),
):
    V2.define(_name, _title, "DVDESC-020 CKPT-V2-003 CKC-004 CKC-005", partial(_vectors, **_style))


@SIDECARS.case("unreferenced-ignored", "SIDE-005 CLEAN-011")
def _unreferenced(case: CaseWriter) -> None:
    """A sidecar that nothing refers to does not count."""
    table = _table(case, 7)
    stray = table.states[5].copy()
    stray.apply([add(table.file([{"id": 77, "name": "stray"}]))])
    written = write_v2(
        table.root,
        5,
        stray,
        identity=table.unique_name("stray"),
        sidecars=["stray.parquet"],
        modified=EPOCH,
    )
    written.files[0].unlink()
    _write(table, 5, sidecars=2)
    publish_cut(case, table, 5)


@SIDECARS.case("missing", "SIDE-005")
def _missing(case: CaseWriter) -> None:
    """A sidecar that is not there fails the read of a cut log."""
    table = _table(case, 7)
    written = _write(table, 5, sidecars=2)
    drop_commits(table.root, 6)
    describe(case, table, log_info={"lastCheckpointVersion": 5})
    written.files[1].unlink()
    refusal = Refusal("not_found", "read", "SIDE-005")
    case.refuse("read", "read-latest", refusal, title="The live files cannot be told")


@SIDECARS.case("corrupt", "SIDE-001 SIDE-005")
def _corrupt(case: CaseWriter) -> None:
    """A sidecar that is no Parquet fails the read of a cut log."""
    table = _table(case, 7)
    written = _write(table, 5, sidecars=2)
    drop_commits(table.root, 6)
    describe(case, table, log_info={"lastCheckpointVersion": 5})
    written.files[2].write_bytes(b"no parquet")
    refusal = Refusal("invalid_table", "read", "SIDE-005")
    case.refuse("read", "read-latest", refusal, title="The live files cannot be told")


@SIDECARS.case("name-encoded", "SCA-002 SCA-004")
def _encoded(case: CaseWriter) -> None:
    """A sidecar's path is decoded once, like any path."""
    table = _table(case, 7)
    written = write_v2(
        table.root,
        5,
        table.states[5],
        identity=table.unique_name("checkpoint"),
        extension="json",
        sidecars=["50%2525+side%20car.parquet"],
        modified=EPOCH,
    )
    top, sidecar = written.files
    sidecar.rename(table.root / SIDECAR_DIRECTORY / "50%25+side car.parquet")
    if "50%2525+side%20car" not in top.read_text(encoding="utf-8"):
        raise ValueError("the sidecar action lost its path")
    publish_cut(case, table, 5)


@V2.case("uuid-name-malformed", "CKPT-013 CKPT-014")
def _malformed_name(case: CaseWriter) -> None:
    """A name without a UUID is passed over, or taken."""
    table = _table(case, 6)
    written = _write(table, 5, extension="json")
    log = table.root / LOG_DIRECTORY
    text = written.files[0].read_text(encoding="utf-8")
    written.files[0].unlink()
    row = {"id": 99, "name": "stray"}
    stray = json_text(add(table.file([row])))
    for name in (f"{5:020d}.checkpoint..json", "5.checkpoint.x.json"):
        (log / name).write_text(text + stray + "\n", encoding="utf-8")
    describe(case, table)
    refusal = Refusal("invalid_table", "load", "CKPT-013")
    case.contest_read(
        "The files are passed over, or one is taken for a checkpoint",
        PAIR,
        Accepted("passed-over", "the name is not that of a checkpoint", rows=table.rows()),
        Accepted("taken", "Spark: whatever stands in place of the UUID", rows=[*table.rows(), row]),
        Accepted("refused", "the name breaks its clause", refusal=refusal),
    )


def _edited(case: CaseWriter, edit: Any) -> GoldenTable:
    """Return a cut table with a JSON V2 checkpoint whose lines were edited."""
    table = _table(case, 7)
    written = _write(table, 5, extension="json", sidecars=1)
    lines = written.files[0].read_text(encoding="utf-8").splitlines()
    written.files[0].write_text("\n".join(edit(table, lines)) + "\n", encoding="utf-8")
    drop_commits(table.root, 5)
    return table


@V2.case("split-file-actions", "CKPT-V2-004")
def _split(case: CaseWriter) -> None:
    """File actions in both places are contested."""
    extra: list[Any] = []

    def edit(table: GoldenTable, lines: list[str]) -> list[str]:
        extra.append(table.file([{"id": 77, "name": "split"}]))
        return [*lines, json_text(add(extra[0], dataChange=False))]

    table = _edited(case, edit)
    describe(case, table, log_info={"lastCheckpointVersion": 5})
    rows = table.rows()
    refusal = Refusal("invalid_table", "read", "CKPT-V2-004")
    case.contest_read(
        "The checkpoint is refused, or read one way or the other",
        PAIR,
        Accepted("refused", "file actions are never split", refusal=refusal),
        Accepted("union", "readers take both places", rows=[*rows, *extra[0].rows]),
        Accepted("sidecars", "with sidecars the top level has no files", rows=rows),
    )


@V2.case("without-checkpoint-metadata", "CKPT-V2-002 CKPT-015")
def _no_checkpoint_metadata(case: CaseWriter) -> None:
    """A V2 checkpoint without checkpointMetadata."""
    table = _edited(
        case, lambda _, lines: [each for each in lines if "checkpointMetadata" not in each]
    )
    describe(case, table, log_info={"lastCheckpointVersion": 5})
    refusal = Refusal("invalid_table", "read", "CKPT-V2-002")
    case.contest_read(
        "The checkpoint is refused or read all the same",
        PAIR,
        Accepted("refused", "a V2 checkpoint has exactly one", refusal=refusal),
        Accepted("read", "readers do not need its content", rows=table.rows()),
    )


@V2.case("tags-ignored", "CKM-004 CKM-009 SCA-007")
def _tags(case: CaseWriter) -> None:
    """Tags of checkpoint and sidecars do not matter."""
    tags = {"sidecarNumActions": "0", "numOfAddFiles": "many", "future": "x"}

    def edit(_: GoldenTable, lines: list[str]) -> list[str]:
        return [each.replace('"tags":{}', f'"tags":{json_text(tags)}') for each in lines]

    publish(case, _edited(case, edit), versions=[5, 6], log_info={"lastCheckpointVersion": 5})


@V2.case("v2-under-plain-protocol", "CKPT-V2-001")
def _unlisted(case: CaseWriter) -> None:
    """A V2 checkpoint of a table that lacks the feature."""
    table = grown(case, 7)
    _write(table, 5, extension="json", sidecars=1)
    describe(case, table, log_info={"lastCheckpointVersion": 5})
    refusal = Refusal("invalid_table", "load", "CKPT-V2-001")
    case.contest_read(
        "The log is read, or the checkpoint is reported",
        PAIR,
        Accepted("read", "the commits or the checkpoint give the rows", rows=table.rows()),
        Accepted("refused", "the V2 spec needs the feature", refusal=refusal),
    )
