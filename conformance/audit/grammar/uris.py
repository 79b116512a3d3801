"""Paths of actions, which are URIs (section Add File and Remove File)."""

from __future__ import annotations

import re
from typing import Final

UNESCAPED: Final = r'[\x00-\x20<>"{}|\\^`\x7f#?\[\]]|[^\x00-\x7f]'
"""Pattern of a character that the path of a URI has to escape (RFC 2396, sections 2.4.3 and 4)."""

_UNESCAPED: Final = re.compile(UNESCAPED)
_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def _bytes(path: str) -> bytes:
    """Decode escapes once; a percent sign that begins none stands for itself."""
    data = path.encode(errors="backslashreplace")
    return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), data)


def decode_path(path: str) -> str:
    """Return the path that a URI spells.

    Raises:
        ValueError: it is not UTF-8, is empty or has a NUL in it.
    """
    path.encode()  # JSON can hold half of a surrogate pair
    decoded = _bytes(path).decode()
    if not decoded or "\0" in decoded:
        raise ValueError("a path is empty or holds a NUL")
    return decoded


def lenient_path(path: str) -> str:
    """Return the path that a URI spells, for keys and messages: escaped where it is not UTF-8."""
    return _bytes(path).decode(errors="backslashreplace")


def unescaped(path: str) -> tuple[str, str]:
    """Return the characters that a path has to escape, each once: those of ASCII, and others.

    Letters beyond ASCII mean the same to every reader, so that they are worth a warning.
    """
    found = sorted({*_UNESCAPED.findall(path)})
    return "".join(filter(str.isascii, found)), "".join(x for x in found if not x.isascii())


def is_absolute(path: str) -> bool:
    """Return whether a decoded path is absolute or a URL."""
    return path.startswith("/") or _SCHEME.match(path) is not None
