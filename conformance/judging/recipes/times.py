"""The times that a step writes into the log, checked against the clock.

Covers "Add File and Remove File" and "Sidecar File Information". A time is in milliseconds since
the epoch, of when the file was created or went: which a step does while it is waited for. Seconds,
microseconds and the time of another zone are all far from that.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from conformance.audit.grammar.log_files import LOG_DIR
from conformance.audit.grammar.uris import decode_path
from conformance.audit.read.raw import Line
from conformance.judging.recipes.files import path_in_table

Fault: TypeAlias = tuple[str, str]
"""A requirement, and how it is broken."""

CLOCK_SLACK: Final = 60_000
"""What clocks may be apart, in ms."""

_DAY: Final = 86_400_000
"""What the time of a file that is converted may be off by, in ms: its unit shows beyond that."""


def misdated(
    lines: Iterable[Line], held: Mapping[str, int], there: Collection[str], began: int, table: Path
) -> Iterator[Fault]:
    """Find files and removals of a step whose times are not those of the step.

    Args:
        lines: the adds and removes that the step committed.
        held: modificationTime of the files that were live before it, by their paths.
        there: the paths of all files before it, relative to the table: they have any time.
        began: when the step began, in ms since the epoch.
        table: the table root, below which absolute paths may lead.
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
        place, stamp = path_in_table(table, path), line.body.get("modificationTime")
        if place in there and place not in held:
            continue
        # The same file with another vector was created then, or now.
        since = min(held.get(place, began), began)
        if not _within(stamp, since):
            yield "ADD-007", f"{path} was created from {since} on, modificationTime is {stamp}"


def misdated_converted(
    lines: Iterable[Line], there: Collection[str], began: int, table: Path
) -> Iterator[Fault]:
    """Find converted files whose times are neither those on disk nor that of the step.

    Such a file was created when its time on disk says, or becomes one of the table's now;
    arguments as above.
    """
    for line in lines:
        path, stamp = line.body.get("path"), line.body.get("modificationTime")
        place = path_in_table(table, path) if isinstance(path, str) else None
        if place is None or place not in there or not (table / place).is_file():
            continue
        since = min((table / place).stat().st_mtime_ns // 1_000_000, began)
        if not _within(stamp, since, _DAY):
            yield "ADD-007", f"{path} is from {since} on, modificationTime is {stamp}"


def misdated_sidecars(lines: Iterable[Line], there: Collection[str], began: int) -> Iterator[Fault]:
    """Find sidecars of a step whose times are not those of the step; arguments as above."""
    for line in lines:
        name, stamp = str(line.body.get("path")), line.body.get("modificationTime")
        place = f"{LOG_DIR}/_sidecars/{decode_path(name).rpartition('/')[2]}"
        if place not in there and not _within(stamp, began):
            yield "SCA-006", f"{name} was created from {began} on, modificationTime is {stamp}"


def _within(stamp: Any, since: int, slack: int = CLOCK_SLACK) -> bool:
    ended = time.time_ns() // 1_000_000
    return type(stamp) is int and since - slack <= stamp <= max(ended, since) + slack
