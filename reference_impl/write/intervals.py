"""Durations in table properties: ``interval 1 week``, ``interval 30 days 12 hours``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from reference_impl.errors import InvalidMetadata
from reference_impl.model.ranges import INT64

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


def duration(configuration: Mapping[str, str], name: str) -> int:
    """Return a duration property in milliseconds, by default 7 days for files, 30 for the log.

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
            action="metaData",
            stage="commit",
            hint="months and years have no fixed length",
        )
    return total
