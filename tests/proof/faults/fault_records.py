"""Planted faults as data: what each breaks, in which sound table, where and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_DATA = Path(__file__).parent / "data"
_FIELDS = {"id", "breaks", "where", "how", "also", "warned", "revision"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in a table that is sound otherwise.

    Attributes:
        id: permanent slug, unique over all faults.
        breaks: the requirement that the table breaks by it.
        kind: always ``fault``, beside the wrong readers and writers.
        where: the sound table, and the place in it, as :func:`fault_planting.plant` reads it.
        how: what is done there, by the name of each edit; several places have a list of them.
        also: other requirements that the same thing breaks, each with the reason.
        warned: why the audit only warns of a breach that must not be; empty where it does not.
        revision: the text of the protocol that is asked; any for ``None``.
    """

    id: str
    breaks: str
    kind: str
    where: str
    how: Any
    also: Mapping[str, str]
    warned: str = ""
    revision: str | None = None

    @property
    def table(self) -> str:
        """The name of the sound table."""
        return self.where.split()[0]


def _fault(document: Mapping[str, Any], place: str) -> Fault:
    unknown = set(document) - _FIELDS
    if unknown:
        raise ValueError(f"{place}: {document.get('id')} has unknown fields {sorted(unknown)}")
    return Fault(
        document["id"],
        document["breaks"],
        "fault",
        document["where"],
        document["how"],
        document.get("also") or {},
        document.get("warned", ""),
        document.get("revision"),
    )


def load_faults() -> tuple[Fault, ...]:
    """Return every fault, by file and in the order of the file.

    Raises:
        ValueError: two faults have one id, or one has an unknown field.
    """
    found: dict[str, Fault] = {}
    for path in sorted(_DATA.glob("*.yaml")):
        for document in yaml.safe_load(path.read_text(encoding="utf-8"))["faults"]:
            fault = _fault(document, path.name)
            if fault.id in found:
                raise ValueError(f"{path.name}: two faults are called {fault.id}")
            found[fault.id] = fault
    return tuple(found.values())
