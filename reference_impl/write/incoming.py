"""Rows on their way into a table: typed, completed and checked.

Serves the writer requirements about rows: column types and nullability. Every operation that
brings rows sends them through :func:`prepare`.
"""

from __future__ import annotations

import pyarrow as pa

from reference_impl.write.conform import check_nulls, conform, fill_missing
from reference_impl.write.transaction import Transaction

__all__ = ["prepare"]


def prepare(transaction: Transaction, rows: pa.Table) -> pa.Table:
    """Give rows in the table's columns and types, ready to be written.

    Raises:
        SchemaMismatch: columns or values do not fit the schema.
        ConstraintViolation: a row breaks a rule of the table.

    """
    schema = transaction.target.schema
    return check_nulls(fill_missing(conform(rows, schema), schema), schema)
