"""Checks of what features need of the protocol, and of what it may not lose.

Covers "Table Features" and "Supported Features".
"""

from __future__ import annotations

from typing import Final

from conformance.audit.checks.metadata import COLUMN_FEATURES, needs_feature
from conformance.audit.findings import Findings, Severity, check, finding
from conformance.audit.grammar.retention import retention
from conformance.audit.read.layout import LISTS, MODE, listed_features
from conformance.audit.read.raw import parse_object
from conformance.audit.subjects import Step
from schemas.features import FEATURES

_WRITER: Final = 7
_READER: Final = 3

_MAPPED: Final = (("icebergCompatV1", "ICE1-001"), ("icebergCompatV2", "ICE2-001"))


@check("definition", *(requirement for _, requirement in _MAPPED))
def compatibility_is_readable(step: Step) -> Findings:
    """Report Iceberg compatibility under a reader version that column mapping is not in."""
    for line in step.of("protocol"):
        reader = line.body.get("minReaderVersion")
        listed = "columnMapping" in listed_features(line.body, "readerFeatures")
        mapped = reader == 2 or (listed and type(reader) is int and reader >= _READER)
        for name, requirement in _MAPPED:
            if name in listed_features(line.body, "writerFeatures") and not mapped:
                message = f"{name} is listed, and reader version {reader} has no column mapping"
                yield finding(requirement, line.place, message)


_VERSION_7_PROPERTIES: Final = (
    ("delta.enableIcebergCompatV1", "ICE1-002"),
    ("delta.enableIcebergCompatV2", "ICE2-002"),
    ("delta.enableInCommitTimestamps", "ICT-001"),
)
"""Properties of features that need writer version 7, with the requirement that says so."""


@check("definition", *(requirement for _, requirement in _VERSION_7_PROPERTIES))
def properties_have_their_version(step: Step) -> Findings:
    """Report properties that are without effect because of the writer version."""
    changed = step.sets_metadata or step.sets_protocol
    for name, requirement in _VERSION_7_PROPERTIES if changed else ():
        if step.new.is_true(name) and step.new.writer < _WRITER:
            message = f"{name} is true without effect: the writer version is {step.new.writer}"
            yield finding(requirement, step.place, message, severity="warning")


@check("definition", "TF-006 TF-007 TF-008 TF-009")
def lists_go_together(step: Step) -> Findings:
    """Report feature lists that a table may not have, or not from its creation."""
    for line in step.of("protocol"):
        reader, writer = line.body.get("minReaderVersion"), line.body.get("minWriterVersion")
        readers, writers = line.body.get("readerFeatures"), line.body.get("writerFeatures")
        if readers and not writers:
            yield finding("TF-006", line.place, "there are readerFeatures without writerFeatures")
        if step.version != 0 or type(reader) is not int or type(writer) is not int:
            continue
        rules = (
            (
                reader == _READER and writer < _WRITER,
                "TF-009",
                f"the table is created with the versions {reader} and {writer}",
            ),
            (
                reader < _READER and writer == _WRITER and (writers is None or readers is not None),
                "TF-007",
                "a table of such versions is created with writerFeatures alone",
            ),
            (
                (reader, writer) == (_READER, _WRITER) and None in (readers, writers),
                "TF-008",
                "a table of such versions is created with both feature lists",
            ),
        )
        for broken, requirement, message in rules:
            if broken:
                yield finding(requirement, line.place, message)


_WRITER_FEATURES: Final = (
    ("clustering", "CLUS-002"),
    ("icebergCompatV1", "ICE1-002"),
    ("icebergCompatV2", "ICE2-002"),
    ("inCommitTimestamp", "ICT-001"),
    ("rowTracking", "RT-006"),
)
"""Features that need writer version 7, with the requirement that says so."""

