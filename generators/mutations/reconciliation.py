"""Commits whose actions contradict or repeat one another.

Serves "Action Reconciliation", "Add File and Remove File" and "Requirements for Writers".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from generators.materialise.builder import TableBuilder
from generators.materialise.data.deletion_vectors import inline_descriptor
from generators.materialise.log.files import write_commit
from generators.mutations.bases import VECTORS
from generators.mutations.edits import add_line, add_lines, commit_path
from generators.mutations.mutation import Change, Chapter

_CHAPTER: Final = Chapter("action-reconciliation")

_OPEN: Final = "the text binds the writer of the commit and says nothing to its reader"


def _repeat(version: int, kind: str, target: int | None = None, **fields: Any) -> Change:
    """Copy the first action of a kind, with other fields, to the end of a commit."""

    def change(root: Path, _builder: TableBuilder) -> None:
        lines = commit_path(root, version).read_text(encoding="utf-8").splitlines()
        body = next(json.loads(each)[kind] for each in lines if kind in json.loads(each))
        path = commit_path(root, version if target is None else target)
        line = json.dumps({kind: {**body, **fields}})
        path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")

    return change


def _remove_of_own_add(root: Path, _builder: TableBuilder) -> None:
    path = commit_path(root, 2)
    text = path.read_text(encoding="utf-8")
    body = next(json.loads(each)["add"] for each in text.splitlines() if '"add"' in each[:6])
    line = {"remove": {"path": body["path"], "deletionTimestamp": 0, "dataChange": True}}
    path.write_text(text + json.dumps(line) + "\n", encoding="utf-8")


def _first_removed(builder: TableBuilder) -> dict[str, Any]:
    return dict(next(iter(builder.states[-1].removes.values())))


def _live_with_other_vector(builder: TableBuilder) -> dict[str, Any]:
    live = next(iter(builder.files.values()))
    vector = inline_descriptor([0])
    return {"path": live.path, "deletionTimestamp": 0, "dataChange": True, "deletionVector": vector}


def _next_commit(body: Callable[[TableBuilder], dict[str, Any]]) -> Change:
    """Commit a remove action as one more version."""

    def change(root: Path, builder: TableBuilder) -> None:
        write_commit(root, builder.version + 1, [{"remove": body(builder)}])

    return change


def _second_vector(root: Path, _builder: TableBuilder) -> None:
    path = commit_path(root, 3)
    text = path.read_text(encoding="utf-8")
    body = next(json.loads(each)["add"] for each in text.splitlines() if '"add"' in each[:6])
    del body["deletionVector"]
    path.write_text(text + json.dumps({"add": body}) + "\n", encoding="utf-8")


MUTATIONS: Final = (
    _CHAPTER.contested(
        "reconcile-same-add-twice",
        "a commit adds one logical file twice",
        "FA-011 WLOG-001 REC-006",
        _repeat(2, "add"),
        reason=_OPEN,
    ),
    _CHAPTER.contested(
        "reconcile-same-remove-twice",
        "a commit removes one logical file twice",
        "FA-011 WLOG-001 REC-007",
        _repeat(4, "remove"),
        reason=_OPEN,
    ),
    _CHAPTER.contested(
        "reconcile-add-and-remove",
        "a commit adds and removes one logical file",
        "WLOG-001",
        _remove_of_own_add,
        reason=_OPEN,
        open=True,
    ),
    _CHAPTER.contested(
        "reconcile-two-vectors",
        "a commit adds one path with a deletion vector and without",
        "FA-012 REC-021",
        _second_vector,
        base=VECTORS,
        reason=_OPEN,
        open=True,
    ),
    _CHAPTER.contested(
        "reconcile-two-metadata",
        "a commit has two metaData actions",
        "WLOG-002",
        _repeat(0, "metaData"),
        reason=_OPEN,
    ),
    _CHAPTER.contested(
        "reconcile-two-protocols",
        "a commit has two protocol actions",
        "WLOG-003",
        _repeat(0, "protocol"),
        reason=_OPEN,
    ),
    _CHAPTER.contested(
        "reconcile-two-transactions",
        "a commit has two txn actions of one application",
        "WLOG-004 REC-004",
        add_lines(2, *({"txn": {"appId": "app", "version": number}} for number in (1, 2))),
        reason=_OPEN,
    ),
    _CHAPTER.contested(
        "reconcile-two-domains",
        "a commit has two actions of one metadata domain",
        "REC-005",
        add_lines(
            2,
            *(
                {"domainMetadata": {"domain": "d", "configuration": text, "removed": False}}
                for text in ("one", "two")
            ),
        ),
        reason=_OPEN,
    ),
    _CHAPTER.survived(
        "reconcile-checkpoint-metadata-in-commit",
        "a commit carries a checkpointMetadata action",
        "REC-019 CKM-001",
        add_line(2, {"checkpointMetadata": {"version": 2, "tags": {}}}),
        noticed_by="audit",
        tolerated=("refused",),
        reason="the action is not allowed in commits and takes no part in replay",
    ),
    _CHAPTER.survived(
        "reconcile-sidecar-in-commit",
        "a commit carries a sidecar action",
        "REC-019 SCA-001",
        add_line(2, {"sidecar": {"path": "x.parquet", "sizeInBytes": 1, "modificationTime": 0}}),
        noticed_by="audit",
        tolerated=("refused",),
        reason="the action is not allowed in commits and takes no part in replay",
    ),
    _CHAPTER.survived(
        "reconcile-remove-of-unknown-file",
        "a commit removes a file that was never added",
        "REC-011 REC-018",
        add_line(2, {"remove": {"path": "x", "deletionTimestamp": 0, "dataChange": True}}),
        noticed_by="audit",
    ),
    _CHAPTER.survived(
        "reconcile-add-again",
        "a later commit adds a live file again with other statistics",
        "FA-003 FA-020 REC-018",
        _repeat(2, "add", 3, dataChange=False, stats='{"numRecords":3}'),
    ),
    _CHAPTER.survived(
        "reconcile-remove-again",
        "a later commit removes a removed file again",
        "REC-007 REC-018",
        _next_commit(_first_removed),
        noticed_by="audit",
    ),
    _CHAPTER.survived(
        "reconcile-tombstone-of-other-vector",
        "a tombstone of another deletion vector leaves the live file alone",
        "REC-010 FA-002 REM-014",
        _next_commit(_live_with_other_vector),
        base=VECTORS,
        noticed_by="audit",
    ),
)
