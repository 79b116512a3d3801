"""The faults that the modules of this folder plant, for tests that go through all of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MODULES = sorted(HERE.rglob("test_*_faults.py"))
"""Modules with a table ``FAULTS``: name to the requirements that break, and how."""


def loaded(path: Path) -> Any:
    """Import a module of tests by its path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planted() -> Iterator[tuple[str, set[str], Callable[[Any], Any]]]:
    """Yield every fault: its name, the requirements that it breaks, and what plants it."""
    for path in MODULES:
        module = loaded(path)
        for name, (broken, plant) in module.FAULTS.items():
            # Some modules keep the arguments of one way of planting.
            how = plant if callable(plant) else partial(module.lake_with, **plant)
            yield f"{path.stem}: {name}", broken, how
