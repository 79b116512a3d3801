"""Say which rule and which requirement an invalid document breaks.

Covers every section of the protocol that gives a document a shape. Most documents are valid, so
that this module, and jsonschema, are imported for the first that is not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.jsonschema import DRAFT202012, Schema

from schemas.catalog import UnknownSchemaError, contents, names, urn
from schemas.keywords import EXTENSIONS, Errors

_MAX_MESSAGE_CHARACTERS: Final = 300
"""Characters; a longer message repeats the document instead of explaining it."""

_MAX_VIOLATIONS: Final = 100
"""Violations of one document that are explained."""


def _keyword(errors: Callable[[Any, object], Errors]) -> Any:
    """Bring a keyword into the shape that jsonschema wants."""

    def judge(_: object, wanted: object, instance: object, __: object) -> Iterator[ValidationError]:
        for message, *path in errors(wanted, instance):
            yield ValidationError(message, schema_path=path)

    return judge


_Validator: Final = extend(  # type: ignore[no-untyped-call] # jsonschema is untyped here
    Draft202012Validator, {name: _keyword(errors) for name, errors in EXTENSIONS.items()}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One keyword of one schema.

    Attributes:
        location: where the keyword stands, as ``action/add#/properties/size/minimum``; a missing
            property is ``…/required/<property>``.
        requirement: ids of the requirements that the rule enforces; empty when it enforces none.
        message: a sentence of the schema's author for people, when the keyword's own does not do.
        contested: not every reading of the text demands it.
    """

    location: str
    requirement: tuple[str, ...]
    message: str | None
    contested: bool


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One place of a document that breaks one rule.

    Attributes:
        path: JSON pointer into the document; empty for the document itself.
        message: what is wrong there.
        rule: see :attr:`Rule.location`.
        requirement: see :attr:`Rule.requirement`.
        limit: nothing is broken: the document is beyond a limit and was not looked at further.
        contested: see :attr:`Rule.contested`.
    """

    path: str
    message: str
    rule: str
    requirement: tuple[str, ...]
    limit: bool = False
    contested: bool = False


@dataclass(frozen=True, slots=True)
class _Step:
    """A subschema on the way to a failing keyword."""

    name: str
    pointer: str
    schema: Any


def _escape(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def _dig(document: Any, pointer: str) -> Any:
    for part in filter(None, pointer.split("/")):
        key = part.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def _follow(step: _Step) -> _Step:
    target, _, pointer = step.schema["$ref"].partition("#")
    name = target.removeprefix(urn("")) or step.name
    return _Step(name, pointer, _dig(contents(name), pointer))


def _child(step: _Step, part: str | int) -> _Step | None:
    try:
        schema = step.schema[part]
    except (IndexError, KeyError, TypeError):
        return None
    return _Step(step.name, f"{step.pointer}/{_escape(part)}", schema)


def _walk(step: _Step, parts: tuple[str | int, ...], goal: Any) -> tuple[_Step, ...] | None:
    """Find the way from a subschema to ``goal`` along a jsonschema schema path.

    The path leaves references out, so a ``$ref`` is tried wherever the plain way ends.
    """
    if not parts and step.schema is goal:
        return (step,)
    ahead = _child(step, parts[0]) if parts else None
    rest = _walk(ahead, parts[1:], goal) if ahead else None
    if rest is None and isinstance(step.schema, dict) and "$ref" in step.schema:
        rest = _walk(_follow(step), parts, goal)
    return None if rest is None else (step, *rest)


def _cited(steps: Sequence[_Step]) -> Any:
    """Return what the innermost of the subschemas on the way cites, of those that do."""
    schemas = (step.schema for step in reversed(steps) if isinstance(step.schema, dict))
    return next((each["x-requirement"] for each in schemas if "x-requirement" in each), ())


def locate(name: str, error: ValidationError) -> Rule:
    """Return the rule of the schema ``name`` that an error of its validator comes from.

    Raises:
        ValueError: the error comes from another schema.
    """
    *way, keyword = error.absolute_schema_path
    missing = keyword if way and way[-1] == "required" else None
    if missing is not None:
        way.pop()
    root = _Step(name, "", contents(name))
    steps = _walk(root, tuple(way), error.schema)
    if steps is None:
        raise ValueError(f"the error does not come from the schema {name}: {error.message}")
    last = steps[-1]
    tail = f"required/{_escape(missing)}" if missing is not None else _escape(keyword)
    own: Any = None
    held = last.schema
    if missing is not None:
        held = last.schema.get("properties", {}).get(missing, {})
        own = held.get("x-requirement")
    return Rule(
        location=f"{last.name}#{last.pointer}/{tail}",
        requirement=tuple(own or _cited(steps)),
        message=None if missing is not None else last.schema.get("x-message"),
        contested=("required" if missing is not None else keyword) in held.get("x-contested", ()),
    )


@functools.cache
def _registry() -> Registry[Schema]:
    """Return all schemas as a referencing registry; nothing is ever fetched."""
    return Registry[Schema]().with_resources(
        (urn(name), DRAFT202012.create_resource(contents(name))) for name in names(shared=True)
    )


@functools.cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of one schema; references resolve inside the package alone.

    Raises:
        UnknownSchemaError: no schema has this name.
    """
    if name not in names():
        raise UnknownSchemaError(name)
    built: Draft202012Validator = _Validator(contents(name), registry=_registry())
    return built


def _shorten(message: str) -> str:
    if len(message) <= _MAX_MESSAGE_CHARACTERS:
        return message
    half = _MAX_MESSAGE_CHARACTERS // 2
    return f"{message[:half]} … {message[-half:]}"


def _violation(name: str, error: ValidationError) -> Violation:
    rule = locate(name, error)
    message = rule.message or error.message
    if rule.message and isinstance(error.instance, str | int | float):
        message = f"{message}: {error.instance!r}"
    return Violation(
        path="".join(f"/{_escape(part)}" for part in error.absolute_path),
        message=_shorten(message),
        rule=rule.location,
        requirement=rule.requirement,
        contested=rule.contested,
    )


def violations(name: str, document: Any) -> list[Violation]:
    """Return the violations of the schema ``name`` by a document, ordered by place."""
    found = islice(validator(name).iter_errors(document), _MAX_VIOLATIONS)
    return sorted(_violation(name, error) for error in found)
