"""Checks of the form of a checkpoint: its spec, its parts, its sidecars, its feature lists.

Serves "Checkpoint Specs", "Checkpoint Naming Scheme", "Sidecar Files" and "Checkpoint Schema".
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from conformance.audit.findings import Check, Findings, finding
from conformance.audit.read.log import Checkpoint
from conformance.audit.read.raw import Line
from conformance.audit.read.state import State, file_key
from conformance.audit.summaries.checkpoints import CheckpointView, repeated

__all__ = ["FORM_CHECKS", "SPEC_CHECKS"]

_LISTS: Final = (
    ("readerFeatures", "minReaderVersion", 3, "CKSCH-008"),
    ("writerFeatures", "minWriterVersion", 7, "CKSCH-009"),
)
"""Feature lists, the version that brings each, and the requirement that it is there then."""


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
    Check(same_content, ("CKPT-N-011",)),
)
"""Checks of the form of one complete checkpoint that can be read."""
