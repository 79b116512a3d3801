"""Storage of a table: a small protocol over local disk and object stores.

Implements "Delta Table Specification" (relative and absolute paths) and "Delta Log Entries"
(atomic creation of a commit). A storage is bound to one table root, and resolves every path that
it is given by :mod:`reference_impl.places`, so that the policy always applies.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reference_impl.places import SAME_STORE, LocalRoot, Outside, Policy, decode_url
from reference_impl.storage.local import LocalStorage
from reference_impl.storage.protocol import STAGED, Entry, Identity, Storage, is_failure

__all__ = ["STAGED", "Entry", "Identity", "LocalStorage", "Storage", "is_failure", "open_storage"]


def open_storage(
    location: str | os.PathLike[str],
    options: Mapping[str, str] | None = None,
    *,
    outside: Outside = SAME_STORE,
    stores: Mapping[str, Any] | None = None,
) -> Storage:
    """Open the storage of a table root.

    Args:
        location: a local path, literal, or a URL (``file://``, ``s3://``, ``az://``,
            ``gs://``, ``memory://`` …).
        options: configuration for an object store, as ``aws_region``.
        outside: which places outside of the root are read: ``refuse`` for none, ``same-store``
            for the same disk or bucket, ``any`` for other stores too; see
            ``docs/untrusted-tables.md``.
        stores: for ``any``, ``scheme://authority`` to the options of another store.

    Raises:
        PlaceRefused: the location names another host, or a scheme that no store is known for.
        ValueError: there is no such policy.
    """
    text = os.fspath(location)
    policy = Policy(outside, dict(options or {}), dict(stores or {}))
    address = decode_url(text)
    if address is None:
        return LocalStorage(Path(text), text, policy=policy)
    if address.scheme == "file":
        return LocalStorage(Path(LocalRoot.of_url(address, policy).path), text, policy=policy)
    from reference_impl.storage.object_store import ObjectStorage

    return ObjectStorage(text, options, policy=policy)
