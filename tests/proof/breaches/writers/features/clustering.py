"""Wrong writers of clustered tables."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

from breaches.edits import (
    COMMIT,
    Lines,
    dropping,
    each,
    lines,
    matching,
    read_lines,
    setting,
    statistics,
    unlisted,
    without,
    write_lines,
)
from breaches.model import Ask, writer
from breaches.seams import Edit, after_step, by_request, carrying_out, during, leaving
from breaches.views import bodies, commits_of, log_of, without_summed_up
from conformance.adapter import Answer, Ok, Request, Write


def _of_the_first(held: dict[str, Any]) -> dict[str, Any]:
    """Return statistics of the first 32 columns, of those that the file has counts of."""
    names = {*list(held["nullCount"])[:32]}
    return {
        key: {n: v for n, v in found.items() if n in names} if isinstance(found, dict) else found
        for key, found in held.items()
    }


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


@by_request
def _dropping_anyway(ask: Ask, request: Request) -> Answer:
    """Drop a column and look at nothing that names it."""
    if not (isinstance(request, Write) and request.operation == "drop_column"):
        return ask(request)
    root = Path(request.table)
    (*_, metadata) = bodies(root, "metaData")
    tree = json.loads(metadata["schemaString"])
    gone = request.arguments["column"]
    tree["fields"] = [field for field in tree["fields"] if field["name"] != gone]
    version = max(commits_of(root)) + 1
    action = {"metaData": {**metadata, "schemaString": json.dumps(tree)}}
    (log_of(root) / f"{version:020}.json").write_text(json.dumps(action) + "\n")
    return Ok({"version": version})


def _gone(domain: str, configuration: str) -> Edit:
    gone = {"domain": domain, "configuration": configuration, "removed": True}
    return lines(lambda found: [*found, {"domainMetadata": gone}], COMMIT)


_UNCLUSTERED = {
    "domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": True}
}


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


def _of_plain_columns(held: dict[str, Any]) -> dict[str, Any]:
    """Return statistics of the columns that are no structs."""
    return {
        key: {n: v for n, v in found.items() if not isinstance(v, dict)}
        if isinstance(found, dict)
        else found
        for key, found in held.items()
    }


def _by_logical_names(root: Path, fresh: frozenset[str]) -> None:
    """Name clustering columns as people name them."""
    held = next(bodies(root, "metaData"))
    columns = json.loads(held["schemaString"])["fields"]
    names = {
        column["metadata"].get("delta.columnMapping.physicalName"): column["name"]
        for column in columns
    }

    def change(body: dict[str, Any]) -> dict[str, Any]:
        found = json.loads(body["configuration"])
        found["clusteringColumns"] = [
            [names.get(part, part) for part in parts] for parts in found["clusteringColumns"]
        ]
        return {**body, "configuration": json.dumps(found)}

    each("domainMetadata", change, COMMIT)(root, fresh)


def _renamed_others(root: Path, fresh: frozenset[str]) -> None:
    """Add files of another provider again, as they are, under the own name."""
    adds = [body for body in bodies(root, "add") if body.get("clusteringProvider")]

    def change(actions: Lines) -> Lines:
        own = [a["add"] for a in actions if a.get("add", {}).get("clusteringProvider")]
        gone = {a["remove"]["path"] for a in actions if "remove" in a}
        again = [
            {"add": {**body, "clusteringProvider": own[0]["clusteringProvider"]}}
            for body in adds
            if own and body not in own and body["path"] not in gone
        ]
        return [*actions, *({"add": {**a["add"], "dataChange": False}} for a in again)]

    lines(change, COMMIT)(root, fresh)


def _counted_by_logical_names(root: Path, fresh: frozenset[str]) -> None:
    """Name the columns of statistics as people name them."""
    (*_, held) = bodies(root, "metaData")
    names = {
        column["metadata"].get("delta.columnMapping.physicalName"): column["name"]
        for column in json.loads(held["schemaString"])["fields"]
    }

    def change(stats: dict[str, Any]) -> dict[str, Any]:
        return {
            key: {names.get(name, name): found for name, found in of.items()}
            if isinstance(of, dict)
            else of
            for key, of in stats.items()
        }

    statistics(change, COMMIT)(root, fresh)


_BOUNDS = ("minValues", "maxValues")

ROWS = (
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
        "counts-again-without-bounds",
        "CLUS-010",
        during(
            "cluster_by",
            statistics(lambda s: {k: v for k, v in s.items() if k not in _BOUNDS}, COMMIT),
        ),
        "clustered-table/write-cluster-later*",
    ),
    writer(
        "counts-again-by-logical-names",
        "CLUS-010",
        during("cluster_by", _counted_by_logical_names),
        "clustered-table/write-cluster-later-mapped*",
    ),
    writer(
        "counts-again-what-commits-name-alone",
        "CLUS-010",
        during("cluster_by", without_summed_up),
        "clustered-table/write-cluster-later-mapped*",
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
        "clusters-what-others-did-and-has-vectors",
        "CLUS-012",
        leaving(_taken_with_vectors),
        "clustered-table/write-cluster-run-vectors/*",
    ),
    writer(
        "counts-the-first-columns-alone",
        "CLUS-009",
        leaving(statistics(_of_the_first)),
        "clustered-table/write-far-column/*",
    ),
    writer(
        "drops-a-column-that-clusters",
        "CLUS-006",
        _dropping_anyway,
        "clustered-table/write-drop-column/*",
    ),
    writer(
        "optimizes-clusters-without-statistics",
        "CLUS-009",
        during("optimize", dropping("add", "stats", where=COMMIT)),
        "clustered-table/write-moves-course/*",
    ),
    writer(
        "updates-clusters-without-statistics",
        "CLUS-009",
        during("update", dropping("add", "stats", where=COMMIT)),
        "clustered-table/write-changes-course/*",
    ),
    writer(
        "clusters-no-more-once-a-column-comes",
        "CLUS-006",
        during("add_columns", _gone("delta.clustering", "{}")),
        "clustered-table/write-columns-course/*",
    ),
    writer(
        "creates-clusters-without-their-feature",
        "SNAP-008",
        during("create", unlisted("clustering", where=COMMIT)),
        "clustered-table/write-replace-without-column/*",
    ),
    writer(
        "clusters-empty-tables-without-a-domain",
        "CLUS-006",
        during("cluster_by", without("domainMetadata", where=COMMIT)),
        "clustered-table/write-cluster-empty/*",
    ),
    writer(
        "counts-no-fields-of-structs",
        "CLUS-009",
        during("append", statistics(_of_plain_columns, COMMIT)),
        "clustered-table/write-nested/*",
    ),
    writer(
        "clusters-by-names-that-people-gave",
        "CM-035",
        leaving(_by_logical_names),
        "clustered-table/write-mapped/*",
    ),
    writer(
        "takes-over-what-others-clustered",
        "CLUS-012",
        during("optimize", _renamed_others),
        "clustered-table/write-cluster-run/*",
    ),
)
