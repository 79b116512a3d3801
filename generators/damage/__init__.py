"""Damaged tables, without end: bytes, JSON values and Parquet columns that went wrong.

Nobody says what a damaged table holds. A reader may give rows or refuse, but it must not crash,
hang or fill the memory: :func:`damages` gives as many tables to try that with as one cares for.
"""

from __future__ import annotations

from generators.damage.bombs import BOMBS, Bomb
from generators.damage.plan import Damage, damage_at, damages

__all__ = ["BOMBS", "Bomb", "Damage", "damage_at", "damages"]
