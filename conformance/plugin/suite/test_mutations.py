"""Every mutation of a log is noticed by those who must notice it, and survived by the others.

Covers the chapters that the mutations name.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.items.items import Item


def test_mutations(delta_tck_item: Item, delta_tck_judge: Callable[[Item], None]) -> None:
    """Judge one mutation for a reader, or for the audit."""
    delta_tck_judge(delta_tck_item)
