"""Read a table in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from reference_impl.errors import TimestampNotFound
from reference_impl.limits import DEFAULT_LIMITS, Limits, within_limits
from reference_impl.ratified import RatifiedCommits
from reference_impl.scan import scan
from reference_impl.table import Table
from reference_impl.types.temporal import EPOCH_UTC, parse_timestamp

__all__ = ["read_table", "to_milliseconds"]


def read_table(  # noqa: PLR0913  each keyword is one question about the same table
    location: str | os.PathLike[str],
    *,
    version: int | None = None,
    timestamp: int | datetime | str | None = None,
    columns: Sequence[str] | None = None,
    filter: Mapping[str, Any] | str | None = None,  # noqa: A002  the word of the contract
    row_ids: bool = False,
    ratified: RatifiedCommits | None = None,
    limits: Limits = DEFAULT_LIMITS,
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
        ratified: what the caller got from the catalog of a catalog-managed table.
        limits: what the operation may take.

    Raises:
        LimitExceeded: it takes more, whether the table is valid or not.
        DeltaError: a subclass that says what is wrong with the table, or with the request.
        ValueError: both ``version`` and ``timestamp`` are given.

    """
    if version is not None and timestamp is not None:
        raise ValueError("give a version or a timestamp, not both")
    moment = None if timestamp is None else to_milliseconds(timestamp)
    with within_limits(limits):
        snapshot = Table(location, ratified=ratified, limits=limits).snapshot(version, moment)
        return scan(snapshot, columns=columns, filter=filter, row_ids=row_ids)


def to_milliseconds(timestamp: int | datetime | str) -> int:
    """Give milliseconds since the epoch, rounded down, of a time in any spelling.

    Raises:
        TimestampNotFound: a text is no timestamp.

    """
    match timestamp:
        case int():
            return timestamp
        case datetime():
            zoned = timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)
            micros = (zoned - EPOCH_UTC) // (datetime.resolution)
        case str():
            try:
                micros = parse_timestamp(timestamp, zone=True)
            except ValueError as error:
                raise TimestampNotFound(str(error)) from None
    return micros // 1000
