"""Changes of checkpoints and what stands beside them, by the id of their mutation.

Covers "Checkpoints", "Checkpoint Specs", "Sidecar Files" and "Version Checksum File".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.builder import TableBuilder
from generators.materialise.log.files import LOG_DIRECTORY, classic_checkpoint_name
from generators.mutations.edits import edit_bytes, log_file
from generators.mutations.mutation import Change

_Rows: TypeAlias = list[dict[str, Any]]

_CLASSIC: Final = "*02.checkpoint.parquet"
_V2_TOP: Final = "*.checkpoint.*.json"


def _rewrite(edit: Callable[[pa.Table], pa.Table]) -> Change:
    """Rewrite the classic checkpoint."""

    def change(root: Path, _builder: TableBuilder) -> None:
        path = log_file(root, _CLASSIC)
        pq.write_table(edit(pq.read_table(path)), path)

    return change


def _rewrite_rows(edit: Callable[[_Rows], _Rows]) -> Change:
    """Rewrite the rows of the classic checkpoint, under its schema.

    ``edit`` gets one dictionary per row, in which every column but one is null; maps are lists of
    pairs.
    """
    return _rewrite(
        lambda table: pa.Table.from_pylist(edit(table.to_pylist()), schema=table.schema)
    )


def _without_rows(kind: str) -> Change:
    return _rewrite_rows(lambda rows: [row for row in rows if row[kind] is None])


def _without_one_add(rows: _Rows) -> _Rows:
    last = max(place for place, row in enumerate(rows) if row["add"] is not None)
    return [row for place, row in enumerate(rows) if place != last]


def _with_commit_info(table: pa.Table) -> pa.Table:
    column = pa.array([{"operation": "WRITE"}] + [None] * (table.num_rows - 1))
    return table.append_column("commitInfo", column)


def _embedded_beside_sidecars(root: Path, builder: TableBuilder) -> None:
    add = next(iter(builder.states[3].adds.values()))
    line = json.dumps({"add": {**add, "dataChange": False}}) + "\n"
    edit_bytes({"log": _V2_TOP}, lambda data: data + line.encode())(root, builder)


def _sidecars_named(written: Callable[[Path, str], str]) -> Change:
    """Respell the path of each sidecar, from the table root and its name."""

    def change(root: Path, _builder: TableBuilder) -> None:
        path = log_file(root, _V2_TOP)
        lines = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
        for each in lines:
            if "sidecar" in each:
                each["sidecar"]["path"] = written(root, each["sidecar"]["path"])
        path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")

    return change


def _of_the_future(root: Path, _builder: TableBuilder) -> None:
    """Copy the checkpoint to a version that is not committed yet, as no writer may."""
    copy = root / LOG_DIRECTORY / classic_checkpoint_name(9)
    copy.write_bytes(log_file(root, _CLASSIC).read_bytes())


CHANGES: Final[Mapping[str, Change]] = {
    "checkpoint-without-protocol": _without_rows("protocol"),
    "checkpoint-without-metadata": _without_rows("metaData"),
    "checkpoint-omits-a-file": _rewrite_rows(_without_one_add),
    "checkpoint-rows-in-other-order": _rewrite_rows(lambda rows: list(reversed(rows))),
    "checkpoint-without-optional-columns": _rewrite(
        lambda table: table.drop_columns(["domainMetadata", "txn"])
    ),
    "checkpoint-columns-in-other-order": _rewrite(
        lambda table: table.select(list(reversed(table.column_names)))
    ),
    "checkpoint-with-unknown-column": _rewrite(
        lambda table: table.append_column("future", pa.array([7] * table.num_rows))
    ),
    "checkpoint-with-commit-info": _rewrite(_with_commit_info),
    "checkpoint-files-in-both-places": _embedded_beside_sidecars,
    "checkpoint-of-the-future": _of_the_future,
    "sidecar-out-of-the-table": _sidecars_named(lambda _root, name: f"../../nowhere/no-{name}"),
    "sidecar-path-is-absolute": _sidecars_named(
        lambda root, name: (root.resolve() / "_delta_log/_sidecars" / name).as_uri()
    ),
    "checksum-two-objects": edit_bytes({"checksum": 4}, lambda data: data + b"\n" + data),
}
