"""Write checkpoints, and the hint that points at them.

Implements "Checkpoints", "Checkpoint Naming Scheme" and "Last Checkpoint File".
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import ConstraintViolation, InvalidMetadata, PlaceRefused
from reference_impl.log.last_checkpoint import json_checksum, read_hint
from reference_impl.log.names import (
    LAST_CHECKPOINT,
    LOG_DIR,
    checkpoint_name,
    part_name,
    uuid_checkpoint_name,
)
from reference_impl.model.features import supported
from reference_impl.model.file_actions import REMOVE_SCHEMA
from reference_impl.model.ranges import Range
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.storage import Storage
from reference_impl.write.checkpoints.files import checkpoint_adds, part_keys, put_parquet, write_v2
from reference_impl.write.clock import now
from reference_impl.write.files.orphans import cleanup_on_failure
from reference_impl.write.properties import DELETED_FILE_RETENTION, duration

_log: Final = logging.getLogger(__name__)

_MAX_FILES: Final = 100_000
"""Files of one checkpoint at most: each takes a request to read."""

_POLICY: Final = "delta.checkpointPolicy"
_REMOVE_LEFT_OUT: Final = frozenset({"stats", "tags"})
"""Fields of removes that are not in the checkpoint schema."""


def live_tombstones(snapshot: Snapshot, kept_since: int | None = None) -> pa.Table:
    """Return the tombstones that have not expired; one without a timestamp is among them.

    Args:
        snapshot: the version.
        kept_since: files that were removed since then, in milliseconds since the epoch, are kept;
            by default those within the table's retention.
    """
    # Obeys CKPT-007 CKC-005 FA-007.
    removes = snapshot.tombstones()
    limit = kept_since
    if limit is None:
        limit = now() - duration(snapshot.metadata.configuration, DELETED_FILE_RETENTION)
    kept = pc.greater_equal(removes.column("deletionTimestamp"), limit)
    return removes.filter(pc.fill_null(kept, True))  # noqa: FBT003  a value


@dataclass(frozen=True, slots=True)
class Style:
    """Which checkpoint to write.

    Attributes:
        spec: ``v1`` is classic; ``v2`` has a UUID in its name and needs its feature.
        encoding: of a V2 checkpoint's own file.
        classic: a V2 checkpoint has a classic name, for clients that know no other; in Parquet.
        sidecars: files that take the file actions of a V2 checkpoint; 0 keeps them inside.
        parts: files of a multi-part checkpoint, which is deprecated; 0 for one file.
    """

    spec: Literal["v1", "v2"] = "v1"
    encoding: Literal["parquet", "json"] = "parquet"
    sidecars: int = 0
    parts: int = 0
    classic: bool = False


def style_of(snapshot: Snapshot) -> Style:
    """Return the style that the properties of a table ask for."""
    wanted = snapshot.metadata.configuration.get(_POLICY, "classic")
    listed = "v2Checkpoint" in supported(snapshot.protocol)
    return Style("v2") if wanted == "v2" and listed else Style()


def write_checkpoint(snapshot: Snapshot, style: Style | None = None) -> None:
    """Write a checkpoint of a version, and point the hint at it.

    Args:
        snapshot: the version.
        style: which kind; what the table asks for by default.

    Raises:
        InvalidTableError: the file actions of the version break the protocol.
        UnsupportedFeatures: the table does not support V2 checkpoints.
        ConstraintViolation: the table supports V2 checkpoints, which rules several parts out; or
            the style asks for a number of files that no checkpoint has.
        OSError: the storage failed; the table reads as before.
    """
    # Obeys CKPT-031 CKC-009 CAT-017 LASTS-002 LASTS-003 LASTS-011.
    style = style or style_of(snapshot)
    _check_style(style)
    small = _small_actions(snapshot)
    files = _file_actions(snapshot)
    rows = sum(map(len, small.values())) + sum(part.num_rows for part in files.values())
    hint: dict[str, Any] = {"version": snapshot.version}
    if style.spec == "v2":
        size, rows = write_v2(snapshot, _v2_name(snapshot, style), style.sidecars, small, files)
    elif style.parts > 1:
        if "v2Checkpoint" in supported(snapshot.protocol):
            raise ConstraintViolation(
                "a table that supports V2 checkpoints gets none in several parts",
                requirement="CKPT-N-009",
            )
        size = _write_parts(snapshot, style.parts, small, files)
        hint["parts"] = style.parts
    else:
        size = put_parquet(snapshot, f"{LOG_DIR}/{checkpoint_name(snapshot.version)}", small, files)
    hint |= {"size": rows, "sizeInBytes": size, "numOfAddFiles": files["add"].num_rows}
    point_at(snapshot.storage, hint)


def _v2_name(snapshot: Snapshot, style: Style) -> str:
    if style.classic:
        return checkpoint_name(snapshot.version)
    return uuid_checkpoint_name(snapshot.version, str(uuid.uuid4()), style.encoding)


def _check_style(style: Style) -> None:
    # Obeys CKPT-V2-001 CKPT-N-002 CKPT-N-013.
    if style.classic and (style.spec, style.encoding) != ("v2", "parquet"):
        raise ConstraintViolation(
            "a V2 checkpoint with a classic name is one in Parquet",
            stage="commit",
            requirement="CKPT-018",
        )
    for name, count in (("parts", style.parts), ("sidecars", style.sidecars)):
        if count not in Range(0, _MAX_FILES):
            raise ConstraintViolation(
                f"a checkpoint has no {count!r:.40} {name}",
                stage="commit",
                requirement="CKPT-001",
                hint=f"give a number from 0 to {_MAX_FILES}",
            )


def _file_actions(snapshot: Snapshot) -> dict[str, pa.Table]:
    """Return the live files and the tombstones, in the columns that the checkpoint has."""
    # Obeys CKC-024 CKC-025.
    try:
        removes = live_tombstones(snapshot)
    except InvalidMetadata as error:
        # An extra tombstone takes space; a missing one lets vacuum delete files too early.
        _log.warning("every tombstone is kept: %s", error)
        removes = snapshot.tombstones()
    return {
        "add": checkpoint_adds(snapshot),
        "remove": removes.select([f.name for f in REMOVE_SCHEMA if f.name not in _REMOVE_LEFT_OUT]),
    }


def _write_parts(
    snapshot: Snapshot, parts: int, small: dict[str, list[Any]], files: dict[str, pa.Table]
) -> int:
    """Spread file actions over parts by the hash of their key, as Spark does."""
    # Obeys CKPT-N-006 CKPT-N-007 CKPT-024.
    size = 0
    keys = {n: np.array(part_keys(table)) % parts for n, table in files.items()}
    created: list[str] = []
    with cleanup_on_failure(snapshot.storage, created):
        for part in range(parts):
            mine = {n: table.filter(pa.array(keys[n] == part)) for n, table in files.items()}
            path = f"{LOG_DIR}/{part_name(snapshot.version, part + 1, parts)}"
            try:
                # An existing part may belong to a checkpoint that readers use.
                snapshot.storage.head(path)
            except FileNotFoundError:
                created.append(path)
            size += put_parquet(snapshot, path, small if part == 0 else {}, mine)
    return size


def point_at(storage: Storage, document: Mapping[str, Any]) -> None:
    """Write the hint, unless the one that is there points at a later version."""
    held = read_hint(storage)
    if held is not None and held > document["version"]:
        return
    data = json.dumps({**document, "checksum": json_checksum(document)}).encode()
    try:
        storage.put(f"{LOG_DIR}/{LAST_CHECKPOINT}", data)
    except PlaceRefused:
        # The checkpoint is valid without a hint: a folder of that name is no failure.
        _log.warning("the hint at the last checkpoint is a folder", exc_info=True)


def _small_actions(snapshot: Snapshot) -> dict[str, list[Any]]:
    # Obeys CKC-006 CKC-007 CKC-008 CKC-012 CKC-014 CKSCH-008 CKSCH-009 CKSCH-011 CKPT-V1-002.
    return {
        "protocol": [snapshot.protocol.to_wire()],
        "metaData": [snapshot.metadata.to_wire()],
        "txn": [txn.to_wire() for txn in snapshot.txns.values()],
        "domainMetadata": [domain.to_wire() for domain in snapshot.domain_metadata.values()],
    }
