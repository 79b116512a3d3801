"""Enable row tracking (section Row Tracking, writer requirements)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Final

import pyarrow.compute as pc

from reference_impl.errors import InvalidMetadata
from reference_impl.model.features import is_true
from reference_impl.model.file_actions import to_objects
from reference_impl.places import decode_path
from reference_impl.scan.row_tracking import COMMIT_VERSION_PROPERTY, ROW_ID_PROPERTY
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.write.commit.transaction import Transaction, add_of
from reference_impl.write.features.row_ids import ROW_TRACKING_SUSPENDED

ENABLED: Final = "delta.enableRowTracking"


def name_materialized_columns(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return properties with names for the materialized columns, where row tracking is enabled.

    Raises:
        InvalidMetadata: row tracking is enabled and suspended at once.

    """
    named = dict(configuration)
    if not is_true(named, ENABLED):
        return named
    if is_true(named, ROW_TRACKING_SUSPENDED):
        raise InvalidMetadata(
            f"{ENABLED} and {ROW_TRACKING_SUSPENDED} are both true",
            stage="commit",
            requirement="RT-009",
        )
    named.setdefault(ROW_ID_PROPERTY, f"_row-id-col-{uuid.uuid4()}")
    named.setdefault(COMMIT_VERSION_PROPERTY, f"_row-commit-version-col-{uuid.uuid4()}")
    return named


def backfill(transaction: Transaction, snapshot: Snapshot) -> None:
    """Stage every live file without row ids again, so that the commit assigns them."""
    # Obeys RT-045 RT-046.
    adds = snapshot.adds()
    lacking = pc.or_(
        pc.is_null(adds.column("baseRowId")), pc.is_null(adds.column("defaultRowCommitVersion"))
    )
    files = adds.filter(lacking)
    # A file that is added concurrently without ids would be left out.
    transaction.read(None, files)
    gone = transaction.read_write_set.removed
    staged = (add for add in to_objects(files) if decode_path(add["path"]) not in gone)
    transaction.add(add_of(add, data_change=False) for add in staged)
