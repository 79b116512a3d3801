"""Paths of actions: URIs that are decoded exactly once (section Add File and Remove File)."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

from reference_impl.errors import InvalidAction

__all__ = ["decode_path", "encode_path"]

_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SAFE = "/!$&'()*,;=@+-._~"


def decode_path(path: str, *, action: str = "add") -> str:
    """Decode the percent escapes of an action's path, once.

    What comes out is relative to the table root, absolute, or a URL, just as the action spells
    it. A percent sign that starts no escape stands for itself, since writers are known to
    leave it bare and it has no other reading.

    Args:
        path: the path as the action spells it.
        action: wire name of the action, for messages.

    Raises:
        InvalidAction: the escapes do not spell UTF-8, or the result holds a NUL character.

    """
    if "%" not in path:
        decoded = path
    else:
        try:
            decoded = unquote_to_bytes(_BARE_PERCENT.sub("%25", path)).decode()
        except UnicodeError:
            raise InvalidAction(
                "the escapes of a path do not spell UTF-8", path=path[:500], action=action
            ) from None
    if decoded == "" or "\0" in decoded:
        raise InvalidAction("a path is empty or holds a NUL", path=path[:500], action=action)
    return decoded


def encode_path(path: str) -> str:
    """Encode a relative path for an action: the inverse of :func:`decode_path`.

    A colon is always escaped, because ahead of the first slash it would end a scheme.
    """
    return quote(path, safe=_SAFE)
