"""Deletion vectors against those that they replace (design note, section Deletion Vectors)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from conformance.audit.findings import Findings, check, finding
from conformance.audit.grammar.roaring import Rows
from conformance.audit.grammar.vectors import load_vector
from conformance.audit.read.raw import Line
from conformance.audit.screens import doubled_paths
from conformance.audit.stored.changes import ChangeView
from conformance.audit.subjects import VersionView
from reference_impl.errors import DeltaError
from reference_impl.storage import Storage

_DELETES: Final = frozenset({"DELETE", "UPDATE", "MERGE"})
"""Operations, by the names that engines give them, which take rows out of files."""


@check("change", "DVD-017", screen=lambda view: doubled_paths(view.step))
def vectors_keep_rows(view: ChangeView) -> Findings:
    """Report a new vector that brings back rows which the one before it deletes."""
    step = view.step
    info = step.commit_info
    if not step.before.known or info is None or _name(info) not in _DELETES:
        return  # other operations, as a restore, may bring rows back
    replaced = {
        key[0]: line.body["deletionVector"]
        for line in step.of("remove")
        if (key := line.key) and key[1] is not None and key in step.before.adds
    }
    for line in step.of("add"):
        key = line.key
        if key is None or key[0] not in replaced:
            continue
        if key[1] is None:
            message = f"{key[0]} is added without the vector that it had"
            yield finding("DVD-017", line.place, message, "deleted rows come back")
            continue
        if key in step.before.removed or key in step.before.adds:
            continue  # a restore brings back what was there
        old, new = (
            _rows(view.storage, each) for each in (replaced[key[0]], line.body["deletionVector"])
        )
        if old is not None and new is not None and not new.covers(old):
            message = f"the new vector of {key[0]} leaves out rows that the former one deletes"
            yield finding("DVD-017", line.place, message, "deleted rows come back")


def _name(info: Line) -> str:
    return str(info.body.get("operation")).upper()


def _rows(storage: Storage, descriptor: Any) -> Rows | None:
    """Load a vector; ``None`` where it cannot be, which others report of live files."""
    try:
        return load_vector(storage, descriptor)
    except (DeltaError, OSError, ValueError, OverflowError):
        return None


@check("version", "DVFILE-003", whole=True)
def vectors_have_one_file(view: VersionView) -> Findings:
    """Report a stored vector that several live files name."""
    yield from shared_vectors(sorted(stored_vectors(view)))


def stored_vectors(view: VersionView) -> Iterator[tuple[str, str]]:
    """Yield the id of the vector of each live file that has one in a file, and the path."""
    if "deletionVectors" in view.layout.features:
        for path, vector in view.state.adds:
            if vector is not None and not vector.startswith("i"):
                yield vector, path


def shared_vectors(stored: Sequence[tuple[str, str]]) -> Findings:
    """Report vectors that come twice, of vectors in their order."""
    for (vector, path), (other, another) in pairwise(stored):
        if vector == other and path != another:
            message = f"its deletion vector {vector} is that of {path} as well"
            # The rows may be the same by chance, and no reader sees a difference.
            yield finding("DVFILE-003", another, message, severity="warning")
