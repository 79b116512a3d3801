"""Hypothesis strategies for tables: types, schemas, values, rows, filters and whole histories.

Arguments say what is valid, never how often. A combination that allows nothing raises
:class:`ValueError` when the strategy is made.
"""

from __future__ import annotations

from generators.strategies.filters import filters
from generators.strategies.histories import histories
from generators.strategies.rows import rows
from generators.strategies.schemas import data_types, names, partition_choices, schemas
from generators.strategies.values import partition_values, values

__all__ = [
    "data_types", "filters", "histories", "names", "partition_choices", "partition_values", "rows",
    "schemas", "values",
]  # fmt: skip
