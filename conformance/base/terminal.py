"""Write text to a terminal.

Paths and messages out of tables, corpora, results and adapters are untrusted: an escape sequence
in one would control the terminal that shows it, a lone surrogate has no encoding, and not
every terminal has every character.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from typing import TextIO

from conformance.base.faults import OutputError


def printable(text: str) -> str:
    r"""Write out what could steer a terminal as ``\xNN`` and ``\uNNNN``; lines stay lines.

    Those are controls, marks that turn the direction of text, and halves of surrogate pairs.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\t\n" else _escaped(c) for c in text)


def one_line(text: str) -> str:
    """Escape control characters and line ends: names of columns and files may hold both."""
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def shortened(text: str, limit: int) -> str:
    """Return a text of so many characters at most; one that was longer ends with an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def meant(name: str, known: Iterable[str], at_most: int = 3, cutoff: float = 0.6) -> str:
    """Return the end of a message about an unknown name: what it may have been."""
    near = get_close_matches(name, list(known), n=at_most, cutoff=cutoff)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def emit(out: TextIO | None, text: str) -> None:
    """Write a text at once; what could steer the terminal, or what it cannot encode, is escaped.

    Raises:
        OutputError: it cannot be written, as where its reader has ended, or it is closed.
    """
    if out is None:
        raise OutputError("the output cannot be written: it is closed")
    encoding = getattr(out, "encoding", None) or "utf-8"
    try:
        out.write(printable(text).encode(encoding, "backslashreplace").decode(encoding))
        out.flush()
    except OSError as error:
        with suppress(OSError, ValueError):
            # What is left in the buffer would fail once more when the process ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, out.fileno())
            os.close(nowhere)
        raise OutputError(f"the output cannot be written: {error.strerror}") from error


def say(text: str) -> None:
    """Write lines to the standard output."""
    emit(sys.stdout, f"{text}\n")


def warn(text: str) -> None:
    """Write lines to the standard error, if there is one."""
    if sys.stderr is not None:
        emit(sys.stderr, f"{text}\n")
