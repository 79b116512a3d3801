"""The commit files of a golden table, read once for all who look for marks in them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from conformance.base.untrusted import DocumentError, read_bytes


@lru_cache(maxsize=4)
def commits_in(table: Path) -> Mapping[int, bytes | None]:
    """Read the commits below a table's root.

    Args:
        table: root of the table; its files stay as they are.

    Returns:
        The content of each commit file by its version, in their order; ``None`` where it cannot be
        read, or is larger than a document may be.
    """
    log = table / "_delta_log"
    stems = (path.stem for path in log.glob("*.json"))
    names = sorted(name for name in stems if len(name) == 20 and name.isdecimal())
    return {int(name): _content(log / f"{name}.json") for name in names}


def _content(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except DocumentError:
        return None
