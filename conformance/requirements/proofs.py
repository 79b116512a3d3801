"""Which wrong implementation made a case fail by the name of a requirement.

Serves every section. A case that names a requirement shows nothing until somebody who breaks just
that one fails it. ``conformance/requirements/proved.yaml`` keeps who did: a wrong reader, a wrong
writer, or a fault planted in a table, and the case that failed by the requirement's name.
``tox run -e proof`` writes it; ``unproved.yaml`` says of each other MUST why there is no proof.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from conformance.requirements.documents import read_yaml
from conformance.requirements.gaps import read_gaps
from conformance.requirements.registry import DEFAULT_FOLDER, ID, Registry, Requirement

__all__ = [
    "KINDS",
    "PROVED",
    "UNPROVED",
    "Proof",
    "Proofs",
    "faults_of_proofs",
    "load_proofs",
    "proofs_of",
    "read_proofs",
    "render_proofs",
]

KINDS: Final = ("reader", "writer", "fault")
"""Who is wrong: a reader, a writer, or the table itself."""

PROVED: Final = DEFAULT_FOLDER / "proved.yaml"
"""The proofs, as the last whole run of them ended."""

UNPROVED: Final = DEFAULT_FOLDER / "unproved.yaml"
"""Why MUST rows of 2025 are without a proof."""

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
        """Count the rows that have a proof."""
        return sum(row.id in self.all for row in rows)


def proofs_of(requirement: str) -> tuple[Proof, ...]:
    """Return the shipped proofs of a requirement; none for one without, or an unknown id.

    Raises:
        conformance.requirements.registry.RegistryError: the file is not as it has to be.

    """
    return load_proofs().all.get(requirement, ())


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
                breaks,
                parts["kind"].choice(KINDS),
                parts["id"].text(_SLUG),
                parts["case"].text(),
            )
        )
    by_row = {name: tuple(proofs) for name, proofs in found.items()}
    return Proofs(head["digest"].text(_DIGEST), by_row)


def render_proofs(digest: str, proofs: Iterable[Proof]) -> str:
    """Write proofs as the YAML that :func:`read_proofs` reads."""
    lines = [
        "# Who made which case fail by the name of which requirement; tox run -e proof -- --write",
        "# writes this file, and a test holds its digest.",
        f"digest: {digest}",
    ]
    rows = [
        f"  - {{breaks: {each.requirement}, kind: {each.kind}, "
        f"id: {each.id}, case: {json.dumps(each.case)}}}"
        for each in sorted(proofs)
    ]
    return "\n".join([*lines, "proofs:" if rows else "proofs: []", *rows]) + "\n"


def faults_of_proofs(
    proofs: Proofs,
    registry: Registry,
    unproved: Path = UNPROVED,
    wanted: Callable[[Requirement], bool] = lambda row: row.level == "MUST",
) -> list[str]:
    """Compare proofs and reasons with the registry; one sentence for each fault.

    Args:
        proofs: the proofs.
        registry: the requirements.
        unproved: the file of reasons.
        wanted: which rows of 2025 need a proof or a reason.

    Raises:
        conformance.requirements.registry.RegistryError: the reasons are not as they have to be.

    """
    listed = read_gaps(unproved)
    names = listed.requirements
    rows = [row.id for row in registry.for_revision("2025") if wanted(row)]
    faults = [
        f"{name} is proved and not in the registry" for name in proofs.all if name not in registry
    ]
    faults += [
        f"{name} has no proof and no reason in {unproved.name}"
        for name in rows
        if name not in proofs.all and name not in names
    ]
    faults += [
        f"{name} has a reason in {unproved.name} and a proof"
        for name in names
        if name in proofs.all
    ]
    faults += [f"{name} in {unproved.name} needs no proof" for name in names if name not in rows]
    if listed.count != len(names):
        faults.append(f"{unproved.name} has {len(names)} entries and says {listed.count}")
    return faults
