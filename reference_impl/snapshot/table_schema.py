"""The columns of a table version, and the partition values of its files, typed.

Serves "Schema Serialization Format" and "Partition Value Serialization".
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidMetadata, InvalidPartitionValue
from reference_impl.model.actions import Metadata, Protocol
from reference_impl.model.column_mapping import (
    Mode,
    check_annotations,
    column_mapping_mode,
    physical_name,
)
from reference_impl.model.features import supported
from reference_impl.model.partition_values import parse_values
from reference_impl.types.model import Array, Field, Map, Struct
from reference_impl.types.schema import parse_schema
from reference_impl.types.widening import check_type_changes


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of a table version and how its files know them.

    Attributes:
        columns: the table schema.
        partition_columns: the columns whose values are in the log, in partition order.
        mode: how columns are found in data files.

    """

    columns: Struct
    partition_columns: tuple[Field, ...]
    mode: Mode

    @property
    def partition_names(self) -> frozenset[str]:
        """Logical names of the partition columns."""
        return frozenset(f.name for f in self.partition_columns)


def table_schema(protocol: Protocol, metadata: Metadata) -> TableSchema:
    """Parse the schema of a version and check what reading relies on.

    Raises:
        InvalidSchema: the schema is malformed, or records a type change that is no widening.
        InvalidColumnMapping: the mode or the annotations cannot be used.
        InvalidMetadata: a partition column is not in the schema, is there twice, or is nested.

    """
    columns = parse_schema(metadata.schema_string)
    mode = column_mapping_mode(protocol, metadata)
    check_annotations(columns, mode)
    if "typeWidening" in supported(protocol):
        check_type_changes(columns)
    partition: dict[str, Field] = {}
    for name in metadata.partition_columns:
        column = columns.get(name)
        if column is None or name in partition or isinstance(column.type, Struct | Array | Map):
            raise InvalidMetadata(
                f"partition column {name!r} is not a column of the schema, is named twice, "
                "or is nested",
                action="metaData",
                requirement="META-009",
            )
        partition[name] = column
    return TableSchema(columns, tuple(partition.values()), mode)


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
            action="add",
            hint="a null partition value is written as null, not left out",
        )
    texts = pc.list_element(found, 0)
    values = parse_values(texts, column.type, column=column.name)
    if not column.nullable and values.null_count:
        at = pc.index(values.is_null(), True).as_py()
        raise InvalidPartitionValue(
            f"partition column {column.name!r} is declared not null and has a null value",
            path=files.column("path")[at].as_py(),
            action="add",
        )
    return values
