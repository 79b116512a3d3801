"""Text out of tables, results and adapters on its way to a terminal.

Paths and messages are untrusted: an escape sequence in one would steer the terminal of whoever
reads it, a lone surrogate has no encoding, and not every terminal has every character.
"""

from __future__ import annotations

import unicodedata
from typing import Final, TextIO

__all__ = ["emit", "printable"]

_STEERING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that steer, hide or have no shape: controls, bidi marks, surrogates."""


def printable(text: str) -> str:
    """Give a text on one line in which every character that could steer a terminal is escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each.encode("unicode_escape").decode("ascii")
        if unicodedata.category(each) in _STEERING
        else each
        for each in text
    )


def emit(out: TextIO, text: str) -> None:
    """Write a text; what the stream cannot encode is escaped."""
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(text.encode(encoding, "backslashreplace").decode(encoding))
