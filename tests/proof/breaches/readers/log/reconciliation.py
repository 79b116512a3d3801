"""Wrong readers of action reconciliation: which action holds, and from where."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINT,
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    JSON_CHECKPOINT,
    LATER_PARTS,
    SIDECAR,
    Lines,
    dropping,
    each,
    lines,
    matching,
    rewrite,
    setting,
    without,
)
from breaches.model import How, reader
from breaches.seams import Edit, answering, asking, documents, viewing
from breaches.views import (
    bodies,
    by_path_alone,
    commits_of,
    first_wins,
    log_actions,
    log_of,
    replaying,
)
from conformance.adapter import Ok, Scan


def _removed_stays(actions: Lines, kept: dict[Any, Any]) -> Lines:
    found = [a for a in actions if "add" not in a or a["add"]["path"] not in kept]
    kept.update((a["remove"]["path"], 1) for a in actions if "remove" in a)
    return found


def _removed_if(kept: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Take no notice of the removal of domains, but of some."""
    return lambda body: body if not body.get("removed") or kept(body) else None


def _removed_domain_stays(actions: Lines, kept: dict[Any, Any]) -> Lines:
    found = [
        a for a in actions if "domainMetadata" not in a or a["domainMetadata"]["domain"] not in kept
    ]
    gone = [a["domainMetadata"] for a in actions if "domainMetadata" in a]
    kept.update((body["domain"], 1) for body in gone if body.get("removed"))
    return found


def _added_twice(request: Any, answer: Any) -> Any:
    """Return rows of a file as often as the log adds it."""
    if not isinstance(answer, Ok) or not isinstance(request, Scan):
        return answer
    version = request.version
    paths = [
        a["add"]["path"]
        for number, found in commits_of(Path(request.table)).items()
        if version is None or number <= version
        for a in found
        if isinstance(a.get("add"), dict)
    ]
    if len(set(paths)) == len(paths) or not answer.payload.num_rows:
        return answer
    return Ok(pa.concat_tables([answer.payload, answer.payload]))


def _assumed(kind: str, body: dict[str, Any]) -> Callable[[Path, frozenset[str]], None]:
    """Take something for what a log lacks."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        held = [*bodies(root, kind)]
        first = min(commits_of(root), default=None)
        if not held and first is not None:
            name = rf"_delta_log/{first:020}\.json"
            lines(lambda found: [{kind: body}, *found], name)(root, fresh)

    return edit


_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
    }
)


_METADATA = {
    "id": "3f1c0a52-7a5d-4d58-9a01-6f2b8f9f2a10",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": _SCHEMA,
    "partitionColumns": [],
    "configuration": {},
}


def _of_any_case(kind: str, key: str, field: str) -> How:
    """Answer a name that is not there by one that differs by case."""

    def changed(request: Any) -> Any:
        asked = getattr(request, field, None)
        named = sorted({body[key] for body in bodies(Path(request.table), kind)})
        if asked is None or asked in named:
            return request
        alike = [name for name in named if name.lower() == asked.lower()]
        return replace(request, **{field: alike[0]}) if alike else request

    return asking(changed)


def _removed_by_name(found: Lines, live: dict[Any, Any]) -> Lines:
    """Let a remove take all files of its bare name."""
    paths = [action["remove"]["path"] for action in found if "remove" in action]
    gone = {path.rpartition("/")[2] for path in paths}
    more = [path for path in live if path.rpartition("/")[2] in gone and path not in paths]
    live |= {action["add"]["path"]: action for action in found if "add" in action}
    return [*found, *({"remove": {"path": path, "dataChange": True}} for path in more)]


def _by_path_after_checkpoints(root: Path, fresh: frozenset[str]) -> None:
    """Let a bare remove cancel what a checkpoint has of its path, whatever its vector."""
    held = {
        row["path"]: row["deletionVector"]
        for name in matching(f"{CHECKPOINT}|{SIDECAR}", fresh)
        if "add" in pq.read_schema(root / name).names
        for row in pq.read_table(root / name, columns=["add"]).column("add").to_pylist()
        if row and row.get("deletionVector")
    }

    def change(body: dict[str, Any]) -> dict[str, Any]:
        bare = body["path"] in held and not body.get("deletionVector")
        return {**body, "deletionVector": held[body["path"]]} if bare else body

    each("remove", change, COMMIT)(root, fresh)


def _plain_letters(_request: Any, payload: Any) -> Any:
    """Lose letters beyond ASCII."""
    return payload.encode("ascii", "ignore").decode() if isinstance(payload, str) else payload


def _summed_up(request: Any, payload: Any) -> Any:
    """Answer the metadata of the newest checksum, whatever commits say after it."""
    sums = [*log_of(Path(request.table)).glob("*.crc")]
    if not sums or not isinstance(payload, dict) or "metadata" not in payload:
        return payload
    return {**payload, "metadata": json.loads(max(sums).read_text())["metadata"]}


def _new_alone(kind: str) -> Callable[[Lines, dict[Any, Any]], Lines]:
    """Pass over actions of a kind that are as an earlier one was."""

    def replay(actions: Lines, kept: dict[Any, Any]) -> Lines:
        seen = [kind in a and json.dumps(a) in kept for a in actions]
        kept.update(dict.fromkeys(json.dumps(a) for a in actions))
        return [a for a, known in zip(actions, seen, strict=True) if not known]

    return replay


def _by_times_of_later_files(root: Path, fresh: frozenset[str]) -> None:
    """Replay the commits after the newest checkpoint in the order of their files' times."""
    start = max((path.name for path in log_of(root).glob("*.checkpoint*")), default="")[:20]
    later = [root / name for name in matching(COMMIT, fresh) if start and Path(name).stem > start]
    contents = [
        path.read_bytes() for path in sorted(later, key=lambda path: path.stat().st_mtime_ns)
    ]
    for path, content in zip(later, contents, strict=True):
        rewrite(path, content)


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


