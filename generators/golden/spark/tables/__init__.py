"""The tables that Spark writes, grouped by what they are about."""

from __future__ import annotations

from typing import Final

from generators.golden.spark.recipe import Recipe
from generators.golden.spark.tables import changes, columns, layouts, rewrites, settings, values

__all__ = ["RECIPES"]

RECIPES: Final[tuple[Recipe, ...]] = (
    *values.TABLES,
    *changes.TABLES,
    *columns.TABLES,
    *layouts.TABLES,
    *rewrites.TABLES,
    *settings.TABLES,
)
"""All tables that Spark writes."""
