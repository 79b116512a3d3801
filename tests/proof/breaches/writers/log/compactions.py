"""Wrong writers of log compactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from breaches.edits import (
    COMPACTION,
    Lines,
    dropping,
    each,
    lines,
    matching,
    merged_actions,
    read_lines,
    renaming,
    without,
    without_last,
    write_lines,
)
from breaches.model import writer
from breaches.seams import during, leaving
from breaches.views import bodies, dead_files


def _moved_too(root: Path, fresh: frozenset[str]) -> None:
    """Keep in a compaction the files that its range adds and moves, beside their tombstones."""
    added = {body["path"]: body for body in bodies(root, "add")}
    for name in matching(COMPACTION, fresh):
        found = read_lines(root / name)
        quiet = [a["remove"] for a in found if a.get("remove", {}).get("dataChange") is False]
        found += [{"add": added[body["path"]]} for body in quiet if body["path"] in added]
        write_lines(root / name, found)


_COMPACTED = "log-compaction-files/write-compaction-*"


def _timeless_lost(body: dict[str, Any]) -> dict[str, Any] | None:
    return body if body.get("deletionTimestamp") is not None else None


def _old_txns(actions: Lines) -> Lines:
    return [
        *actions,
        *(
            {"txn": {**a["txn"], "version": max(0, a["txn"]["version"] - 1)}}
            for a in actions
            if "txn" in a
        ),
    ]


def _added_too(root: Path, fresh: frozenset[str]) -> None:
    """Keep the add of a file that was removed within the range."""
    dead = dead_files(root)
    lines(lambda found: [*found, *dead], COMPACTION)(root, fresh)


ROWS = (
    writer(
        "compacts-under-another-name",
        "COMP-002",
        leaving(renaming(COMPACTION, lambda n: n.replace(".compacted", ".compact"))),
        "log-compaction*",
    ),
    writer(
        "compacts-in-a-folder",
        "COMP-001",
        leaving(renaming(COMPACTION, lambda n: n.replace("_delta_log/", "_delta_log/_compacted/"))),
        "log-compaction*",
    ),
    writer(
        "compacts-without-removes",
        "COMP-007",
        leaving(without("remove", where=COMPACTION)),
    ),
    writer("compacts-without-adds", "COMP-004", leaving(without_last("add", COMPACTION))),
    writer("compacts-what-was-removed", "COMP-006", leaving(_added_too), "log-compaction*"),
    writer(
        "compacts-every-txn",
        "COMP-008",
        leaving(lines(_old_txns, COMPACTION)),
        "log-compaction*",
    ),
    writer(
        "compacts-two-actions-in-a-line",
        "COMP-005",
        leaving(lines(merged_actions, COMPACTION)),
        "log-compaction*",
    ),
    writer(
        "compacts-what-was-moved",
        "COMP-006",
        leaving(_moved_too),
        "log-compaction-files/write-compaction-rearranged/*",
    ),
    *(
        writer(
            f"compacts-without-{name}",
            "COMP-004",
            leaving(dropping("add", *fields_of, where=COMPACTION)),
            _COMPACTED,
        )
        for name, fields_of in (
            ("row-ids", ("baseRowId", "defaultRowCommitVersion")),
            ("tags", ("tags",)),
            ("clustering-provider", ("clusteringProvider",)),
            ("statistics", ("stats",)),
        )
    ),
    writer(
        "compacts-without-applications",
        "COMP-004",
        leaving(without("txn", where=COMPACTION)),
        _COMPACTED,
    ),
    writer(
        "compacts-removals-of-domains-away",
        "COMP-004",
        leaving(each("domainMetadata", lambda body: None if body["removed"] else body, COMPACTION)),
        "log-compaction-files/write-compaction-domain-removed/*",
    ),
    writer(
        "compacts-removes-without-vectors",
        "COMP-006",
        leaving(dropping("remove", "deletionVector", where=COMPACTION)),
        _COMPACTED,
    ),
    writer(
        "compacts-removes-without-row-ids",
        "COMP-007",
        leaving(dropping("remove", "baseRowId", where=COMPACTION)),
        _COMPACTED,
    ),
    writer(
        "compacts-without-removes-of-no-time",
        "COMP-007",
        leaving(each("remove", _timeless_lost, COMPACTION)),
        "*/write-compaction-given/*",
    ),
    writer(
        "compacts-without-settings",
        "COMP-004",
        during("compact_log", without("metaData", where=COMPACTION)),
        "table-features/write-compactions-course/*",
    ),
    writer(
        "compacts-ids-away",
        "COMP-004",
        during("compact_log", dropping("add", "defaultRowCommitVersion", where=COMPACTION)),
        "table-features/write-compactions-course/*",
    ),
    writer(
        "compacts-no-older-tombstones-behind-a-cut-log",
        "COMP-007",
        during("compact_log", without("remove", where=COMPACTION)),
        "change-data-files/write-cut-course/*",
    ),
)
