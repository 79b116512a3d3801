"""Damage to JSON values: documents that parse and make no sense.

Texts that are JSON themselves (``schemaString``, ``stats``, domain configurations) are damaged
inside as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final, TypeAlias

_Path: TypeAlias = tuple[str | int, ...]

_MARK: Final = "\ue000raw:"
"""Begins a string that is spelled into the document as it is, for numbers that Python lacks."""

_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**53 + 1,
    2**63,
    -(2**63) - 1,
    2**70,
    1.5,
    "",
    "text",
    "\x00",
    "../../etc",
    "\U0010ffff" * 3,
    "%zz",
    [],
    {},
    [None],
    {"": None},
    {"type": "struct", "fields": []},
    f"{_MARK}1e400",
    f"{_MARK}-1e400",
    f"{_MARK}1E-400",
    f"{_MARK}NaN",
    f"{_MARK}-0",
    f"{_MARK}" + "9" * 4000,
    f"{_MARK}" + "[" * 400 + "]" * 400,
    f"{_MARK}" + "[" * 20_000 + "]" * 20_000,
    f"{_MARK}" + '{"a":' * 5_000 + "1" + "}" * 5_000,
    "x" * 100_000,
)


def _paths(document: Any, before: _Path = ()) -> Iterator[_Path]:
    yield before
    match document:
        case dict():
            for name, each in document.items():
                yield from _paths(each, (*before, name))
        case list():
            for place, each in enumerate(document):
                yield from _paths(each, (*before, place))


def _at(document: Any, path: _Path) -> Any:
    for step in path:
        document = document[step]
    return document


def _replaced(document: Any, path: _Path, value: Any) -> Any:
    if not path:
        return value
    _at(document, path[:-1])[path[-1]] = value
    return document


def _inner_json(value: Any) -> Any:
    """Return the document inside a string that is JSON, ``None`` for any other value."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return None
    try:
        return json.loads(value)
    except ValueError:
        return None


def _spelled(document: Any) -> str:
    """Return a document as JSON, marked strings as they are."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    while (start := text.find(f'"{_MARK}')) >= 0:
        end = text.index('"', start + 1 + len(_MARK))
        # A raw object has quotes of its own, escaped inside the string.
        while text[end - 1] == "\\":
            end = text.index('"', end + 1)
        raw = json.loads(text[start : end + 1])[len(_MARK) :]
        text = text[:start] + raw + text[end + 1 :]
    return text


def _damage_document(document: Any, random: Random) -> Any:
    path = random.choice(list(_paths(document))[1:] or [()])
    value = _at(document, path)
    inner = _inner_json(value)
    if inner is not None and random.random() < 0.7:
        return _replaced(document, path, _spelled(_damage_document(inner, random)))
    parent: Any = _at(document, path[:-1]) if path else None
    action = random.choice(("replace", "replace", "replace", "drop", "rename", "wrap", "double"))
    match action:
        case "drop" if path:
            del parent[path[-1]]
        case "rename" if isinstance(parent, dict):
            parent[f"{path[-1]}X"] = parent.pop(path[-1])
        case "wrap":
            return _replaced(document, path, [value])
        case "double" if isinstance(parent, list):
            parent.append(value)
        case _:
            return _replaced(document, path, random.choice(_VALUES))
    return document


def damage_json_lines(data: bytes, random: Random) -> bytes:
    """Damage one value of a file of JSON lines; other bytes come back as they are."""
    lines = data.split(b"\n")
    filled = [place for place, line in enumerate(lines) if line]
    if not filled:
        return data
    place = random.choice(filled)
    try:
        document = json.loads(lines[place])
    except (ValueError, RecursionError):
        # Struck before: there is nothing left to strike, or it nests too deep to be taken apart.
        return data
    lines[place] = _spelled(_damage_document(document, random)).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)
