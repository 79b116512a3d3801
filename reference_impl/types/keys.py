"""Keys of column metadata that give a column a rule.

Implements "Column Invariants", "Generated Columns", "Default Columns", "Identity Columns" and "Type
Widening"; the keys of column mapping are in :mod:`reference_impl.model.column_mapping`.
"""

from __future__ import annotations

from typing import Final

DEFAULT_KEY: Final = "CURRENT_DEFAULT"
GENERATION_KEY: Final = "delta.generationExpression"
INVARIANT_KEY: Final = "delta.invariants"
START_KEY: Final = "delta.identity.start"
STEP_KEY: Final = "delta.identity.step"
HIGH_WATER_MARK_KEY: Final = "delta.identity.highWaterMark"
EXPLICIT_KEY: Final = "delta.identity.allowExplicitInsert"
TYPE_CHANGES_KEY: Final = "delta.typeChanges"
