"""Schemas as Python closures, to let valid documents pass quickly.

A general validator spends milliseconds on each action of a log, nearly all of it on documents
that are valid. A compiled schema answers only whether a document is valid, in microseconds; the
validator is then asked for the errors of the few that are not. Every keyword that the schemas
use is here, and one that is not is refused when the schema is compiled.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from schemas.catalog import contents, urn
from schemas.keywords import EXTENSIONS

__all__ = ["is_valid"]

Test: TypeAlias = Callable[[Any], bool]

_ANNOTATIONS: Final = frozenset(
    {"$id", "$defs", "title", "description", "contentMediaType", "contentSchema"}
    | {"x-section", "x-requirement", "x-message"}
)


def _is_integer(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


_NUMBERS: Final = (int, float, Decimal)

_TYPES: Final[Mapping[str, Test]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": _is_integer,
    # Statistics come with exact fractions.
    "number": lambda value: isinstance(value, _NUMBERS) and not isinstance(value, bool),
}
_PLAINLY: Final[Mapping[str, frozenset[type]]] = {
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
    "integer": frozenset({int}),
    "number": frozenset(_NUMBERS),
}
"""Types of Python whose values are of a type of JSON, whatever they are."""
_PLAIN: Final = frozenset({dict, list, str, bool, type(None), int})
"""Types of Python whose values are of no other type of JSON than that."""


def _same(left: Any, right: Any) -> bool:
    """Compare as JSON does: true is not 1; only scalars occur in the schemas."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _on(kind: type | tuple[type, ...], test: Test) -> Test:
    """Apply a test to values of its kind alone, as JSON Schema does."""
    return lambda value: not isinstance(value, kind) or test(value)


def _all(tests: list[Test]) -> Test:
    """Join tests, the most common numbers of them without a loop: it takes most of the time."""
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda value: first(value) and second(value)
    if len(tests) == 3:
        one, two, three = tests
        return lambda value: one(value) and two(value) and three(value)

    def test(value: Any) -> bool:
        for each in tests:  # noqa: SIM110  a loop is faster than all()
            if not each(value):
                return False
        return True

    return test


def _number(test: Test) -> Test:
    is_number = _TYPES["number"]
    return lambda value: not is_number(value) or test(value)


def _type(wanted: Any) -> Test:
    names = [wanted] if isinstance(wanted, str) else wanted
    tests = [_TYPES[name] for name in names]
    plainly = frozenset[type]().union(*(_PLAINLY[name] for name in names))

    def test(value: Any) -> bool:
        kind = type(value)
        return kind in plainly or (kind not in _PLAIN and any(each(value) for each in tests))

    return test


def _members(known: Mapping[str, Test]) -> Test:
    """Test the members of an object that are known, by whichever of the two is shorter."""
    tests = [*known.items()]

    def test(value: dict[str, Any]) -> bool:
        if len(tests) < len(value):
            return all(key not in value or own(value[key]) for key, own in tests)
        return all(key not in known or known[key](member) for key, member in value.items())

    return test


def _required(wanted: list[str]) -> Test:
    keys = frozenset(wanted)
    return _on(dict, lambda value: keys <= value.keys())


def _are_unique_strings(items: list[Any]) -> bool:
    return all(isinstance(item, str) for item in items) and len(set(items)) == len(items)


def _extension(keyword: str, wanted: Any) -> Test:
    errors = EXTENSIONS[keyword]
    return lambda value: next(errors(wanted, value), None) is None


def _least(kind: type) -> Callable[[Any], Test]:
    return lambda wanted: _on(kind, lambda value: len(value) >= wanted)


def _most(kind: type) -> Callable[[Any], Test]:
    return lambda wanted: _on(kind, lambda value: len(value) <= wanted)


def _pattern(wanted: str) -> Test:
    search = re.compile(wanted).search
    return _on(str, lambda value: search(value) is not None)


_LEAVES: Final[Mapping[str, Callable[[Any], Test]]] = {
    "type": _type,
    "const": lambda wanted: lambda value: _same(value, wanted),
    "enum": lambda wanted: lambda value: any(_same(value, choice) for choice in wanted),
    "required": _required,
    "minimum": lambda wanted: _number(lambda value: value >= wanted),
    "maximum": lambda wanted: _number(lambda value: value <= wanted),
    "pattern": _pattern,
    # Other than strings, unique items are left to the general validator.
    "uniqueItems": lambda _: _on(list, _are_unique_strings),
    "minItems": _least(list),
    "maxItems": _most(list),
    "minLength": _least(str),
    "maxLength": _most(str),
    "minProperties": _least(dict),
    "maxProperties": _most(dict),
}
"""Keywords whose value is no schema."""

_Choices: TypeAlias = Callable[[Any], list[Test]]
"""Gives the tests that a value may pass."""

_COMBINED: Final[Mapping[str, Callable[[_Choices], Test]]] = {
    "anyOf": lambda choices: lambda value: any(test(value) for test in choices(value)),
    "oneOf": lambda choices: lambda value: sum(test(value) for test in choices(value)) == 1,
}
"""Keywords whose value is a list of schemas of which one is enough."""

