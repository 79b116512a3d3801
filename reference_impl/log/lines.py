"""The lines of a commit: grouped by action before any of them is parsed, and parsed one by one.

Implements "Delta Log Entries". Nearly all lines of a large commit hold one file action, written the
same way. They are recognised by their first and last bytes, all at once, and grouped by action;
all other lines are parsed by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from reference_impl.errors import MalformedCommit
from reference_impl.limits import budget
from reference_impl.model.actions import SMALL_ACTIONS
from reference_impl.model.file_actions import FILE_ACTIONS
from reference_impl.model.wire import LogPlace
from reference_impl.untrusted import load_json, too_deep

_KNOWN_ACTIONS: Final = SMALL_ACTIONS.keys() | FILE_ACTIONS.keys()
_KINDS: Final = tuple(FILE_ACTIONS)
_OTHER_KIND: Final = len(_KINDS)
_STARTS: Final = tuple(
    (number, f'{{"{name}":{space}{{'.encode())
    for number, name in enumerate(_KINDS)
    for space in ("", " ")
)
_END: Final = b"}}"
_WORD: Final = 8
_MIN_LINE_BYTES: Final = 16
"""Shorter lines are left to the caller: all the starts are shorter, and a word fits."""

_MAX_LOOP_BYTES: Final = 1 << 14
"""Bytes of a commit below which a plain loop is faster than numpy."""

_MIN_MEAN_LINE_BYTES: Final = 24
"""Bytes of an average line below which blank lines are passed over as one: they cost as others."""

_BYTES_AT_ONCE: Final = 1 << 24
"""Bytes of a commit in which line feeds are looked for at once."""

_GAP_OR_LINE: Final = re.compile(rb"([ \t\r\n]*\n)|[^\n]++\n?")

_LINES_PER_CHECK: Final = 1 << 16
"""Lines for the caller after which the time limit is checked."""

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one file, each with nothing but a file action of one kind.

    Attributes:
        text: the lines, one line feed between them; possibly a slice of the file.
        count: how many there are.
        longest: bytes of the longest line.
    """

    text: bytes | memoryview
    count: int
    longest: int

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> Lines:
        """Join lines into one text."""
        given = list(lines)
        return cls(b"\n".join(given), len(given), max(map(len, given), default=0))

    def __len__(self) -> int:
        """Return how many lines there are."""
        return self.count

    def __iter__(self) -> Iterator[bytes]:
        """Return the lines one by one."""
        return iter(bytes(self.text).split(b"\n") if self.count else ())


def group_actions(
    data: bytes, place: LogPlace, take: Callable[[str, Any], None], *, files: bool
) -> dict[str, Lines]:
    """Group the lines of a commit by the file action that they hold, and decode the other lines.

    Args:
        data: the commit.
        place: the file and its version.
        take: is given name and JSON value of every other known action, in their order.
        files: with ``False`` no line is kept.

    Returns:
        The lines of each kind of file action, in their order.

    Raises:
        LimitExceeded: the time of the operation is up, or a line is nested too deep.
        MalformedCommit: a line is not a JSON object with one action.
    """

    def other(line: bytes, number: int) -> str | None:
        found = parse_line(line, number, place)
        if found is not None and found[0] in FILE_ACTIONS:
            return found[0]
        if found is not None:
            take(*found)
        return None

    return group_lines(data, other, files=files)


def group_lines(
    data: bytes, other: Callable[[bytes, int], str | None], *, files: bool
) -> dict[str, Lines]:
    """Group the lines of a commit by the file action that they hold.

    Args:
        data: the commit.
        other: is given every line that does not look like a file action, with its number from
            1, in their order; it returns which file action the line holds, if any.
        files: with ``False`` no line is kept.

    Returns:
        The lines of each kind of file action, in their order.

    Raises:
        LimitExceeded: the time of the operation is up.
    """
    if len(data) <= _MAX_LOOP_BYTES or data.count(b"\n") * _MIN_MEAN_LINE_BYTES > len(data):
        return _group_each(_without_gaps(data), other, files=files)
    content = np.frombuffer(data, np.uint8)
    ends = _line_feeds(content)
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate([[0], ends[:-1] + 1])
    kinds = _classify(content, starts, ends)
    # A file may hold millions of empty lines, which have no meaning.
    for turn, at in enumerate(((kinds == _OTHER_KIND) & (ends > starts)).nonzero()[0].tolist()):
        if turn % _LINES_PER_CHECK == 0:
            budget().check_time()
        kind = other(data[starts[at] : ends[at]], at + 1)
        if kind is not None:
            kinds[at] = _KINDS.index(kind)
    if not files:
        return dict.fromkeys(_KINDS, Lines.of(()))
    return {
        name: _select(data, content, starts, ends, (kinds == number).nonzero()[0])
        for number, name in enumerate(_KINDS)
    }


