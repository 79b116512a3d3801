"""Wrong readers that go wrong in one place alone: a form of summary, a question, a kind of file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    CHECKPOINTS,
    COMMIT,
    COMPACTION,
    JSON_CHECKPOINT,
    Lines,
    deleting,
    each,
    lines,
    listed,
    matching,
    parquet,
    read_lines,
    struct_fields,
    without,
)
from breaches.model import reader
from breaches.readers.actions import KNOWN
from breaches.readers.features import for_changes
from breaches.seams import Edit, refusing, viewing
from breaches.views import bodies, commits_of, log_of, vectors
from schemas.features import FEATURES

_ID: Final = "delta.columnMapping.id"
_NAME: Final = "delta.columnMapping.physicalName"
_WHOLE: Final = 65_536
"""Rows of a whole container."""


def _unknown(actions: Lines) -> bool:
    return any(not action.keys() <= KNOWN for action in actions)


def _unknown_in(pattern: str) -> Callable[[Path], bool]:
    def found(root: Path) -> bool:
        files = (path.relative_to(root).as_posix() for path in log_of(root).glob("*.json"))
        return any(_unknown(read_lines(root / name)) for name in matching(pattern, files))

    return found


def _unknown_columns(folder: str) -> Callable[[Path], bool]:
    return lambda root: any(
        not {*pq.read_schema(path).names} <= KNOWN for path in log_of(root).glob(folder)
    )


def _unknown_in_commits(root: Path) -> bool:
    return any(map(_unknown, commits_of(root).values()))


def _domains_of_a_checkpoint(root: Path) -> bool:
    return any(
        row is not None and row["domain"] != "delta.rowTracking"
        for path in log_of(root).glob("*.checkpoint*.parquet")
        for row in pq.read_table(path, columns=["domainMetadata"])[0].to_pylist()
    )


def _parts_without_hint(root: Path, fresh: frozenset[str]) -> None:
    if not (log_of(root) / "_last_checkpoint").exists():
        deleting(r"_delta_log/\d{20}\.checkpoint\.\d{10}\.\d{10}\.parquet")(root, fresh)


def _no_whole_runs(marked: set[int], _path: Path) -> set[int]:
    """Read no run that fills its container."""
    starts = range(0, max(marked, default=0) + 1, _WHOLE)
    whole = [range(at, at + _WHOLE) for at in starts if marked.issuperset(range(at, at + _WHOLE))]
    return marked.difference(*whole)


def _only_with_ids(table: pa.Table) -> pa.Table:
    """Take the version of a row where the row has an id."""
    names = {name.rpartition("-col")[0].lstrip("_"): name for name in table.column_names}
    version, number = names.get("row-commit-version"), names.get("row-id")
    if version is None:
        return table
    at, nothing = table.schema.get_field_index(version), pa.scalar(None, pa.int64())
    held = pa.nulls(len(table), pa.int64())
    if number is not None:
        held = pc.if_else(pc.is_valid(table[number]), table[version], nothing)
    return table.set_column(at, version, held)


def _all_or_none(table: pa.Table) -> pa.Table:
    """Take the ids of a file where every row of it has one."""
    for at, name in enumerate(table.column_names):
        if name.startswith("_row-id-col") and table[name].null_count:
            table = table.set_column(at, name, pa.nulls(len(table), pa.int64()))
    return table


def _else_by_id(root: Path, fresh: frozenset[str]) -> None:
    """Take a column of the right id where none has the name."""
    trees = [json.loads(body["schemaString"]) for body in bodies(root, "metaData")]
    held = [f["metadata"] for f in struct_fields(trees[-1])] if trees else []
    names = {str(each[_ID]).encode(): each[_NAME] for each in held if _ID in each}

    def renamed(table: pa.Table) -> pa.Table:
        ids = [(each.metadata or {}).get(b"PARQUET:field_id", b"") for each in table.schema]
        found = zip(table.column_names, ids, strict=True)
        return table.rename_columns([names.get(number, name) for name, number in found])

    parquet(renamed)(root, fresh)


def _partitioned_changes(actions: Lines) -> Lines:
    """Pass over change files of partitions."""
    return [a for a in actions if not (a.get("cdc") or {}).get("partitionValues")]


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


def _known_version(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "minReaderVersion": min(body["minReaderVersion"], 3)}


def _places() -> dict[str, Any]:
    return {
        "compactions": refusing(_unknown_in(COMPACTION)),
        "checkpoints-in-json": refusing(_unknown_in(JSON_CHECKPOINT)),
        "sidecars": refusing(_unknown_columns("_sidecars/*.parquet")),
        "checkpoints": refusing(_unknown_columns("*.checkpoint.*.parquet")),
        "commits-of-changes": for_changes(refusing(_unknown_in_commits)),
    }


ROWS = (
    *(
        reader(
            f"refuses-unknown-actions-in-{place}",
            "PROTO-008",
            how,
            "protocol-evolution/unknown-actions-in-*",
        )
        for place, how in _places().items()
    ),
    reader(
        "refuses-domains-of-a-checkpoint",
        "PROTO-010",
        refusing(_domains_of_a_checkpoint),
        "domain-metadata/unknown-domains-in-*",
    ),
    reader(
        "finds-no-parts-without-hint",
        "LAST-004",
        viewing(_parts_without_hint),
        "last-checkpoint-file/absent-before-parts/*",
    ),
    reader(
        "reads-no-whole-runs",
        "DVFMT-007",
        viewing(vectors(_no_whole_runs)),
        "deletion-vector-format/whole-containers/*",
    ),
    reader(
        "takes-ids-of-all-rows-or-none",
        "RT-023",
        viewing(parquet(_all_or_none)),
        "row-tracking/ids-of-some-rows/*",
    ),
    reader(
        "takes-versions-of-rows-with-ids",
        "RT-025",
        viewing(parquet(_only_with_ids)),
        "row-tracking/versions-*",
    ),
    reader(
        "falls-back-to-ids-in-mode-name",
        "CM-029",
        viewing(_else_by_id),
        "column-mapping/name-missing-id-there/*",
    ),
    reader(
        "infers-changes-of-partitions",
        "CDC-003",
        viewing(lines(_partitioned_changes, COMMIT)),
        "change-data-files/files-win-*",
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
        "loses-domains-of-compactions",
        "DOM-012",
        viewing(without("domainMetadata", where=COMPACTION)),
        "domain-metadata/removed-after-*",
    ),
    reader(
        "overwrites-where-commitInfo-says-so",
        "CINFO-003",
        viewing(_overwriting),
        "protocol-evolution/commit-info-any-shape/*",
    ),
    reader(
        "reads-any-reader-version-of-a-checkpoint",
        "PROTO-005",
        viewing(each("protocol", _known_version, CHECKPOINTS)),
        "protocol-evolution/unknown-reader-version-*",
    ),
    reader(
        "reads-any-reader-version-of-a-compaction",
        "PROTO-005",
        viewing(each("protocol", _known_version, COMPACTION)),
        "protocol-evolution/unknown-reader-version-*",
    ),
    reader(
        "reads-unknown-features-of-a-checkpoint",
        "TF-001",
        viewing(listed(lambda names: [n for n in names if n in FEATURES], where=CHECKPOINTS)),
        "table-features/unknown-reader-feature-in-*",
    ),
)
