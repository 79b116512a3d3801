"""Check a table against what the steps of a recipe asked for beside rows.

See the section "Write recipes" of ``docs/formats.md``: properties and partitioning as asked,
a protocol that supports at least the features that were asked for, progress of applications
and metadata domains as they were set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeAlias

from conformance.audit.checks.features import clustering_of
from conformance.audit.checks.metadata import LISTED_BY
from conformance.base.outcomes import Hazard, Outcome, Verdict
from conformance.judging.recipes.features import is_system, lost_domain, replaces_table
from generators.oracle.model import Oracle
from generators.oracle.operations import OPERATIONS
from reference_impl import Snapshot
from reference_impl.model.features import supported
from schemas.features import find

_REQUESTS: Final = ("delta.feature.", "delta.minReaderVersion", "delta.minWriterVersion")
"""Beginnings of properties that ask for a protocol and are not stored."""

_PROTOCOL: Final = "delta."
_DEFAULT: Final = "CURRENT_DEFAULT"
_RULES: Final = ("delta.identity.", "delta.generationExpression", "delta.invariants")
_CONSTRAINT: Final = "delta.constraints."
_CLUSTERING: Final = "delta.clustering"
_ROW_TRACKING: Final = "delta.rowTracking"
_PHYSICAL: Final = "delta.columnMapping.physicalName"
_MODE: Final = "delta.columnMapping.mode"

_Fault: TypeAlias = tuple[str | None, str]
"""The requirement that is broken, where it is not that of the step, and how."""


def check_state(
    snapshot: Snapshot,
    before: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    oracle: Oracle | None,
) -> Verdict | None:
    """Compare the last version with what the steps asked for.

    Args:
        snapshot: the last version.
        before: the steps that made the table that was given.
        steps: the steps that were carried out.
        oracle: what they leave; ``None`` for a table that was given.
    """
    faults = [*_properties(snapshot, steps, oracle), *_features(snapshot, steps)]
    faults += [*_constraints(snapshot, steps), *_clustered(snapshot, steps)]
    faults += _traces(snapshot, _gone(steps))
    if oracle is not None:
        faults += _settings(snapshot, before, steps, oracle)
        faults += _columns(snapshot, oracle, gone=bool(_dropped(steps)))
    if not faults:
        return None
    messages = [message for _, message in faults]
    return Verdict(
        Outcome.FAIL,
        f"the table is not as it was asked for: {messages[0]}",
        Hazard.CORRUPTING_WRITE,
        "properties, partitioning and features as asked",
        "; ".join(messages),
        faults[0][0],
        details=(*messages, *_unlisted(snapshot, steps)),
    )


_NAME_ENDING_OPERATIONS: Final = ("rename_column", "drop_column")
"""Operations after which a column has another name, or is not there."""


def _properties(
    snapshot: Snapshot, steps: Sequence[Mapping[str, Any]], oracle: Oracle | None
) -> Iterator[_Fault]:
    held = snapshot.metadata.configuration
    if oracle is not None:
        asked: Mapping[str, str] = oracle.properties
        if tuple(snapshot.metadata.partition_columns) != oracle.partition_columns:
            columns = list(snapshot.metadata.partition_columns)
            # Where a step defines the table, it is the step that was not carried out.
            defines = OPERATIONS[steps[-1]["operation"]].defines
            broken = None if defines else "META-009"
            yield broken, f"partitionColumns is {columns}, not {list(oracle.partition_columns)}"
    else:
        asked = {n: v for step in steps for n, v in (step.get("properties") or {}).items()}
    dropped = _dropped(steps)
    moved = {step["column"] for step in steps if step["operation"] in _NAME_ENDING_OPERATIONS}
    for name, value in asked.items():
        if name.startswith(_CONSTRAINT) and any(column in value for column in moved):
            continue  # it may follow its column, or go with it: the audit judges what is left
        rule = "CHK-002" if name.startswith(_CONSTRAINT) else None
        # An expression has several texts: the audit judges the one that is there.
        kept = name in held if rule else held.get(name) == value
        # A feature that is dropped takes its properties with it.
        if not name.startswith(_REQUESTS) and not dropped and not kept:
            yield rule, f"{name} is {held.get(name)!r}, not {value!r}"
    unset = {name for step in steps for name in step.get("names", ())} - set(asked)
    for name in sorted(unset & held.keys()):
        yield None, f"{name} is still {held[name]!r}"


def _dropped(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    return {step["feature"] for step in steps if step["operation"] == "drop_feature"}


def _gone(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the features that are dropped for good: a restore may bring earlier ones back."""
    restores = [at for at, step in enumerate(steps) if step["operation"] == "restore"]
    return _dropped(steps[restores[-1] :] if restores else steps)


