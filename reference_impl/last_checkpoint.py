"""The hint ``_last_checkpoint``, and the checksum of its JSON.

Serves "Last Checkpoint File" and "JSON checksum". A hint is only an aid: whatever is wrong with
it, the reader goes on without it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import orjson

from reference_impl.log_names import LAST_CHECKPOINT, LOG_DIR
from reference_impl.ranges import INT64
from reference_impl.storage import Storage

__all__ = ["Hint", "canonical_json", "json_checksum", "parse_hint", "read_hint"]

_MOST: Final = 1 << 24
"""Bytes of a hint at most: it may repeat the schema of the checkpoint."""


@dataclass(frozen=True, slots=True)
class Hint:
    """What ``_last_checkpoint`` says.

    Attributes:
        version: version of the checkpoint.
        size: number of actions in it.
        parts: number of its parts; ``None`` for other than multi-part checkpoints.

    """

    version: int
    size: int | None = None
    parts: int | None = None


def read_hint(storage: Storage) -> Hint | None:
    """Read the hint of a table; ``None`` when there is none that can be trusted."""
    try:
        data = storage.get_range(f"{LOG_DIR}/{LAST_CHECKPOINT}", 0, _MOST + 1)
    except FileNotFoundError:
        return None
    return parse_hint(data) if len(data) <= _MOST else None


def parse_hint(data: bytes) -> Hint | None:
    """Parse a hint; ``None`` for anything that breaks a rule, its checksum included."""
    try:
        # orjson bounds nesting and demands UTF-8; json then tells duplicate keys and keeps the
        # spelling of numbers, which the checksum needs.
        orjson.loads(data)
        document = json.loads(
            data, object_pairs_hook=_unique, parse_int=_Number, parse_float=_Number
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    checksum = document.get("checksum")
    if checksum is not None and checksum != json_checksum(document):
        return None
    version, size, parts = (_long(document.get(name)) for name in ("version", "size", "parts"))
    return Hint(version, size, parts) if version is not None else None


def json_checksum(document: Mapping[str, Any]) -> str:
    """Give the MD5 digest of an object's canonical form, in lower-case hexadecimal."""
    digest = hashlib.md5(canonical_json(document).encode(), usedforsecurity=False)
    return digest.hexdigest()


def canonical_json(document: Mapping[str, Any]) -> str:
    """Give the canonical form: sorted ``path=value`` pairs, without a top-level checksum.

    Empty objects and arrays vanish; array positions are names and sort as such.
    """
    top = {key: value for key, value in document.items() if key != "checksum"}
    pairs = sorted(_pairs(top, ()), key=lambda pair: pair[0].encode())
    return ",".join(f"{path}={value}" for path, value in pairs)


def _pairs(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    match value:
        case Mapping():
            for key, item in value.items():
                yield from _pairs(item, (*path, _string(key)))
        case list():
            for position, item in enumerate(value):
                yield from _pairs(item, (*path, str(position)))
        case _:
            yield "+".join(path), _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, _Number):
        return value.text
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    return f'"{quote(text, safe="-._~")}"'


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as it is spelt."""

    text: str


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("duplicate key")
    return out


def _long(value: Any) -> int | None:
    if not isinstance(value, _Number) or not value.text.isdigit():
        return None
    return INT64.parse(value.text)
