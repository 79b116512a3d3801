"""The one table of breaches."""

from __future__ import annotations

import importlib
import pkgutil

import breaches.readers
import breaches.writers
from breaches.model import Breach


def load() -> tuple[Breach, ...]:
    """Read every row.

    Raises:
        ValueError: two rows share an id.
    """
    found: dict[str, Breach] = {}
    for package in (breaches.readers, breaches.writers):
        for module in pkgutil.iter_modules(package.__path__):
            rows = importlib.import_module(f"{package.__name__}.{module.name}").ROWS
            for row in rows:
                if found.setdefault(row.id, row) is not row:
                    raise ValueError(f"two breaches are called {row.id}")
    return tuple(found.values())