def _features(snapshot: Snapshot, steps: Sequence[Mapping[str, Any]]) -> Iterator[_Fault]:
    # What was not there at once, was found at the step that asked for it.
    taken = _lacking(snapshot, steps[:-1]) if steps[-1]["operation"] == "enable_feature" else ()
    for name in _lacking(snapshot, steps):
        yield "TF-016" if name in taken else None, f"feature {name} is not supported"
    for name in sorted(_gone(steps) & supported(snapshot.protocol)):
        yield None, f"feature {name} is still supported"
    asked = [(step.get("properties") or {}).get(_MODE, "none") for step in steps]
    mode = snapshot.metadata.configuration.get(_MODE, "none")
    # The audit does not know that it was asked for, and takes the property for one without effect.
    if mode != "none" and mode in asked and "columnMapping" not in supported(snapshot.protocol):
        yield "CM-011", f"mode {mode} is asked for, and columnMapping is not supported"


_PROPERTY_TRACES: Final[Mapping[str, str]] = {
    "columnMapping": _MODE,
    "deletionVectors": "delta.enableDeletionVectors",
    "inCommitTimestamp": "delta.enableInCommitTimestamps",
    "rowTracking": "delta.enableRowTracking",
    "typeWidening": "delta.enableTypeWidening",
    "v2Checkpoint": "delta.checkpointPolicy",
}
_COLUMN_KEY_TRACES: Final = {
    "columnMapping": "delta.columnMapping.",
    "typeWidening": "delta.typeChanges",
}
_FILE_FIELD_TRACES: Final = {
    "deletionVectors": ("deletionVector",),
    "rowTracking": ("baseRowId", "defaultRowCommitVersion"),
}
_DOMAIN_TRACES: Final = {
    "clustering": _CLUSTERING,
    "domainMetadata": "",
    "rowTracking": _ROW_TRACKING,
}
"""Traces of features: properties that ask for them, how keys of column metadata and the names of
metadata domains begin, fields of add actions. What a property alone records, as the highest id of
a column, asks for nothing once the feature is gone."""

_OFF: Final = frozenset({"false", "none", "classic"})
"""Values of a property that ask for nothing."""


def _traces(snapshot: Snapshot, dropped: AbstractSet[str]) -> Iterator[_Fault]:
    """Yield what is left of features that are gone from the protocol, which keeps them there."""
    for name in sorted(dropped - supported(snapshot.protocol)):
        # Widening alone has a clause about what a drop takes away.
        row = "TW-011" if name == "typeWidening" else "TF-016"
        for trace in _traces_of(name, snapshot):
            yield row, f"{trace} is left"


def _traces_of(name: str, snapshot: Snapshot) -> Iterator[str]:
    key = _PROPERTY_TRACES.get(name, "")
    if snapshot.metadata.configuration.get(key, "none").lower() not in _OFF:
        yield f"property {key} of {name}"
    begins = _COLUMN_KEY_TRACES.get(name)
    if begins is not None and f'"{begins}' in snapshot.metadata.schema_string:
        yield f"metadata of columns by {name}"
    for field in _FILE_FIELD_TRACES.get(name, ()):
        held = snapshot.adds().column(field)
        if held.null_count < len(held):
            yield f"{field} of live files, by {name},"
    start = _DOMAIN_TRACES.get(name)
    for domain, action in snapshot.domain_metadata.items():
        if start is not None and domain.startswith(start) and not action.removed:
            yield f"domain {domain} of {name}"


