"""Planted faults, where there are any: tables with one clause broken, for the audit."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from breaches.proving import Task


def planted_tasks() -> Iterator[Task]:
    """Give a task for every fault of the package ``faults``."""
    if importlib.util.find_spec("faults") is None:
        return
    return
    yield
