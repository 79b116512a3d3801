"""Writers whose checksum of the last checkpoint file breaks one rule of the canonical form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from breaches.edits import HINT, document
from breaches.model import Breach
from breaches.seams import leaving

_MORE = {
    "b": {"ä é/~": "ü/~ a", "checksum": "below", "none": None, "yes": True},
    "B": [7, {"c": 2}, "x"],
    "a": 5,
}
"""Fields that make a difference to every rule; readers pass over what they do not know."""


def _text(value: str) -> str:
    return f'"{quote(value, safe="-._~")}"'


def _pairs(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            if path or key != "checksum":
                yield from _pairs(value, (*path, _text(key)))
    elif isinstance(node, list):
        for at, value in enumerate(node):
            yield from _pairs(value, (*path, str(at)))
    else:
        yield "+".join(path), _text(node) if isinstance(node, str) else json.dumps(node)


def _joined(pairs: list[tuple[str, str]]) -> str:
    return ",".join(f"{path}={value}" for path, value in pairs)


def _wrong(change: Callable[[list[tuple[str, str]]], str]) -> Any:
    def edited(found: Any) -> Any:
        full = {**found, **_MORE}
        pairs = sorted(_pairs(full), key=lambda pair: pair[0].encode())
        sum_ = hashlib.md5(change(pairs).encode(), usedforsecurity=False).hexdigest()
        return {**full, "checksum": sum_}

    return leaving(document(HINT, edited))


def _values(change: Callable[[str], str]) -> Any:
    return _wrong(lambda pairs: _joined([(path, change(value)) for path, value in pairs]))


def _paths(change: Callable[[str], str]) -> Any:
    return _wrong(lambda pairs: _joined([(change(path), value) for path, value in pairs]))


def _all(change: Callable[[str], str]) -> Any:
    return _wrong(lambda pairs: change(_joined(pairs)))


def _one_on(path: str) -> str:
    return "+".join(str(int(part) + 1) if part.isdigit() else part for part in path.split("+"))


def _without_places(pairs: list[tuple[str, str]]) -> str:
    parts = (([p for p in path.split("+") if not p.isdigit()], value) for path, value in pairs)
    named = [("+".join(path), value) for path, value in parts]
    return _joined(sorted(named, key=lambda pair: pair[0].encode()))


def _padded(path: str) -> str:
    return "+".join(part.zfill(2) if part.isdigit() else part for part in path.split("+"))


def _small(text: str) -> str:
    parts = text.split("%")
    return parts[0] + "".join(f"%{part[:2].lower()}{part[2:]}" for part in parts[1:])


def _latin(text: str) -> str:
    return text.replace("%C3%A4%20%C3%A9", "%E4%20%E9").replace("%C3%BC", "%FC")


def _joined_sum(text: str) -> str:
    """Count the checksum itself, empty as it is then, in its place of the order."""
    pairs = [*text.split(","), '"checksum"=""']
    return ",".join(sorted(pairs, key=lambda pair: pair.partition("=")[0].encode()))


_RULES = (
    ("literals", "SUM-002", _values(lambda v: f'"{v}"' if v in ("true", "null") else v)),
    ("numbers", "SUM-003", _values(lambda v: f"{v}.0" if v.isdigit() else v)),
    ("strings", "SUM-004", _values(lambda v: v.strip('"'))),
    ("keys", "SUM-005", _paths(lambda path: path.replace('"', ""))),
    ("paths", "SUM-006", _paths(lambda path: path.replace("+", "."))),
    ("pairs", "SUM-007", _wrong(lambda found: ",".join(f"{p}:{v}" for p, v in found))),
    (
        "order",
        "SUM-008",
        _wrong(lambda found: _joined(sorted(found, key=lambda pair: pair[0].casefold()))),
    ),
    ("commas", "SUM-009", _all(lambda text: text.replace(",", ";"))),
    ("positions", "SUM-010", _paths(_one_on)),
    ("places", "SUM-010", _wrong(_without_places)),
    ("padding", "SUM-010", _paths(_padded)),
    ("itself", "SUM-011", _all(_joined_sum)),
    ("below", "SUM-012", _wrong(lambda f: _joined([p for p in f if "checksum" not in p[0]]))),
    ("bytes", "SUM-015", _all(_latin)),
    ("slashes", "SUM-016", _all(lambda text: text.replace("%2F", "/"))),
    ("tildes", "SUM-017", _all(lambda text: text.replace("~", "%7E"))),
    ("escapes", "SUM-018", _all(_small)),
    ("everything", "SUM-001", _all(lambda _text: "nothing")),
)


_CASE = "checkpoints/write-checkpoint/*"

ROWS = tuple(Breach(f"sums-{slug}-wrong", row, "writer", how, _CASE) for slug, row, how in _RULES)
