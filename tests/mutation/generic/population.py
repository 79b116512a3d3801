"""Every generic mutant of the reading and writing code, by the operators of mutmut.

A mutant is one operator, constant, comparison, call or assignment changed in one place. What is
left out, and why, is in ``left_out.py`` and in :class:`_Finder`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from generic.in_errors import (
    dotted,
    error_args,
    error_names,
    error_parameters,
    is_bound,
    makes_error,
    only_said,
)
from generic.left_out import LEFT_OUT, SPOKEN
from generic.mutant import PACKAGE, Mutant

_TYPES = frozenset({"cast", "TypeVar", "NewType", "getLogger"})
_UNTOUCHED = _TYPES | {"len", "isinstance", "suppress"}
"""Calls that stay: mutmut leaves ``len`` and ``isinstance`` alone as well, and the others name
types, or what another process may do meanwhile."""

_NAMING = frozenset(
    {"LogPlace", "Transaction", "_begin", "_refuse_long", "at_file", "check", "exceeded", "hold"}
    | {"require", "require_text", "reserve", "sleep", "too_deep"}
)
"""Calls that name an operation in commitInfo, a file, version, bound or value in a message, count
memory, or wait."""

_TOLD = frozenset({"debug", "info", "warning", "error", "exception", "warn"})
"""Methods of a logger."""

_ASSERTING = frozenset({"created", "repr", "strict"})
"""Keywords that make an iteration fail where it never does, leave fields unshown, or name what
is discarded when a disk fails."""

_APART = _ASSERTING | {
    "action",
    "block_size",
    "limits",
    "outside",
    "pre_buffer",
    "row_group_size",
    "separators",
    "stores",
    "thrift_container_size_limit",
    "thrift_string_size_limit",
    "use_dictionary",
    "use_threads",
    "usedforsecurity",
    "width",
}
"""With them those that name the action in a refusal, are about memory and time, about the white
space of JSON, or about the places outside of a table that a caller in Python lets it lead to: what
they give is no part of what the protocol speaks of."""

_SHOWN = frozenset({"__repr__", "__str__"})
_NAMES = frozenset({"__all__", "__slots__", "_log"})
_STATIC = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.Raise)
"""Types, decorators and imports; and what an error says, which no clause does."""

_REQUIREMENT = re.compile(r'"[A-Z0-9]+-[0-9]{3}"')
"""What an error names as broken; no clause says what an error names."""

_PROSE = re.compile(r'"(?:(?:an?|no|one|the|two) [^"]*|[^"]*[a-z]+,? [a-z]+ [a-z]+[^"]*)"')
"""What a message says: keys, names and SQL begin with no article or number word, and have no three
words in small letters in a row."""

_LABEL = "label"
"""The name of what a refusal says of a place, and of nothing else."""

_HEIGHT = "height"
"""The name of how many levels an expression has, of which there is a bound and nothing else."""

_CODECS = frozenset({'"latin-1"', '"utf-16-le"'})
"""Names of codecs, which Python reads in any case."""

_ANY_CASE = frozenset({"expressions/render.py"})
"""Where words in capitals are SQL for the engine, which reads them in any case."""

_NAMED = (cst.FunctionDef, cst.ClassDef)
_INNER = (cst.FunctionDef, cst.Lambda, cst.Parameters)
"""What is executed when it is called, but for the defaults of its parameters."""


def _says_less(
    node: cst.CSTNode, mutated: cst.CSTNode, spoken: frozenset[str], in_errors: set[int]
) -> bool:
    """Whether a call only loses what a message names, or an assertion."""
    if not isinstance(node, cst.Call) or not isinstance(mutated, cst.Call):
        return False
    kept = {id(each) for each in mutated.args}
    lost = [each for each in node.args if id(each) not in kept]
    return bool(lost) and all(
        id(each) in in_errors
        or (each.keyword is not None and each.keyword.value in _APART)
        or _is_spoken(each.value, spoken)
        for each in lost
    )


def _same_in_any_case(node: cst.CSTNode, mutated: cst.CSTNode, *, words: bool) -> bool:
    """Whether names of codecs, and with ``words`` words in capitals, only change their case."""
    match node, mutated:
        case cst.SimpleString(value), cst.SimpleString(other):
            known = value in _CODECS or (words and value.isupper())
            return known and other.upper() == value.upper()
    return False


def _still_false(node: cst.CSTNode, mutated: cst.CSTNode) -> bool:
    """Whether a flag that is false is given no value, which is as false."""
    match node, mutated:
        case (
            cst.Assign(targets=[cst.AssignTarget(cst.Name())], value=cst.Name("False"))
            | cst.AnnAssign(value=cst.Name("False")),
            cst.Assign(value=value) | cst.AnnAssign(value=value),
        ):
            return isinstance(value, cst.Name) and value.value == "None"
    return False


def _is_spoken(value: cst.CSTNode, spoken: frozenset[str]) -> bool:
    """Whether a refusal alone says a value: one of the names, or a place with more behind it."""
    match value:
        case cst.Tuple(elements=[cst.StarredElement(value=inner), *_]):
            return dotted(inner) in spoken
        case cst.Name() | cst.Attribute():
            return dotted(value) in spoken
        case cst.SimpleString(text):
            return text in spoken
        case cst.FormattedString(parts=[cst.FormattedStringExpression(expression=inner), *_]):
            return dotted(inner) in spoken
    return False


def _names_row(element: cst.BaseDictElement) -> bool:
    """Whether an entry only says which row something breaks."""
    match element:
        case cst.DictElement(value=cst.SimpleString(value)):
            return _REQUIREMENT.fullmatch(value) is not None
    return False


def _noted(of: cst.CSTNode) -> bool:
    """Whether a transaction only notes what another writer's commit is checked against."""
    while isinstance(of, cst.Attribute):
        if of.attr.value in {"read_write_set", "record_read"}:
            return True
        of = of.value
    return False


