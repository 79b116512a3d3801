"""Paths of sidecars, which must lie in the table's own ``_sidecars`` folder.

Serves "Sidecar File Information": sidecar files must always reside in ``_delta_log/_sidecars``,
and the path of the action is URI-encoded, preferably the name alone.
"""

from __future__ import annotations

from reference_impl.errors import InvalidCheckpoint, PlaceRefused
from reference_impl.log.names import SIDECAR_DIR
from reference_impl.places import Locator, decode_path


def sidecar_path(locate: Locator, path: str) -> str:
    """Return the path below the table root of the sidecar that an action names.

    Args:
        locate: the table's, see :meth:`reference_impl.storage.Storage.locator`.
        path: as in the action: a name, a path from the table root, or an absolute one.

    Raises:
        InvalidAction: the path cannot be decoded.
        InvalidCheckpoint: it leads to another folder than the one for sidecars.

    """
    # Obeys SCA-004.
    decoded = decode_path(path, action="sidecar")
    try:
        where = locate(decoded if "/" in decoded else f"{SIDECAR_DIR}/{decoded}")
    except PlaceRefused:
        where = None
    if where is None or where.rpartition("/")[0] != SIDECAR_DIR:
        raise InvalidCheckpoint(
            f"a sidecar is not in the table's own {SIDECAR_DIR}",
            path=decoded[:500],
            action="sidecar",
            requirement="SIDE-004",
        )
    return where
