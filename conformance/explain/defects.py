"""Defects: what is wrong with a table, under one name wherever a case plants it.

Golden tables and mutations that plant one defect, and recipes that ask a writer for it, have to
take the same from each role: what the text leaves open in one place it leaves open in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from conformance.base.home import PACKAGE
from conformance.requirements.documents import Node, read_yaml

READER_RULINGS: Final = ("refused", "read", "contested")
"""What a reader has to do: refuse the table, read it, or follow one of several readings."""

WRITER_RULINGS: Final = ("forbidden", "advised", "allowed", "contested")
"""What a writer may leave: by a MUST not, by a SHOULD or a warning better not, or freely; or the
text is read in several ways."""

_ROLES: Final = ("reader", "requirement", "writer", "breaks")
_PLANTED: Final = ("golden", "mutations", "recipes")
_FILE: Final = PACKAGE / "defects.yaml"


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that can be wrong with a table.

    Attributes:
        name: slug.
        statement: what is wrong.
        reader: out of :data:`READER_RULINGS`; ``None`` where no reader is asked.
        requirement: id of the requirement that a reader's answer is judged by.
        writer: out of :data:`WRITER_RULINGS`; ``None`` where there is no table to look at.
        breaks: id of the requirement that the audit finds broken, or that a writer's refusal obeys.
        golden: ids of the golden cases that plant it.
        mutations: ids of the mutations that plant it.
        recipes: ids of the golden cases that ask a writer for it.
    """

    name: str
    statement: str
    reader: str | None
    requirement: str | None
    writer: str | None
    breaks: str | None
    golden: tuple[str, ...]
    mutations: tuple[str, ...]
    recipes: tuple[str, ...]


def load_defects() -> tuple[Defect, ...]:
    """Read the defects.

    Raises:
        RegistryError: the file or an entry is not as it has to be.
    """
    root = read_yaml(_FILE, "a list of defects").fields(("defects",))
    return tuple(_defect(node) for node in root["defects"].items())


def _defect(node: Node) -> Defect:
    parts = node.fields(("name", "statement"), (*_ROLES, *_PLANTED))
    if not {"reader", "writer"} & parts.keys():
        raise node.fail("a defect has a ruling for a reader or for a writer")
    if ("reader" in parts) != ("requirement" in parts):
        raise node.fail("a ruling for a reader names the requirement that it is judged by")
    golden, mutations, recipes = (
        tuple(each.text() for each in parts[kind].items()) if kind in parts else ()
        for kind in _PLANTED
    )
    return Defect(
        parts["name"].text(),
        parts["statement"].text(),
        parts["reader"].choice(READER_RULINGS) if "reader" in parts else None,
        parts["requirement"].text() if "requirement" in parts else None,
        parts["writer"].choice(WRITER_RULINGS) if "writer" in parts else None,
        parts["breaks"].text() if "breaks" in parts else None,
        golden,
        mutations,
        recipes,
    )
