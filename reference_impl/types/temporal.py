"""Dates and instants as text: the formats of partition values, statistics and literals.

Days and microseconds are counted from 1970-01-01 with the proleptic Gregorian calendar, as
numpy has it: Python's own dates end at the year 9999 and Spark's do not.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np

_DAY_MICROS = 86_400_000_000
_DATE = r"([+-]?\d{4,6})-(\d{1,2})-(\d{1,2})"
_TIME = r"(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?"
_ZONE = r"(Z|UTC|[+-]\d{2}(?::?\d{2}(?::\d{2})?)?)?"
_DATE_PATTERN = re.compile(_DATE, re.ASCII)
_TIMESTAMP_PATTERN = re.compile(f"{_DATE}(?:[ T]{_TIME} ?{_ZONE})?", re.ASCII)


def parse_date(text: str) -> int:
    """Return the days since the epoch of a ``{year}-{month}-{day}`` text.

    Raises:
        ValueError: the text is no date of the calendar.
    """
    parts = _DATE_PATTERN.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text[:80]!r} is not a date like 1970-01-31")
    return _days(int(parts[1]), int(parts[2]), int(parts[3]))


def parse_timestamp(text: str, *, zone: bool) -> int:
    """Return the microseconds since the epoch of a timestamp text.

    Both formats of the protocol are read: ``1970-01-01 00:00:00.123456`` and ISO 8601
    ``1970-01-01T00:00:00.123456Z``. A text without zone is UTC, as is a date alone.

    Args:
        text: the timestamp.
        zone: whether the type is an instant; a text with zone is refused otherwise.

    Raises:
        ValueError: the text is no timestamp, or needs finer units than microseconds.
    """
    parts = _TIMESTAMP_PATTERN.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text[:80]!r} is not a timestamp like 1970-01-01 00:00:00.123456")
    year, month, day, hour, minute, second, fraction, offset = parts.groups()
    if offset is not None and not zone:
        raise ValueError(f"{text[:80]!r} has a zone, but its type has none")
    hours, minutes, seconds = (int(part or 0) for part in (hour, minute, second))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(f"{text[:80]!r} has no such time of day")
    seconds += hours * 3600 + minutes * 60
    digits = (fraction or "").ljust(9, "0")
    if digits[6:] != "000":
        raise ValueError(f"{text[:80]!r} is finer than microseconds")
    instant = _days(int(year), int(month), int(day)) * _DAY_MICROS
    instant += (seconds - _offset_seconds(offset)) * 1_000_000 + int(digits[:6])
    if not -(2**63) <= instant < 2**63:
        raise ValueError(f"{text[:80]!r} is outside the range of 64-bit microseconds")
    return instant


def format_timestamp(value: datetime, *, zone: bool) -> str:
    """Write a timestamp: ISO 8601 in UTC with zone, else with a space and no zone."""
    if zone:
        instant = value.astimezone(UTC).replace(tzinfo=None)
        return instant.isoformat(timespec="microseconds") + "Z"
    return value.isoformat(sep=" ", timespec="microseconds" if value.microsecond else "seconds")


def format_days(days: int) -> str:
    """Write a date of any year by its days since the epoch, as ISO 8601 has it."""
    day = np.datetime64(days, "D")
    year = int(day.astype("datetime64[Y]").astype(np.int64)) + 1970
    month_and_day = str(day)[-6:]
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}{month_and_day}"


def format_micros(instant: int, *, zone: bool) -> str:
    """Write a timestamp of any year by its microseconds since the epoch, as `format_timestamp`."""
    days, micros = divmod(instant, _DAY_MICROS)
    seconds, fraction = divmod(micros, 1_000_000)
    time = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if zone:
        return f"{format_days(days)}T{time}.{fraction:06d}Z"
    return f"{format_days(days)} {time}" + (f".{fraction:06d}" if fraction else "")


def _days(year: int, month: int, day: int) -> int:
    sign = "-" if year < 0 else ""
    written = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"
    return int(np.datetime64(written, "D").astype(np.int64))


def _offset_seconds(offset: str | None) -> int:
    if offset is None or offset[0] not in "+-":
        return 0
    digits = offset[1:].replace(":", "").ljust(6, "0")
    hours, minutes, rest = (int(digits[at : at + 2]) for at in (0, 2, 4))
    if hours > 23 or minutes > 59 or rest > 59:
        raise ValueError(f"{offset} is no offset of a zone")
    seconds = hours * 3600 + minutes * 60 + rest
    return -seconds if offset[0] == "-" else seconds
