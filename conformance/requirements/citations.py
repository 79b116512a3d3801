"""Who names which requirement: golden cases, mutations and audit checks.

Golden cases and schemas say it in their JSON, mutations in their YAML; checks say it in Python, as
a string that is an id or a few ids, which is read from the source without importing it: a coverage
report must not need an engine or a corpus builder to be importable.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from conformance.base.untrusted import DocumentError, parse_json, read_bytes, read_text
from conformance.golden.cases import Case
from conformance.requirements.documents import RegistryError, read_yaml
from conformance.requirements.judged import Judged, judged_of
from conformance.requirements.registry import SELECTIONS, Registry

Kind: TypeAlias = Literal["golden", "recipe", "mutation", "audit"]
"""What names the requirement: a golden table that is read, a recipe that is written, ..."""

_IDS: Final = re.compile(
    r"[A-Z][A-Z0-9]*(?:-[A-Z][A-Z0-9]*)*-[0-9]{3}(?: [A-Z][A-Z0-9-]*-[0-9]{3})*"
)
_EXPECTED: Final = ("refused", "same_rows", "contested")
"""What readers have to make of a mutation."""

_MUTATION_FIELDS: Final = (
    ("id", "title", "requirements"),
    ("table", "change", "kind", "noticed_by", "reason", "open"),
)
"""What an entry has, and may have."""

_KIT_FOLDER: Final = "kit"
"""Schemas of the kit's own files, which judge no table."""


class CitationError(ValueError):
    """A mutation, a module or a schema cannot be read, so that what it names is unknown."""

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
        judged: what it judges out of those; all of them where it says nothing.
        revisions: selections of texts under which it applies.
    """

    case: str
    requirements: tuple[str, ...]
    kind: Kind
    judged: tuple[Judged, ...] = field(default=(), compare=False)
    revisions: frozenset[str] = frozenset(SELECTIONS)

    def judges(self, registry: Registry, revision: str | None) -> frozenset[str]:
        """Return the ids that the case judges.

        Args:
            registry: the requirements.
            revision: a selection of texts; any of them for ``None``.
        """
        if not self.judged:
            return frozenset(self.requirements)
        asked = self.revisions if revision is None else self.revisions & {revision}
        found = {each.in_revision(name, registry) for each in self.judged for name in asked}
        return frozenset(name for name in found if name is not None)


def cited_in_cases(cases: Iterable[Case]) -> Iterator[Citation]:
    """Go through golden cases: one citation for each spec, with its own and its case's ids."""
    for case in cases:
        for spec in case.specs:
            named = dict.fromkeys((*spec.requirements, *case.requirements))
            # Of its steps those count that say what they judge.
            said = spec.parameters.get("judged", {}).values()
            steps = (Judged("write", (), name, alone=True) for name in said)
            kind: Kind = "recipe" if spec.type == "write" else "golden"
            judged = (judged_of(spec, case), *steps)
            yield Citation(spec.id, tuple(named), kind, judged, case.revisions)


def cited_in_source(folder: Path) -> Iterator[Citation]:
    """Go through the Python modules of checks, in a folder and its subfolders.

    A check is the function, the class or the constant of the module that holds the string.

    Raises:
        CitationError: a module is not Python.
    """
    for path in sorted(folder.rglob("*.py")):
        yield from _cited_in(path, ".".join(path.relative_to(folder).with_suffix("").parts))


def _cited_in(path: Path, module: str) -> Iterator[Citation]:
    try:
        found = [(_name(each), [*_ids(each)]) for each in ast.parse(read_text(path)).body]
    except (SyntaxError, ValueError, DocumentError) as error:
        raise CitationError(path, f"is not Python: {error}") from error
    except (RecursionError, MemoryError) as error:  # the latter is the parser's own
        raise CitationError(path, "is nested too deep") from error
    for name, ids in found:
        if ids:
            yield Citation(f"{module}:{name}", tuple(dict.fromkeys(ids)), "audit")


def cited_in_mutations(folder: Path) -> Iterator[Citation]:
    """Go through the mutations of all chapters; of each a reader and the audit are asked.

    Raises:
        CitationError: a file, or an entry of it, is not as it has to be.
    """
    for path in sorted(folder.glob("*.yaml")):
        try:
            chapter = read_yaml(path, "a chapter of mutations").fields(("table",), _EXPECTED)
            groups = [node for name, node in chapter.items() if name in _EXPECTED]
            for entry in (each for group in groups for each in group.items()):
                parts = entry.fields(*_MUTATION_FIELDS)
                named = tuple(parts["requirements"].text(_IDS).split())
                judged = Judged("read", named, refusing=True), Judged("write", named)
                yield Citation(parts["id"].text(), named, "mutation", judged)
        except RegistryError as error:
            raise CitationError(path, str(error)) from error


def cited_in_schemas(folder: Path) -> Iterator[Citation]:
    """Go through JSON Schemas: the audit checks actions and log files against them.

    Raises:
        CitationError: a schema is not JSON.
    """
    for path in sorted(folder.glob("*/*.schema.json")):
        name = path.name.removesuffix(".schema.json")
        try:
            ids = dict.fromkeys(_rules(parse_json(read_bytes(path))))
        except DocumentError as error:
            raise CitationError(path, f"is not JSON: {error}") from error
        if path.parent.name != _KIT_FOLDER and ids:
            yield Citation(f"{path.parent.name}/{name}", tuple(ids), "audit")


def cited_in_steps(folder: Path) -> Iterator[Citation]:
    """Go through the modules that name what is wrong with what steps of a recipe leave."""
    steps = sorted((folder / "judging" / "recipes").glob("*.py"))
    for path in (*steps, folder / "requirements" / "levels.py"):
        if path.is_file():
            yield from _cited_in(path, f"recipes.{path.stem}")


def _rules(node: Any) -> Iterator[str]:
    """Return the requirements that the rules of a schema cite, at any depth."""
    if isinstance(node, dict):
        cited = node.get("x-requirement")
        yield from (
            (name for name in cited if isinstance(name, str)) if isinstance(cited, list) else ()
        )
        for each in node.values():
            yield from _rules(each)
    elif isinstance(node, list):
        for each in node:
            yield from _rules(each)


def cited_in_project(root: Path, cases: Iterable[Case]) -> Iterator[Citation]:
    """Go through all that the project judges by.

    Args:
        root: the folder that holds ``conformance`` and ``generators``.
        cases: the golden cases.

    Raises:
        CitationError: see :func:`cited_in_mutations`, :func:`cited_in_source` and
            :func:`cited_in_schemas`.
    """
    yield from cited_in_cases(cases)
    yield from cited_in_mutations(root / "generators" / "mutations" / "chapters")
    yield from cited_in_source(root / "conformance" / "audit")
    yield from cited_in_steps(root / "conformance")
    yield from cited_in_schemas(root / "schemas")


def _ids(node: ast.AST) -> Iterator[str]:
    """Return the ids that strings below a node hold, in their order."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and _IDS.fullmatch(node.value):
            yield from node.value.split()
        return
    for child in ast.iter_child_nodes(node):
        yield from _ids(child)


def _name(statement: ast.stmt) -> str:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return f"line {statement.lineno}"
