"""Row-level changes of a range of versions (section Add CDC File, reader requirements).

A version with cdc actions is read from its change files alone. In any other version, the rows
of added files were inserted and those of removed files deleted; where a file is removed with
one deletion vector and added with another, only the rows in which the vectors differ changed.
Actions with ``dataChange`` false are skipped.

``delta.enableChangeDataFeed`` obliges writers and not readers: where it was off, no version has
change files, and adds and removes are read as in every other version without them. A row that a
rewrite copied is then deleted and inserted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.deletion_vectors import VectorStore
from reference_impl.errors import (
    DeltaError,
    IncompatibleSchemas,
    InvalidAction,
    InvalidDataFile,
    VersionNotFound,
)
from reference_impl.limits import budget
from reference_impl.log.file_columns import from_lines
from reference_impl.log.ratified import RatifiedCommits
from reference_impl.model.column_mapping import lasting_name, physical_name
from reference_impl.model.features import active
from reference_impl.model.protocol import check_readable
from reference_impl.places import decode_path
from reference_impl.scan.reader import FileReader, FileTask, file_tasks, kept_within
from reference_impl.snapshot.segment import Listing, list_log
from reference_impl.snapshot.snapshot import Snapshot, State, in_commit_timestamp, read_commit
from reference_impl.snapshot.table_schema import TableSchema, table_schema
from reference_impl.storage import Storage
from reference_impl.storage.threads import MAX_THREADS, in_order
from reference_impl.types.arrow import arrow_field, arrow_type
from reference_impl.types.model import LONG, STRING, TIMESTAMP, Array, DataType, Field, Map, Struct
from reference_impl.types.widening import is_widening

if TYPE_CHECKING:
    from reference_impl.log.commits import Commit

_TYPE = Field("_change_type", STRING, nullable=False)
CHANGE_COLUMNS = (
    _TYPE,
    Field("_commit_version", LONG, nullable=False),
    Field("_commit_timestamp", TIMESTAMP, nullable=False),
)
"""The columns that a change reader adds to those of the table."""

_MAX_MILLISECONDS = 2**63 // 1000 - 1
_TYPES = ["insert", "update_preimage", "update_postimage", "delete"]


@dataclass(frozen=True, slots=True)
class _Version:
    """One version of the range: its commit, and the protocol and metadata in force."""

    version: int
    timestamp: int
    commit: Commit
    table: TableSchema


@dataclass(frozen=True, slots=True)
class _Change:
    """A file to read for changes; ``kind`` is ``None`` where the file has ``_change_type``."""

    task: FileTask
    kind: str | None
    at: _Version


def read_changes(
    storage: Storage, start: int, end: int | None, *, ratified: RatifiedCommits | None
) -> pa.Table:
    """Carry out :meth:`~reference_impl.table.Table.changes`.

    Where the schema changed in the range, any column may be null.

    Raises:
        VersionNotFound: the range has no version.
    """
    # Obeys CDC-004 DVD-008 CDC-014 CDC-015.
    listing = list_log(storage, from_start=True, ratified=ratified)
    last = listing.latest if end is None else end
    if last is None or not 0 <= start <= last:
        raise VersionNotFound(f"there are no versions from {start} to {last}")
    versions = list(_versions(storage, listing, start, last))
    table = versions[-1].table
    refuse_names(table.columns.names, (column.name for column in CHANGE_COLUMNS))
    for one in versions:
        _refuse_incompatible(one, table)
    if any(one.table.columns != table.columns for one in versions):
        # Not-null rules are those of the schema in force at the time.
        loose = tuple(replace(f, nullable=True) for f in table.partition_columns)
        table = replace(table, columns=_nullable(table.columns), partition_columns=loose)
    reader = FileReader(storage, table, table.columns.fields, VectorStore(storage))
    schema = pa.schema([*reader.schema, *map(arrow_field, CHANGE_COLUMNS)])
    changes = (change for one in versions for change in _changes(storage, listing, one, table))
    with budget().account.holding() as hold:
        reads = in_order(lambda change: _read(reader, change, schema, hold), changes, MAX_THREADS)
        batches = [batch for read in reads for batch in read]
    return pa.Table.from_batches(batches, schema=schema)


def refuse_names(names: Iterable[str], added: Iterable[str]) -> None:
    """Refuse columns that are named like one that change data adds: it has two of the name.

    Raises:
        IncompatibleSchemas: a column has such a name, in whatever case.
    """
    taken = {name.lower() for name in added}
    for name in names:
        if name.lower() in taken:
            raise IncompatibleSchemas(f"column {name!r} has the name of a column of change data")


def _versions(storage: Storage, listing: Listing, start: int, end: int) -> Iterator[_Version]:
    first = Snapshot(storage, listing, start)
    state = State()
    state.apply((first.protocol, first.metadata))
    for version in range(start, end + 1):
        budget().check_time()
        file = listing.commits.get(version)
        if file is None:
            raise VersionNotFound(f"the log does not hold the commit of version {version}")
        commit = read_commit(storage, file)
        state.apply(commit.actions)
        protocol, metadata = state.single["protocol"], state.single["metaData"]
        check_readable(protocol, ratified=listing.ratified is not None)
        if active(protocol, metadata, "inCommitTimestamp"):
            timestamp = in_commit_timestamp(commit.info, version)
        else:
            timestamp = listing.modified(version)
        if abs(timestamp) > _MAX_MILLISECONDS:
            raise InvalidAction(
                f"the commit's time, {timestamp} ms, is out of range",
                action="commitInfo",
                version=version,
                requirement="CDC-016",
            )
        yield _Version(version, timestamp, commit, table_schema(protocol, metadata, version))


def _refuse_incompatible(one: _Version, last: TableSchema) -> None:
    before, after = ([f.name for f in each.partition_columns] for each in (one.table, last))
    problem = (
        "the partition columns changed"
        if before != after
        else _incompatible(one.table.columns, last.columns, mapped=last.mode != "none")
    )
    if problem is not None:
        raise IncompatibleSchemas(
            f"the range cannot be read in one schema: {problem}",
            version=one.version,
            hint="read the versions before and after the change apart",
        )


def _incompatible(  # noqa: PLR0911  one return per kind of type
    past: DataType, last: DataType, *, mapped: bool, place: str = ""
) -> str | None:
    """Return why rows of an earlier schema cannot be read in the last one, if so."""
    match past, last:
        case Struct(fields), Struct(others):
            known = {_identity(f, mapped=mapped): f for f in others}
            for one in fields:
                label = f"{place}{one.name}"
                other = known.get(_identity(one, mapped=mapped))
                if other is None:
                    return f"column {label} was dropped or renamed"
                found = _incompatible(one.type, other.type, mapped=mapped, place=f"{label}.")
                if found is not None:
                    return found
            return None
        case Array(element), Array(other):
            return _incompatible(element, other, mapped=mapped, place=f"{place}element.")
        case Map(key, value), Map(other_key, other_value):
            return _incompatible(
                key, other_key, mapped=mapped, place=f"{place}key."
            ) or _incompatible(value, other_value, mapped=mapped, place=f"{place}value.")
        case _ if past == last or is_widening(past, last):
            return None
        case _:
            return f"column {place.rstrip('.')} changed from {past} to {last}"


def _nullable(of: DataType) -> Any:
    match of:
        case Struct(fields):
            loose = (replace(f, nullable=True, type=_nullable(f.type)) for f in fields)
            return replace(of, fields=tuple(loose))
        case Array(element):
            return Array(_nullable(element))
        case Map(key, value):
            return Map(_nullable(key), _nullable(value))
        case _:
            return of


def _identity(column: Field, *, mapped: bool) -> str:
    return lasting_name(column) if mapped else column.name


def _changes(
    storage: Storage, listing: Listing, one: _Version, table: TableSchema
) -> Iterator[_Change]:
    place = one.commit.place
    files = {name: from_lines(name, [(place, lines)]) for name, lines in one.commit.lines.items()}
    partition, mode = table.partition_columns, table.mode
    # Obeys CDFF-006.
    if files["cdc"].num_rows:
        for task in file_tasks(files["cdc"], partition, mode):
            yield _Change(task, None, one)
        return
    added = files["add"].filter(files["add"]["dataChange"])
    removed = files["remove"].filter(files["remove"]["dataChange"])
    if partition:
        keys = [physical_name(f, mode) for f in partition]
        removed = _with_partition_values(storage, listing, one.version, removed, keys)
    inserts = {task.path: task for task in file_tasks(added, partition, mode)}
    deletes = {task.path: task for task in file_tasks(removed, partition, mode)}
    for kind, tasks, others in (("delete", deletes, inserts), ("insert", inserts, deletes)):
        for path, task in tasks.items():
            other = others.get(path)
            if other is None:
                yield _Change(task, kind, one)
            elif other.deletion_vector is not None:
                yield _Change(replace(task, only=other.deletion_vector), kind, one)


def _with_partition_values(
    storage: Storage, listing: Listing, version: int, removed: pa.Table, keys: Sequence[str]
) -> pa.Table:
    """Complete removes: by the adds that they undo, and by the nulls that Spark leaves out.

    Only adds must have every key.
    """
    paths, given = removed["path"].to_pylist(), removed["partitionValues"].to_pylist()
    known: dict[str, Any] = {}
    if None in given and version:
        before = Snapshot(storage, listing, version - 1).adds()
        named = zip(before["path"].to_pylist(), before["partitionValues"].to_pylist(), strict=True)
        known = {decode_path(path): values for path, values in named}
    filled = [
        known.get(decode_path(path, action="remove"), ()) if values is None else values
        for path, values in zip(paths, given, strict=True)
    ]
    whole = [[*values, *((k, None) for k in keys if k not in dict(values))] for values in filled]
    at = removed.schema.get_field_index("partitionValues")
    column = pa.array(whole, removed.schema.field(at).type)
    return removed.set_column(at, "partitionValues", column)


def _read(
    reader: FileReader, change: _Change, schema: pa.Schema, hold: Callable[[int, str], None]
) -> list[pa.RecordBatch]:
    reader = replace(reader, extra=[_TYPE]) if change.kind is None else reader
    try:
        read = (_labelled(batch, change, schema) for batch in reader.read(change.task))
        return list(kept_within(hold, read, change.task.path))
    except DeltaError as error:
        error.version = error.version if error.version is not None else change.at.version
        raise


def _labelled(batch: pa.RecordBatch, change: _Change, schema: pa.Schema) -> pa.RecordBatch:
    columns = list(batch.columns)
    rows = batch.num_rows
    if change.kind is None:
        _refuse_unknown(columns[-1], change.task.path)
    else:
        columns.append(pa.repeat(pa.scalar(change.kind), rows))
    columns.append(pa.repeat(pa.scalar(change.at.version), rows))
    timestamp = pa.scalar(change.at.timestamp * 1000, arrow_type(TIMESTAMP))
    columns.append(pa.repeat(timestamp, rows))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _refuse_unknown(kinds: pa.Array, path: str) -> None:
    known = pc.is_in(kinds, value_set=pa.array(_TYPES))
    if not pc.all(known, min_count=0).as_py():
        raise InvalidDataFile(
            "_change_type holds a value that is no type of change",
            path=path,
            action="cdc",
            requirement="CDFF-008",
        )
