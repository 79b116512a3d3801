"""Exit statuses: what went wrong, for scripts to distinguish. A run that ran nothing never is 0.

0, 1 and 2 to 4 mean what they mean to pytest: success, a failed case, an interruption, an internal
error, bad usage. The rest is the kit's own.
"""

from __future__ import annotations

from enum import IntEnum

from conformance.base.faults import (
    AdapterStartError,
    CorpusError,
    EmptySelectionError,
    KitError,
    ResolveError,
    SelectionError,
    UnusableError,
)


class Status(IntEnum):
    """How a run ended."""

    OK = 0
    NONCONFORMANT = 1
    INTERRUPTED = 2
    INTERNAL = 3
    USAGE = 4
    EMPTY_SELECTION = 10
    UNKNOWN_ID = 11
    CORPUS = 12
    ADAPTER = 13
    STALE_BASELINE = 14
    ERRORS = 15
    NOTHING_JUDGED = 16
    TOO_FEW_JUDGED = 17
    GAVE_UP = 18
    HUNG = 19


_STATUS_OF_ERROR: tuple[tuple[type[KitError], Status], ...] = (
    (EmptySelectionError, Status.EMPTY_SELECTION),
    (SelectionError, Status.UNKNOWN_ID),
    (CorpusError, Status.CORPUS),
    (ResolveError, Status.ADAPTER),
    (AdapterStartError, Status.ADAPTER),
    (UnusableError, Status.USAGE),
)


def status_of_error(error: KitError) -> Status:
    """Return the status of a run that an error made unusable."""
    for kind, status in _STATUS_OF_ERROR:
        if isinstance(error, kind):
            return status
    return Status.INTERNAL
