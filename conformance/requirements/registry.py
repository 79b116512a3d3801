"""The requirement registry: every clause of the protocol, for cases to name by an id.

The requirements live in ``conformance/requirements/<chapter>.yaml``; this module reads them
strictly, so that a bad requirement stops the run with file and line instead of a wrong verdict.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import schemas.features
from conformance.base.home import PACKAGE
from conformance.base.terminal import meant
from conformance.requirements.documents import Node, RegistryError, read_yaml

__all__ = [
    "DEFAULT_FOLDER", "FEATURES", "ID", "LEVELS", "NOTICERS", "REVISIONS", "ROLES", "SELECTIONS",
    "Accepted", "Registry", "RegistryError", "Requirement", "UnknownRequirementError",
    "load_registry",
]  # fmt: skip

DEFAULT_FOLDER: Final = PACKAGE / "requirements"
"""Where the shipped requirements are."""

ROLES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "reader": ("reader",),
        "writer": ("audit",),
        "file": ("audit",),
        "checkpoint-writer": ("audit",),
        "vacuum": ("audit",),
        "cleanup": ("audit",),
    }
)
"""Who must obey a clause, and who notices a breach of it unless the requirement says otherwise."""

LEVELS: Final = ("MUST", "SHOULD", "MAY", "DEF")
"""How binding a clause is; ``DEF`` defines a notion and binds through the clauses that use it."""

REVISIONS: Final = ("2021", "2025", "dv-design", "upstream")
"""The texts that a clause can stand in."""

SELECTIONS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "2021": frozenset({"2021"}),
        "2025": frozenset({"2025", "dv-design"}),
        "upstream": frozenset({"2025", "dv-design", "upstream"}),
    }
)
"""What ``--tck-revision`` selects: the texts whose clauses hold under it."""

NOTICERS: Final = ("reader", "writer", "audit")
"""Who can be asked to notice a breach."""

FEATURES: Final = frozenset({"core", *schemas.features.FEATURES})
"""The table feature a clause belongs to; ``core`` is what every table has."""

ID: Final = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)*-[0-9]{3}")
_DIGEST: Final = re.compile(r"[1-9][0-9]*:[0-9a-f]{16}")
_SLUG: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_NOT_CHAPTERS: Final = ("chapters", "exceptions", "proved", "unproved")
_REQUIRED: Final = ("id", "section", "role", "level", "feature", "revisions", "statement")
_OPTIONAL: Final = ("clause_digest", "notice", "contested", "ruling", "superseded_by", "retired")


class UnknownRequirementError(KeyError):
    """An id is named that no requirement has.

    Attributes:
        requirement: the id as named.
        hint: what it may have been meant to be, at the end of the message.
    """

    def __init__(self, requirement: str, known: Iterable[str]) -> None:
        """Say what was asked for and what it may have been meant to be."""
        self.requirement = requirement
        self.hint = meant(requirement, known)
        super().__init__(requirement)

    def __str__(self) -> str:
        """Return one sentence with a hint, where there is one."""
        return f"no requirement has the id {self.requirement!r}{self.hint}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """One outcome that a contested clause allows.

    Attributes:
        name: short slug of the outcome, as ``empty-as-null``.
        source: who stands for it: ``text``, or the implementations that do so.
    """

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One clause of the protocol in the project's own words.

    Attributes:
        id: permanent; never reused, even when the requirement is retired.
        chapter: slug of the file that holds the requirement.
        section: heading in the protocol text.
        role: who must obey; a key of :data:`ROLES`.
        level: out of :data:`LEVELS`.
        feature: out of :data:`FEATURES`.
        revisions: texts that hold the clause, in the order of :data:`REVISIONS`.
        statement: what holds.
        clause_digest: revision to digest of the sentence (see ``drift.py``);
            empty where the text shows it by an example or a diagram only.
        notice: who has to notice a breach, out of :data:`NOTICERS`.
        contested: accepted outcomes; empty unless the text is silent or disputed.
        ruling: what the project rules where the text is wrong, silent or disputed.
        superseded_by: id of the one that takes its place in a later text; this one does not
            bind where that one does.
        superseded_in: the texts that hold that other requirement.
        retired: why the requirement is no longer judged; ``None`` while it is.
        place: ``file:line`` of the requirement.
    """

    id: str
    chapter: str
    section: str
    role: str
    level: str
    feature: str
    revisions: tuple[str, ...]
    statement: str
    clause_digest: Mapping[str, str]
    notice: tuple[str, ...]
    contested: tuple[Accepted, ...]
    ruling: str | None
    superseded_by: str | None
    superseded_in: tuple[str, ...]
    retired: str | None
    place: str

    def holds_in(self, revision: str) -> bool:
        """Return whether the clause binds under a selection out of :data:`SELECTIONS`.

        Raises:
            ValueError: the selection is not one.
        """
        if self.retired is not None:
            return False
        texts = _selection(revision)
        return not texts.isdisjoint(self.revisions) and texts.isdisjoint(self.superseded_in)


