"""Read a table in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from reference_impl.limits import DEFAULT_LIMITS, Limits, within_limits
from reference_impl.log.ratified import RatifiedCommits
from reference_impl.places import SAME_STORE, Outside
from reference_impl.scan.scan import scan
from reference_impl.table import Table


def read_table(  # noqa: PLR0913  each keyword is one question about the same table
    location: str | os.PathLike[str],
    *,
    version: int | None = None,
    timestamp: int | datetime | str | None = None,
    columns: Sequence[str] | None = None,
    filter: Mapping[str, Any] | str | None = None,
    row_ids: bool = False,
    ratified: RatifiedCommits | None = None,
    limits: Limits = DEFAULT_LIMITS,
    options: Mapping[str, str] | None = None,
    outside: Outside = SAME_STORE,
    stores: Mapping[str, Any] | None = None,
) -> pa.Table:
    """Read the rows of a table.

    Rows come in the order of the live files, and inside a file in physical order. Values have
    Delta's own types: timestamps in microseconds, in zone UTC or without zone.

    Args:
        location: a local path, or a URL.
        version: the version to read; the latest when neither this nor ``timestamp`` is given.
        timestamp: the latest version committed at or before it: milliseconds since the epoch,
            a datetime (UTC when it has no zone), or ISO 8601 text (UTC when it has no zone).
        columns: top-level columns to give, in this order; all when ``None``.
        filter: a tree (``docs/formats.md``) or a Spark SQL predicate; rows for which it is
            true are given.
        row_ids: add ``_row_id`` and ``_row_commit_version``, both 64-bit integers.
        ratified: the commits that the catalog of a catalog-managed table ratified.
        limits: what the operation may take.
        options: configuration for an object store.
        outside: which places outside of the root are read; see
            :func:`reference_impl.storage.open_storage`.
        stores: options of other stores, as there.

    Raises:
        LimitExceeded: it takes more than ``limits``, whether the table is valid or not.
        DeltaError: a subclass that says what is wrong with the table, or with the request.
        ValueError: both ``version`` and ``timestamp`` are given.
    """
    with within_limits(limits, "read"):
        table = Table(
            location,
            options=options,
            ratified=ratified,
            outside=outside,
            stores=stores,
            limits=limits,
        )
        snapshot = table.snapshot(version, timestamp)
        return scan(snapshot, columns=columns, filter=filter, row_ids=row_ids)
