"""Remove files that a step wrote before it failed.

Serves "Delta Log Entries": a file that no action names is no part of the table. What stays
behind costs room until ``vacuum`` finds it; what is removed by mistake costs rows. So a caller
lists only names that are its own, and stops listing them once something may refer to them.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from reference_impl.errors import PlaceRefused
from reference_impl.storage import Storage

__all__ = ["is_refusal", "publishing", "removing"]

_REFUSALS: Final = frozenset(
    {
        errno.EDQUOT,
        errno.EFBIG,
        errno.ENAMETOOLONG,
        errno.ENOSPC,
        errno.EROFS,
    }
)
_REFUSING: Final = (
    PermissionError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PlaceRefused,
)

_log: Final = logging.getLogger(__name__)


@contextmanager
def removing(storage: Storage, created: list[str]) -> Iterator[None]:
    """Remove the listed files where what is done under it fails; the list is empty then.

    What cannot be removed stays, with a line in the log.

    Args:
        storage: where they are.
        created: their paths, read when it comes to it.

    """
    try:
        yield
    except BaseException:
        for path in created:
            try:
                storage.delete(path)
            except FileNotFoundError:
                continue
            except Exception:  # noqa: BLE001  the first error is the one to raise
                _log.warning("%s is left over and could not be removed", path, exc_info=True)
        created.clear()
        raise


@contextmanager
def publishing(created: list[str]) -> Iterator[None]:
    """Write the file that names the listed ones: where it may be there, the list is emptied."""
    try:
        yield
    except BaseException as error:
        if not is_refusal(error):
            created.clear()
        raise


def is_refusal(error: BaseException) -> bool:
    """Tell whether a storage says that it did not write a file, and will not.

    After every other error, a time-out above all, the file may be there, or appear yet.
    """
    return isinstance(error, _REFUSING) or (isinstance(error, OSError) and error.errno in _REFUSALS)
