"""How large the log of a table is, which decides whether it is audited whole or in buckets.

Serves "Delta Log Entries", "Checkpoints" and "Sidecar Files". The listing alone says it: a file
action takes some 350 bytes of JSON, and 30 of Parquet, which repeats nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from conformance.audit.grammar.log_files import SIDECAR_DIR
from conformance.audit.read.log import Listing
from reference_impl.errors import DeltaError
from reference_impl.storage import Storage

_ROWS: Final = 500_000
"""File actions of one bucket, about: they take a gigabyte for each million."""

_JSON: Final = 350
_PARQUET: Final = 30
"""Bytes of a file action, about."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a log: ``bytes`` of its files, and the file ``actions`` in them, about."""

    bytes: int = 0
    actions: int = 0


def size_of(storage: Storage, listing: Listing) -> Size:
    """Return the size of a log, sidecars included."""
    files = [entry for _, entry in listing.files]
    # What is wrong with the folder of sidecars is for the audit to say.
    with suppress(DeltaError, OSError):
        files += storage.list_from(SIDECAR_DIR)
    json = sum(file.size for file in files if file.path.endswith(".json"))
    bytes_ = sum(file.size for file in files)
    return Size(bytes_, json // _JSON + (bytes_ - json) // _PARQUET)


def buckets_for(size: Size) -> int:
    """Return how many buckets a log is worth."""
    return max(1, round(size.actions / _ROWS))