_READER_WRITER_FEATURES: Final = (
    ("deletionVectors", "DV-001"),
    ("timestampNtz", "NTZ-002"),
    ("vacuumProtocolCheck", "VPC-001"),
    ("v2Checkpoint", "V2F-001"),
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


@check(
    "definition",
    *(requirement for _, requirement in (*_WRITER_FEATURES, *_READER_WRITER_FEATURES)),
    *(requirement for _, _, requirement in _COMPANIONS),
)
def features_have_their_versions(step: Step) -> Findings:
    """Report features under versions that do not carry them, or in one list of two."""
    for line in step.of("protocol"):
        readers, writers = (
            listed_features(line.body, "readerFeatures"),
            listed_features(line.body, "writerFeatures"),
        )
        reader, writer = line.body.get("minReaderVersion"), line.body.get("minWriterVersion")
        for name, requirement in _WRITER_FEATURES:
            if name in writers and writer != _WRITER:
                message = f"{name} is listed, and minWriterVersion is {writer}"
                yield finding(requirement, line.place, message)
        for name, requirement in _READER_WRITER_FEATURES:
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


@check("commit", "TF-012 TF-016")
def protocol_is_not_lowered(step: Step) -> Findings:
    """Report a protocol that lowers a version or drops a feature."""
    if step.before.protocol is None or not step.sets_protocol:
        return
    place = next(step.of("protocol")).place
    hint = "allowed only after every trace of the feature has left the history"
    gone = step.old.features - step.new.features
    if step.old.writer < LISTS == step.new.writer:
        # An upgrade lists what is used of the features of the old versions.
        # Without retention no earlier version can be reached, and what it used does not count.
        reachable = retention(step.new.properties) > 0
        for feature in sorted(gone & (step.before.used if reachable else step.new.used)):
            message = f"{feature} is or was in use, and the upgrade to lists leaves it out"
            yield finding("TF-012", place, message)
        gone = frozenset()
    used = _in_use(step)
    for feature in sorted(gone):
        message = f"the feature {feature} is no longer supported"
        # Whether one may be dropped is contested, not whether one that is in use may.
        severity: Severity | None = "error" if feature in used else None
        yield finding("TF-016", place, message, hint, severity=severity)
    for feature in sorted(_dropped_for_readers(step) - gone):
        yield finding("TF-016", place, f"readerFeatures no longer lists {feature}", hint)
    for what, old, new in (
        ("minReaderVersion", step.old.reader, step.new.reader),
        ("minWriterVersion", step.old.writer, step.new.writer),
    ):
        if new < old and not gone:
            yield finding("TF-016", place, f"{what} is lowered from {old} to {new}", hint)


def _in_use(step: Step) -> frozenset[str]:
    """Return the features that the version makes use of, by its metadata and its domains."""
    found = {*step.new.used}
    if step.new.properties.get(MODE, "none") != "none":
        found.add("columnMapping")
    columns = step.new.columns
    found |= {each for each in COLUMN_FEATURES if any(needs_feature(c, each) for c in columns)}
    found |= {x.name for x in FEATURES.values() if x.activation and step.new.is_true(x.activation)}
    domains = dict(step.before.live_domains)
    for line in step.of("domainMetadata"):
        name = str(line.body.get("domain"))
        domains.pop(name, None)
        if line.body.get("removed") is not True:
            domains[name] = line.body
    found |= {"domainMetadata"} if domains else set()
    clustered = parse_object((domains.get("delta.clustering") or {}).get("configuration")) or {}
    # A table that is clustered no longer may keep its domain, without columns.
    found |= {"clustering"} if clustered.get("clusteringColumns") else set()
    return frozenset(found)


def _dropped_for_readers(step: Step) -> frozenset[str]:
    """Return the features that the former list for readers has, and the new protocol has not.

    A reader version without list stands for the features of its time.
    """
    old, new = (
        listed_features(body, "readerFeatures") for body in (step.before.protocol, step.protocol)
    )
    carried = {x.name for x in FEATURES.values() if (x.legacy_reader or _READER) <= step.new.reader}
    return old - (new if step.new.reader >= _READER else carried & step.new.features)
