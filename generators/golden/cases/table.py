"""A table that a golden builder writes, with a ledger of the rows of every version.

Covers all chapters. :class:`GoldenTable` writes data files and commits through the materialiser
and remembers which rows went into which file, so that :meth:`GoldenTable.rows` can say what a
read of any version gives. Actions are plain wrapped dictionaries, so a builder can bend every one.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal as DecimalValue
from pathlib import Path
from typing import Any, Final

from generators.golden.cases.case import CaseWriter
from generators.materialise.data.arrow_rows import Row, pairs_of
from generators.materialise.data.data_files import FileLayout, write_data_file
from generators.materialise.data.partition_values import hive_directory, stored_value
from generators.materialise.data.statistics import under_vector
from generators.materialise.log import bodies
from generators.materialise.log.files import Action, json_text
from generators.materialise.log.state import dv_unique_id
from generators.materialise.logged import LoggedTable
from generators.oracle.delta_schema import (
    Array,
    DataType,
    Decimal,
    Map,
    Primitive,
    Struct,
    from_json,
)

EPOCH: Final = 1_700_000_000_000
"""Milliseconds since the epoch of version 0 of every golden table (2023-11-14T22:13:20Z)."""

MINUTE: Final = 60_000
"""Milliseconds between two versions of a golden table."""

PLAIN_PROTOCOL: Final[Mapping[str, Any]] = {"minReaderVersion": 1, "minWriterVersion": 2}


def legacy_protocol(reader: int, writer: int) -> dict[str, Any]:
    """Return the body of a ``protocol`` action without feature lists."""
    return {"minReaderVersion": reader, "minWriterVersion": writer}


def feature_protocol(readers: Iterable[str] = (), writers: Iterable[str] = ()) -> dict[str, Any]:
    """Return a ``protocol`` body on versions 3 and 7; writers list reader features too."""
    readers = sorted(readers)
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": readers,
        "writerFeatures": sorted({*readers, *writers}),
    }


def writer_protocol(writers: Iterable[str], reader: int = 1) -> dict[str, Any]:
    """Return a ``protocol`` body on writer version 7 alone, which lists features of writers."""
    return {**legacy_protocol(reader, 7), "writerFeatures": sorted(writers)}


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file on disk.

    Attributes:
        body: the body of its ``add`` action; ``body["path"]`` is the log's spelling.
        rows: its rows in physical order by the logical names of ``schema``, partition values
            among them.
        schema: the table schema when the file was written.
    """

    body: Mapping[str, Any]
    rows: tuple[Row, ...]
    schema: Struct

    @property
    def path(self) -> str:
        """The path as the log writes it."""
        return str(self.body["path"])


def add(file: DataFile, **changes: Any) -> dict[str, Any]:
    """Return the ``add`` action of a file; ``None`` writes null, ``...`` drops a key.

    Statistics are of the whole file: under a vector their bounds are not tight, unless a change
    says what they are.
    """
    body = _changed(dict(file.body), changes)
    vector = isinstance(body.get("deletionVector"), Mapping)
    if vector and body.get("stats") and "stats" not in changes:
        body["stats"] = under_vector(body["stats"])
    return {"add": body}


def remove(file: DataFile, **changes: Any) -> dict[str, Any]:
    """Return the ``remove`` action of a file with extended metadata; changes as in :func:`add`."""
    return {"remove": _changed(bodies.remove(file.body, EPOCH + MINUTE), changes)}


def txn(app_id: str, version: int, **changes: Any) -> dict[str, Any]:
    """Return a ``txn`` action."""
    return {"txn": _changed({"appId": app_id, "version": version}, changes)}


def domain(name: str, configuration: str, *, removed: bool = False) -> dict[str, Any]:
    """Return a ``domainMetadata`` action."""
    return {"domainMetadata": bodies.domain(name, configuration, removed=removed)}


