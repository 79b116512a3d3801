"""The clock of writers: what their actions record as the time."""

from __future__ import annotations

import time


def now() -> int:
    """Return the current time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
