"""Keywords that the schemas use beyond draft 2020-12, for rules that it cannot express.

A validator that does not know them ignores them, as the draft demands, so the files stay usable
with any JSON Schema library; it then checks a little less.

``x-ascending``
    ``true``: the numbers of the array rise strictly ("File Size Histogram Schema").
``x-distinct-names``
    a property name: its values, over the objects of the array, differ when letter case is
    ignored ("Struct Field").
``x-same-length``
    names of array properties that are equally long ("File Size Histogram Schema").
``x-within``
    a pair of array properties: each element of the first is also in the second
    ("Supported Features").

``x-requirement`` (ids of requirements) and ``x-message`` (a sentence for a reader) annotate a rule
and judge nothing. ``x-contested`` names keywords of a rule that not every reading of the text
demands: ``required`` of a property, that it is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

Errors: TypeAlias = Iterator[tuple[str, ...]]
"""A message each; behind it the member of the keyword's own value that is broken, if it has one."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _required(names: Sequence[str], instance: object) -> Errors:
    """Report one error per missing property, with the property in the schema path."""
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield f"{name!r} is missing", name


def _pattern(pattern: str, instance: object) -> Errors:
    """Find a pattern as ECMA 262 has it, whose ``$`` stands at the end of a text alone."""
    if not isinstance(instance, str):
        return
    ended = pattern.endswith("$") and not pattern.endswith("\\$")
    if re.search(f"{pattern[:-1]}\\Z" if ended else pattern, instance) is None:
        yield (f"{instance!r} does not match {pattern!r}",)


def _ascending(wanted: object, instance: object) -> Errors:
    if wanted is not True or not isinstance(instance, list) or not all(map(_is_number, instance)):
        return
    for low, high in pairwise(instance):
        if low >= high:
            yield (f"{high} follows {low}, but the numbers must rise strictly",)
            return


def _distinct_names(key: str, instance: object) -> Errors:
    if not isinstance(instance, list):
        return
    seen: dict[str, str] = {}
    for item in instance:
        name = item.get(key) if isinstance(item, dict) else None
        if not isinstance(name, str):
            continue
        # Not by folding: of ß and ss the lower cases are two.
        folded = name.lower()
        if folded in seen:
            yield (f"{key} {name!r} repeats {seen[folded]!r}, letter case ignored",)
        seen.setdefault(folded, name)


def _same_length(names: Sequence[str], instance: object) -> Errors:
    if not isinstance(instance, dict):
        return
    lengths = {name: len(instance[name]) for name in names if isinstance(instance.get(name), list)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        yield (f"arrays differ in length: {listed}",)


def _within(names: Sequence[str], instance: object) -> Errors:
    if not isinstance(instance, dict):
        return
    inner, outer = (instance.get(name) for name in names)
    if not isinstance(inner, list) or not isinstance(outer, list | None):
        return
    known = {item for item in outer or () if isinstance(item, str)}
    for item in inner:
        if item not in (known if isinstance(item, str) else outer or ()):
            yield (f"{item!r} is in {names[0]} but not in {names[1]}",)


EXTENSIONS: Final[Mapping[str, Callable[[Any, object], Errors]]] = {
    "pattern": _pattern,
    "required": _required,
    "x-ascending": _ascending,
    "x-distinct-names": _distinct_names,
    "x-same-length": _same_length,
    "x-within": _within,
}
"""Keyword to what gives the errors of a document, from the keyword's own value and it."""
