"""Registry of table features, as data.

Serves "Table Features", "Valid Feature Names in Table Features" and "Legacy" version
requirements. ``reads`` and ``writes`` say what this implementation honours; everything else
about a feature is the protocol's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from reference_impl.model.actions import Metadata, Protocol

__all__ = ["FEATURES", "Feature", "active", "find", "supported"]


@dataclass(frozen=True, slots=True)
class Feature:
    """A table feature.

    Attributes:
        name: as in ``readerFeatures`` and ``writerFeatures``.
        kind: ``writer`` features concern writers alone; ``reader_writer`` features both.
        aliases: other spellings of the same feature.
        legacy_reader: the reader version that implies the feature; 0 for none.
        legacy_writer: the writer version that implies the feature; 0 for none.
        requires: features that must be supported along with it.
        activation: table property that must be ``true`` for the feature to be active; ``""``
            where other metadata decides or where being supported is enough.
        reads: this implementation reads tables that need it.
        writes: this implementation writes tables that support it.

    """

    name: str
    kind: Literal["writer", "reader_writer"] = "writer"
    aliases: tuple[str, ...] = ()
    legacy_reader: int = 0
    legacy_writer: int = 0
    requires: tuple[str, ...] = ()
    activation: str = ""
    reads: bool = True
    writes: bool = False


_ALL: Final = (
    Feature("appendOnly", legacy_writer=2, activation="delta.appendOnly", writes=True),
    Feature("invariants", legacy_writer=2, writes=True),
    Feature("checkConstraints", legacy_writer=3, writes=True),
    Feature(
        "changeDataFeed", legacy_writer=4, activation="delta.enableChangeDataFeed", writes=True
    ),
    Feature("generatedColumns", legacy_writer=4, writes=True),
    Feature("columnMapping", "reader_writer", legacy_reader=2, legacy_writer=5, writes=True),
    Feature("identityColumns", legacy_writer=6, writes=True),
    Feature(
        "deletionVectors", "reader_writer", activation="delta.enableDeletionVectors", writes=True
    ),
    Feature("timestampNtz", "reader_writer", aliases=("timestampWithoutTimezone",), writes=True),
    Feature("v2Checkpoint", "reader_writer", writes=True),
    Feature("vacuumProtocolCheck", "reader_writer", writes=True),
    Feature("allowColumnDefaults", writes=True),
    Feature(
        "rowTracking",
        requires=("domainMetadata",),
        activation="delta.enableRowTracking",
        writes=True,
    ),
    Feature("domainMetadata", writes=True),
    Feature(
        "icebergCompatV1",
        requires=("columnMapping",),
        activation="delta.enableIcebergCompatV1",
        writes=True,
    ),
    Feature(
        "icebergCompatV2",
        requires=("columnMapping",),
        activation="delta.enableIcebergCompatV2",
        writes=True,
    ),
    Feature(
        "icebergCompatV3",
        requires=("columnMapping", "rowTracking"),
        activation="delta.enableIcebergCompatV3",
    ),
    Feature("clustering", requires=("domainMetadata",), writes=True),
    Feature(
        "inCommitTimestamp",
        aliases=("inCommitTimestamps", "inCommitTimestamp-preview"),
        activation="delta.enableInCommitTimestamps",
        writes=True,
    ),
    Feature(
        "typeWidening",
        "reader_writer",
        aliases=("typeWidening-preview",),
        activation="delta.enableTypeWidening",
        writes=True,
    ),
    Feature("variantType", "reader_writer", aliases=("variantType-preview",), writes=True),
    Feature(
        "variantShredding",
        "reader_writer",
        aliases=("variantShredding-preview",),
        requires=("variantType",),
        activation="delta.enableVariantShredding",
        writes=True,
    ),
    Feature(
        "catalogManaged",
        "reader_writer",
        aliases=("catalogOwned-preview",),
        requires=("inCommitTimestamp",),
    ),
    Feature("checkpointProtection"),
    Feature("materializePartitionColumns"),
)

FEATURES: Final[Mapping[str, Feature]] = {feature.name: feature for feature in _ALL}
"""Every feature of the protocol by its name."""

_BY_SPELLING: Final[Mapping[str, Feature]] = {
    spelling: feature for feature in _ALL for spelling in (feature.name, *feature.aliases)
}


def find(spelling: str) -> Feature | None:
    """Return the feature of a name or alias; ``None`` for an unknown one. Letter case counts."""
    # Obeys FEAT-003.
    return _BY_SPELLING.get(spelling)


def supported(protocol: Protocol) -> frozenset[str]:
    """Return the names of the features that a protocol supports, listed or implied by version.

    Aliases are given by their feature's name; unknown names as they are.
    """
    listed = (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    names = {feature.name if (feature := find(name)) else name for name in listed}
    for feature in _ALL:
        by_writer = 0 < feature.legacy_writer <= protocol.min_writer_version < 7
        by_reader = 0 < feature.legacy_reader <= protocol.min_reader_version < 3
        # Reader version 2 means column mapping even where version 7 lists writers' features.
        if by_reader or (by_writer and feature.kind == "writer"):
            names.add(feature.name)
    return frozenset(names)


def active(protocol: Protocol, metadata: Metadata, name: str) -> bool:
    """Return whether a feature is supported and its activating property, if any, is ``true``."""
    feature = FEATURES[name]
    if name not in supported(protocol):
        return False
    if not feature.activation:
        return True
    return metadata.configuration.get(feature.activation, "").lower() == "true"
