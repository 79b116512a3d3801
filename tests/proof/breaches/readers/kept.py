"""Wrong readers of what is said again, or is gone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    COMMIT,
    JSON_CHECKPOINT,
    Lines,
    each,
    lines,
    matching,
    parquet,
    rewrite,
    setting,
)
from breaches.model import reader
from breaches.seams import documents, refusing, rows, viewing
from breaches.views import bodies, log_of, replaying


def _summed_up(request: Any, payload: Any) -> Any:
    """Answer the metadata of the newest checksum, whatever commits say after it."""
    sums = [*log_of(Path(request.table)).glob("*.crc")]
    if not sums or not isinstance(payload, dict) or "metadata" not in payload:
        return payload
    return {**payload, "metadata": json.loads(max(sums).read_text())["metadata"]}


def _twice_decoded(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": quote(unquote(unquote(body["path"])))}


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


def _by_this_commit(root: Path, fresh: frozenset[str]) -> None:
    """Take the version of the commit for that of the rows."""
    for name in matching(COMMIT, fresh):
        version = int(Path(name).stem)

        def change(body: dict[str, Any], version: int = version) -> dict[str, Any]:
            known = "defaultRowCommitVersion" in body
            return {**body, "defaultRowCommitVersion": version} if known else body

        each("add", change, name.replace(".", r"\."))(root, fresh)


def _without_values(body: dict[str, Any]) -> dict[str, Any]:
    """Look for partition values by display name, and find none."""
    return {**body, "partitionValues": dict.fromkeys(body["partitionValues"])}


def _hollow(table: pa.Table) -> pa.Table:
    """Take a struct of nulls for a null."""
    for at, column in enumerate(table.schema):
        if pa.types.is_struct(column.type):
            held = [
                value if value and any(v is not None for v in value.values()) else None
                for value in table.column(at).to_pylist()
            ]
            table = table.set_column(at, column, pa.chunked_array([held], column.type))
    return table


def _in_order(actions: Lines, _kept: Any) -> Lines:
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
        late = known and first is not None
        return [a for n, a in enumerate(actions) if not late or n < first or kind not in a]

    return replay


def _new_alone(kind: str) -> Callable[[Lines, dict[Any, Any]], Lines]:
    """Pass over actions of a kind that are as an earlier one was."""

    def replay(actions: Lines, kept: dict[Any, Any]) -> Lines:
        seen = [kind in a and json.dumps(a) in kept for a in actions]
        kept.update(dict.fromkeys(json.dumps(a) for a in actions))
        return [a for a, known in zip(actions, seen, strict=True) if not known]

    return replay


def _quiet_removes_stay(root: Path, fresh: frozenset[str]) -> None:
    """Keep files of a checkpoint that later commits remove without a change of data."""
    whole = max((int(path.name[:20]) for path in log_of(root).glob("*.checkpoint.*")), default=None)
    late = {n for n in fresh if n.endswith(".json") and Path(n).stem.isdigit()}
    late = {n for n in late if whole is not None and int(Path(n).stem) > whole}
    each("remove", lambda body: body if body.get("dataChange") else None, COMMIT)(
        root, frozenset(late)
    )


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


def _by_file_times(root: Path, fresh: frozenset[str]) -> None:
    """Replay the commits after the newest checkpoint in the order of their files' times."""
    start = max((path.name for path in log_of(root).glob("*.checkpoint*")), default="")[:20]
    later = [root / name for name in matching(COMMIT, fresh) if start and Path(name).stem > start]
    contents = [
        path.read_bytes() for path in sorted(later, key=lambda path: path.stat().st_mtime_ns)
    ]
    for path, content in zip(later, contents, strict=True):
        rewrite(path, content)


def _since_commit_info(actions: Lines) -> Lines:
    """Take nothing that comes before commitInfo."""
    return actions[next((at for at, each in enumerate(actions) if "commitInfo" in each), 0) :]


def _no_files_within(actions: Lines) -> Lines:
    """Take no file action that a V2 checkpoint holds itself."""
    within = any("checkpointMetadata" in action for action in actions)
    return [a for a in actions if not (within and {"add", "remove"} & a.keys())]


def _without_vectors(actions: Lines) -> Lines:
    """Take neither vectors nor tombstones."""
    return [
        {"add": {**a["add"], "deletionVector": None}} if "add" in a else a
        for a in actions
        if "remove" not in a
    ]


def _renamed_by_place(table: pa.Table) -> pa.Table:
    """Call the fields of structs by the order of their names, which is that of the schema."""
    for at, of in enumerate(table.schema):
        if pa.types.is_struct(of.type):
            names = sorted(field.name for field in of.type)
            named = zip(names, (field.type for field in of.type), strict=True)
            arrays = table.column(at).combine_chunks().flatten()
            held = pa.StructArray.from_arrays(arrays, fields=[pa.field(*pair) for pair in named])
            table = table.set_column(at, pa.field(of.name, held.type), held)
    return table


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


