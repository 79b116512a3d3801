"""Messages of verdicts: without what depends on the machine, and compared without what is chance.

What an engine says names temporary folders, addresses, its own installation, the thread that it ran
on, or the file that it happened to meet first. Two runs of one release say the same.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Final

from conformance.golden.cases import Expected
from conformance.questions import QUESTIONS

MAX_MESSAGE_CHARACTERS: Final = 400
"""Characters of a message that are kept."""

_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{6,}\b")
# An engine may say megabytes: no pattern is tried twice at what it has looked at.
_TRACE: Final = re.compile(r"(?<!\s)\s*(?:Stack Trace:|stack backtrace:|(?P<frame>(?<=\s)0: <))")
_NEXT_FRAME: Final = re.compile(r"\s1: ")
_MAX_FRAME_CHARACTERS: Final = 2000
_FOLDER: Final = r"(?<![^\s'\"(\[])[^\s'\"(\[]*/"
_INSTALLED: Final = re.compile(_FOLDER + r"(site|dist)-packages/")
_SCRATCH: Final = re.compile(_FOLDER + r"delta-tck-run-[a-z0-9_]{8}(?![a-z0-9_])")
"""A folder of a run, as the one that answers are written to."""

_NUMBERED: Final = re.compile(r"<scratch>/(answer|rows)-\d+(?=\.arrow)")
"""A file in it, by the number of the request: another where other cases are asked before."""

_VARYING: Final = (
    (_INSTALLED, "<installed>/"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?UTC|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b1[6-9]\d{8}(\d{3}){0,3}\b"), "<time>"),
    (re.compile(r"(?<!\S)\S*-tck-(run-)?[a-z0-9_]{8}/\d+/"), "<path>/"),
    # The rest of such a path, where an engine shows the end of it alone.
    (re.compile(r"\.\.\.[\w-]*/\d+/"), "<path>/"),
    (re.compile(r"\bId\(\d+\)"), "<thread>"),
    (re.compile(r"(/tmp|/dev/shm|/var/folders)/[^\s'\",;:)]*"), "<path>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (_ADDRESS, "<address>"),
    # Which of several files, parts or values an engine meets first.
    (re.compile(r"\bpart-\d+-<uuid>"), "<file>"),
    (re.compile(r"\b(should have \d+ parts, but it has) \d+"), r"\1 <others>"),
    (re.compile(r"\b(Failed to parse value) '[^']*'"), r"\1 <value>"),
)
"""What two runs say differently of the same thing: times, temporary paths, names of new files."""


def stable(message: str, table: Path) -> str:
    """Take out what differs from run to run and from machine to machine.

    Args:
        message: what an engine said.
        table: where the table was copied to.

    Returns:
        One line of at most :data:`MAX_MESSAGE_CHARACTERS`, without stack traces of native code.
    """
    text = message.replace(str(table), "<table>").replace(str(table.parent), "<folder>")
    text = _INSTALLED.sub("<installed>/", _without_trace(text))
    text = _NUMBERED.sub(r"<scratch>/\1", _SCRATCH.sub("<scratch>", text))
    return " ".join(_ADDRESS.sub("<address>", text).split())[:MAX_MESSAGE_CHARACTERS]


_BLOCKED: Final = "blocked by "


def blocked_by(root: str, message: str) -> str:
    """Return the message of a case that another one blocks."""
    return f"{_BLOCKED}{root}: {message}"


def blocking(message: str) -> str:
    """Return the id of the case that blocks another, from the message of the latter."""
    return message.removeprefix(_BLOCKED).partition(":")[0]


def alike(message: str) -> str:
    """Return a message without what is chance, so that two of one cause are equal."""
    message = _without_trace(message)
    for pattern, word in _VARYING:
        message = pattern.sub(word, message)
    return message


def _without_trace(message: str) -> str:
    """Cut a message where a stack trace begins: by its title, or by a frame 0 before a frame 1."""
    second: float = 0
    for first in _TRACE.finditer(message):
        if first["frame"] and second < first.end():
            found = _NEXT_FRAME.search(message, first.end())
            second = math.inf if found is None else found.start()
        if not first["frame"] or second - first.end() <= _MAX_FRAME_CHARACTERS:
            return message[: first.start()]
    return message


def count_rows(number: int) -> str:
    """Return a number of rows in words."""
    return "1 row" if number == 1 else f"{number} rows"


def describe_refusal(kind: str | None, stage: str | None, message: str) -> str:
    """Return a refusal in words: its kind, its stage and its message."""
    return f"refused ({kind or 'no kind'}, {stage or 'no stage'}): {message}"


def describe_expected(kind: str, expected: Expected) -> str:
    """Return the expected answer in a few words."""
    if expected.source is not None:
        return count_rows(expected.rows().num_rows)
    return QUESTIONS[kind].called or f"the {kind}"
