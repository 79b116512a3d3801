"""Wrong writers of add and remove actions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from breaches.edits import (
    COMMIT,
    DATA,
    JSON_CHECKPOINT,
    doubling,
    dropping,
    each,
    in_seconds,
    lines,
    matching,
    parquet,
    setting,
)
from breaches.model import LINEAR, writer
from breaches.seams import Edit, during, leaving, since


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


def _twice_otherwise(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "modificationTime": body["modificationTime"] + 1}


def _without_null_values(body: dict[str, Any]) -> dict[str, Any]:
    values = body["partitionValues"].items()
    return {**body, "partitionValues": {name: value for name, value in values if value is not None}}


def _column(name: str, change: Callable[[pa.Array], pa.Array], pattern: str = DATA) -> Edit:
    """Change a column of files, where they have it."""

    def changed(rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index(name)
        if at < 0:
            return rows
        field = rows.schema.field(at)
        return rows.set_column(at, field, change(rows.column(at)).cast(field.type))

    return parquet(changed, pattern)


DELETED = "add-file-and-remove-file/write-delete-all*"


ROWS = (
    *(
        writer(
            f"leaves-{name}-of-adds-out",
            row,
            leaving(dropping("add", name, where=COMMIT)),
            LINEAR,
        )
        for row, name in (
            ("ADD-001", "path"),
            ("ADD-005", "partitionValues"),
            ("ADD-006", "size"),
            ("ADD-007", "modificationTime"),
            ("ADD-008", "dataChange"),
        )
    ),
    *(
        writer(
            f"leaves-{name}-of-removes-out",
            row,
            leaving(dropping("remove", name, where=COMMIT)),
            DELETED,
        )
        for row, name in (("REM-001", "path"), ("REM-004", "dataChange"), ("REM-007", "size"))
    ),
    writer(
        "tells-wrong-sizes",
        "ADD-006",
        leaving(setting("add", "size", 3, COMMIT)),
        LINEAR,
    ),
    writer(
        "changes-rows-as-a-move",
        "ADD-009",
        leaving(setting("add", "dataChange", value=False, where=COMMIT)),
        LINEAR,
    ),
    writer(
        "removes-rows-as-a-move",
        "REM-005",
        leaving(setting("remove", "dataChange", value=False, where=COMMIT)),
        DELETED,
    ),
    writer(
        "updates-rows-as-a-move",
        "ADD-009",
        leaving(
            lines(
                lambda found: (
                    [{"add": {**a["add"], "dataChange": False}} if "add" in a else a for a in found]
                    if any("remove" in a for a in found)
                    else None
                ),
                COMMIT,
            )
        ),
        "add-file-and-remove-file/write-update*",
    ),
    writer(
        "adds-a-file-twice-in-a-commit",
        "FA-012",
        leaving(doubling("add", lambda b: {**b, "modificationTime": 5})),
        LINEAR,
    ),
    writer(
        "leaves-paths-of-changes-unescaped",
        "ADD-004",
        leaving(setting("cdc", "path", unquote, COMMIT)),
        "add-file-and-remove-file/write-odd-changes/*",
    ),
    writer(
        "leaves-letters-of-folders-unescaped",
        "ADD-004",
        leaving(_plain_folders),
        "add-file-and-remove-file/write-append-partitions/*",
    ),
    writer(
        "reports-creation-in-seconds",
        "ADD-007",
        leaving(setting("add", "modificationTime", in_seconds, COMMIT)),
        "add-file-and-remove-file/write-*",
    ),
    writer(
        "dates-converted-files-in-seconds",
        "ADD-007",
        leaving(setting("add", "modificationTime", in_seconds, COMMIT)),
        "add-file-and-remove-file/write-convert/*",
    ),
    writer(
        "adds-files-twice",
        "FA-011",
        leaving(doubling("add", _twice_otherwise)),
        "add-file-and-remove-file/write-*",
    ),
    writer(
        "removes-as-if-it-rearranged",
        "FA-017",
        during("delete", setting("remove", "dataChange", value=False, where=COMMIT)),
        "add-file-and-remove-file/write-*",
    ),
    writer(
        "removes-files-of-a-checkpoint-without-size",
        "REM-007",
        since("checkpoint", dropping("remove", "size", where=COMMIT)),
        "*/write-changes-after/*",
    ),
    writer(
        "leaves-nulls-out-of-json",
        "ADD-005",
        leaving(each("add", _without_null_values, JSON_CHECKPOINT)),
        "checkpoints/write-v2-json/*",
    ),
    writer(
        "optimizes-identities-anew",
        "ADD-009",
        during("optimize", _column("number", lambda held: pc.add(held, 300))),
        "identity-columns/write-moves-course/*",
    ),
    writer(
        "optimizes-generated-values-away",
        "ADD-009",
        during("optimize", _column("twice", lambda held: pa.nulls(len(held), held.type))),
        "generated-columns/write-moves-course/*",
    ),
)
