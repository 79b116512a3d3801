"""The times that a step writes into the log, held against the clock.

Serves "Add File and Remove File" and "Sidecar File Information". A time is in milliseconds since
the epoch, of when the file was created or went: which a step does while it is waited for. Seconds,
microseconds and the time of another zone are all far from that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from conformance.audit.grammar.uris import decode_path
from conformance.audit.read.raw import Line

__all__ = ["Fault", "misdated", "misdated_sidecars"]

Fault: TypeAlias = tuple[str, str]
"""A requirement, and how it is broken."""

_SLACK: Final = 60_000
"""What clocks and file systems may be apart, and a file may lie before it is named, in ms."""


def misdated(
    table: Path, lines: Iterable[Line], held: Mapping[str, int], began: int
) -> Iterator[Fault]:
    """Find files and removals of a step whose times are not those of the step.

    Args:
        table: the table root.
        lines: the adds and removes that the step committed.
        held: modificationTime of the files that were live before it, by their paths.
        began: when the step began, in ms since the epoch.

    """
    for line in lines:
        path = line.body.get("path")
        if not isinstance(path, str):
            continue
        if line.action == "remove":
            stamp = line.body.get("deletionTimestamp")
            if not _within(stamp, began):
                yield "FA-005", f"{path} went from {began} on, deletionTimestamp is {stamp}"
            continue
        place, stamp = decode_path(path), line.body.get("modificationTime")
        # The same file with another vector was created then, or now.
        since = min(held[place], began) if place in held else _made(table / place, began)
        if since is not None and not _within(stamp, since):
            yield "ADD-007", f"{path} was created from {since} on, modificationTime is {stamp}"


def misdated_sidecars(folder: Path, lines: Iterable[Line], began: int) -> Iterator[Fault]:
    """Find sidecars of a step whose times are not those of the step."""
    for line in lines:
        name, stamp = str(line.body.get("path")), line.body.get("modificationTime")
        since = _made(folder / decode_path(name).rpartition("/")[2], began)
        if since is not None and not _within(stamp, since):
            yield "SCA-006", f"{name} was created from {since} on, modificationTime is {stamp}"


def _made(path: Path, began: int) -> int | None:
    """Return when a step began to make a file; ``None`` where it did not."""
    if not path.exists() or path.stat().st_mtime_ns // 1_000_000 < began - _SLACK:
        return None
    return began - _SLACK


def _within(stamp: Any, since: int) -> bool:
    ended = time.time_ns() // 1_000_000
    return type(stamp) is int and since - _SLACK <= stamp <= max(ended, since) + _SLACK
