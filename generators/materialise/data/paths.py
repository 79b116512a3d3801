"""Paths of the log: raw names on disk, URI-encoded names in actions.

Covers "Add File and Remove File" (``path`` is a URI by RFC 2396).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import quote

_SAFE: Final = "/=-_.~!*'(),@&+$;"


def encode_path(raw: str) -> str:
    """Return the URI spelling of a raw relative path; a colon is always encoded.

    A colon is legal in a path, but ahead of the first slash it would read as a scheme.
    """
    return quote(raw, safe=_SAFE)


def place(root: Path, raw: str) -> Path:
    """Return the place of a raw relative path below the table root, its directory made."""
    target = root.joinpath(*raw.split("/"))
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
