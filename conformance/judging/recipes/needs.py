"""What a step of a write recipe asks of a writer beside its operation.

See "Table Features" and the section "Write recipes" of ``docs/formats.md``: a writer may refuse
a step as unsupported only where it does not claim what the step asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.adapter import Claims
from conformance.golden.cases import Spec
from generators.oracle.operations import OPERATIONS
from reference_impl.model.actions import Protocol
from schemas.features import FEATURES, find

_FEATURE_OF_TEXT: Final[Mapping[str, str]] = {
    **{f'"{of}"': feature.name for feature in FEATURES.values() for of in feature.types},
    **{f'"{key}"': feature.name for feature in FEATURES.values() for key in feature.column_keys},
    '"delta.columnMapping.id"': "columnMapping",
}
"""What a serialised schema holds where it needs a feature."""

_FEATURE_PROPERTY: Final = "delta.feature."
_MAPS: Final = 2
"""The reader version by which readers go by column mapping without a list."""


def features_asked(step: Mapping[str, Any]) -> frozenset[str]:
    """Name the table features that a step needs, beyond those that the table has."""
    named = [*step.get("features", ()), *([step["feature"]] if "feature" in step else [])]
    found = {feature.name for name in named if (feature := find(name))}
    found |= {*_of_properties(step.get("properties") or {})}
    schema = json.dumps([step.get("schema"), step.get("type")])
    found |= {feature for mark, feature in _FEATURE_OF_TEXT.items() if mark in schema}
    if step.get("clustering_columns"):
        found.add("clustering")
    if (needed := OPERATIONS[step["operation"]].needs) is not None:
        found.add(needed)
    return frozenset(found)


def _of_properties(properties: Mapping[str, Any]) -> Iterator[str]:
    yield from (each.name for each in FEATURES.values() if each.is_asked_by(properties))
    for key in properties:
        if key.startswith(_FEATURE_PROPERTY):
            feature = find(key.removeprefix(_FEATURE_PROPERTY))
            yield feature.name if feature else key
        elif key.startswith("delta.constraints."):
            yield "checkConstraints"


def features_of_readers(protocol: Protocol) -> frozenset[str]:
    """Name the features that a protocol asks of readers; version 2 asks for one without a list."""
    mapping = ("columnMapping",) if protocol.min_reader_version == _MAPS else ()
    return frozenset((*mapping, *(protocol.reader_features or ())))


def capabilities_of(step: Mapping[str, Any]) -> frozenset[str]:
    """Name the capabilities that an adapter has to claim to be asked for a step."""
    entry = OPERATIONS[step["operation"]]
    return frozenset(
        f"{entry.name}.{point}" for point, asked in entry.capabilities.items() if asked(step)
    )


def unclaimed_operations(spec: Spec, claims: Claims) -> list[str]:
    """Name the operations of a recipe that an implementation does not claim."""
    wanted = {step["operation"] for step in spec.parameters["operations"]}
    return sorted(wanted - claims.operations)
