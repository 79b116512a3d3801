"""The order of releases, as text that sorts as they do.

No order of versions fits all engines; this one reads numbers as numbers and puts what comes before
a release (``1.2.0-rc1``) before it.
"""

from __future__ import annotations

import re
from typing import Final

_PART: Final = re.compile(r"[0-9]+|[a-z]+")
_BEFORE: Final = frozenset(
    {"a", "alpha", "b", "beta", "c", "dev", "m", "nightly", "pre", "preview", "rc", "snapshot"}
)


def release_key(version: str) -> str:
    """Return a text for a version whose order among texts is the order of releases."""
    parts = _PART.findall(version.lower())
    return ".".join([*(_part(part) for part in parts), "1"])


def _part(part: str) -> str:
    if part.isdecimal():
        return f"2{part.lstrip('0'):0>12}"  # of any length: a version is untrusted
    return f"{0 if part in _BEFORE else 3}{part}"
