"""Delete files that no version within the retention needs.

Implements "Add File and Remove File" (expiry of tombstones), "VACUUM Protocol Check" and "Deletion
Vectors". Only unreferenced files are deleted: a file stays while the latest version has it,
while a tombstone of it has not expired, while a young commit names it as a change file, and while
it is young and a commit may be in progress. Files of other tables below the root stay as well.
Names that begin with an underscore or a dot belong to others, except for staging files that a
killed writer left behind.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from reference_impl.errors import ConstraintViolation
from reference_impl.model.protocol import check_writable
from reference_impl.snapshot.snapshot import Snapshot, load
from reference_impl.storage import STAGED
from reference_impl.write.checkpoints.write import live_tombstones
from reference_impl.write.clock import now
from reference_impl.write.files.other_tables import add_changes, not_named_above, noting_tables
from reference_impl.write.files.referenced_files import ReferencedFiles
from reference_impl.write.properties import DELETED_FILE_RETENTION, duration

_CHANGES: Final = "_change_data"

_EVER: Final = 1 << 62
"""Milliseconds; so long ago there is no time of a file, and the time is one of 64 bits."""


def vacuum(snapshot: Snapshot, *, retention: int | None, dry_run: bool, unsafe: bool) -> list[str]:
    """Carry out :meth:`~reference_impl.table.Table.vacuum`; ms of retention, sorted paths.

    Raises:
        ConstraintViolation: the retention is shorter than that of the table, and not asked for as
            unsafe.
    """
    # Obeys DVD-001 DVD-002 DVD-003 DVD-004 VPC-002 CAT-020.
    check_writable(snapshot.protocol)
    promised = duration(snapshot.metadata.configuration, DELETED_FILE_RETENTION)
    kept_for = promised if retention is None else retention
    if kept_for < 0 or (kept_for < promised and not unsafe):
        raise ConstraintViolation(
            f"a retention of {kept_for} ms is shorter than the {promised} ms of the table",
            hint=f"shorten {DELETED_FILE_RETENTION}, or ask for it as unsafe",
            requirement="FA-008",
        )
    cutoff = now() - min(kept_for, _EVER)
    storage = snapshot.storage
    named = ReferencedFiles(storage)
    named.add_actions(snapshot.adds())
    named.add_actions(live_tombstones(snapshot, cutoff))
    others: set[str] = set()
    candidates = named.unreferenced(
        noting_tables(storage.walk(named.linked.append), named.linked, others),
        lambda entry: (
            entry.mtime < cutoff
            and (STAGED.fullmatch(entry.name) is not None or not _hidden(entry.path))
        ),
    )
    if not candidates:
        return []
    add_changes(named, storage, cutoff)
    # A restore since then, or a writer that takes files over, references files of any age.
    latest = load(storage, ratified=snapshot.listing.ratified)
    if latest.version > snapshot.version:
        named.add_snapshot(latest)
    below = tuple(others)
    own = [each for each in candidates if not each.path.startswith(below)]
    gone = named.certain(not_named_above(storage, own, cutoff))
    if not dry_run:
        for path in gone:
            with suppress(FileNotFoundError):  # a concurrent vacuum deleted it
                storage.delete(path)
    return gone


def _hidden(path: str) -> bool:
    """Return whether a file is hidden; a folder with an equals sign is a partition."""
    return any(
        part[0] in "_." and part != _CHANGES and "=" not in part for part in path.split("/") if part
    )
