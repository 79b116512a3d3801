"""Switch row tracking on (section Row Tracking, writer requirements)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

import pyarrow.compute as pc

from reference_impl.errors import InvalidMetadata
from reference_impl.scan.row_tracking import COMMIT_VERSION_PROPERTY, ROW_ID_PROPERTY
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.write.commit.transaction import Transaction

__all__ = ["ENABLED", "SUSPENDED", "backfill", "name_columns"]

ENABLED: Final = "delta.enableRowTracking"
SUSPENDED: Final = "delta.rowTrackingSuspended"


def name_columns(configuration: Mapping[str, str]) -> dict[str, str]:
    """Give properties with the names of materialised columns, where row tracking needs them.

    Raises:
        InvalidMetadata: row tracking is enabled and suspended at once.

    """
    named = dict(configuration)
    if named.get(ENABLED, "").lower() != "true":
        return named
    if named.get(SUSPENDED, "").lower() == "true":
        raise InvalidMetadata(
            f"{ENABLED} and {SUSPENDED} are both true",
            action="metaData",
            stage="commit",
            requirement="RT-009",
        )
    named.setdefault(ROW_ID_PROPERTY, f"_row-id-col-{uuid.uuid4()}")
    named.setdefault(COMMIT_VERSION_PROPERTY, f"_row-commit-version-col-{uuid.uuid4()}")
    return named


def backfill(transaction: Transaction, snapshot: Snapshot) -> None:
    """Stage every live file that has no row ids once more, so that the commit gives it some."""
    # Obeys RT-045 RT-046.
    adds = snapshot.adds()
    lacking = pc.or_(
        pc.is_null(adds.column("baseRowId")), pc.is_null(adds.column("defaultRowCommitVersion"))
    )
    files = adds.filter(lacking)
    # A file that comes in the meantime without ids would be left out.
    transaction.read(None, files)
    transaction.add(_again(row) for row in files.to_pylist(maps_as_pydicts="strict"))


def _again(row: Mapping[str, Any]) -> dict[str, Any]:
    body = {name: value for name, value in row.items() if value is not None}
    vector = body.get("deletionVector")
    if vector is not None:
        body["deletionVector"] = {k: v for k, v in vector.items() if v is not None}
    return {**body, "dataChange": False}
