"""Digest the content of every file below a folder: of a table, or of the whole corpus."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Final

_AT_ONCE: Final = 1 << 20
"""Bytes of a file that are read at once."""

_MAX_FILE_BYTES: Final = 1 << 32
"""Bytes of a file whose content is read; an adapter may not write more, and a link may lead to
what has no end."""


def digests(folder: Path) -> dict[str, bytes]:
    """Digest every file below a folder.

    Args:
        folder: where to begin; there may be thousands of files below it.

    Returns:
        The path of each file from there, with ``/`` between its parts, to the SHA-256 of its
        content. What is no regular file is not opened for its content: a pipe would never end.
    """
    found = {}
    root = str(folder)
    for place, _, names in os.walk(root):
        below = place[len(root) + 1 :].replace(os.sep, "/")
        for name in names:
            found[f"{below}/{name}" if below else name] = _digest(f"{place}/{name}")
    return found


def digest_of(folder: Path) -> str:
    """Return one SHA-256, in hexadecimal, of every path and byte below a folder."""
    total, found = hashlib.sha256(), digests(folder)
    for name in _in_order(found):
        total.update(os.fsencode(name) + b"\0" + found[name])
    return total.hexdigest()


def digest_of_case(folder: Path) -> str:
    """Return the SHA-256, in hexadecimal, by which the manifest of a corpus knows a case."""
    return joined(digests(folder))


def joined(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256, in hexadecimal, of the names of files and the digests of each."""
    total = hashlib.sha256()
    for name in _in_order(files):
        total.update(f"{name}\0{files[name].hex()}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def _in_order(names: Iterable[str]) -> list[str]:
    """Sort paths folder by folder."""
    return sorted(names, key=lambda each: each.split("/"))


def _digest(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return hashlib.sha256(f"cannot be opened: {error.errno}".encode()).digest()
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        mode, size = facts.st_mode, facts.st_size
        if not S_ISREG(mode):
            return hashlib.sha256(f"not a regular file: {mode:o}".encode()).digest()
        if size > _MAX_FILE_BYTES:
            return hashlib.sha256(f"too large: {size}, {facts.st_mtime_ns}".encode()).digest()
        state = hashlib.sha256()
        try:
            while size > 0 and (content := file.read(min(size, _AT_ONCE))):
                state.update(content)
                size -= len(content)
        except OSError as error:
            state.update(f"cannot be read: {error.errno}".encode())
        return state.digest()
