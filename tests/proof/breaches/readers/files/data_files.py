"""Wrong readers of data files and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from breaches.edits import CHECKPOINTS, COMMIT, COMPACTION, EVERYWHERE, each
from breaches.model import reader
from breaches.seams import viewing
from breaches.views import directory_values, partition_values


def _from_folders(values: dict[str, Any], path: str) -> dict[str, Any]:
    """Take a null for a value that a folder gives."""
    spelled = directory_values(values, path)
    return {key: spelled[key] if value is None else value for key, value in values.items()}


def _values_of_files(root: Path, fresh: frozenset[str]) -> None:
    """Take the values of a partition column from a file that holds such a column."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        held = pq.ParquetFile(root / unquote(body["path"])).read().slice(0, 1).to_pylist()
        values = {key: (held or [{}])[0].get(key, v) for key, v in body["partitionValues"].items()}
        return {**body, "partitionValues": values}

    each("add", change, COMMIT)(root, fresh)


ROWS = (
    reader(
        "takes-partition-values-from-directories",
        "DATA-003",
        viewing(partition_values(directory_values)),
    ),
    reader(
        "takes-nulls-for-values-of-folders",
        "DATA-003",
        viewing(partition_values(_from_folders)),
    ),
    *(
        reader(
            f"infers-values-{slug}-from-directories",
            "DATA-003",
            viewing(partition_values(directory_values, kind, where)),
            "data-files/misleading-*",
        )
        for slug, kind, where in (
            ("of-changes", "cdc", EVERYWHERE),
            ("in-checkpoints", "add", CHECKPOINTS),
            ("in-compactions", "add", COMPACTION),
        )
    ),
    reader(
        "takes-partitions-from-files",
        "DATA-003",
        viewing(_values_of_files),
        "data-files/partition-*",
    ),
)
