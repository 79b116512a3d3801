"""Edits of the text files of a log: lines, the JSON inside of them, names of files."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

_VERSION = re.compile(r"\bv(\d+)\b")


def expand(name: str) -> str:
    """Return a name with its versions, as ``v2``, in twenty digits."""
    return _VERSION.sub(lambda found: f"{int(found[1]):020d}", name)


def put(document: Any, path: str, value: Any) -> None:
    """Set a value by its dotted path, numbers being positions; ``...`` takes it out."""
    *above, last = path.split("/")
    for part in above:
        document = document[int(part)] if isinstance(document, list) else document[part]
    key: Any = int(last) if isinstance(document, list) else last
    if value == "...":
        del document[key]
    else:
        document[key] = value


def _inner(name: str) -> Callable[[dict[str, Any], Mapping[str, Any]], None]:
    """Edit the JSON that a field holds as text."""

    def edit(body: dict[str, Any], changes: Mapping[str, Any]) -> None:
        document = json.loads(body[name])
        for path, value in changes.items():
            put(document, path, value)
        body[name] = json.dumps(document)

    return edit


def _set(body: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for path, value in changes.items():
        put(body, path, value)


def _properties(body: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        if value == "...":
            del body["configuration"][name]
        else:
            body["configuration"][name] = value


LINE_EDITS = {
    "set": _set,
    "stats": _inner("stats"),
    "schema": _inner("schemaString"),
    "document": _inner("configuration"),
    "properties": _properties,
}
"""Edits of the body of an action, by name."""


def edit_body(body: dict[str, Any], how: Mapping[str, Any]) -> None:
    """Apply the edits of an action's body, in the order of ``how``."""
    for name, changes in how.items():
        if name in LINE_EDITS:
            LINE_EDITS[name](body, changes)


def _dump(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _edited(line: str, action: str, how: Mapping[str, Any]) -> Iterator[str]:
    document = json.loads(line)
    edit_body(document[action], how)
    if "repeat" in how:
        again = json.loads(_dump(document))
        edit_body(again[action], how["repeat"])
        yield _dump(document)
        yield _dump(again)
    elif "text" in how:
        yield str(how["text"])
    elif not how.get("delete"):
        yield _dump(document)


def change_lines(path: Path, action: str, number: int | None, how: Mapping[str, Any]) -> None:
    """Edit lines of an action in a file: one of them, or every one for ``None``."""
    lines, seen = [], 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if action and action in json.loads(line):
            seen += 1
            if number is None or seen - 1 == number:
                lines += _edited(line, action, how)
                continue
        lines.append(line)
    if action and not seen:
        raise LookupError(f"{path.name} has no {action}")
    lines = [*map(_dump, how.get("prepend", ())), *lines, *map(_dump, how.get("append", ()))]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def edit_text(path: Path, how: Mapping[str, Any]) -> None:
    """Replace or append text in a file, and compress it in the end."""
    text = path.read_bytes()
    for old, new in how.get("replace", {}).items():
        if old.encode() not in text:
            raise LookupError(f"{path.name} has no {old}")
        text = text.replace(old.encode(), new.encode(), 1)
    text += how.get("end", "").encode()
    path.write_bytes(gzip.compress(text) if how.get("gzip") else text)


def edit_files(root: Path, how: Mapping[str, Any]) -> None:
    """Rename, copy, delete and write files below a folder; names may be patterns."""
    for edit in ("rename", "copy"):
        for old, new in how.get(edit, {}).items():
            source = min(root.glob(expand(old)))
            target = root / expand(new)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            if edit == "rename":
                source.unlink()
    for name in how.get("delete", ()):
        for path in sorted(root.glob(expand(name))) or [root / expand(name)]:
            path.unlink()
    for name, text in how.get("write", {}).items():
        path = root / expand(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
