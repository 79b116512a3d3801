"""Deletion vectors against those that they replace (design note, section Deletion Vectors)."""

from __future__ import annotations

from typing import Any, Final

from conformance.audit.findings import Check, Findings, finding
from conformance.audit.grammar.roaring import Rows
from conformance.audit.grammar.vectors import load_vector
from conformance.audit.read.state import file_key
from conformance.audit.screens import nothing
from conformance.audit.stored.changes import ChangeView
from reference_impl.errors import DeltaError
from reference_impl.storage import Storage

__all__ = ["VECTOR_HISTORY_CHECKS"]

_DELETES: Final = frozenset({"DELETE", "UPDATE", "MERGE"})
"""Operations, by the names that engines give them, which take rows out of files."""


def vectors_keep_rows(view: ChangeView) -> Findings:
    """Report a new vector that brings back rows which the one before it deletes."""
    step = view.step
    info = step.commit_info
    if not step.before.known or info is None or str(info.body.get("operation")) not in _DELETES:
        return  # other operations, as a restore, may bring rows back
    replaced = {
        key[0]: line.body["deletionVector"]
        for line in step.of("remove")
        if (key := file_key(line.body)) and key[1] is not None and key in step.before.adds
    }
    for line in step.of("add"):
        key = file_key(line.body)
        if key is None or key[1] is None or key[0] not in replaced:
            continue
        if key in step.before.removed or key in step.before.adds:
            continue  # a restore brings back what was there
        old, new = (
            _rows(view.storage, each) for each in (replaced[key[0]], line.body["deletionVector"])
        )
        if old is not None and new is not None and not new.covers(old):
            message = f"the new vector of {key[0]} leaves out rows that the former one deletes"
            yield finding("DVD-017", line.place, message, "deleted rows come back")


def _rows(storage: Storage, descriptor: Any) -> Rows | None:
    """Load a vector; ``None`` where it cannot be, which others report of live files."""
    try:
        return load_vector(storage, descriptor)
    except (DeltaError, OSError, ValueError, OverflowError):
        return None


VECTOR_HISTORY_CHECKS: Final = (Check(vectors_keep_rows, ("DVD-017",), nothing),)
"""Checks of the vectors that a commit adds."""
