"""The API reference, made of signatures and docstrings.

Source is parsed and nothing of it is run, so that defaults stand as they are written.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Final

_SECTION: Final = re.compile(r"(Args|Attributes|Raises|Returns|Yields):")
_ENTRY: Final = re.compile(r" {4}(\S[^:]*): (.*)")
_WIDTH: Final = 70
_VALUE_CHARACTERS_END: Final = 25
_ROLE: Final = re.compile(r":\w+:`(?:~(?:\w+\.)*)?([^`]+)`")


def reference_of(module: ModuleType) -> str:
    """Describe the public names of a module in Markdown, in the order of their names.

    Args:
        module: what a package lists in ``__all__``, or a module defines without an underscore, is
            public; names of a package are defined in its modules.
    """
    return "\n\n".join(
        part
        for name in sorted(_public(module), key=str.lower)
        for part in _described(module, name)
        if part
    )


def _public(module: ModuleType) -> set[str]:
    if hasattr(module, "__all__"):
        return set(module.__all__)
    named = set()
    for statement in ast.parse(inspect.getsource(module)).body:
        match statement:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                named.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                named.add(name)
    return {name for name in named if not name.startswith("_")}


def _described(module: ModuleType, name: str) -> Iterator[str]:
    home = getattr(getattr(module, name), "__module__", module.__name__)
    for source in (inspect.getsource(each) for each in (sys.modules[home], module)):
        body = ast.parse(source).body
        found = _definition(body, name)
        if found is not None:
            break
    yield f"### `{name}`"
    match found:
        case ast.ClassDef():
            yield from _class(found)
        case ast.FunctionDef():
            yield _code(_signature(found))
            yield _prose(ast.get_docstring(found))
        case ast.AnnAssign():
            yield _code(ast.get_source_segment(source, found) or "")
            yield _prose(_following(body, found))
        case _:
            raise LookupError(f"{name} of {module.__name__} has no definition")


def _definition(body: list[ast.stmt], name: str) -> ast.stmt | None:
    for statement in body:
        match statement:
            case ast.ClassDef(name=at) | ast.FunctionDef(name=at) if at == name:
                return statement
            case ast.AnnAssign(target=ast.Name(id=at)) if at == name:
                return statement
    return None


def _following(body: list[ast.stmt], of: ast.stmt) -> str | None:
    """Return the text that stands below an assignment."""
    after = body[body.index(of) + 1 :][:1]
    match after:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return inspect.cleandoc(text)
    return None


def _class(node: ast.ClassDef) -> Iterator[str]:
    functions = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    made = [each for each in functions if each.name == "__init__"]
    fields = [
        _with_default(f"{ast.unparse(each.target)}: {ast.unparse(each.annotation)}", each.value)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and not ast.unparse(each.target).startswith("_")
    ]
    bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
    yield _code("\n".join([f"class {node.name}{bases}", *(f"    {each}" for each in fields)]))
    yield _prose(ast.get_docstring(node))
    for each in made:
        yield _code(_signature(each, node.name))
        yield _prose(ast.get_docstring(each))
    for each in functions:
        if not each.name.startswith("_"):
            yield f"#### `{node.name}.{each.name}`"
            yield _code(_signature(each))
            yield _prose(ast.get_docstring(each))


def _signature(function: ast.FunctionDef, name: str | None = None) -> str:
    given = f" -> {ast.unparse(function.returns)}" if function.returns and name is None else ""
    if any(ast.unparse(each) == "property" for each in function.decorator_list):
        return f"{function.name}{given}"
    parameters = list(_parameters(function.args))
    written = ", ".join(parameters)
    if len(written) > _WIDTH:
        written = "".join(["\n", *(f"    {each},\n" for each in parameters)])
    return f"{name or function.name}({written}){given}"


def _parameters(of: ast.arguments) -> Iterator[str]:
    usual: list[ast.expr | None] = [None] * (len(of.args) - len(of.defaults))
    for argument, default in zip(of.args, [*usual, *of.defaults], strict=True):
        if argument.arg not in ("self", "cls"):
            yield _with_default(ast.unparse(argument), default)
    if of.vararg or of.kwonlyargs:
        yield f"*{ast.unparse(of.vararg) if of.vararg else ''}"
    for argument, default in zip(of.kwonlyargs, of.kw_defaults, strict=True):
        yield _with_default(ast.unparse(argument), default)
    if of.kwarg:
        yield f"**{ast.unparse(of.kwarg)}"


def _with_default(name: str, default: ast.expr | None) -> str:
    """Write a default that is short; a call or a table says nothing to a reader."""
    if default is None:
        return name
    text = ast.unparse(default)
    return f"{name} = {text if len(text) < _VALUE_CHARACTERS_END else '...'}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _prose(text: str | None) -> str:
    """Return a docstring in Markdown: its sections become lists."""
    lines: list[str] = []
    entries = False
    for line in (text or "").splitlines():
        section = _SECTION.fullmatch(line)
        entry = _ENTRY.fullmatch(line) if entries else None
        if section:
            entries = True
            lines += [f"{section[1]}:", ""]
        elif entry:
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif entries and line.startswith("    "):
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
    return _ROLE.sub(r"``\1``", "\n".join(lines)).strip().replace("``", "`")
