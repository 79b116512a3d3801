"""Write text to a terminal.

Paths and messages out of tables, corpora, results and adapters are untrusted: an escape sequence
in one would steer the terminal of whoever reads it, a lone surrogate has no encoding, and not
every terminal has every character.
"""

from __future__ import annotations

import sys
from typing import TextIO

__all__ = ["emit", "one_line", "printable", "say", "shortened", "warn"]


def printable(text: str) -> str:
    r"""Write out what could steer a terminal as ``\xNN`` and ``\uNNNN``; lines stay lines.

    Those are controls, marks that turn the direction of text, and halves of surrogate pairs.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\t\n" else _written_out(c) for c in text)


def one_line(text: str) -> str:
    """Write out what could steer a terminal, and ends of lines, which names may hold too."""
    return "".join(c if c.isprintable() else _written_out(c) for c in text)


def shortened(text: str, most: int) -> str:
    """Return a text of so many characters at most; one that was longer ends with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def emit(out: TextIO, text: str) -> None:
    """Write a text; what could steer the terminal, or what it cannot encode, is escaped."""
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(printable(text).encode(encoding, "backslashreplace").decode(encoding))


def say(text: str) -> None:
    """Write lines to the standard output at once."""
    emit(sys.stdout, f"{text}\n")
    sys.stdout.flush()


def warn(text: str) -> None:
    """Write lines to the standard error."""
    emit(sys.stderr, f"{text}\n")
