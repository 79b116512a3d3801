"""The live files of a version with everything that the log says about them, typed.

Serves "Add File and Remove File", "Partition Value Serialization" and "Per-file Statistics".
"""

from __future__ import annotations

import pyarrow as pa

from reference_impl.model.actions import Metadata, Protocol
from reference_impl.snapshot.stats import leaves, parse_statistics, to_struct
from reference_impl.snapshot.table_schema import partition_column, table_schema
from reference_impl.types.arrow import arrow_field


def typed_files(adds: pa.Table, protocol: Protocol, metadata: Metadata) -> pa.Table:
    """Type the partition values and statistics of add actions.

    Args:
        adds: add actions in wire columns.
        protocol: the protocol in force.
        metadata: the metadata in force.

    Returns:
        The same rows and columns, except that ``partitionValues`` is a struct of the partition
        columns and ``stats`` a struct of ``numRecords``, ``tightBounds``, ``minValues``,
        ``maxValues`` and ``nullCount``, all by logical names. A statistic that is absent or
        cannot be read is null.

    Raises:
        InvalidPartitionValue: a partition value is missing or does not parse.
        InvalidColumnMapping: the physical names of columns are unknown.

    """
    table = table_schema(protocol, metadata)
    partition = pa.StructArray.from_arrays(
        [partition_column(adds, f, table.mode) for f in table.partition_columns],
        fields=[arrow_field(f) for f in table.partition_columns],
    )
    if not table.partition_columns:
        partition = pa.array([{}] * adds.num_rows, pa.struct([]))
    partitioned = table.partition_names
    wanted = [leaf for leaf in leaves(table.columns, table.mode) if leaf.path[0] not in partitioned]
    typed = {
        "partitionValues": partition,
        "stats": to_struct(parse_statistics(adds.column("stats"), wanted)),
    }
    for name, values in typed.items():
        at = adds.schema.get_field_index(name)
        adds = adds.set_column(at, pa.field(name, values.type), values)
    return adds
