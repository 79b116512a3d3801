"""What of a function ends in errors and log lines alone: names, arguments, and all of it.

No clause says what an error names, so that nothing of this has to be noticed by a case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import libcst as cst

from generic.mutant import PACKAGE


def dotted(value: cst.BaseExpression) -> str | None:
    """Return a name, or that of an attribute with a dot; ``None`` for anything else."""
    match value:
        case cst.Name(name):
            return name
        case cst.Attribute(cst.Name(name), cst.Name(attribute)):
            return f"{name}.{attribute}"
    return None


@cache
def error_names() -> frozenset[str]:
    tree = cst.parse_module((PACKAGE / "errors.py").read_text())
    names = {each.name.value for each in tree.body if isinstance(each, cst.ClassDef)}
    return frozenset({*names, "ValueError", "TypeError", "OSError", "OverflowError"})


def makes_error(node: cst.FunctionDef) -> bool:
    """Whether a function returns an error, and nothing else."""
    match node.returns:
        case cst.Annotation(annotation=cst.Name(value)):
            return value in error_names()
    return False


def is_bound(node: cst.If) -> bool:
    """Whether on a condition hangs only what is counted for a bound, or that one is exceeded."""
    match node:
        case cst.If(body=cst.IndentedBlock(body=[*_, cst.SimpleStatementLine(body=[last])])):
            return (
                node.orelse is None
                and isinstance(last, cst.Raise)
                and isinstance(last.exc, cst.Call)
                and isinstance(last.exc.func, cst.Name)
                and last.exc.func.value in {"exceeded", "LimitExceeded"}
            )
        case cst.If(body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Expr(call)])])):
            return node.orelse is None and _counts(call)
    return False


def _counts(value: cst.BaseExpression) -> bool:
    """Whether a value is a call that only counts memory."""
    match value:
        case cst.Call(func=cst.Attribute(value=cst.Attribute(attr=cst.Name("account")))):
            return True
    return False


class _Uses(cst.CSTVisitor):
    """Counts the uses of each name in a function, and those in errors and bounds alone."""

    def __init__(self, in_errors: Mapping[str, frozenset[int | str]] | None = None) -> None:
        super().__init__()
        self.all: Counter[str] = Counter()
        self.saying: Counter[str] = Counter()
        self._in_errors = in_errors or {}
        self._depth = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Name):
            self.all[node.value] += 1
            self.saying[node.value] += self._depth > 0
        self._depth += self._says(node)
        match node:
            case cst.AugAssign(target=cst.Name()):
                node.value.visit(self)
                return False
            case cst.Attribute():  # its name is none of the function's
                node.value.visit(self)
                return False
            case cst.Call():
                node.func.visit(self)
                in_errors = {id(each) for each in error_args(node, self._in_errors)}
                for each in node.args:
                    self._depth += id(each) in in_errors
                    each.value.visit(self)
                    self._depth -= id(each) in in_errors
                return False
        return not isinstance(node, cst.Annotation | cst.AssignTarget)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self._depth -= self._says(original_node)

    def _says(self, node: cst.CSTNode) -> bool:
        match node:
            case cst.Raise() | cst.Call(func=cst.Attribute(value=cst.Name("_log"))):
                return True
            case cst.If():
                return is_bound(node)
            case cst.Call(func=cst.Name(value)):
                return value in error_names()
        return False


def error_args(call: cst.Call, in_errors: Mapping[str, frozenset[int | str]]) -> list[cst.Arg]:
    """Give the arguments of a call that errors alone say."""
    match call.func:
        case cst.Name(value) | cst.Attribute(attr=cst.Name(value)):
            names = in_errors.get(value, frozenset())
            return [
                each
                for at, each in enumerate(call.args)
                if not each.star and (each.keyword.value if each.keyword else at) in names
            ]
    return []


@cache
def error_parameters() -> Mapping[str, frozenset[int | str]]:
    """Give, of each function's name, the parameters that end in errors alone, by place and name.

    Where several functions have a name, those that are so in all of them.
    """
    functions = _Functions()
    for path in sorted(PACKAGE.rglob("*.py")):
        cst.parse_module(path.read_text()).visit(functions)
    # All are taken to be so, until one is seen that is used in another way.
    in_errors = {name: _places_of_all(found, None) for name, found in functions.found.items()}
    while True:
        kept = {
            name: _places_of_all(found, in_errors) & in_errors[name]
            for name, found in functions.found.items()
        }
        if kept == in_errors:
            return {name: places for name, places in kept.items() if places}
        in_errors = kept


class _Functions(cst.CSTVisitor):
    """Collects functions by their names, each with whether it is a method."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[tuple[cst.FunctionDef, bool]]] = {}
        self._in_class = [False]

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.FunctionDef):
            self.found.setdefault(node.name.value, []).append((node, self._in_class[-1]))
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._in_class.append(isinstance(node, cst.ClassDef))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._in_class.pop()


def _places_of_all(
    functions: Sequence[tuple[cst.FunctionDef, bool]],
    in_errors: Mapping[str, frozenset[int | str]] | None,
) -> frozenset[int | str]:
    each = [_places(function, in_errors, method=method) for function, method in functions]
    return frozenset.intersection(*each)


def _places(
    function: cst.FunctionDef, in_errors: Mapping[str, frozenset[int | str]] | None, *, method: bool
) -> frozenset[int | str]:
    """Give the parameters that a function uses, in errors alone where it is known which are so."""
    uses = _Uses(in_errors)
    function.body.visit(uses)
    given = function.params.params
    static = any(dotted(each.decorator) == "staticmethod" for each in function.decorators)
    by_place = list(enumerate(given[1:] if method and not static else given))
    found: set[int | str] = set()
    for at, each in [*by_place, *((None, only) for only in function.params.kwonly_params)]:
        name = each.name.value
        if uses.all[name] and (in_errors is None or uses.saying[name] == uses.all[name]):
            found |= {name} if at is None else {at, name}
    return frozenset(found)


def only_said(node: cst.FunctionDef) -> frozenset[str]:
    """Give the names that a function uses in errors alone, or in bounds on memory and time."""
    uses = _Uses()
    node.body.visit(uses)
    return frozenset(name for name, said in uses.saying.items() if said == uses.all[name])
