"""Wrong readers of add and remove actions: order, keys, what a later action replaces."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from breaches.edits import COMMIT, COMPACTION, Lines, each, lines, removed_paths
from breaches.model import reader
from breaches.seams import Edit, for_changes, refusing, viewing
from breaches.views import bodies, commits_of, first_wins, log_of, replaying


def _null_vector(kind: str) -> Callable[[Path], bool]:
    return lambda root: any(
        "deletionVector" in body and body["deletionVector"] is None for body in bodies(root, kind)
    )


def _unless_null(body: dict[str, Any]) -> dict[str, Any] | None:
    return None if body.get("deletionVector", ...) is None else body


def _in_order(actions: Lines, _kept: Any) -> Lines:
    """Take no metadata once a file was named."""
    found, files = [], False
    for action in actions:
        files = files or "add" in action
        if not (files and ("metaData" in action or "protocol" in action)):
            found.append(action)
    return found


def _elsewhere(path: str) -> str:
    return f"{path}.elsewhere"


def _null_is_another(body: dict[str, Any]) -> bool:
    return "deletionVector" in body and body["deletionVector"] is None


def _after_checkpoints(edit: Edit) -> Edit:
    """Edit the commits that come after a checkpoint."""

    def edit_later(root: Path, fresh: frozenset[str]) -> None:
        held = [int(path.name[:20]) for path in log_of(root).glob("*.checkpoint*")]
        later = {f"_delta_log/{n:020}.json" for n in commits_of(root) if held and n > max(held)}
        edit(root, fresh & later)

    return edit_later


def _merged(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep of an earlier add what the later one leaves out."""
    found = []
    for action in actions:
        if "add" in action:
            body = action["add"]
            old = kept.get(body["path"], {})
            tags = {**(old.get("tags") or {}), **(body.get("tags") or {})}
            kept[body["path"]] = {**old, **body, "tags": tags}
            found.append({"add": kept[body["path"]]})
        else:
            found.append(action)
    return found


def _in_order_of_lines(actions: Lines, _kept: Any) -> Lines:
    """Let a remove cancel the add of its path in an earlier line, whatever their vectors."""
    found: Lines = []
    for action in actions:
        if "remove" in action:
            path = action["remove"]["path"]
            found = [a for a in found if a.get("add", {}).get("path") != path]
        found.append(action)
    return found


def _none_after_files(kind: str) -> Callable[[Lines, dict[Any, Any]], Lines]:
    """Pass over actions of a kind that follow a file, but for what makes the table."""

    def replay(actions: Lines, kept: dict[Any, Any]) -> Lines:
        known = kind == "domainMetadata" or kept.get(kind, False)
        kept[kind] = known or any(kind in a for a in actions)
        first = next((n for n, a in enumerate(actions) if {"add", "remove"} & a.keys()), None)
        if not known or first is None:
            return actions
        return [a for n, a in enumerate(actions) if n < first or kind not in a]

    return replay


def _checkpointed_stay(root: Path, fresh: frozenset[str]) -> None:
    """Keep of a file what the checkpoint says, whatever is added later."""
    held = {
        row["path"]
        for path in log_of(root).glob("*.checkpoint*.parquet")
        for row in pq.read_table(path, columns=["add"]).column("add").to_pylist()
        if row
    }
    each("add", lambda body: None if body["path"] in held else body, COMMIT)(root, fresh)


def _checkpointed_statistics_stay(root: Path, fresh: frozenset[str]) -> None:
    """Keep the statistics that the checkpoint has of a file, whatever is added later."""
    held = {
        row["path"]: row["stats"]
        for path in log_of(root).glob("*.checkpoint*.parquet")
        for row in pq.read_table(path, columns=["add"]).column("add").to_pylist()
        if row
    }
    each("add", lambda body: {**body, "stats": held.get(body["path"], body.get("stats"))}, COMMIT)(
        root, fresh
    )


def _since_commit_info(actions: Lines) -> Lines:
    """Take nothing that comes before commitInfo."""
    return actions[next((at for at, each in enumerate(actions) if "commitInfo" in each), 0) :]


def _changes_after_files(actions: Lines) -> Lines:
    """Take change files that come after other files alone."""
    files = [at for at, action in enumerate(actions) if {"add", "remove"} & action.keys()]
    last = max(files, default=-1)
    return [a for at, a in enumerate(actions) if "cdc" not in a or at > last]


def _up_to_commit_info(actions: Lines) -> Lines:
    """Take nothing that comes after a commitInfo that is not first."""
    at = next((at for at, each in enumerate(actions) if "commitInfo" in each), 0)
    return actions[:at] if at > 0 else actions


