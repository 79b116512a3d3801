"""Baselines: failures that are known, each with what must still hold for it to count.

A baseline is a YAML file:

    failures:
      - id: chapter/case/spec        # "*" stands for any text; at most 20 items
        requirement: REC-001         # one that the item names or the verdict gives
        message: "rows: 1 missing"   # part of the message; /…/ is a regular expression
        reason: reads a removed file
        link: https://…              # optional
        intermittent: true           # optional: the item passes at some times and fails at others

An entry whose item passes, fails in another way or does not exist is stale, and a stale baseline
fails the run: a list that may rot hides regressions. Only an intermittent entry lets its item pass
as well, for implementations whose answer depends on chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import yaml

from conformance.faults import BaselineError
from conformance.registry_yaml import Node, RegistryError, read_yaml

__all__ = ["UNTRIAGED", "Baseline", "Entry", "load_baseline", "write_baseline"]

UNTRIAGED: Final = "untriaged"
"""The reason that :func:`write_baseline` leaves for a person to replace."""

_WIDEST: Final = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One known failure.

    Attributes:
        id: id or pattern.
        requirement: the requirement that is broken.
        message: text or ``/regular expression/`` that the message must still match.
        reason: why it is known.
        link: where it is discussed.
        intermittent: whether the item may pass as well.
        place: ``file:line`` of the entry.

    """

    id: str
    requirement: str
    message: str
    reason: str
    link: str | None = None
    intermittent: bool = False
    place: str = ""

    def names(self, identity: str) -> bool:
        """Tell whether the entry is about an item."""
        return fnmatchcase(identity, self.id) if "*" in self.id else identity == self.id

    def explains(self, requirements: Iterable[str], message: str) -> bool:
        """Tell whether a failure is the known one."""
        if self.requirement not in requirements:
            return False
        if len(self.message) > 2 and self.message[0] == self.message[-1] == "/":
            return re.search(self.message[1:-1], message) is not None
        return self.message in message


@dataclass(frozen=True, slots=True)
class Baseline:
    """The known failures of one implementation."""

    entries: tuple[Entry, ...] = ()

    def about(self, identity: str) -> tuple[Entry, ...]:
        """Give the entries about an item."""
        return tuple(entry for entry in self.entries if entry.names(identity))

    def check(self, universe: Sequence[str]) -> list[str]:
        """Name the entries that no item has, or that too many have.

        Args:
            universe: ids of all items that exist, selected or not.

        """
        faults = []
        for entry in self.entries:
            matched = sum(entry.names(identity) for identity in universe)
            if not matched:
                faults.append(f"{entry.place}: {entry.id} matches no case")
            elif matched > _WIDEST:
                faults.append(f"{entry.place}: {entry.id} matches {matched} cases, over {_WIDEST}")
        return faults


def load_baseline(path: Path) -> Baseline:
    """Read a baseline file.

    Raises:
        BaselineError: it is missing or malformed; the message has file and line.

    """
    try:
        root = read_yaml(path, "a baseline").fields(("failures",))
        entries = tuple(_entry(node) for node in root["failures"].items(may_be_empty=True))
    except RegistryError as error:
        raise BaselineError(str(error)) from error
    return Baseline(entries)


def _entry(node: Node) -> Entry:
    values = node.fields(("id", "requirement", "message", "reason"), ("link", "intermittent"))
    chance = values.pop("intermittent", None)
    intermittent = chance is not None and chance.choice(("true", "false")) == "true"
    texts = {key: value.text() for key, value in values.items()}
    message = texts["message"]
    if len(message) > 2 and message[0] == message[-1] == "/":
        try:
            re.compile(message[1:-1])
        except re.error as error:
            raise values["message"].fail(f"is no regular expression: {error}") from error
    return Entry(**texts, intermittent=intermittent, place=node.place)


def write_baseline(path: Path, failures: Iterable[dict[str, Any]]) -> int:
    """Write failures as a baseline whose reasons a person has to fill in.

    Args:
        path: the file to write.
        failures: records of failing items.

    Returns:
        How many entries were written.

    """
    entries = [
        {
            "id": record["id"],
            "requirement": record["requirement"] or record["requirements"][0],
            "message": record["message"],
            "reason": UNTRIAGED,
        }
        for record in sorted(failures, key=lambda record: str(record["id"]))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump({"failures": entries}, sort_keys=False, allow_unicode=True, width=100)
    path.write_text(text, encoding="utf-8")
    return len(entries)
