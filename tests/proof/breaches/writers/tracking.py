"""Wrong writers of row tracking, in-commit timestamps, clustering and Iceberg compatibility."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from breaches.edits import (
    COMMIT,
    Lines,
    dropping,
    fields,
    lines,
    parquet,
    properties,
    setting,
    statistics,
    uncounted,
    unlisted,
    without,
)
from breaches.model import writer
from breaches.seams import Edit, carrying_out, during, leaving
from breaches.views import bodies
from breaches.writers.features import (
    ICE1,
    ICE2,
    ROW_ID,
    ROW_VERSION,
    TIMED,
    TRACKED,
    _a_minute_on,
    _domain,
    _drop_from,
    _first_of_all,
    _lower,
    _setting_property,
    _without_partitions,
    after_step,
    materialised,
)

_UNCLUSTERED = {
    "domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": True}
}


def _with_row_ids(root: Path, fresh: frozenset[str]) -> None:
    """Keep the number of each row in a column of its file."""
    parquet(lambda rows: rows.append_column("_row_id", pa.array(range(len(rows)), pa.int64())))(
        root, fresh
    )


def _storing(suffix: str, field: str, step: int) -> Edit:
    """Store what new rows have afresh in a column of row tracking, in the place of null."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        held = {
            key: value
            for b in bodies(root, "metaData")
            for key, value in b["configuration"].items()
        }
        name = next((value for key, value in held.items() if key.endswith(suffix)), None)
        for body in bodies(root, "add"):
            path, first = unquote(body["path"]), body.get(field)
            if name is None or first is None or path not in fresh:
                continue

            def change(rows: pa.Table, first: int = first, name: str = name) -> pa.Table:
                kept = rows.drop_columns([name]) if name in rows.column_names else rows
                values = [first + step * at for at in range(len(rows))]
                return kept.append_column(name, pa.array(values, pa.int64()))

            parquet(change)(root, frozenset({path, *(n for n in fresh if n.endswith(".json"))}))

    return edit


def _unversioned(actions: Lines) -> Lines:
    """Leave the version out of files that take the place of others."""
    if not any("remove" in action for action in actions):
        return actions
    held = [{**a, "add": {**a["add"]}} if "add" in a else a for a in actions]
    for action in held:
        action.get("add", {}).pop("defaultRowCommitVersion", None)
    return held


def _taken_over(root: Path, fresh: frozenset[str]) -> None:
    """Rewrite files that others have clustered in a run that clusters."""

    def change(actions: Lines) -> Lines:
        runs = [a for a in actions if a.get("add", {}).get("clusteringProvider")]
        if not runs:
            return actions
        live = {body["path"]: body for body in bodies(root, "add")}
        for action in actions:
            live.pop(action.get("add", {}).get("path"), None)
        own = runs[0]["add"]["clusteringProvider"]
        for path, body in live.items():
            if body.get("clusteringProvider") not in (None, own):
                (root / f"own-{path}").write_bytes((root / path).read_bytes())
                now = time.time_ns() // 1_000_000
                gone = {"path": path, "deletionTimestamp": now, "dataChange": False}
                taken = {"path": f"own-{path}", "clusteringProvider": own, "dataChange": False}
                added = {**body, **taken, "modificationTime": now}
                actions = [*actions, {"remove": gone}, {"add": added}]
        return actions

    lines(change, COMMIT)(root, fresh)


def _by_zero(field: Any) -> None:
    if "delta.identity.step" in field["metadata"]:
        field["metadata"]["delta.identity.step"] = 0


STARTING_EARLY = leaving(
    setting("commitInfo", "inCommitTimestamp", 1_000, COMMIT),
    properties(lambda p: p.update({k: "1000" for k in p if k.endswith("EnablementTimestamp")})),
)
"""Turn in-commit timestamps on at a time before that of the files."""


def _as_texts(found: Any) -> Any:
    """Take the bounds of numbers that texts order otherwise for each other."""
    low, high = found["minValues"], found["maxValues"]
    for name in low.keys() & high.keys():
        low[name], high[name] = sorted((low[name], high[name]), key=str)