def _null_is_a_key(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Take a null vector for a key of its own, which a remove without one does not name."""
    found = []
    for action in actions:
        add, gone = action.get("add"), action.get("remove")
        if add:
            kept[add["path"]] = add.get("deletionVector", ...) is None
        if gone and kept.get(gone["path"]) and "deletionVector" not in gone:
            continue
        found.append(action)
    return found


def _null_keeps(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Take a null vector for the one that the file had."""
    found = []
    for action in actions:
        body = action.get("add", {})
        held = kept.get(body.get("path"))
        if held and "deletionVector" in body and body["deletionVector"] is None:
            found.append({"add": {**body, "deletionVector": held}})
            continue
        if body.get("deletionVector"):
            kept[body["path"]] = body["deletionVector"]
        found.append(action)
    return found


def _first_values(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep the partition values that a file was added with first."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "partitionValues": kept.setdefault(body["path"], body["partitionValues"])}

    return [{**a, "add": change(a["add"])} if "add" in a else a for a in actions]


def _null_for_any(actions: Lines, _kept: Any) -> Lines:
    """Let a remove whose vector is null cancel what its commit adds by the path."""
    gone = {a["remove"]["path"] for a in actions if _null_is_another(a.get("remove", {}))}
    return [a for a in actions if a.get("add", {}).get("path") not in gone]


def _first_statistics(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep the statistics that a file was added with first."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        key = body["path"], json.dumps(body.get("deletionVector"))
        return {**body, "stats": kept.setdefault(key, body.get("stats"))}

    return [{**a, "add": change(a["add"])} if "add" in a else a for a in actions]


ROWS = (
    reader(
        "takes-times-before-1970-as-after",
        "REC-018",
        viewing(each("add", lambda b: {**b, "modificationTime": abs(b["modificationTime"])})),
        "add-file-and-remove-file/modified-before-1970/*",
    ),
    reader(
        "keeps-the-first-add",
        "FA-003",
        viewing(first_wins("add", lambda b: b["path"])),
    ),
    reader(
        "keeps-the-first-partition-values",
        "FA-003",
        viewing(replaying(_first_values)),
        "add-file-and-remove-file/re-add-to-another-partition/*",
    ),
    reader(
        "takes-null-for-any-removed-vector",
        "REM-013",
        viewing(replaying(_null_for_any)),
        "deletion-vectors/marked-after-null/*",
    ),
    reader("goes-by-the-order-of-actions", "FA-015", viewing(replaying(_in_order))),
    reader("takes-null-for-a-vector", "ADD-012", refusing(_null_vector("add"))),
    reader("takes-null-for-a-removed-vector", "REM-013", refusing(_null_vector("remove"))),
    *(
        reader(
            f"passes-over-null-vectors-of-{kind}s-in-changes",
            row,
            for_changes(viewing(each(kind, _unless_null, COMMIT))),
            "add-cdc-file/remove-with-vector/*",
        )
        for kind, row in (("add", "ADD-012"), ("remove", "REM-013"))
    ),
    *(
        reader(
            f"tells-null-vectors-of-removes-from-absent-{slug}",
            "REM-013",
            viewing(edit),
            "deletion-vectors/null-and-absent-*",
        )
        for slug, edit in (
            ("in-compactions", removed_paths(_elsewhere, COMPACTION, _null_is_another)),
            (
                "after-checkpoints",
                _after_checkpoints(removed_paths(_elsewhere, COMMIT, _null_is_another)),
            ),
        )
    ),
    reader("removes-in-the-order-of-lines", "FA-015", viewing(replaying(_in_order_of_lines))),
    *(
        reader(slug, "FA-015", viewing(replaying(_none_after_files(kind))))
        for slug, kind in (
            ("takes-no-domains-after-files", "domainMetadata"),
            ("takes-no-metadata-after-files", "metaData"),
            ("takes-no-protocol-after-files", "protocol"),
        )
    ),
    reader("keeps-what-a-checkpoint-says", "FA-003", viewing(_checkpointed_stay)),
    reader(
        "keeps-statistics-of-a-checkpoint",
        "FA-003",
        viewing(_checkpointed_statistics_stay),
        "add-file-and-remove-file/re-add-repairs-checkpoint/*",
    ),
    reader(
        "takes-nothing-before-commit-info", "FA-015", viewing(lines(_since_commit_info, COMMIT))
    ),
    *(
        reader(
            slug,
            "FA-015",
            for_changes(viewing(lines(change, COMMIT))),
            "change-data-files/in-any-order/*",
        )
        for slug, change in (
            ("sees-no-changes-before-files", _changes_after_files),
            ("sees-no-changes-after-commit-info", _up_to_commit_info),
            ("sees-no-changes-before-commit-info", _since_commit_info),
        )
    ),
    reader(
        "takes-nothing-after-commit-info",
        "FA-015",
        viewing(lines(_up_to_commit_info, COMMIT)),
        "delta-log-entries/commit-info-amid/*",
    ),
    reader("keeps-vectors-that-null-takes-off", "ADD-012", viewing(replaying(_null_keeps))),
    reader("takes-null-for-a-key-of-its-own", "ADD-012", viewing(replaying(_null_is_a_key))),
    reader("merges-adds-of-a-file", "FA-003", viewing(replaying(_merged))),
    reader(
        "keeps-first-statistics",
        "FA-003",
        viewing(replaying(_first_statistics)),
        "add-file-and-remove-file/re-add-repairs-statistics/*",
    ),
)
