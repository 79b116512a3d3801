"""Drop a feature from a table's protocol, once no trace of it is left.

Implements "Supported Features". The text of 2025 forbids to remove a feature; later texts
allow it to a writer that proves that nothing of the feature is left. What belongs to the
feature alone goes with it (properties, metadata of columns, the domain and file fields of the
system); what users have put in blocks the drop, and is named. For a feature that changes how
the log is read, a checkpoint without traces is written first, so that clients that do not know
the feature start from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_impl.errors import ConstraintViolation, UnsupportedFeatures
from reference_impl.model.actions import Metadata, Protocol
from reference_impl.model.column_mapping import ID_KEY, MODE_PROPERTY, NAME_KEY
from reference_impl.model.features import supported
from reference_impl.model.file_actions import to_objects
from reference_impl.places import decode_path
from reference_impl.scan.data_file import at_file
from reference_impl.scan.row_tracking import COMMIT_VERSION_PROPERTY, ROW_ID_PROPERTY
from reference_impl.snapshot.history import ICT_PROVENANCE
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.types.keys import TYPE_CHANGES_KEY
from reference_impl.types.model import Field, every_field, map_fields
from reference_impl.types.schema import format_schema, parse_schema
from reference_impl.write.checkpoints.write import live_tombstones, style_of, write_checkpoint
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.features.iceberg import NESTED_IDS_KEY
from reference_impl.write.features.mapping import MAX_ID_PROPERTY, highest_id
from reference_impl.write.features.protocols import features_needed
from reference_impl.write.features.row_ids import ROW_TRACKING_DOMAIN, ROW_TRACKING_SUSPENDED
from reference_impl.write.files.clustering import CLUSTERING_DOMAIN
from reference_impl.write.files.live_files import live_files
from reference_impl.write.rows.changes import Changes
from schemas.features import FEATURES, find

_NESTED_IDS: Final = (NESTED_IDS_KEY, "parquet.field.nested.ids")


@dataclass(frozen=True, slots=True)
class _Traces:
    """What a feature leaves in a table.

    Attributes:
        properties: table properties that go with it.
        column_keys: keys of column metadata that go with it.
        domain: the metadata domain of the system that goes with it.
        file_fields: fields of add actions that go with it.
        stored: properties that name columns of its own in data files; files that have one are
            rewritten.
        rewritten: whether files may hold what cannot be read without it, so that all are
            rewritten.
        in_log: whether clients that do not know it cannot read the log before the drop.
        refuse: refuses a table that has other traces.
    """

    properties: tuple[str, ...] = ()
    column_keys: tuple[str, ...] = ()
    domain: str = ""
    file_fields: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    rewritten: bool = False
    in_log: bool = False
    refuse: Callable[[Snapshot], None] = lambda _: None


def _refuse_vectors(snapshot: Snapshot) -> None:
    for actions, hint in (
        (snapshot.adds(), "optimize the table first, which drops deleted rows"),
        (live_tombstones(snapshot), "wait until removed files have expired"),
    ):
        count = pc.sum(pc.is_valid(actions.column("deletionVector"))).as_py() or 0
        if count:
            raise _blocked("deletionVectors", f"{count} files have deletion vectors", hint)


def _refuse_policy(snapshot: Snapshot) -> None:
    if style_of(snapshot).spec == "v2":
        raise _blocked(
            "v2Checkpoint",
            "the table asks for V2 checkpoints",
            "set delta.checkpointPolicy to classic first",
        )


def _refuse_domains(snapshot: Snapshot) -> None:
    held = sorted(snapshot.domain_metadata)
    if held:
        raise _blocked("domainMetadata", f"there is the domain {held[0]!r}", "remove it first")


def _refuse_physical_names(snapshot: Snapshot) -> None:
    """Refuse where a column has another physical name, or a dropped one may be in files."""
    fields = [column for _, column in every_field(snapshot.schema)]
    renamed = [each.name for each in fields if each.metadata.get(NAME_KEY, each.name) != each.name]
    what = f"column {renamed[0]!r} has another physical name" if renamed else ""
    if not renamed and highest_id(snapshot.metadata.configuration, snapshot.schema) > len(fields):
        what = "columns were dropped, which files may still have"
    if what:
        raise _blocked("columnMapping", what, "write the rows into a table that is not mapped")


_TRACES: Final[Mapping[str, _Traces]] = {
    "columnMapping": _Traces(
        (MODE_PROPERTY, MAX_ID_PROPERTY),
        column_keys=(ID_KEY, NAME_KEY),
        refuse=_refuse_physical_names,
    ),
    "deletionVectors": _Traces(in_log=True, refuse=_refuse_vectors),
    "v2Checkpoint": _Traces(("delta.checkpointPolicy",), in_log=True, refuse=_refuse_policy),
    "domainMetadata": _Traces(refuse=_refuse_domains),
    "rowTracking": _Traces(
        (ROW_TRACKING_SUSPENDED, ROW_ID_PROPERTY, COMMIT_VERSION_PROPERTY),
        domain=ROW_TRACKING_DOMAIN,
        file_fields=("baseRowId", "defaultRowCommitVersion"),
        stored=(ROW_ID_PROPERTY, COMMIT_VERSION_PROPERTY),
    ),
    "clustering": _Traces(domain=CLUSTERING_DOMAIN, file_fields=("clusteringProvider",)),
    "inCommitTimestamp": _Traces(ICT_PROVENANCE),
    "typeWidening": _Traces(column_keys=(TYPE_CHANGES_KEY,), rewritten=True),
    "icebergCompatV2": _Traces(column_keys=_NESTED_IDS),
}
"""Features that leave more than the property that activates them."""


def drop_feature(snapshot: Snapshot, asked: str) -> int:
    """Drop a feature from the protocol, and return the version.

    Raises:
        UnsupportedFeatures: the table does not support it, or this implementation does not know
            what its traces are.
        ConstraintViolation: another feature needs it, or a trace of it is left that a user has
            put in; the message names it.
    """
    feature = find(asked)
    held = supported(snapshot.protocol)
    name = asked if feature is None else feature.name
    if feature is None or name not in held:
        raise UnsupportedFeatures(
            (asked,),
            f"feature {asked!r} cannot be dropped: the table does not support it, or its "
            "traces are not known",
            hint="features of the table: " + ", ".join(sorted(held)),
        )
    needing = sorted(n for n in held if n in FEATURES and name in FEATURES[n].requires)
    if needing:
        raise _blocked(name, f"feature {needing[0]} needs it", "drop that first")
    traces = _TRACES.get(name, _Traces())
    traces.refuse(snapshot)
    transaction = Transaction(snapshot, "DROP FEATURE", {"featureName": name})
    metadata = _without_traces(snapshot.metadata, traces, feature.activation)
    schema = parse_schema(metadata.schema_string)
    if name in features_needed(schema, metadata.configuration):
        raise _blocked(name, "the schema or a constraint makes use of it", "drop that first")
    if traces.in_log:
        write_checkpoint(snapshot)
    transaction.define(_without(snapshot.protocol, name), metadata)
    files = snapshot.adds()
    # A file that is added concurrently would keep its traces.
    transaction.record_read(None, files)
    domain = snapshot.domain_metadata.get(traces.domain)
    if domain is not None:
        transaction.set_domain(replace(domain, removed=True))
    rewrite = _to_rewrite(snapshot, files, traces, metadata)
    transaction.add(_stripped(files.filter(pa.array(~rewrite)), traces.file_fields))
    changes = Changes(transaction, data_change=False)
    whole = files.filter(pa.array(rewrite))
    for file in live_files(snapshot.storage, transaction.read_target, whole):
        changes.move(file)
    return changes.commit()


def _to_rewrite(
    snapshot: Snapshot, files: pa.Table, traces: _Traces, metadata: Metadata
) -> npt.NDArray[np.bool_]:
    """Return the mask of live files that must be rewritten."""
    if traces.rewritten and metadata.schema_string != snapshot.metadata.schema_string:
        return np.ones(files.num_rows, np.bool_)
    configuration = snapshot.metadata.configuration
    names = {configuration[key] for key in traces.stored if key in configuration}
    if not names:
        return np.zeros(files.num_rows, np.bool_)
    return np.array(
        [
            not names.isdisjoint(_columns(snapshot, decode_path(str(path))))
            for path in files.column("path").to_pylist()
        ],
        np.bool_,
    )


def _columns(snapshot: Snapshot, path: str) -> list[str]:
    with at_file(path), snapshot.storage.open_input(path) as source:
        return list(pq.read_schema(source).names)


def _without_traces(metadata: Metadata, traces: _Traces, activation: str) -> Metadata:
    # Obeys TW-011.
    gone = {*traces.properties, activation}

    def strip(column: Field) -> Field:
        left = {k: v for k, v in column.metadata.items() if k not in traces.column_keys}
        return replace(column, type=map_fields(column.type, strip), metadata=left)

    schema = map_fields(parse_schema(metadata.schema_string), strip)
    kept = {name: value for name, value in metadata.configuration.items() if name not in gone}
    return replace(metadata, configuration=kept, schema_string=format_schema(schema))


def _without(protocol: Protocol, name: str) -> Protocol:
    """Return the protocol that lists what is left; reader versions go by what readers need."""
    writers = tuple(sorted(_listed_names(protocol) - _names_of(name)))
    readers = tuple(n for n in writers if (f := find(n)) is not None and f.kind != "writer")
    if readers:
        return Protocol(3, 7, readers, writers)
    return Protocol(1, 7, None, writers)


def _listed_names(protocol: Protocol) -> set[str]:
    """Return the features in the names that the protocol has, or by name where it lists none."""
    listed = protocol.writer_features
    implied = supported(protocol) - {f.name for n in listed or () if (f := find(n)) is not None}
    return {*(listed or ()), *(n for n in implied if n in FEATURES)}


def _names_of(name: str) -> set[str]:
    return {name, *FEATURES[name].aliases}


def _stripped(files: pa.Table, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return adds, without some fields, of the files that have one of them."""
    return [
        {**{k: v for k, v in body.items() if k not in names}, "dataChange": False}
        for body in to_objects(files)
        if not body.keys().isdisjoint(names)
    ]


def _blocked(name: str, what: str, hint: str) -> ConstraintViolation:
    return ConstraintViolation(
        f"feature {name} cannot be dropped: {what}", hint=hint, requirement="TF-016"
    )
