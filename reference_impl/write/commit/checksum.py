"""Version checksums: what a version holds, counted (section Version Checksum File).

Counting every file after each commit would make many small commits quadratic. Where the
version before has a checksum from this writer's own chain of commits, only what changed is
counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidAction
from reference_impl.log.names import LOG_DIR, checksum_name
from reference_impl.model.ranges import INT64
from reference_impl.model.wire import json_text
from reference_impl.snapshot.snapshot import State
from reference_impl.storage import Storage
from reference_impl.untrusted import load_json

_SIZE_BINS: Final = (0, *(1 << shift for shift in range(13, 38)))
"""Starts of the bins of file sizes in bytes: below 8 KiB, then powers of two up to 128 GiB."""

_FLOAT_LIMIT: Final = 2.0**62
"""A sum of sizes in floating point below which the exact one fits 64 bits."""

_DELETED_BINS: Final = (0, *(10**digits for digits in range(8)), 2**31 - 1)


@dataclass(slots=True)
class Totals:
    """Counts of the live files of a version; sizes in bytes."""

    file_counts: list[int] = field(default_factory=lambda: [0] * len(_SIZE_BINS))
    file_bytes: list[int] = field(default_factory=lambda: [0] * len(_SIZE_BINS))
    deleted_counts: list[int] = field(default_factory=lambda: [0] * len(_DELETED_BINS))
    deleted_rows: int = 0
    vectors: int = 0

    @classmethod
    def of(cls, adds: pa.Table) -> Totals:
        """Count the files of add actions in wire columns."""
        sizes = adds.column("size").to_numpy()
        _check_sizes(sizes)
        bins = np.searchsorted(_SIZE_BINS, sizes, side="right") - 1
        vectors = adds.column("deletionVector").combine_chunks()
        rows = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0).to_numpy()
        deleted = np.searchsorted(_DELETED_BINS, rows, side="right") - 1
        totals = np.zeros(len(_SIZE_BINS), dtype=np.int64)
        np.add.at(totals, bins, sizes)
        return cls(
            np.bincount(bins, minlength=len(_SIZE_BINS)).tolist(),
            totals.tolist(),
            np.bincount(deleted, minlength=len(_DELETED_BINS)).tolist(),
            int(rows.sum()),
            len(vectors) - vectors.null_count,
        )

    def count(self, files: Iterable[Mapping[str, Any]], sign: int) -> None:
        """Add the files of action bodies (``sign`` 1), or subtract them (-1)."""
        for body in files:
            at = bisect_right(_SIZE_BINS, body["size"]) - 1
            self.file_counts[at] += sign
            self.file_bytes[at] += sign * body["size"]
            vector = body.get("deletionVector")
            rows = vector["cardinality"] if vector else 0
            self.deleted_counts[bisect_right(_DELETED_BINS, rows) - 1] += sign
            self.deleted_rows += sign * rows
            self.vectors += sign * (vector is not None)


def _check_sizes(sizes: npt.NDArray[np.int64]) -> None:
    if len(sizes) and (sizes.min() < 0 or sizes.sum(dtype=np.float64) >= _FLOAT_LIMIT):
        # Numpy would overflow: Python adds large sums.
        INT64.require(sum(sizes.tolist()), "the bytes of the files", requirement="CRC-007")
        if sizes.min() < 0:
            raise InvalidAction("a file has fewer than no bytes", action="add", stage="commit")


def write_checksum(
    storage: Storage, version: int, state: State, info: Mapping[str, Any], totals: Totals
) -> None:
    """Write the checksum of a version whose commit exists; an existing one stays.

    Args:
        storage: the table's storage.
        version: the version.
        state: its small actions.
        info: the body of its commitInfo.
        totals: its files, counted.

    Raises:
        RangeExhausted: files count for more bytes, or rows, than 64 bits can say.
    """
    # Obeys CRC-004 CRC-005 CRC-008 CRC-009 CRC-010 CRC-011 CRC-014 CRC-015 CRC-016 CRC-037 CRC-039.
    for name, total in (
        ("the bytes of the files", sum(totals.file_bytes)),
        ("the deleted rows", totals.deleted_rows),
    ):
        INT64.require(total, name, requirement="CRC-007")
    document: dict[str, Any] = {
        "txnId": info["txnId"],
        "tableSizeBytes": sum(totals.file_bytes),
        "numFiles": sum(totals.file_counts),
        "numMetadata": 1,
        "numProtocol": 1,
        "setTransactions": [txn.to_wire() for txn in state.txns.values()],
        "domainMetadata": [domain.to_wire() for domain in state.live_domains().values()],
        "metadata": state.single["metaData"].to_wire(),
        "protocol": state.single["protocol"].to_wire(),
        "fileSizeHistogram": {
            "sortedBinBoundaries": list(_SIZE_BINS),
            "fileCounts": totals.file_counts,
            "totalBytes": totals.file_bytes,
        },
        "numDeletedRecordsOpt": totals.deleted_rows,
        "numDeletionVectorsOpt": totals.vectors,
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": totals.deleted_counts},
    }
    if "inCommitTimestamp" in info:
        document["inCommitTimestampOpt"] = info["inCommitTimestamp"]
    storage.put_if_absent(f"{LOG_DIR}/{checksum_name(version)}", json_text(document).encode())


def read_totals(storage: Storage, version: int, transaction: str) -> Totals | None:
    """Read the counts of a version back, if its checksum is of the given transaction."""
    try:
        document = load_json(storage.get(f"{LOG_DIR}/{checksum_name(version)}"))
        if document["txnId"] != transaction:
            return None
        histogram = document["fileSizeHistogram"]
        if histogram["sortedBinBoundaries"] != list(_SIZE_BINS):
            return None
        found = Totals(
            histogram["fileCounts"],
            histogram["totalBytes"],
            document["deletedRecordCountsHistogramOpt"]["deletedRecordCounts"],
            document["numDeletedRecordsOpt"],
            document["numDeletionVectorsOpt"],
        )
    except (FileNotFoundError, KeyError, TypeError, ValueError):
        return None
    fits = sum(found.file_counts) == document.get("numFiles")
    return found if fits and sum(found.file_bytes) == document.get("tableSizeBytes") else None