class GoldenTable(LoggedTable):
    """A table below ``root`` and what a read of each of its versions gives.

    Attributes:
        schema: the schema in force; assign before :meth:`metadata` to evolve it.
        properties: the table properties; mutable, for the next :meth:`metadata`.
        protocol: the protocol in force; assign before :meth:`protocol_action` to change it.
    """

    def __init__(  # noqa: PLR0913  what a table is made of
        self,
        root: Path,
        schema: Struct,
        *,
        seed: str,
        partition_columns: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        protocol: Mapping[str, Any] = PLAIN_PROTOCOL,
        name: str | None = None,
    ) -> None:
        """Start a table without any commit; ``seed`` fixes its id and file names."""
        super().__init__(root, schema, partition_columns, properties)
        self.protocol = dict(protocol)
        self.name = name
        self.infos: dict[int, dict[str, Any] | None] = {}
        self._seed = seed
        self._files: dict[str, DataFile] = {}
        self._deleted: dict[str, frozenset[int]] = {}
        self._counter = 0

    @classmethod
    def of(cls, case: CaseWriter, schema: Struct, **options: Any) -> GoldenTable:
        """Start the table of a case, whose id is the seed; ``options`` are those of the class."""
        return cls(case.delta, schema, seed=case.info.id, **options)

    @classmethod
    def created(
        cls, case: CaseWriter, schema: Struct, *files: Sequence[Row], **options: Any
    ) -> GoldenTable:
        """Start the table of a case, and commit version 0: with a file for each of some rows."""
        table = cls.of(case, schema, **options)
        table.create(*(add(table.file(rows)) for rows in files))
        return table

    @property
    def versions(self) -> list[int]:
        """All committed versions, ascending."""
        return sorted(self.states)

    def unique_name(self, what: str) -> str:
        """Return the next identifier, a UUID that depends on the seed only."""
        self._counter += 1
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"delta-tck/{self._seed}/{what}/{self._counter}"))

    def name_for(self, what: str, place: str) -> str:  # noqa: ARG002  names are counted
        """Return the next identifier; see :meth:`unique_name`."""
        return self.unique_name(what)

    # Writing

    def file(  # noqa: PLR0913  a file has this many independent properties
        self,
        rows: Sequence[Row],
        *,
        partition: Mapping[str, Any] | None = None,
        path: str | None = None,
        layout: FileLayout | None = None,
        statistics: bool | Mapping[str, Any] | str = True,
        written_as: Struct | None = None,
        **changes: Any,
    ) -> DataFile:
        """Write a data file; it joins the table when a commit adds it.

        Args:
            rows: its rows by logical name, without partition columns.
            partition: value per partition column.
            path: raw path on disk; a unique name in the conventional directory by default.
            layout: physical layout.
            statistics: computed ones, none, or these (a string is written as it stands).
            written_as: schema to write the file with, when that is not the table's.
            changes: changes to the body of the ``add`` action.
        """
        schema = written_as or self.schema
        values = dict(partition or {})
        columns = [schema[name] for name in self.partition_columns]
        if path is None:
            path = f"part-{len(self._files):05d}-{self.unique_name('file')}.snappy.parquet"
            if columns:
                path = f"{hive_directory(columns, values)}/{path}".lstrip("/")
        body = write_data_file(
            self.root,
            schema,
            rows,
            path=path,
            modification_time=EPOCH + MINUTE * (self.version + 1),
            partition_columns=self.partition_columns,
            partition_values=values,
            layout=layout,
            with_statistics=statistics is not False,
        )
        if isinstance(statistics, str):
            body["stats"] = statistics
        elif isinstance(statistics, Mapping):
            body["stats"] = json_text(statistics)
        stored = {each.name: stored_value(each.type, values.get(each.name)) for each in columns}
        omitted = (layout or FileLayout()).omit
        logical = tuple(
            {**{key: value for key, value in row.items() if key not in omitted}, **stored}
            for row in rows
        )
        return self.register(DataFile(_changed(body, changes), logical, schema))

    def register(self, file: DataFile) -> DataFile:
        """Take a file that was written by other means into the ledger."""
        self._files[file.path] = file
        return file

    def register_vector(self, descriptor: Mapping[str, Any], rows: Iterable[int]) -> dict[str, Any]:
        """Take a deletion vector into the ledger; returns the descriptor for actions.

        Raises:
            ValueError: there is no descriptor.
        """
        identity = dv_unique_id(dict(descriptor))
        if identity is None:
            raise ValueError("a deletion vector has a descriptor")
        self._deleted[identity] = frozenset(rows)
        return dict(descriptor)

    def metadata(self, **changes: Any) -> dict[str, Any]:
        """Return the ``metaData`` action of the schema, partitioning and properties in force."""
        identity = uuid.uuid5(uuid.NAMESPACE_URL, f"delta-tck/{self._seed}")
        body = bodies.metadata(
            str(identity),
            self.schema,
            self.partition_columns,
            dict(sorted(self.properties.items())),
            EPOCH,
        )
        if self.name is not None:
            body["name"] = self.name
        return {"metaData": _changed(body, changes)}

    def protocol_action(self) -> dict[str, Any]:
        """Return the ``protocol`` action in force."""
        return {"protocol": dict(self.protocol)}

    def create(
        self, *actions: Action | str, operation: str = "CREATE TABLE", **options: Any
    ) -> int:
        """Commit version 0: protocol, metadata and the actions."""
        return self.commit(
            self.protocol_action(), self.metadata(), *actions, operation=operation, **options
        )

    def create_with(self, rows: Sequence[Row], **options: Any) -> DataFile:
        """Commit version 0 with a file of some rows, and return it; as :meth:`file` otherwise."""
        file = self.file(rows, **options)
        self.create(add(file))
        return file

    def append(self, rows: Sequence[Row], **options: Any) -> DataFile:
        """Commit a file of some rows as the next version, and return it; as :meth:`file`."""
        file = self.file(rows, **options)
        self.commit(add(file))
        return file

    def commit(
        self,
        *actions: Action | str,
        operation: str = "WRITE",
        info: Mapping[str, Any] | None = None,
        with_info: bool = True,
        version: int | None = None,
    ) -> int:
        """Commit the next version; returns its number.

        Args:
            actions: wrapped actions; text is written as a line of its own and not understood.
            operation: name for ``commitInfo``.
            info: more fields of ``commitInfo``.
            with_info: whether there is a ``commitInfo``, as the first action.
            version: the version to write, when it is not the next.
        """
        number = self.version + 1 if version is None else version
        body = None
        lines: list[Action | str] = list(actions)
        if with_info:
            body = bodies.commit_info(operation, EPOCH + MINUTE * number, info)
            lines.insert(0, {"commitInfo": body})
        self.write_commit(number, lines)
        self.infos[number] = body
        return number

    # Knowing

    def schema_at(self, version: int | None = None) -> Struct:
        """Return the table schema of a version, the newest one for ``None``.

        Raises:
            ValueError: no commit up to the version has a metaData action.
        """
        metadata = self.states[self.version if version is None else version].metadata
        if metadata is None:
            raise ValueError(f"version {version} has no metadata")
        return from_json(json.loads(metadata["schemaString"]))

    def live(self, version: int) -> list[tuple[DataFile, frozenset[int]]]:
        """Return the live files of a version, each with its deleted row indexes."""
        found = []
        for (path, identity), body in self.states[version].adds.items():
            file = self._files[path]
            deleted = frozenset[int]() if identity is None else self._deleted[identity]
            found.append((DataFile(body, file.rows, file.schema), deleted))
        return found

    def rows(self, version: int | None = None) -> list[Row]:
        """Return the rows that a read of a version returns, under that version's schema."""
        schema = self.schema_at(version)
        return [
            _translated(row, file.schema, schema)
            for file, deleted in self.live(self.version if version is None else version)
            for index, row in enumerate(file.rows)
            if index not in deleted
        ]


