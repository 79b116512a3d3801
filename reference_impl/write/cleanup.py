"""Delete log files that no promised version needs (section Metadata Cleanup)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reference_impl.actions import Sidecar
from reference_impl.checkpoints import CheckpointReader
from reference_impl.errors import TimestampNotFound
from reference_impl.history import History
from reference_impl.log_names import LOG_DIR, SIDECAR_DIR, parse
from reference_impl.paths import decode_path
from reference_impl.protocol import check_writable
from reference_impl.segment import list_log
from reference_impl.snapshot import Snapshot
from reference_impl.storage import Storage
from reference_impl.write.data_files import now
from reference_impl.write.intervals import LOG_RETENTION, duration

__all__ = ["clean_log"]

_DAY: Final = 86_400_000


def clean_log(snapshot: Snapshot, *, moment: int | None = None) -> list[str]:
    """Delete expired log files, and give their paths, sorted.

    Every version from the newest one at the cutoff on loads as before. Without a checkpoint at
    or before it nothing is deleted.

    Args:
        snapshot: the latest version.
        moment: the time to go by, in ms since the epoch; the current one by default.

    Raises:
        UnsupportedError: the table needs what this implementation does not write.

    """
    check_writable(snapshot.protocol, snapshot.metadata)
    storage = snapshot.storage
    today = (now() if moment is None else moment) // _DAY * _DAY
    cutoff = today - duration(snapshot.metadata.configuration, LOG_RETENTION)
    cutoff -= cutoff % _DAY
    listing = list_log(storage, whole=True)
    try:
        commit = History(storage, listing, snapshot).version_at(cutoff)
    except TimestampNotFound:
        return []
    below = [version for version in listing.checkpoints if version <= commit]
    # The commit of the checkpoint's own version stays, so that its time can be told.
    if not below or max(below) not in listing.commits:
        return []
    gone = sorted(_expired(storage, max(below)))
    for path in gone:
        storage.delete(path)
    lost = sorted(_unreferenced(storage, today))
    for path in lost:
        storage.delete(path)
    return gone + lost


def _expired(storage: Storage, checkpoint: int) -> Iterator[str]:
    for entry in storage.list_from(LOG_DIR):
        file = parse(entry.name)
        if file is None:
            continue
        last = checkpoint if file.kind == "compaction" else checkpoint - 1
        if file.version <= last:
            yield entry.path


def _unreferenced(storage: Storage, today: int) -> Iterator[str]:
    """Give the sidecars that no checkpoint names, except for young ones."""
    old = [e for e in storage.list_from(SIDECAR_DIR) if e.mtime < today - _DAY]
    if not old:
        return
    named: set[str] = set()
    for checkpoints in list_log(storage, whole=True).checkpoints.values():
        for checkpoint in checkpoints:
            for action in CheckpointReader(storage, checkpoint).actions():
                if isinstance(action, Sidecar):
                    path = decode_path(action.path, action="sidecar")
                    named.add(path if "/" in path else f"{SIDECAR_DIR}/{path}")
    yield from (entry.path for entry in old if entry.path not in named)
