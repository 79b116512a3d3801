"""Strict reading of the registry's YAML files, with file and line in every complaint.

Covers the files under ``conformance/requirements/``. YAML's own loader drops the second of two
equal keys, turns ``no`` into false and forgets where a value stood; a registry that others gate
their CI on can afford none of that. Values are therefore read from the node tree: every scalar
is the text that stands there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from conformance.base.terminal import shortened
from conformance.base.untrusted import DocumentError, read_text

_LOADER: Final[type] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH: Final = 20
_MAX_EVENTS: Final = 500_000
"""Values and ends of lists and objects; each takes a hundred times its bytes."""

_MAX_MESSAGE_CHARACTERS: Final = 1000
"""Characters; a message repeats what stands in the file, which may be megabytes."""

_MAX_NUMBER_DIGITS: Final = 18
"""Digits."""

_NULLS: Final = frozenset({"", "~", "null"})


class RegistryError(ValueError):
    """A file or a requirement of the registry is not as it has to be.

    Attributes:
        place: ``file:line`` of the fault.
    """

    def __init__(self, place: str, message: str) -> None:
        """Keep the place apart from the words, so that an editor can jump to it."""
        super().__init__(f"{place}: {shortened(message, _MAX_MESSAGE_CHARACTERS)}")
        self.place = place


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a YAML file together with where it stands and what it is for.

    Attributes:
        path: the file.
        node: the value as PyYAML composed it.
        name: what the value is, for messages.
    """

    path: Path
    node: yaml.Node
    name: str

    @property
    def place(self) -> str:
        """Return ``file:line``, lines from 1."""
        return f"{self.path}:{_line(self.node.start_mark)}"

    @property
    def is_mapping(self) -> bool:
        """Return whether it has keys."""
        return isinstance(self.node, yaml.MappingNode)

    def fail(self, message: str) -> RegistryError:
        """Make the error that points at this value."""
        return RegistryError(self.place, message)

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Node]:
        """Take a mapping apart, refusing unknown, repeated and missing keys."""
        found: dict[str, Node] = {}
        for key, value in self._pairs():
            if key in found:
                raise Node(self.path, value, key).fail(f"{self.name} has {key!r} twice")
            if key not in required and key not in optional:
                raise Node(self.path, value, key).fail(f"{self.name} cannot have {key!r}")
            found[key] = Node(self.path, value, key)
        missing = [key for key in required if key not in found]
        if missing:
            raise self.fail(f"{self.name} lacks {', '.join(missing)}")
        return found

    def entries(self) -> dict[str, Node]:
        """Take a mapping with free keys apart, refusing repeated keys."""
        found: dict[str, Node] = {}
        for key, value in self._pairs():
            if key in found:
                raise Node(self.path, value, key).fail(f"{self.name} has {key!r} twice")
            found[key] = Node(self.path, value, f"{self.name} of {key}")
        return found

    def items(self, *, may_be_empty: bool = False) -> list[Node]:
        """Return the entries of a sequence; an empty one is refused unless ``may_be_empty``."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.fail(f"{self.name} must be a list")
        if not self.node.value and not may_be_empty:
            raise self.fail(f"{self.name} is empty")
        return [Node(self.path, item, f"an entry of {self.name}") for item in self.node.value]

    def text(self, pattern: re.Pattern[str] | None = None) -> str:
        """Read a non-empty scalar as the text that stands there."""
        value = self.node.value if isinstance(self.node, yaml.ScalarNode) else None
        # The C loader gives plain scalars an empty style, the Python one none.
        plain = isinstance(self.node, yaml.ScalarNode) and not self.node.style
        if value is None or not value.strip() or (plain and value in _NULLS):
            raise self.fail(f"{self.name} must be text")
        if pattern is not None and not pattern.fullmatch(value):
            raise self.fail(f"{self.name} {value!r} does not match {pattern.pattern}")
        return str(value)

    def integer(self) -> int:
        """Read a non-negative decimal integer."""
        value = self.text()
        if not re.fullmatch(r"0|[1-9][0-9]*", value) or len(value) > _MAX_NUMBER_DIGITS:
            raise self.fail(f"{self.name} must be a whole number, not {value!r:.80}")
        return int(value)

    def choice(self, choices: Collection[str]) -> str:
        """Read one word out of a closed list."""
        value = self.text()
        if value not in choices:
            raise self.fail(f"{self.name} {value!r} is not one of {', '.join(sorted(choices))}")
        return value

    def choices(self, choices: Collection[str]) -> tuple[str, ...]:
        """Read a list of different words out of a closed list."""
        values = [item.choice(choices) for item in self.items()]
        if len(set(values)) < len(values):
            raise self.fail(f"{self.name} repeats itself")
        return tuple(values)

    def _pairs(self) -> list[tuple[str, yaml.Node]]:
        if not isinstance(self.node, yaml.MappingNode):
            raise self.fail(f"{self.name} must be a mapping")
        return [(Node(self.path, key, "a key").text(), value) for key, value in self.node.value]


def read_yaml(path: Path, name: str) -> Node:
    """Read the one document of a YAML file.

    Raises:
        RegistryError: the file cannot be read, is not YAML, is empty, too large, or uses aliases.
    """
    try:
        text = read_text(path)
        depth = 0
        for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
            line = _line(event.start_mark)
            if count > _MAX_EVENTS:
                raise RegistryError(f"{path}:{line}", f"has more than {_MAX_EVENTS} values")
            if isinstance(event, yaml.AliasEvent):
                # An alias can make a few lines stand for gigabytes.
                raise RegistryError(f"{path}:{line}", "aliases are not allowed")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                # Composing recurses.
                raise RegistryError(f"{path}:{line}", f"is nested deeper than {_MAX_DEPTH} levels")
        root = yaml.compose(text, Loader=_LOADER)
    except DocumentError as error:
        raise RegistryError(f"{path}:1", str(error)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = _line(mark)
        problem = getattr(error, "problem", None) or "more than one document"
        raise RegistryError(f"{path}:{line}", f"is not YAML: {problem}") from error
    if root is None:
        raise RegistryError(f"{path}:1", f"{name} is empty")
    return Node(path, root, name)


def _line(mark: Any) -> int:
    return 1 if mark is None else int(mark.line) + 1
