"""Texts as they are shown and kept: URLs without their secrets.

Implements "Add File and Remove File": the location of a table, and a path of its log, may be a URL
with a password, a key or a signature.
"""

from __future__ import annotations

import re
from typing import Final

_CONTAINER: Final = "|".join(rf"(?<=(?i:{each})://)" for each in ("abfs", "abfss", "wasb", "wasbs"))
_USER: Final = re.compile(
    rf"(?<=://)(?:(?!{_CONTAINER})[^/?#\s]*@|[^/?#\s:@\[]*:"
    r"(?:[^/?#\s]*|(?![0-9]*(?:[/?#\s]|$))\S{0,200})@)"
)
"""What comes before the host of a URL: a user and a password, which may hold a slash that ought to
be escaped. In Azure it is a container, unless a colon is in it."""

_PARAMETER: Final = re.compile(
    r"([?&#;](?!(?:comp|delimiter|list-type|marker|prefix|restype|start-after)=)[^=&\s]*=)[^&\s\"')]+"
)
"""A parameter of a URL, or of one segment of it, that may be a key or a signature: all but those of
a listing."""


def without_secrets(text: str) -> str:
    """Take passwords, keys and signatures out of the URLs in a message."""
    return _PARAMETER.sub(r"\1…", _USER.sub("…@", text))


def shown_location(text: str) -> str:
    """Return a location, or what names one, as it is shown and kept: URLs without their secrets."""
    return without_secrets(text) if "://" in text else text