def _bare_removes_lost(root: Path, fresh: frozenset[str]) -> None:
    """Let removes without a vector cancel nothing where a checkpoint has vectors."""
    rows = [row for name in matching(CHECKPOINTS, fresh) for row in log_actions(root / name)]
    if any((row.get("add") or {}).get("deletionVector") for row in rows):
        each("remove", lambda b: b if b.get("deletionVector") else None, COMMIT)(root, fresh)


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


def _rows_of_checkpoints(root: Path, kind: str) -> Lines:
    """Return the actions of a kind that the checkpoints of a table hold."""
    found: Lines = []

    def keep(actions: Lines) -> None:
        found.extend(a[kind] for a in actions if a.get(kind) is not None)

    files = (path.relative_to(root).as_posix() for path in log_of(root).rglob("*"))
    lines(keep, CHECKPOINTS)(root, frozenset(files))
    return found


def _kept_from_checkpoints(
    kind: str, key: str, held: str, lost: Callable[[dict[str, Any]], object] = bool
) -> Edit:
    """Lose what commits after a checkpoint say of something that the checkpoint has.

    Args:
        kind: action that is lost.
        key: of the action.
        held: action of the checkpoint.
        lost: says of which actions that is so.
    """

    def edit(root: Path, fresh: frozenset[str]) -> None:
        known = {body.get(key) for body in _rows_of_checkpoints(root, held)}
        last = max((int(p.name[:20]) for p in log_of(root).glob("*.checkpoint*")), default=None)
        for name in matching(COMMIT, fresh):
            if last is not None and int(Path(name).stem) > last:
                each(
                    kind,
                    lambda body: None if body.get(key) in known and lost(body) else body,
                    name.replace(".", r"\."),
                )(root, fresh)

    return edit


def _by_path_in_checkpoints(actions: Lines) -> Lines:
    """Let a tombstone cancel an add of its path, whatever their vectors."""
    gone = {a["remove"]["path"] for a in actions if a.get("remove") is not None}
    return [a for a in actions if a.get("add") is None or a["add"]["path"] not in gone]


def _read_removes(found: Lines) -> Lines:
    """Read what is removed as what is there."""
    kept = ("path", "partitionValues", "size", "deletionVector")
    shown = []
    for action in found:
        body = action.get("remove")
        if body and body.get("partitionValues") is not None:
            add = {name: body[name] for name in kept if body.get(name) is not None}
            shown.append({"add": {**add, "modificationTime": 0, "dataChange": True}})
        else:
            shown.append(action)
    return shown


