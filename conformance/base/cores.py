"""How many processors a process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many cores this process may run on; not every system restricts processes."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
