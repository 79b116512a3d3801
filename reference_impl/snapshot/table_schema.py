"""The columns of a table version, and partition values and statistics of its files, typed.

Implements "Change Metadata", "Schema Serialization Format", "Partition Value Serialization" and
"Per-file Statistics".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidMetadata, InvalidPartitionValue, UnsupportedFormat
from reference_impl.model.actions import Metadata, Protocol
from reference_impl.model.column_mapping import (
    Mode,
    check_annotations,
    column_mapping_mode,
    physical_name,
)
from reference_impl.model.features import supported
from reference_impl.model.partition_values import parse_values
from reference_impl.snapshot.stats import Leaf, leaves, parse_statistics, to_struct
from reference_impl.types.arrow import arrow_field
from reference_impl.types.model import Array, Field, Map, Struct
from reference_impl.types.schema import parse_schema
from reference_impl.types.widening import check_type_changes


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The table schema of a version, with its partition columns and its column mapping.

    Attributes:
        columns: the table schema.
        partition_columns: the columns whose values are in the log, in partition order.
        mode: how columns are found in data files.
        partition_names: logical names of the partition columns.
    """

    columns: Struct
    partition_columns: tuple[Field, ...]
    mode: Mode
    partition_names: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Collect the names once: they are asked for column by column."""
        names = frozenset(each.name for each in self.partition_columns)
        object.__setattr__(self, "partition_names", names)

    def stored_leaves(self) -> list[Leaf]:
        """Return the columns that can have statistics; partition columns have none."""
        found = leaves(self.columns, self.mode)
        return [leaf for leaf in found if leaf.path[0] not in self.partition_names]


def validate_metadata(metadata: Metadata, version: int | None) -> Struct:
    """Check that schema and partition columns fit together, and return the schema.

    Raises:
        UnsupportedFormat: the data files are not Parquet.
        InvalidSchema: the schema is not in the serialization format.
        InvalidMetadata: a partition column is repeated or not a column of the schema.
    """
    provider = metadata.format.provider
    if provider.lower() != "parquet":
        raise UnsupportedFormat(f"the data files are in format {provider!r}, not parquet")
    schema = parse_schema(metadata.schema_string)
    names = {each.name for each in schema.fields}
    columns = metadata.partition_columns
    _refuse_partition(
        [name for name in columns if name not in names], "are not in the schema", version
    )
    repeated = sorted(name for name, times in Counter(columns).items() if times > 1)
    _refuse_partition(repeated, "are listed twice", version)
    return schema


def table_schema(protocol: Protocol, metadata: Metadata, version: int | None = None) -> TableSchema:
    """Parse the schema of a version and check what reading relies on.

    Raises:
        UnsupportedFormat: the data files are not Parquet.
        InvalidSchema: the schema is malformed, or records a type change that is no widening.
        InvalidColumnMapping: the mode or the annotations cannot be used.
        InvalidMetadata: a partition column is not in the schema, is there twice, or is nested.
    """
    columns = validate_metadata(metadata, version)
    mode = column_mapping_mode(protocol, metadata)
    check_annotations(columns, mode)
    if "typeWidening" in supported(protocol):
        check_type_changes(columns)
    fields = {each.name: each for each in columns.fields}
    partition = tuple(fields[name] for name in metadata.partition_columns)
    nested = [each.name for each in partition if isinstance(each.type, Struct | Array | Map)]
    _refuse_partition(nested, "are nested", version)
    return TableSchema(columns, partition, mode)


def _refuse_partition(names: Sequence[str], problem: str, version: int | None) -> None:
    if names:
        raise InvalidMetadata(
            f"partition columns {problem}: {', '.join(names)}",
            version=version,
            requirement="META-009",
        )


def partition_column(files: pa.Table, column: Field, mode: Mode) -> pa.Array:
    """Return the typed values of one partition column, a row per file.

    Args:
        files: file actions with a column ``partitionValues``.
        column: the partition column.
        mode: whether the keys are physical names.

    Raises:
        InvalidPartitionValue: a file lacks the value, or it does not parse; a null where the
            column is declared not null.
    """
    maps = files.column("partitionValues").combine_chunks()
    key = physical_name(column, mode)
    found = pc.map_lookup(maps, key, "all")
    if found.null_count:
        at = pc.index(found.is_null(), True).as_py()
        raise InvalidPartitionValue(
            f"partitionValues has no {key!r}",
            path=files.column("path")[at].as_py(),
            hint="a null partition value is written as null, not left out",
        )
    texts = pc.list_element(found, 0)
    values = parse_values(texts, column.type, column=column.name)
    if not column.nullable and values.null_count:
        at = pc.index(values.is_null(), True).as_py()
        raise InvalidPartitionValue(
            f"partition column {column.name!r} is declared not null and has a null value",
            path=files.column("path")[at].as_py(),
        )
    return values


def typed_files(adds: pa.Table, table: TableSchema) -> pa.Table:
    """Type the partition values and statistics of add actions in wire columns.

    Returns:
        The same rows and columns, except that ``partitionValues`` is a struct of the partition
        columns and ``stats`` a struct of ``numRecords``, ``tightBounds``, ``minValues``,
        ``maxValues`` and ``nullCount``, all by logical names. A statistic that is absent or
        cannot be read is null.

    Raises:
        InvalidPartitionValue: a partition value is missing or does not parse.
    """
    partition = pa.StructArray.from_arrays(
        [partition_column(adds, f, table.mode) for f in table.partition_columns],
        fields=[arrow_field(f) for f in table.partition_columns],
    )
    if not table.partition_columns:
        partition = pa.array([{}] * adds.num_rows, pa.struct([]))
    typed = {
        "partitionValues": partition,
        "stats": to_struct(parse_statistics(adds.column("stats"), table.stored_leaves())),
    }
    for name, values in typed.items():
        at = adds.schema.get_field_index(name)
        adds = adds.set_column(at, pa.field(name, values.type), values)
    return adds