def _lacking(snapshot: Snapshot, steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the features that were asked for and are not supported."""
    held = supported(snapshot.protocol)
    wanted = {name for step in steps for name in step.get("features") or ()}
    wanted |= {step["feature"] for step in steps if step["operation"] == "enable_feature"}
    if any(step.get("clustering_columns") or _clusters(step) for step in steps):
        wanted.add("clustering")
    found = {name: find(name) for name in sorted(wanted - _dropped(steps))}
    return [name for name, each in found.items() if each is None or each.name not in held]


def _clusters(step: Mapping[str, Any]) -> bool:
    return step["operation"] == "cluster_by" and bool(step["columns"])


def _unlisted(snapshot: Snapshot, steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for name in _lacking(snapshot, steps):
        if name in LISTED_BY:
            yield f"{LISTED_BY[name]} {name} is not in the protocol"


def _constraints(snapshot: Snapshot, steps: Sequence[Mapping[str, Any]]) -> Iterator[_Fault]:
    named = {
        key.removeprefix(_CONSTRAINT).lower()
        for key in snapshot.metadata.configuration
        if key.startswith(_CONSTRAINT)
    }
    wanted: dict[str, bool] = {}
    for step in steps:
        if step["operation"] == "restore":
            wanted.clear()  # constraints are properties, and those of then hold again
        if step["operation"] in ("add_constraint", "drop_constraint"):
            wanted[step["name"].lower()] = step["operation"] == "add_constraint"
    for name, there in wanted.items():
        if there != (name in named):
            yield "CHK-002", f"constraint {name} is {'not ' if there else 'still '}there"


def _clustered(snapshot: Snapshot, steps: Sequence[Mapping[str, Any]]) -> Iterator[_Fault]:
    """Look for the columns that the table is clustered by, in any order."""
    wanted = None
    for step in steps:
        if step["operation"] == "create":
            wanted = step.get("clustering_columns")
        elif replaces_table(step) or step["operation"] == "drop_column":
            wanted = None  # it may be clustered otherwise now
        elif step["operation"] == "cluster_by":
            wanted = step["columns"]
        elif step["operation"] == "rename_column" and "parent" not in step:
            names = {step["column"]: step["name"]}
            wanted = wanted and [names.get(name, name) for name in wanted]
        elif step["operation"] == "drop_feature" and step["feature"] == "clustering":
            wanted = None
    held = snapshot.domain_metadata.get(_CLUSTERING)
    domain = None if held is None or held.removed else held.to_wire()
    found = {".".join(name) for name in clustering_of(domain)}
    names = {each.name: each.metadata.get(_PHYSICAL, each.name) for each in snapshot.schema.fields}
    if wanted and not all({name, names.get(name)} & found for name in wanted):
        # As many names, none of which files have, are those that people gave the columns.
        logical = len(found) == len(wanted) and not found & {*names.values()}
        mapped = any(_PHYSICAL in each.metadata for each in snapshot.schema.fields)
        broken = "CM-035" if mapped and logical else "CLUS-006"
        yield broken, f"{_CLUSTERING} names the columns {sorted(found)}, not {wanted}"


def _columns(snapshot: Snapshot, oracle: Oracle, *, gone: bool) -> Iterator[_Fault]:
    """Look for what people said of columns, at any depth, and for what identity columns need.

    Metadata of the protocol may change, and go with a feature that is ``gone``.
    """
    held = dict(_metadata(json.loads(snapshot.metadata.schema_string)))
    for name, metadata in _metadata(oracle.schema.to_json()):
        for key, value in metadata.items():
            lost = name in held and held[name].get(key) != value
            if key.startswith(_RULES) or key == _DEFAULT:
                # It may be written differently.
                lost = lost and key not in held[name] and not gone
            elif key.startswith(_PROTOCOL):
                continue
            if lost:
                yield "SCH-037", f"column {name} lost its {key!r}"


_INNER: Final = {"elementType": "element", "keyType": "key", "valueType": "value"}


def _metadata(of: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the path of each field of a schema's JSON, and its metadata.

    What a writer leaves may lack what the schema of the text has, which the audit reports.
    """
    for each in of.get("fields", ()) if isinstance(of, Mapping) else ():
        name = f"{path}.{each['name']}" if path else each["name"]
        yield name, each.get("metadata") or {}
        yield from _metadata(each["type"], name)
    for key, inner in _INNER.items() if isinstance(of, Mapping) else ():
        yield from _metadata(of.get(key), f"{path}.{inner}")


def _settings(
    snapshot: Snapshot,
    before: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    oracle: Oracle,
) -> Iterator[_Fault]:
    # Whether a restore brings back the versions of applications, and domains, no clause says.
    since = max((at for at, step in enumerate(steps) if step["operation"] == "restore"), default=-1)
    late = steps[since + 1 :]
    set_since = {(step.get("txn") or step).get("app_id") for step in late}
    set_since |= {step.get("domain") for step in late}
    for application, version in oracle.transactions.items():
        txn = snapshot.txns.get(application)
        held = None if txn is None else txn.version
        back = () if application in set_since else oracle.restored
        if held not in {version, *(each.transactions.get(application) for each in back)}:
            yield None, f"application {application} is at {held}, not {version}"
    given, touched = (
        {step["domain"] for step in some if step["operation"] == "set_domain_metadata"}
        for some in (before, steps)
    )
    for name in sorted(given | touched, key=lambda name: (is_system(name), name)):
        domain, wanted = snapshot.domain_metadata.get(name), oracle.domains.get(name)
        seen = None if domain is None or domain.removed else domain.configuration
        back = () if name in set_since else oracle.restored
        if seen not in {wanted, *(each.domains.get(name) for each in back)}:
            broken = None if name in touched else lost_domain(name, snapshot)
            yield broken, f"domain {name} is {seen!r}, not {wanted!r}"
