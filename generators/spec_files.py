"""Where the specs of a case lie: those of types that other harnesses know apart from our own.

See ``docs/formats.md``, "Case". Some harnesses of this layout take every file below ``specs``
for a test and fail on a type that they do not know, so that a type of the kit's own lies in
another folder. A slug names one spec of a case, whichever folder it is in.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_SHARED: Final = frozenset({"read", "snapshot", "write"})
"""Types that other harnesses of the layout run, or pass over by name."""

FOLDERS: Final = ("specs", "questions")
"""Folders of a case with specs: of types shared with other harnesses, and of the kit's own."""


def spec_folder(type_name: str) -> str:
    """Return the folder for specs of a type."""
    return FOLDERS[0] if type_name in _SHARED else FOLDERS[1]


def spec_files(case: Path) -> list[Path]:
    """Return the specs of a case's directory, in the order of their slugs."""
    found = [(name, folder) for folder in FOLDERS for name in _names_in(case / folder)]
    return [case / folder / name for name, folder in sorted(found) if name.endswith(".json")]


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  a third of the time, of thousands of folders
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
