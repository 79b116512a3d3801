"""How far a job is, for whoever waits at a terminal."""

from __future__ import annotations

import sys

from conformance.base.terminal import emit, printable

__all__ = ["hours", "say"]


def say(text: str) -> None:
    """Write a line to standard error, at once."""
    emit(sys.stderr, f"{printable(text)}\n")
    sys.stderr.flush()


def hours(seconds: float) -> str:
    """Give a time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