def _line_feeds(content: _Bytes) -> _Numbers:
    """Return the place of each line feed, in parts: the comparison takes a byte for each byte."""
    parts = range(0, len(content), _BYTES_AT_ONCE)
    found = (at + (content[at : at + _BYTES_AT_ONCE] == ord("\n")).nonzero()[0] for at in parts)
    return np.concatenate([*found])


def _without_gaps(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Return the lines that are not blank with their numbers from 1."""
    number = 1
    for match in _GAP_OR_LINE.finditer(data):
        if match.lastindex:
            number += data.count(b"\n", *match.span())
            continue
        yield number, match[0].removesuffix(b"\n")
        if number % _LINES_PER_CHECK == 0:
            budget().check_time()
        number += 1


def _group_each(
    lines: Iterable[tuple[int, bytes]], other: Callable[[bytes, int], str | None], *, files: bool
) -> dict[str, Lines]:
    """Group lines, given with their numbers, one by one."""
    found: dict[str, list[bytes]] = {name: [] for name in _KINDS}
    for number, line in lines:
        kind = _classify_line(line) or other(line, number)
        if kind is not None:
            found[kind].append(line)
    return {name: Lines.of(each if files else ()) for name, each in found.items()}


def _classify_line(line: bytes) -> str | None:
    """Return the file action of a line by its first and last bytes."""
    if len(line) >= _MIN_LINE_BYTES and line.endswith(_END):
        for number, start in _STARTS:
            if line.startswith(start):
                return _KINDS[number]
    return None


def _classify(content: _Bytes, starts: _Numbers, ends: _Numbers) -> npt.NDArray[np.uint8]:
    """Return the number of the file action of each line, by its first and last bytes."""
    kinds = np.full(len(starts), _OTHER_KIND, np.uint8)
    rows = (ends - starts >= _MIN_LINE_BYTES).nonzero()[0]
    # One number at each byte: two bytes for ends of lines, eight for starts.
    last = np.ndarray((len(content) - 1,), "<u2", content, 0, (1,))
    rows = rows[last[ends[rows] - 2] == int.from_bytes(_END, "little")]
    words = np.ndarray((len(content) - _WORD + 1,), "<u8", content, 0, (1,))
    first = words[starts[rows]]
    for number, start in _STARTS:
        found = rows[first == int.from_bytes(start[:_WORD], "little")]
        for place in range(_WORD, len(start)):
            found = found[content[starts[found] + place] == start[place]]
        kinds[found] = number
    return kinds


def _select(
    data: bytes, content: _Bytes, starts: _Numbers, ends: _Numbers, rows: _Numbers
) -> Lines:
    if len(rows) == 0:
        return Lines.of(())
    first, last = int(rows[0]), int(rows[-1])
    begin, end = int(starts[first]), int(ends[last])
    sizes = ends[first : last + 1] - starts[first : last + 1]
    longest = int(sizes[rows - first].max())
    if last - first + 1 == len(rows):
        return Lines(memoryview(data)[begin:end], len(rows), longest)
    wanted = np.zeros(len(sizes), np.bool_)
    wanted[rows - first] = True
    sizes += 1
    # The last line is wanted and may lack its line feed.
    kept = np.repeat(wanted, sizes)[: end - begin]
    return Lines(content[begin:end][kept].data, len(rows), longest)


def parse_line(line: bytes, number: int, place: LogPlace) -> tuple[str, Any] | None:
    """Return name and JSON value of the known action on a line, if there is one.

    Args:
        line: the line, which may be blank.
        number: that of the line in its file, from 1; 0 where lines are not counted.
        place: the file and its version.

    Raises:
        LimitExceeded: the line is nested too deep.
        MalformedCommit: the line is not a JSON object with one action.
    """
    # Obeys REC-019.
    if not line.strip():
        return None
    named = f"line {number}" if number else "a line"
    try:
        value = load_json(line)
    except orjson.JSONDecodeError as error:
        if deep := too_deep(error, place.path):
            raise deep from None
        message = f"{named} is not JSON: {error}: {_start_of(line)}"
        raise place.error(MalformedCommit, message) from None
    if type(value) is not dict:
        raise place.error(MalformedCommit, f"{named} is not a JSON object")
    found = [item for item in value.items() if item[1] is not None and item[0] in _KNOWN_ACTIONS]
    if len(found) > 1:
        names = " and ".join(name for name, _ in found)
        raise place.error(MalformedCommit, f"{named} has more than one action: {names}")
    return found[0] if found else None


def parse_bodies(action: str, lines: Iterable[bytes], place: LogPlace) -> list[Any]:
    """Return the JSON values of one kind of action, one to a line.

    Raises:
        LimitExceeded: a line is nested too deep.
        MalformedCommit: a line is not a JSON object with that action and no other.
    """
    bodies = []
    for line in lines:
        name, body = parse_line(line, 0, place) or (None, None)
        if name != action:
            message = f"a line has no {action} action: {_start_of(line)}"
            raise place.error(MalformedCommit, message)
        bodies.append(body)
    return bodies


def _start_of(line: bytes) -> str:
    """Return as much of a line as a message shows."""
    return repr(line[:80].decode(errors="replace"))
