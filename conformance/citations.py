"""Who names which requirement: golden cases, mutations, properties and audit checks.

Serves every section. Golden cases and schemas say it in their JSON; the rest say it in Python,
as a string that is an id or a few ids, which is read from the source without importing it: a
coverage report must not need Hypothesis, an engine or a corpus builder to be importable.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from generators.spec_files import spec_files

__all__ = [
    "Citation",
    "CitationError",
    "Kind",
    "cited_in_corpus",
    "cited_in_project",
    "cited_in_schemas",
    "cited_in_source",
]

Kind: TypeAlias = Literal["golden", "recipe", "mutation", "property", "audit"]
"""What names the requirement: a golden table that is read, a recipe that is written, ..."""

_IDS: Final = re.compile(
    r"[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)*-[0-9]{3}(?: [A-Z][A-Z0-9-]*-[0-9]{3})*"
)
_SLUG: Final = re.compile(r"[a-z][a-z0-9]*(?:[-/_][a-z0-9]+)+")
_PACKAGES: Final[tuple[tuple[str, Kind], ...]] = (
    ("generators/mutations", "mutation"),
    ("conformance/suite", "property"),
    ("conformance/audit", "audit"),
)


_OWN: Final = "kit"
"""Schemas of the kit's own files, which judge nobody's tables."""


class CitationError(ValueError):
    """A case or a module cannot be read, so that nobody can tell what it names."""

    def __init__(self, path: Path, message: str) -> None:
        """Name the file first, where the eye looks for it."""
        super().__init__(f"{path}: {message}")


@dataclass(frozen=True, slots=True)
class Citation:
    """One case and the requirements that it names.

    Attributes:
        case: the case's id; ``module:name`` for what has none.
        requirements: the ids as written, known or not.
        kind: what sort of case it is.

    """

    case: str
    requirements: tuple[str, ...]
    kind: Kind


def cited_in_corpus(root: Path) -> Iterator[Citation]:
    """Go through golden cases: one citation for each spec, with its own and its case's ids.

    Raises:
        CitationError: a document is not JSON or has no list of requirements.

    """
    for path in sorted(root.glob("*/*/case.json")):
        shared = _requirements(_document(path), path)
        case = f"{path.parent.parent.name}/{path.parent.name}"
        specs = spec_files(path.parent)
        if not specs:
            raise CitationError(path.parent, "a case without specs judges nothing")
        for spec in specs:
            document = _document(spec)
            named = dict.fromkeys((*_requirements(document, spec), *shared))
            kind: Kind = (
                "recipe" if "write" in (document.get("type"), document.get("of")) else "golden"
            )
            yield Citation(f"{case}/{spec.stem}", tuple(named), kind)


def cited_in_source(folder: Path, kind: Kind) -> Iterator[Citation]:
    """Go through the Python modules of a folder and its subfolders.

    A case is what encloses the string most closely: a call with an ``id`` or with a slug as its
    first argument, else a function or class, else an assignment, else the module.

    Raises:
        CitationError: a module is not Python.

    """
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            raise CitationError(path, f"is not Python: {error}") from error
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        found: dict[str, list[str]] = {}
        for case, ids in _walk(tree, module):
            found.setdefault(case, []).extend(ids)
        for case, ids in found.items():
            yield Citation(case, tuple(dict.fromkeys(ids)), kind)


def cited_in_schemas(folder: Path) -> Iterator[Citation]:
    """Go through JSON Schemas: the audit holds actions and log files against them.

    Raises:
        CitationError: a schema is not JSON.

    """
    for path in sorted(folder.glob("*/*.schema.json")):
        name = path.name.removesuffix(".schema.json")
        ids = dict.fromkeys(_rules(_document(path)))
        if path.parent.name != _OWN and ids:
            yield Citation(f"{path.parent.name}/{name}", tuple(ids), "audit")


def _rules(node: Any) -> Iterator[str]:
    """Give the requirements that the rules of a schema cite, at any depth."""
    if isinstance(node, dict):
        cited = node.get("x-requirement")
        yield from cited if isinstance(cited, list) else ()
        for each in node.values():
            yield from _rules(each)
    elif isinstance(node, list):
        for each in node:
            yield from _rules(each)


def cited_in_project(root: Path, corpus: Path) -> Iterator[Citation]:
    """Go through all that the project judges by.

    Args:
        root: the folder that holds ``conformance`` and ``generators``.
        corpus: the folder of golden cases.

    Raises:
        CitationError: see :func:`cited_in_corpus`, :func:`cited_in_source` and
            :func:`cited_in_schemas`.

    """
    yield from cited_in_corpus(corpus)
    for package, kind in _PACKAGES:
        yield from cited_in_source(root / package, kind)
    yield from cited_in_schemas(root / "schemas")


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CitationError(path, f"is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise CitationError(path, "is not a JSON object")
    return document


def _requirements(document: dict[str, Any], path: Path) -> tuple[str, ...]:
    ids = document.get("requirements")
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise CitationError(path, "has no list of requirements")
    return tuple(ids)


def _walk(node: ast.AST, case: str) -> Iterator[tuple[str, list[str]]]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and _IDS.fullmatch(node.value):
            yield case, node.value.split()
        return
    inner = _name(node, case)
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, inner)


def _name(node: ast.AST, outer: str) -> str:
    module = outer.partition(":")[0]
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return f"{module}:{name}"
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return f"{module}:{name}"
        case ast.Call(keywords=keywords, args=args):
            for keyword in keywords:
                if keyword.arg == "id" and isinstance(keyword.value, ast.Constant):
                    return str(keyword.value.value)
            if args and isinstance(args[0], ast.Constant) and _SLUG.fullmatch(str(args[0].value)):
                return str(args[0].value)
        case _:
            pass
    return outer
