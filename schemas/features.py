"""The table of features: what the protocol says of each, as data.

Serves "Table Features", "Valid Feature Names in Table Features" and the legacy version
requirements. Every part of the kit reads this table, the reference implementation and what judges
it; ``tests/schemas/test_features.py`` holds it against the registry, row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["FEATURES", "Feature", "find"]


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

    """

    name: str
    kind: Literal["writer", "reader_writer"] = "writer"
    aliases: tuple[str, ...] = ()
    legacy_reader: int = 0
    legacy_writer: int = 0
    requires: tuple[str, ...] = ()
    activation: str = ""


_ALL: Final = (
    Feature("appendOnly", legacy_writer=2, activation="delta.appendOnly"),
    Feature("invariants", legacy_writer=2),
    Feature("checkConstraints", legacy_writer=3),
    Feature("changeDataFeed", legacy_writer=4, activation="delta.enableChangeDataFeed"),
    Feature("generatedColumns", legacy_writer=4),
    Feature("columnMapping", "reader_writer", legacy_reader=2, legacy_writer=5),
    Feature("identityColumns", legacy_writer=6),
    Feature("deletionVectors", "reader_writer", activation="delta.enableDeletionVectors"),
    Feature("timestampNtz", "reader_writer", aliases=("timestampWithoutTimezone",)),
    Feature("v2Checkpoint", "reader_writer"),
    Feature("vacuumProtocolCheck", "reader_writer"),
    Feature("allowColumnDefaults"),
    Feature(
        "rowTracking",
        requires=("domainMetadata",),
        activation="delta.enableRowTracking",
    ),
    Feature("domainMetadata"),
    Feature(
        "icebergCompatV1",
        requires=("columnMapping",),
        activation="delta.enableIcebergCompatV1",
    ),
    Feature(
        "icebergCompatV2",
        requires=("columnMapping",),
        activation="delta.enableIcebergCompatV2",
    ),
    Feature(
        "icebergCompatV3",
        requires=("columnMapping", "rowTracking"),
        activation="delta.enableIcebergCompatV3",
    ),
    Feature("clustering", requires=("domainMetadata",)),
    Feature(
        "inCommitTimestamp",
        aliases=("inCommitTimestamps", "inCommitTimestamp-preview"),
        activation="delta.enableInCommitTimestamps",
    ),
    Feature(
        "typeWidening",
        "reader_writer",
        aliases=("typeWidening-preview",),
        activation="delta.enableTypeWidening",
    ),
    Feature("variantType", "reader_writer", aliases=("variantType-preview",)),
    Feature(
        "variantShredding",
        "reader_writer",
        aliases=("variantShredding-preview",),
        requires=("variantType",),
        activation="delta.enableVariantShredding",
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
    return _BY_SPELLING.get(spelling)
