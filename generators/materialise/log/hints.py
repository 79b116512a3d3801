"""The files beside the log proper: ``_last_checkpoint``, version checksums, log compactions.

Covers "Last Checkpoint File", "JSON checksum", "Version Checksum File" and "Log Compaction Files".
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from generators.materialise.log.checkpoints import Written
from generators.materialise.log.files import (
    LOG_DIRECTORY,
    Action,
    checksum_name,
    json_text,
    write_compaction_lines,
)
from generators.materialise.log.state import LogState

FILE_SIZE_BINS: Final = (0, 8 * 1024, 1024**2, 32 * 1024**2, 128 * 1024**2, 1024**3)
"""Starts of the bins of our file size histograms, in bytes."""

DELETED_RECORD_BINS: Final = (0, 1, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7, 2147483647)
"""Starts of the ten bins of the deleted record counts histogram."""


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return f'"{quote(value, safe="-._~")}"'
    return json.dumps(value)


def _leaves(prefix: str, value: Any) -> Iterable[tuple[str, str]]:
    match value:
        case Mapping():
            inner = [(f'"{quote(name, safe="-._~")}"', each) for name, each in value.items()]
        case list() | tuple():
            inner = [(str(number), each) for number, each in enumerate(value)]
        case _:
            yield prefix, _leaf(value)
            return
    for name, each in inner:
        yield from _leaves(f"{prefix}+{name}" if prefix else name, each)


def canonical_json(document: Mapping[str, Any]) -> str:
    """Return the canonical form of a hint, its top-level ``checksum`` left out."""
    kept = {name: value for name, value in document.items() if name != "checksum"}
    pairs = sorted(_leaves("", kept), key=lambda pair: pair[0].encode("utf-8"))
    return ",".join(f"{path}={value}" for path, value in pairs)


def json_checksum(document: Mapping[str, Any]) -> str:
    """Return the MD5 of the canonical form as 32 hexadecimal digits."""
    return hashlib.md5(canonical_json(document).encode("utf-8"), usedforsecurity=False).hexdigest()


def last_checkpoint_document(written: Written, *, checksum: bool = True) -> dict[str, Any]:
    """Return the hint for a checkpoint.

    Args:
        written: the checkpoint.
        checksum: whether the hint carries its own checksum.
    """
    document: dict[str, Any] = {"version": written.version, "size": written.actions}
    if written.parts is not None:
        document["parts"] = written.parts
    document |= {"sizeInBytes": written.bytes, "numOfAddFiles": written.adds}
    if checksum:
        document["checksum"] = json_checksum(document)
    return document


def write_last_checkpoint(root: Path, written: Written) -> Path:
    """Write ``_last_checkpoint`` for a checkpoint and return its path."""
    path = root / LOG_DIRECTORY / "_last_checkpoint"
    path.write_bytes(json_text(last_checkpoint_document(written)).encode("utf-8"))
    return path


def _histogram(boundaries: Sequence[int], sizes: Sequence[int]) -> dict[str, Any]:
    counts, totals = [0] * len(boundaries), [0] * len(boundaries)
    for size in sizes:
        place = bisect_right(boundaries, size) - 1
        counts[place] += 1
        totals[place] += size
    return {"sortedBinBoundaries": list(boundaries), "fileCounts": counts, "totalBytes": totals}


def version_checksum_document(
    state: LogState,
    *,
    in_commit_timestamp: int | None = None,
    transaction_id: str | None = None,
    all_files: bool = False,
) -> dict[str, Any]:
    """Return the checksum document of a state.

    Args:
        state: the state at the version.
        in_commit_timestamp: that of the version, in milliseconds, when the table has them.
        transaction_id: the ``txnId``.
        all_files: list every live file in ``allFiles``.
    """
    adds = list(state.adds.values())
    sizes = [each["size"] for each in adds]
    vectors = [each["deletionVector"] for each in adds if each.get("deletionVector")]
    document: dict[str, Any] = {}
    if transaction_id is not None:
        document["txnId"] = transaction_id
    document |= {
        "tableSizeBytes": sum(sizes),
        "numFiles": len(adds),
        "numMetadata": 1,
        "numProtocol": 1,
    }
    if in_commit_timestamp is not None:
        document["inCommitTimestampOpt"] = in_commit_timestamp
    document |= {
        "setTransactions": [state.transactions[name] for name in sorted(state.transactions)],
        "domainMetadata": [
            state.domains[name]
            for name in sorted(state.domains)
            if not state.domains[name].get("removed")
        ],
        "metadata": state.metadata,
        "protocol": state.protocol,
        "fileSizeHistogram": _histogram(FILE_SIZE_BINS, sizes),
    }
    if "deletionVectors" in ((state.protocol or {}).get("writerFeatures") or ()):
        deleted = [(each.get("deletionVector") or {}).get("cardinality", 0) for each in adds]
        document |= {
            "numDeletedRecordsOpt": sum(deleted),
            "numDeletionVectorsOpt": len(vectors),
            "deletedRecordCountsHistogramOpt": {
                "deletedRecordCounts": _histogram(DELETED_RECORD_BINS, deleted)["fileCounts"]
            },
        }
    if all_files:
        document["allFiles"] = adds
    return document


def write_version_checksum(root: Path, version: int, document: Mapping[str, Any]) -> Path:
    """Write the checksum file of a version and return its path."""
    path = root / LOG_DIRECTORY / checksum_name(version)
    path.write_bytes(json_text(document).encode("utf-8"))
    return path


def write_compaction(root: Path, start: int, end: int, commits: Iterable[Iterable[Action]]) -> Path:
    """Write the log compaction of the commits of versions ``start`` to ``end``.

    Removed files and removed domains stay, for they must still cancel what lies before ``start``.
    """
    state = LogState()
    for actions in commits:
        state.apply(actions)
    return write_compaction_lines(
        root, start, end, state.other_actions(tombstones=True) + state.file_actions()
    )
