"""Protocol, metadata and schema that a writer writes under.

Implements "Requirements for Writers".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reference_impl.model.actions import Metadata, Protocol
from reference_impl.model.features import active, supported
from reference_impl.model.protocol import check_writable
from reference_impl.snapshot.table_schema import TableSchema, table_schema
from reference_impl.types.model import Struct
from reference_impl.write.features.iceberg import check_iceberg
from reference_impl.write.features.row_ids import materialized_columns


@dataclass(frozen=True, slots=True)
class Target:
    """Protocol, metadata and schema that rows are written under.

    Attributes:
        protocol: the protocol in force when the commit lands.
        metadata: the metadata in force when the commit lands.
        table: the table schema, with partition columns and column mapping.
    """

    protocol: Protocol
    metadata: Metadata
    table: TableSchema

    @classmethod
    def of(cls, protocol: Protocol, metadata: Metadata) -> Target:
        """Check that the table may be written and return its target.

        Raises:
            UnsupportedError: the table needs what this implementation does not write.
            InvalidTableError: schema or metadata cannot be used.
        """
        check_writable(protocol)
        table = table_schema(protocol, metadata)
        check_iceberg(protocol, metadata, table.columns, table.mode)
        if active(protocol, metadata, "rowTracking"):
            materialized_columns(metadata.configuration, table.columns, table.mode)
        return cls(protocol, metadata, table)

    @property
    def schema(self) -> Struct:
        """The table schema."""
        return self.table.columns

    @property
    def configuration(self) -> Mapping[str, str]:
        """The table properties."""
        return self.metadata.configuration

    def active(self, feature: str) -> bool:
        """Return whether a feature is supported and switched on."""
        # Obeys CDC-011 CDC-013 TF-021 WVER-006.
        return active(self.protocol, self.metadata, feature)

    def supports(self, feature: str) -> bool:
        """Return whether a feature is supported, switched on or not."""
        return feature in supported(self.protocol)
