"""The parts of schemas that tables of the code give: operations, questions, claims.

See ``docs/formats.md``, "Write recipes" and "Adapter messages". A schema is a file of
its own; what a table of ours says in it is written there by ``python -m conformance.guides``.
"""

from __future__ import annotations

import functools
import json
import operator
import textwrap
from collections.abc import Mapping
from typing import Any, Final

from conformance.adapter import WRITE_OPERATIONS
from conformance.judging.claims import WORDS
from conformance.questions import QUESTIONS
from generators.oracle.operations import OPERATIONS, Entry

_WIDTH: Final = 100


def _step(entry: Entry) -> dict[str, Any]:
    """Return what a step of one operation has to look like."""
    required = [n for n, a in entry.arguments.items() if a.required and n not in entry.either]
    needed: dict[str, Any] = {"required": required}
    if entry.either:
        needed = {"anyOf": [{"required": [name]} for name in entry.either]}
    return {
        "if": {"required": ["operation"], "properties": {"operation": {"const": entry.name}}},
        "then": {
            **needed,
            "properties": {name: each.shape for name, each in entry.arguments.items()},
            "propertyNames": {
                "enum": ["operation", *entry.arguments],
                "x-message": f"not an argument of {entry.name}",
            },
        },
    }


_WRAPPING: Final = (
    {
        "if": {"properties": {"type": {"const": "contested"}}},
        "then": {"required": ["contested"]},
        "else": {
            "not": {"required": ["contested"]},
            "x-message": "contested belongs to the type contested",
        },
    },
    {"if": {"properties": {"type": {"const": "catalog"}}}, "then": {"required": ["ratified"]}},
)
_FIELDS: Final = (
    "type", "of", "title", "requirement", "requirements", "hazard", "needs", "expected", "error",
    "contested", "description", "ratified",
)  # fmt: skip
"""Fields of any spec that a request asks."""

_WRAPPED: Final = ("contested", "catalog", "located")
"""Types of specs that have the type of their question in ``of``."""


def _spec(word: str) -> list[dict[str, Any]]:
    """Return the shape of specs of each type, by the field that says it."""
    return [
        {"if": {"properties": {word: {"const": name}}}, "then": {"$ref": f"#/$defs/{name}Spec"}}
        for name in QUESTIONS
    ]


SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "schemas/kit/recipe-step.schema.json": {
        "properties/operation/enum": sorted(OPERATIONS),
        "allOf": [_step(entry) for _, entry in sorted(OPERATIONS.items())],
    },
    "schemas/kit/history.schema.json": {
        "properties/operations/items/properties/operation/enum": sorted(
            entry.name for entry in OPERATIONS.values() if entry.history
        )
    },
    "schemas/kit/adapter-request.schema.json": {"$defs/operation/enum": sorted(WRITE_OPERATIONS)},
    "schemas/kit/adapter-description.schema.json": {
        f"properties/claims/properties/{name}/items/enum": sorted(words)
        for name, words in WORDS.items()
    },
    "schemas/kit/spec.schema.json": {
        "properties/type/enum": [*QUESTIONS, *_WRAPPED],
        "properties/of/enum": [*QUESTIONS],
        "then/allOf": [*_WRAPPING, *_spec("of")],
        "else/allOf": _spec("type"),
        **{
            f"$defs/{name}Spec/propertyNames/enum": [*_FIELDS, *question.parameters]
            for name, question in QUESTIONS.items()
            if question.request is not None
        },
    },
}
"""The files, and in each of them the places that a table gives, as JSON pointers."""


def with_parts(name: str, text: str) -> str:
    """Return the text of a schema with every part as the code gives it."""
    document = json.loads(text)
    for place, part in SCHEMAS[name].items():
        *folders, last = place.split("/")
        functools.reduce(operator.getitem, folders, document)[last] = part
    return _json(document) + "\n"


def _json(value: Any, indent: str = "", before: int = 0, after: int = 0) -> str:
    """Spell JSON in lines of at most a width: what fits into one line stands in one."""
    flat = json.dumps(value, ensure_ascii=False)
    if before + len(flat) + after <= _WIDTH or not value or not isinstance(value, dict | list):
        return flat
    pad = f"{indent}  "
    if isinstance(value, dict):
        parts = [(f"{pad}{json.dumps(key)}: ", each) for key, each in value.items()]
    elif any(isinstance(each, dict | list) for each in value):
        parts = [(pad, each) for each in value]
    else:
        words = textwrap.wrap(flat[1:-1], _WIDTH - len(pad), break_on_hyphens=False)
        return "\n".join(["[", *(pad + line for line in words), f"{indent}]"])
    last = len(value) - 1
    lines = [
        start + _json(each, pad, len(start), at < last) for at, (start, each) in enumerate(parts)
    ]
    left, right = "{}" if isinstance(value, dict) else "[]"
    return f"{left}\n" + ",\n".join(lines) + f"\n{indent}{right}"
