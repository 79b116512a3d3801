"""Data files and file actions of a commit under way.

Covers "Add File and Remove File", "Add CDC File", "Deletion Vectors" and "Row Tracking". A
staging method writes data files, reports to the oracle what happens to the rows, and returns the
actions that the commit must carry.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import pyarrow as pa

from generators.materialise.data.data_files import ExtraColumn, FileLayout, write_data_file
from generators.materialise.data.deletion_vectors import (
    StoredVector,
    inline_descriptor,
    write_vector_file,
)
from generators.materialise.data.partition_values import hive_directory, serialize
from generators.materialise.data.statistics import under_vector
from generators.materialise.log import bodies
from generators.materialise.log.files import json_text
from generators.materialise.log.protocols import Protocol
from generators.materialise.log.state import FileKey, file_key
from generators.materialise.logged import LoggedTable
from generators.oracle.delta_schema import Struct, field
from generators.oracle.model import Oracle, Row, TrackedRow

VectorStorage: TypeAlias = Literal["inline", "file", "file-with-prefix", "absolute"]
Predicate: TypeAlias = Callable[[Row], "bool | None"]
_Action: TypeAlias = dict[str, Any]
_T = TypeVar("_T")

ROW_TRACKING_COLUMNS: Final[Mapping[str, str]] = {
    "row-id": "delta.rowTracking.materializedRowIdColumnName",
    "row-commit-version": "delta.rowTracking.materializedRowCommitVersionColumnName",
}
"""Properties that name the hidden columns of row tracking."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A logical file of the table as it stands.

    Attributes:
        add: the body of its ``add`` action.
        identities: the oracle's number for each physical row, in file order.
        deleted: physical indexes of the rows that its deletion vector hides.
    """

    add: Mapping[str, Any]
    identities: tuple[int, ...]
    deleted: frozenset[int] = frozenset()

    @property
    def path(self) -> str:
        """The path as the log writes it."""
        return str(self.add["path"])

    @property
    def live(self) -> tuple[int, ...]:
        """The identities of the rows that a reader sees."""
        return tuple(
            each for index, each in enumerate(self.identities) if index not in self.deleted
        )


class FileStage(LoggedTable):
    """The live files of a table, and the ways to change them; the base of the builder.

    Attributes:
        protocol: the protocol in force.
        oracle: what each version holds.
        files: the live logical files by key.
    """

    def __init__(  # noqa: PLR0913  as the builder's own
        self,
        root: Path,
        schema: Struct,
        partition_columns: Sequence[str],
        properties: Mapping[str, str] | None,
        *,
        seed: str,
        layout: FileLayout,
        hive: bool,
    ) -> None:
        """Begin with no file; see :class:`~generators.materialise.builder.TableBuilder`."""
        super().__init__(root, schema, partition_columns, properties)
        self.protocol = Protocol()
        self.seed = seed
        self.oracle = Oracle(schema, self.partition_columns)
        self.files: dict[FileKey, LiveFile] = {}
        self.row_id_of: dict[int, int] = {}
        self.high_water_mark = -1
        self._counter = 0
        self._layout = layout
        self._hive = hive

    def identifier(self, what: str) -> uuid.UUID:
        """Return the UUID that the seed gives to a name."""
        return uuid.uuid5(uuid.NAMESPACE_URL, f"{self.seed}/{what}")

    @abstractmethod
    def next_time(self) -> int:
        """Return the time of the commit under way in milliseconds since the epoch."""

    def live_rows(self, file: LiveFile) -> list[TrackedRow]:
        """Return the rows of a file that a reader sees, as the oracle has them now."""
        by_identity = {each.identity: each for each in self.oracle.pending}
        return [by_identity[identity] for identity in file.live]

    # New rows

    def stage_rows(
        self, rows: Iterable[Mapping[str, Any]], rows_per_file: int | None = None
    ) -> list[_Action]:
        """Write new rows and return their ``add`` actions, row-tracking domain included.

        Files are split after ``rows_per_file`` rows; by default there is one per partition.
        """
        actions: list[_Action] = []
        for values, group in self._by_partition(map(dict, rows), lambda row: row):
            step = rows_per_file or len(group)
            for start in range(0, len(group), step):
                tracked = self.oracle.insert(group[start : start + step])
                actions.append({"add": self._write(values, tracked)})
        return [*actions, *self._high_water_action(actions)]

    def _by_partition(
        self, rows: Iterable[_T], values_of: Callable[[_T], Mapping[str, Any]]
    ) -> Iterator[tuple[dict[str, Any], list[_T]]]:
        """Group rows by partition; the text of no value and an empty text are the same one."""
        groups: dict[tuple[str | None, ...], list[_T]] = {}
        for row in rows:
            values = values_of(row)
            key = tuple(
                serialize(self.schema[name].type, values.get(name)) or None
                for name in self.partition_columns
            )
            groups.setdefault(key, []).append(row)
        for group in groups.values():
            first = values_of(group[0])
            yield {name: first.get(name) for name in self.partition_columns}, group

    def _new_path(self, values: Mapping[str, Any], folder: str = "") -> str:
        name = f"part-{self._counter:05d}-{self.identifier(f'file/{self._counter}')}.c000"
        self._counter += 1
        parts = [folder] if folder else []
        if self._hive and self.partition_columns:
            columns = [self.schema[each] for each in self.partition_columns]
            parts.append(hive_directory(columns, values))
        return "/".join(filter(None, [*parts, f"{name}.snappy.parquet"]))

    def _write(
        self,
        values: Mapping[str, Any],
        rows: Sequence[TrackedRow],
        *,
        copied: bool = False,
        data_change: bool = True,
    ) -> dict[str, Any]:
        layout = self._layout
        tracking = self.protocol.supports("rowTracking")
        if copied and self.properties.get("delta.enableRowTracking") == "true":
            layout = replace(layout, extra=(*layout.extra, *self._materialized(rows)))
        add = write_data_file(
            self.root,
            self.schema,
            [each.values for each in rows],
            path=self._new_path(values),
            modification_time=self.next_time(),
            partition_columns=self.partition_columns,
            partition_values=values,
            layout=layout,
            data_change=data_change,
        )
        if tracking:
            add["baseRowId"] = self.high_water_mark + 1
            add["defaultRowCommitVersion"] = self.oracle.next_version
            for index, row in enumerate(rows):
                self.row_id_of.setdefault(row.identity, add["baseRowId"] + index)
            self.high_water_mark += len(rows)
        self.files[file_key(add)] = LiveFile(add, tuple(each.identity for each in rows))
        return add

    def _materialized(self, rows: Sequence[TrackedRow]) -> list[ExtraColumn]:
        version = self.oracle.next_version
        columns = {
            "row-id": [self.row_id_of.get(each.identity) for each in rows],
            "row-commit-version": [
                None if each.changed == version else each.changed for each in rows
            ],
        }
        return [
            ExtraColumn(self.properties[ROW_TRACKING_COLUMNS[kind]], pa.array(column, pa.int64()))
            for kind, column in columns.items()
        ]

    def _high_water_action(self, actions: Sequence[_Action]) -> list[_Action]:
        if not any("baseRowId" in each.get("add", ()) for each in actions):
            return []
        mark = json_text({"rowIdHighWaterMark": self.high_water_mark})
        return [{"domainMetadata": bodies.domain("delta.rowTracking", mark)}]

    # Existing rows

    def remove_action(self, file: LiveFile, *, data_change: bool = True) -> _Action:
        """Return the ``remove`` action of a logical file, and forget the file."""
        del self.files[file_key(dict(file.add))]
        body = bodies.remove(file.add, self.next_time(), data_change=data_change)
        for name in ("tags", "deletionVector", "baseRowId", "defaultRowCommitVersion"):
            if name in file.add:
                body[name] = file.add[name]
        return {"remove": body}

    def stage_remove(self, file: LiveFile) -> _Action:
        """Return the ``remove`` action of a file whose rows go with it."""
        self.oracle.delete(file.live)
        return self.remove_action(file)

    def stage_edits(
        self, edits: Mapping[int, Mapping[str, Any] | None], inserts: Iterable[Mapping[str, Any]]
    ) -> list[_Action]:
        """Rewrite the files of rows that change, and add rows, in one commit.

        Args:
            edits: identity of each row that changes to what is set of it, ``None`` where it goes.
            inserts: rows that are new.
        """
        actions: list[_Action] = []
        changes: list[Row] = []
        for file in tuple(self.files.values()):
            hit = [row for row in self.live_rows(file) if row.identity in edits]
            if not hit:
                continue
            gone = [row for row in hit if edits[row.identity] is None]
            kinds = {
                "delete": gone,
                "update_preimage": [row for row in hit if edits[row.identity] is not None],
            }
            self.oracle.delete(row.identity for row in gone)
            kinds["update_postimage"] = [
                self.oracle.update(row.identity, edits[row.identity] or {})
                for row in kinds["update_preimage"]
            ]
            changes += [
                {**row.values, "_change_type": kind} for kind, rows in kinds.items() for row in rows
            ]
            actions.append(self.remove_action(file))
            current = {each.identity: each for each in self.oracle.pending}
            kept = [current[identity] for identity in file.live if identity in current]
            actions += self._copies(kept)
        known = len(self.oracle.open_changes)
        actions += self.stage_rows(inserts)
        if self.properties.get("delta.enableChangeDataFeed") == "true" and changes:
            # Where a commit has change files, its added files say nothing of changes.
            fresh = self.oracle.open_changes[known:]
            changes += [{**each.values, "_change_type": "insert"} for each in fresh]
            actions += self._change_files(changes)
        # New rows came with the mark as it was; the mark of the whole commit follows.
        actions = [each for each in actions if "domainMetadata" not in each]
        return [*actions, *self._high_water_action(actions)]

    def stage_files(self, wanted: Mapping[FileKey, LiveFile]) -> list[_Action]:
        """Stage removes and adds that make other files the live ones; the oracle has their rows.

        A change feed reports the rows of those files, for no change files come with them.
        """
        actions = [
            self.remove_action(file) for key, file in tuple(self.files.items()) if key not in wanted
        ]
        for key, file in wanted.items():
            if key not in self.files:
                add = {**file.add, "dataChange": True}
                self.files[key] = replace(file, add=add)
                actions.append({"add": add})
        return actions

    def _copies(self, rows: Sequence[TrackedRow], *, data_change: bool = True) -> list[_Action]:
        return [
            {"add": self._write(values, group, copied=True, data_change=data_change)}
            for values, group in self._by_partition(rows, lambda row: row.values)
        ]

    def _change_files(self, changes: Sequence[Row]) -> list[_Action]:
        typed = self.schema.with_fields(field("_change_type", "string"))
        actions: list[_Action] = []
        for values, group in self._by_partition(changes, lambda change: change):
            body = write_data_file(
                self.root,
                typed,
                group,
                path=self._new_path(values, "_change_data"),
                modification_time=self.next_time(),
                partition_columns=self.partition_columns,
                partition_values=values,
                with_statistics=False,
                data_change=False,
            )
            del body["modificationTime"]
            actions.append({"cdc": body})
        return actions

    def stage_compaction(self, files: Sequence[LiveFile]) -> list[_Action]:
        """Rewrite files into as few as there are partitions, without any change to rows."""
        rows = [row for each in files for row in self.live_rows(each)]
        removes = [self.remove_action(each, data_change=False) for each in files]
        actions = [*removes, *self._copies(rows, data_change=False)]
        return [*actions, *self._high_water_action(actions)]

    def stage_vectors(self, predicate: Predicate, storage: VectorStorage) -> list[_Action]:
        """Hide matching rows behind deletion vectors; a file that loses all rows is removed.

        The vectors of one commit share one file, unless they are inline.
        """
        matching = set(self.oracle.matching(predicate))
        actions: list[_Action] = []
        marked: list[tuple[LiveFile, frozenset[int]]] = []
        for file in tuple(self.files.values()):
            hit = {i for i, identity in enumerate(file.identities) if identity in matching}
            hit -= file.deleted
            if not hit:
                continue
            gone = file.deleted | hit
            if len(gone) == len(file.identities):
                actions.append(self.stage_remove(file))
                continue
            self.oracle.delete(file.identities[index] for index in sorted(hit))
            actions.append(self.remove_action(file))
            marked.append((file, gone))
        descriptors = self._descriptors([sorted(gone) for _, gone in marked], storage)
        for (file, gone), descriptor in zip(marked, descriptors, strict=True):
            actions.append({"add": self._with_vector(file, gone, descriptor)})
        return actions

    def _with_vector(
        self, file: LiveFile, gone: frozenset[int], descriptor: dict[str, Any]
    ) -> dict[str, Any]:
        add = {**file.add, "deletionVector": descriptor, "dataChange": True}
        add["modificationTime"] = self.next_time()
        if "stats" in add:
            add["stats"] = under_vector(add["stats"])
        self.files[file_key(add)] = LiveFile(add, file.identities, gone)
        return add

    def _descriptors(
        self, vectors: Sequence[Sequence[int]], storage: VectorStorage
    ) -> list[dict[str, Any]]:
        if storage == "inline":
            return [inline_descriptor(each) for each in vectors]
        if not vectors:
            return []
        identity = self.identifier(f"vector/{self.oracle.next_version}")
        prefix = "ab" if storage == "file-with-prefix" else ""
        absolute = None
        if storage == "absolute":
            absolute = (self.root.resolve() / f"deletion_vector_{identity}.bin").as_uri()
        stored = [StoredVector(each) for each in vectors]
        return write_vector_file(self.root, identity, stored, prefix=prefix, absolute=absolute)
