"""Delete log files that no version within the retention needs (section Metadata Cleanup)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from reference_impl.errors import DeltaError, TimestampNotFound
from reference_impl.log.checkpoints.reader import CheckpointReader
from reference_impl.log.names import LOG_DIR, SIDECAR_DIR, parse_name
from reference_impl.model.actions import Sidecar
from reference_impl.model.protocol import check_writable
from reference_impl.snapshot.history import History
from reference_impl.snapshot.segment import Listing, list_log
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.storage import Entry, Storage
from reference_impl.write.clock import now
from reference_impl.write.files.referenced_files import ReferencedFiles
from reference_impl.write.properties import DAY, LOG_RETENTION, duration

_log: Final = logging.getLogger(__name__)


def clean_log(snapshot: Snapshot) -> list[str]:
    """Carry out :meth:`~reference_impl.table.Table.clean_log`; paths are sorted."""
    # Obeys CKPT-011 CLEAN-001 CLEAN-004 CLEAN-005 CLEAN-006 CLEAN-009 CLEAN-010 CLEAN-012 CLEAN-013
    # CAT-019.
    check_writable(snapshot.protocol)
    storage = snapshot.storage
    today = _midnight(now())
    cutoff = _midnight(today - duration(snapshot.metadata.configuration, LOG_RETENTION))
    listing = list_log(storage, from_start=True)
    try:
        commit = History(storage, listing, snapshot).version_at(cutoff)
    except TimestampNotFound:
        return []
    below = sorted((v for v in listing.checkpoints if v <= commit), reverse=True)
    # The commit of the checkpoint's own version stays, so that its timestamp is known.
    usable = (v for v in below if v in listing.commits and _is_loadable(storage, listing, v))
    kept = next(usable, None)
    if kept is None:
        return []
    gone = _delete_unreferenced(snapshot, lambda entry: _expired(entry, kept), LOG_DIR)
    return gone + _delete_unreferenced(snapshot, lambda e: e.mtime < today - DAY, SIDECAR_DIR)


def _midnight(timestamp: int) -> int:
    return timestamp // DAY * DAY


def _is_loadable(storage: Storage, listing: Listing, version: int) -> bool:
    """Return whether a version loads from its checkpoint alone, as it must after the cleanup.

    A checkpoint that is damaged, or lacks a sidecar, is skipped as long as the commits exist.
    """
    left = Listing(0, {}, {version: listing.checkpoints[version]}, {}, {})
    try:
        alone = Snapshot(storage, left, version)
        alone.adds()
        alone.tombstones()
    except DeltaError as error:
        _log.warning("the checkpoint of version %d is not relied on: %s", version, error)
        return False
    return True


def _delete_unreferenced(
    snapshot: Snapshot, wanted: Callable[[Entry], bool], folder: str
) -> list[str]:
    """Delete the wanted files of a folder that no action references; return their paths."""
    storage = snapshot.storage
    listed = storage.list_from(folder)
    if not any(map(wanted, listed)):
        return []
    named = _referenced(snapshot, folder)
    gone = named.certain(named.unreferenced(listed, wanted))
    for path in gone:
        with suppress(FileNotFoundError):  # a concurrent cleanup deleted it
            storage.delete(path)
    return gone


def _expired(entry: Entry, checkpoint: int) -> bool:
    file = parse_name(entry.name)
    last = checkpoint if file is not None and file.kind == "compaction" else checkpoint - 1
    return file is not None and file.version <= last


def _referenced(snapshot: Snapshot, folder: str) -> ReferencedFiles:
    """Return the sidecars that the checkpoints of the log reference."""
    storage = snapshot.storage
    named = ReferencedFiles(storage, folder)
    named.add_snapshot(snapshot)
    for checkpoints in list_log(storage, from_start=True).checkpoints.values():
        for checkpoint in checkpoints:
            for action in CheckpointReader(storage, checkpoint).actions():
                if isinstance(action, Sidecar):
                    named.add_sidecar(action.path)
    return named
