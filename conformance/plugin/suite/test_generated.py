"""Every generated history reads equal in every layout of its log.

Covers "Action Reconciliation", "Checkpoints", "Log Compaction Files" and their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.items.items import Item


def test_generated(delta_tck_item: Item, delta_tck_judge: Callable[[Item], None]) -> None:
    """Judge one history in one layout."""
    delta_tck_judge(delta_tck_item)
