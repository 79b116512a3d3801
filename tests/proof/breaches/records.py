"""What a whole run of the proofs leaves: the list of proofs, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from conformance.requirements.gaps import read_gaps
from conformance.requirements.proofs import UNPROVED, Proof, Proofs
from conformance.requirements.registry import Registry, Requirement


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
