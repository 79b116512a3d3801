"""Checks of what features need of the protocol action that lists them (section Table Features)."""

from __future__ import annotations

from typing import Any, Final

from conformance.audit.findings import Check, Findings, finding
from conformance.audit.subjects import Step
from reference_impl.model.features import find

__all__ = ["PROTOCOL_CHECKS"]

_WRITER: Final = 7
_READER: Final = 3

_OF_WRITERS: Final = (
    ("clustering", "CLUS-002"),
    ("icebergCompatV1", "ICE1-002"),
    ("icebergCompatV2", "ICE2-002"),
    ("inCommitTimestamp", "ICT-001"),
    ("rowTracking", "RT-006"),
)
"""Features that need writer version 7, with the requirement that says so."""

_OF_BOTH: Final = (
    ("deletionVectors", "DV-001"),
    ("timestampNtz", "NTZ-002"),
    ("vacuumProtocolCheck", "VPC-001"),
    ("typeWidening", "TW-001"),
    ("variantType", "VAR-001"),
    ("variantShredding", "SHRED-001"),
    ("catalogManaged", "CAT-001"),
)
"""Features that need both versions and both lists, with the requirement that says so."""

_COMPANIONS: Final = (
    ("clustering", "domainMetadata", "CLUS-003"),
    ("variantShredding", "variantType", "SHRED-001"),
)
"""Features that need another one beside them, with the requirement that says so."""


def features_have_their_versions(step: Step) -> Findings:
    """Report features under versions that do not carry them, or in one list of two."""
    for line in step.of("protocol"):
        readers, writers = _names(line.body, "readerFeatures"), _names(line.body, "writerFeatures")
        reader, writer = line.body.get("minReaderVersion"), line.body.get("minWriterVersion")
        for name, requirement in _OF_WRITERS:
            if name in writers and writer != _WRITER:
                message = f"{name} is listed, and minWriterVersion is {writer}"
                yield finding(requirement, line.place, message)
        for name, requirement in _OF_BOTH:
            if name not in writers | readers:
                continue
            if (reader, writer) != (_READER, _WRITER):
                message = f"{name} is listed under the versions {reader} and {writer}"
                yield finding(requirement, line.place, message)
            elif name not in writers & readers:
                lacking = "writerFeatures" if name in readers else "readerFeatures"
                yield finding(requirement, line.place, f"{name} is not in {lacking}")
        for name, other, requirement in _COMPANIONS:
            if name in writers and other not in writers:
                yield finding(requirement, line.place, f"{name} is listed without {other}")


def _names(body: dict[str, Any], key: str) -> set[str]:
    listed = body.get(key)
    found = set()
    for name in listed if isinstance(listed, list) else ():
        feature = find(str(name))
        found.add(feature.name if feature else str(name))
    return found


PROTOCOL_CHECKS: Final = (
    Check(
        features_have_their_versions,
        (
            *(requirement for _, requirement in (*_OF_WRITERS, *_OF_BOTH)),
            *(requirement for _, _, requirement in _COMPANIONS),
        ),
    ),
)
"""Checks of the protocol, at the commits that set it."""
