"""Read untrusted documents: corpora, baselines, results, messages of adapters.

Every limit is checked before what it protects: the kind and size of a file before its content is
read, the nesting of a text before a parser recurses into it, the length of a number before it is
converted. What breaks a limit raises :class:`DocumentError`, never anything else.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import isfinite
from pathlib import Path
from typing import IO, Any, Final

from conformance.base.faults import KitError
from conformance.base.terminal import printable

MIB: Final = 1024 * 1024

MAX_LINE_BYTES: Final = 16 * MIB
"""Bytes of one line of a results file."""

_MAX_DOCUMENT_BYTES: Final = 16 * MIB
_MAX_DEPTH: Final = 100
"""Levels of nested arrays and objects; documents of the shipped corpus have thirteen."""

_MAX_NUMBER_CHARACTERS: Final = 400
"""Characters; the longest double in full has 309 digits."""

_MAX_NAME_BYTES: Final = 255
"""Bytes that file systems allow for one name."""

# Possessive, so that a long string costs neither recursion nor memory for backtracking.
_TOKEN: Final = re.compile(r'[\[{]|[\]}]|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_DRIVE: Final = re.compile(r"[A-Za-z]:")


class DocumentError(KitError):
    """A document is not what it may be.

    Attributes:
        place: line and column of the fault, empty where it has none.
    """

    def __init__(self, message: str, place: str = "") -> None:
        """Keep the place apart from the words."""
        self.place = place
        super().__init__(message)


def read_bytes(path: Path, largest: int = _MAX_DOCUMENT_BYTES) -> bytes:
    """Read a regular file of bounded size.

    Args:
        path: the file; a link to a regular file will do.
        largest: bytes that it may have.

    Raises:
        DocumentError: it is missing, no regular file, or too large.
    """
    with _opened(path) as source:
        content = source.read(largest + 1) or b""  # nothing where it would have to wait
    if len(content) > largest:
        raise DocumentError(f"has more than {largest} bytes")
    return content


def read_text(path: Path, largest: int = _MAX_DOCUMENT_BYTES) -> str:
    """Read a regular file of bounded size as UTF-8, with or without a byte order mark.

    Raises:
        DocumentError: it is missing, no regular file, too large, or not UTF-8.
    """
    return _decoded(read_bytes(path, largest))


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"is not UTF-8 at byte {error.start}") from error


def lines_of(path: Path, largest: int) -> Iterator[bytes]:
    """Return the lines, with their ends, of a regular file of bounded size.

    Raises:
        DocumentError: it is missing, no regular file, too large, or has too long a line.
    """
    with _opened(path) as source:
        read = 0
        while line := source.readline(MAX_LINE_BYTES + 1):
            read += len(line)
            if len(line) > MAX_LINE_BYTES:
                raise DocumentError(f"has a line of more than {MAX_LINE_BYTES} bytes")
            if read > largest:
                raise DocumentError(f"has more than {largest} bytes")
            yield line


def open_plain(path: Path) -> IO[bytes]:
    """Open a regular file, never through a link in its place, and without waiting for a writer.

    Raises:
        OSError: it cannot be opened, or is something else.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", str(path))
    return open(descriptor, "rb")  # noqa: PTH123  of a descriptor, not a path


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file."""
    try:
        # Opening a FIFO would wait for a writer, and some devices never end.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as source:  # noqa: PTH123  of a descriptor, not a path
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise DocumentError("is not a regular file")
            yield source
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a NUL in the path
        raise DocumentError(f"cannot be read: {error}") from error


def count_values(content: bytes) -> int:
    """Return about how many values JSON holds, and never fewer; counted without parsing it."""
    return 1 + sum(map(content.count, (b",", b"[", b"{")))


def parse_json(content: bytes) -> Any:
    """Parse JSON whose keys are different, numbers finite, strings Unicode, and depth bounded.

    Raises:
        DocumentError: the content is something else.
    """
    text = _decoded(content)
    _check_depth(text)
    try:
        document = _decoder().decode(text)
    except json.JSONDecodeError as error:
        raise DocumentError(error.msg, f"{error.lineno}:{error.colno}") from error
    if _SURROGATE.search(text):
        _check_strings(document)
    return document


@cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_unique, parse_constant=_constant, parse_int=_integer, parse_float=_float
    )


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= _MAX_DEPTH:
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
            if depth > _MAX_DEPTH:
                raise DocumentError(f"is nested deeper than {_MAX_DEPTH} levels")
        elif first in "]}":
            depth -= 1


def _check_strings(document: Any) -> None:
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.keys()
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str) and not _is_unicode(value):
            raise DocumentError(f"has half of a surrogate pair in {printable(value[:80])!r}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value] # add gives None
        raise DocumentError(f"has the key {printable(twice[:80])!r} twice in one object")
    return found


def _constant(text: str) -> Any:
    raise DocumentError(f"has {text}, which is not JSON")


def _integer(text: str) -> int:
    if len(text) > _MAX_NUMBER_CHARACTERS:
        raise DocumentError(f"has a number of {len(text)} characters")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value) or len(text) > _MAX_NUMBER_CHARACTERS:
        raise DocumentError(f"has a number that no double holds: {text[:40]}")
    return value


def name_fault(text: str) -> str | None:
    """Return why a text is not the name of one file; ``None`` when it is one."""
    if text in ("", ".", ".."):
        return f"{text!r} is not a name"
    if "/" in text or "\\" in text or "\0" in text or _DRIVE.match(text):
        return f"{printable(text[:80])!r} is a path and not a name"
    if not _is_unicode(text) or len(text.encode()) > _MAX_NAME_BYTES:
        return f"a name has at most {_MAX_NAME_BYTES} bytes of UTF-8"
    return None


def path_fault(text: str) -> str | None:
    """Return why a text is not a path below a folder; ``None`` when it is one."""
    faults = (name_fault(part) for part in text.split("/"))
    fault = next((fault for fault in faults if fault), None)
    return fault and f"{printable(text[:80])!r} is not a path below the table: {fault}"
