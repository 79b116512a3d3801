"""Row ids and row commit versions (section Row Tracking, reader requirements).

A row has the materialized value of its data file where that is present and not null. Otherwise
its id is the file's ``baseRowId`` plus its physical position, and its commit version the file's
``defaultRowCommitVersion``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reference_impl.errors import InvalidAction, RowsNotTracked
from reference_impl.model.actions import Metadata, Protocol
from reference_impl.model.features import supported
from reference_impl.model.ranges import INT64
from reference_impl.types.model import LONG, Field

ROW_ID_PROPERTY = "delta.rowTracking.materializedRowIdColumnName"
COMMIT_VERSION_PROPERTY = "delta.rowTracking.materializedRowCommitVersionColumnName"

ROW_TRACKING_SCHEMA = pa.schema(
    [pa.field("_row_id", pa.int64()), pa.field("_row_commit_version", pa.int64())]
)
"""The columns that a scan adds when row ids are asked for."""


@dataclass(frozen=True, slots=True)
class RowTracking:
    """How the rows of a table version are tracked.

    Attributes:
        row_id_column: name of the materialized column in data files; ``None`` for none.
        commit_version_column: as above.
    """

    row_id_column: str | None
    commit_version_column: str | None

    @classmethod
    def of(cls, protocol: Protocol, metadata: Metadata) -> RowTracking:
        """Read the names of the materialized columns.

        Raises:
            RowsNotTracked: the table does not support row tracking.
        """
        if "rowTracking" not in supported(protocol):
            raise RowsNotTracked(
                "the table does not support row tracking, so that its rows have no ids"
            )
        configuration = metadata.configuration
        return cls(configuration.get(ROW_ID_PROPERTY), configuration.get(COMMIT_VERSION_PROPERTY))

    @property
    def hidden(self) -> list[Field]:
        """The materialized columns, as fields of data files: no schema lists them."""
        # Obeys RT-017.
        names = (self.row_id_column, self.commit_version_column)
        return [Field(name, LONG) for name in names if name]

    def columns(
        self, materialized: list[pa.Array], start: int, length: int, base: Any, default: Any
    ) -> list[pa.Array]:
        """Return ids and commit versions of a run of rows.

        Args:
            materialized: the arrays of :attr:`hidden`.
            start: physical position of the first row.
            length: number of rows.
            base: the file's ``baseRowId``; ``None`` without one.
            default: the file's ``defaultRowCommitVersion``; ``None`` without one.

        Raises:
            InvalidAction: ids would be negative or beyond 64 bits.
        """
        # Obeys RT-003 RT-023 RT-025 RT-026.
        stored = iter(materialized)
        ids = next(stored) if self.row_id_column else pa.nulls(length, pa.int64())
        versions = next(stored) if self.commit_version_column else pa.nulls(length, pa.int64())
        if base is not None and not 0 <= base <= INT64.most - max(start + length - 1, 0):
            raise InvalidAction(
                f"baseRowId {base} leaves no room for the rows of its file",
                action="add",
                stage="read",
                requirement="RT-024",
            )
        if base is not None and ids.null_count:
            fresh = pa.array(np.arange(length) + (base + start))
            ids = pc.coalesce(ids, fresh)
        return [ids, pc.coalesce(versions, pa.scalar(default, pa.int64()))]
