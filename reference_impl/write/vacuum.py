"""Delete files that no version needs that can still be read.

Serves "Add File and Remove File" (expiry of tombstones), "VACUUM Protocol Check" and "Deletion
Vectors". What is deleted is proved to be unneeded: a file stays while the latest version has it,
while a tombstone of it has not expired, and while it is too young to tell whether a commit is on
its way. Names that begin with an underscore or a dot belong to others, but for files on their way,
which a writer that was killed has left wherever it was about to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.deletion_vectors import Descriptor
from reference_impl.errors import ConstraintViolation
from reference_impl.paths import decode_path
from reference_impl.protocol import check_writable
from reference_impl.snapshot import Snapshot
from reference_impl.storage import STAGED, Entry, Storage, is_absolute
from reference_impl.write.checkpoint import live_tombstones
from reference_impl.write.data_files import now
from reference_impl.write.intervals import DELETED_FILE_RETENTION, duration

__all__ = ["vacuum"]

_CHANGES: Final = "_change_data"


def vacuum(
    snapshot: Snapshot,
    *,
    retention: int | None = None,
    dry_run: bool = False,
    unsafe: bool = False,
) -> list[str]:
    """Delete what is unneeded, and give its paths, relative to the table root and sorted.

    Args:
        snapshot: the latest version.
        retention: milliseconds for which a removed file is kept; the table's own by default.
        dry_run: only say what would go.
        unsafe: let the retention be shorter than the table's own, so that versions that are
            promised may become unreadable.

    Raises:
        UnsupportedError: the table needs what this implementation does not write.
        ConstraintViolation: the retention is too short.

    """
    check_writable(snapshot.protocol, snapshot.metadata)
    promised = duration(snapshot.metadata.configuration, DELETED_FILE_RETENTION)
    kept_for = promised if retention is None else retention
    if kept_for < 0 or (kept_for < promised and not unsafe):
        raise ConstraintViolation(
            f"a retention of {kept_for} ms is shorter than the {promised} ms of the table",
            hint=f"shorten {DELETED_FILE_RETENTION}, or ask for it as unsafe",
            requirement="FA-008",
        )
    cutoff = now() - kept_for
    needed = _needed(snapshot, cutoff)
    storage = snapshot.storage
    gone = sorted(
        entry.path
        for entry in storage.walk()
        if entry.mtime < cutoff
        and (_staged(entry) or (entry.path not in needed and not _hidden(entry.path)))
    )
    if not dry_run:
        for path in gone:
            _delete(storage, path)
    return gone


def _needed(snapshot: Snapshot, cutoff: int) -> set[str]:
    """Give the paths of every file that the latest version or a live tombstone names."""
    kept = live_tombstones(snapshot, now(), kept_since=cutoff)
    root = _root(snapshot.storage)
    return {
        _relative(path, root) for actions in (snapshot.adds(), kept) for path in _paths(actions)
    }


def _paths(actions: pa.Table) -> Iterator[str]:
    for path in actions.column("path").to_pylist():
        yield decode_path(str(path))
    vectors = actions.column("deletionVector")
    for vector in _stored(vectors.filter(pc.is_valid(vectors)).to_pylist()):
        yield vector.path


def _stored(vectors: Iterable[Any]) -> Iterator[Descriptor]:
    for wire in vectors:
        vector = Descriptor.from_wire(wire)
        if vector.storage_type != "i":
            yield vector


def _root(storage: Storage) -> str:
    return storage.location.rstrip("/") + "/"


def _relative(path: str, root: str) -> str:
    """Give a path relative to the root where it lies below it."""
    if not is_absolute(path):
        return path
    for spelled in (root, f"file:{root}", f"file://{root}"):
        if path.startswith(spelled):
            return path.removeprefix(spelled)
    return path


def _hidden(path: str) -> bool:
    """Tell whether a file is none of the table's: a partition folder has an equals sign."""
    return any(
        part[0] in "_." and part != _CHANGES and "=" not in part for part in path.split("/") if part
    )


def _staged(entry: Entry) -> bool:
    return STAGED.fullmatch(entry.name) is not None


def _delete(storage: Storage, path: str) -> None:
    try:
        storage.delete(path)
    except FileNotFoundError:
        return  # somebody else vacuums too