ROWS = (
    # Row tracking.
    writer(
        "assigns-no-row-ids",
        "RT-028",
        leaving(dropping("add", "baseRowId", where=COMMIT)),
        TRACKED,
    ),
    writer(
        "gives-row-ids-twice",
        "RT-029",
        leaving(setting("add", "baseRowId", 0, COMMIT)),
        TRACKED,
    ),
    writer(
        "tells-other-ids-of-removed-files",
        "RT-030",
        leaving(setting("remove", "baseRowId", 77, COMMIT)),
        "row-tracking/write-*",
    ),
    writer(
        "checkpoints-no-row-ids",
        "RT-031",
        leaving(dropping("add", "baseRowId", where=r"_delta_log/\d{20}\.checkpoint.*")),
        TRACKED,
    ),
    writer(
        "raises-no-mark",
        "RT-036",
        after_step(2, leaving(_domain("delta.rowTracking", lambda _d: None))),
        TRACKED,
    ),
    writer(
        "keeps-the-mark-low",
        "RT-037",
        leaving(_domain("delta.rowTracking", _lower)),
        TRACKED,
    ),
    writer(
        "numbers-versions-otherwise",
        "RT-040",
        leaving(setting("add", "defaultRowCommitVersion", 99, COMMIT)),
        TRACKED,
    ),
    writer(
        "merges-without-commit-versions",
        "RT-040",
        leaving(dropping("add", "defaultRowCommitVersion")),
        "row-tracking/write-merge/*",
    ),
    writer(
        "merges-without-row-ids",
        "RT-028",
        leaving(dropping("add", "baseRowId")),
        "row-tracking/write-merge/*",
    ),
    writer(
        "names-no-row-columns",
        "RT-042",
        leaving(properties(lambda p: [p.pop(k) for k in [*p] if "materialized" in k] and None)),
        "row-tracking/write-created*",
    ),
    writer("tracks-without-the-feature", "RT-041", leaving(unlisted("rowTracking")), TRACKED),
    writer("tracks-without-domains", "RT-007", leaving(unlisted("domainMetadata")), TRACKED),
    writer(
        "tracks-without-backfill",
        "RT-045",
        leaving(dropping("add", "baseRowId", "defaultRowCommitVersion", where=COMMIT)),
        "row-tracking/write-enable*",
    ),
    writer(
        "backfills-after-it-enables",
        "RT-046",
        leaving(dropping("add", "baseRowId", "defaultRowCommitVersion", where=COMMIT)),
        "row-tracking/write-enable*",
    ),
    writer(
        "gives-changed-rows-an-old-version",
        "RT-047",
        during("merge", materialised(ROW_VERSION, 0)),
        "row-tracking/write-merge-with-feed*",
    ),
    writer(
        "stores-row-ids-of-new-rows",
        "RT-050",
        during("append", _storing(ROW_ID, "baseRowId", 1)),
        "row-tracking/write-*",
    ),
    writer(
        "stores-row-ids-of-merged-rows",
        "RT-050",
        after_step(9, leaving(_storing(ROW_ID, "baseRowId", 1))),
        "row-tracking/write-merge/*",
    ),
    writer(
        "stores-versions-of-new-rows",
        "RT-052",
        during("append", _storing(ROW_VERSION, "defaultRowCommitVersion", 0)),
        "row-tracking/write-*",
    ),
    writer(
        "gives-rewritten-rows-no-version",
        "RT-047",
        leaving(lines(_unversioned, where=COMMIT)),
        "row-tracking/write-changes*",
    ),
    writer(
        "keeps-row-ids-in-files-too-early",
        "RT-004",
        leaving(_with_row_ids),
        "row-tracking/write-[sd]*",
    ),
    writer(
        "calls-a-row-column-like-a-column",
        "RT-043",
        leaving(properties(lambda p: p.update({k: "id" for k in p if k.endswith(ROW_ID)}))),
        TRACKED,
    ),
    # In-commit timestamps.
    writer(
        "leaves-commit-info-out",
        "ICT-005",
        leaving(without("commitInfo", where=COMMIT)),
        TIMED,
    ),
    writer("puts-commit-info-last", "ICT-006", leaving(lines(_first_of_all, COMMIT)), TIMED),
    writer(
        "tells-times-as-text",
        "ICT-007",
        leaving(setting("commitInfo", "inCommitTimestamp", str, COMMIT)),
        TIMED,
    ),
    writer(
        "stops-the-clock",
        "ICT-009",
        leaving(setting("commitInfo", "inCommitTimestamp", 1_700_000_000_000, COMMIT)),
        TIMED,
    ),
    writer(
        "goes-by-the-clock-alone",
        "ICT-008",
        leaving(_a_minute_on),
        "in-commit-timestamps/write-behind*",
    ),
    writer(
        "tells-not-since-which-version",
        "ICT-010",
        leaving(_drop_from("delta.inCommitTimestampEnablementVersion")),
        "in-commit-timestamps/write-enable*",
    ),
    writer(
        "tells-not-since-what-time",
        "ICT-011",
        leaving(_drop_from("delta.inCommitTimestampEnablementTimestamp")),
        "in-commit-timestamps/write-enable*",
    ),
    writer(
        "starts-behind-the-file",
        "ICT-012",
        STARTING_EARLY,
        "in-commit-timestamps/write-enable-behind*",
    ),
    writer(
        "times-without-the-feature",
        "ICT-002",
        leaving(unlisted("inCommitTimestamp")),
        TIMED,
    ),
    writer(
        "turns-times-on-without-the-property",
        "ICT-004",
        leaving(_drop_from("delta.enableInCommitTimestamps")),
        "in-commit-timestamps/write-merge*",
    ),
    writer(
        "locks-without-the-feature",
        "APP-001",
        leaving(unlisted("appendOnly")),
        "table-features/write-created-for-writers*",
    ),
    # Clustering.
    writer(
        "counts-not-what-clusters",
        "CLUS-009",
        leaving(statistics(lambda s: {"numRecords": s["numRecords"]})),
        "clustered-table/write-*",
    ),
    writer(
        "clusters-later-what-is-not-counted",
        "CLUS-010",
        during("cluster_by", without("add", where=COMMIT)),
        "clustered-table/write-cluster-later*",
    ),
    writer(
        "orders-bounds-as-texts",
        "STAT-012",
        during("optimize", statistics(_as_texts, COMMIT)),
        "deletion-vectors/write-bounds-of-deleted/*",
    ),
    writer(
        "tells-not-who-clusters",
        "CLUS-011",
        leaving(dropping("add", "clusteringProvider", where=COMMIT)),
        "clustered-table/write-cluster-run*",
    ),
    writer(
        "tells-by-an-empty-name-who-clusters",
        "CLUS-011",
        during("optimize", setting("add", "clusteringProvider", "", COMMIT)),
        "clustered-table/write-cluster-run/*",
    ),
    writer(
        "tells-not-who-clusters-again",
        "CLUS-011",
        after_step(4, leaving(dropping("add", "clusteringProvider", where=COMMIT))),
        "clustered-table/write-cluster-run-checkpointed*",
    ),
    writer(
        "clusters-what-others-did",
        "CLUS-012",
        leaving(_taken_over),
        "clustered-table/write-cluster-run/*",
    ),
    writer(
        "clusters-without-domains",
        "CLUS-003",
        leaving(unlisted("domainMetadata")),
        "clustered-table/write-append*",
    ),
    writer(
        "clusters-partitioned-tables",
        "CLUS-004",
        carrying_out(),
        "clustered-table/write-partitioned*",
    ),
    # Iceberg compatibility.
    writer(
        "leaves-partitions-out-of-files-1",
        "ICE1-007",
        leaving(_without_partitions),
        ICE1,
    ),
    writer(
        "leaves-partitions-out-of-files-2",
        "ICE2-015",
        leaving(_without_partitions),
        ICE2,
    ),
    writer(
        "puts-partitions-first",
        "ICE1-008",
        leaving(parquet(lambda t: t.select(list(reversed(t.column_names))))),
        ICE1,
    ),
    writer(
        "counts-no-rows-for-iceberg-1",
        "ICE1-009",
        leaving(uncounted()),
        ICE1,
    ),
    writer(
        "counts-no-rows-for-iceberg-2",
        "ICE2-016",
        leaving(uncounted()),
        ICE2,
    ),
    writer(
        "unmaps-iceberg-1",
        "ICE1-005",
        leaving(_setting_property("delta.columnMapping.mode", "none")),
        ICE1,
    ),
    writer(
        "unmaps-iceberg-2",
        "ICE2-005",
        leaving(_setting_property("delta.columnMapping.mode", "none")),
        ICE2,
    ),
    writer(
        "mixes-iceberg-1-and-vectors",
        "ICE1-006",
        carrying_out(),
        "iceberg-compatibility-v1/write-refused-vectors*",
    ),
    writer(
        "mixes-iceberg-2-and-vectors",
        "ICE2-014",
        carrying_out(),
        "iceberg-compatibility-v2/write-refused-vectors*",
    ),
    writer(
        "mixes-iceberg-1-and-2",
        "ICE2-013",
        carrying_out(),
        "iceberg-compatibility-v2/write-refused-first*",
    ),
    writer(
        "takes-arrays-under-iceberg-1",
        "ICE1-010",
        carrying_out(),
        "iceberg-compatibility-v1/write-refused-array*",
    ),
    writer(
        "repartitions-under-iceberg-1",
        "ICE1-011",
        carrying_out(),
        "iceberg-compatibility-v1/write-replace-part*",
    ),
    writer(
        "repartitions-under-iceberg-2",
        "ICE2-019",
        carrying_out(),
        "iceberg-compatibility-v2/write-replace-part*",
    ),
    writer(
        "stores-instants-as-int96",
        "ICE2-017",
        leaving(parquet(lambda t: t, use_deprecated_int96_timestamps=True)),
        "iceberg-compatibility-v2/write-*",
    ),
    # What a second walk through the rows had not been caught by, or by another name.
    writer(
        "merges-without-partitions-1",
        "ICE1-007",
        during("merge", _without_partitions),
        "iceberg-compatibility-v1/write-merge*",
    ),
    writer(
        "overwrites-without-partitions-2",
        "ICE2-015",
        during("overwrite", _without_partitions),
        "iceberg-compatibility-v2/write-merge*",
    ),
    writer(
        "merges-uncounted-1",
        "ICE1-009",
        during("merge", dropping("add", "stats", where=COMMIT)),
        "iceberg-compatibility-v1/write-merge*",
    ),
    writer(
        "overwrites-uncounted-2",
        "ICE2-016",
        during("overwrite", dropping("add", "stats", where=COMMIT)),
        "iceberg-compatibility-v2/write-merge*",
    ),
    writer(
        "tells-no-clustering-columns",
        "CLUS-006",
        leaving(without("domainMetadata", where=COMMIT)),
        "clustered-table/write-append*",
    ),
    writer(
        "overwrites-unclustered",
        "CLUS-006",
        during("overwrite", lines(lambda held: [*held, _UNCLUSTERED], COMMIT)),
        "clustered-table/write-merge*",
    ),
    writer(
        "merges-without-statistics",
        "CLUS-009",
        during("merge", dropping("add", "stats", where=COMMIT)),
        "clustered-table/write-merge*",
    ),
    writer(
        "turns-times-on-without-one",
        "ICT-005",
        during("set_properties", without("commitInfo", where=COMMIT)),
        "in-commit-timestamps/write-enable/*",
    ),
    writer(
        "adds-columns-without-commit-info",
        "ICT-005",
        during("add_columns", without("commitInfo", where=COMMIT)),
        "in-commit-timestamps/write-alter*",
    ),
    writer(
        "restores-with-commit-info-last",
        "ICT-006",
        during("restore", lines(_first_of_all, COMMIT)),
        "in-commit-timestamps/write-alter*",
    ),
    writer(
        "tells-times-in-seconds",
        "ICT-007",
        leaving(setting("commitInfo", "inCommitTimestamp", lambda v: v and v // 1000, COMMIT)),
        TIMED,
    ),
    writer(
        "repeats-the-time",
        "ICT-008",
        leaving(setting("commitInfo", "inCommitTimestamp", 1_700_000_000_000, COMMIT)),
        TIMED,
    ),
    writer(
        "tells-the-mark-by-another-key",
        "RT-034",
        leaving(_domain("delta.rowTracking", lambda _: {"mark": 9})),
        TRACKED,
    ),
    writer(
        "lists-no-second-checkpoints",
        "V2F-001",
        leaving(unlisted("v2Checkpoint")),
        "checkpoints/write-v2-json/*",
    ),
    writer(
        "counts-by-zero-at-6",
        "WVER-005",
        leaving(fields(_by_zero)),
        "version-requirements/write-identity-6*",
    ),
)
