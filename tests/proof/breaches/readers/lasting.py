"""Wrong readers of state that lasts: what a summary, a hint or a filter does to later commits."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    Lines,
    dropping,
    each,
    lines,
    matching,
    read_lines,
    struct_fields,
    without,
)
from breaches.model import Ask, How, reader
from breaches.readers.features import for_changes
from breaches.readers.questions import by_files
from breaches.seams import asking, by_request, refusing, rows, viewing, where_asked
from breaches.views import bodies, log_of, replaying
from conformance.adapter import (
    Aggregate,
    Answer,
    Changes,
    DomainMetadata,
    Files,
    Ok,
    Request,
    Scan,
    Snapshot,
    Txn,
)


def _highest_of_compactions(root: Path, fresh: frozenset[str]) -> None:
    """Leave out progress that is below that of a compaction before it."""
    held: list[tuple[int, dict[str, Any]]] = []
    for name in matching(COMPACTION, fresh):
        end = int(name.split(".")[1])
        held += [(end, a["txn"]) for a in read_lines(root / name) if "txn" in a]
    for name in matching(COMMIT, fresh):
        version = int(Path(name).stem)
        earlier = {t["appId"]: t["version"] for end, t in held if end < version}

        def kept(body: dict[str, Any], earlier: dict[str, int] = earlier) -> dict[str, Any] | None:
            return None if earlier.get(body["appId"], body["version"]) > body["version"] else body

        each("txn", kept, re.escape(name))(root, fresh)


def _off_in_checkpoints(root: Path, fresh: frozenset[str]) -> None:
    """Read files of a checkpoint without their vectors once a commit or it switched them off."""
    found = [*bodies(root, "metaData"), *_kept_metadata(root, fresh)]
    if any(b["configuration"].get("delta.enableDeletionVectors") == "false" for b in found):
        dropping("add", "deletionVector", where=CHECKPOINTS)(root, fresh)


def _kept_metadata(root: Path, fresh: frozenset[str]) -> list[dict[str, Any]]:
    rows = [row for name in matching(CHECKPOINTS, fresh) for row in _rows(root / name)]
    return [row["metaData"] for row in rows if row.get("metaData")]


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".json":
        return read_lines(path)
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist(maps_as_pydicts="strict")
    return found


def _bare_removes_lost(root: Path, fresh: frozenset[str]) -> None:
    """Let removes without a vector cancel nothing where a checkpoint has vectors."""
    rows = [row for name in matching(CHECKPOINTS, fresh) for row in _rows(root / name)]
    if any((row.get("add") or {}).get("deletionVector") for row in rows):
        each("remove", lambda b: b if b.get("deletionVector") else None, COMMIT)(root, fresh)


def _inline_uncounted(row: dict[str, Any], files: Sequence[Mapping[str, Any]]) -> None:
    """Count the rows that vectors inside the log delete."""
    vectors = [file.get("deletionVector") or {} for file in files]
    row["count"] += sum(v["cardinality"] for v in vectors if v.get("storageType") == "i")


@by_request
def _numbered_again(ask: Ask, request: Request) -> Answer:
    """Count ids from the first row that a filter left."""
    answer = ask(request)
    filtered = isinstance(request, Scan) and request.row_ids and request.filter is not None
    if not filtered or not isinstance(answer, Ok):
        return answer
    at = answer.payload.schema.get_field_index("_row_id")
    fresh = pa.array(range(answer.payload.num_rows), pa.int64())
    return Ok(answer.payload.set_column(at, "_row_id", fresh))


def _no_changes_alone(actions: Lines) -> Lines:
    """Take no changes from a commit that neither adds nor removes a file."""
    kept = any({"add", "remove"} & action.keys() for action in actions)
    return [action for action in actions if kept or "cdc" not in action]


def _first_statistics(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Keep the statistics that a file was added with first."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        key = body["path"], json.dumps(body.get("deletionVector"))
        return {**body, "stats": kept.setdefault(key, body.get("stats"))}

    return [{**a, "add": change(a["add"])} if "add" in a else a for a in actions]


def _required_within(root: Path) -> bool:
    fields = [
        f for body in bodies(root, "metaData") for f in json.loads(body["schemaString"])["fields"]
    ]
    inner = (each for field in fields for each in struct_fields(field["type"]))
    return any(not each["nullable"] for each in inner) and any(
        body.get("deletionVector") for body in bodies(root, "add")
    )


def _no_recorded_changes(root: Path, fresh: frozenset[str]) -> None:
    """Lose the change files of commits that a compaction covers."""
    for name in matching(COMPACTION, fresh):
        start, end = map(int, Path(name).name.split(".")[:2])
        for version in range(start, end + 1):
            without("cdc", where=f"_delta_log/{version:020d}.json")(root, fresh)


_KINDS = (Aggregate, Changes, DomainMetadata, Files, Snapshot, Txn)


def _published(request: Any) -> int:
    names = (path.stem for path in log_of(Path(request.table)).glob("*.json"))
    return max(int(name) for name in names if name.isdigit())


def _with_ratified(kind: type, change: Callable[[Any], Any]) -> How:
    """Answer requests of a kind by another answer of the catalog."""

    def changed(request: Any) -> Any:
        if request.ratified is None:
            return request
        return replace(request, ratified=change(request))

    return where_asked(lambda request: isinstance(request, kind), asking(changed))


def _to_the_end(request: Any) -> dict[str, Any]:
    latest = max(request.ratified["latest"], _published(request))
    return {**request.ratified, "latest": latest}


def _as_published(request: Any) -> dict[str, Any]:
    return {"latest": _published(request), "commits": []}


def _version(commit: Mapping[str, Any]) -> int:
    return int(commit["staged"][:20] if "staged" in commit else commit["version"])


def _of_the_answer_alone(request: Any) -> dict[str, Any]:
    """Take the last commit that the catalog gives for the latest version."""
    latest = max(map(_version, request.ratified["commits"]), default=0)
    return {**request.ratified, "latest": latest}


def _published_first(request: Any) -> dict[str, Any]:
    log = log_of(Path(request.table))
    commits = [
        each
        for each in request.ratified["commits"]
        if not (log / f"{_version(each):020}.json").exists()
    ]
    return {**request.ratified, "commits": commits}


def _staged_for_ratified(root: Path, _fresh: frozenset[str]) -> None:
    """Take what lies in the folder of staged commits for versions, where nothing else is."""
    log = log_of(root)
    for path in sorted(log.glob("_staged_commits/*.json")):
        published = log / f"{path.name[:20]}.json"
        if not published.exists():
            shutil.copy2(path, published)


def _tagged(root: Path) -> bool:
    checkpoints = log_of(root).glob("*.checkpoint.*.json")
    metadata = (a.get("checkpointMetadata", {}) for path in checkpoints for a in read_lines(path))
    return any(body.get("tags") for body in metadata)


def _before_vectors_without_offset(request: Any) -> Any:
    """Take a vector that is stored without an offset for none: give the rows of version 0."""
    vectors = (body.get("deletionVector") or {} for body in bodies(Path(request.table), "add"))
    lost = any(v.get("storageType") in ("u", "p") and "offset" not in v for v in vectors)
    return replace(request, version=0) if lost and isinstance(request, Scan) else request


def _void_as(change: Callable[[pa.Table, int], pa.Table]) -> How:
    def changed(table: pa.Table) -> pa.Table:
        for at in reversed(range(table.num_columns)):
            if pa.types.is_null(table.column(at).type):
                table = change(table, at)
        return table

    return rows(changed)


def _empty_text(table: pa.Table, at: int) -> pa.Table:
    return table.set_column(at, table.column_names[at], pa.array([""] * len(table)))


def _without_inline(name: str) -> Callable[[Any], Any]:
    """Overlook an action, or a field of adds, in commits that the catalog keeps inline."""

    def kept(action: Any) -> Any:
        found = {key: body for key, body in action.items() if key != name}
        if "add" in found:
            found["add"] = {key: held for key, held in found["add"].items() if key != name}
        return found

    def changed(request: Any) -> dict[str, Any]:
        commits = []
        for commit in request.ratified["commits"]:
            found = dict(commit)
            if "content" in found:
                actions = [json.loads(line) for line in found["content"].splitlines()]
                # Without its vector, a file is the one that the same commit removes.
                same = {a["add"]["path"] for a in actions if name in a.get("add", ())}
                actions = [a for a in actions if a.get("remove", {}).get("path") not in same]
                found["content"] = "".join(json.dumps(kept(one)) + "\n" for one in actions)
            commits.append(found)
        return {**request.ratified, "commits": commits}

    return changed


ROWS = (
    *(
        reader(
            f"overlooks-inline-{name.lower()}",
            row,
            _with_ratified(kind, _without_inline(name)),
            "catalog-managed-tables/crossed-staged/*",
        )
        for name, row, kind in (
            ("deletionVector", "DVDESC-020", Scan),
            ("domainMetadata", "REC-014", DomainMetadata),
            ("txn", "TXN-005", Txn),
        )
    ),
    *(
        reader(
            f"goes-beyond-the-ratified-for-{kind.__name__.lower()}",
            "CAT-010",
            _with_ratified(kind, _to_the_end),
            "catalog-managed-tables/*",
        )
        for kind in _KINDS
    ),
    *(
        reader(
            f"{slug}-for-{kind.__name__.lower()}",
            row,
            _with_ratified(kind, change),
            f"catalog-managed-tables/{case}/*",
        )
        for slug, row, case, change in (
            ("asks-the-catalog-alone", "CAT-008", "all-published", _of_the_answer_alone),
            ("asks-the-log-first", "CAT-009", "catalog-before-published", _published_first),
        )
        for kind in (Scan, Files)
    ),
    reader("takes-staged-commits-for-ratified", "CAT-004", viewing(_staged_for_ratified)),
    reader("goes-by-tags-of-checkpoints", "CKM-009", refusing(_tagged)),
    reader(
        "takes-vectors-without-offset-for-none",
        "DVDESC-012",
        asking(_before_vectors_without_offset),
    ),
    *(
        reader(f"gives-{slug}-for-void", "VOID-002", _void_as(change))
        for slug, change in (
            ("no-column", lambda table, at: table.remove_column(at)),
            ("empty-texts", _empty_text),
        )
    ),
    *(
        reader(
            f"asks-published-commits-for-{kind.__name__.lower()}",
            "CAT-007",
            _with_ratified(kind, _as_published),
            f"catalog-managed-tables/{case}/*",
        )
        for kind, case in (
            (DomainMetadata, "crossed-staged"),
            (Txn, "crossed-staged"),
            (Changes, "changes"),
        )
    ),
    reader(
        "keeps-first-statistics",
        "FA-003",
        viewing(replaying(_first_statistics)),
        "add-file-and-remove-file/re-add-repairs-statistics/*",
    ),
    reader(
        "loses-change-files-below-compactions",
        "CDC-003",
        for_changes(viewing(_no_recorded_changes)),
        "log-compaction-files/changes-inside/*",
    ),
    reader(
        "checks-fields-of-deleted-rows",
        "SNAP-007",
        refusing(_required_within),
        "deletion-vectors/null-of-deleted-row/*",
    ),
    reader(
        "keeps-the-progress-of-a-compaction",
        "TXN-005",
        viewing(_highest_of_compactions),
        "*/changed-after-compaction/*",
    ),
    reader(
        "switches-vectors-of-checkpoints-off",
        "DV-004",
        viewing(_off_in_checkpoints),
        "*/property-off-in-*",
    ),
    reader(
        "loses-bare-removes-beside-vectors",
        "REC-018",
        viewing(_bare_removes_lost),
        "*/removed-beside-vectors-*",
    ),
    reader(
        "counts-what-inline-vectors-delete",
        "DVDESC-020",
        by_files(_inline_uncounted),
        "*/aggregates-of-every-vector/*",
    ),
    reader(
        "passes-over-changes-without-files",
        "CDC-003",
        for_changes(viewing(lines(_no_changes_alone, COMMIT))),
        "add-cdc-file/data-files-with-types/*",
    ),
    reader("numbers-what-a-filter-left", "RT-024", _numbered_again, "row-tracking/*"),
)
