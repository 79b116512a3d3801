"""A table, by its location: the entry point of everything that reads or writes one.

Serves "Delta Table Specification".
"""

from __future__ import annotations

import os
from collections.abc import Mapping

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

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Load a version; the latest by default.

        Raises:
            NotFoundError: there is no table or no such version.
            InvalidTableError: the log breaks the protocol.
            UnsupportedError: the table needs what this implementation does not read.

        """
        return Snapshot(self.storage, list_log(self.storage, version), version)

    def latest_version(self) -> int:
        """Give the newest version.

        Raises:
            TableNotFound: there is no table.

        """
        latest = list_log(self.storage).latest
        assert latest is not None
        return latest
