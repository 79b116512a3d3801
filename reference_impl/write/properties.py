"""Table properties that are numbers or durations, for writers.

Implements upstream's ``delta.checkpointInterval`` and ``delta.dataSkippingNumIndexedCols``, and the
retention of files and of the log. A malformed value is refused when it is set. A number that a
table already has is replaced by the default, with a warning, because no reader depends on it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Final

from reference_impl.errors import InvalidMetadata
from reference_impl.model.ranges import INT31, INT64, Range

CHECKPOINT_INTERVAL: Final = "delta.checkpointInterval"
INDEXED_COLUMNS: Final = "delta.dataSkippingNumIndexedCols"

DELETED_FILE_RETENTION: Final = "delta.deletedFileRetentionDuration"
LOG_RETENTION: Final = "delta.logRetentionDuration"

DAY: Final = 86_400_000
"""Milliseconds of a day."""

_DEFAULTS: Final[Mapping[str, int]] = {DELETED_FILE_RETENTION: 7 * DAY, LOG_RETENTION: 30 * DAY}
_UNITS: Final[Mapping[str, int]] = {
    "week": 7 * DAY,
    "day": DAY,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1000,
    "millisecond": 1,
}
_PART: Final = re.compile(r"\s*(\d{1,12})\s+([a-z]+?)s?(?=\s|\Z)", re.ASCII | re.IGNORECASE)

_log: Final = logging.getLogger(__name__)

_NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    CHECKPOINT_INTERVAL: (10, 1),
    INDEXED_COLUMNS: (32, -1),
}
"""Properties that are integers of 32 bits: the value where one is not set, and the smallest."""


def integer_property(configuration: Mapping[str, str], name: str) -> int:
    """Return a property of a table, its default where it is not set or malformed."""
    default, _ = _NUMBERS[name]
    text = configuration.get(name)
    value = default if text is None else _parsed(name, text)
    if value is None:
        _log.warning("%s is %.80r: %d is assumed", name, text, default)
        return default
    return value


def validate_number(name: str, text: str) -> None:
    """Refuse a malformed value of an integer property; other properties are not checked.

    Raises:
        InvalidMetadata: the property cannot have the value.
    """
    if name in _NUMBERS and _parsed(name, text) is None:
        raise InvalidMetadata(
            f"{name} is {text[:80]!r}, not an integer from {_NUMBERS[name][1]} to {INT31.most}",
            stage="commit",
            requirement="META-011",
        )


def _parsed(name: str, text: str) -> int | None:
    return Range(_NUMBERS[name][1], INT31.most).parse(text)


def duration(configuration: Mapping[str, str], name: str) -> int:
    """Return a duration, as in ``interval 30 days 12 hours``, in milliseconds.

    By default it is 7 days for files and 30 for the log.

    Raises:
        InvalidMetadata: the property is there and is no interval of weeks down to milliseconds,
            or one of more milliseconds than 64 bits count.
    """
    text = configuration.get(name)
    if text is None:
        return _DEFAULTS[name]
    rest = re.sub(r"\A\s*interval\b", "", text, flags=re.IGNORECASE).strip()
    total, at = 0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        unit = _UNITS.get(part[2].lower()) if part else None
        if part is None or unit is None:
            break
        total += int(part[1]) * unit
        at = part.end()
    if not rest or at < len(rest) or total not in INT64:
        raise InvalidMetadata(
            f"{name} is {text[:80]!r}, not an interval like 'interval 7 days'",
            stage="commit",
            hint="months and years have no fixed length",
        )
    return total
