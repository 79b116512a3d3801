"""Parts of a selection, for runs on many machines.

Items of one table, and layouts of one history, are in one part: they share a copy, and one can be
the root cause of another's failure. Which part that is depends on their name alone, so that a new
case moves no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.items.items import Item


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a selection.

    Attributes:
        number: which one, from 1.
        parts: how many there are.

    """

    number: int
    parts: int

    def of(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Return the items of this part, in the order in which they come."""
        return tuple(item for item in items if self._takes(item.id.rpartition("/")[0]))

    def as_document(self, selected: int) -> dict[str, Any]:
        """Return the part for the header of a results file.

        Args:
            selected: how many items the whole selection has.

        """
        return {"number": self.number, "of": self.parts, "selected": selected}

    def _takes(self, group: str) -> bool:
        digest = hashlib.sha256(group.encode()).digest()
        return int.from_bytes(digest[:8]) % self.parts == self.number - 1
