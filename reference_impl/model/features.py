"""Which table features this implementation reads and writes, and which ones a table has.

Serves "Table Features", "Valid Feature Names in Table Features" and "Legacy" version
requirements. What the protocol says of a feature is in :mod:`schemas.features`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import schemas.features
from reference_impl.model.actions import Metadata, Protocol

__all__ = ["FEATURES", "Feature", "active", "find", "supported"]


@dataclass(frozen=True, slots=True)
class Feature(schemas.features.Feature):
    """A table feature.

    Attributes:
        reads: this implementation reads tables that need it.
        writes: this implementation writes tables that support it.

    """

    reads: bool = True
    writes: bool = True


_NOT_WRITTEN: Final = (
    "catalogManaged",
    "checkpointProtection",
    "icebergCompatV3",
    "materializePartitionColumns",
)

FEATURES: Final[Mapping[str, Feature]] = schemas.features.features(
    Feature, writes=dict.fromkeys(_NOT_WRITTEN, False)
)
"""Every feature of the protocol by its name."""


def find(spelling: str) -> Feature | None:
    """Return the feature of a name or alias; ``None`` for an unknown one. Letter case counts."""
    # Obeys FEAT-003.
    found = schemas.features.find(spelling)
    return None if found is None else FEATURES[found.name]


def supported(protocol: Protocol) -> frozenset[str]:
    """Return the names of the features that a protocol supports, listed or implied by version.

    Aliases are given by their feature's name; unknown names as they are.
    """
    listed = (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    names = {feature.name if (feature := find(name)) else name for name in listed}
    for feature in FEATURES.values():
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
