"""Wrong readers of the log: commits, checkpoints, sidecars, compactions, hints, checksums."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    SIDECAR,
    Lines,
    content,
    deleting,
    each,
    lines,
    matching,
    only_when,
    renaming,
    without,
)
from breaches.model import reader
from breaches.seams import asking, refusing, rows, viewing, where_asked
from breaches.views import bodies, commits_of, log_of, vectors
from conformance.adapter import Scan


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


def _checkpoints(table: str | Path) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for path in log_of(Path(table)).glob("*.checkpoint*"):
        found.setdefault(int(path.name[:20]), []).append(path.name)
    return found


def _from_newer(pattern: str) -> Callable[[Any], Any]:
    """Start from the first checkpoint after the version that is asked for, if it is called so."""

    def ask(request: Any) -> Any:
        version = getattr(request, "version", None)
        if version is None:
            return request
        newer = [
            v
            for v, names in _checkpoints(request.table).items()
            if v > version and any(re.search(pattern, name) for name in names)
        ]
        return replace(request, version=min(newer)) if newer else request

    return ask


def _to_their_end(request: Any) -> Any:
    """Take a compaction whole, that the version which is asked for is within."""
    version = getattr(request, "version", None)
    if version is None:
        return request
    names = [path.name for path in log_of(Path(request.table)).glob("*.compacted.json")]
    ranges = [(int(name[:20]), int(name[21:41])) for name in names]
    ends = [end for start, end in ranges if start <= version < end]
    return replace(request, version=max(ends)) if ends else request


def _unfiltered(request: Any) -> Any:
    """Filter among the columns that are asked for alone: there is nothing to filter by."""
    if getattr(request, "columns", None) is None or request.filter is None:
        return request
    return replace(request, filter=None, predicate=None)


def _complete_parts(root: Path, _fresh: frozenset[str]) -> None:
    """Take a missing part for an empty one."""
    parts: dict[tuple[str, str], set[str]] = {}
    for path in log_of(root).glob("*.checkpoint.*.*.parquet"):
        version, _, number, count, _ = path.name.split(".")
        if number.isdigit() and count.isdigit():
            parts.setdefault((version, count), set()).add(number)
    for (version, count), there in parts.items():
        name = f"{version}.checkpoint.{{}}.{count}.parquet"
        held = pq.read_table(log_of(root) / name.format(min(there)))
        for number in range(1, int(count) + 1):
            text = f"{number:010}"
            if text not in there:
                pq.write_table(held.slice(0, 0), log_of(root) / name.format(text))


def _merged(actions: Lines, kept: dict[Any, Any]) -> Lines:
    for action in actions:
        if "metaData" in action:
            body, old = action["metaData"], kept.get("metaData", {})
            configuration = {**old.get("configuration", {}), **body.get("configuration", {})}
            kept["metaData"] = {**old, **body, "configuration": configuration}
            action["metaData"] = kept["metaData"]
    return [{**a} for a in actions]


def _merging(root: Path, fresh: frozenset[str]) -> None:
    kept: dict[Any, Any] = {}
    for version in commits_of(root):
        lines(partial(_merged, kept=kept), rf"_delta_log/{version:020}\.json")(root, fresh)


def _first_sidecar(actions: Lines) -> Lines:
    seen: list[Any] = []
    return [a for a in actions if "sidecar" not in a or (not seen and not seen.append(1))]  # type: ignore[func-returns-value]


def _trusting_the_hint(request: Any) -> Any:
    hint = log_of(Path(request.table)) / "_last_checkpoint"
    if getattr(request, "version", 0) is None and getattr(request, "timestamp", None) is None:
        try:
            return replace(request, version=int(json.loads(hint.read_bytes())["version"]))
        except (OSError, ValueError, KeyError, TypeError):
            return request
    return request


def _hint_of_other_bytes(root: Path) -> bool:
    try:
        hint = json.loads((log_of(root) / "_last_checkpoint").read_bytes())
        held = log_of(root) / f"{hint['version']:020}.checkpoint.parquet"
        return bool(hint["sizeInBytes"] != held.stat().st_size)
    except (ValueError, KeyError, TypeError):
        return False


def _lacks_newest_checksum(root: Path) -> bool:
    checksums = sorted(int(p.stem) for p in log_of(root).glob("*.crc"))
    return bool(checksums) and checksums[-1] < max(commits_of(root), default=-1)


def _backwards(root: Path, fresh: frozenset[str]) -> None:
    """Replay what follows the first commit in the wrong order."""
    commits = commits_of(root)
    order = sorted(commits)[1:]
    for version, other in zip(order, reversed(order), strict=True):
        actions = commits[other]
        lines(lambda _, found=actions: found, rf"_delta_log/{version:020}\.json")(root, fresh)  # type: ignore[misc]


def _by_file_times(root: Path, fresh: frozenset[str]) -> None:
    """Replay commits in the order of the times of their files."""
    commits = commits_of(root)
    times = {v: (log_of(root) / f"{v:020}.json").stat().st_mtime_ns for v in commits}
    for version, other in zip(commits, sorted(commits, key=lambda v: times[v]), strict=True):
        actions = commits[other]
        lines(lambda _, found=actions: found, rf"_delta_log/{version:020}\.json")(root, fresh)  # type: ignore[misc]


def _latest_metadata(root: Path, fresh: frozenset[str]) -> None:
    """Read every version with the metadata of the latest one."""
    newest = [*bodies(root, "metaData")][-1:]
    each("metaData", lambda body: newest[0] if newest else body, COMMIT)(root, fresh)


def _temporary_commits(root: Path, fresh: frozenset[str]) -> None:
    """Take a file that is called like the next commit for it, whatever follows its name."""
    following = max(commits_of(root), default=-1) + 1
    for name in matching(rf"_delta_log/{following:020}\.json\..+", fresh):
        (log_of(root) / f"{following:020}.json").write_bytes((root / name).read_bytes())


def _no_checksum(root: Path) -> bool:
    return log_of(root).is_dir() and not any(log_of(root).glob("*.crc"))


def _no_hint(root: Path) -> bool:
    return not (log_of(root) / "_last_checkpoint").exists()


def _past_gaps(root: Path, _fresh: frozenset[str]) -> None:
    """Count commits, and not go by their numbers."""
    if _checkpoints(root):
        return
    for number, path in enumerate(sorted(log_of(root).glob("*.json"))):
        if re.fullmatch(r"\d{20}\.json", path.name):
            path.rename(path.with_name(f"{number:020}.json"))


_OF_COMPACTIONS = {
    "removes": "remove",
    "adds": "add",
    "txns": "txn",
    "domains": "domainMetadata",
    "metadata": "metaData",
    "protocols": "protocol",
}
"""Actions of compactions, by what rows of the table call them."""

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
    reader("starts-from-a-newer-checkpoint", "CKPT-004", asking(_from_newer(""))),
    *(
        reader(f"starts-from-{what}", "CKPT-004", asking(_from_newer(pattern)))
        for what, pattern in (
            ("newer-parts", r"checkpoint\.[0-9]+\."),
            ("a-newer-v2-checkpoint", r"checkpoint\.[0-9a-f]{8}-"),
        )
    ),
    reader("takes-missing-parts-for-empty", "CKPT-030", viewing(_complete_parts)),
    reader(
        "takes-parts-that-the-hint-names-for-whole",
        "CKPT-030",
        viewing(
            only_when(lambda root: (log_of(root) / "_last_checkpoint").exists(), _complete_parts)
        ),
    ),
    reader(
        "takes-no-dataChange-for-no-change",
        "CKC-027",
        viewing(
            each("add", lambda b: b if b.get("dataChange") else None),
            each("remove", lambda b: b if b.get("dataChange") else None),
        ),
    ),
    reader(
        "keeps-files-removed-without-a-change",
        "CKC-027",
        viewing(each("remove", lambda b: b if b.get("dataChange") else None, COMMIT)),
    ),
    reader("refuses-the-hint-of-a-race", "CKPT-N-001", refusing(_hint_of_other_bytes)),
    reader(
        "pads-names-of-checkpoints",
        "SNAP-007",
        viewing(
            renaming(
                r"_delta_log/\d{1,19}\.checkpoint\.parquet",
                lambda name: f"_delta_log/{Path(name).name:0>39}",
            )
        ),
        "checkpoints/foreign-names/*",
    ),
    reader("leaves-sidecars-out", "SIDE-005", viewing(without("sidecar"))),
    reader(
        "reads-one-sidecar-alone",
        "SIDE-005",
        viewing(lines(_first_sidecar, CHECKPOINTS)),
    ),
    reader(
        "reads-nothing-but-sidecars",
        "SIDE-005",
        viewing(without("txn", "domainMetadata", where=CHECKPOINT)),
    ),
    *(
        reader(
            f"takes-no-{called}-of-compactions",
            "COMP-012",
            viewing(without(action, where=COMPACTION)),
        )
        for called, action in _OF_COMPACTIONS.items()
    ),
    reader("takes-compactions-beyond-the-version", "COMP-012", asking(_to_their_end)),
    reader(
        "mistakes-vectors-of-compactions",
        "COMP-012",
        viewing(vectors(lambda _rows, _file: {0}, COMPACTION)),
    ),
    reader("takes-the-hint-for-the-end", "LAST-003", asking(_trusting_the_hint)),
    reader(
        "finds-no-checkpoint-without-hint",
        "LAST-004",
        viewing(only_when(_no_hint, deleting(f"{CHECKPOINT}|_delta_log/.*checkpoint.*json"))),
    ),
    reader(
        "asks-for-the-hint",
        "LAST-004",
        refusing(lambda root: _no_hint(root) and log_of(root).is_dir()),
    ),
    reader("wants-checksums", "CRC-042", refusing(_no_checksum)),
    reader("asks-for-checksums", "CRC-042", refusing(_lacks_newest_checksum)),
    reader("merges-metadata", "META-002", viewing(_merging)),
    reader(
        "reads-by-properties-left-out",
        "META-002",
        where_asked(lambda request: isinstance(request, Scan), viewing(_merging)),
        "column-mapping/*",
    ),
    reader("replays-backwards", "REC-001", viewing(_backwards)),
    reader(
        "replays-by-file-times",
        "REC-001",
        viewing(_by_file_times),
        "table-specification/long-history/*",
    ),
    reader(
        "looks-for-sidecars-elsewhere",
        "SCA-004",
        viewing(renaming(SIDECAR, lambda name: name.replace("_sidecars/", ""))),
    ),
)
