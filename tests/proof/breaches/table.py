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
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.ispkg:
                continue
            for row in importlib.import_module(module.name).ROWS:
                if found.setdefault(row.id, row) is not row:
                    raise ValueError(f"two breaches are called {row.id}")
    return tuple(found.values())
