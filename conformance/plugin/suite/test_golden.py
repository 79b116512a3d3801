"""Every spec of every golden table is answered as the protocol demands.

Covers every section: the chapters are the folders of the corpus, and each test's id begins with
its chapter.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.items.items import Item


def test_golden(delta_tck_item: Item, delta_tck_judge: Callable[[Item], None]) -> None:
    """Judge one golden spec."""
    delta_tck_judge(delta_tck_item)
