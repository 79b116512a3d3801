"""A table, by its location: the entry point of everything that reads or writes one.

Implements "Delta Table Specification". What carries a method out is imported when it is called, so
that a program loads what it uses: a reader loads no writer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from reference_impl.limits import DEFAULT_LIMITS, Limits, limited
from reference_impl.places import SAME_STORE, Outside
from reference_impl.storage import Storage, open_storage

if TYPE_CHECKING:
    import pyarrow as pa

    from reference_impl.log.ratified import RatifiedCommits
    from reference_impl.snapshot.history import CommitRecord, History
    from reference_impl.snapshot.snapshot import Snapshot
    from reference_impl.write.alter.columns import Path
    from reference_impl.write.alter.create import Schema
    from reference_impl.write.checkpoints.write import Style
    from reference_impl.write.predicates import Filter
    from reference_impl.write.rows.clauses import Clauses, When


@limited
class Table:
    """A Delta table.

    A method that writes commits one version at most. It raises ``UnsupportedError`` where the table
    needs what this implementation does not write, and ``ConflictError`` where another writer
    changed what it relies on; other errors stand with the method.

    Attributes:
        storage: the storage bound to the table root.
        ratified: the commits that the table's catalog ratified.
        limits: what each operation may take.
    """

    def __init__(  # noqa: PLR0913  each keyword is one fact about the table
        self,
        location: str | os.PathLike[str] | Storage,
        *,
        options: Mapping[str, str] | None = None,
        ratified: RatifiedCommits | None = None,
        limits: Limits = DEFAULT_LIMITS,
        outside: Outside = SAME_STORE,
        stores: Mapping[str, Any] | None = None,
    ) -> None:
        """Name a table; nothing is read yet.

        Args:
            location: a local path, a URL, or an open storage.
            options: configuration for an object store.
            ratified: the commits that the catalog of a catalog-managed table ratified; required to
                read such a table.
            limits: what each operation may take; beyond it, it ends with ``LimitExceeded``.
            outside: which places outside of the root are read; see
                :func:`~reference_impl.storage.open_storage`.
            stores: options of other stores, as there.
        """
        self.ratified = ratified
        self.limits = limits
        if isinstance(location, str | os.PathLike):
            self.storage: Storage = open_storage(location, options, outside=outside, stores=stores)
        else:
            self.storage = location

    def snapshot(
        self, version: int | None = None, timestamp: int | str | datetime | None = None
    ) -> Snapshot:
        """Load a version; the latest by default.

        Args:
            version: the version to load.
            timestamp: load the latest version committed at or before this time, given in
                milliseconds since the epoch, as ISO 8601 text or as a datetime (UTC where no
                zone is given).

        Raises:
            ValueError: both a version and a timestamp are given.
            NotFoundError: there is no table or no such version.
            InvalidTableError: the log breaks the protocol.
            UnsupportedError: the table needs what this implementation does not read.
        """
        from reference_impl.snapshot import history, snapshot

        if timestamp is not None:
            if version is not None:
                raise ValueError("give a version or a timestamp, not both")
            version = self._history().version_at(history.to_millis(timestamp))
        return snapshot.load(self.storage, version, ratified=self.ratified)

    def history(self, limit: int | None = None) -> list[CommitRecord]:
        """Return the commits that the log still holds, newest first; at most ``limit`` of them.

        Raises:
            DeltaError: as :meth:`snapshot`.
        """
        return self._history().commits(limit)

    def changes(self, start: int, end: int | None = None) -> pa.Table:
        """Return the row-level changes of the versions ``start`` to ``end``, both included.

        Rows have the schema of the last version, with ``_change_type``, ``_commit_version`` and
        ``_commit_timestamp``, by ascending version; columns that were added in the range are null
        in the changes before that.

        Raises:
            VersionNotFound: the range is empty, or the log does not hold all its commits.
            IncompatibleSchemas: a column was dropped, or changed otherwise than by widening.
            DeltaError: another subclass that says what is wrong with the table.
        """
        from reference_impl.scan import cdf

        return cdf.read_changes(self.storage, start, end, ratified=self.ratified)

    def _history(self) -> History:
        from reference_impl.snapshot import history, snapshot

        latest = snapshot.load(self.storage, from_start=True, ratified=self.ratified)
        return history.History(self.storage, latest.listing, latest)

    def latest_version(self) -> int:
        """Return the newest version.

        Raises:
            TableNotFound: there is no table.
        """
        from reference_impl.snapshot import segment

        latest = segment.list_log(self.storage, ratified=self.ratified).latest
        assert latest is not None
        return latest

    def create(  # noqa: PLR0913  each keyword is one fact about the table
        self,
        schema: Schema,
        *,
        partition_columns: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        features: Iterable[str] = (),
        clustering_columns: Sequence[Path] = (),
        rows: pa.Table | None = None,
    ) -> int:
        """Create the table, and return its version: 0.

        Args:
            schema: an Arrow schema, or the table schema as JSON.
            partition_columns: names of columns, in order.
            properties: table properties.
            features: table features to support beyond those that the rest needs.
            clustering_columns: columns to cluster the table by.
            rows: the first rows.

        Raises:
            CommitConflict: there is a table already.
            InvalidTableError: the definition contradicts itself.
            ConstraintError: the rows do not fit.
        """
        from reference_impl.write.alter import create

        wanted = create.definition_of(
            schema, partition_columns, properties, features, clustering_columns
        )
        return create.create_table(self.storage, wanted, rows)

    def replace(
        self,
        schema: Schema,
        *,
        partition_columns: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        rows: pa.Table | None = None,
    ) -> int:
        """Replace the table's columns, partitions and rows, and return the version.

        Properties are added to the present ones; without ``rows`` the table is empty.

        Raises:
            InvalidMetadata: Iceberg compatibility is active and other columns would partition it.
            AppendOnlyViolation: the table is append-only and has rows.
            DeltaError: as :meth:`create`.
        """
        from reference_impl.write.alter import create, replace

        wanted = create.definition_of(schema, partition_columns, properties)
        return replace.replace_table(self.snapshot(), wanted, rows)

    def convert(
        self,
        schema: Schema | None = None,
        *,
        partition_columns: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        features: Iterable[str] = (),
    ) -> int:
        """Make a table of the Parquet files that are there, and return its version: 0.

        By default the schema is that of the first file, with the columns that folders name as
        strings, and these partition the table. A schema that is given has the partition columns
        among it; the other arguments are those of :meth:`create`.

        Raises:
            CommitConflict: there is a table already.
            DeltaError: another subclass that says which file or folder does not fit.
        """
        from reference_impl.write.alter import create
        from reference_impl.write.interop import convert

        if schema is None:
            schema, inferred = convert.inferred_schema(self.storage)
            partition_columns = partition_columns or inferred
        wanted = create.definition_of(schema, partition_columns, properties, features)
        return convert.convert(self.storage, wanted)

    def generate_manifest(self) -> list[str]:
        """Write a manifest per partition of the latest version, and return their paths.

        Each has the location of a live file per line, and lies in the partition's folder below
        ``_symlink_format_manifest``; those of partitions that are gone are deleted.

        Raises:
            InvalidPartitionValue: a file lacks a partition value, or it does not parse.
            PlaceRefused: a path is not to be followed, or cannot stand on a line.
            UnsupportedFeatures: files have deletion vectors, or columns are mapped.
        """
        from reference_impl.write.interop import manifest

        return manifest.write_manifests(self.snapshot())

    def append(self, rows: pa.Table, *, txn: tuple[str, int] | None = None) -> int:
        """Add rows, and return the version that has them.

        Columns are found by name; those that are missing are null. ``txn`` is an application and
        its progress, recorded in the same commit ("Transaction Identifiers"); where as much is
        recorded already nothing is committed, and the version is the latest.

        Raises:
            SchemaMismatch: columns or values do not fit the schema.
            ConstraintViolation: a row breaks a rule of the table.
        """
        from reference_impl.write.rows import operations

        return operations.append(self.snapshot(), rows, txn)

    def delete(self, filter: Filter = None, *, txn: tuple[str, int] | None = None) -> int:
        """Delete the rows for which a filter is true, all by default, and return the version.

        ``txn`` is as in :meth:`append`.

        Raises:
            AppendOnlyViolation: the table only grows.
            DeltaError: as :meth:`append`; or the filter does not fit the schema.
        """
        from reference_impl.write.rows import operations

        return operations.delete(self.snapshot(), filter, txn)

    def overwrite(
        self, rows: pa.Table, filter: Filter = None, *, txn: tuple[str, int] | None = None
    ) -> int:
        """Replace the rows for which a filter is true, all by default, and return the version.

        ``txn`` is as in :meth:`append`.

        Raises:
            ConstraintViolation: a row that comes in does not match the filter.
            DeltaError: as :meth:`delete`.
        """
        from reference_impl.write.rows import operations

        return operations.overwrite(self.snapshot(), rows, filter, txn)

    def update(
        self,
        values: Mapping[str, Any],
        filter: Filter = None,
        *,
        txn: tuple[str, int] | None = None,
    ) -> int:
        """Set columns of the rows for which a filter is true, and return the version.

        Args:
            values: column to its new value: a constant as Arrow takes it for the column's type,
                or :class:`~reference_impl.expressions.sql.Sql` over the row as it was.
            filter: which rows; all by default.
            txn: as in :meth:`append`.

        Raises:
            AppendOnlyViolation: the table only grows.
            DeltaError: as :meth:`append`; or the filter does not fit the schema.
        """
        from reference_impl.write.rows import operations

        return operations.update(self.snapshot(), values, filter, txn)

    def merge(
        self,
        source: pa.Table,
        on: str | Sequence[str],
        clauses: Clauses | Sequence[When] | None = None,
        *,
        txn: tuple[str, int] | None = None,
    ) -> int:
        """Merge rows, and return the version.

        Of the clauses for a row the first whose condition is true decides; where there is none the
        row stays as it is. Nothing is committed without a change.

        Args:
            source: the rows to merge.
            on: which rows match: a condition in Spark SQL over ``target`` and ``source``, or
                names of columns that are equal. Null matches nothing, as in SQL's ``=``.
            clauses: what becomes of rows that match and rows that do not; rows that match are
                updated and others inserted by default.
            txn: as in :meth:`append`.

        Raises:
            ConstraintViolation: several source rows change one row, or a rule is broken.
            SchemaMismatch: the source does not fit the schema, or a key is not in both.
            DeltaError: as :meth:`update`.
        """
        from reference_impl.write.rows import merge

        return merge.merge(self.snapshot(), source, on, clauses, txn)

    def set_properties(self, properties: Mapping[str, str], *, features: Iterable[str] = ()) -> int:
        """Set table properties, support features, and return the version.

        Raises:
            InvalidMetadata: a property has a value that it cannot have.
        """
        from reference_impl.write.alter import settings

        return settings.set_properties(self.snapshot(), properties, features)

    def unset_properties(self, names: Iterable[str]) -> int:
        """Unset table properties, and return the version.

        Raises:
            InvalidMetadata: a property cannot be unset.
        """
        from reference_impl.write.alter import settings

        return settings.unset_properties(self.snapshot(), names)

    def drop_feature(self, name: str) -> int:
        """Drop a feature once no trace of it is left, and return the version.

        Raises:
            ConstraintViolation: a trace of it is left, or another feature needs it.
            UnsupportedFeatures: the table does not support it.
        """
        from reference_impl.write.alter import dropping

        return dropping.drop_feature(self.snapshot(), name)

    def add_constraint(self, name: str, expression: str) -> int:
        """Add a CHECK constraint, a condition in Spark SQL, and return the version.

        Raises:
            ConstraintViolation: a row breaks it, or there is one of that name.
            UnsupportedExpression: it cannot be evaluated.
            UnknownColumn: it names a column that the table does not have.
        """
        from reference_impl.write.alter import settings

        return settings.add_constraint(self.snapshot(), name, expression)

    def drop_constraint(self, name: str) -> int:
        """Drop a CHECK constraint, and return the version.

        Raises:
            ConstraintViolation: there is no such constraint.
        """
        from reference_impl.write.alter import settings

        return settings.drop_constraint(self.snapshot(), name)

    def set_transaction(self, app_id: str, version: int) -> int:
        """Record the progress of an application, and return the table's version.

        Raises:
            ConflictError: the application made progress in the meantime.
        """
        from reference_impl.write.alter import settings

        return settings.set_transaction(self.snapshot(), app_id, version)

    def set_domain(self, domain: str, configuration: str | None) -> int:
        """Set a metadata domain, remove it for ``None``, and return the version.

        Raises:
            ConstraintViolation: the domain is the system's.
            UnsupportedFeatures: the table does not support metadata domains.
        """
        from reference_impl.write.alter import settings

        return settings.set_domain(self.snapshot(), domain, configuration)

    def add_columns(self, fields: Schema, parent: Path = ()) -> int:
        """Add nullable columns, or fields to the struct column that a path leads to.

        Raises:
            ConstraintViolation: a column cannot be added to rows that are there.
            InvalidSchema: a column of that name exists.
        """
        from reference_impl.write.alter import columns

        return columns.add_columns(self.snapshot(), fields, parent)

    def rename_column(self, path: Path, name: str) -> int:
        """Rename a column or a nested field, and return the version.

        Raises:
            InvalidColumnMapping: column mapping is off, so that data files have the name.
            ConstraintViolation: a rule of the table names the column.
        """
        from reference_impl.write.alter import columns

        return columns.rename_column(self.snapshot(), path, name)

    def drop_column(self, path: Path) -> int:
        """Drop a column or a nested field, and return the version.

        Raises:
            InvalidColumnMapping: column mapping is off.
            ConstraintViolation: something names it, or it is the only one.
        """
        from reference_impl.write.alter import columns

        return columns.drop_column(self.snapshot(), path)

    def reorder_columns(self, names: Sequence[str]) -> int:
        """Put the columns into another order, and return the version.

        Raises:
            SchemaMismatch: the names are not those of the columns, each once.
        """
        from reference_impl.write.alter import columns

        return columns.reorder_columns(self.snapshot(), names)

    def change_type(self, path: Path, wanted: str) -> int:
        """Widen the type of a column or a nested field, and return the version.

        Raises:
            SchemaMismatch: "Type Widening" has no such change.
            UnsupportedFeatures: type widening is not enabled.
            ConstraintViolation: a rule of the table names the column.
        """
        from reference_impl.write.alter import columns

        return columns.change_type(self.snapshot(), path, wanted)

    def set_nullable(self, name: str, *, nullable: bool) -> int:
        """Make a column nullable, or not nullable, and return the version.

        Raises:
            ConstraintViolation: a row has null in it.
        """
        from reference_impl.write.alter import columns

        return columns.set_nullable(self.snapshot(), name, nullable=nullable)

    def set_comment(self, name: str, comment: str) -> int:
        """Set the comment of a column, and return the version."""
        from reference_impl.write.alter import columns

        return columns.set_comment(self.snapshot(), name, comment)

    def set_default(self, name: str, expression: str | None) -> int:
        """Set the default of a column for rows to come, in Spark SQL, or unset it.

        Raises:
            ConstraintViolation: the column is a variant.
        """
        from reference_impl.write.alter import columns

        return columns.set_default(self.snapshot(), name, expression)

    def cluster_by(self, paths: Sequence[Path]) -> int:
        """Cluster the table by columns from now on, or by none, and return the version.

        Files that lack statistics of the columns are read and get them.

        Raises:
            InvalidMetadata: the table is partitioned.
            UnknownColumn: there is no such column.
            ConstraintViolation: a column has no bounds to cluster by.
        """
        from reference_impl.write.alter import columns

        return columns.cluster_by(self.snapshot(), paths)

    def optimize(self, *, purge_only: bool = False) -> int:
        """Rewrite small files into large ones, drop rows that vectors deleted, return the version.

        With ``purge_only`` files with a deletion vector are rewritten, and no others. Where there
        is nothing to do the version stays.
        """
        from reference_impl.write.upkeep import maintenance

        return maintenance.optimize(self.snapshot(), purge_only=purge_only)

    def restore(self, version: int) -> int:
        """Make rows, schema and properties those of an earlier version again.

        Raises:
            NotFoundError: there is no such version, or a file of it is gone.
        """
        from reference_impl.write.upkeep import maintenance

        return maintenance.restore(self.snapshot(), self.snapshot(version))

    def vacuum(
        self, *, retention: int | None = None, dry_run: bool = False, unsafe: bool = False
    ) -> list[str]:
        """Delete files that no version within the retention needs, and return their paths.

        Args:
            retention: milliseconds for which a removed file is kept; the table's own by default.
            dry_run: only return the paths that would be deleted.
            unsafe: let the retention be shorter than the table's own, so that versions within
                the table's retention may become unreadable.

        Raises:
            ConstraintViolation: the retention is too short.
            InvalidTableError: the paths of the log cannot be resolved.
        """
        from reference_impl.write.upkeep import vacuum

        return vacuum.vacuum(self.snapshot(), retention=retention, dry_run=dry_run, unsafe=unsafe)

    def clean_log(self) -> list[str]:
        """Delete expired log files, and return their paths ("Metadata Cleanup").

        Every version from the newest one at the cutoff on loads as before. Without a checkpoint
        at or before it that is read whole, nothing is deleted.
        """
        from reference_impl.write.upkeep import cleanup

        return cleanup.clean_log(self.snapshot())

    def compact_log(self, start: int, end: int) -> None:
        """Write the compaction of commits ``start`` to ``end``, both included.

        Raises:
            VersionNotFound: a commit of the range is gone, or there are fewer than two.
        """
        from reference_impl.write.upkeep import compaction

        compaction.compact_log(self.snapshot(), start, end)

    def checkpoint(self, style: Style | None = None) -> int:
        """Write a checkpoint of the latest version, and return that version.

        Args:
            style: which kind; what the table's properties ask for by default.

        Raises:
            UnsupportedFeatures: the table does not support that kind.
            ConstraintViolation: no checkpoint has so many files, or the kinds exclude each other.
        """
        from reference_impl.model import protocol
        from reference_impl.write.checkpoints.write import write_checkpoint

        latest = self.snapshot()
        protocol.check_writable(latest.protocol)
        write_checkpoint(latest, style)
        return int(latest.version)
