"""Remove files that a step wrote before it failed.

Implements "Delta Log Entries": a file that no action names is no part of the table. An orphan
costs space until ``vacuum``; a file removed by mistake costs rows. So a caller lists only files
of its own, and none that something may refer to.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from reference_impl.errors import PlaceRefused
from reference_impl.storage import Storage

_REFUSALS: Final = frozenset(
    {errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG, errno.ENOSPC, errno.EROFS}
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
def cleanup_on_failure(storage: Storage, created: list[str]) -> Iterator[None]:
    """Remove the listed files where the block fails; the list is then empty.

    A file that cannot be removed stays, and is logged.

    Args:
        storage: where they are.
        created: their paths, read when the block fails.
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
def publish_references(created: list[str]) -> Iterator[None]:
    """Write the file that references the listed ones; where it may exist, the list is cleared."""
    try:
        yield
    except BaseException as error:
        if not is_refusal(error):
            created.clear()
        raise


def is_refusal(error: BaseException) -> bool:
    """Return whether an error proves that a file was not and will not be written.

    After any other error, such as a time-out, the file may exist, or still appear.
    """
    return isinstance(error, _REFUSING) or (isinstance(error, OSError) and error.errno in _REFUSALS)
