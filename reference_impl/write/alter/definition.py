"""Set properties and features of a table, and what they require.

Implements "Table Features", "Change Metadata" and the writer requirements that take effect when a
feature is switched on.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import pyarrow.compute as pc

from reference_impl.errors import InvalidMetadata
from reference_impl.expressions.sql import Expression
from reference_impl.model.actions import Metadata
from reference_impl.model.column_mapping import MODE_PROPERTY
from reference_impl.model.features import is_true
from reference_impl.model.file_actions import to_objects
from reference_impl.places import decode_path
from reference_impl.scan.row_tracking import COMMIT_VERSION_PROPERTY, ROW_ID_PROPERTY
from reference_impl.snapshot.snapshot import Snapshot
from reference_impl.types.schema import format_schema, parse_schema
from reference_impl.write.commit.commit_file import require_text
from reference_impl.write.commit.transaction import Transaction, add_of
from reference_impl.write.features.iceberg import VERSIONS, files_to_rewrite, number_nested
from reference_impl.write.features.mapping import MAX_ID_PROPERTY, map_columns, mode_of
from reference_impl.write.features.protocols import (
    CONSTRAINT_PREFIX,
    FEATURE_PREFIX,
    MIN_PROTOCOL,
    READER_VERSION_KEY,
    WRITER_VERSION_KEY,
    features_needed,
    with_features,
)
from reference_impl.write.features.row_ids import ROW_TRACKING_SUSPENDED
from reference_impl.write.files.clustering import (
    CLUSTERING_DOMAIN,
    check_unpartitioned,
    clustering_domain,
)
from reference_impl.write.files.live_files import live_files
from reference_impl.write.files.parquet import ParquetStyle
from reference_impl.write.properties import (
    DELETED_FILE_RETENTION,
    LOG_RETENTION,
    duration,
    validate_number,
)
from reference_impl.write.rows.changes import Changes
from reference_impl.write.rows.incoming import check_rules
from reference_impl.write.rows.rules import rules_of
from schemas.features import FEATURES

ENABLED: Final = "delta.enableRowTracking"
_FILE_PROPERTIES: Final = frozenset(
    {MODE_PROPERTY, MAX_ID_PROPERTY, ROW_ID_PROPERTY, COMMIT_VERSION_PROPERTY}
)
"""Properties that describe data files."""

_NESTED_IDS: Final = "delta.enableIcebergCompatV2"
"""Property of the feature that gives ids to what is in arrays and maps."""

_REQUESTS: Final = (READER_VERSION_KEY, WRITER_VERSION_KEY)
_BOOLEANS: Final = frozenset(f.activation for f in FEATURES.values() if f.activation)


def define(
    transaction: Transaction,
    metadata: Metadata,
    properties: Mapping[str, str] | None = None,
    features: Iterable[str] = (),
    *,
    rows_stay: bool = True,
) -> None:
    """Stage metadata with further properties, under a protocol that supports them.

    Args:
        transaction: where to stage.
        metadata: the metadata so far, the schema as it is to be.
        properties: to set, in addition to the present ones.
        features: to support, besides those that the schema and the properties need.
        rows_stay: whether existing rows and files stay and must comply; not where they are
            replaced.

    Raises:
        InvalidMetadata: a property has a value that it cannot have.
        UnsupportedError: the table would need what this implementation does not write.
    """
    # Obeys CM-010 CM-012 TF-015 RT-041 SHRED-005 CHK-007.
    kept, asked = _requested(metadata, properties or {})
    asked |= set(features)
    base = transaction.base
    protocol = MIN_PROTOCOL if base is None else base.protocol
    before = {} if base is None else base.metadata.configuration
    schema, kept = map_columns(
        parse_schema(metadata.schema_string),
        before,
        name_materialized_columns(kept),
        new=base is None,
    )
    if is_true(kept, _NESTED_IDS) and mode_of(kept) != "none":
        schema, kept = number_nested(schema, kept)
    metadata = replace(metadata, schema_string=format_schema(schema), configuration=kept)
    tracked = base is not None and transaction.read_target.active("rowTracking")
    transaction.define(with_features(protocol, features_needed(schema, kept) | asked), metadata)
    ParquetStyle.of(kept)
    check_unpartitioned(transaction.target)
    if transaction.target.supports("clustering") and CLUSTERING_DOMAIN not in transaction.domains:
        transaction.set_domain(clustering_domain((), None))
    checks = rules_of(transaction.target).checks
    if base is None or not rows_stay:
        return
    fresh = {n: check for n, check in checks.items() if f"{CONSTRAINT_PREFIX}{n}" not in before}
    _check_existing(transaction, fresh)
    with transaction.cleanup_on_failure():
        _rewrite_files(transaction, base)
        if not tracked and transaction.target.active("rowTracking"):
            backfill(transaction, base)


def _requested(
    metadata: Metadata, properties: Mapping[str, str]
) -> tuple[dict[str, str], set[str]]:
    """Return the properties as they are to be, and the features that they ask for by name."""
    asked: set[str] = set()
    kept = dict(metadata.configuration)
    for name, value in properties.items():
        require_text(name, "the name of a property", "metaData")
        require_text(value, f"property {name[:80]}", "metaData")
        if name.startswith(FEATURE_PREFIX):
            _require(name, value, ("supported", "enabled"))
            asked.add(name.removeprefix(FEATURE_PREFIX))
        elif name in _REQUESTS:
            _require(name, value, tuple("1234567"))
        elif name == MAX_ID_PROPERTY and value != kept.get(name):
            raise InvalidMetadata(
                f"{name} is the table's own to set", stage="commit", requirement="CM-021"
            )
        else:
            if name in _BOOLEANS:
                _require(name, value, ("true", "false"))
            validate_number(name, value)
            if name in (DELETED_FILE_RETENTION, LOG_RETENTION):
                duration({name: value}, name)
            kept[name] = value
    return kept, asked


def _rewrite_files(transaction: Transaction, base: Snapshot) -> None:
    """Rewrite files that do not meet a version of Iceberg compatibility."""
    target, before = transaction.target, transaction.read_target
    if not any(target.active(name) and not before.active(name) for name in VERSIONS):
        return
    files = files_to_rewrite(target.protocol, target.metadata, base.adds())
    # A file that is added concurrently may be one of them.
    transaction.record_read(None, files)
    changes = Changes(transaction, data_change=False)
    for file in live_files(transaction.storage, before, files):
        changes.move(file)
    changes.finish()


def _check_existing(transaction: Transaction, checks: Mapping[str, Expression]) -> None:
    """Check the existing rows against new constraints.

    Raises:
        ConstraintViolation: a row breaks one.
    """
    if not checks:
        return
    # A row that is added concurrently must be checked as well, and conflicts.
    for file in transaction.open_files():
        check_rules(file.take(file.live), checks)


def undefine(transaction: Transaction, metadata: Metadata, names: Iterable[str]) -> None:
    """Stage metadata without some properties; the protocol stays as it is.

    Raises:
        InvalidMetadata: a property cannot be unset.
    """
    gone = set(names)
    held = sorted(gone & _FILE_PROPERTIES & metadata.configuration.keys())
    if held:
        raise InvalidMetadata(
            f"{held[0]} cannot be unset: existing files depend on it", stage="commit"
        )
    kept = {name: value for name, value in metadata.configuration.items() if name not in gone}
    transaction.define(transaction.target.protocol, replace(metadata, configuration=kept))


def _require(name: str, value: str, values: tuple[str, ...]) -> None:
    if value.lower() not in values:
        raise InvalidMetadata(
            f"{name} is {value[:80]!r}, not {' or '.join(values)}",
            stage="commit",
            requirement="META-011",
        )


def name_materialized_columns(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return properties with names for the materialized columns, where row tracking is enabled.

    Raises:
        InvalidMetadata: row tracking is enabled and suspended at once.
    """
    named = dict(configuration)
    if not is_true(named, ENABLED):
        return named
    # Obeys RT-010.
    if is_true(named, ROW_TRACKING_SUSPENDED):
        raise InvalidMetadata(
            f"{ENABLED} and {ROW_TRACKING_SUSPENDED} are both true",
            stage="commit",
            requirement="RT-009",
        )
    named.setdefault(ROW_ID_PROPERTY, f"_row-id-col-{uuid.uuid4()}")
    named.setdefault(COMMIT_VERSION_PROPERTY, f"_row-commit-version-col-{uuid.uuid4()}")
    return named


def backfill(transaction: Transaction, snapshot: Snapshot) -> None:
    """Stage every live file without row ids again, so that the commit assigns them."""
    # Obeys RT-045 RT-046.
    adds = snapshot.adds()
    lacking = pc.or_(
        pc.is_null(adds.column("baseRowId")), pc.is_null(adds.column("defaultRowCommitVersion"))
    )
    files = adds.filter(lacking)
    # A file that is added concurrently without ids would be left out.
    transaction.record_read(None, files)
    gone = transaction.read_write_set.removed
    staged = (add for add in to_objects(files) if decode_path(add["path"]) not in gone)
    transaction.add(add_of(add, data_change=False) for add in staged)
