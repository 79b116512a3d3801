"""Wrong readers of commits: versions, gaps, transactions, what is no commit."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from breaches.edits import (
    COMMIT,
    COMPACTION,
    LATER_PARTS,
    Lines,
    content,
    each,
    lines,
    matching,
    only_when,
    read_lines,
    without,
)
from breaches.model import reader
from breaches.seams import asking, documents, for_changes, refusing, rows, viewing, where_asked
from breaches.views import actions_of, bodies, checkpoints_of, commits_of, log_of, replaying
from conformance.adapter import Request, Scan


def _highest_transaction(actions: Lines, kept: dict[Any, Any]) -> Lines:
    found = []
    for action in actions:
        if "txn" in action:
            name, version = action["txn"]["appId"], action["txn"]["version"]
            if version < kept.setdefault(name, version):
                continue
            kept[name] = version
        found.append(action)
    return found


def _odd_provenance(root: Path) -> bool:
    return any(
        not isinstance(action["commitInfo"], dict) or "timestamp" not in action["commitInfo"]
        for action in actions_of(root)
        if "commitInfo" in action
    )


def _of_32_bits(_request: Any, payload: Any) -> Any:
    return (payload + 2**31) % 2**32 - 2**31 if isinstance(payload, int) else payload


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


def _latest(request: Any) -> Any:
    if isinstance(request, Scan) and request.version is not None:
        return replace(request, version=None)
    return request


def _after(request: Any) -> Any:
    version = getattr(request, "version", None)
    if version is None:
        return request
    there = commits_of(Path(request.table)).keys()
    return replace(request, version=version + 1) if version + 1 in there else request


def _in_plain_folders(fresh: frozenset[str]) -> frozenset[str]:
    """Return the files in folders that are not of a partition."""
    return frozenset(name for name in fresh if "/" in name and "=" not in name)


def _with_orphans(root: Path, fresh: frozenset[str]) -> None:
    commits = commits_of(root)
    if not commits:
        return
    named = {b["path"] for kind in ("add", "remove", "cdc") for b in bodies(root, kind)}
    extra: Lines = [
        {
            "add": {
                "path": name,
                "partitionValues": {},
                "size": (root / name).stat().st_size,
                "modificationTime": 0,
                "dataChange": True,
            }
        }
        for name in sorted(fresh)
        if name.endswith(".parquet") and not name.startswith("_") and name not in named
    ]
    first, last = min(commits), max(commits)

    def change(actions: Lines) -> Lines:
        return [*actions, *extra]

    for version in {first, last}:
        lines(change, rf"_delta_log/{version:020}\.json")(root, fresh)


def _empty(root: Path) -> bool:
    """Return whether commits add no file that none removes."""
    gone = {body["path"] for body in bodies(root, "remove")}
    return all(body["path"] in gone for body in bodies(root, "add"))


def _no_nulls(table: pa.Table) -> pa.Table:
    keep = None
    for column in table.columns:
        valid = pc.is_valid(column)
        keep = valid if keep is None else pc.and_(keep, valid)
    return table if keep is None else table.filter(keep)


def _object_lines(data: bytes) -> bytes:
    kept = []
    for line in data.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        files = [found[k] for k in ("add", "remove") if isinstance(found, dict) and k in found]
        whole = isinstance(found, dict) and all(isinstance(v, dict) for v in found.values())
        if whole and all("path" in file for file in files):
            kept.append(line)
    return b"\n".join(kept) + b"\n"


def _unfiltered(request: Any) -> Any:
    """Filter among the columns that are asked for alone: there is nothing to filter by."""
    if getattr(request, "columns", None) is None or request.filter is None:
        return request
    return replace(request, filter=None, predicate=None)


def _latest_metadata(root: Path, fresh: frozenset[str]) -> None:
    """Read every version with the metadata of the latest one."""
    newest = [*bodies(root, "metaData")][-1:]
    each("metaData", lambda body: newest[0] if newest else body, COMMIT)(root, fresh)


def _temporary_commits(root: Path, fresh: frozenset[str]) -> None:
    """Take a file that is called like the next commit for it, whatever follows its name."""
    following = max(commits_of(root), default=-1) + 1
    for name in matching(rf"_delta_log/{following:020}\.json\..+", fresh):
        (log_of(root) / f"{following:020}.json").write_bytes((root / name).read_bytes())


def _past_gaps(root: Path, _fresh: frozenset[str]) -> None:
    """Count commits, and not go by their numbers."""
    if checkpoints_of(root):
        return
    for number, path in enumerate(sorted(log_of(root).glob("*.json"))):
        if re.fullmatch(r"\d{20}\.json", path.name):
            path.rename(path.with_name(f"{number:020}.json"))


def _overwriting(root: Path, fresh: frozenset[str]) -> None:
    """Drop all files before a commit that says that it overwrites."""
    modes = {
        version: str((action["commitInfo"].get("operationParameters") or {}).get("mode"))
        for version, actions in commits_of(root).items()
        for action in actions
        if isinstance(action.get("commitInfo"), dict)
    }
    last = max((n for n, mode in modes.items() if mode.lower() == "overwrite"), default=0)
    for name in matching(COMMIT, fresh):
        if int(Path(name).stem) < last:
            without("add", where=name.replace(".", r"\."))(root, fresh)


_PAIR = re.compile(rb"\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}")


def _split_at_separators(data: bytes) -> bytes:
    return "\n".join(data.decode().splitlines()).encode()


def _by_operation(operations: tuple[str, ...], *kinds: str) -> Any:
    """Pass over file actions of commits whose ``commitInfo`` has one of some operations."""

    def change(actions: Lines) -> Lines:
        said = [str(a["commitInfo"].get("operation")) for a in actions if "commitInfo" in a]
        passed = {*kinds} if {*said} & {*operations} else set()
        return [action for action in actions if not passed & action.keys()]

    return lines(change, COMMIT)


def _restored(request: Any) -> Any:
    """Read the version that the ``commitInfo`` of a restore names."""
    if not isinstance(request, Scan) or request.version is None:
        return request
    actions = commits_of(Path(request.table)).get(request.version, [])
    said = [
        a["commitInfo"] for a in actions if a.get("commitInfo", {}).get("operation") == "RESTORE"
    ]
    return replace(request, version=said[0]["operationParameters"]["version"]) if said else request


_SAID = "protocol-evolution/commit-info-says-otherwise/*"


def _earlier(request: Request) -> bool:
    return getattr(request, "version", None) is not None


ROWS = (
    reader(
        "reads-the-folder-of-an-empty-table",
        "SNAP-003",
        viewing(only_when(_empty, _with_orphans)),
        "data-files/orphans-alone/*",
    ),
    reader("reads-the-latest-rows", "SNAP-002", asking(_latest)),
    reader("reads-the-version-after", "SNAP-002", asking(_after)),
    reader("reads-files-that-lie-around", "SNAP-003", viewing(_with_orphans)),
    reader(
        "reads-files-of-plain-folders",
        "SNAP-003",
        viewing(lambda root, fresh: _with_orphans(root, _in_plain_folders(fresh))),
        "data-files/orphans-invisible/*",
    ),
    reader("reads-by-the-latest-schema", "SNAP-002", viewing(_latest_metadata)),
    reader("reads-temporary-commits", "SNAP-003", viewing(_temporary_commits)),
    reader("loses-rows-with-nulls", "SNAP-007", rows(_no_nulls)),
    reader("loses-the-last-row", "SNAP-007", rows(lambda t: t.slice(0, t.num_rows - 1))),
    reader(
        "gives-a-row-twice",
        "SNAP-007",
        rows(lambda t: pa.concat_tables([t, t.slice(0, 1)])),
    ),
    reader("projects-before-it-filters", "SNAP-007", asking(_unfiltered)),
    reader("skips-gaps-of-versions", "SNAP-001", viewing(_past_gaps)),
    reader("passes-over-broken-lines", "LOG-006", viewing(content(COMMIT, _object_lines))),
    reader("highest-transaction-wins", "TXN-005", viewing(replaying(_highest_transaction))),
    reader(
        "highest-transaction-of-earlier-versions-wins",
        "TXN-005",
        where_asked(_earlier, viewing(replaying(_highest_transaction))),
        "transaction-identifiers/newest-entry-wins-earlier/*",
    ),
    reader("asks-for-a-usual-commitInfo", "CINFO-003", refusing(_odd_provenance)),
    reader(
        "reads-progress-in-the-first-part",
        "TXN-005",
        viewing(without("txn", where=LATER_PARTS)),
        "checkpoints/multi-part-scattered/*",
    ),
    reader(
        "takes-progress-for-32-bits",
        "TXN-005",
        documents(_of_32_bits),
        "transaction-identifiers/beyond-double/*",
    ),
    reader(
        "folds-the-case-of-applications",
        "TXN-005",
        viewing(each("txn", lambda body: {**body, "appId": body["appId"].lower()})),
    ),
    reader(
        "keeps-the-progress-of-a-compaction",
        "TXN-005",
        viewing(_highest_of_compactions),
        "*/changed-after-compaction/*",
    ),
    reader(
        "overwrites-where-commitInfo-says-so",
        "CINFO-003",
        viewing(_overwriting),
        "protocol-evolution/commit-info-any-shape/*",
    ),
    *(
        reader(f"{slug}", "CINFO-003", viewing(_by_operation(operations, *kinds)), _SAID)
        for slug, operations, kinds in (
            ("passes-over-maintenance", ("OPTIMIZE", "VACUUM END"), ("add", "remove")),
            ("keeps-files-that-deletes-replace", ("DELETE", "TRUNCATE"), ("add",)),
            ("takes-a-dropped-table-for-empty", ("DROP TABLE",), ("add",)),
        )
    ),
    reader(
        "infers-no-deletes-of-appends",
        "CINFO-003",
        for_changes(viewing(_by_operation(("WRITE",), "remove"))),
        _SAID,
    ),
    reader("goes-back-where-a-restore-says-so", "CINFO-003", asking(_restored), _SAID),
    reader(
        "ends-lines-at-separators",
        "SNAP-007",
        viewing(content(COMMIT, _split_at_separators)),
        "delta-log-entries/separators-in-texts/*",
    ),
    reader(
        "keeps-surrogates-apart",
        "SNAP-007",
        viewing(content(COMMIT, lambda data: _PAIR.sub(rb"\\ufffd\\ufffd", data))),
        "delta-log-entries/letters-as-escapes/*",
    ),
)
