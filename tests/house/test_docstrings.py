"""What the docstring of a public function or class says: its errors, and the units of numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from tracked import ROOT, tracked

PACKAGES = ("schemas", "reference_impl", "generators", "conformance")

_MEASURE = re.compile(
    r"(?:^|_)(?:age|capacity|deadline|duration|elapsed|growth|interval|length|memory|modified|now"
    r"|retention|seconds|sizes?|timeout|timestamp|width|limit|(?:enabled|created|modified)_at)$"
)
_UNIT = re.compile(
    r"byte|second|\bms\b|milli|micro|\brows?\b|epoch|charact|KiB|MiB|GiB|\bdays?\b|week|hour|\bbits?\b"
    r"|number of|how many|at most|unit|items|entries",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\b(?:int|float)\b")

_NAMED = re.compile(r"^ {4}(\w+(?:, \w+)*): ", re.MULTILINE)
"""What a section of a docstring has lines about."""

_UNEXPLAINED = re.compile(
    r"^ +[A-Z]\w+: (?:it|there|they|one|some) (?:is|are|has|have|does)"
    r"(?: (?:one|some|none|not))?\.$",
    re.MULTILINE,
)
"""The cause of an error that only repeats what the first line says, by a pronoun."""

Callables = ast.FunctionDef | ast.AsyncFunctionDef


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _defined(body: list[ast.stmt]) -> Iterator[ast.ClassDef | Callables]:
    for node in body:
        if isinstance(node, ast.ClassDef | Callables) and _is_public(node.name):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _defined(node.body)


def _raised(node: ast.AST, caught: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the errors that a function raises itself and does not catch."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(child, ast.Try):
            types = [h.type for h in child.handlers if h.type is not None]
            inside = caught | {x for each in types for x in re.findall(r"\w+", ast.unparse(each))}
            yield from _raised(ast.Module(child.body, []), inside)
            rest = [*child.handlers, *child.orelse, *child.finalbody]
            for each in rest:
                yield from _raised(ast.Module([each], []), caught)  # type: ignore[list-item]
            continue
        if isinstance(child, ast.Raise) and child.exc is not None:
            name = ast.unparse(_error_class(child.exc)).split(".")[-1]
            if name[0].isupper() and name not in caught:
                yield name
        yield from _raised(child, caught)


def _error_class(raised: ast.expr) -> ast.expr:
    """Return what is called to make an error, or the class that ``error`` of a place is given."""
    if not isinstance(raised, ast.Call):
        return raised
    by_place = isinstance(raised.func, ast.Attribute) and raised.func.attr == "error"
    return raised.args[0] if by_place and raised.args else raised.func


def _unnamed_errors(node: Callables, bases: dict[str, set[str]]) -> set[str]:
    named = ast.get_docstring(node) or ""
    return {
        e for e in _raised(node) if not any(re.search(rf"\b{x}\b", named) for x in _line(e, bases))
    }


def _line(error: str, bases: dict[str, set[str]]) -> set[str]:
    """Return an error and the classes that it is one of."""
    return {error}.union(*(_line(base, bases) for base in bases.get(error, ())))


def _measures(node: ast.ClassDef | Callables) -> Iterator[tuple[str, str]]:
    """Yield the numbers that need a unit, each with what is said of it."""
    text = ast.get_docstring(node) or ""
    if isinstance(node, ast.ClassDef):
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                yield from _measure(field.target.id, field.annotation, ast.unparse(field) + text)
        return
    yield from _measure(node.name, node.returns, text)
    for argument in (*node.args.args, *node.args.kwonlyargs):
        yield from _measure(argument.arg, argument.annotation, text)


def _unnamed_fields(node: ast.ClassDef) -> set[str]:
    """Return the public fields that a docstring passes over which names others."""
    text = ast.get_docstring(node) or ""
    named = {word for names in _NAMED.findall(text) for word in names.split(", ")}
    fields = {
        field.target.id
        for field in node.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and "ClassVar" not in ast.unparse(field.annotation)
    }
    return {each for each in fields - named if _is_public(each)} if fields & named else set()


def _measure(name: str, annotation: ast.expr | None, text: str) -> Iterator[tuple[str, str]]:
    measure = _is_public(name) and _MEASURE.search(name)
    if measure and annotation is not None and _NUMBER.search(ast.unparse(annotation)):
        yield name, f"{name.replace('_', ' ')} {text}"


@cache
def _trees() -> dict[str, ast.Module]:
    names = tracked(*(f"{package}/*.py" for package in PACKAGES))
    return {name: ast.parse((ROOT / name).read_text()) for name in names}


@cache
def _bases() -> dict[str, set[str]]:
    classes = (n for t in _trees().values() for n in ast.walk(t) if isinstance(n, ast.ClassDef))
    return {c.name: {ast.unparse(base).split(".")[-1] for base in c.bases} for c in classes}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_docstring_names_the_errors_that_its_function_raises(package: str) -> None:
    bases = _bases()
    missing = {
        f"{name}:{node.lineno} {node.name}": errors
        for name, tree in _trees().items()
        if name.startswith(f"{package}/")
        for node in _defined(tree.body)
        if isinstance(node, Callables) and (errors := _unnamed_errors(node, bases))
    }
    assert missing == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_cause_of_an_error_is_explained(package: str) -> None:
    texts = {name: (ROOT / name).read_text() for name in _trees() if name.startswith(f"{package}/")}
    assert [(name, c) for name, text in texts.items() for c in _UNEXPLAINED.findall(text)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_docstring_names_every_field_or_none(package: str) -> None:
    missing = {
        f"{name}:{node.lineno} {node.name}": fields
        for name, tree in _trees().items()
        if name.startswith(f"{package}/")
        for node in _defined(tree.body)
        if isinstance(node, ast.ClassDef) and (fields := _unnamed_fields(node))
    }
    assert missing == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_measure_has_a_unit(package: str) -> None:
    missing = [
        f"{name}:{node.lineno} {node.name} {measure}"
        for name, tree in _trees().items()
        if name.startswith(f"{package}/")
        for node in _defined(tree.body)
        for measure, text in _measures(node)
        if not _UNIT.search(text)
    ]
    assert missing == [], "say it in the docstring, or in the name"


def _function(text: str) -> Callables:
    (node,) = ast.parse(text).body
    assert isinstance(node, Callables)
    return node


def test_an_error_that_is_not_named_is_noticed() -> None:
    text = 'def f():\n    """Do.\n\n    Raises:\n        OSError: no.\n    """\n    raise {}(1)'
    assert _unnamed_errors(_function(text.format("ValueError")), {}) == {"ValueError"}
    assert _unnamed_errors(_function(text.format("Lost")), {"Lost": {"OSError"}}) == set()
    by_place = text.replace("{}(1)", "place.error(Lost, 1)")
    assert _unnamed_errors(_function(by_place), {}) == {"Lost"}


def test_a_field_that_is_not_named_is_noticed() -> None:
    text = "class C:\n    '''Hold.\n\n    Attributes:\n        a, b: two.\n    '''\n"
    (node,) = ast.parse(text + "    a: int\n    b: int\n    c: int\n    _d: int\n").body
    assert isinstance(node, ast.ClassDef)
    assert _unnamed_fields(node) == {"c"}


def test_an_error_that_is_caught_is_not_asked_for() -> None:
    text = "def f():\n    try:\n        raise Lost\n    except (Lost, OSError):\n        pass"
    assert _unnamed_errors(_function(text), {}) == set()


def test_a_measure_without_a_unit_is_noticed() -> None:
    (found,) = _measures(_function('def f(size: int) -> None:\n    """Cut."""'))
    assert found[0] == "size"
    assert not _UNIT.search(found[1])
    assert list(_measures(_function("def f(size: str, count: int) -> None: ..."))) == []
