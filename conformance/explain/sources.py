"""Where sources name a requirement, and which function builds a golden case: file and line.

Serves every section. Sources are read where they are installed, so that a wheel answers as a
checkout does; tests are no part of a wheel.
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
def named_in(folder: str, root: Path = PROJECT) -> Mapping[str, tuple[SourceLine, ...]]:
    """Return where the Python modules of a folder name which requirement.

    Args:
        folder: below the root; one that is not there names nothing.
        root: the folder of the packages.
    """
    found: dict[str, list[SourceLine]] = {}
    for path in sorted((root / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = [(number, _ID.findall(line)) for number, line in enumerate(text.splitlines(), 1)]
        if not any(ids for _, ids in lines):
            continue
        scopes = sorted(_scopes(ast.parse(text), ""), key=lambda scope: scope[1] - scope[0])
        name = path.relative_to(root).as_posix()
        for number, ids in lines:
            within = next((s for first, last, s in scopes if first <= number <= last), "")
            for each in dict.fromkeys(ids):
                found.setdefault(each, []).append(SourceLine(name, number, within))
    return {name: tuple(places) for name, places in found.items()}


def _scopes(node: ast.AST, outer: str) -> Iterator[tuple[int, int, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{outer}.{child.name}" if outer else child.name
            yield child.lineno, child.end_lineno or child.lineno, name
            yield from _scopes(child, name)
        else:
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
