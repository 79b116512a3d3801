"""A table built commit by commit, with the rows that every version must give back.

Covers "Delta Log Entries", "Actions" and the features that a builder can switch on. Time is a
counter, identifiers are derived from a seed, and two runs give the same table. What a version
holds is the business of the oracle (``oracle/model.py``), to which each operation goes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from generators.materialise.data.data_files import FileLayout
from generators.materialise.log import bodies
from generators.materialise.log.checkpoints import CheckpointStyle
from generators.materialise.log.files import Action
from generators.materialise.log.protocols import Protocol, protocol_for
from generators.materialise.log.state import FileKey
from generators.materialise.staging import (
    ROW_TRACKING_COLUMNS,
    FileStage,
    LiveFile,
    Predicate,
    VectorStorage,
)
from generators.oracle.delta_schema import Struct, assign_column_mapping
from generators.oracle.model import Oracle, Row

START: Final = 1_704_067_200_000
"""2024-01-01T00:00:00Z in milliseconds since the epoch: the time of the first commit."""

STEP: Final = 1000
"""Milliseconds from one commit to the next."""

_TIMED: Final = "delta.enableInCommitTimestamps"

_FOR_GOOD: Final = (
    "delta.columnMapping.maxColumnId",
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
)
"""Properties that no restore takes back: what they record stays true."""


class TableBuilder(FileStage):
    """Builds one table below ``root``; every method that commits gives the new version.

    Attributes:
        schema: the schema in force, column mapping metadata included.
    """

    def __init__(  # noqa: PLR0913  a table has this many independent properties
        self,
        root: Path,
        schema: Struct,
        *,
        partition_columns: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        features: Iterable[str] = (),
        protocol: Protocol | None = None,
        seed: str = "table",
        start: int = START,
        layout: FileLayout | None = None,
        hive: bool = True,
    ) -> None:
        """Begin a table; nothing is written before :meth:`create`.

        Args:
            root: the table root; made when it is missing.
            schema: the table schema; ids and physical names are given out when the property
                ``delta.columnMapping.mode`` asks for them and the schema has none.
            partition_columns: logical names.
            properties: ``metaData.configuration``.
            features: table features to support beyond those that the rest needs.
            protocol: the exact protocol to declare instead of the derived one.
            seed: fixes every identifier.
            start: time of version 0 in milliseconds since the epoch.
            layout: the layout of data files where a method gets no other.
            hive: put partitioned data files into directories by the old convention.
        """
        super().__init__(
            root,
            schema,
            partition_columns,
            properties,
            seed=seed,
            layout=layout or FileLayout(),
            hive=hive,
        )
        if self.mapping_mode != "none":
            self.schema, highest = assign_column_mapping(schema, seed)
            self.properties.setdefault("delta.columnMapping.maxColumnId", str(highest))
            self.oracle = Oracle(self.schema, self.partition_columns)
        self.protocol = protocol or protocol_for(self.schema, self.properties, features)
        self._name_hidden_columns()
        self._row_ids: list[dict[int, int]] = []
        self._live: list[dict[FileKey, LiveFile]] = []
        self._start = start
        self.root.mkdir(parents=True, exist_ok=True)

    def _name_hidden_columns(self) -> None:
        if self.properties.get("delta.enableRowTracking") == "true":
            for kind, key in ROW_TRACKING_COLUMNS.items():
                self.properties.setdefault(key, f"_{kind}-col-{self.identifier(kind)}")

    # What holds now

    @property
    def mapping_mode(self) -> str:
        """The column mapping mode in force."""
        return self.properties.get("delta.columnMapping.mode", "none")

    def time_of(self, version: int) -> int:
        """Return the time of a commit in milliseconds since the epoch."""
        return self._start + version * STEP

    def next_time(self) -> int:
        """Return the time of the commit under way in milliseconds since the epoch."""
        return self.time_of(self.version + 1)

    def rows(self, version: int | None = None) -> list[Row]:
        """Return the rows that a reader must find at a version, the latest when ``None``."""
        return self.oracle.rows(version)

    def metadata(self) -> dict[str, Any]:
        """Return the body of the ``metaData`` action for what holds now."""
        return bodies.metadata(
            str(self.identifier("id")),
            self.schema,
            self.partition_columns,
            self.properties,
            self._start,
        )

    # Committing

    def commit(
        self,
        actions: Iterable[Action],
        *,
        operation: str = "WRITE",
        parameters: Mapping[str, Any] | None = None,
        commit_info: bool = True,
    ) -> int:
        """Commit wrapped actions as the next version, with provenance first.

        The oracle's pending work becomes the rows of the version, so actions that were not made
        by a method of this builder change no expected row.
        """
        version = self.version + 1
        listed = [dict(each) for each in actions]
        if commit_info:
            info: dict[str, Any] = {}
            if self.properties.get(_TIMED) == "true":
                info["inCommitTimestamp"] = self.time_of(version)
            time, more = self.time_of(version), {"operationParameters": dict(parameters or {})}
            info |= bodies.commit_info(operation, time, more)
            if self.protocol.supports("catalogManaged"):
                info["txnId"] = str(self.identifier(f"txn/{version}"))
            listed.insert(0, {"commitInfo": info})
        state = self.write_commit(version, listed, modified=self.time_of(version))
        self._live.append(dict(self.files))
        self.oracle.properties = dict(self.properties)
        self.oracle.transactions = {k: v["version"] for k, v in state.transactions.items()}
        self.oracle.domains = {
            name: body["configuration"]
            for name, body in state.domains.items()
            if not body.get("removed")
        }
        self.oracle.commit()
        self._row_ids.append(dict(self.row_id_of))
        return version

    def create(
        self,
        rows: Iterable[Mapping[str, Any]] = (),
        *,
        rows_per_file: int | None = None,
        actions: Iterable[Action] = (),
    ) -> int:
        """Commit version 0: protocol, metadata and, if given, first rows and further actions."""
        first = [{"protocol": self.protocol.body()}, {"metaData": self.metadata()}]
        adds = self.stage_rows(rows, rows_per_file)
        return self.commit([*first, *actions, *adds], operation="CREATE TABLE")

    def append(self, rows: Iterable[Mapping[str, Any]], *, rows_per_file: int | None = None) -> int:
        """Commit new rows; see :meth:`stage_rows`."""
        return self.commit(self.stage_rows(rows, rows_per_file))

    def overwrite(
        self, rows: Iterable[Mapping[str, Any]], predicate: Predicate | None = None
    ) -> int:
        """Replace the rows for which ``predicate`` is true (all when ``None``) by others."""
        gone = self.oracle.matching(predicate or (lambda _row: True))
        return self.edit(dict.fromkeys(gone), rows, operation="WRITE")

    def delete(self, predicate: Predicate | None = None) -> int:
        """Delete rows by rewriting the files that hold some of them and dropping whole ones."""
        gone = self.oracle.matching(predicate or (lambda _row: True))
        return self.edit(dict.fromkeys(gone), operation="DELETE")

    def remove(self, files: Iterable[LiveFile] | Predicate) -> int:
        """Remove whole files: those given, or those with a row for which a predicate is true."""
        chosen = (
            [
                each
                for each in self.files.values()
                if any(files(row.values) is True for row in self.live_rows(each))
            ]
            if callable(files)
            else list(files)
        )
        return self.commit([self.stage_remove(each) for each in chosen], operation="DELETE")

    def delete_rows(self, predicate: Predicate, storage: VectorStorage = "file") -> int:
        """Delete rows by deletion vectors, leaving the data files in place."""
        return self.commit(self.stage_vectors(predicate, storage), operation="DELETE")

    def update(self, predicate: Predicate, values: Mapping[str, Any]) -> int:
        """Update the rows for which a predicate is true, by rewriting their files."""
        return self.edit(dict.fromkeys(self.oracle.matching(predicate), values), operation="UPDATE")

    def edit(
        self,
        edits: Mapping[int, Mapping[str, Any] | None],
        inserts: Iterable[Mapping[str, Any]] = (),
        operation: str = "MERGE",
    ) -> int:
        """Change rows by their identities, and insert others; see :meth:`stage_edits`."""
        return self.commit(self.stage_edits(edits, inserts), operation=operation)

    def restore(self, version: int) -> int:
        """Make rows, schema and properties those of a version again.

        The protocol stays, and so do marks of what was ever given out.
        """
        before = self.metadata()
        held, then = self.properties, self.oracle.versions[version]
        self.oracle.restore(version)
        self.schema, self.partition_columns = then.schema, then.partition_columns
        self.properties = {**then.properties, **{k: held[k] for k in _FOR_GOOD if k in held}}
        actions = self.stage_files(self._live[version])
        described = self.metadata()
        if described != before:
            actions.insert(0, {"metaData": described})
        return self.commit(actions, operation="RESTORE")

    def set_properties(self, properties: Mapping[str, str]) -> int:
        """Set table properties, with the protocol that they need."""
        return self.change_table(properties=properties)

    def set_transaction(self, application: str, version: int) -> int:
        """Record an application's transaction version."""
        body = {"appId": application, "version": version}
        body["lastUpdated"] = self.time_of(self.version + 1)
        return self.commit([{"txn": body}], operation="STREAMING UPDATE")

    def set_domain(self, domain: str, configuration: str, *, removed: bool = False) -> int:
        """Set or remove a metadata domain."""
        body = bodies.domain(domain, configuration, removed=removed)
        return self.commit([{"domainMetadata": body}], operation="SET DOMAIN")

    def change_table(
        self,
        *,
        schema: Struct | None = None,
        renamed: Mapping[str, str] | None = None,
        parent: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        features: Iterable[str] = (),
    ) -> int:
        """Commit another schema, other properties or further features.

        Args:
            schema: the new schema; under column mapping new columns get ids and names.
            renamed: old to new names of columns; the schema must have the new ones.
            parent: path to the struct whose fields those are; the table itself by default.
            properties: properties to set on top of those in force.
            features: features to support beyond those in force.

        Raises:
            ValueError: row tracking is turned on over files that have no row ids.
        """
        mapped_before = self.mapping_mode != "none"
        timed_before = self.properties.get(_TIMED) == "true"
        self.properties |= properties or {}
        wanted = schema or self.schema
        if self.mapping_mode != "none":
            start = int(self.properties.get("delta.columnMapping.maxColumnId", "0")) + 1
            wanted, highest = assign_column_mapping(
                wanted, self.seed, start=start, keep_names=not mapped_before
            )
            self.properties["delta.columnMapping.maxColumnId"] = str(highest)
        if self.properties.get(_TIMED) == "true" and not timed_before:
            at = self.version + 1
            self.properties["delta.inCommitTimestampEnablementVersion"] = str(at)
            self.properties["delta.inCommitTimestampEnablementTimestamp"] = str(self.time_of(at))
        if self.properties.get("delta.enableRowTracking") == "true" and any(
            "baseRowId" not in each.add for each in self.files.values()
        ):
            raise ValueError("row tracking cannot be turned on over files without row ids")
        if wanted != self.schema:
            names = dict(renamed or {})
            self.schema = wanted
            self.oracle.change_schema(wanted, names, parent)
            self.partition_columns = self.oracle.partition_columns
        former = self.protocol
        self._name_hidden_columns()
        kept = {*(former.writer_features or ()), *features}
        needed = protocol_for(self.schema, self.properties, kept)
        actions: list[Action] = []
        if needed != former:
            self.protocol = needed
            actions.append({"protocol": needed.body()})
        return self.commit([*actions, {"metaData": self.metadata()}], operation="ALTER TABLE")

    def compact(self) -> int:
        """Rewrite all files into fewer without any change to rows."""
        return self.commit(self.stage_compaction([*self.files.values()]), operation="OPTIMIZE")

    # What stands beside the commits

    def name_for(self, what: str, place: str) -> str:  # noqa: ARG002  a place names its kind
        """Return the UUID that the seed gives to a place."""
        return str(self.identifier(place))

    def checkpoint_style(self, version: int) -> CheckpointStyle:
        """Return the statistics that the table asks its checkpoints for."""
        asked = (self.states[version].metadata or {}).get("configuration", {})
        return CheckpointStyle(
            stats_json=asked.get("delta.checkpoint.writeStatsAsJson", "true") != "false",
            stats_parsed=asked.get("delta.checkpoint.writeStatsAsStruct") == "true",
        )

    def sidecar_time(self, version: int) -> int:
        """Return the time of the commit of a version."""
        return self.time_of(version)

    def checksum(self, version: int | None = None, **options: Any) -> Path:
        """Write the checksum file of a version, with the transaction id of its commit."""
        at = self.version if version is None else version
        return super().checksum(at, transaction_id=str(self.identifier(f"txn/{at}")), **options)

    # What features promise

    def row_ids(self, version: int | None = None) -> list[Row]:
        """Return the rows of a version with ``_row_id`` and ``_row_commit_version``."""
        at = self.version if version is None else version
        known = self._row_ids[at]
        return [
            {**row.values, "_row_id": known[row.identity], "_row_commit_version": row.changed}
            for row in self.oracle.versions[at].rows
        ]

    def changes(self, start: int, end: int | None = None) -> list[Row]:
        """Return the change data feed of the versions ``start`` to ``end``, both included.

        ``_commit_timestamp`` is in milliseconds since the epoch.
        """
        last = self.version if end is None else end
        return [
            {
                **change.values,
                "_change_type": change.change_type,
                "_commit_version": change.version,
                "_commit_timestamp": self.time_of(change.version),
            }
            for version in self.oracle.versions[start : last + 1]
            for change in version.changes
        ]
