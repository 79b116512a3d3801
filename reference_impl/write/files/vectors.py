"""Write deletion vectors: one file per commit, in the portable format.

Implements "Deletion Vectors", its writer requirements, and "Deletion Vector File Storage Format".
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reference_impl.deletion_vectors import Descriptor, encode, encode_z85, frame
from reference_impl.errors import InvalidStatistics
from reference_impl.model.file_actions import to_objects
from reference_impl.storage import Storage
from reference_impl.write.files.live_files import LiveFile, Mask
from reference_impl.write.statistics import parse_exact, statistics_json


def write_vectors(
    storage: Storage, files: Sequence[tuple[LiveFile, Mask]], created: list[str]
) -> list[dict[str, Any]]:
    """Write the vectors of one commit, and return the add action of each file with its new one.

    Args:
        storage: the table's storage.
        files: each file with the mask of all rows that are deleted, earlier ones too.
        created: takes the path of the file before it is written.

    Raises:
        InvalidStatistics: a file lacks ``numRecords`` and its statistics cannot be mended.
        OSError: the storage failed; the vector file is an orphan.
    """
    # Obeys DV-002 DVD-018 DVFILE-003 DVSTO-001 DVSTO-002.
    payloads = [encode(np.flatnonzero(deleted).tolist()) for _, deleted in files]
    content, offsets = frame(payloads)
    name = uuid.uuid4()
    path = f"deletion_vector_{name}.bin"
    created.append(path)
    storage.put(path, content)
    text = encode_z85(name.bytes)
    return [
        _with_vector(file, Descriptor("u", text, offset, len(payload), int(deleted.sum())))
        for (file, deleted), payload, offset in zip(files, payloads, offsets, strict=True)
    ]


def _with_vector(file: LiveFile, vector: Descriptor) -> dict[str, Any]:
    (body,) = to_objects(file.add)
    return {**body, "dataChange": True, "stats": _widened(body), "deletionVector": vector.to_wire()}


def _widened(add: Mapping[str, Any]) -> str:
    """Return the statistics of a file, its bounds declared as no longer exact."""
    # Obeys STAT-002 STAT-009 STAT-010 STAT-013.
    held = parse_exact(add.get("stats"))
    if held is None:
        raise InvalidStatistics(
            "the statistics of the file are not a JSON object",
            path=str(add["path"]),
            stage="commit",
        )
    return statistics_json({**held, "tightBounds": False})
