"""Bounds of variants (sections Variant Data Type and Per-file Statistics, upstream)."""

from __future__ import annotations

import re
from typing import Final

from conformance.audit.grammar.z85 import decode_z85
from conformance.base.variants import Leaf, Step, Variant, VariantError, names_of, variant

_LAST_GROUP: Final = 5
_NAME: Final = r"\['((?:[^'\\\x00-\x1f]|\\[btnfr'\\]|\\u00(?:0[0-7bef]|1[0-9a-f]))*)'\]"
_STEP: Final = re.compile(rf"{_NAME}|\[(0|[1-9][0-9]*)\]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-f]{4})|(.))")
_ESCAPES: Final = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "'": "'", "\\": "\\"}
_MAX_DIGITS: Final = 9


def bounds_of(text: str) -> dict[tuple[Step, ...], Leaf]:
    """Read the bounds that statistics have of a variant, as paths to leaves.

    The text joins metadata and value, its example value and metadata: the first byte says which.
    The example also ends with less than five characters of Z85, for less than four bytes.

    Raises:
        VariantError: the text is no Z85, no object, or has something else than leaves by paths.
    """
    data = _bytes(text)
    found = Variant((), data)
    if found.nested == "object":
        found = variant(data[found.end_of_object() :], data)
    else:
        names, start = names_of(data)
        found = Variant(names, data, start)
        if found.nested != "object":
            raise VariantError("the bounds of a variant are no object")
    bounds = {}
    for path, inner in found.fields():
        leaf = inner.leaf()
        if leaf is not None:
            bounds[steps_of(path)] = leaf
    return bounds


def steps_of(path: str) -> tuple[Step, ...]:
    """Take a normalized JSON path apart.

    Raises:
        VariantError: it is something else.
    """
    at, steps = 1, list[Step]()
    while path[:1] == "$" and at < len(path):
        step = _STEP.match(path, at)
        if step is None or len(step[2] or "") > _MAX_DIGITS:
            break
        steps.append(int(step[2]) if step[1] is None else _ESCAPE.sub(_unescaped, step[1]))
        at = step.end()
    if at != len(path) or path[:1] != "$":
        raise VariantError(f"{path!r} is no normalized JSON path")
    return tuple(steps)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ESCAPES[match[2]]


def _bytes(text: str) -> bytes:
    short = -len(text) % _LAST_GROUP
    if short == _LAST_GROUP - 1:
        raise VariantError("one character of Z85 stands for nothing")
    try:
        data = decode_z85(text + "#" * short)
    except ValueError as error:
        raise VariantError(f"the bounds of a variant are no Z85: {error}") from None
    return data[: len(data) - short]
