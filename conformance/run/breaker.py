"""End a run whose adapter no longer answers: the same fault, case after case, says nothing new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from conformance.base.outcomes import JUDGED
from conformance.report.share import Record

MAX_FAULTS: Final = 10
"""Cases in a row that may end in one kind of fault."""

_ORDERLY: Final = frozenset({None, "raised"})
"""Faults of the kit, and those that the adapter reported itself: it is there, and goes on."""


@dataclass(slots=True)
class Breaker:
    """Count cases in a row that ended in one kind of fault.

    A case that was judged ends the row. Cases that were not asked, or that another one blocks,
    neither end it nor count, and no more do faults that the baseline knows.
    """

    _kind: str | None = None
    _count: int = 0

    def add(self, record: Record) -> str | None:
        """Take the record of a case; give the reason to end the run, if there is one now."""
        kind = record["fault"]
        if record["outcome"] in JUDGED:
            self._kind, self._count = None, 0
        if kind in _ORDERLY or record["standing"] == "known":
            return None
        self._count = self._count + 1 if kind == self._kind else 1
        self._kind = kind
        if self._count < MAX_FAULTS:
            return None
        return (
            f"{self._count} cases in a row ended in a fault of the adapter ({kind}); "
            f"the last: {record['message']}"
        )
