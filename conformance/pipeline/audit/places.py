"""Which tables a fleet is: named, listed in a file, found by a pattern or below a folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from conformance.base.faults import SelectionError
from conformance.base.untrusted import DocumentError, read_text
from reference_impl.log.names import LOG_DIR
from reference_impl.shown import shown_location
from reference_impl.storage import open_storage

_PATTERN: Final = frozenset("*?[")


def tables_of(named: Sequence[str], files: Sequence[Path], folders: Sequence[str]) -> list[str]:
    """Return the tables of a fleet, each once and in order.

    Args:
        named: paths, URLs, and patterns of paths.
        files: with one path or URL in each line; ``#`` begins a remark.
        folders: paths or URLs below which every table is meant.

    Raises:
        SelectionError: a file or folder cannot be read, or a pattern fits no table.
    """
    found: dict[str, None] = {}
    for each in named:
        found.update(dict.fromkeys(_named(each)))
    for file in files:
        try:
            lines = read_text(file).splitlines()
        except DocumentError as error:
            raise SelectionError(f"{file} cannot be read: {error}") from error
        stripped = (line.strip() for line in lines)
        found.update(dict.fromkeys(x for x in stripped if x and not x.startswith("#")))
    for folder in folders:
        below = sorted(_below(folder))
        if not below:
            raise SelectionError(f"there is no table below {shown_location(folder)}")
        found.update(dict.fromkeys(below))
    return list(found)


def _named(text: str) -> list[str]:
    if "://" in text or _PATTERN.isdisjoint(text) or Path(text).exists():
        return [text]
    places = glob.glob(text, recursive=True)  # noqa: PTH207  absolute patterns as well
    fitting = sorted(each for each in places if Path(each, LOG_DIR).is_dir())
    if not fitting:
        raise SelectionError(f"no table fits {text}")
    return fitting


def _below(folder: str) -> Iterator[str]:
    if "://" in folder:
        root = folder.rstrip("/")
        seen = set()
        for entry in open_storage(root).walk():
            above, marker, _ = f"/{entry.path}".partition(f"/{LOG_DIR}/")
            if marker and above not in seen:
                seen.add(above)
                yield f"{root}{above}"
        return
    if not Path(folder).is_dir():
        raise SelectionError(f"{folder} is no folder")
    for place, names, _ in os.walk(folder):
        if LOG_DIR in names:
            names.remove(LOG_DIR)
            yield place
        names[:] = sorted(name for name in names if not name.startswith((".", "_")))
