"""Planted faults: sound tables with one clause broken, which the audit has to name.

The folder ``faults`` beside this package has them as data, with what plants them.
"""

from __future__ import annotations

import atexit
import importlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from breaches.proving import Task, found_at

FOLDER = Path(__file__).parent.parent / "faults"


def planted_tasks() -> Iterator[Task]:
    """Return a task for every fault; none where there is no such folder."""
    if not (FOLDER / "fault_records.py").is_file():
        return
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    for fault in importlib.import_module("fault_records").load_faults():
        yield Task(fault.id, fault.breaks, "fault", partial(_planted, fault), bool(fault.warned))


@cache
def _sound(name: str) -> Path:
    """Return a sound table, built once in each process."""
    parent = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    folder = parent / name
    importlib.import_module("fault_bases").TABLES[name](folder)
    return folder


def _planted(fault: Any, _known: str | None) -> str | None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "table"
        shutil.copytree(_sound(fault.table), root)
        importlib.import_module("fault_planting").plant(fault, root)
        shown = found_at(root, fault.breaks)
    return f"faults/{fault.table}" if shown else None
