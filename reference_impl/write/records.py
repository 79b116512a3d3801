"""``numRecords`` of data files (section Per-file Statistics).

It is required of files with deletion vectors, and with row tracking or Iceberg compatibility of
every file that is added. Files of a table may lack it: another writer left it out, or a checkpoint
has no statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.parquet as pq

from reference_impl.model.ranges import INT64
from reference_impl.places import decode_path
from reference_impl.scan.data_file import at_file
from reference_impl.storage import Storage
from reference_impl.untrusted import load_json
from reference_impl.write.statistics import parse_exact, statistics_json


def num_records_of(stats: Any) -> int | None:
    """Return ``numRecords`` of statistics, ``None`` when it is absent or invalid."""
    try:
        records = load_json(stats)["numRecords"]
    except (KeyError, TypeError, ValueError):
        return None
    return records if records in INT64 and records >= 0 else None


def ensure_num_records(
    storage: Storage, adds: Sequence[dict[str, Any]], *, everywhere: bool
) -> list[dict[str, Any]]:
    """Complete ``numRecords`` in the statistics of add actions, from footers if need be.

    Args:
        storage: the table's storage.
        adds: bodies of add actions.
        everywhere: for all files, not only those with deletion vectors.

    Raises:
        DataFileNotFound: a file that lacks it does not exist.
        InvalidDataFile: its footer cannot be read.

    """
    return [
        _with_num_records(storage, body)
        if (everywhere or body.get("deletionVector") is not None)
        and num_records_of(body.get("stats")) is None
        else body
        for body in adds
    ]


def _with_num_records(storage: Storage, body: Mapping[str, Any]) -> dict[str, Any]:
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
