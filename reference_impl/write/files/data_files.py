"""Write rows as data files: one file per partition and size, each with its add action.

Implements "Data Files", "Add File and Remove File", "Partition Value Serialization" and the writer
requirements of "Column Mapping". A file exists before the commit that names it, and has a name
that no other file ever has, so that a writer that fails leaves nothing but an orphan.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import ConstraintViolation
from reference_impl.model.column_mapping import Mode, field_id, physical_name
from reference_impl.model.partition_values import format_value
from reference_impl.places import encode_path
from reference_impl.snapshot.stats import Leaf
from reference_impl.storage import Storage
from reference_impl.types.arrow import arrow_type, with_children, with_fields
from reference_impl.types.model import Array, DataType, Field, Map, Struct
from reference_impl.write.clock import now
from reference_impl.write.features.iceberg import NESTED_IDS_KEY, is_iceberg_compatible
from reference_impl.write.features.target import Target
from reference_impl.write.features.void import drop_void, has_void, stored_columns
from reference_impl.write.files.parquet import ParquetStyle, write_parquet
from reference_impl.write.statistics import indexed_leaves, statistics_json, statistics_of

_FILE_BYTES: Final = 256 << 20
"""Arrow bytes of rows that go into one file at most."""

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
"""Null in the name of a partition folder."""

_FOLDER_BYTES: Final = 200
"""Bytes of one name, beyond which a partition gets a short folder: file systems take 255."""

_FOLDERS_BYTES: Final = 600
"""Bytes of all of them: a key of an object store has at most 1024."""


def stored_field(column: Field, mode: Mode) -> pa.Field:
    """Return the field of a data file that holds a column: physical names, ids where mapped.

    Void columns are not stored: see :mod:`.void`.
    """
    # Obeys CM-015.
    name = physical_name(column, mode)
    ids = column.metadata.get(NESTED_IDS_KEY)
    of = _stored_type(column.type, mode, name, ids if isinstance(ids, Mapping) else {})
    return _numbered(name, of, None if mode == "none" else field_id(column), column.nullable)


def _numbered(name: str, of: pa.DataType, number: Any, nullable: bool) -> pa.Field:
    metadata = None if number is None else {"PARQUET:field_id": str(number)}
    return pa.field(name, of, nullable=nullable, metadata=metadata)


def _stored_type(of: DataType, mode: Mode, place: str, ids: Mapping[str, Any]) -> pa.DataType:
    """Return the type of a file; ``ids`` are those of elements, keys and values by their place."""
    # Obeys WCON-005.

    def inner(name: str, of: DataType, nullable: bool) -> pa.Field:
        label = f"{place}.{name}"
        return _numbered(name, _stored_type(of, mode, label, ids), ids.get(label), nullable)

    match of:
        case Struct(fields):
            return pa.struct([stored_field(f, mode) for f in fields])
        case Array(element, contains_null):
            return pa.list_(inner("element", element, contains_null))
        case Map(key, value, contains_null):
            return pa.map_(inner("key", key, False), inner("value", value, contains_null))  # noqa: FBT003  a value
        case _:
            return arrow_type(of)


@dataclass(frozen=True, slots=True)
class FileWriter:
    """Writes the rows of one commit.

    Attributes:
        storage: the table's storage.
        target: the version that is written under.
        data_change: whether the rows are new or changed, and not only moved.
        extra: columns of files that are not in the schema, as
            materialized row ids; all nullable.
        created: takes the path of each file before it is written.
        folder: where files go; the table root by default.
        clustered: columns that have statistics in any case.
        provider: ``clusteringProvider`` of every add action.
    """

    storage: Storage
    target: Target
    data_change: bool
    extra: Sequence[pa.Field]
    created: list[str]
    folder: str = ""
    clustered: Sequence[Leaf] = ()
    provider: str | None = None

    def write(self, rows: pa.Table) -> list[dict[str, Any]]:
        """Write rows that have the table's columns and types, extra columns last.

        Returns:
            The body of an add action per file, in partition order. No rows give no files.

        Raises:
            ConstraintViolation: an empty string means null in a partition column that is
                declared not null.
            SchemaMismatch: the schema has void where no file can do without.
            OSError: the storage failed; files written so far are orphans, see ``created``.
        """
        if rows.num_rows == 0:
            return []
        return [
            self._file(piece, texts)
            for texts, part in self._partitions(rows)
            for piece in _pieces(part)
        ]

    def _partitions(self, rows: pa.Table) -> Iterator[tuple[tuple[str | None, ...], pa.Table]]:
        # Obeys CM-016 WCON-002.
        columns = self.target.table.partition_columns
        if not columns:
            yield (), rows
            return
        keys = pa.table(
            [_texts(rows.column(f.name), f) for f in columns],
            names=[str(at) for at in range(len(columns))],
        ).append_column("row", pa.arange(0, rows.num_rows))
        groups = keys.group_by(keys.column_names[:-1], use_threads=False).aggregate(
            [("row", "list")]
        )
        for group in groups.to_batches():
            texts = [group.column(at).to_pylist() for at in range(len(columns))]
            for number, key in enumerate(zip(*texts, strict=True)):
                chosen = group.column("row_list")[number].values
                yield key, rows if len(chosen) == rows.num_rows else rows.take(chosen)

    def _file(self, rows: pa.Table, texts: tuple[str | None, ...]) -> dict[str, Any]:
        # Obeys DATA-004 ICE1-007 ICE1-008 ICE1-009 ICE2-015 ICE2-016.
        table, target = self.target.table, self.target
        inside = is_iceberg_compatible(target.protocol, target.metadata)
        partition = table.partition_names
        whole = stored_columns(target.schema)
        # A Parquet file without columns has no rows.
        inside = inside or not (self.extra or any(f.name not in partition for f in whole))
        stored = [f for f in whole if inside or f.name not in partition]
        stored.sort(key=lambda f: f.name in partition)
        fields = [*(stored_field(f, table.mode) for f in stored), *self.extra]
        names = [*(f.name for f in stored), *(f.name for f in self.extra)]
        content = rename(_without_void(rows, target).select(names), fields)
        folder = self._folder(texts)
        style = ParquetStyle.of(target.configuration)
        path = f"{folder}part-00000-{uuid.uuid4()}.c000.{style.codec}.parquet"
        self.created.append(path)
        size = write_parquet(self.storage, path, content, style)
        columns = indexed_leaves(table, target.configuration)
        columns += [leaf for leaf in self.clustered if leaf not in columns]
        add = {
            "path": encode_path(path),
            "partitionValues": {
                physical_name(f, table.mode): text
                for f, text in zip(table.partition_columns, texts, strict=True)
            },
            "size": size,
            "modificationTime": now(),  # Obeys ADD-007.
            "dataChange": self.data_change,
            "stats": statistics_json(statistics_of(rows, columns)),
        }
        if self.provider is not None:
            add["clusteringProvider"] = self.provider
        return add

    def _folder(self, texts: tuple[str | None, ...]) -> str:
        """Return the folder of a partition; readers ignore its name."""
        table = self.target.table
        if not texts:
            return self.folder
        name = partition_folder(table.partition_columns, texts)
        folders = name.split("/")
        long = len(name) > _FOLDERS_BYTES or max(map(len, folders)) > _FOLDER_BYTES
        hidden = any(folder.startswith("_") for folder in folders)
        if table.mode != "none" or long or hidden:
            # Logical names may change, stores bound the length of a name, and no data file is in
            # a hidden folder (section Data Files, DATA-001).
            return f"{self.folder}{uuid.uuid4().hex[:2]}/"
        return f"{self.folder}{name}"


def partition_folder(columns: Sequence[Field], texts: Sequence[str | None]) -> str:
    """Return the folder of a partition as Hive names it, with a slash at the end; may be empty."""
    return "".join(
        f"{quote(f.name, safe='')}={NULL_FOLDER if text is None else quote(text, safe=' ')}/"
        for f, text in zip(columns, texts, strict=True)
    )


def _without_void(rows: pa.Table, target: Target) -> pa.Table:
    for at, name in enumerate(rows.column_names):
        column = target.schema.get(name)
        if column is not None and has_void(column.type):
            chunks = [drop_void(chunk, column.type) for chunk in rows.column(at).chunks]
            rows = rows.set_column(at, name, pa.chunked_array(chunks))
    return rows


def rename(rows: pa.Table, fields: Sequence[pa.Field]) -> pa.Table:
    """Rename columns, nested ones too, and change their nullability; values stay."""
    arrays = [
        pa.chunked_array([_retype(chunk, f.type) for chunk in column.chunks], f.type)
        for column, f in zip(rows.columns, fields, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(fields)))


def _retype(values: pa.Array, target: pa.DataType) -> pa.Array:
    if not pa.types.is_nested(target):
        return values
    if pa.types.is_struct(target):
        children = [_retype(values.field(at), target.field(at).type) for at in range(len(target))]
        return with_fields(values, children, list(target))
    if pa.types.is_map(target):
        fields = [target.key_field, target.item_field]
        entries = [_retype(values.keys, fields[0].type), _retype(values.items, fields[1].type)]
        items = pa.StructArray.from_arrays(entries, fields=fields)
    else:
        items = _retype(values.values, target.value_type)
    return with_children(values, target, items)


def _texts(values: pa.ChunkedArray, column: Field) -> pa.ChunkedArray:
    """Write the partition values of rows; each distinct value once."""
    encoded = pc.dictionary_encode(values)
    chunks = []
    for chunk in encoded.chunks:
        written = [format_value(v, column.type) for v in _counted(chunk.dictionary)]
        chunks.append(pa.array(written, pa.string()).take(chunk.indices))
    texts = pa.chunked_array(chunks, pa.string())
    if not column.nullable and texts.null_count:
        raise ConstraintViolation(
            f"partition column {column.name} is declared not null, and an empty value of it "
            "cannot be distinguished from null",
            requirement="SCH-025",
        )
    return texts


def _counted(values: pa.Array) -> list[Any]:
    """Return Python's values, days and instants as counts where Python has no dates for them."""
    try:
        return list(values.to_pylist())
    except (OverflowError, ValueError):
        width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
        return list(values.view(width).to_pylist())


def _pieces(rows: pa.Table) -> Iterator[pa.Table]:
    count = max(1, -(-rows.nbytes // _FILE_BYTES))
    length = -(-rows.num_rows // count)
    for start in range(0, rows.num_rows, length):
        yield rows.slice(start, length)