def _spelled(change: Callable[[str], str]) -> Callable[[Any, Any], Any]:
    """Give the properties of a snapshot in another spelling."""

    def changed(_request: Any, answer: Any) -> Any:
        if not isinstance(answer, dict) or "metadata" not in answer:
            return answer
        found = answer["metadata"]
        held = {change(k): change(v) for k, v in found.get("configuration", {}).items()}
        return {**answer, "metadata": {**found, "configuration": held}}

    return changed


def _latest_created(actions: Lines, kept: dict[Any, Any]) -> Lines:
    """Take no metadata that was created before what was taken."""
    found = []
    for action in actions:
        if "metaData" in action:
            time = action["metaData"].get("createdTime") or 0
            if time < kept.setdefault("time", time):
                continue
            kept["time"] = time
        found.append(action)
    return found


ROWS = (
    reader("replays-backwards", "REC-001", viewing(_backwards)),
    reader(
        "replays-by-file-times",
        "REC-001",
        viewing(_by_file_times),
        "table-specification/long-history/*",
    ),
    reader("first-protocol-wins", "REC-012", viewing(first_wins("protocol", lambda _: 0))),
    reader(
        "takes-a-protocol-for-granted",
        "REC-002",
        viewing(_assumed("protocol", {"minReaderVersion": 1, "minWriterVersion": 2})),
    ),
    reader("takes-metadata-for-granted", "REC-003", viewing(_assumed("metaData", _METADATA))),
    reader(
        "takes-metadata-by-its-time",
        "REC-013",
        viewing(replaying(_latest_created)),
        "action-reconciliation/metadata-created-earlier/*",
    ),
    reader("first-metadata-wins", "REC-013", viewing(first_wins("metaData", lambda _: 0))),
    reader("first-txn-wins", "REC-004", viewing(first_wins("txn", lambda b: b["appId"]))),
    reader(
        "first-txn-after-checkpoints-wins",
        "REC-004",
        viewing(without("txn", where=COMMIT)),
    ),
    reader(
        "first-domain-wins",
        "REC-014",
        viewing(first_wins("domainMetadata", lambda b: b["domain"])),
    ),
    reader("reads-a-file-twice", "REC-006", answering(_added_twice)),
    reader(
        "counts-files-of-compactions-beside-those-of-checkpoints",
        "REC-006",
        viewing(each("add", lambda body: {**body, "path": f"./{body['path']}"}, COMPACTION)),
        "log-compaction-files/added-again-after-checkpoint/*",
    ),
    reader("removed-stays-removed", "REC-008", viewing(replaying(_removed_stays))),
    reader("removes-by-path-alone", "REC-009", viewing(by_path_alone())),
    reader("cancels-adds-by-path-alone", "REC-010", viewing(by_path_alone())),
    reader("reads-what-was-removed", "REC-011", viewing(without("remove"))),
    reader("ignores-removes", "REC-018", viewing(without("remove"))),
    reader(
        "lets-removed-domains-hide-nothing",
        "REC-015",
        viewing(each("domainMetadata", lambda b: None if b.get("removed") else b)),
    ),
    reader(
        "gives-removed-domains",
        "REC-016",
        viewing(setting("domainMetadata", "removed", value=False)),
    ),
    *(
        reader(
            f"gives-removed-domains-{name}",
            "REC-016",
            viewing(each("domainMetadata", _removed_if(kept))),
            "domain-metadata/removed-otherwise-*",
        )
        for name, kept in (
            ("without-values", lambda b: bool(b["configuration"])),
            ("of-the-system", lambda b: not b["domain"].startswith("delta.")),
            ("of-the-second-time", lambda b: b["configuration"] != "2"),
        )
    ),
    reader(
        "removed-domains-stay-removed",
        "REC-017",
        viewing(replaying(_removed_domain_stays)),
    ),
    reader(
        "removes-files-by-bare-names",
        "REC-018",
        viewing(replaying(_removed_by_name)),
        "add-file-and-remove-file/one-name-in-folders/*",
    ),
    reader(
        "finds-domains-of-any-case",
        "REC-005",
        _of_any_case("domainMetadata", "domain", "domain"),
        "domain-metadata/names-alike/*",
    ),
    reader(
        "finds-applications-of-any-case",
        "REC-004",
        _of_any_case("txn", "appId", "app_id"),
        "transaction-identifiers/names-alike/*",
    ),
    *(
        reader(
            f"takes-applications-for-one-{slug}",
            "REC-004",
            viewing(setting("txn", "appId", short)),
            "transaction-identifiers/names-alike/*",
        )
        for slug, short in (
            ("without-blanks", str.strip),
            ("by-their-first-words", lambda name: re.split(r"[-:./]", name)[0]),
        )
    ),
    reader(
        "finds-no-protocol-in-later-parts",
        "REC-002",
        viewing(without("protocol", where=LATER_PARTS)),
        "checkpoints/multi-part-scattered/*",
    ),
    reader(
        "cancels-checkpointed-vectors-by-path",
        "REC-010",
        viewing(_by_path_after_checkpoints),
    ),
    reader(
        "reads-domains-in-the-first-part",
        "REC-014",
        viewing(without("domainMetadata", where=LATER_PARTS)),
        "checkpoints/multi-part-scattered-domains/*",
    ),
    reader(
        "reads-domains-as-ascii",
        "REC-014",
        documents(_plain_letters),
        "checkpoints/multi-part-scattered-domains/*",
    ),
    reader(
        "loses-tags-of-checkpoints",
        "REC-018",
        viewing(dropping("add", "tags", where=CHECKPOINTS)),
        "*/files-*",
    ),
    reader(
        "keeps-both-of-a-domain",
        "REC-005",
        viewing(first_wins("domainMetadata", lambda body: body["domain"])),
        "action-reconciliation/changed-after-*/domain-*",
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
    reader(
        "replays-by-the-times-of-files",
        "REC-001",
        viewing(_by_times_of_later_files),
        "action-reconciliation/in-order-after-*",
    ),
    reader(
        "joins-the-lists-of-protocols",
        "REC-002",
        viewing(replaying(_joined)),
        "action-reconciliation/protocol-*/snapshot-*",
    ),
    reader(
        "takes-metadata-of-an-older-checksum",
        "REC-013",
        documents(_summed_up),
        "action-reconciliation/changed-after-checksum/*",
    ),
    reader(
        "loses-bare-removes-beside-vectors",
        "REC-018",
        viewing(_bare_removes_lost),
        "*/removed-beside-vectors-*",
    ),
    reader(
        "keeps-tombstones-of-checkpoints",
        "REC-008",
        viewing(_kept_from_checkpoints("add", "path", "remove")),
        "action-reconciliation/added-again-after-*",
    ),
    reader(
        "cancels-by-path-in-checkpoints",
        "REC-010",
        viewing(lines(_by_path_in_checkpoints, CHECKPOINTS)),
        "deletion-vectors/life-cycle-checkpoint/*",
    ),
    reader(
        "keeps-domains-of-checkpoints",
        "REC-015",
        viewing(
            _kept_from_checkpoints(
                "domainMetadata", "domain", "domainMetadata", lambda body: body.get("removed")
            )
        ),
        "domain-metadata/removed-after-*",
    ),
    reader(
        "loses-vectors-of-json-checkpoints",
        "REC-018",
        viewing(dropping("add", "deletionVector", where=JSON_CHECKPOINT)),
        "v2-checkpoint-feature/json-with-vectors/*",
    ),
    reader(
        "loses-format-options-of-checkpoints",
        "REC-003",
        viewing(setting("metaData", "format.options", {}, where=CHECKPOINT)),
        "checkpoints/format-options/*",
    ),
    *(
        reader(
            f"loses-{field}-of-metadata-in-checkpoints",
            "REC-003",
            viewing(dropping("metaData", field, where=CHECKPOINTS)),
            "checkpoints/description/*",
        )
        for field in ("name", "description", "createdTime")
    ),
    *(
        reader(
            f"reads-tombstones-of-{name}",
            "REC-011",
            viewing(lines(_read_removes, where)),
            f"action-reconciliation/tombstones-after-{case}/*",
        )
        for name, case, where in (
            ("checkpoints", "classic", CHECKPOINT),
            ("parts", "multi-part", CHECKPOINT),
            ("v2-checkpoints", "v2-parquet", CHECKPOINT),
            ("sidecars", "v2-json-sidecars", SIDECAR),
            ("compactions", "compaction", COMPACTION),
        )
    ),
    *(
        reader(
            f"{slug}-properties",
            "REC-003",
            documents(_spelled(change)),
            "change-metadata/texts-as-written-*/snapshot-*",
        )
        for slug, change in (("folds", str.lower), ("strips", str.strip))
    ),
)
