"""What a step of a write recipe asks of a writer beside its operation.

Serves "Table Features" and the section "Write recipes" of ``docs/formats.md``: a writer may refuse
a step as unsupported only where it does not claim what the step asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from schemas.features import FEATURES, find

__all__ = ["capabilities_of", "features_asked"]

_BY_OPERATION: Final[Mapping[str, str]] = {
    "add_constraint": "checkConstraints",
    "change_type": "typeWidening",
    "cluster_by": "clustering",
    "drop_column": "columnMapping",
    "rename_column": "columnMapping",
    "set_default": "allowColumnDefaults",
    "set_domain_metadata": "domainMetadata",
}
_BY_SCHEMA: Final[Mapping[str, str]] = {
    '"timestamp_ntz"': "timestampNtz",
    '"variant"': "variantType",
    '"delta.generationExpression"': "generatedColumns",
    '"delta.identity.': "identityColumns",
    '"CURRENT_DEFAULT"': "allowColumnDefaults",
    '"delta.invariants"': "invariants",
    '"delta.columnMapping.id"': "columnMapping",
    '"delta.typeChanges"': "typeWidening",
}
"""What a serialised schema holds where it needs a feature."""

_ACTIVATIONS: Final[Mapping[str, str]] = {
    feature.activation: feature.name for feature in FEATURES.values() if feature.activation
}
_FEATURE_PROPERTY: Final = "delta.feature."


def features_asked(step: Mapping[str, Any]) -> frozenset[str]:
    """Name the table features that a step needs, beyond those that the table has."""
    named = [*step.get("features", ()), *([step["feature"]] if "feature" in step else [])]
    found = {feature.name for name in named if (feature := find(name))}
    found |= {*_of_properties(step.get("properties") or {})}
    schema = json.dumps([step.get("schema"), step.get("type")])
    found |= {feature for mark, feature in _BY_SCHEMA.items() if mark in schema}
    if step.get("clustering_columns"):
        found.add("clustering")
    if step["operation"] in _BY_OPERATION:
        found.add(_BY_OPERATION[step["operation"]])
    return frozenset(found)


def _of_properties(properties: Mapping[str, Any]) -> Iterator[str]:
    for key, value in properties.items():
        text = str(value).lower()
        if key in _ACTIVATIONS and text == "true":
            yield _ACTIVATIONS[key]
        elif key.startswith(_FEATURE_PROPERTY):
            feature = find(key.removeprefix(_FEATURE_PROPERTY))
            yield feature.name if feature else key
        elif key.startswith("delta.constraints."):
            yield "checkConstraints"
        elif key == "delta.columnMapping.mode" and text != "none":
            yield "columnMapping"
        elif key == "delta.checkpointPolicy" and text == "v2":
            yield "v2Checkpoint"


def capabilities_of(step: Mapping[str, Any]) -> frozenset[str]:
    """Name the capabilities that an adapter has to claim to be asked for a step."""
    match step:
        case {"operation": "overwrite", **arguments}:
            return frozenset(f"overwrite.{p}" for p in ("filter", "partition") if p in arguments)
        case {"operation": "optimize", "purge": _}:
            return frozenset({"optimize.purge"})
        case {"operation": "set_nullable", "nullable": False}:
            return frozenset({"set_nullable.required"})
        case {"operation": "checkpoint", "kind": _}:
            return frozenset({"checkpoint.kind"})
        case _:
            return frozenset()
