"""Select items by requirement, feature, chapter, id and revision, and cut them into shards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

import schemas
from conformance.audit import CHECKS
from conformance.base.faults import EmptySelectionError, SelectionError
from conformance.base.home import PACKAGE
from conformance.base.terminal import meant
from conformance.items.items import Item
from conformance.requirements.citations import cited_in_schemas, cited_in_steps
from conformance.requirements.registry import Registry, load_registry

NARROWING: Final = ("requirements", "features", "chapters", "cases")
"""What of a selection leaves out cases of its revision."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the options ask for; an empty tuple asks for all.

    Attributes:
        revision: the protocol revision.
        requirements: requirement ids, of which an item has to prove one.
        features: table features, of which an item's table has to have one.
        chapters: chapter slugs.
        cases: ids of cases or specs, or patterns with ``*``.
    """

    revision: str = "upstream"
    requirements: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    chapters: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    def as_document(self) -> dict[str, Any]:
        """Return the selection for the header of a results file."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    @property
    def reaches(self) -> Callable[[str], bool] | None:
        """A function that says whether a golden spec can be asked for; ``None`` where any can."""
        # Which features there are is known when all tables are.
        if self.features or not (self.chapters or self.cases):
            return None
        return lambda spec: self._names(spec, spec.partition("/")[0])

    def takes(self, item: Item) -> bool:
        """Return whether an item is asked for."""
        return (
            self._names(item.id, item.chapter)
            and (not self.features or bool({*self.features} & item.features))
            and item.requirement(self.revision) is not None
            and (not self.requirements or proves(item, self.requirements, self.revision))
        )

    def _names(self, identity: str, chapter: str) -> bool:
        return (not self.chapters or chapter in self.chapters) and (
            not self.cases or any(names(pattern, identity) for pattern in self.cases)
        )


def proves(item: Item, requirements: Iterable[str], revision: str) -> bool:
    """Return whether an item can show that one of some requirements is broken.

    It or a step of it judges the requirement, or it has a table written, which is checked against
    everything that the audit and the checks of steps know of writers and of files.
    """
    judged = item.requirements_judged(revision)
    written = found_in_tables() if item.judged.question == "write" else frozenset()
    return any(
        name in judged
        or name in written
        or (item.judged.asked == "audit" and name in item.requirements)
        for name in requirements
    )


@cache
def found_in_tables() -> frozenset[str]:
    """Return the requirements of writers and files that the kit finds broken in a table.

    A check of the audit declares what it reports; steps of recipes and schemas cite it.
    """
    cited = (*cited_in_steps(PACKAGE), *cited_in_schemas(Path(schemas.__file__).parent))
    found = {name for each in cited for name in each.requirements}
    found.update(name for check in CHECKS for name in check.requirements)
    return frozenset(row.id for row in load_registry() if row.id in found and row.role != "reader")


def names(pattern: str, identity: str) -> bool:
    """Return whether a case id, spec id or pattern names an item."""
    if "*" in pattern:
        return fnmatchcase(identity, pattern)
    return identity == pattern or identity.startswith(f"{pattern}/")


def _unknown(what: str, name: str, known: Iterable[str]) -> SelectionError:
    return SelectionError(f"no {what} is called {name!r}{meant(name, known)}")


def _check(
    selection: Selection, items: Sequence[Item], registry: Registry, unread: Iterable[str]
) -> None:
    requirements = {row.id for row in registry}
    features = {row.feature for row in registry} | {f for item in items for f in item.features}
    chapters = {*registry.chapters, *(item.chapter for item in items)}
    for what, wanted, known in (
        ("requirement", selection.requirements, requirements),
        ("feature", selection.features, features),
        ("chapter", selection.chapters, chapters),
    ):
        for name in wanted:
            if name not in known:
                raise _unknown(what, name, known)
    ids = {*(item.id for item in items), *unread}
    for pattern in selection.cases:
        if not any(names(pattern, identity) for identity in ids):
            cases = {identity.rpartition("/")[0] for identity in ids}
            raise _unknown("case", pattern, ids | cases)


def select(
    selection: Selection, items: Sequence[Item], registry: Registry, unread: Iterable[str] = ()
) -> tuple[Item, ...]:
    """Return the items that the options ask for.

    Args:
        selection: what is asked for.
        items: everything that there is, but for what the selection does not reach.
        registry: the requirements, which say what a misspelling is.
        unread: ids of the items that it does not reach.

    Raises:
        SelectionError: an option names what does not exist.
        EmptySelectionError: all names exist, and no item has them all.
    """
    _check(selection, items, registry, unread)
    chosen = tuple(item for item in items if selection.takes(item))
    if not chosen:
        asked = {k: v for k, v in selection.as_document().items() if v}
        raise EmptySelectionError(f"no case is selected by {asked}")
    return chosen


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a selection, for runs on many machines.

    Items of one table, and layouts of one history, are in one part: they share a copy, and one can
    be the root cause of another's failure. The part depends on their name alone, so that a new case
    moves no other.

    Attributes:
        number: which one, from 1.
        parts: how many there are.
    """

    number: int
    parts: int

    def of(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """Return the items of this part, in the order in which they come."""
        return tuple(item for item in items if self._takes(item.id.rpartition("/")[0]))

    def as_document(self, selected: int) -> dict[str, Any]:
        """Return the part for the header of a results file.

        Args:
            selected: how many items the whole selection has.
        """
        return {"number": self.number, "of": self.parts, "selected": selected}

    def _takes(self, group: str) -> bool:
        digest = hashlib.sha256(group.encode()).digest()
        return int.from_bytes(digest[:8]) % self.parts == self.number - 1