def _joined(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep what an earlier protocol listed."""
    found = []
    for action in actions:
        if "protocol" not in action:
            found.append(action)
            continue
        body = dict(action["protocol"])
        for name in ("readerFeatures", "writerFeatures"):
            if body.get(name) is not None:
                kept[name] = body[name] = [*dict.fromkeys([*kept.get(name, ()), *body[name]])]
        found.append({"protocol": body})
    return found


def _odd_format(root: Path) -> bool:
    known = {"provider", "options"}
    return any({*(b.get("format") or {})} - known for b in bodies(root, "metaData"))


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


def _by_bytes(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": quote(unquote(body["path"], encoding="latin-1"))}


def _upper_alone(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": re.sub("%(?=[0-9]?[a-f]|[0-9A-F][a-f])", "%25", body["path"])}


def _more_than(kind: str, *known: str) -> Callable[[Path], bool]:
    return lambda root: any(not {*known} >= body.keys() for body in bodies(root, kind))


ROWS = (
    reader("removes-in-the-order-of-lines", "FA-015", viewing(replaying(_in_order))),
    *(
        reader(slug, "FA-015", viewing(replaying(_none_after_files(kind))))
        for slug, kind in (
            ("takes-no-domains-after-files", "domainMetadata"),
            ("takes-no-metadata-after-files", "metaData"),
            ("takes-no-protocol-after-files", "protocol"),
        )
    ),
    *(
        reader(f"takes-no-{kind}-twice", row, viewing(replaying(_new_alone(kind))))
        for kind, row in (
            ("add", "REC-018"),
            ("domainMetadata", "REC-014"),
            ("metaData", "REC-013"),
            ("txn", "TXN-005"),
        )
    ),
    reader("keeps-rearranged-files", "CKC-027", viewing(_quiet_removes_stay)),
    reader("keeps-what-a-checkpoint-says", "FA-003", viewing(_checkpointed_stay)),
    reader(
        "keeps-statistics-of-a-checkpoint",
        "FA-003",
        viewing(_checkpointed_statistics_stay),
        "add-file-and-remove-file/re-add-repairs-checkpoint/*",
    ),
    reader(
        "replays-by-the-times-of-files",
        "REC-001",
        viewing(_by_file_times),
        "action-reconciliation/in-order-after-*",
    ),
    reader(
        "takes-nothing-before-commit-info", "FA-015", viewing(lines(_since_commit_info, COMMIT))
    ),
    *(
        reader(
            f"reads-no-files-within-{name}-checkpoints",
            "SNAP-007",
            viewing(lines(_no_files_within, where)),
            f"v2-checkpoint-feature/{case}-embedded/*",
        )
        for name, where, case in (
            ("v2", CHECKPOINT, "parquet"),
            ("json", JSON_CHECKPOINT, "json"),
            ("classic-v2", CHECKPOINT, "classic-name"),
        )
    ),
    reader(
        "loses-vectors-within-json-checkpoints",
        "DVDESC-020",
        viewing(lines(_without_vectors, JSON_CHECKPOINT)),
        "v2-checkpoint-feature/json-with-vectors/*",
    ),
    reader(
        "finds-fields-by-place",
        "CM-024",
        viewing(parquet(_renamed_by_place)),
        "schema-serialization-format/nested-order-differs/*",
    ),
    reader(
        "maps-no-columns-at-writer-version-7",
        "RVER-001",
        viewing(setting("metaData", "configuration", {})),
        "column-mapping/two-seven/*",
    ),
    reader("keeps-vectors-that-null-takes-off", "ADD-012", viewing(replaying(_null_keeps))),
    reader("takes-null-for-a-key-of-its-own", "ADD-012", viewing(replaying(_null_is_a_key))),
    reader(
        "joins-the-lists-of-protocols",
        "REC-002",
        viewing(replaying(_joined)),
        "action-reconciliation/protocol-*/snapshot-*",
    ),
    reader("refuses-unknown-fields-of-formats", "PROTO-009", refusing(_odd_format)),
    reader("decodes-removed-paths-by-bytes", "REM-002", viewing(each("remove", _by_bytes))),
    reader("decodes-paths-of-changes-by-bytes", "CDC-006", viewing(each("cdc", _by_bytes))),
    reader("knows-no-lower-case-escapes", "ADD-003", viewing(each("add", _upper_alone))),
    reader(
        "folds-the-case-of-applications",
        "TXN-005",
        viewing(each("txn", lambda body: {**body, "appId": body["appId"].lower()})),
    ),
    reader(
        "refuses-unknown-fields-of-changes",
        "PROTO-009",
        refusing(_more_than("cdc", "path", "partitionValues", "size", "dataChange", "tags")),
    ),
    reader(
        "refuses-unknown-fields-of-domains",
        "PROTO-009",
        refusing(_more_than("domainMetadata", "domain", "configuration", "removed")),
    ),
    reader("decodes-paths-of-changes-twice", "CDC-006", viewing(each("cdc", _twice_decoded))),
    reader("merges-adds-of-a-file", "FA-003", viewing(replaying(_merged))),
    reader("dates-rows-by-the-last-commit", "RT-026", viewing(_by_this_commit)),
    reader(
        "refuses-unknown-domains-that-are-gone",
        "PROTO-010",
        refusing(
            lambda root: any(
                body.get("removed") and not body["domain"].startswith("delta.")
                for body in bodies(root, "domainMetadata")
            )
        ),
    ),
    # Change files of partitioned tables.
    *(
        reader(
            f"finds-no-values-of-changes-in-mode-{mode}",
            row,
            viewing(each("cdc", _without_values)),
            f"add-cdc-file/partitioned-by-{mode}/*",
        )
        for mode, row in (("name", "CM-030"), ("id", "CM-026"))
    ),
    reader(
        "takes-structs-of-nulls-for-nulls",
        "SNAP-007",
        rows(_hollow),
        "per-file-statistics/structs-of-nulls/*",
    ),
    reader(
        "takes-metadata-of-an-older-checksum",
        "REC-013",
        documents(_summed_up),
        "action-reconciliation/changed-after-checksum/*",
    ),
)
