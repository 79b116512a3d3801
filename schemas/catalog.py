"""Where the schema files are and how they refer to each other.

Covers every section of the protocol that gives a document a shape.
"""

from __future__ import annotations

import copy
import difflib
import functools
import json
from importlib import resources
from typing import Any, Final

_GROUPS: Final = ("action", "log", "table", "kit")
_SHARED: Final = ("common",)
"""Folders of definitions that others refer to and that describe no document themselves."""

_SUFFIX: Final = ".schema.json"


class UnknownSchemaError(KeyError):
    """No schema has this name; the message offers the nearest ones."""

    def __init__(self, name: str) -> None:
        """Remember the name that was asked for."""
        near = difflib.get_close_matches(name, names(), n=3, cutoff=0.4)
        self.name = name
        self.hint = f"did you mean {', '.join(near)}?" if near else "see schemas.names()"
        super().__init__(name)

    def __str__(self) -> str:
        """Name the missing schema and the nearest that exist."""
        return f"no schema is named {self.name!r}; {self.hint}"


@functools.cache
def _documents() -> dict[str, dict[str, Any]]:
    """Read every schema file once, by name."""
    root = resources.files("schemas")
    found = {}
    for group in (*_GROUPS, *_SHARED):
        for entry in sorted(root.joinpath(group).iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(_SUFFIX):
                stem = entry.name.removesuffix(_SUFFIX)
                found[f"{group}/{stem}"] = json.loads(entry.read_text(encoding="utf-8"))
    return found


def names(*, shared: bool = False) -> tuple[str, ...]:
    """Return the name of every schema that describes a document, grouped, in a stable order.

    Args:
        shared: with those that others refer to and that describe no document themselves.
    """
    return tuple(name for name in _documents() if shared or not name.startswith(_SHARED))


def load(name: str) -> dict[str, Any]:
    """Return a fresh copy of one schema, as parsed JSON.

    Raises:
        UnknownSchemaError: no schema has this name.
    """
    return copy.deepcopy(_document(name))


def _document(name: str) -> dict[str, Any]:
    try:
        return _documents()[name]
    except KeyError:
        raise UnknownSchemaError(name) from None


@functools.cache
def requirements(name: str) -> tuple[str, ...]:
    """Return every requirement that a violation of a schema can cite, those it refers to included.

    Raises:
        UnknownSchemaError: no schema has this name.
    """
    found: set[str] = set()
    seen: set[str] = set()
    pending = [name]
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            nodes: list[Any] = [_document(current)]
            while nodes:
                node = nodes.pop()
                if isinstance(node, list):
                    nodes.extend(node)
                elif isinstance(node, dict):
                    found.update(node.get("x-requirement", ()))
                    target = str(node.get("$ref", "")).partition("#")[0]
                    pending += [target.removeprefix(urn(""))] if target else []
                    # Strings that hold JSON are parsed by the callers that check them.
                    nodes.extend(v for k, v in node.items() if k != "contentSchema")
    return tuple(sorted(found))


def urn(name: str) -> str:
    """Return the ``$id`` of a schema, under which the others refer to it."""
    return f"urn:delta-tck:schema:{name}"


@functools.cache
def contents(name: str) -> dict[str, Any]:
    """Return one schema, as parsed JSON, without ``$schema``: always the same object.

    At each reference to a resource that has ``$schema``, jsonschema would switch to its stock
    validator and forget the keywords of :mod:`schemas.keywords`.

    Raises:
        UnknownSchemaError: no schema has this name.
    """
    return {key: value for key, value in _document(name).items() if key != "$schema"}
