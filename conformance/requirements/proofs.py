"""Which wrong implementation made a case fail by the name of a requirement.

A case that names a requirement shows nothing until an implementation that breaks just that one
fails it. ``conformance/requirements/proved.yaml`` keeps who did: a wrong reader, a wrong writer, or
a fault planted in a table, and the case that failed by the requirement's name. ``tox run -e proof``
writes it; ``unproved.yaml`` says of each other MUST why there is no proof.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from conformance.requirements.documents import read_yaml
from conformance.requirements.gaps import read_gaps
from conformance.requirements.registry import DEFAULT_FOLDER, ID, Requirement

KINDS: Final = ("reader", "writer", "fault")
"""Who is wrong: a reader, a writer, or the table itself."""

PROVED: Final = DEFAULT_FOLDER / "proved.yaml"
"""The proofs, as the last whole run of them ended."""

UNPROVED: Final = DEFAULT_FOLDER / "unproved.yaml"
"""The MUST requirements of 2025 that have no proof, each with its reason."""

_SLUG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9/_.-]*")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, order=True)
class Proof:
    """A breach of one requirement, and the case that failed by its name.

    Attributes:
        requirement: the id that is broken.
        kind: out of :data:`KINDS`.
        id: slug of the wrong implementation or fault.
        case: id of the item that fails; for a fault the table, or mutation, that it is planted in.
    """

    requirement: str
    kind: str
    id: str
    case: str


@dataclass(frozen=True, slots=True)
class Proofs:
    """All proofs.

    Attributes:
        digest: of the table of breaches and of the cases that the proofs name.
        all: the proofs, by requirement.
    """

    digest: str
    all: Mapping[str, tuple[Proof, ...]]

    def proved(self, rows: Iterable[Requirement]) -> int:
        """Count the requirements that have a proof."""
        return sum(row.id in self.all for row in rows)


def proofs_of(requirement: str) -> tuple[Proof, ...]:
    """Return the shipped proofs of a requirement; none for one without, or an unknown id.

    Raises:
        conformance.requirements.registry.RegistryError: the file is not as it has to be.
    """
    return load_proofs().all.get(requirement, ())


def reason_unproved(requirement: str) -> str | None:
    """Return why a MUST has no proof; ``None`` for one that has, or of which nothing is said.

    Raises:
        conformance.requirements.registry.RegistryError: the file is not as it has to be.
    """
    return _reasons().get(requirement)


@cache
def _reasons() -> Mapping[str, str]:
    return read_gaps(UNPROVED).reasons


@cache
def load_proofs() -> Proofs:
    """Read the shipped proofs, once.

    Raises:
        conformance.requirements.registry.RegistryError: the file is not as it has to be.
    """
    return read_proofs(PROVED)


def read_proofs(path: Path) -> Proofs:
    """Read a file of proofs.

    Raises:
        conformance.requirements.registry.RegistryError: the file is not as it has to be.
    """
    head = read_yaml(path, "the list of proofs").fields(("digest", "proofs"))
    found: defaultdict[str, list[Proof]] = defaultdict(list)
    for item in head["proofs"].items(may_be_empty=True):
        parts = item.fields(("breaks", "kind", "id", "case"))
        breaks = parts["breaks"].text(ID)
        found[breaks].append(
            Proof(
                breaks, parts["kind"].choice(KINDS), parts["id"].text(_SLUG), parts["case"].text()
            )
        )
    by_row = {name: tuple(proofs) for name, proofs in found.items()}
    return Proofs(head["digest"].text(_DIGEST), by_row)
