"""A copy of the reference implementation, with one module changed, beside the one that judges."""

from __future__ import annotations

import compileall
import importlib
import importlib.util
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from conformance.adapter import Adapter, Answer, Description, Request
from conformance.workers.resolve import BUILT_IN
from generic.mutant import PACKAGE, Mutant

_NAME = PACKAGE.name
_ADAPTER = BUILT_IN["ours"].partition(":")[0]


def copied(folder: Path) -> Path:
    """Copy the package into a folder and compile it; gives the copy."""
    shutil.copytree(PACKAGE, folder / _NAME, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(folder, quiet=2)
    return folder / _NAME


class _Changed(SourceFileLoader):
    """Loads other code than the file has."""

    def __init__(self, name: str, path: str, code: str) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._code, self.get_filename(fullname), "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the package in its copy, and imports the adapter again."""

    def __init__(self, copy: Path, mutant: Mutant | None) -> None:
        self._home = str(copy.parent)
        self._path = None if mutant is None else str(copy / mutant.module)
        self._code = "" if mutant is None else mutant.code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != _NAME:
            return None
        spec = PathFinder.find_spec(fullname, [self._home] if path is None else path, target)
        if spec is not None and spec.origin == self._path:
            spec.loader = _Changed(fullname, spec.origin, self._code)
        return spec


def _is_apart(name: str) -> bool:
    return name == _ADAPTER or name.partition(".")[0] == _NAME


def _swapped(modules: dict[str, ModuleType]) -> dict[str, ModuleType]:
    """Put modules of the package, and of its adapter, in place of those there are; give these."""
    found = {name: module for name, module in sys.modules.items() if _is_apart(name)}
    for name in found:
        del sys.modules[name]
    sys.modules.update(modules)
    return found


@dataclass
class _Apart:
    """An adapter for which the package is the copy, in what it imports while it runs as well."""

    adapter: Adapter
    modules: dict[str, ModuleType]

    @contextmanager
    def _at_work(self) -> Iterator[Adapter]:
        kept = _swapped(self.modules)
        try:
            yield self.adapter
        finally:
            self.modules = _swapped(kept)

    def describe(self) -> Description:
        with self._at_work() as adapter:
            return adapter.describe()

    def run(self, request: Request) -> Answer:
        with self._at_work() as adapter:
            return adapter.run(request)

    def close(self) -> None:
        with self._at_work() as adapter:
            adapter.close()


def adapter_of(copy: Path, mutant: Mutant | None) -> Adapter:
    """Give the adapter of the copy, which has modules of its own in this process.

    The judge keeps the package that it has: what is loaded here is seen by the adapter alone.

    Args:
        copy: what :func:`copied` gave.
        mutant: the change; the copy is as the package without one.

    Raises:
        Exception: what the changed code raises when it is imported.
    """
    kept = _swapped({})
    finder = _Finder(copy, mutant)
    sys.meta_path.insert(0, finder)
    made: dict[str, ModuleType] = {}
    try:
        adapter: Adapter = importlib.import_module(_ADAPTER).create()
        for path in sorted(copy.rglob("*.py")):
            # What would be imported later would be looked for outside of the copy.
            parts = path.relative_to(copy.parent).with_suffix("").parts
            importlib.import_module(".".join(part for part in parts if part != "__init__"))
    finally:
        sys.meta_path.remove(finder)
        made = _swapped(kept)
    return _Apart(adapter, made)