def _changed(body: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**body, **changes}
    return {key: value for key, value in merged.items() if value is not ...}


def _translated(  # noqa: PLR0911  a table of type pairs
    value: Any, written: DataType, wanted: DataType
) -> Any:
    """Return a value as a later schema sees it: fields by physical name, types widened."""
    if value is None:
        return None
    match written, wanted:
        case Struct(), Struct():
            sources = {each.physical_name: each for each in written}
            return {
                each.name: _translated(
                    value.get(sources[each.physical_name].name),
                    sources[each.physical_name].type,
                    each.type,
                )
                if each.physical_name in sources
                else None
                for each in wanted
            }
        case Array(element), Array(target):
            return [_translated(item, element, target) for item in value]
        case Map(key, item), Map(wanted_key, wanted_item):
            return [
                (_translated(left, key, wanted_key), _translated(right, item, wanted_item))
                for left, right in pairs_of(value)
            ]
        case _, Decimal() if isinstance(value, int):
            return DecimalValue(value)
        case _, Primitive("double") if isinstance(value, int):
            return float(value)
        case Primitive("date"), Primitive("timestamp_ntz"):
            day: date = value
            return datetime(day.year, day.month, day.day)  # noqa: DTZ001  the type has no zone
        case _:
            return value


def instant(text: str) -> datetime:
    """Return the UTC instant of an ISO text without zone."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def pairs(start: int, count: int = 2) -> list[dict[str, Any]]:
    """Return rows of ids and names, the ids from a start on."""
    return [{"id": n, "name": f"n{n}"} for n in range(start, start + count)]