_WITHIN: Final[Mapping[str, Callable[[Test], Test]]] = {
    "not": lambda test: lambda value: not test(value),
    "propertyNames": lambda test: _on(dict, lambda value: all(test(key) for key in value)),
    "contains": lambda test: _on(list, lambda value: any(test(item) for item in value)),
}
"""Keywords whose value is one schema."""

_STRUCTURAL: Final = frozenset(
    {"properties", "patternProperties", "additionalProperties", "prefixItems", "items"}
    | {"if", "then", "else"}
)
"""Keywords that mean something together only."""


class _Compiler:
    """Turns the subschemas of one schema file into tests."""

    def __init__(self, name: str) -> None:
        self.name = name

    def test(self, schema: Mapping[str, Any]) -> Test:
        """Compile a subschema into one test.

        Raises:
            NotImplementedError: it has a keyword that is not known here.

        """
        tests = []
        if schema.keys() & {"properties", "patternProperties", "additionalProperties"}:
            tests.append(self._object(schema))
        if schema.keys() & {"prefixItems", "items"}:
            tests.append(self._array(schema))
        if "if" in schema:
            tests.append(self._branch(schema))
        for keyword, value in schema.items():
            if keyword not in _ANNOTATIONS and keyword not in _STRUCTURAL:
                tests.append(self._keyword(keyword, value))
        return _all(tests)

    def _keyword(self, keyword: str, wanted: Any) -> Test:
        if keyword in _LEAVES:
            return _LEAVES[keyword](wanted)
        if keyword == "allOf":
            return _all([self.test(choice) for choice in wanted])
        if keyword in _COMBINED:
            return _COMBINED[keyword](self._choices(wanted))
        if keyword in _WITHIN:
            return _WITHIN[keyword](self.test(wanted))
        if keyword == "$ref":
            return self._reference(wanted)
        if keyword in EXTENSIONS:
            return _extension(keyword, wanted)
        # To pass over a keyword would take values that it forbids.
        raise NotImplementedError(f"{self.name} has the keyword {keyword}")

    def _choices(self, schemas: list[Mapping[str, Any]]) -> _Choices:
        """Compile choices: of those that require a member an object without it passes none."""
        every: list[Test] = []
        others: list[Test] = []
        by_member: dict[str, list[Test]] = {}
        for schema in schemas:
            test = self.test(schema)
            members = schema.get("required", ())
            every.append(test)
            (by_member.setdefault(members[0], []) if members else others).append(test)

        def choices(value: Any) -> list[Test]:
            if not isinstance(value, dict):
                return every
            own = [test for member in value if member in by_member for test in by_member[member]]
            return own + others

        return choices

    def _branch(self, schema: Mapping[str, Any]) -> Test:
        condition = self.test(schema["if"])
        then = self.test(schema.get("then", {}))
        if "else" not in schema:
            return lambda value: not condition(value) or then(value)
        other = self.test(schema["else"])
        return lambda value: then(value) if condition(value) else other(value)

    def _object(self, schema: Mapping[str, Any]) -> Test:
        known = {key: self.test(child) for key, child in schema.get("properties", {}).items()}
        patterns = [
            (re.compile(pattern).search, self.test(child))
            for pattern, child in schema.get("patternProperties", {}).items()
        ]
        rest = schema.get("additionalProperties", {})
        other: Test = (lambda _: False) if rest is False else self.test(rest)

        if not patterns and rest == {}:
            return _on(dict, _members(known))

        def test(value: dict[str, Any]) -> bool:
            for key, member in value.items():
                own = known.get(key)
                matching = [check for search, check in patterns if search(key)]
                if own is not None and not own(member):
                    return False
                if not all(check(member) for check in matching):
                    return False
                if own is None and not matching and not other(member):
                    return False
            return True

        return _on(dict, test)

    def _array(self, schema: Mapping[str, Any]) -> Test:
        first = [self.test(child) for child in schema.get("prefixItems", ())]
        rest = self.test(schema.get("items", {}))

        def test(value: list[Any]) -> bool:
            for at, member in enumerate(value):
                if not (first[at] if at < len(first) else rest)(member):
                    return False
            return True

        return _on(list, test)

    def _reference(self, target: str) -> Test:
        name, _, pointer = target.partition("#")
        return _reference(name.removeprefix(urn("")) or self.name, pointer)


@functools.cache
def _compiled(name: str, pointer: str) -> Test:
    schema: Any = contents(name)
    for part in filter(None, pointer.split("/")):
        schema = schema[part]
    return _Compiler(name).test(schema)


def _reference(name: str, pointer: str) -> Test:
    """Return a test that compiles its target when it is first used, since schemas are recursive."""
    target: list[Test] = []

    def test(value: Any) -> bool:
        if not target:
            target.append(_compiled(name, pointer))
        return target[0](value)

    return test


def is_valid(name: str, document: Any) -> bool:
    """Return whether a document is valid; false also where only the general validator knows.

    Raises:
        RecursionError: the document is nested too deeply.

    """
    return _compiled(name, "")(document)
