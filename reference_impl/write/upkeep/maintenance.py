"""Maintenance operations: optimize, restore.

Implements "Add File and Remove File" (``dataChange``), "Deletion Vectors" and "Row Tracking". Rows
move between files and none changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.deletion_vectors import Descriptor
from reference_impl.errors import (
    DataFileNotFound,
    DeletionVectorNotFound,
    InvalidLogSegment,
    NotFoundError,
)
from reference_impl.model.actions import Metadata
from reference_impl.model.column_mapping import lasting_name
from reference_impl.model.features import active
from reference_impl.model.file_actions import choose, to_objects
from reference_impl.places import decode_path, decode_paths
from reference_impl.snapshot.history import ICT_PROVENANCE
from reference_impl.snapshot.paths import logical_keys
from reference_impl.snapshot.segment import list_log
from reference_impl.snapshot.snapshot import Snapshot, read_commit
from reference_impl.types.keys import HIGH_WATER_MARK_KEY, STEP_KEY
from reference_impl.types.model import Field, Struct
from reference_impl.types.schema import format_schema
from reference_impl.write.alter.definition import define
from reference_impl.write.commit.transaction import ICT, Transaction, add_of
from reference_impl.write.features.mapping import MAX_ID_PROPERTY, highest_id
from reference_impl.write.features.row_ids import ROW_TRACKING_DOMAIN
from reference_impl.write.files.clustering import (
    CLUSTERING_DOMAIN,
    PROVIDER,
    clustering_domain,
    clustering_leaves,
)
from reference_impl.write.files.live_files import live_files
from reference_impl.write.rows.changes import Changes

_MIN_LARGE_FILE_BYTES: Final = 128 << 20
"""Size in bytes from which on a file without a vector is left alone."""


def optimize(snapshot: Snapshot, *, purge_only: bool) -> int:
    """Carry out :meth:`~reference_impl.table.Table.optimize`.

    A file outside of the table root, as a shallow clone has, is left alone.
    """
    # Obeys DVD-005 DVD-012 CLUS-011 CLUS-012 ADD-009 REM-005.
    transaction = Transaction(
        snapshot, "REORG" if purge_only else "OPTIMIZE", {"predicate": "[]", "auto": "false"}
    )
    adds = snapshot.adds()
    columns = clustering_leaves(transaction.target, snapshot.domain_metadata)
    clusters = bool(columns) and not purge_only
    if clusters:
        # Files of another clustering provider are left as they are.
        provider = adds.column("clusteringProvider")
        own = pc.fill_null(pc.equal(provider, PROVIDER), True)  # noqa: FBT003  a value
        adds = adds.filter(own)
    deleted = pc.is_valid(adds.column("deletionVector"))
    small = pc.less(adds.column("size"), _MIN_LARGE_FILE_BYTES)
    files = adds.filter(deleted if purge_only else pc.or_(deleted, small))
    inside = [snapshot.storage.holds(decode_path(str(p))) for p in files["path"].to_pylist()]
    files = choose(files, inside)
    groups: dict[Any, list[int]] = {}
    for number, values in enumerate(files.column("partitionValues").to_pylist()):
        groups.setdefault(tuple(values), []).append(number)
    vectors = files.column("deletionVector")
    # One small file alone is not rewritten.
    kept = [at for part in groups.values() for at in part if len(part) > 1 or vectors[at].is_valid]
    changes = Changes(transaction, data_change=False, clusters=clusters)
    part = files.take(pa.array(kept, pa.int64()))
    for file in live_files(snapshot.storage, transaction.read_target, part):
        changes.move(file)
    return changes.commit()


def restore(snapshot: Snapshot, earlier: Snapshot) -> int:
    """Make the rows, the schema and the properties those of an earlier version again.

    The protocol stays, because it never loses a feature. A clustered table gets its
    earlier clustering columns.

    Raises:
        NotFoundError: a file of the earlier version is gone.
    """
    # Obeys DVD-013 DVD-014 RT-014.
    transaction = Transaction(snapshot, "RESTORE", {"version": str(earlier.version)})
    if earlier.metadata != snapshot.metadata:
        metadata = _restored_metadata(snapshot, earlier)
        define(transaction, metadata, rows_stay=False)
    _restore_clustering(transaction, earlier)
    _restore_row_ids(transaction, earlier)
    now, then = snapshot.adds(), earlier.adds()
    have, want = _keys(now), _keys(then)
    wanted = set(want)
    transaction.record_read(None, now)
    transaction.remove(choose(now, [key not in wanted for key in have]))
    numbered = dict(zip(have, now.column("baseRowId").to_pylist(), strict=True))
    ids = then.column("baseRowId").to_pylist()
    # A file that is there still, but lost its row ids when the feature was dropped, comes again.
    missing = [
        key not in numbered or (numbered[key] is None and number is not None)
        for key, number in zip(want, ids, strict=True)
    ]
    bodies = list(to_objects(choose(then, missing)))
    if transaction.target.supports("rowTracking"):
        _repeat_row_ids(snapshot, earlier.version, bodies)
    for add in bodies:
        _require_files(snapshot, add)
    transaction.add(add_of(add, data_change=True) for add in bodies)
    if transaction.is_empty:
        return int(snapshot.version)
    return transaction.commit()


def _restored_metadata(now: Snapshot, then: Snapshot) -> Metadata:
    """Return the metadata of then, but keep high-water marks, which never decrease.

    Column ids and identity values would else be assigned twice, and commits without an
    in-commit timestamp would be read as having one.
    """
    # Obeys DVD-014.
    held, configuration = now.metadata.configuration, dict(then.metadata.configuration)
    if MAX_ID_PROPERTY in held and MAX_ID_PROPERTY in configuration:
        highest = max(highest_id(each.metadata.configuration, each.schema) for each in (now, then))
        configuration[MAX_ID_PROPERTY] = str(highest)
    if active(now.protocol, now.metadata, ICT):
        configuration |= {name: held[name] for name in ICT_PROVENANCE if name in held}
    known = {lasting_name(field): field for field in now.schema.fields}
    fields = tuple(_with_high_water_mark(f, known.get(lasting_name(f))) for f in then.schema.fields)
    return replace(
        then.metadata, configuration=configuration, schema_string=format_schema(Struct(fields))
    )


def _with_high_water_mark(then: Field, now: Field | None) -> Field:
    """Return an identity column with the high-water mark further in the direction of its step."""
    mark = None if now is None else now.metadata.get(HIGH_WATER_MARK_KEY)
    held, step = then.metadata.get(HIGH_WATER_MARK_KEY), then.metadata.get(STEP_KEY)
    if type(mark) is not int or type(step) is not int:
        return then
    marks = [mark] if type(held) is not int else [mark, held]
    furthest = max(marks) if step > 0 else min(marks)
    return replace(then, metadata={**then.metadata, HIGH_WATER_MARK_KEY: furthest})


def _restore_clustering(transaction: Transaction, earlier: Snapshot) -> None:
    """Restore the clustering columns: the present ones may not exist."""
    if not transaction.target.supports("clustering"):
        return
    held = transaction.domains.get(CLUSTERING_DOMAIN)
    wanted = earlier.domain_metadata.get(CLUSTERING_DOMAIN)
    domain = clustering_domain((), None) if wanted is None else wanted
    if held != domain:
        transaction.set_domain(domain)


def _restore_row_ids(transaction: Transaction, earlier: Snapshot) -> None:
    """Restore the high-water mark of row ids where it was dropped with the feature."""
    held = transaction.domains.get(ROW_TRACKING_DOMAIN)
    wanted = earlier.domain_metadata.get(ROW_TRACKING_DOMAIN)
    if held is None and wanted is not None and transaction.target.supports("rowTracking"):
        transaction.set_domain(wanted)


def _repeat_row_ids(now: Snapshot, version: int, adds: list[dict[str, Any]]) -> None:
    """Give files the row ids of the last add after a version with the same path.

    Row tracking may have been enabled since then, or again.

    Raises:
        InvalidLogSegment: a commit of that time is gone.
    """
    # Obeys RT-030.
    wanted = {decode_path(add["path"]): add for add in adds}
    commits = list_log(now.storage, now.version, from_start=True, ratified=now.listing.ratified)
    for later in range(now.version, version, -1):
        if not wanted:
            break
        commit = commits.commits.get(later)
        if commit is None:
            raise InvalidLogSegment(
                f"commit {later} is gone, which may say what row ids the files have",
                version=later,
                hint="restore a version after it",
            )
        for last in read_commit(now.storage, commit).bodies("add"):
            add = wanted.pop(decode_path(last["path"]), None)
            if add is not None and last.get("baseRowId") is not None:
                add |= {name: last.get(name) for name in _ROW_IDS}


_ROW_IDS: Final = ("baseRowId", "defaultRowCommitVersion")


def _keys(adds: pa.Table) -> list[str]:
    """Return a string per logical file."""
    paths, vectors = (adds[name].combine_chunks() for name in ("path", "deletionVector"))
    keys: list[str] = logical_keys(decode_paths(paths), vectors).to_pylist()
    return keys


def _require_files(snapshot: Snapshot, add: dict[str, Any]) -> None:
    vector = add.get("deletionVector")
    needed: list[tuple[str, type[NotFoundError]]] = [(decode_path(add["path"]), DataFileNotFound)]
    if vector is not None and vector["storageType"] != "i":
        needed.append((Descriptor.from_wire(vector).path, DeletionVectorNotFound))
    for path, gone in needed:
        try:
            snapshot.storage.head(path)
        except FileNotFoundError as error:
            message = "a file of the version to restore is gone"
            raise gone(message, path=path, stage="commit") from error
