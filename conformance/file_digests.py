"""Digest the content of every file below a folder: of a table, or of the whole corpus."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["digests"]


def digests(folder: Path) -> dict[str, bytes]:
    """Digest every file below a folder.

    Args:
        folder: where to begin; there may be thousands of files below it.

    Returns:
        The path of each file from there, with ``/`` between its parts, to the SHA-256 of its
        content.

    """
    found = {}
    root = str(folder)
    for place, _, names in os.walk(root):
        below = place[len(root) + 1 :].replace(os.sep, "/")
        for name in names:
            content = Path(place, name).read_bytes()
            found[f"{below}/{name}" if below else name] = hashlib.sha256(content).digest()
    return found
