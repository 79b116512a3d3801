"""What a scan reads: one task per live file, with everything that the log says about it.

Serves "Add File and Remove File" and "Partition Value Serialization".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from reference_impl.model.column_mapping import Mode
from reference_impl.places import decode_path
from reference_impl.snapshot.table_schema import partition_column
from reference_impl.types.model import Field


@dataclass(frozen=True, slots=True)
class FileTask:
    """One logical file to read.

    Attributes:
        path: decoded; relative to the table root, absolute, or a URL.
        partition: logical column name to a typed Arrow scalar.
        deletion_vector: the descriptor, in wire spelling: rows that are left out.
        only: another descriptor: rows that alone are read; ``None`` for all rows.
        base_row_id: ``baseRowId``.
        default_row_commit_version: ``defaultRowCommitVersion``.

    """

    path: str
    partition: Mapping[str, pa.Scalar]
    deletion_vector: Mapping[str, Any] | None = None
    only: Mapping[str, Any] | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None


def file_tasks(files: pa.Table, partition: Sequence[Field], mode: Mode) -> Iterator[FileTask]:
    """Return the task of each file action, in order.

    Args:
        files: add actions in wire columns.
        partition: the partition columns whose values are wanted.
        mode: the column mapping mode, by which partition values have logical or physical names.

    Raises:
        InvalidPartitionValue: see :func:`partition_column`.
        InvalidAction: a path cannot be decoded.

    """
    # Obeys SNAP-003 SNAP-007 DATA-003.
    typed = {f.name: partition_column(files, f, mode) for f in partition}
    wanted = ("path", "deletionVector", "baseRowId", "defaultRowCommitVersion")
    rows = files.select([c for c in wanted if c in files.column_names]).to_pylist()
    for at, row in enumerate(rows):
        yield FileTask(
            decode_path(row["path"]),
            {name: values[at] for name, values in typed.items()},
            row.get("deletionVector"),
            base_row_id=row.get("baseRowId"),
            default_row_commit_version=row.get("defaultRowCommitVersion"),
        )
