"""Other tables on the way to a table and below it, whose logs name files of their own.

Implements "Delta Table Specification": a table is a folder with a log. A folder of a partition may
have a log as well, and then two logs may name one file; what one of them does not know, the other
may still need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from reference_impl.errors import TableNotFound
from reference_impl.log.names import LOG_DIR
from reference_impl.snapshot.segment import list_log
from reference_impl.snapshot.snapshot import load, read_commit
from reference_impl.storage import Entry, Storage
from reference_impl.write.files.referenced_files import ReferencedFiles


def noting_tables(
    walk: Iterable[Entry], linked: Iterable[str], others: set[str]
) -> Iterator[Entry]:
    """Pass a listing on, and note the folders of other tables in it, as beginnings of paths.

    Their logs name files of which the log of this table knows nothing. A log may be a symlink.

    Args:
        walk: the listing.
        linked: folders that are symlinks, which the listing fills.
        others: is given what is found.
    """
    for entry in walk:
        _note_table(entry.path, others)
        yield entry
    for folder in linked:
        _note_table(f"{folder}/", others)


def _note_table(path: str, others: set[str]) -> None:
    folder, log, _ = path.partition(f"/{LOG_DIR}/")
    if log:
        others.add(f"{folder}/")


def not_named_above(storage: Storage, entries: Iterable[Entry], cutoff: int) -> list[Entry]:
    """Return the files that no table names in whose folder the table lies.

    Args:
        storage: of the table.
        entries: files of the table.
        cutoff: milliseconds since the epoch; change files of commits before it do not count.

    Raises:
        DeltaError: the log of such a table cannot be read, so what it names is not known.
    """
    left = list(entries)
    for outer, within in storage.above(LOG_DIR) if left else ():
        try:
            latest = load(outer)
        except TableNotFound:
            continue  # a folder with that name alone
        named = ReferencedFiles(outer)
        named.add_snapshot(latest)
        add_changes(named, outer, cutoff)
        theirs = [replace(each, path=f"{within}/{each.path}") for each in left]
        free = set(named.certain(named.unreferenced(theirs, lambda _: True)))
        left = [each for each in left if f"{within}/{each.path}" in free]
    return left


def add_changes(named: ReferencedFiles, storage: Storage, cutoff: int) -> None:
    """Add the change files of commits that are within the retention."""
    listing = list_log(storage, from_start=True)
    for version, file in listing.commits.items():
        entry = listing.entries.get(version)
        if entry is None or entry.mtime >= cutoff:
            for body in read_commit(storage, file).bodies("cdc"):
                named.add(str(body.get("path") or ""), "cdc")
