"""How many rows files have (section Per-file Statistics).

Deletion vectors want it of every file that has one, row tracking and Iceberg compatibility of
every file that is added. A table may hold files that do not tell: others wrote them, or a
checkpoint without statistics stands for their commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pyarrow.parquet as pq

from reference_impl.model.ranges import INT64
from reference_impl.places import decode_path
from reference_impl.scan.data_file import at_file
from reference_impl.storage import Storage
from reference_impl.write.statistics import parse_exact, statistics_json

__all__ = ["records_of", "with_records"]


def records_of(stats: Any) -> int | None:
    """Give the number of rows that statistics tell; ``None`` where they tell none."""
    try:
        records = orjson.loads(stats)["numRecords"]
    except (KeyError, TypeError, ValueError):
        return None
    return records if records in INT64 and records >= 0 else None


def with_records(
    storage: Storage, adds: Sequence[dict[str, Any]], *, everywhere: bool
) -> list[dict[str, Any]]:
    """Give add actions whose statistics tell the number of rows, from footers if need be.

    Args:
        storage: the table's storage.
        adds: bodies of add actions.
        everywhere: of all files, and not of those with deletion vectors alone.

    Raises:
        DataFileNotFound: a file that does not tell is not there.
        InvalidDataFile: its footer cannot be read.

    """
    return [
        _counted(storage, body)
        if (everywhere or body.get("deletionVector") is not None)
        and records_of(body.get("stats")) is None
        else body
        for body in adds
    ]


def _counted(storage: Storage, body: Mapping[str, Any]) -> dict[str, Any]:
    path = decode_path(str(body["path"]))
    with at_file(path), storage.open_input(path) as source:
        rows = pq.read_metadata(source).num_rows
    try:
        held = parse_exact(body.get("stats") or "{}")
    except ValueError:
        held = None
    statistics = {**held} if isinstance(held, Mapping) else {}
    if body.get("deletionVector") is not None:
        statistics["tightBounds"] = False
    return {**body, "stats": statistics_json({**statistics, "numRecords": rows})}
