"""Which features a table supports, which are active, and which this implementation writes.

Implements "Table Features". What the protocol says of each is in :mod:`schemas.features`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reference_impl.model.actions import Metadata, Protocol
from schemas.features import FEATURES, find

WRITABLE_FEATURES: Final = frozenset(FEATURES) - {
    "icebergCompatV3", "catalogManaged", "checkpointProtection", "materializePartitionColumns",
}  # fmt: skip
"""Features of tables that this implementation writes; it reads tables with all of them."""


def feature_name(listed: str) -> str:
    """Return the name of a feature that may be listed by an alias; an unknown name as it is."""
    feature = find(listed)
    return listed if feature is None else feature.name


def supported(protocol: Protocol) -> frozenset[str]:
    """Return the names of the features that a protocol supports, listed or implied by version.

    Aliases are given by their feature's name; unknown names as they are.
    """
    listed = (*(protocol.reader_features or ()), *(protocol.writer_features or ()))
    # Obeys FEAT-003.
    names = set(map(feature_name, listed))
    for feature in FEATURES.values():
        by_writer = 0 < feature.legacy_writer <= protocol.min_writer_version < 7
        by_reader = 0 < feature.legacy_reader <= protocol.min_reader_version < 3
        # Reader version 2 means column mapping even where version 7 lists writers' features.
        if by_reader or (by_writer and feature.kind == "writer"):
            names.add(feature.name)
    return frozenset(names)


def is_true(configuration: Mapping[str, str], name: str) -> bool:
    """Return whether a property is ``true``."""
    return str(configuration.get(name)).lower() == "true"


def active(protocol: Protocol, metadata: Metadata, name: str) -> bool:
    """Return whether a feature is supported and its activating property, if any, is ``true``."""
    activation = FEATURES[name].activation
    return name in supported(protocol) and (
        not activation or is_true(metadata.configuration, activation)
    )
