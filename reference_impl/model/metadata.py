"""Validate metaData actions.

Serves "Change Metadata".
"""

from __future__ import annotations

from reference_impl.errors import InvalidMetadata, UnsupportedFormat
from reference_impl.model.actions import Metadata
from reference_impl.types.model import Struct
from reference_impl.types.schema import parse_schema


def validate_metadata(metadata: Metadata, version: int) -> Struct:
    """Check that schema and partition columns fit together, and return the schema.

    Raises:
        UnsupportedFormat: the data files are not Parquet.
        InvalidSchema: the schema is not in the serialization format.
        InvalidMetadata: a partition column is repeated or not a column of the schema.

    """
    provider = metadata.format.provider
    if provider.lower() != "parquet":
        raise UnsupportedFormat(
            f"the data files are in format {provider!r}, not parquet", action="metaData"
        )
    schema = parse_schema(metadata.schema_string)
    names = {field.name for field in schema.fields}
    columns = metadata.partition_columns
    unknown = [name for name in columns if name not in names]
    repeated = sorted({name for name in columns if columns.count(name) > 1})
    for wrong, message in (
        (unknown, "partition columns are not in the schema"),
        (repeated, "partition columns are listed twice"),
    ):
        if wrong:
            raise InvalidMetadata(
                f"{message}: {', '.join(wrong)}",
                action="metaData",
                version=version,
                requirement="META-009",
            )
    return schema
