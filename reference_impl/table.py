"""A table, by its location: the entry point of everything that reads or writes one.

Serves "Delta Table Specification".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa

from reference_impl.cdf import read_changes
from reference_impl.history import CommitRecord, History, to_millis
from reference_impl.segment import list_log
from reference_impl.snapshot import Snapshot
from reference_impl.storage import Storage, open_storage

__all__ = ["Table"]


class Table:
    """A Delta table.

    Attributes:
        storage: the storage bound to the table root.

    """

    def __init__(
        self,
        location: str | os.PathLike[str] | Storage,
        *,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Name a table; nothing is read yet.

        Args:
            location: a local path, a URL, or an open storage.
            options: configuration for an object store.

        """
        if isinstance(location, str | os.PathLike):
            self.storage: Storage = open_storage(location, options)
        else:
            self.storage = location

    def snapshot(
        self, version: int | None = None, timestamp: int | str | datetime | None = None
    ) -> Snapshot:
        """Load a version; the latest by default.

        Args:
            version: the version to load.
            timestamp: load the latest version committed at or before this time, given in
                milliseconds since the epoch, as ISO 8601 text or as a datetime (UTC where no
                zone is told).

        Raises:
            ValueError: both a version and a timestamp are given.
            NotFoundError: there is no table or no such version.
            InvalidTableError: the log breaks the protocol.
            UnsupportedError: the table needs what this implementation does not read.

        """
        if timestamp is not None:
            if version is not None:
                raise ValueError("give a version or a timestamp, not both")
            version = self._history().version_at(to_millis(timestamp))
        return Snapshot(self.storage, list_log(self.storage, version), version)

    def history(self, limit: int | None = None) -> list[CommitRecord]:
        """Give the commits that the log still holds, newest first; at most ``limit`` of them.

        Raises:
            NotFoundError: there is no table.
            InvalidTableError: the log breaks the protocol.
            UnsupportedError: the table needs what this implementation does not read.

        """
        return self._history().commits(limit)

    def changes(self, start: int, end: int | None = None) -> pa.Table:
        """Give the row-level changes of the versions ``start`` to ``end``, both included.

        See :func:`reference_impl.cdf.read_changes`.
        """
        return read_changes(self.storage, start, end)

    def _history(self) -> History:
        listing = list_log(self.storage, whole=True)
        return History(self.storage, listing, Snapshot(self.storage, listing))

    def latest_version(self) -> int:
        """Give the newest version.

        Raises:
            TableNotFound: there is no table.

        """
        latest = list_log(self.storage).latest
        assert latest is not None
        return latest
