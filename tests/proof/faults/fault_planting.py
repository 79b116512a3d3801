"""Plant a fault: find its place in a sound table and edit that.

``where`` begins with the name of the table, and goes on with one of

* ``commit N``, with an action and its number among those of the commit: lines of text,
* ``compaction``, ``json checkpoint``: the same with an action,
* ``checkpoint``, ``sidecar``, ``part``, ``next part``: rows of Parquet, with an action and number,
* ``text NAME``: the text of a file of the log,
* ``log``, ``root``: names of files below ``_delta_log`` or the table,
* ``file N``, ``change file N``: the columns of what the first add, or cdc, of a commit names,
* ``vector N``: the bytes of the vector of the first add with one in a commit,
* ``hint``, ``checksum N``: a JSON document.

An edit of a data file leaves the size in the log right, unless it says ``keep size``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fault_log import change_lines, edit_body, edit_files, edit_text, expand
from fault_parquet import change_columns, change_rows
from fault_records import Fault
from fault_sums import wrong_checksum
from fault_vectors import change_vector_file, inline_vector

from generators.materialise.data.deletion_vectors import decode_uuid_name, vector_file_name
from generators.materialise.log.hints import json_checksum

_How = Mapping[str, Any]


def _log(root: Path, pattern: str) -> Path:
    return min((root / "_delta_log").glob(pattern))


def _commit(root: Path, version: str) -> Path:
    return root / "_delta_log" / expand(f"v{version}.json")


def _number(words: list[str]) -> int | None:
    if words and words[0] == "every":
        return None
    return int(words[0]) if words else 0


def _lines(path: Path, words: list[str], how: _How) -> None:
    change_lines(path, words[0] if words else "", _number(words[1:]), how)


def _in_commit(root: Path, words: list[str], how: _How) -> None:
    path = _commit(root, words[0])
    if "copy to" in how:
        # What comes later repeats a line with edits, and the line stays.
        later = json.loads(json.dumps(_named(root, words[0], words[1])))
        edit_body(later, how)
        change_lines(_commit(root, str(how["copy to"])), "", None, {"append": [{words[1]: later}]})
        return
    _lines(path, words[1:], how)


def _rows(pattern: str) -> Callable[[Path, list[str], _How], None]:
    def change(root: Path, words: list[str], how: _How) -> None:
        action = words[0] if words else ""
        change_rows(_log(root, pattern), action, _number(words[1:]), how)

    return change


def _text(pattern: str) -> Callable[[Path, list[str], _How], None]:
    def change(root: Path, words: list[str], how: _How) -> None:
        _lines(_log(root, pattern), words, how)

    return change


def _document(path: Path, how: _How) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    edit_body(document, how)
    if how.get("sum"):
        document["checksum"] = json_checksum(document)
    if "wrong sum" in how:
        document["checksum"] = wrong_checksum(document, how["wrong sum"])
    path.write_text(json.dumps(document), encoding="utf-8")


def _set_everywhere(
    root: Path, kind: str, path: str, body: Mapping[str, Any], vector: Any = None
) -> None:
    """Set fields of the actions that name a file, with one vector alone where it is given."""
    for commit in (root / "_delta_log").glob("*.json"):
        lines = []
        for line in commit.read_text(encoding="utf-8").splitlines():
            document = json.loads(line)
            held = document.get(kind, {})
            if held.get("path") == path and vector in (None, held.get("deletionVector")):
                held.update(body)
            lines.append(json.dumps(document))
        commit.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _named(root: Path, version: str, kind: str, number: int = 0) -> dict[str, Any]:
    lines = map(json.loads, _commit(root, version).read_text(encoding="utf-8").splitlines())
    found: list[dict[str, Any]] = [line[kind] for line in lines if kind in line]
    return found[number]


def _file(kind: str) -> Callable[[Path, list[str], _How], None]:
    def change(root: Path, words: list[str], how: _How) -> None:
        body = _named(root, words[0], kind, int(words[1]) if len(words) > 1 else 0)
        path = root / unquote(body["path"])
        if "end" in how or "replace" in how:
            edit_text(path, how)
        else:
            change_columns(path, how)
        if not how.get("keep size"):
            _set_everywhere(root, kind, body["path"], {"size": path.stat().st_size})

    return change


def _vector(root: Path, words: list[str], how: _How) -> None:
    body = _named(root, words[0], "add")
    held = body["deletionVector"]
    was = dict(held)
    former = held["sizeInBytes"]
    if held["storageType"] == "i":
        inline_vector(held, how)
    else:
        prefix, identity = decode_uuid_name(held["pathOrInlineDv"])
        change_vector_file(root / vector_file_name(identity, prefix), held, how)
    if "prefix" in how:
        text = f"{how['prefix']}{held['pathOrInlineDv']}"
        vector, moved = next(root.glob("*.bin")), root / how["prefix"]
        vector.rename(moved / vector.name)
        held["pathOrInlineDv"] = text
    held.update(how.get("descriptor", {}))
    if how.get("keep size"):
        held["sizeInBytes"] = former
    for kind in ("add", "remove"):
        _set_everywhere(root, kind, body["path"], {"deletionVector": held}, was)


_PLACES: Mapping[str, Callable[[Path, list[str], _How], None]] = {
    "commit": _in_commit,
    "compaction": _text("*.compacted.json"),
    "json checkpoint": _text("*.checkpoint.*.json"),
    "checkpoint": _rows("*.checkpoint*.parquet"),
    "part": _rows("*.checkpoint.0000000001.*.parquet"),
    "next part": _rows("*.checkpoint.0000000002.*.parquet"),
    "sidecar": _rows("_sidecars/*.parquet"),
    "text": lambda root, words, how: edit_text(_log(root, expand(words[0])), how),
    "log": lambda root, _, how: edit_files(root / "_delta_log", how),
    "root": lambda root, _, how: edit_files(root, how),
    "file": _file("add"),
    "change file": _file("cdc"),
    "vector": _vector,
    "hint": lambda root, _, how: _document(root / "_delta_log/_last_checkpoint", how),
    "checksum": lambda root, words, how: _document(_log(root, expand(f"v{words[0]}.crc")), how),
}
"""Places of a table, by the words that ``where`` has for them."""


def _steps(root: Path, fault: Fault) -> list[_How]:
    """Return the edits, with names of the table in the place of their marks.

    ``<path N>`` is the path of the first file that version N adds, ``<column>`` the physical name
    of a column, ``<row ids>`` and ``<row versions>`` those of the columns of row tracking.
    """
    text = json.dumps(fault.how)
    if "<" in text:
        text = _MARK.sub(lambda found: _name(root, found[1]), text)
    how = json.loads(text)
    return how if isinstance(how, list) else [how]


_MARK = re.compile(r"<([a-z]+(?: (?:\d+|ids|versions))?)>")
_HIDDEN = {
    "row ids": "delta.rowTracking.materializedRowIdColumnName",
    "row versions": "delta.rowTracking.materializedRowCommitVersionColumnName",
}


def _name(root: Path, mark: str) -> str:
    if mark.startswith("path "):
        return str(_named(root, mark.removeprefix("path "), "add")["path"])
    metadata = _named(root, "0", "metaData")
    if mark in _HIDDEN:
        return str(metadata["configuration"][_HIDDEN[mark]])
    fields = {each["name"]: each for each in json.loads(metadata["schemaString"])["fields"]}
    return str(fields[mark]["metadata"]["delta.columnMapping.physicalName"])


def plant(fault: Fault, root: Path) -> None:
    """Plant a fault in a copy of its sound table.

    Raises:
        LookupError: the table has no such place.
    """
    for step in _steps(root, fault):
        words = str(step.get("at", fault.where.split(maxsplit=1)[1])).split()
        for length in (2, 1):
            edit = _PLACES.get(" ".join(words[:length]))
            if edit is not None:
                edit(root, words[length:], step)
                break
        else:
            raise LookupError(f"{fault.id}: there is no place called {' '.join(words)}")
