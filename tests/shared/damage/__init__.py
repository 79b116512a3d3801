"""Tables damaged at random: in bytes, JSON values and Parquet columns.

The rows of a damaged table are unknown. A reader may give rows or refuse, but it must not crash,
hang or exhaust the memory: :func:`damages` gives any number of tables to try that with.
"""

from __future__ import annotations

from damage.bombs import BOMBS, Bomb
from damage.plan import Damage, damage_at, damages

__all__ = ["BOMBS", "Bomb", "Damage", "damage_at", "damages"]
