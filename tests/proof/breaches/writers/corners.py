"""Wrong writers that are right in the plain case: behind checkpoints, in other types, elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from breaches.edits import (
    CHANGES,
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    DATA,
    JSON_CHECKPOINT,
    SIDECAR,
    Lines,
    columns,
    dropping,
    each,
    fields,
    lines,
    matching,
    nulls,
    parquet,
    properties,
    read_lines,
    schema,
    setting,
    statistics,
    struct_fields,
    without,
    write_lines,
)
from breaches.model import Ask, writer
from breaches.seams import Edit, afterwards, by_request, carrying_out, during, leaving, writing
from breaches.views import bodies, commits_of, log_of
from breaches.writers.tracking import STARTING_EARLY
from conformance.adapter import Answer, Request

_DEFAULTS = "default-columns/write-"
_VALUES = "add-file-and-remove-file/write-odd-value-"


_SINCE = "delta.inCommitTimestampEnablementVersion"


def _since_the_first(root: Path, fresh: frozenset[str]) -> None:
    """Let timestamps that are turned on again begin where they began at first."""
    given = [body["configuration"].get(_SINCE) for body in bodies(root, "metaData")]
    first = next(version for version in [*given, None] if version or version is None)
    properties(lambda p: p.update({_SINCE: first}) if _SINCE in p else None, COMMIT)(root, fresh)


def _recorded_again(field: Any) -> None:
    if field["name"] == "x":
        record = {"fromType": "integer", "toType": "long"}
        field["metadata"]["delta.typeChanges"] = [record]


def _plain_letters(text: str, escape: str) -> str:
    """Return a text with the letters that folders may have and a URI may not, as they are."""
    return re.sub(f"{escape}(3C|3E|60|7C|7D)", lambda found: chr(int(found[1], 16)), text)


def _plain_folders(root: Path, fresh: frozenset[str]) -> None:
    """Name folders by their values but for what stands for something in a path, as Spark does."""
    for name in matching(DATA, fresh):
        target = root / _plain_letters(name, "%")
        target.parent.mkdir(exist_ok=True)
        (root / name).rename(target)
    for kind in ("add", "remove"):
        setting(kind, "path", lambda path: _plain_letters(path, "%25"), COMMIT)(root, fresh)


def _of_the_first(held: dict[str, Any]) -> dict[str, Any]:
    """Return statistics of the first 32 columns, of those that the file has counts of."""
    names = {*list(held["nullCount"])[:32]}
    return {
        key: {n: v for n, v in found.items() if n in names} if isinstance(found, dict) else found
        for key, found in held.items()
    }


def _no_moved_tombstones(root: Path, fresh: frozenset[str]) -> None:
    """Leave tombstones of what was rearranged out of checkpoints."""
    moved = {body["path"] for body in bodies(root, "remove") if not body["dataChange"]}
    each("remove", lambda body: None if body["path"] in moved else body, CHECKPOINTS)(root, fresh)


def _lacking(name: str) -> Edit:
    return statistics(lambda found: {key: found[key] for key in found if key != name}, COMMIT)


def _without_column(name: str) -> Edit:
    def change(rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index(name)
        kept = [value if value == 5 else None for value in rows.column(at).to_pylist()]
        return rows.set_column(at, rows.field(at), pa.array(kept, rows.field(at).type))

    return parquet(change)


def _unmapped(root: Path, fresh: frozenset[str]) -> None:
    """Leave the default of the second column out, whatever files call it."""
    column = json.loads(next(bodies(root, "metaData"))["schemaString"])["fields"][1]
    name = column["metadata"]["delta.columnMapping.physicalName"]
    _without_column(name)(root, fresh)


def _first_default(rows: pa.Table) -> pa.Table:
    at = rows.schema.get_field_index("name")
    kept = ["first" if value == "second" else value for value in rows.column(at).to_pylist()]
    return rows.set_column(at, rows.field(at), pa.array(kept, rows.field(at).type))


def _spelled(change: Any) -> Edit:
    """Spell the partition values of adds otherwise."""
    return each(
        "add",
        lambda body: {
            **body,
            "partitionValues": {k: v and change(v) for k, v in body["partitionValues"].items()},
        },
        COMMIT,
    )


def _moved_too(root: Path, fresh: frozenset[str]) -> None:
    """Keep in a compaction the files that its range adds and moves, beside their tombstones."""
    added = {body["path"]: body for body in bodies(root, "add")}
    for name in matching(COMPACTION, fresh):
        found = read_lines(root / name)
        quiet = [a["remove"] for a in found if a.get("remove", {}).get("dataChange") is False]
        found += [{"add": added[body["path"]]} for body in quiet if body["path"] in added]
        write_lines(root / name, found)


def _known(root: Path) -> frozenset[int]:
    return frozenset(commits_of(root)) if root.exists() else frozenset()


def _split(root: Path, known: frozenset[int]) -> None:
    """Leave the first file of a commit with progress in a commit of its own before it."""
    found = commits_of(root)
    for version in sorted(found.keys() - known):
        adds: Lines = [action for action in found[version] if "add" in action]
        if len(adds) < 2 or not any("txn" in action for action in found[version]):
            continue
        rest = [action for action in found[version] if action not in adds[:1]]
        info = [action for action in rest if "commitInfo" in action]
        for at, actions in ((version, [*info, adds[0]]), (version + 1, rest)):
            text = "".join(json.dumps(action) + "\n" for action in actions)
            (log_of(root) / f"{at:020}.json").write_text(text)
        for path in log_of(root).glob("*.crc"):
            path.unlink()


def _no_vectors(root: Path) -> None:
    for path in root.glob("*.bin"):
        path.unlink()


def _taken_with_vectors(root: Path, fresh: frozenset[str]) -> None:
    """Rewrite the files of others that have a vector, in a run that clusters."""
    live = {body["path"]: body for body in bodies(root, "add")}
    theirs = [body for body in live.values() if body.get("deletionVector")]
    for name in matching(COMMIT, fresh):
        found = read_lines(root / name)
        runs = [a["add"] for a in found if a.get("add", {}).get("clusteringProvider")]
        for body in theirs if runs else ():
            now, own = time.time_ns() // 1_000_000, runs[0]["clusteringProvider"]
            if body.get("clusteringProvider") in (None, own):
                continue
            shutil.copy(root / body["path"], root / f"own-{body['path']}")
            kept = {"deletionVector": body["deletionVector"], "path": body["path"]}
            taken = {"path": f"own-{body['path']}", "clusteringProvider": own}
            more = {"dataChange": False, "modificationTime": now}
            found.append({"remove": {**kept, "deletionTimestamp": now, "dataChange": False}})
            found.append({"add": {**body, **taken, **more}})
        write_lines(root / name, found)


def _described_as_at_first(root: Path, fresh: frozenset[str]) -> None:
    first = next(bodies(root, "metaData"))
    lines(lambda actions: [*actions, {"metaData": first}], COMMIT)(root, fresh)


def _numbered_again(tree: Any) -> None:
    for number, field in enumerate(struct_fields(tree), 1):
        field["metadata"]["delta.columnMapping.id"] = number


@by_request
def _cleaning_too_far(ask: Ask, request: Request) -> Answer:
    """Clean the log by a checkpoint that lacks a part."""
    answer = ask(request)
    if writing("cleanup")(request):
        (log_of(Path(request.table)) / f"{0:020}.json").unlink()
    return answer


@by_request
def _cleaning_the_cutoff(ask: Ask, request: Request) -> Answer:
    """Clean the commit of the checkpoint that stays, too."""
    answer = ask(request)
    if writing("cleanup")(request):
        log = log_of(Path(request.table))
        first = min(log.glob("*.checkpoint*.parquet"))
        (log / f"{first.name[:20]}.json").unlink(missing_ok=True)
    return answer


def _first_of_each_kind(rows: pa.Table) -> pa.Table:
    kinds = rows["_change_type"].to_pylist()
    return rows.take([kinds.index(kind) for kind in sorted(set(kinds))])


ROWS = (
    writer(
        "numbers-columns-again-when-it-replaces",
        "CM-022",
        during("replace", schema(_numbered_again, COMMIT)),
        "row-tracking/write-replace-mapped/*",
    ),
    writer(
        "leaves-tombstones-out-of-sidecars",
        "CKC-005",
        leaving(without("remove", where=SIDECAR)),
        "checkpoints/write-v2-*-sidecars/*",
    ),
    writer(
        "cleans-by-a-checkpoint-that-lacks-a-part",
        "CKPT-011",
        _cleaning_too_far,
        "metadata-cleanup/write-cleanup-nothing/*",
    ),
    writer("cleans-the-commit-of-the-cutoff", "CLEAN-012", _cleaning_the_cutoff),
    writer(
        "records-the-first-row-of-each-change",
        "CDC-012",
        leaving(parquet(_first_of_each_kind, CHANGES)),
        "change-data-files/write-partitions/*",
    ),
    writer(
        "restores-the-times-of-before-they-were-off",
        "ICT-010",
        during("restore", _described_as_at_first),
        "in-commit-timestamps/write-enable-again-behind/*",
    ),
    writer(
        "clusters-what-others-did-and-has-vectors",
        "CLUS-012",
        leaving(_taken_with_vectors),
        "clustered-table/write-cluster-run-vectors/*",
    ),
    *(
        writer(
            f"takes-constraints-of-rows-{name}",
            "CHK-009",
            carrying_out(),
            f"check-constraints/write-add-broken-{name}/*",
        )
        for name in ("beside", "checkpointed", "partition", "renamed", "vectors")
    ),
    *(
        writer(f"defaults-not-{name}", "DFT-005", leaving(edit), f"{_DEFAULTS}{case}/*")
        for name, case, edit in (
            ("by-expressions", "default-expression", _without_column("n")),
            ("where-mapped", "default-mapped", _unmapped),
            ("by-the-last-value", "set-default-again", parquet(_first_default)),
            ("partitions", "default-partition", _spelled(lambda v: "a" if v == "none" else v)),
        )
    ),
    *(
        writer(f"{name}-partition-texts", "PART-003", leaving(edit), f"{_VALUES}{of}/*")
        for name, of, edit in (
            ("counts", "number", _spelled(lambda v: str(int(v)) if v.isdigit() else v)),
            ("escapes", "backslash", _spelled(lambda v: v.replace("\\", "\\\\"))),
            ("composes", "decomposed", _spelled(lambda v: v.replace("e\u0301", "\u00e9"))),
        )
    ),
    *(
        writer(
            f"counts-not-{name}",
            "DVDESC-022",
            leaving(dropping("add", "stats", where=COMMIT)),
            f"deletion-vectors-design/write-{case}/*",
        )
        for name, case in (("without-bounds", "without-bounds"), ("anew", "uncounted"))
    ),
    *(
        writer(
            f"starts-{name}-behind-the-file",
            "ICT-012",
            STARTING_EARLY,
            f"in-commit-timestamps/write-enable-{case}/*",
        )
        for name, case in (("checkpointed", "behind-checkpoint"), ("again", "again-behind"))
    ),
    writer(
        "compacts-what-was-moved",
        "COMP-006",
        leaving(_moved_too),
        "log-compaction-files/write-compaction-rearranged/*",
    ),
    writer(
        "commits-rows-before-their-progress",
        "TXN-004",
        afterwards(_split, _known),
        "transaction-identifiers/write-with-partitions/*",
    ),
    *(
        writer(
            f"lets-nulls-pass-an-invariant-by-{operation}",
            "INV-006",
            carrying_out(),
            f"column-invariants/write-null-{operation}/*",
        )
        for operation in ("merge", "overwrite", "update")
    ),
    writer(
        "knows-no-invariants-at-2",
        "WVER-001",
        carrying_out(),
        "version-requirements/write-invariant-2/*",
    ),
    writer(
        "appends-by-the-protocol-of-a-checkpoint",
        "TF-003",
        carrying_out(),
        "table-features/write-unknown-feature-later/*",
    ),
    writer(
        "leaves-letters-of-folders-unescaped",
        "ADD-004",
        leaving(_plain_folders),
        "add-file-and-remove-file/write-append-partitions/*",
    ),
    writer(
        "checkpoints-no-tombstones-of-what-was-rearranged",
        "CKC-005",
        leaving(_no_moved_tombstones),
        "checkpoints/write-long-retention/*",
    ),
    writer(
        "checkpoints-commitInfo-in-json",
        "CKC-012",
        leaving(lines(lambda found: [*found, {"commitInfo": {}}], JSON_CHECKPOINT)),
        "checkpoints/write-v2-json/*",
    ),
    writer(
        "vacuums-by-the-protocol-of-a-checkpoint",
        "VPC-002",
        carrying_out(),
        "vacuum-protocol-check/write-unknown-feature-later/*",
    ),
    writer(
        "vacuums-vectors-before-it-refuses",
        "VPC-002",
        afterwards(_no_vectors),
        "vacuum-protocol-check/write-unknown-feature-vectors/*",
    ),
    writer(
        "backfills-row-ids-under-loose-bounds",
        "STAT-012",
        during("set_properties", _lacking("tightBounds")),
        "row-tracking/write-enable-with-vectors/*",
    ),
    writer(
        "leaves-row-ids-out-of-sidecars",
        "RT-031",
        during("checkpoint", dropping("add", "baseRowId", where=SIDECAR)),
        "checkpoints/write-v2-json-vectors/*",
    ),
    writer(
        "turns-timestamps-on-again-since-the-first-time",
        "ICT-010",
        during("set_properties", _since_the_first),
        "in-commit-timestamps/write-enable/*",
    ),
    writer(
        "drops-type-widening-but-for-structs",
        "TW-011",
        during("drop_feature", fields(_recorded_again, COMMIT)),
        "type-widening/write-drop-feature/*",
    ),
    writer(
        "records-no-default-of-what-a-merge-inserts",
        "CDC-001",
        during("merge", parquet(columns(lambda of: of.name == "name", nulls), CHANGES)),
        "default-columns/write-merge-with-default/*",
    ),
    writer(
        "restores-without-counts-under-iceberg",
        "ICE2-016",
        during("restore", _lacking("numRecords")),
        "iceberg-compatibility-v2/write-merge/*",
    ),
    writer(
        "counts-the-first-columns-alone",
        "CLUS-009",
        leaving(statistics(_of_the_first)),
        "clustered-table/write-far-column/*",
    ),
)
