"""How long removed files stay, by the table's properties."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

DAY: Final = 24 * 60 * 60 * 1000
"""A day in ms."""

RETENTION: Final = "delta.deletedFileRetentionDuration"
"""The table property that says how long removed files stay."""

# In one way alone, or a text of many parts that goes wrong at its end is tried in 2 to the n ways.
_PART: Final = re.compile(r"(\d{1,12})\s+([a-z]+)(?:\s+|$)", re.IGNORECASE)
_INTERVAL: Final = re.compile(rf"(?:interval\s+)?(?:{_PART.pattern})+", re.IGNORECASE)
_UNITS: Final = {
    "millisecond": 1,
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": DAY,
    "week": 7 * DAY,
}


def retention(properties: Mapping[str, str]) -> int:
    """Return the ms for which removed files are kept; a week where the table does not say."""
    found = stated_retention(properties)
    return 7 * DAY if found is None else found


def stated_retention(properties: Mapping[str, str]) -> int | None:
    """Return the ms for which a table says that removed files are kept.

    ``None`` where it says nothing, or in a form that is not known here: no sentence of the protocol
    gives the form.
    """
    text = properties.get(RETENTION, "").strip()
    parts = _PART.findall(text) if _INTERVAL.fullmatch(text) else []
    known = [(int(count), _UNITS.get(unit.lower().removesuffix("s"))) for count, unit in parts]
    if not known or any(length is None for _, length in known):
        return None
    return sum(count * (length or 0) for count, length in known)
