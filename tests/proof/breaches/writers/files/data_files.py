"""Wrong writers of data files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from breaches.edits import (
    COMMIT,
    DATA,
    Lines,
    each,
    lines,
    matching,
    parquet,
    renaming,
    rewriting_earlier,
)
from breaches.model import writer
from breaches.seams import during, leaving
from breaches.views import bodies, log_of


def commit_time(root: Path) -> float:
    """Return when the latest commit was written, in ms since the epoch."""
    return max(path.stat().st_mtime for path in log_of(root).glob("*.json")) * 1000


def _empty_file(root: Path, fresh: frozenset[str]) -> None:
    """Add a file without rows, and without values of partitions, where no row was added."""
    path = "part-00000-no-rows.parquet"

    def adding(actions: Lines) -> Lines:
        if any("add" in action or "metaData" in action for action in actions):
            return actions
        pq.write_table(pa.table({"id": pa.array([], pa.int64())}), root / path)
        size = (root / path).stat().st_size
        body = {"path": path, "partitionValues": {}, "size": size, "dataChange": True}
        return [*actions, {"add": {**body, "modificationTime": int(commit_time(root))}}]

    lines(adding, COMMIT)(root, fresh)


def _taking_hidden(root: Path, fresh: frozenset[str]) -> None:
    """Convert what lies in a hidden folder, too."""
    hidden = next(path for path in sorted(root.rglob("_temporary/*")))

    def adding(actions: Lines) -> Lines:
        (first, *_) = (action["add"] for action in actions if "add" in action)
        path = hidden.relative_to(root).as_posix()
        return [*actions, {"add": {**first, "path": path, "size": hidden.stat().st_size}}]

    lines(adding, COMMIT)(root, fresh)


def _without_lacking(root: Path, fresh: frozenset[str]) -> None:
    """Convert the files alone that have every column."""

    def whole(actions: Lines) -> Lines:
        adds = [action["add"] for action in actions if "add" in action]
        names = {body["path"]: pq.read_schema(root / body["path"]).names for body in adds}
        most = max(map(len, names.values()))
        return [a for a in actions if "add" not in a or len(names[a["add"]["path"]]) == most]

    lines(whole, COMMIT)(root, fresh)


def _moved(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "path": f"_hidden/{body['path']}"}


def _names_again(root: Path, fresh: frozenset[str]) -> None:
    """Call every new data file by the name of its number in the commit."""
    renamed: dict[str, str] = {}
    for name in matching(DATA, fresh):
        target = f"part-{len(renamed)}.parquet"
        renamed[name] = target
        (root / target).write_bytes((root / name).read_bytes())
        (root / name).unlink()

    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "path": renamed.get(body["path"], body["path"])}

    each("add", change, COMMIT)(root, fresh)


def _name_of_a_vacuumed_file(root: Path, fresh: frozenset[str]) -> None:
    """Give a new data file a name that is free since a vacuum."""
    free = [b["path"] for b in bodies(root, "add") if not (root / b["path"]).exists()]
    written = matching(DATA, fresh)
    if not free or not written:
        return

    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "path": free[0]} if body["path"] == written[0] else body

    (root / written[0]).rename(root / free[0])
    each("add", change, COMMIT)(root, fresh)


def _with_a_column(table: pa.Table) -> pa.Table:
    return table.append_column("loaded_by", pa.array(["x"] * table.num_rows))


ROWS = (
    writer(
        "writes-to-hidden-folders",
        "DATA-001",
        leaving(
            renaming(DATA, lambda name: f"_hidden/{name}"),
            each("add", _moved),
            each("remove", _moved),
        ),
    ),
    writer("gives-names-again", "DATA-004", leaving(_names_again)),
    *(
        writer(
            f"gives-names-of-vacuumed-files-again-by-{operation}",
            "DATA-004",
            during(operation, _name_of_a_vacuumed_file),
            "add-file-and-remove-file/write-vacuum-before/*",
        )
        for operation in ("append", "update", "optimize", "overwrite")
    ),
    writer(
        "writes-data-files-again", "DATA-005", leaving(rewriting_earlier(DATA, lambda b: b + b"x"))
    ),
    writer(
        "writes-columns-of-its-own",
        "WCON-001",
        leaving(parquet(_with_a_column, DATA)),
        "data-files/*",
    ),
    writer(
        "appends-no-rows-in-a-file-of-no-partition",
        "WCON-002",
        during("append", _empty_file),
        "add-file-and-remove-file/write-empty-append/*",
    ),
    writer(
        "converts-hidden-files",
        "DATA-001",
        during("convert", _taking_hidden),
        "*/write-convert-hidden/*",
    ),
    writer(
        "converts-no-files-that-lack-columns",
        "SNAP-008",
        during("convert", _without_lacking),
        "*/write-convert-lacking-columns/*",
    ),
)
