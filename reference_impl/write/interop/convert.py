"""Make a table of a directory of Parquet files, which stay where they are.

Implements "Add File and Remove File", "Partition Value Serialization" and "Per-file Statistics".
Folders named ``column=value`` partition the files, as Hive names them: percent-encoded, with
``__HIVE_DEFAULT_PARTITION__`` for null. Numbers of rows and bounds come from the footers, where
a footer has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from reference_impl.errors import ConstraintViolation, SchemaMismatch
from reference_impl.model.partition_values import format_value, parse_value
from reference_impl.parquet.pages import read_footer, reading
from reference_impl.places import encode_path
from reference_impl.scan.conform import converter, find_columns
from reference_impl.scan.data_file import at_file, read_batches
from reference_impl.snapshot.stats import Leaf
from reference_impl.storage import Entry, Storage
from reference_impl.types.arrow import arrow_type, from_arrow
from reference_impl.types.model import DOUBLE, FLOAT, STRING, Field, Struct, every_field
from reference_impl.write.alter.create import TableDefinition, check_definition, refuse_existing
from reference_impl.write.alter.definition import define
from reference_impl.write.clock import now
from reference_impl.write.commit.transaction import Transaction
from reference_impl.write.features.iceberg import VERSIONS
from reference_impl.write.files.data_files import NULL_FOLDER
from reference_impl.write.files.other_tables import not_named_above, noting_tables
from reference_impl.write.rows.rules import rules_of
from reference_impl.write.statistics import bounds_of, indexed_leaves, statistics_json

_EXTENSIONS: Final = (".parquet", ".parq")


@dataclass(frozen=True, slots=True)
class _ParquetFile:
    """A Parquet file, and the folders that say its partition.

    Attributes:
        entry: the file.
        partition: column to the text of its value, ``None`` for null, in folder order.
    """

    entry: Entry
    partition: Mapping[str, str | None]


def convert(storage: Storage, wanted: TableDefinition) -> int:
    """Make a table of the Parquet files below a root, and return the version: 0.

    Args:
        storage: the root.
        wanted: the table's schema, partition columns among it; its properties and features.

    Raises:
        CommitConflict: there is a table already.
        SchemaMismatch: folders or files do not have the columns of the schema.
        InvalidPartitionValue: a folder's value is not of its column's type.
        InvalidDataFile: a file cannot be read as the schema says.
        ConstraintViolation: a column that is not nullable has nulls, or the definition sets a
            rule that the rows were never checked against.
    """
    refuse_existing(storage)
    check_definition(wanted)
    found = _files(storage)
    transaction = Transaction(
        storage,
        "CONVERT",
        {"numFiles": len(found), "partitionedBy": list(wanted.partition_columns)},
    )
    define(transaction, wanted.metadata(), wanted.properties, wanted.features)
    _refuse_rules(transaction)
    transaction.add(_add(transaction, file) for file in found)
    return transaction.commit()


def inferred_schema(storage: Storage) -> tuple[Struct, tuple[str, ...]]:
    """Return the schema of the first file with the folders' columns as strings, and their names.

    Raises:
        SchemaMismatch: there is no file.
    """
    first = min(_files(storage), key=lambda file: file.entry.path, default=None)
    if first is None:
        raise SchemaMismatch("there is no Parquet file to take a schema from", hint="give one")
    held = from_arrow(_footer(storage, first.entry.path).schema.to_arrow_schema())
    inside = tuple(column for column in held.fields if column.name not in first.partition)
    folders = tuple(Field(name, STRING) for name in first.partition)
    return Struct(inside + folders), tuple(first.partition)


def _files(storage: Storage) -> list[_ParquetFile]:
    linked: list[str] = []
    others: set[str] = set()
    found: list[_ParquetFile] = []
    for entry in noting_tables(storage.walk(linked.append), linked, others):
        *folders, name = entry.path.split("/")
        if _hidden(name) or _are_hidden(folders):
            continue
        if any("\ud800" <= letter <= "\udfff" for letter in entry.path):
            raise SchemaMismatch(f"{entry.path!a} has a name that is not UTF-8", hint="rename it")
        if not name.endswith(_EXTENSIONS):
            raise SchemaMismatch(
                f"{entry.path} is no Parquet file", hint="move it away, or hide it with a dot"
            )
        if any(folder.startswith("_") for folder in folders):
            raise SchemaMismatch(
                f"{entry.path} is in a folder whose name begins with an underscore",
                hint="move it: a table has no data file there (section Data Files)",
            )
        partition = [_value(folder, entry.path) for folder in folders]
        if len(dict(partition)) < len(partition):
            raise SchemaMismatch(f"two folders of {entry.path} name one column")
        found.append(_ParquetFile(entry, dict(partition)))
    for folder in linked:
        _refuse_link(folder)
    below = tuple(others)
    free = {each.path for each in not_named_above(storage, [x.entry for x in found], now())}
    for entry in (each.entry for each in found):
        if entry.path.startswith(below) or entry.path not in free:
            raise ConstraintViolation(
                f"{entry.path} is a file of another table",
                hint="read that table, and write its rows into a new one",
            )
    return found


def _refuse_link(path: str) -> None:
    if not _are_hidden(path.split("/")):
        raise SchemaMismatch(
            f"folder {path!a} is a symlink, which is not walked",
            hint="move what it leads to here, or hide it with a dot",
        )


def _are_hidden(folders: Sequence[str]) -> bool:
    return any(_hidden(folder) and "=" not in folder for folder in folders)


def _hidden(name: str) -> bool:
    return name[:1] in ("_", ".")


def _value(folder: str, path: str) -> tuple[str, str | None]:
    name, equals, text = folder.partition("=")
    if not equals or not name:
        raise SchemaMismatch(
            f"folder {folder!r} of {path} names no column and its value",
            hint="a folder of a partition is named column=value",
        )
    try:
        column = unquote(name, errors="strict")
        return column, None if text == NULL_FOLDER else unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise SchemaMismatch(f"the escapes of folder {folder!a} do not spell UTF-8") from None


def _refuse_rules(transaction: Transaction) -> None:
    """Refuse constraints that the existing rows were never checked against."""
    target = transaction.target
    if target.table.mode != "none":
        raise ConstraintViolation(
            "the files have columns by logical names, and no ids",
            hint="set delta.columnMapping.mode once the table is there",
            requirement="CM-013",
        )
    for feature in VERSIONS:
        if target.active(feature):
            raise ConstraintViolation(f"the files were not written for {feature}")
    rules = rules_of(target)
    for kind, held in (
        ("constraint", rules.checks),
        ("generated column", rules.generated),
        ("identity column", rules.identities),
    ):
        for name in held:
            raise ConstraintViolation(
                f"the rows were never checked against the {kind} {name}",
                hint="set it once the table is there",
            )


def _footer(storage: Storage, path: str) -> pq.FileMetaData:
    with at_file(path), storage.open_input(path) as source:
        footer = pq.read_metadata(source)
        # pyarrow does not check that a column exists before it describes it.
        read_footer(reading(source), source.size(), footer.num_columns)
        return footer


def _add(transaction: Transaction, file: _ParquetFile) -> dict[str, Any]:
    """Return the add action of a file."""
    table, path = transaction.target.table, file.entry.path
    if set(file.partition) != set(table.partition_names):
        raise SchemaMismatch(
            f"{path} has the partition columns {sorted(file.partition)}, "
            f"the table {sorted(table.partition_names)}"
        )
    values = {
        column.name: format_value(
            parse_value(file.partition[column.name], column.type, column=column.name), column.type
        )
        for column in table.partition_columns
    }
    for column in table.partition_columns:
        if not column.nullable and values[column.name] is None:
            raise _null(column.name, path)
    footer = _footer(transaction.storage, path)
    return {
        "path": encode_path(path),
        "partitionValues": values,
        "size": file.entry.size,
        "modificationTime": file.entry.mtime,
        "dataChange": True,
        "stats": statistics_json(_statistics(transaction, footer, path)),
    }


def _statistics(transaction: Transaction, footer: pq.FileMetaData, path: str) -> dict[str, Any]:
    """Return the statistics that a footer proves, once the file is known to have the columns."""
    target = transaction.target
    table = target.table
    held = _columns(transaction, footer, path)
    places = _places(footer)
    statistics: dict[str, Any] = {
        "numRecords": footer.num_rows,
        "minValues": {},
        "maxValues": {},
        "nullCount": {},
    }
    for leaf in indexed_leaves(table, target.configuration):
        name = leaf.path[0]
        if len(leaf.path) > 1:
            continue  # what is in a struct would need its nulls as well
        if name not in held:
            statistics["nullCount"][name] = footer.num_rows
            continue
        at = places.get(leaf.path)
        if at is None or (nulls := _null_count(footer, at)) is None:
            continue
        statistics["nullCount"][name] = nulls
        bounds = _bounds(footer, at, leaf)
        for key, bound in zip(("minValues", "maxValues"), bounds, strict=True):
            if bound is not None:
                statistics[key][name] = bound
    return statistics


def _columns(transaction: Transaction, footer: pq.FileMetaData, path: str) -> set[str]:
    """Find the table's columns in a file; the nulls of columns that have none are looked for."""
    table = transaction.target.table
    held = list(footer.schema.to_arrow_schema())
    known = {*table.columns.names}
    for stored in held:
        if stored.name not in known:
            raise SchemaMismatch(
                f"{path} has column {stored.name!r}, which the schema lacks", requirement="WCON-001"
            )
    inside = [f for f in table.columns.fields if f.name not in table.partition_names]
    with at_file(path):
        places = find_columns(held, [(column, table.mode) for column in inside])
        found = {
            column.name: at for column, at in zip(inside, places, strict=True) if at is not None
        }
        for column in inside:
            if column.name in found:
                converter(held[found[column.name]], column, table.mode)
            elif not column.nullable and footer.num_rows:
                raise _null(column.name, path)
    if any(not column.nullable for _, column in every_field(Struct(tuple(inside)))):
        for _ in read_batches(transaction.storage, path, inside, table.mode):
            pass  # reading refuses nulls where there must be none
    return set(found)