class Registry:
    """All requirements, in the order of the files and requirements.

    Raises:
        RegistryError: two share an id, or one is superseded by another that is not there.
    """

    def __init__(self, requirements: Iterable[Requirement], titles: Mapping[str, str]) -> None:
        """Index the requirements; ``titles`` maps chapter slugs to headings, in reading order."""
        self._rows: dict[str, Requirement] = {}
        self._titles = dict(titles)
        for row in requirements:
            first = self._rows.setdefault(row.id, row)
            if first is not row:
                raise RegistryError(row.place, f"id {row.id} is taken by {first.place}")
        for row in tuple(self):
            if row.superseded_by is None:
                continue
            successor = self._rows.get(row.superseded_by)
            if successor is None or successor is row:
                message = f"{row.id} cannot be superseded by {row.superseded_by}"
                raise RegistryError(row.place, message)
            self._rows[row.id] = replace(row, superseded_in=successor.revisions)

    def __getitem__(self, requirement_id: str) -> Requirement:
        """Return the requirement with an id.

        Raises:
            UnknownRequirementError: no requirement has it.
        """
        try:
            return self._rows[requirement_id]
        except KeyError:
            raise UnknownRequirementError(requirement_id, self._rows) from None

    def __contains__(self, requirement_id: object) -> bool:
        """Return whether a requirement, retired or not, has the id."""
        return requirement_id in self._rows

    def __iter__(self) -> Iterator[Requirement]:
        """Go through the requirements in file order."""
        return iter(self._rows.values())

    def __len__(self) -> int:
        """Count the requirements, retired ones included."""
        return len(self._rows)

    @property
    def chapters(self) -> tuple[str, ...]:
        """Slugs of the chapters, in reading order."""
        return tuple(self._titles)

    def title(self, chapter: str) -> str:
        """Return the heading of a chapter."""
        return self._titles[chapter]

    def for_revision(self, revision: str) -> tuple[Requirement, ...]:
        """Return the requirements that bind under a selection out of :data:`SELECTIONS`.

        Raises:
            ValueError: the selection is not one.
        """
        _selection(revision)
        return tuple(row for row in self if row.holds_in(revision))


def load_registry(folder: Path | None = None) -> Registry:
    """Read every chapter of a folder; the shipped one, read once, when none is given.

    Raises:
        RegistryError: a file or a requirement is not as it has to be.
    """
    return _shipped() if folder is None else _read_folder(folder)


@functools.cache
def _shipped() -> Registry:
    return _read_folder(DEFAULT_FOLDER)


def _read_folder(folder: Path) -> Registry:
    rows: list[Requirement] = []
    titles: dict[str, str] = {}
    listed = read_yaml(folder / "chapters.yaml", "the list of chapters")
    for item in listed.items():
        chapter = item.text(_SLUG)
        if chapter in titles:
            raise item.fail(f"chapter {chapter} is listed twice")
        path = folder / f"{chapter}.yaml"
        if not path.is_file():
            raise item.fail(f"chapter {chapter} has no file {path.name}")
        titles[chapter], entries = _read_chapter(path)
        rows.extend(entries)
    unlisted = {path.stem for path in folder.glob("*.yaml")} - {*titles, *_NOT_CHAPTERS}
    if unlisted:
        raise listed.fail(f"chapters without a line: {', '.join(sorted(unlisted))}")
    return Registry(rows, titles)


def _read_chapter(path: Path) -> tuple[str, list[Requirement]]:
    head = read_yaml(path, "a chapter").fields(("chapter", "title", "requirements"))
    slug = head["chapter"].text()
    if slug != path.stem:
        raise head["chapter"].fail(f"chapter {slug!r} stands in the file of {path.stem!r}")
    return head["title"].text(), [_read_row(node, slug) for node in head["requirements"].items()]


def _read_row(node: Node, chapter: str) -> Requirement:
    row = node.fields(_REQUIRED, _OPTIONAL)
    identity = row["id"].text(ID)
    role = row["role"].choice(ROLES)
    revisions = row["revisions"].choices(REVISIONS)
    if list(revisions) != sorted(revisions, key=REVISIONS.index):
        raise row["revisions"].fail(f"{identity} lists its revisions out of order")
    items = row["contested"].items() if "contested" in row else ()
    contested = tuple(_read_accepted(item) for item in items)
    if len(contested) == 1:
        raise row["contested"].fail(f"{identity} is contested between one outcome")
    if contested and "ruling" not in row:
        raise row["contested"].fail(f"{identity} is contested and has no ruling")
    return Requirement(
        id=identity,
        chapter=chapter,
        section=row["section"].text(),
        role=role,
        level=row["level"].choice(LEVELS),
        feature=row["feature"].choice(FEATURES),
        revisions=revisions,
        statement=row["statement"].text(),
        clause_digest=_read_digests(row.get("clause_digest"), revisions),
        notice=row["notice"].choices(NOTICERS) if "notice" in row else ROLES[role],
        contested=contested,
        ruling=row["ruling"].text() if "ruling" in row else None,
        superseded_by=row["superseded_by"].text(ID) if "superseded_by" in row else None,
        superseded_in=(),
        retired=row["retired"].text() if "retired" in row else None,
        place=node.place,
    )


def _read_accepted(node: Node) -> Accepted:
    parts = node.fields(("name", "source"))
    return Accepted(parts["name"].text(_SLUG), parts["source"].text())


def _read_digests(node: Node | None, revisions: tuple[str, ...]) -> Mapping[str, str]:
    digests: dict[str, str] = {}
    for revision, value in ({} if node is None else node.entries()).items():
        if revision not in revisions:
            raise value.fail(f"a digest for {revision!r}, which the row does not list")
        digests[revision] = value.text(_DIGEST)
    return MappingProxyType(digests)


def _selection(revision: str) -> frozenset[str]:
    try:
        return SELECTIONS[revision]
    except KeyError:
        near = meant(revision, SELECTIONS) or f"; there are {', '.join(sorted(SELECTIONS))}"
        raise ValueError(f"{revision!r} is not a revision{near}") from None
