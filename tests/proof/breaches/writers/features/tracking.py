"""Wrong writers of row tracking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from breaches.edits import (
    COMMIT,
    SIDECAR,
    Lines,
    dropping,
    each,
    lines,
    parquet,
    properties,
    setting,
    unlisted,
    without,
)
from breaches.model import writer
from breaches.seams import Edit, after_step, during, leaving
from breaches.views import bodies, commits_of, without_summed_up


def _domain(name: str, change: Any) -> Edit:
    def changed(body: dict[str, Any]) -> dict[str, Any] | None:
        if body["domain"] != name or body.get("removed"):
            return body
        found = json.loads(body["configuration"])
        after = change(found)
        if after is None:
            return None
        return {**body, "configuration": json.dumps(after)}

    return each("domainMetadata", changed, COMMIT)


def _from_zero_when_empty(root: Path, fresh: frozenset[str]) -> None:
    """Give the first row ids again where a commit adds to a table without live files."""
    live: set[str] = set()
    for version, actions in commits_of(root).items():
        name = f"_delta_log/{version:020}.json"
        if name in fresh and not live:
            setting("add", "baseRowId", 0, name)(root, fresh)
        live -= {action["remove"]["path"] for action in actions if "remove" in action}
        live |= {action["add"]["path"] for action in actions if "add" in action}


def _lower(found: Any) -> Any:
    return dict.fromkeys(found, 0)


def materialised(suffix: str, value: int | None = None) -> Edit:
    """Write one value, or none, to all rows of a column of row tracking."""

    def edit(root: Path, fresh: frozenset[str]) -> None:
        names = {
            value
            for body in bodies(root, "metaData")
            for key, value in body.get("configuration", {}).items()
            if key.endswith(suffix)
        }

        def change(table: pa.Table) -> pa.Table:
            for name in names & {*table.column_names}:
                at = table.column_names.index(name)
                kind = table.schema.field(at)
                table = table.set_column(at, kind, pa.array([value] * len(table), kind.type))
            return table

        parquet(change)(root, fresh)

    return edit


ROW_ID = "materializedRowIdColumnName"


ROW_VERSION = "materializedRowCommitVersionColumnName"


TRACKED = "row-tracking/write-changes/*"


def _fresh_ids(base: Any) -> Any:
    return None if base is None else base + 1000


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


ROWS = (
    writer(
        "counts-row-ids-from-zero-when-empty",
        "RT-039",
        during("merge", _from_zero_when_empty),
        "row-tracking/write-everything-gone-then-merge/*",
    ),
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
        "backfills-what-commits-name-alone",
        "RT-046",
        leaving(without_summed_up),
        "row-tracking/write-enable-behind-a-checkpoint/*",
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
    writer(
        "tells-the-mark-by-another-key",
        "RT-034",
        leaving(_domain("delta.rowTracking", lambda _: {"mark": 9})),
        TRACKED,
    ),
    writer(
        "leaves-row-ids-out-of-sidecars",
        "RT-031",
        during("checkpoint", dropping("add", "baseRowId", where=SIDECAR)),
        "checkpoints/write-v2-json-vectors/*",
    ),
    writer(
        "tracks-no-new-rows",
        "RT-002",
        during("append", dropping("add", "baseRowId", where=COMMIT)),
        "row-tracking/write-changes/*",
    ),
    *(
        writer(
            f"tracks-no-rows-of-{operation}-while-off",
            "RT-002",
            during(
                operation, dropping("add", "baseRowId", "defaultRowCommitVersion", where=COMMIT)
            ),
            "row-tracking/write-supported-replaced/*",
        )
        for operation in ("replace", "overwrite")
    ),
    writer(
        "tracks-no-mark",
        "RT-032",
        after_step(1, leaving(without("domainMetadata", where=COMMIT))),
        "row-tracking/write-changes/*",
    ),
    writer(
        "names-one-row-column-when-it-is-enabled",
        "RT-042",
        during(
            "set_properties",
            properties(lambda p: [p.pop(k) for k in [*p] if k.endswith(ROW_ID)] and None),
        ),
        "row-tracking/write-enable/*",
    ),
    writer(
        "names-no-row-columns-when-it-replaces",
        "RT-042",
        during(
            "replace",
            properties(lambda p: [p.pop(k) for k in [*p] if "materialized" in k] and None),
        ),
        "row-tracking/write-replace*",
    ),
    writer(
        "converts-without-row-ids",
        "RT-028",
        during("convert", dropping("add", "baseRowId", where=COMMIT)),
        "row-tracking/write-convert/*",
    ),
    writer(
        "optimizes-without-row-ids",
        "RT-028",
        during("optimize", dropping("add", "baseRowId", where=COMMIT)),
        "row-tracking/write-moves-course/*",
    ),
    writer(
        "restores-under-fresh-row-ids",
        "RT-030",
        during("restore", setting("add", "baseRowId", _fresh_ids, COMMIT)),
        "row-tracking/write-moves-course/*",
    ),
    writer(
        "updates-without-row-ids",
        "RT-028",
        during("update", dropping("add", "baseRowId", where=COMMIT)),
        "row-tracking/write-changes-course/*",
    ),
    writer(
        "numbers-rows-from-0-behind-a-cut-log",
        "RT-029",
        during("append", setting("add", "baseRowId", 0, COMMIT)),
        "row-tracking/write-cut-course/*",
    ),
    writer(
        "backfills-under-an-earlier-version",
        "RT-046",
        during("set_properties", setting("add", "defaultRowCommitVersion", 0, COMMIT)),
        "row-tracking/write-enable/*",
    ),
    *(
        writer(
            f"keeps-row-ids-in-files-of-{operation}s-too-early",
            "RT-004",
            during(operation, _storing(ROW_ID, "baseRowId", 1)),
            "row-tracking/write-disabled-merged/*",
        )
        for operation in ("merge", "overwrite")
    ),
)
