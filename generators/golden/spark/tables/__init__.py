"""The tables that Spark writes, grouped by what they are about."""

from __future__ import annotations

from typing import Final

from generators.golden.spark.definition import SparkCase
from generators.golden.spark.tables import changes, columns, layouts, rewrites, settings, values

__all__ = ["CASES"]

CASES: Final[tuple[SparkCase, ...]] = (
    *values.TABLES,
    *changes.TABLES,
    *columns.TABLES,
    *layouts.TABLES,
    *rewrites.TABLES,
    *settings.TABLES,
)
"""All tables that Spark writes."""
