"""Checks of the form of a checkpoint: its spec, its parts, its sidecars, its feature lists.

Covers "Checkpoint Specs", "Checkpoint Naming Scheme", "Sidecar Files" and "Checkpoint Schema".
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from conformance.audit.columnar.rows import Mask
from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.retention import retention
from conformance.audit.read.log import Checkpoint, sidecar_path
from conformance.audit.read.raw import Line
from conformance.audit.read.state import State
from conformance.audit.summaries.actions import file_differences
from conformance.audit.summaries.checkpoints import CheckpointView, expired, repeated_paths
from conformance.audit.summaries.parsed import comparable
from generators.materialise.data.spark_hash import murmur3_text
from reference_impl.errors import DeltaError

_LISTS: Final = (
    ("readerFeatures", "minReaderVersion", 3, "CKSCH-008"),
    ("writerFeatures", "minWriterVersion", 7, "CKSCH-009"),
)
"""Feature lists, the version that brings each, and the requirement that it is there then."""

_HASHED: Final = 1000
"""Files of a checkpoint whose hash is computed."""


@check("checkpoint content", "CKSCH-008 CKSCH-009 CKSCH-011")
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


def _supported(subject: CheckpointView) -> bool | None:
    """Return whether V2 checkpoints are supported; ``None`` where no protocol is known."""
    if subject.view.state.protocol is not None:
        return "v2Checkpoint" in subject.view.layout.features
    if subject.content.protocol is None:
        return None
    listed = subject.content.protocol.get("writerFeatures")
    return isinstance(listed, list) and "v2Checkpoint" in listed


@check("checkpoint", "CKPT-V1-001 CKPT-V1-002 CKC-009 CKC-026 CKM-001 SCA-001")
def first_spec(subject: CheckpointView) -> Findings:
    """Report actions of the second spec in a checkpoint of the first, and the first in JSON."""
    checkpoint, supported = subject.checkpoint, _supported(subject)
    marks = list(checkpoint.top.of("checkpointMetadata"))
    sidecars = list(checkpoint.top.of("sidecar"))
    classic = checkpoint.kind == "classic_checkpoint" and supported is False
    if classic or checkpoint.kind == "multipart_checkpoint":
        for lines, requirements, what in (
            (sidecars, ("CKPT-V1-001", "SCA-001", "CKC-009"), "sidecar"),
            (marks, ("CKPT-V1-002", "CKM-001", "CKC-009"), "checkpointMetadata"),
        ):
            for requirement in requirements if lines else ():
                message = f"a checkpoint of the V1 spec has a {what} action"
                yield finding(requirement, lines[0].place, message)
    elif sidecars and not marks:
        message = "sidecar actions without checkpointMetadata, so not in a V2 checkpoint"
        yield finding("CKC-009", sidecars[0].place, message)
        # Only a classic name stands for both specs.
        if checkpoint.kind == "classic_checkpoint":
            yield finding("CKPT-V1-001", sidecars[0].place, message)
    if supported is False and checkpoint.place.endswith(".json"):
        message = "a checkpoint that is not Parquet, where V2 checkpoints are not supported"
        yield finding("CKC-026", checkpoint.place, message)


@check(
    "checkpoint", "CKPT-V2-001 V2F-001 CKPT-V2-002 CKPT-015 CKPT-026 CKPT-N-013 CKPT-V2-004 CKM-003"
)
def v2_form(subject: CheckpointView) -> Findings:
    """Report checkpoints whose form does not fit their name or the protocol."""
    checkpoint, supported = subject.checkpoint, _supported(subject)
    if checkpoint.top.damaged:
        return
    marks = list(checkpoint.top.of("checkpointMetadata"))
    sidecars = list(checkpoint.top.of("sidecar"))
    is_v2 = bool(marks or sidecars)
    multipart, by_uuid = (
        checkpoint.kind == kind for kind in ("multipart_checkpoint", "uuid_checkpoint")
    )
    rules = (
        *(
            (is_v2 and supported is False, each, "a V2 checkpoint without the feature v2Checkpoint")
            for each in ("CKPT-V2-001", "V2F-001")
        ),
        (
            (is_v2 or by_uuid) and len(marks) != 1,
            "CKPT-V2-002",
            f"{len(marks)} checkpointMetadata actions",
        ),
        (by_uuid and not marks, "CKPT-015", "a UUID-named checkpoint without checkpointMetadata"),
        (multipart and is_v2, "CKPT-026", "a multi-part checkpoint in V2 form"),
        (
            (by_uuid and not marks) or (multipart and is_v2),
            "CKPT-N-013",
            "the spec of the checkpoint does not go with its name",
        ),
        (
            bool(sidecars)
            and (bool(marks) or supported is not False)
            and len(checkpoint.top.rows) > 0,
            "CKPT-V2-004",
            "file actions both in sidecars and in the checkpoint itself",
        ),
    )
    for broken, requirement, message in rules:
        if broken:
            yield finding(requirement, checkpoint.place, message)
    for line in marks:
        version = line.body.get("version")
        if type(version) is int and version != checkpoint.version:
            message = f"checkpointMetadata names version {version}, the file {checkpoint.version}"
            yield finding("CKM-003", line.place, message)


@check("checkpoint parts", "CKPT-N-009")
def parts_beside_v2(subject: CheckpointView) -> Findings:
    """Report parts of a checkpoint, all or some of them, where V2 checkpoints are supported."""
    checkpoint = subject.checkpoint
    if checkpoint.kind == "multipart_checkpoint" and _supported(subject):
        yield finding("CKPT-N-009", checkpoint.place, "a multi-part checkpoint beside V2")


@check("checkpoint content", "SIDE-002")
def sidecars_once(subject: CheckpointView) -> Findings:
    """Report a sidecar that a checkpoint names more than once, however its path is written."""
    lines = list(subject.checkpoint.top.of("sidecar"))
    counts = Counter(_sidecar(subject, str(line.body.get("path"))) for line in lines)
    for path, count in counts.items():
        if count > 1:
            message = f"{count} sidecar actions name {path}"
            yield finding("SIDE-002", subject.checkpoint.place, message)


def _sidecar(subject: CheckpointView, path: str) -> str:
    """Return the place of a sidecar, or its path where that leads to none."""
    try:
        return sidecar_path(subject.view.storage, path)
    except (ValueError, DeltaError):  # reported as unreadable
        return path


@check("checkpoint content", "CKPT-N-004 CKPT-N-005 CKPT-N-006", screen=repeated_paths)
def parts_split_by_key(subject: CheckpointView) -> Findings:
    """Report a file whose actions are in more than one part of a checkpoint."""
    checkpoint = subject.checkpoint
    if checkpoint.kind != "multipart_checkpoint":
        return
    vectors = "deletionVectors" in subject.view.layout.features
    where: dict[Any, set[str]] = {}
    for line in subject.of("add", "remove"):
        key = line.key
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


def _first_of_parts(subject: CheckpointView) -> Mask:
    """Return a mask of some files of a multi-part checkpoint: a wrong split moves all of them."""
    shown = np.zeros(len(subject.rows), np.bool_)
    if subject.checkpoint.kind == "multipart_checkpoint":
        shown[:_HASHED] = True
    return shown


@check("checkpoint content", "CKPT-N-003 CKPT-N-004 CKPT-N-005", screen=_first_of_parts)
def parts_split_by_hash(subject: CheckpointView) -> Findings:
    """Report a file that is in another part than the hash of its key says: a ruling, so a warning.

    The text calls the hash "spark-style": Murmur3 with seed 42. A wrong part does not say whether
    the hash or its key is another one, so that both rows are named.
    """
    checkpoint = subject.checkpoint
    if checkpoint.kind != "multipart_checkpoint":
        return
    vectors = "deletionVectors" in subject.view.layout.features
    places = {entry.path: number for number, entry in enumerate(checkpoint.entries)}
    for line in subject.of("add", "remove"):
        key, place = line.key, places.get(_part(line))
        if key is None or place is None:
            continue
        bare = {murmur3_text(path, 42) for path in (key[0], str(line.body["path"]))}
        hashes = {murmur3_text(key[1], each) for each in bare} if vectors and key[1] else bare
        wanted, by_path = ({each % len(places) for each in some}
                           for some in (hashes, bare))  # fmt: skip
        if place in wanted:
            continue
        found = f"{key[0]} is in part {place + 1}, by its hash it is in {min(wanted) + 1}"
        of_key = "CKPT-N-004" if vectors else "CKPT-N-005"
        for requirement in (of_key,) if place in by_path else ("CKPT-N-003", of_key):
            yield finding(requirement, line.place, found, severity="warning")


def _part(line: Line) -> str:
    return line.place.partition("#")[0]


@check("checkpoint content", "CKPT-N-011")
def same_content(subject: CheckpointView) -> Findings:
    """Report a classic V2 checkpoint that differs from one of the same version by UUID."""
    checkpoint = subject.checkpoint
    if checkpoint.kind != "classic_checkpoint" or not any(checkpoint.top.of("checkpointMetadata")):
        return
    for other in subject.view.log.checkpoints:
        twin = (other.version, other.kind) == (checkpoint.version, "uuid_checkpoint")
        if twin and not other.all.damaged and _differ(other, subject):
            message = f"the classic checkpoint differs from {other.place}"
            yield finding("CKPT-N-011", checkpoint.place, message)


def _differ(other: Checkpoint, subject: CheckpointView) -> bool:
    """Return whether a checkpoint says another thing than the one that is looked at."""
    here, there, layout = subject.content, State(subject.content.index), subject.view.layout
    there.apply(other.version, other.all)
    # Of two that were written one after the other, one may have what had expired for the other.
    horizon = subject.view.now - retention(layout.properties)
    keys = [
        (set(each.adds), {key for key, body in each.removed.items() if not expired(body, horizon)})
        for each in (here, there)
    ]
    rest = [
        comparable([each.txns, each.domains, each.metadata or {}, each.protocol or {}])
        for each in (here, there)
    ]
    rows = ("CKPT-N-011", "CKPT-N-011")
    files = file_differences(other.place, there, here, layout, adds=rows, removes=rows)
    return keys[0] != keys[1] or rest[0] != rest[1] or any(files)
