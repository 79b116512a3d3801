"""Which features a table needs, and the protocol that supports them.

Implements "Table Features", "Valid Feature Names in Table Features" and the upgrade of legacy
versions to feature lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from reference_impl.errors import UnsupportedFeatures
from reference_impl.model.actions import Protocol
from reference_impl.model.column_mapping import MODE_PROPERTY
from reference_impl.model.features import feature_name, is_true, supported
from reference_impl.types.keys import (
    DEFAULT_KEY,
    GENERATION_KEY,
    INVARIANT_KEY,
    START_KEY,
    TYPE_CHANGES_KEY,
)
from reference_impl.types.model import TIMESTAMP_NTZ, VARIANT, DataType, Struct, every_field, walk
from schemas.features import FEATURES, find

MIN_PROTOCOL: Final = Protocol(1, 2)
"""The protocol of a table without features."""

CONSTRAINT_PREFIX: Final = "delta.constraints."
FEATURE_PREFIX: Final = "delta.feature."
READER_VERSION_KEY: Final = "delta.minReaderVersion"
WRITER_VERSION_KEY: Final = "delta.minWriterVersion"

_FEATURE_OF_COLUMN_KEY: Final[Mapping[str, str]] = {
    GENERATION_KEY: "generatedColumns",
    START_KEY: "identityColumns",
    INVARIANT_KEY: "invariants",
    DEFAULT_KEY: "allowColumnDefaults",
    TYPE_CHANGES_KEY: "typeWidening",
}
"""Keys of column metadata, with the feature that gives them their meaning."""

_FEATURE_OF_TYPE: Final[Mapping[DataType, str]] = {
    TIMESTAMP_NTZ: "timestampNtz",
    VARIANT: "variantType",
}


def features_needed(schema: Struct, configuration: Mapping[str, str]) -> set[str]:
    """Return the names of the features that a schema and table properties make use of."""
    # Obeys TF-007 TF-008 TF-009 WVER-001 WVER-002 WVER-003 WVER-004 WVER-005.
    found = {
        feature.name
        for feature in FEATURES.values()
        if feature.activation and is_true(configuration, feature.activation)
    }
    if configuration.get(MODE_PROPERTY, "none") != "none":
        found.add("columnMapping")
    if configuration.get("delta.checkpointPolicy") == "v2":
        found.add("v2Checkpoint")
    if any(name.startswith(CONSTRAINT_PREFIX) for name in configuration):
        found.add("checkConstraints")
    for _, column in every_field(schema):
        found |= {
            _FEATURE_OF_COLUMN_KEY[key] for key in column.metadata if key in _FEATURE_OF_COLUMN_KEY
        }
    found |= {_FEATURE_OF_TYPE[of] for _, of in walk(schema) if of in _FEATURE_OF_TYPE}
    return found


def with_features(current: Protocol, names: Iterable[str]) -> Protocol:
    """Return the protocol with further features.

    Legacy versions stay where they suffice; otherwise everything that they imply is listed.
    Features that a feature requires come along.

    Raises:
        UnsupportedFeatures: a name is of no feature that this implementation knows.
    """
    # Obeys TF-012 CM-011 TF-006 CHK-001 CLUS-002 CLUS-003 DFT-001 DOM-008 DOM-009 DV-001 GEN-001
    # ICE1-001 ICE1-002 ICE1-003 ICE2-001 ICE2-002 ICE2-003 ICT-001 ICT-002 IDN-001 INV-001 NTZ-002
    # PART-012 RT-007 V2F-001 VPC-001 ICT-003 SHRED-001 TW-001 VAR-001.
    wanted = _closure(names)
    held = supported(current)
    if wanted <= held:
        return current
    # Names keep the spelling that they are listed under, which may be an alias.
    listed = {feature_name(spelled): spelled for spelled in current.writer_features or ()}
    writers = {listed.get(name, name) for name in held | wanted}
    needed = {name for name in writers if _is_reader(name)}
    if not needed and current.min_reader_version == 1:
        return Protocol(1, 7, None, tuple(sorted(writers)))
    readers = {*(current.reader_features or ()), *needed}
    return Protocol(3, 7, tuple(sorted(readers)), tuple(sorted(writers)))


def _is_reader(name: str) -> bool:
    feature = find(name)
    return feature is not None and feature.kind == "reader_writer"


def _closure(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    open_ = list(names)
    unknown = sorted({name for name in open_ if find(name) is None})
    if unknown:
        raise UnsupportedFeatures(
            tuple(unknown),
            f"no such features are known: {', '.join(unknown)}",
            hint="feature names are case-sensitive",
        )
    while open_:
        feature = find(open_.pop())
        if feature is not None and feature.name not in found:
            found.add(feature.name)
            open_ += feature.requires
    return found
