"""Why an operation has to be refused, derived from the oracle's state and the text alone.

Each function gives the reason, or ``None`` where nothing is in the way. Nothing here asks the
writer. Covers the writer requirements of the features that it names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from generators.oracle.delta_schema import Array, DataType, Field, Map, Primitive, Struct
from generators.oracle.filters import columns_of, evaluate
from generators.oracle.model import Oracle
from generators.oracle.operations import Tree

CONSTRAINT: Final = "delta.constraints."
GENERATED: Final = "delta.generationExpression"
_INVARIANT: Final = "delta.invariants"
_MODE: Final = "delta.columnMapping.mode"

ACTIVATIONS: Final[Mapping[str, str]] = {
    "appendOnly": "delta.appendOnly",
    "changeDataFeed": "delta.enableChangeDataFeed",
    "columnMapping": _MODE,
    "deletionVectors": "delta.enableDeletionVectors",
    "rowTracking": "delta.enableRowTracking",
    "icebergCompatV1": "delta.enableIcebergCompatV1",
    "icebergCompatV2": "delta.enableIcebergCompatV2",
    "inCommitTimestamp": "delta.enableInCommitTimestamps",
    "typeWidening": "delta.enableTypeWidening",
    "variantShredding": "delta.enableVariantShredding",
    "v2Checkpoint": "delta.checkpointPolicy",
}
"""Property that switches a feature on, and goes with it."""


def is_on(properties: Mapping[str, str], feature: str) -> bool:
    """Return whether properties switch a feature on."""
    return properties.get(ACTIVATIONS[feature]) == "true"


def is_mapped(properties: Mapping[str, str]) -> bool:
    """Return whether columns are mapped."""
    return properties.get(_MODE, "none") != "none"


def generations(schema: Struct) -> dict[str, str]:
    """Return the generated columns with the SQL of each."""
    return {each.name: each.metadata[GENERATED] for each in schema if GENERATED in each.metadata}


def _invariants(schema: Struct) -> Iterator[str]:
    for each in schema:
        if _INVARIANT in each.metadata:
            yield json.loads(each.metadata[_INVARIANT])["expression"]["expression"]


def _constraints(properties: Mapping[str, str]) -> list[str]:
    return [text for key, text in properties.items() if key.startswith(CONSTRAINT)]


def broken_rule(oracle: Oracle, rules: Mapping[str, Tree], new: frozenset[str]) -> str | None:
    """Look for a row of the open version that breaks a rule of the table.

    Args:
        oracle: the table, the operation done.
        rules: SQL of every rule to its tree.
        new: rules that hold from now on, so that rows that are there count, too.
    """
    held = [*_constraints(oracle.properties), *_invariants(oracle.schema)]
    made = generations(oracle.schema)
    for row in oracle.pending:
        fresh = row.changed == oracle.next_version
        for text in held:
            if (fresh or text in new) and evaluate(rules[text], row.values) is not True:
                return f"{row.values} breaks {text}"
        for name, text in made.items():
            if fresh and evaluate(rules[text], row.values) != row.values[name]:
                return f"{row.values} has another {name} than {text}"
    return None


def removed_rows(oracle: Oracle) -> bool:
    """Return whether the open version takes rows away or changes them."""
    return any(change.change_type != "insert" for change in oracle.open_changes)


def named_in_rule(oracle: Oracle, rules: Mapping[str, Tree], name: str) -> str | None:
    """Look for a rule that names a column."""
    texts = [
        *_constraints(oracle.properties),
        *_invariants(oracle.schema),
        *generations(oracle.schema).values(),
    ]
    return next((text for text in texts if name in columns_of(rules[text])), None)


def _every(of: DataType) -> Iterator[DataType]:
    yield of
    match of:
        case Struct(fields):
            for each in fields:
                yield from _every(each.type)
        case Array(element):
            yield from _every(element)
        case Map(key, value):
            yield from _every(key)
            yield from _every(value)
        case _:
            return


def _fields(of: DataType) -> Iterator[Field]:
    for each in _every(of):
        if isinstance(each, Struct):
            yield from each.fields


_WHOLE: Final = ("byte", "short", "integer", "long")


def _foreign(change: Mapping[str, Any]) -> bool:
    """Return whether Iceberg cannot follow a change of type."""
    before, after = change["fromType"], change["toType"]
    if before.startswith("decimal") and after.startswith("decimal"):
        return before[:-1].split(",")[1] != after[:-1].split(",")[1]
    if before == "float":
        return bool(after != "double")
    return before not in _WHOLE or after not in _WHOLE


def iceberg_fault(oracle: Oracle, supported: frozenset[str]) -> str | None:
    """Check a table against the two versions of Iceberg compatibility.

    Args:
        oracle: the table as it is to be.
        supported: the features that its protocol supports.
    """
    properties = oracle.properties
    first, second = (is_on(properties, f"icebergCompatV{n}") for n in (1, 2))
    vectors = is_on(properties, "deletionVectors")
    if not first and not second:
        return None
    types = list(_every(oracle.schema))
    changes = [
        change
        for each in _fields(oracle.schema)
        for change in each.metadata.get("delta.typeChanges", ())
    ]
    faults = {
        "both versions": first and second,
        "no column mapping": not is_mapped(properties),
        "vectors are active": vectors,
        "vectors are supported": first and "deletionVectors" in supported,
        "a type": any(of in (Primitive("void"), Primitive("variant")) for of in types),
        "a nested type": first and any(isinstance(of, Array | Map) for of in types),
        "a change of type": any(_foreign(change) for change in changes),
    }
    return next((f"Iceberg: {what}" for what, wrong in faults.items() if wrong), None)


_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "domainMetadata": ("rowTracking", "clustering"),
    "columnMapping": ("icebergCompatV1", "icebergCompatV2"),
    "variantType": ("variantShredding",),
}


def needed_by(feature: str, supported: frozenset[str]) -> str | None:
    """Look for a feature of a table that needs another one."""
    return next((name for name in _NEEDED.get(feature, ()) if name in supported), None)


def _keyed(key: str) -> Callable[[Oracle], bool]:
    return lambda oracle: any(key in each.metadata for each in oracle.schema)


def _typed(name: str) -> Callable[[Oracle], bool]:
    return lambda oracle: Primitive(name) in _every(oracle.schema)


_STILL_USED: Final[Mapping[str, Callable[[Oracle], bool]]] = {
    "checkConstraints": lambda oracle: bool(_constraints(oracle.properties)),
    "generatedColumns": _keyed(GENERATED),
    "identityColumns": _keyed("delta.identity.start"),
    "allowColumnDefaults": _keyed("CURRENT_DEFAULT"),
    "invariants": _keyed(_INVARIANT),
    "timestampNtz": _typed("timestamp_ntz"),
    "variantType": _typed("variant"),
    "domainMetadata": lambda oracle: bool(oracle.domains),
    "v2Checkpoint": lambda oracle: oracle.properties.get("delta.checkpointPolicy") == "v2",
}


def still_used(feature: str, oracle: Oracle) -> bool:
    """Return whether what people have put in makes use of a feature."""
    return _STILL_USED.get(feature, lambda _: False)(oracle)
