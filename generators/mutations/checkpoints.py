"""Checkpoints that are damaged, incomplete or hold what they must not.

Serves "Checkpoints", "Checkpoint Specs", "Checkpoint Naming Scheme" and "Sidecar Files".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.builder import TableBuilder
from generators.mutations.bases import (
    CHECKPOINT_ONLY,
    CHECKPOINTED,
    COMPACTED,
    MULTI_PART,
    MULTI_PART_ONLY,
    SIDECARS,
    SIDECARS_ONLY,
)
from generators.mutations.edits import (
    delete,
    edit_bytes,
    log_path,
    only,
    rewrite_checkpoint,
    write_file,
)
from generators.mutations.mutation import Change, Chapter

_CHECKPOINTS: Final = Chapter("checkpoints")
_SIDECARS: Final = Chapter("sidecar-files", SIDECARS_ONLY)
_COMPACTIONS: Final = Chapter("log-compaction-files", COMPACTED)

_CLASSIC: Final = "*02.checkpoint.parquet"
_V2_TOP: Final = "*.checkpoint.*.json"

_FALL_BACK: Final = "the log is whole, so a reader can do without; refusing loses no row either"
_OPEN: Final = "the text binds the writer of the checkpoint and says nothing to its reader"


def _halved(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _without_kind(pattern: str, kind: str) -> Change:
    return rewrite_checkpoint(pattern, lambda rows: [row for row in rows if row[kind] is None])


def _without_one_add(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    last = max(place for place, row in enumerate(rows) if row["add"] is not None)
    return [row for place, row in enumerate(rows) if place != last]


def _without_column(root: Path, _builder: TableBuilder) -> None:
    path = only(root, _CLASSIC)
    pq.write_table(pq.read_table(path).drop_columns(["domainMetadata", "txn"]), path)


def _with_commit_info(root: Path, _builder: TableBuilder) -> None:
    path = only(root, _CLASSIC)
    table = pq.read_table(path)
    column = pa.array([{"operation": "WRITE"}] + [None] * (table.num_rows - 1))
    pq.write_table(table.append_column("commitInfo", column), path)


def _with_unknown_column(root: Path, _builder: TableBuilder) -> None:
    path = only(root, _CLASSIC)
    table = pq.read_table(path)
    pq.write_table(table.append_column("future", pa.array([7] * table.num_rows)), path)


def _swapped_columns(root: Path, _builder: TableBuilder) -> None:
    path = only(root, _CLASSIC)
    table = pq.read_table(path)
    pq.write_table(table.select(list(reversed(table.column_names))), path)


def _add_lines(pattern: str, *lines: dict[str, Any]) -> Change:
    text = "".join(json.dumps(each) + "\n" for each in lines).encode()
    return edit_bytes(pattern, lambda data: data + text)


def _top_without(kind: str) -> Change:
    def edit(data: bytes) -> bytes:
        lines = data.decode("utf-8").splitlines(keepends=True)
        return "".join(each for each in lines if kind not in json.loads(each)).encode("utf-8")

    return edit_bytes(_V2_TOP, edit)


def _embedded_beside_sidecars(root: Path, builder: TableBuilder) -> None:
    add = next(iter(builder.states[3].adds.values()))
    _add_lines(_V2_TOP, {"add": {**add, "dataChange": False}})(root, builder)


def _sidecars_named(spelled: Callable[[Path, str], str]) -> Change:
    """Respell the path of each sidecar, from the table root and its name."""

    def change(root: Path, _builder: TableBuilder) -> None:
        path = only(root, _V2_TOP)
        lines = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
        for each in lines:
            if "sidecar" in each:
                each["sidecar"]["path"] = spelled(root, each["sidecar"]["path"])
        path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")

    return change


_sidecar_elsewhere: Final = _sidecars_named(
    lambda root, name: (root.resolve() / "_delta_log/_sidecars" / name).as_uri()
)
_sidecar_outside: Final = _sidecars_named(lambda _root, name: f"../../nowhere/no-{name}")


def _rename(pattern: str, name: str) -> Change:
    def change(root: Path, _builder: TableBuilder) -> None:
        only(root, pattern).rename(log_path(root, name))

    return change


def _future_checkpoint(root: Path, _builder: TableBuilder) -> None:
    """Copy the checkpoint to a version that is not committed yet, as no writer may."""
    log_path(root, f"{9:020d}.checkpoint.parquet").write_bytes(only(root, _CLASSIC).read_bytes())


MUTATIONS: Final = (
    _CHECKPOINTS.refused(
        "checkpoint-cut-no-commits",
        "the only checkpoint is cut in half and the commits before it are gone",
        "SNAP-001 CKPT-005 CKPT-011",
        edit_bytes(_CLASSIC, _halved),
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.refused(
        "checkpoint-gone-no-commits",
        "the checkpoint is gone and the commits before it too",
        "SNAP-001 CKPT-011",
        delete(_CLASSIC),
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.refused(
        "checkpoint-empty-no-commits",
        "the only checkpoint has zero bytes and the commits before it are gone",
        "SNAP-001 CKPT-005 CKPT-011",
        edit_bytes(_CLASSIC, lambda _data: b""),
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.refused(
        "checkpoint-without-protocol",
        "the checkpoint has no protocol and the commits before it are gone",
        "CKC-002 REC-002",
        _without_kind(_CLASSIC, "protocol"),
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.refused(
        "checkpoint-without-metadata",
        "the checkpoint has no metaData and the commits before it are gone",
        "CKC-003 REC-003",
        _without_kind(_CLASSIC, "metaData"),
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.refused(
        "checkpoint-part-gone-no-commits",
        "one part of the only checkpoint is gone and so are the commits",
        "CKPT-030 CKPT-011",
        delete("*.0000000002.0000000002.parquet"),
        base=MULTI_PART_ONLY,
    ),
    _CHECKPOINTS.contested(
        "checkpoint-cut",
        "the checkpoint is cut in half, all commits are there",
        "CKPT-005 CKPT-009",
        edit_bytes(_CLASSIC, _halved),
        base=CHECKPOINTED,
        reason=_FALL_BACK,
    ),
    _CHECKPOINTS.contested(
        "checkpoint-omits-a-file",
        "the checkpoint lacks a live file, all commits are there",
        "CKC-004 CKPT-005",
        rewrite_checkpoint(_CLASSIC, _without_one_add),
        base=CHECKPOINTED,
        reason="a reader has to trust the checkpoint; only comparing it with the log tells",
        open=True,
    ),
    _CHECKPOINTS.contested(
        "checkpoint-metadata-missing",
        "a V2 checkpoint has no checkpointMetadata",
        "CKPT-V2-002 CKM-001",
        _top_without("checkpointMetadata"),
        base=SIDECARS,
        reason=_OPEN,
    ),
    _CHECKPOINTS.contested(
        "checkpoint-metadata-of-other-version",
        "checkpointMetadata names another version than the file",
        "CKM-003",
        edit_bytes(
            _V2_TOP,
            lambda data: data.replace(
                b'{"checkpointMetadata":{"version":3', b'{"checkpointMetadata":{"version":1'
            ),
        ),
        base=SIDECARS,
        reason=_OPEN,
    ),
    _CHECKPOINTS.contested(
        "checkpoint-metadata-twice",
        "a V2 checkpoint has two checkpointMetadata actions",
        "CKPT-V2-002",
        _add_lines(_V2_TOP, {"checkpointMetadata": {"version": 3, "tags": {}}}),
        base=SIDECARS,
        reason=_OPEN,
    ),
    _CHECKPOINTS.contested(
        "checkpoint-files-in-both-places",
        "a V2 checkpoint holds file actions itself and in sidecars",
        "CKPT-V2-004",
        _embedded_beside_sidecars,
        base=SIDECARS,
        reason=_OPEN,
        open=True,
    ),
    _CHECKPOINTS.contested(
        "checkpoint-of-the-future",
        "a checkpoint stands at a version that was never committed",
        "CKPT-031 CKPT-012",
        _future_checkpoint,
        base=CHECKPOINTED,
        reason="a reader may take the checkpoint as proof that the version was committed",
        open=True,
    ),
    _CHECKPOINTS.survived(
        "checkpoint-part-gone",
        "one part of a checkpoint is gone, all commits are there",
        "CKPT-030 CKPT-009",
        delete("*.0000000002.0000000002.parquet"),
        base=MULTI_PART,
        noticed_by="audit",
    ),
    _CHECKPOINTS.survived(
        "checkpoint-gone",
        "the checkpoint is gone, all commits are there",
        "CKPT-009 LAST-004 LASTS-002",
        delete(_CLASSIC),
        base=CHECKPOINTED,
        tolerated=("refused",),
        reason="the hint still names the checkpoint",
        noticed_by="audit",
    ),
    _CHECKPOINTS.survived(
        "checkpoint-without-optional-columns",
        "the checkpoint has no txn and domainMetadata columns",
        "CKC-011",
        _without_column,
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.survived(
        "checkpoint-with-commit-info",
        "the checkpoint has a commitInfo row",
        "CKC-012",
        _with_commit_info,
        base=CHECKPOINT_ONLY,
        noticed_by="audit",
        tolerated=("refused",),
        reason=_OPEN,
    ),
    _CHECKPOINTS.survived(
        "checkpoint-with-unknown-column",
        "the checkpoint has a column that no revision knows",
        "PROTO-008",
        _with_unknown_column,
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.survived(
        "checkpoint-columns-in-other-order",
        "the columns of the checkpoint stand in another order",
        "CKC-010",
        _swapped_columns,
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.survived(
        "checkpoint-rows-in-other-order",
        "the rows of the checkpoint stand in another order",
        "CKC-001",
        rewrite_checkpoint(_CLASSIC, lambda rows: list(reversed(rows))),
        base=CHECKPOINT_ONLY,
    ),
    _CHECKPOINTS.survived(
        "checkpoint-name-unpadded",
        "a file with an unpadded number is no checkpoint",
        "CKPT-019",
        write_file("_delta_log/2.checkpoint.parquet", b"PAR1PAR1"),
        base=CHECKPOINTED,
        noticed_by="audit",
    ),
    _CHECKPOINTS.survived(
        "checkpoint-unfinished-copy",
        "a temporary file of a checkpoint stands in the log",
        "CKPT-018",
        write_file(f"_delta_log/.{3:020d}.checkpoint.parquet.tmp", b"PAR1"),
        base=CHECKPOINTED,
    ),
    _SIDECARS.refused(
        "sidecar-gone",
        "a sidecar of the only checkpoint is gone",
        "SIDE-005 CKPT-V2-003",
        delete("_sidecars/*.parquet"),
        kind="not_found",
    ),
    _SIDECARS.refused(
        "sidecar-out-of-the-table",
        "the sidecars are named by paths that lead out of the table",
        "SIDE-004 SIDE-005",
        _sidecar_outside,
        base=SIDECARS_ONLY,
    ),
    _SIDECARS.refused(
        "sidecar-cut",
        "a sidecar of the only checkpoint is cut in half",
        "SIDE-001 SIDE-005",
        edit_bytes("_sidecars/*.parquet", _halved),
    ),
    _SIDECARS.survived(
        "sidecar-nobody-refers-to",
        "the directory of sidecars has one that no checkpoint names",
        "SIDE-005",
        write_file("_delta_log/_sidecars/stray.parquet", b"PAR1PAR1"),
    ),
    _SIDECARS.survived(
        "sidecar-path-is-absolute",
        "sidecars are named by absolute URIs",
        "SIDE-004 SIDE-005 SCA-003",
        _sidecar_elsewhere,
        noticed_by="audit",
        tolerated=("refused",),
        reason="implementations are encouraged, not bound, to store the bare name",
    ),
    _COMPACTIONS.survived(
        "compaction-garbage",
        "a log compaction is garbage, its commits are there",
        "COMP-011 COMP-012 COMP-005",
        edit_bytes("*.compacted.json", lambda _data: b"{garbage\n"),
        noticed_by="audit",
        tolerated=("refused",),
        reason=_FALL_BACK,
    ),
    _COMPACTIONS.survived(
        "compaction-beyond-the-log",
        "a log compaction reaches beyond the last commit",
        "COMP-012",
        _rename("*.compacted.json", f"{1:020d}.{9:020d}.compacted.json"),
        noticed_by="audit",
        tolerated=("refused",),
        reason="the commits of its range do not exist, so it cannot stand in for them",
    ),
    _COMPACTIONS.survived(
        "compaction-backwards",
        "a log compaction ends before it starts",
        "COMP-013",
        _rename("*.compacted.json", f"{3:020d}.{1:020d}.compacted.json"),
        noticed_by="audit",
        tolerated=("refused",),
        reason="the name gives no range of commits",
    ),
)
