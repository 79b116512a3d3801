"""Where sources name a requirement, and which function builds a golden case: file and line.

Sources are read where they are installed, so that a wheel answers as a checkout does; tests are no
part of a wheel.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from conformance.base.home import PROJECT
from generators.golden.chapters import all_definitions

_ID: Final = re.compile(r"(?<![A-Z0-9-])[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)*-[0-9]{3}(?![0-9])")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source.

    Attributes:
        path: below the folder of the packages, as ``git grep`` gives it.
        line: number of the line.
        within: the function or class around it, dotted; empty for the module itself.
    """

    path: str
    line: int
    within: str

    def __str__(self) -> str:
        """Return ``path:line (within)``."""
        return f"{self.path}:{self.line}" + (f" ({self.within})" if self.within else "")


@cache
def named_in(folder: str, root: Path = PROJECT) -> Mapping[str, tuple[tuple[Path, int], ...]]:
    """Return the modules, and the lines of them, in which a folder names which requirement.

    Args:
        folder: below the root; one that is not there names nothing.
        root: the folder of the packages.
    """
    found: dict[str, list[tuple[Path, int]]] = {}
    for path in sorted((root / folder).rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for each in dict.fromkeys(_ID.findall(line)):
                found.setdefault(each, []).append((path, number))
    return {name: tuple(places) for name, places in found.items()}


def lines_naming(name: str, folder: str, root: Path = PROJECT) -> tuple[SourceLine, ...]:
    """Return where the Python modules of a folder name a requirement."""
    return tuple(
        SourceLine(path.relative_to(root).as_posix(), number, _around(path, number))
        for path, number in named_in(folder, root).get(name, ())
    )


def _around(path: Path, number: int) -> str:
    return next((name for first, last, name in _scopes_of(path) if first <= number <= last), "")


@cache
def _scopes_of(path: Path) -> list[tuple[int, int, str]]:
    """Return the functions and classes of a module with their lines, the innermost first."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return sorted(_scopes(tree, ""), key=lambda scope: scope[1] - scope[0])


def _scopes(node: ast.AST, outer: str) -> Iterator[tuple[int, int, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{outer}.{child.name}" if outer else child.name
            yield child.lineno, child.end_lineno or child.lineno, name
            yield from _scopes(child, name)
        elif not isinstance(child, ast.expr):  # which holds no function with a name
            yield from _scopes(child, outer)


@cache
def builders() -> Mapping[str, SourceLine]:
    """Return where each case is built that the kit's own hands build, by its id."""
    return {each.info.id: _place(each.build) for each in all_definitions()}


def builder_of(identity: str) -> SourceLine | None:
    """Return where the table of a golden case, or of a question of it, is built."""
    known = builders()
    return known.get(identity) or known.get(identity.rpartition("/")[0])


def _place(build: Callable[..., Any]) -> SourceLine:
    while isinstance(build, partial):
        build = build.func
    code = build.__code__
    path = Path(code.co_filename).relative_to(PROJECT).as_posix()
    return SourceLine(path, code.co_firstlineno, build.__qualname__)
