"""Wrong writers that lose what is promised: changes, tombstones, vectors, times, progress."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from breaches.edits import (
    CHANGES,
    CHECKPOINT,
    COMMIT,
    Lines,
    each,
    lines,
    parquet,
    properties,
    setting,
)
from breaches.model import writer
from breaches.seams import afterwards, during, leaving
from breaches.views import bodies
from generators.materialise.data.deletion_vectors import decode_uuid_name, vector_file_name

_WEEK = 7 * 86_400_000


def _without_whole_files(rows: pa.Table) -> pa.Table:
    """Leave out the rows of the file that goes whole."""
    return rows.filter(pc.greater(rows["id"], 2))


def _unrecorded(configuration: dict[str, str]) -> None:
    for name in ("Version", "Timestamp"):
        configuration.pop(f"delta.inCommitTimestampEnablement{name}", None)


def _young(remove: dict[str, Any]) -> dict[str, Any] | None:
    """Keep the tombstones of a week, whatever the table promises."""
    return remove if remove["deletionTimestamp"] > time.time() * 1000 - _WEEK else None


def _of_other_files(found: Lines) -> Lines:
    """Leave out the tombstones of paths that are live, under whatever vector."""
    live = {a["add"]["path"] for a in found if "add" in a}
    return [a for a in found if a.get("remove", {}).get("path") not in live]


def _no_replaced_vectors(root: Path) -> None:
    """Delete the vector files of tombstones, however young."""
    for body in bodies(root, "remove"):
        vector = body.get("deletionVector")
        if vector and vector["storageType"] == "u":
            _, name = decode_uuid_name(vector["pathOrInlineDv"])
            (root / vector_file_name(name)).unlink(missing_ok=True)


def _no_escaped_files(root: Path) -> None:
    """Delete data files whose names the log does not have letter by letter."""
    named = {body["path"] for body in bodies(root, "add")}
    for path in [*root.glob("*.parquet"), *root.glob("*=*/*.parquet")]:
        if path.relative_to(root).as_posix() not in named:
            path.unlink()


ROWS = (
    writer(
        "feeds-no-files-that-go-whole",
        "CDC-012",
        "files",
        leaving(parquet(_without_whole_files, CHANGES)),
        "change-data-files/write-whole-files/*",
    ),
    writer(
        "restores-without-time-of-enablement",
        "ICT-010",
        "actions",
        during("restore", properties(_unrecorded, COMMIT)),
        "in-commit-timestamps/write-enabled-then-restored/*",
    ),
    writer(
        "vacuums-vectors-of-young-tombstones",
        "DVD-003",
        "files",
        afterwards(_no_replaced_vectors),
        "deletion-vectors-design/write-vacuum-retained-vectors/*",
    ),
    writer(
        "vacuums-by-encoded-paths",
        "FA-008",
        "files",
        afterwards(_no_escaped_files),
        "add-file-and-remove-file/write-vacuum-encoded-paths/*",
    ),
    writer(
        "checkpoints-tombstones-of-a-week",
        "CKPT-007",
        "actions",
        leaving(each("remove", _young, CHECKPOINT)),
        "checkpoints/write-long-retention/*",
    ),
    writer(
        "checkpoints-no-replaced-vectors",
        "CKC-005",
        "actions",
        leaving(lines(_of_other_files, CHECKPOINT)),
        "checkpoints/write-replaced-vectors/*",
    ),
    writer(
        "checkpoints-furthest-progress",
        "CKC-006",
        "actions",
        leaving(setting("txn", "version", 7, CHECKPOINT)),
        "checkpoints/write-lower-progress/*",
    ),
)
