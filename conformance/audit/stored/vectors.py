"""Deletion vectors of live files, and against those that they replace.

Covers "Deletion Vectors" and the design note on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from conformance.audit.findings import Finding, Findings, check, finding, not_followed, unchecked
from conformance.audit.grammar.roaring import Rows, VectorFault
from conformance.audit.grammar.uris import is_absolute
from conformance.audit.grammar.vectors import load_vector, takes_first, vector_path
from conformance.audit.read.raw import Line
from conformance.audit.read.state import Body
from conformance.audit.screens import doubled_paths
from conformance.audit.stored.changes import ChangeView
from conformance.audit.subjects import LiveFiles, VersionView
from reference_impl.errors import DeltaError, LimitExceeded, PlaceRefused
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


def read_vector(view: LiveFiles, body: Body, path: str) -> tuple[Rows | None, list[Finding]]:
    """Return the rows that the vector of a live file marks, and what is wrong with the vector."""
    descriptor = body.get("deletionVector")
    if not isinstance(descriptor, dict):
        return None, []
    try:
        rows = load_vector(view.storage, descriptor)
        return rows, [*_beside_partition_files(view, descriptor), *_begun(view.storage, descriptor)]
    except VectorFault as error:
        message = f"deletion vector of {path}: {error}"
        broken = [error.requirement]
        if descriptor.get("storageType") == "i" and error.requirement.startswith("DVFMT-"):
            broken.append("DVDESC-005")  # inline or not, the form is one
        return None, [finding(each, error.path or path, message) for each in broken]
    except LimitExceeded as error:
        return None, [unchecked("DVFMT-002", path, error)]
    except PlaceRefused as error:
        return None, [not_followed(error, path)]
    except (OSError, ValueError, OverflowError) as error:
        message = f"the deletion vector cannot be read: {str(error)[:200]}"
        return None, [finding("DVFMT-002", path, message)]


def vector_files(storage: Storage) -> dict[str, str]:
    """Return where the vector files below a table are, by name."""
    paths = (entry.path for entry in storage.walk() if entry.path.endswith(".bin"))
    return {path.rpartition("/")[2]: path for path in paths}


def kept_elsewhere(body: Body, kept: Mapping[str, str]) -> Findings:
    """Report a vector file that is not where its descriptor says."""
    descriptor = body["deletionVector"]
    where = vector_path(descriptor) or ""
    found = kept.get(where.rpartition("/")[2])
    if descriptor.get("storageType") == "u" and found is not None:
        message = f"the vector file is {found}, by its descriptor it is {where}"
        yield finding("DVFILE-001", found, message)


def _begun(storage: Storage, descriptor: Body) -> Findings:
    """Report a vector that has no offset in a file that begins with its version."""
    where = vector_path(descriptor)
    if where is None or descriptor.get("offset") is not None:
        return
    if takes_first(storage, where, descriptor["sizeInBytes"]):
        message = "the vector has no offset, and the file begins with its version"
        hint = "who takes 0 for the offset finds no vector there: the offset is 1"
        yield finding("DVDESC-012", where, message, hint, sure=False)


def _beside_partition_files(view: LiveFiles, descriptor: Body) -> Findings:
    """Report a vector file in the folder of a partition."""
    where = vector_path(descriptor)
    if where is not None and is_absolute(where):
        # The folders that a table lies in say nothing of its partitions, nor do those of another.
        where = view.storage.locator()(where)
    if where is None:
        return
    names = _partition_folders(view)
    if any(folder.startswith(names) for folder in where.rpartition("/")[0].split("/")):
        message = "the vector file is in the folder of a partition"
        yield finding("DVFILE-001", where, message)


def _partition_folders(view: LiveFiles) -> tuple[str, ...]:
    """Return what the names of directories of partitions begin with."""
    layout = view.layout
    return tuple(f"{name}=" for name in {*layout.partitions, *layout.partition_columns})
