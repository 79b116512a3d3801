"""Checks of the form of a checkpoint: its spec, its parts, its sidecars, its feature lists.

Serves "Checkpoint Specs", "Checkpoint Naming Scheme", "Sidecar Files" and "Checkpoint Schema".
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from conformance.audit.columnar.rows import Mask
from conformance.audit.findings import Check, Findings, finding
from conformance.audit.read.log import Checkpoint
from conformance.audit.read.raw import Line
from conformance.audit.read.state import State, file_key
from conformance.audit.summaries.checkpoints import CheckpointView, repeated
from generators.materialise.data.spark_hash import murmur3_text, positive_modulo

__all__ = ["FORM_CHECKS", "SPEC_CHECKS"]

_LISTS: Final = (
    ("readerFeatures", "minReaderVersion", 3, "CKSCH-008"),
    ("writerFeatures", "minWriterVersion", 7, "CKSCH-009"),
)
"""Feature lists, the version that brings each, and the requirement that it is there then."""

_HASHED: Final = 1000
"""Files of a checkpoint whose hash is computed."""


def feature_lists(subject: CheckpointView) -> Findings:
    """Report a protocol whose feature lists do not go with its versions."""
    for line in subject.checkpoint.top.of("protocol"):
        for name, version, brings, requirement in _LISTS:
            stated, listed = line.body.get(version), line.body.get(name)
            if type(stated) is not int:
                continue
            if stated == brings and listed is None:
                yield finding(requirement, line.place, f"{version} is {stated}, {name} is null")
            elif stated < brings and listed is not None:
                message = f"{version} is {stated}, and {name} is not null"
                yield finding("CKSCH-011", line.place, message)


def first_spec(subject: CheckpointView) -> Findings:
    """Report actions of the second spec in a checkpoint of the first, and the first in JSON."""
    checkpoint, features = subject.checkpoint, subject.view.layout.features
    marks = list(checkpoint.top.of("checkpointMetadata"))
    sidecars = list(checkpoint.top.of("sidecar"))
    classic = checkpoint.kind == "classic_checkpoint" and "v2Checkpoint" not in features
    if classic or checkpoint.kind == "multipart_checkpoint":
        for lines, requirement, what in (
            (sidecars, "CKPT-V1-001", "sidecar"),
            (marks, "CKPT-V1-002", "checkpointMetadata"),
        ):
            if lines:
                message = f"a checkpoint of the V1 spec has a {what} action"
                yield finding(requirement, lines[0].place, message)
    if sidecars and not marks:
        message = "sidecar actions without checkpointMetadata, so not in a V2 checkpoint"
        yield finding("CKC-009", sidecars[0].place, message)
    if "v2Checkpoint" not in features and checkpoint.place.endswith(".json"):
        message = "a checkpoint that is not Parquet, where V2 checkpoints are not supported"
        yield finding("CKC-026", checkpoint.place, message)


def sidecars_once(subject: CheckpointView) -> Findings:
    """Report a sidecar that a checkpoint names more than once."""
    lines = list(subject.checkpoint.top.of("sidecar"))
    counts = Counter(str(line.body.get("path")) for line in lines)
    for path, count in counts.items():
        if count > 1:
            message = f"{count} sidecar actions name {path}"
            yield finding("SIDE-002", subject.checkpoint.place, message)


def parts_split_by_key(subject: CheckpointView) -> Findings:
    """Report a file whose actions are in more than one part of a checkpoint."""
    checkpoint = subject.checkpoint
    if checkpoint.kind != "multipart_checkpoint":
        return
    vectors = "deletionVectors" in subject.view.layout.features
    where: dict[Any, set[str]] = {}
    for line in subject.of("add", "remove"):
        key = file_key(line.body)
        if key is not None:
            where.setdefault(key if vectors else key[0], set()).add(_part(line))
    for key, parts in where.items():
        if len(parts) > 1:
            path = key[0] if vectors else key
            message = f"actions of {path} are in {len(parts)} parts of the checkpoint"
            yield finding("CKPT-N-004" if vectors else "CKPT-N-005", checkpoint.place, message)
            if not vectors:
                # Neither the hash nor the range of a path leads to two parts.
                yield finding("CKPT-N-006", checkpoint.place, message)


def parts_split_by_hash(subject: CheckpointView) -> Findings:
    """Report a file that is in another part than the hash of its key says: a ruling, so a warning.

    The text calls the hash "spark-style": Murmur3 with seed 42.
    """
    checkpoint = subject.checkpoint
    if checkpoint.kind != "multipart_checkpoint":
        return
    vectors = "deletionVectors" in subject.view.layout.features
    places = {entry.path: number for number, entry in enumerate(checkpoint.entries)}
    for line in subject.of("add", "remove"):
        key, place = file_key(line.body), places.get(_part(line))
        if key is None or place is None:
            continue
        hashes = {murmur3_text(path, 42) for path in (key[0], str(line.body["path"]))}
        if vectors and key[1] is not None:
            hashes |= {murmur3_text(key[1], each) for each in hashes}
        wanted = {positive_modulo(each, len(places)) for each in hashes}
        if place not in wanted:
            found = f"{key[0]} is in part {place + 1}, by its hash it is in {min(wanted) + 1}"
            yield finding("CKPT-N-003", line.place, found, severity="warning")


def _first_of_parts(subject: CheckpointView) -> Mask:
    """Show some files of a multi-part checkpoint: one that is split otherwise splits them all."""
    shown = np.zeros(len(subject.rows), np.bool_)
    if subject.checkpoint.kind == "multipart_checkpoint":
        shown[:_HASHED] = True
    return shown


def _part(line: Line) -> str:
    return line.place.partition("#")[0]


def same_content(subject: CheckpointView) -> Findings:
    """Report a classic V2 checkpoint that differs from one of the same version by UUID."""
    checkpoint = subject.checkpoint
    if checkpoint.kind != "classic_checkpoint" or not any(checkpoint.top.of("checkpointMetadata")):
        return
    for other in subject.view.log.checkpoints:
        twin = (other.version, other.kind) == (checkpoint.version, "uuid_checkpoint")
        if twin and not other.all.damaged and _named(other, subject) != _named(checkpoint, subject):
            message = f"the classic checkpoint differs from {other.place}"
            yield finding("CKPT-N-011", checkpoint.place, message)


def _named(checkpoint: Checkpoint, subject: CheckpointView) -> Any:
    """Return what a checkpoint says, less where it says it."""
    state = State(subject.content.store)
    state.apply(checkpoint.version, checkpoint.all)
    return (
        set(state.adds),
        set(state.removed),
        sorted((name, repr(body.get("version"))) for name, body in state.txns.items()),
        sorted((name, repr(body.get("configuration"))) for name, body in state.domains.items()),
        (state.metadata or {}).get("schemaString"),
        (state.protocol or {}).get("minWriterVersion"),
    )


SPEC_CHECKS: Final = (Check(first_spec, ("CKPT-V1-001", "CKPT-V1-002", "CKC-009", "CKC-026")),)
"""Checks of the form of a complete checkpoint, whether all of it can be read or not."""

FORM_CHECKS: Final = (
    Check(feature_lists, ("CKSCH-008", "CKSCH-009", "CKSCH-011")),
    Check(sidecars_once, ("SIDE-002",)),
    Check(parts_split_by_key, ("CKPT-N-004", "CKPT-N-005", "CKPT-N-006"), repeated),
    Check(parts_split_by_hash, ("CKPT-N-003",), _first_of_parts),
    Check(same_content, ("CKPT-N-011",)),
)
"""Checks of the form of one complete checkpoint that can be read."""
