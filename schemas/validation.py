"""Check a document against a schema.

Covers every section of the protocol that gives a document a shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from schemas import compiled
from schemas.catalog import UnknownSchemaError, names
from schemas.nesting import MAX_LEVELS, TooDeep, deeply, levels, on_large_stack

if TYPE_CHECKING:
    from schemas.explained import Violation

_LEVELS_ON_ANY_STACK: Final = 128
"""Levels of JSON that the compiled validator follows in 128 KiB: it takes less than 1 KiB of stack
for each, and where there is no stack left it ends the process."""


def errors(name: str, document: Any) -> list[Violation]:
    """Return the violations of the schema ``name`` by a parsed JSON document, ordered by place.

    Of a great many the first are given. A document that is nested deeper than the limit gives one
    whose ``limit`` is true, which says nothing against it.

    Raises:
        UnknownSchemaError: no schema has this name.
    """
    if is_valid(name, document, deep=False):
        return []
    from schemas.explained import Violation, violations  # noqa: PLC0415  jsonschema is slow to load

    try:
        return deeply(lambda given: violations(name, given), document)
    except TooDeep as error:
        return [Violation("", f"not checked: {error}", f"{name}#", (), limit=True)]


def is_valid(name: str, document: Any, *, deep: bool = True) -> bool:
    """Return in microseconds whether a document is valid.

    Of the schemas with ``uniqueItems``, which are the kit's own, it may be false for valid ones.

    Args:
        name: of the schema.
        document: parsed JSON.
        deep: the answer for a document that is nested deeper than the limit.

    Raises:
        UnknownSchemaError: no schema has this name.
    """
    if name not in names():
        raise UnknownSchemaError(name)
    depth = levels(document)
    if depth <= _LEVELS_ON_ANY_STACK:
        return compiled.is_valid(name, document)
    if depth > MAX_LEVELS:
        return deep
    try:
        return on_large_stack(lambda: compiled.is_valid(name, document))
    except TooDeep:
        return deep