@dataclass(frozen=True, slots=True)
class _Spot:
    """A change, before its code is made."""

    node: cst.CSTNode
    mutated: cst.CSTNode
    operator: str
    line: int
    within: str
    executed: tuple[int, ...]


class _Finder(cst.CSTVisitor):
    """Finds what can be changed, outside of messages, logging, types and names."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(
        self,
        left_out: frozenset[str],
        spoken: frozenset[str] = frozenset(),
        *,
        any_case: bool = False,
    ) -> None:
        super().__init__()
        self._spoken = spoken
        self._any_case = any_case
        self.found: list[_Spot] = []
        self._unseen = left_out
        self._statements: list[tuple[int, int]] = []
        self._inner = [False]
        self._names: list[str] = []
        self._said: list[frozenset[str]] = [frozenset()]
        self._in_errors: set[int] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Call):
            self._in_errors |= {id(each) for each in error_args(node, error_parameters())}
        if self._left_out(node):
            return False
        if isinstance(node, _INNER):
            self._inner.append(not isinstance(node, cst.Parameters))
        if isinstance(node, _NAMED):
            self._names.append(node.name.value)
            said = only_said(node) if isinstance(node, cst.FunctionDef) else frozenset()
            self._said.append(said)
        span = self._span(node)
        if span and isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            self._statements.append(span)
        if span:
            for kind, operator in mutation_operators:
                if isinstance(node, kind):
                    self._add(node, span, operator)
        return True

    def _add(self, node: cst.CSTNode, span: tuple[int, int], operator: Any) -> None:
        begun = self._statements[-1][0] if self._statements else span[0]
        lines = tuple(range(begun, span[1] + 1)) if self._inner[-1] else ()
        name = operator.__name__.removeprefix("operator_")
        for mutated in operator(node):
            if (
                _says_less(node, mutated, self._spoken, self._in_errors)
                or _still_false(node, mutated)
                or _same_in_any_case(node, mutated, words=self._any_case)
            ):
                continue
            self.found.append(_Spot(node, mutated, name, span[0], ".".join(self._names), lines))

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self._left_out(original_node):
            return
        if isinstance(original_node, _INNER):
            self._inner.pop()
        if isinstance(original_node, _NAMED):
            self._names.pop()
            self._said.pop()
        if isinstance(original_node, cst.BaseSmallStatement | cst.BaseCompoundStatement) and (
            self._span(original_node)
        ):
            self._statements.pop()

    def _span(self, node: cst.CSTNode) -> tuple[int, int] | None:
        place = self.get_metadata(PositionProvider, node, None)
        return None if place is None else (place.start.line, place.end.line)

    def _left_out(self, node: cst.CSTNode) -> bool:  # noqa: C901, PLR0911, PLR0912  a table of kinds
        match node:
            case cst.FunctionDef() if makes_error(node):
                return True
            case cst.FunctionDef(name=cst.Name(value)) | cst.ClassDef(name=cst.Name(value)):
                return value in _SHOWN or ".".join((*self._names, value)) in self._unseen
            case cst.If(test=cst.Name("TYPE_CHECKING")):
                return True
            case cst.If() if is_bound(node):
                return True
            case cst.Expr(value=cst.BaseString()):
                return True
            case cst.Expr(value=cst.Call(func=told)) | cst.AugAssign(target=told) if _noted(told):
                return True
            case (
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name("_depth")))]
                )
                | cst.AugAssign(target=cst.Attribute(attr=cst.Name("_depth")))
            ):
                return True
            case cst.SimpleString(value) if value in self._spoken:
                return True
            case cst.SimpleString(value):
                return (_REQUIREMENT.fullmatch(value) or _PROSE.fullmatch(value)) is not None
            case cst.Assign(value=cst.Call(func=cst.Name(value))) if value in _TYPES:
                return True
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple())], value=cst.Tuple(each)):
                return all(isinstance(one.value, cst.Integer) for one in each)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(cst.Name("error")))]):
                return True
            case cst.Assign(
                targets=[
                    cst.AssignTarget(cst.Tuple([cst.Element(cst.Attribute(cst.Name("error"))), *_]))
                ]
            ):
                return True
            case (
                cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value))])
                | cst.AugAssign(target=cst.Name(value))
            ) if (
                value in self._said[-1]
                or value == _HEIGHT
                or (value == _LABEL and value in self._spoken)
            ):
                return True
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value)), *_]):
                return value in _NAMES or (not self._names and value in self._unseen)
            case cst.AnnAssign(annotation=cst.Annotation(annotation=cst.Name("TypeAlias"))):
                return True
            case cst.AnnAssign(target=cst.Name(value)):
                return value in _NAMES or (not self._names and value in self._unseen)
            case cst.Call(func=cst.Name(value)):
                return value in _UNTOUCHED | _NAMING | error_names()
            case cst.Call(func=cst.Attribute(attr=cst.Name(value))) if value in _NAMING:
                return True
            case cst.Call(func=cst.Attribute(value=cst.Name("_log"), attr=cst.Name(value))):
                return value in _TOLD
            case cst.Arg() if id(node) in self._in_errors:
                return True
            case cst.Arg(keyword=cst.Name(value)) if value in _APART:
                return True
            case cst.Dict(elements=[_, *_]) if all(map(_names_row, node.elements)):
                return True
            case cst.Tuple() | cst.FormattedString():
                return _is_spoken(node, self._spoken)
            case cst.Param(default=cst.BaseExpression() as given):
                # As mutmut: others may raise where the function is defined.
                return not isinstance(given, cst.Name | cst.BaseNumber | cst.BaseString)
        return isinstance(node, _STATIC)


def _modules() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not any(name == out or (out[-1] == "/" and name.startswith(out)) for out in LEFT_OUT):
            yield path


@cache
def _spots(path: Path) -> tuple[cst.Module, tuple[_Spot, ...]]:
    wrapper = MetadataWrapper(cst.parse_module(path.read_text()))
    name = path.relative_to(PACKAGE).as_posix()
    finder = _Finder(
        frozenset(n.removeprefix(f"{name}:") for n in LEFT_OUT if n.startswith(f"{name}:")),
        SPOKEN.get(name, frozenset()),
        any_case=name in _ANY_CASE,
    )
    wrapper.visit(finder)
    return wrapper.module, tuple(finder.found)


def population() -> list[tuple[Path, int]]:
    """Give the place of every mutant: its module, and its number among those of the module."""
    return [(path, number) for path in _modules() for number in range(len(_spots(path)[1]))]


def _made(path: Path, number: int) -> Mutant | None:
    """Make a mutant; ``None`` where the change leaves code that Python does not take."""
    module, spots = _spots(path)
    spot = spots[number]
    code = cst.ensure_type(module.deep_replace(spot.node, spot.mutated), cst.Module).code
    try:
        compile(code, str(path), "exec", dont_inherit=True)
    except SyntaxError:
        return None
    was, becomes = _difference(module.code, code)
    return Mutant(
        path.relative_to(PACKAGE).as_posix(),
        spot.line,
        spot.within,
        spot.operator,
        was,
        becomes,
        spot.executed,
        code,
    )


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the lines that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _difference(before: str, after: str) -> tuple[str, str]:
    """Give the lines that differ, those of each text in one."""
    old, new = before.splitlines(), after.splitlines()
    start = _alike(old, new)
    end = _alike(old[start:][::-1], new[start:][::-1])
    return tuple(  # type: ignore[return-value]
        " ".join(" ".join(lines[start : len(lines) - end]).split()) for lines in (old, new)
    )


def drawn(seed: int, count: int, places: Sequence[tuple[Path, int]] | None = None) -> list[Mutant]:
    """Draw mutants at random, each at most once.

    Args:
        seed: of the order in which they are drawn; a larger count only goes on.
        count: how many.
        places: what to draw from, all of the population when ``None``.
    """
    order = list(population() if places is None else places)
    random.Random(seed).shuffle(order)  # noqa: S311  a sample, no secret
    found: list[Mutant] = []
    for path, number in order:
        if len(found) == count:
            break
        mutant = _made(path, number)
        if mutant is not None:
            found.append(mutant)
    return found
