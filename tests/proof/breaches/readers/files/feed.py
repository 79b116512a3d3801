"""Wrong readers of change data: change files, and changes that are inferred."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from breaches.edits import (
    COMMIT,
    COMPACTION,
    Lines,
    lines,
    matching,
    only_when,
    read_lines,
    without,
    write_lines,
)
from breaches.model import reader
from breaches.seams import for_changes, rows, viewing
from breaches.views import bodies, log_of


def _no_inferred_changes(actions: Lines) -> Lines:
    if any("cdc" in action for action in actions):
        return actions
    return [
        {k: {**b, "dataChange": False} if k in ("add", "remove") else b for k, b in a.items()}
        for a in actions
    ]


def _is_off(root: Path) -> bool:
    *_, newest = bodies(root, "metaData")
    return newest["configuration"].get("delta.enableChangeDataFeed") == "false"


def _deletes_twice(table: pa.Table) -> pa.Table:
    if "_change_type" not in table.column_names:
        return table
    return pa.concat_tables([table, table.filter(pc.equal(table["_change_type"], "delete"))])


def _one_change_file(found: Lines) -> Lines:
    first = next((a for a in found if "cdc" in a), None)
    return [a for a in found if "cdc" not in a or a is first]


def _without_removes_of_pairs(actions: Lines) -> Lines:
    """Pass over the remove of a file that is added again."""
    added = {action["add"]["path"] for action in actions if "add" in action}
    return [a for a in actions if a.get("remove", {}).get("path") not in added]


def _no_changes_alone(actions: Lines) -> Lines:
    """Take no changes from a commit that neither adds nor removes a file."""
    kept = any({"add", "remove"} & action.keys() for action in actions)
    return [action for action in actions if kept or "cdc" not in action]


def _no_recorded_changes(root: Path, fresh: frozenset[str]) -> None:
    """Lose the change files of commits that a compaction covers."""
    for name in matching(COMPACTION, fresh):
        start, end = map(int, Path(name).name.split(".")[:2])
        for version in range(start, end + 1):
            without("cdc", where=f"_delta_log/{version:020d}.json")(root, fresh)


def _partitioned_changes(actions: Lines) -> Lines:
    """Pass over change files of partitions."""
    return [a for a in actions if not (a.get("cdc") or {}).get("partitionValues")]


def _compacted(root: Path, fresh: frozenset[str]) -> None:
    """Give the last version of a compacted range all the changes that are left of it."""
    for name in matching(COMPACTION, fresh):
        start, end = map(int, Path(name).name.split(".")[:2])
        for version in range(start, end + 1):
            place = log_of(root) / f"{version:020d}.json"
            held = [a for a in read_lines(place) if not {"add", "remove"} & a.keys()]
            if version == end:
                held += [a for a in read_lines(root / name) if {"add", "remove"} & a.keys()]
            write_lines(place, held)


def _no_changes_of_added_files(actions: Lines) -> Lines:
    """Take a cdc for an add where its file is added as well."""
    added = {a["add"]["path"] for a in actions if "add" in a}
    return [a for a in actions if "cdc" not in a or a["cdc"]["path"] not in added]


def _typed_by_added_files(root: Path, fresh: frozenset[str]) -> None:
    """Read files that say so as change files, whether a cdc names them or not."""

    def change(actions: Lines) -> Lines:
        if any("cdc" in a for a in actions):
            return actions
        for action in actions:
            body = action.get("add") or action.get("remove")
            if body and "_change_type" in pq.read_schema(root / unquote(body["path"])).names:
                named = {name: body[name] for name in ("path", "partitionValues", "size")}
                actions = [*actions, {"cdc": {**named, "dataChange": False}}]
        return actions

    lines(change, COMMIT)(root, fresh)


ROWS = (
    reader("passes-over-change-files", "CDC-003", viewing(without("cdc"))),
    reader("infers-no-changes", "CDC-004", viewing(lines(_no_inferred_changes, COMMIT))),
    reader(
        "tells-no-deletes-of-a-vector-pair",
        "CDC-004",
        for_changes(viewing(lines(_without_removes_of_pairs, COMMIT))),
        "add-cdc-file/vector-*",
    ),
    reader(
        "adds-removes-to-change-files",
        "CDC-003",
        rows(_deletes_twice),
        "change-data-files/files-beside-removes-alone/*",
    ),
    reader(
        "reads-one-change-file-of-a-version",
        "CDC-003",
        viewing(lines(_one_change_file, COMMIT)),
        "add-cdc-file/several-*",
    ),
    reader(
        "loses-change-files-below-compactions",
        "CDC-003",
        for_changes(viewing(_no_recorded_changes)),
        "log-compaction-files/changes-inside/*",
    ),
    reader(
        "passes-over-changes-without-files",
        "CDC-003",
        for_changes(viewing(lines(_no_changes_alone, COMMIT))),
        "add-cdc-file/data-files-with-types/*",
    ),
    reader(
        "infers-changes-of-partitions",
        "CDC-003",
        viewing(lines(_partitioned_changes, COMMIT)),
        "change-data-files/files-win-*",
    ),
    reader(
        "reads-change-files-while-the-feed-is-on",
        "CDC-003",
        viewing(only_when(_is_off, without("cdc"))),
        "change-data-files/files-win-after-the-feed/*",
    ),
    reader(
        "takes-no-changes-from-added-files",
        "CDC-003",
        viewing(lines(_no_changes_of_added_files, COMMIT)),
        "add-cdc-file/data-files-with-types/*",
    ),
    reader(
        "believes-types-in-added-files",
        "CDC-004",
        for_changes(viewing(_typed_by_added_files)),
        "add-cdc-file/data-files-with-types/*",
    ),
    reader(
        "takes-changes-of-compactions",
        "CDC-004",
        for_changes(viewing(_compacted)),
        "log-compaction-files/*",
    ),
)