def _places(footer: pq.FileMetaData) -> dict[tuple[str, ...], int]:
    """Return the place of each column that is no struct, list or map, by its name."""
    found: dict[tuple[str, ...], int] = {}
    for at in range(footer.num_columns):
        column = footer.schema.column(at)
        if column.path == column.name and column.max_repetition_level == 0:
            found[(str(column.name),)] = at
    return found


def _chunks(footer: pq.FileMetaData, at: int) -> Sequence[Any]:
    groups = range(footer.num_row_groups)
    return [footer.row_group(number).column(at).statistics for number in groups]


def _null_count(footer: pq.FileMetaData, at: int) -> int | None:
    chunks = _chunks(footer, at)
    if any(chunk is None or not chunk.has_null_count for chunk in chunks):
        return None
    return sum(int(chunk.null_count) for chunk in chunks)


def _bounds(footer: pq.FileMetaData, at: int, leaf: Leaf) -> tuple[Any, Any]:
    """Return the bounds of a column; without a maximum for floats, as footers ignore NaN."""
    values: list[Any] = []
    for chunk in _chunks(footer, at):
        if chunk.num_values == 0:
            continue
        if not chunk.has_min_max:
            return None, None
        try:
            values += [chunk.min, chunk.max]
        except (ValueError, OverflowError, pa.ArrowException):
            return None, None
    try:
        array = pa.array(values, arrow_type(leaf.type))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None, None
    low, high = bounds_of(pa.chunked_array([array]), leaf)
    return low, None if leaf.type in (FLOAT, DOUBLE) else high


def _null(name: str, path: str) -> ConstraintViolation:
    return ConstraintViolation(
        f"column {name} is declared not null, and has no values in {path}", requirement="SCH-025"
    )
