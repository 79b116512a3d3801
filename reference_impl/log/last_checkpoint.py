"""The hint ``_last_checkpoint``, and the checksum of its JSON.

Implements "Last Checkpoint File" and "JSON checksum". The hint is optional: an invalid one
is ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from reference_impl.limits import budget
from reference_impl.log.names import LAST_CHECKPOINT, LOG_DIR
from reference_impl.model.ranges import INT64
from reference_impl.storage import Storage
from reference_impl.untrusted import load_json

_GROWTH: Final = 4
"""Characters that the canonical form of a hint may have for each byte of the limit."""


def read_hint(storage: Storage) -> int | None:
    """Return the version of the checkpoint that the hint of a table names.

    ``None`` where there is no hint, or one that is invalid or longer than the limit.
    """
    try:
        most = budget().limits.hint
        data = storage.get_range(f"{LOG_DIR}/{LAST_CHECKPOINT}", 0, most + 1)
    except FileNotFoundError:
        return None
    return parse_hint(data) if len(data) <= most else None


def parse_hint(data: bytes) -> int | None:
    """Return the version in a hint; ``None`` where it breaks a rule, its checksum included."""
    # Obeys LASTS-001 LASTS-002 LASTS-003 LASTS-010 SUM-013.
    try:
        # orjson bounds nesting and demands UTF-8; json then detects duplicate keys and keeps the
        # format of numbers, which the checksum needs.
        load_json(data)
        document = json.loads(
            data, object_pairs_hook=_unique, parse_int=_Number, parse_float=_Number
        )
        if not isinstance(document, dict):
            return None
        checksum = document.get("checksum")
        if checksum is not None and checksum != json_checksum(document):
            return None
    except (ValueError, RecursionError):
        return None
    version = document.get("version")
    if not isinstance(version, _Number) or not version.text.isdigit():
        return None
    return INT64.parse(version.text)


def json_checksum(document: Mapping[str, Any]) -> str:
    """Return the MD5 digest of an object's canonical form, in lower-case hexadecimal."""
    # Obeys SUM-001.
    digest = hashlib.md5(canonical_json(document).encode(), usedforsecurity=False)
    return digest.hexdigest()


def canonical_json(document: Mapping[str, Any]) -> str:
    """Return the canonical form: sorted ``path=value`` pairs, without a top-level checksum.

    Empty objects and arrays vanish; array positions are names and sort as such.

    Raises:
        ValueError: deep paths make it many times as long as a hint may be.
    """
    # Obeys SUM-007 SUM-008 SUM-009 SUM-011 SUM-012.
    top = {key: value for key, value in document.items() if key != "checksum"}
    left = _GROWTH * budget().limits.hint
    pairs = []
    for pair in _pairs(top):
        left -= sum(map(len, pair))
        if left < 0:
            raise ValueError("the canonical form is too long")
        pairs.append(pair)
    # Paths are percent-encoded, so that characters order as bytes do.
    return ",".join(f"{path}={value}" for path, value in sorted(pairs))


def _pairs(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    # Obeys SUM-005 SUM-006 SUM-010.
    members: Iterable[tuple[str, Any]]
    if isinstance(value, Mapping):
        members = ((_string(key), item) for key, item in value.items())
    elif isinstance(value, list):
        members = ((str(position), item) for position, item in enumerate(value))
    else:
        yield path, _scalar(value)
        return
    for name, item in members:
        yield from _pairs(item, f"{path}+{name}" if path else name)


def _scalar(value: Any) -> str:
    # Obeys SUM-002 SUM-003.
    if isinstance(value, _Number):
        return value.text
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    # Obeys SUM-004 SUM-015 SUM-016 SUM-017 SUM-018.
    return f'"{quote(text, safe="-._~")}"'


@dataclass(frozen=True, slots=True)
class _Number:
    """A number as it is written."""

    text: str


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("duplicate key")
    return out
