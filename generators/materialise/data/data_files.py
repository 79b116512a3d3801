"""Data files: rows in, a Parquet file on disk and its ``add`` action out.

Covers "Data Files", "Add File and Remove File", "Column Mapping" (writer side) and "Delta Data
Type to Parquet Type Mappings". The same rows under the same options give the same bytes, as far
as one version of the Parquet library goes: no clock, no random name, no environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from generators.materialise.data.arrow_rows import Row, arrow_column
from generators.materialise.data.legacy_parquet import ListLayout, relabel_lists_and_maps
from generators.materialise.data.partition_values import serialize
from generators.materialise.data.paths import encode_path, place
from generators.materialise.data.statistics import dump_statistics, file_statistics
from generators.oracle.delta_schema import (
    Array,
    DataType,
    Field,
    Map,
    Primitive,
    Struct,
    arrow_field,
)

Compression: TypeAlias = Literal["snappy", "zstd", "gzip", "lz4", "none"]


@dataclass(frozen=True, slots=True)
class ExtraColumn:
    """A column of a data file that the table schema does not name.

    Attributes:
        name: the name in the file.
        values: one Arrow value per row of the file.
        field_id: the Parquet field id, if any.
    """

    name: str
    values: pa.Array[Any]
    field_id: int | None = None


@dataclass(frozen=True, slots=True)
class FileLayout:
    """How a data file is laid out; every layout holds the same rows.

    Attributes:
        omit: logical names of columns that the file lacks (readers see null).
        extra: columns that the schema lacks (readers ignore them).
        order: logical names in the order of the file; schema order when empty.
        field_ids: write column mapping ids where the schema has them.
        partitions_inside: also store the partition columns in the file, after the others.
        int96: timestamps as the old twelve-byte type.
        short_decimals: decimals up to 18 digits as int32 or int64.
        row_group_rows: rows per row group; one group when ``None``.
        dictionary: dictionary-encode.
        compression: the codec of every column.
        page_bytes: aim for data pages of this many bytes.
        lists: how lists are laid out; ``two-level`` ones cannot hold nulls.
        legacy_maps: lay maps out as early writers did.
    """

    omit: frozenset[str] = frozenset()
    extra: tuple[ExtraColumn, ...] = ()
    order: tuple[str, ...] = ()
    field_ids: bool = True
    partitions_inside: bool = False
    int96: bool = False
    short_decimals: bool = False
    row_group_rows: int | None = None
    dictionary: bool = True
    compression: Compression = "snappy"
    page_bytes: int | None = None
    lists: ListLayout = "standard"
    legacy_maps: bool = False


def write_parquet(path: Path, table: pa.Table, layout: FileLayout | None = None) -> int:
    """Write an Arrow table as a Parquet file; returns its size in bytes.

    Arrow's own schema is not stored, so that every reader sees plain Parquet types.
    """
    layout = layout or FileLayout()
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        table,
        path,
        row_group_size=layout.row_group_rows or max(table.num_rows, 1),
        use_dictionary=layout.dictionary,
        compression=layout.compression,
        use_deprecated_int96_timestamps=layout.int96,
        store_decimal_as_integer=layout.short_decimals,
        data_page_size=layout.page_bytes,
        store_schema=False,
    )
    if layout.lists != "standard" or layout.legacy_maps:
        return relabel_lists_and_maps(path, lists=layout.lists, legacy_maps=layout.legacy_maps)
    return path.stat().st_size


def _without_null_elements(data_type: DataType) -> DataType:
    match data_type:
        case Array(element):
            return Array(_without_null_elements(element), contains_null=False)
        case Map(key, value):
            return replace(data_type, key=key, value=_without_null_elements(value))
        case Struct(fields):
            return Struct(
                tuple(replace(each, type=_without_null_elements(each.type)) for each in fields)
            )
        case _:
            return data_type


def _without_void(data_type: DataType, place: str) -> DataType:
    """Return a type as a file holds it: no field of a struct is void.

    Raises:
        ValueError: an array or a map has void in it, or a struct nothing else.
    """
    match data_type:
        case Struct(fields):
            kept = tuple(
                replace(each, type=_without_void(each.type, f"{place}.{each.name}"))
                for each in fields
                if each.type != Primitive("void")
            )
            if fields and not kept:
                raise ValueError(f"{place} has nothing but void in it, which no file holds")
            return Struct(kept)
        case Array(element):
            inner: tuple[DataType, ...] = (element,)
        case Map(key, value):
            inner = (key, value)
        case _:
            return data_type
    if any(_without_void(each, place) != each or each == Primitive("void") for each in inner):
        raise ValueError(f"{place} is an array or a map with void in it, which no file holds")
    return data_type


def _build(
    schema: Struct, rows: Sequence[Row], partition_columns: Sequence[str], layout: FileLayout
) -> tuple[tuple[Field, ...], pa.Table]:
    """Return the columns of a file, as fields of the schema and as an Arrow table."""
    names = layout.order or tuple(
        each.name for each in schema if each.name not in partition_columns
    )
    if layout.partitions_inside:
        names = (*names, *(name for name in partition_columns if name not in names))
    columns = tuple(
        replace(schema[name], type=_without_void(schema[name].type, name))
        for name in names
        if name not in layout.omit and schema[name].type != Primitive("void")
    )
    if layout.lists == "two-level":
        columns = tuple(replace(each, type=_without_null_elements(each.type)) for each in columns)
    fields = [arrow_field(each, physical=True) for each in columns]
    if not layout.field_ids:
        fields = [each.remove_metadata() for each in fields]
    arrays = [arrow_column(each, rows, physical=True) for each in columns]
    for extra in layout.extra:
        metadata = None if extra.field_id is None else {"PARQUET:field_id": str(extra.field_id)}
        fields.append(pa.field(extra.name, extra.values.type, metadata=metadata))
        arrays.append(extra.values)
    return columns, pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def write_data_file(  # noqa: PLR0913  a data file has this many independent properties
    root: Path,
    schema: Struct,
    rows: Sequence[Row],
    *,
    path: str,
    modification_time: int,
    partition_columns: Sequence[str] = (),
    partition_values: Mapping[str, Any] | None = None,
    layout: FileLayout | None = None,
    with_statistics: bool = True,
    data_change: bool = True,
) -> dict[str, Any]:
    """Write one data file and return the body of its ``add`` action.

    Args:
        root: the table root on disk.
        schema: the whole table schema.
        rows: the rows of the file by logical name; partition columns need not be in them.
        path: the raw path below ``root``, as on disk; the action gets it URI-encoded.
        modification_time: milliseconds since the epoch.
        partition_columns: logical names of the partition columns.
        partition_values: the file's value per partition column; missing means null.
        layout: the physical layout.
        with_statistics: whether the action carries ``stats``.
        data_change: the action's flag.
    """
    layout = layout or FileLayout()
    values = dict(partition_values or {})
    if layout.partitions_inside or set(layout.order) & set(partition_columns):
        rows = [{**row, **{name: values.get(name) for name in partition_columns}} for row in rows]
    columns, table = _build(schema, rows, partition_columns, layout)
    size = write_parquet(place(root, path), table, layout)
    add: dict[str, Any] = {
        "path": encode_path(path),
        "partitionValues": {
            schema[name].physical_name: serialize(schema[name].type, values.get(name))
            for name in partition_columns
        },
        "size": size,
        "modificationTime": modification_time,
        "dataChange": data_change,
    }
    if with_statistics:
        counted = [each for each in columns if each.name not in partition_columns]
        add["stats"] = dump_statistics(file_statistics(counted, rows))
    return add
