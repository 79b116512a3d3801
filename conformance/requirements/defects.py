"""Defects: what is wrong with a table, under one name wherever a case plants it.

Serves every section. A golden table and a mutation that plant one defect have to take the same from
a reader: what the text leaves open in one place it leaves open in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.base.home import PACKAGE
from conformance.golden.cases import Case, Contested, ExpectedError
from conformance.requirements.documents import Node, read_yaml
from generators.mutations import Mutation

__all__ = ["RULINGS", "Defect", "load_defects", "ruling_of_case", "ruling_of_mutation"]

RULINGS: Final = ("refused", "read", "contested")
"""What a reader has to do: refuse the table, read it, or follow one of several readings."""

_FILE: Final = PACKAGE / "defects.yaml"


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that can be wrong with a table.

    Attributes:
        name: slug.
        statement: what is wrong.
        reader: out of :data:`RULINGS`.
        golden: ids of the golden cases that plant it.
        mutations: ids of the mutations that plant it.

    """

    name: str
    statement: str
    reader: str
    golden: tuple[str, ...]
    mutations: tuple[str, ...]


def load_defects(path: Path = _FILE) -> tuple[Defect, ...]:
    """Read the defects.

    Raises:
        RegistryError: the file or an entry is not as it has to be.

    """
    root = read_yaml(path, "a list of defects").fields(("defects",))
    return tuple(_defect(node) for node in root["defects"].items())


def _defect(node: Node) -> Defect:
    parts = node.fields(("name", "statement", "reader"), ("golden", "mutations"))
    planted = {
        kind: tuple(each.text() for each in parts[kind].items()) if kind in parts else ()
        for kind in ("golden", "mutations")
    }
    return Defect(
        parts["name"].text(),
        parts["statement"].text(),
        parts["reader"].choice(RULINGS),
        planted["golden"],
        planted["mutations"],
    )


def ruling_of_case(case: Case) -> str | None:
    """Give what a read of a case's latest version has to come to; ``None`` where none is asked."""
    reads = [spec for spec in case.specs if spec.type == "read"]
    if not reads:
        return None
    latest = [spec for spec in reads if spec.id.endswith("/read-latest")]
    match (latest or sorted(reads, key=lambda spec: spec.id))[-1].expectation:
        case ExpectedError():
            return "refused"
        case Contested():
            return "contested"
        case _:
            return "read"


def ruling_of_mutation(mutation: Mutation) -> str:
    """Give what a read of a mutated table has to come to."""
    if mutation.expect == "refused":
        return "refused"
    return "contested" if mutation.expect == "contested" or mutation.tolerated else "read"
